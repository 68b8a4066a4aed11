"use strict";
// A map of documents: points are written into the bytes of a picture, which is quick with any graphics card or none.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const byId = (id) => document.getElementById(id);
  const views = data.views.map((view) => ({ ...view, points: new Float32Array(bytes(view.points).buffer) }));
  const branch = bytes(data.branch), more = bytes(data.more), category = new Uint32Array(bytes(data.category).buffer);
  const n = branch.length, shown = data.branches.map(() => true);
  const rgb = data.branches.map(({ colour }) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16)));
  const map = byId("map"), names = byId("names"), tip = byId("tip"), stage = byId("stage"), said = byId("said");
  const pen = map.getContext("2d"), label = names.getContext("2d");
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;

  let current = 0, points = views[0].points; // where documents are now; between two views while one turns into the other
  let zoom = 1, midX = 0, midY = 0; // the part of the plane in the middle
  let width = 0, height = 0, dense = 1, picture = null, pixels = null;
  let marked = -1, waiting = false, grid = null;
  const state = { frames: 0, drawMs: 0 };
  const order = new Uint32Array(n).map((_, i) => i); // at random, so that no branch lies on top of all others
  for (let i = n - 1, seed = 7; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = seed % (i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }

  const scale = () => (Math.min(width, height) / 2) * 0.95 * zoom;
  const toX = (x) => width / 2 + (x - midX) * scale(), toY = (y) => height / 2 - (y - midY) * scale();
  const ink = () => getComputedStyle(document.body).color, paper = () => getComputedStyle(document.body).backgroundColor;

  function resize() {
    dense = Math.min(devicePixelRatio || 1, 2);
    const box = stage.getBoundingClientRect();
    width = box.width; height = box.height;
    for (const canvas of [map, names]) {
      canvas.width = Math.max(1, Math.round(width * dense));
      canvas.height = Math.max(1, Math.round(height * dense));
    }
    picture = pen.createImageData(map.width, map.height);
    pixels = new Uint32Array(picture.data.buffer);
    ask();
  }

  function ask() { // one picture a frame, however many reasons there are
    if (!waiting) { waiting = true; requestAnimationFrame(draw); }
  }

  function stamp(radius) { // the pixels of a dot, as offsets
    const dots = [];
    for (let y = -Math.ceil(radius); y <= radius; y++)
      for (let x = -Math.ceil(radius); x <= radius; x++) if (x * x + y * y <= radius * radius + 0.3) dots.push([x, y]);
    return dots;
  }

  function draw() {
    waiting = false;
    const started = performance.now();
    const w = map.width, h = map.height, s = scale() * dense;
    const back = paper().match(/\d+/g).map(Number);
    pixels.fill((255 << 24) | (back[2] << 16) | (back[1] << 8) | back[0]);
    const size = Math.min(6, Math.max(1.2, 90 / Math.sqrt(n)) * Math.pow(zoom, 0.35)) * dense;
    const dots = stamp(size), reach = Math.ceil(size), opaque = n < 3000 ? 0.85 : 0.6;
    const x0 = w / 2 - midX * s, y0 = h / 2 + midY * s;
    const mixed = rgb.map((c) => c.map((v) => v * opaque)), rest = 1 - opaque;
    for (let k = 0; k < n; k++) {
      const i = order[k], b = branch[i];
      if (!shown[b]) continue;
      const px = Math.round(x0 + points[2 * i] * s), py = Math.round(y0 - points[2 * i + 1] * s);
      if (px < reach || py < reach || px >= w - reach || py >= h - reach) continue;
      const [r, g, bl] = mixed[b];
      for (const [dx, dy] of dots) {
        const at = (py + dy) * w + px + dx, old = pixels[at];
        pixels[at] = (255 << 24) | ((bl + rest * ((old >> 16) & 255)) << 16) | ((g + rest * ((old >> 8) & 255)) << 8) |
          (r + rest * (old & 255));
      }
    }
    pen.putImageData(picture, 0, 0);
    if (marked >= 0) {
      pen.lineWidth = 2.5 * dense; pen.strokeStyle = ink();
      pen.beginPath();
      pen.arc(toX(points[2 * marked]) * dense, toY(points[2 * marked + 1]) * dense, size + 4 * dense, 0, 7);
      pen.stroke();
    }
    drawNames();
    state.frames++; state.drawMs = performance.now() - started;
  }

  function drawNames() { // the largest categories that do not lie on each other
    label.setTransform(dense, 0, 0, dense, 0, 0);
    label.clearRect(0, 0, width, height);
    label.font = "600 12px system-ui, sans-serif"; label.textAlign = "center"; label.textBaseline = "middle";
    const boxes = [], centre = views[current].centroids, most = 12 + 10 * Math.log2(Math.max(1, zoom));
    for (let k = 0; k < data.categories.length && boxes.length < most; k++) {
      const [name, , b] = data.categories[k];
      if (!shown[b]) continue;
      const x = toX(centre[k][0]), y = toY(centre[k][1]);
      const text = name.length > 30 ? name.slice(0, 29) + "…" : name, half = label.measureText(text).width / 2 + 5;
      if (x < half || x > width - half || y < 12 || y > height - 12) continue;
      if (boxes.some(([u, v, other]) => Math.abs(x - u) < half + other && Math.abs(y - v) < 20)) continue;
      boxes.push([x, y, half]);
      label.fillStyle = paper(); label.globalAlpha = 0.82;
      label.fillRect(x - half, y - 10, 2 * half, 20);
      label.globalAlpha = 1; label.strokeStyle = data.branches[b].colour; label.lineWidth = 1.5;
      label.strokeRect(x - half, y - 10, 2 * half, 20);
      label.fillStyle = ink(); label.fillText(text, x, y);
    }
  }

  // -- finding the document at a place: a grid over the plane, made once a view ----------------------------------

  const CELLS = 128, cell = (v) => Math.min(CELLS - 1, Math.max(0, Math.floor(((v + 1) / 2) * CELLS)));
  function makeGrid() {
    const start = new Uint32Array(CELLS * CELLS + 1), items = new Uint32Array(n), p = views[current].points;
    const where = (i) => cell(p[2 * i + 1]) * CELLS + cell(p[2 * i]);
    for (let i = 0; i < n; i++) start[where(i) + 1]++;
    for (let c = 0; c < CELLS * CELLS; c++) start[c + 1] += start[c];
    const next = start.slice();
    for (let i = 0; i < n; i++) items[next[where(i)]++] = i;
    grid = { start, items };
  }

  function within(x, y, radius) { // shown documents near a place of the plane, nearest first
    if (!grid) makeGrid();
    const p = views[current].points, found = [];
    for (let row = cell(y - radius); row <= cell(y + radius); row++)
      for (let column = cell(x - radius); column <= cell(x + radius); column++) {
        const c = row * CELLS + column;
        for (let k = grid.start[c]; k < grid.start[c + 1]; k++) {
          const i = grid.items[k], d = Math.hypot(p[2 * i] - x, p[2 * i + 1] - y);
          if (d <= radius && shown[branch[i]]) found.push([d, i]);
        }
      }
    return found.sort((a, b) => a[0] - b[0]).map(([, i]) => i);
  }

  function mark(i, aloud) {
    if (i === marked && !aloud) return;
    marked = i;
    tip.hidden = i < 0;
    if (i >= 0) {
      const [, path] = data.categories[category[i]], beside = more[i] ? ` (and ${more[i]} more)` : "";
      tip.replaceChildren(Object.assign(document.createElement("b"), { textContent: data.titles[i] }), path + beside);
      const x = toX(points[2 * i]), y = toY(points[2 * i + 1]);
      tip.style.left = `${Math.max(4, Math.min(x + 14, width - tip.offsetWidth - 4))}px`;
      tip.style.top = `${Math.max(4, Math.min(y + 14, height - tip.offsetHeight - 4))}px`;
      if (aloud) said.textContent = `${data.titles[i]}: ${path}${beside}`;
    }
    ask();
  }

  // -- moving -------------------------------------------------------------------------------------------------------

  function zoomAt(factor, x, y) {
    const planeX = midX + (x - width / 2) / scale(), planeY = midY - (y - height / 2) / scale();
    zoom = Math.min(400, Math.max(0.5, zoom * factor));
    midX = planeX - (x - width / 2) / scale(); midY = planeY + (y - height / 2) / scale();
    mark(-1); ask();
  }
  function whole() { zoom = 1; midX = midY = 0; mark(-1); ask(); }

  const held = new Map();
  let spread = 0;
  map.addEventListener("pointerdown", (event) => {
    map.setPointerCapture(event.pointerId); held.set(event.pointerId, event); spread = 0; map.style.cursor = "grabbing";
  });
  map.addEventListener("pointermove", (event) => {
    const box = map.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const before = held.get(event.pointerId);
    if (!before) {
      const planeX = midX + (x - width / 2) / scale(), planeY = midY - (y - height / 2) / scale();
      return mark(within(planeX, planeY, 10 / scale())[0] ?? -1);
    }
    held.set(event.pointerId, event);
    if (held.size === 2) { // two fingers
      const [a, b] = [...held.values()], now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
      if (spread) zoomAt(now / spread, (a.clientX + b.clientX) / 2 - box.left, (a.clientY + b.clientY) / 2 - box.top);
      spread = now;
    } else {
      midX -= (event.clientX - before.clientX) / scale(); midY += (event.clientY - before.clientY) / scale();
      mark(-1); ask();
    }
  });
  for (const end of ["pointerup", "pointercancel"])
    map.addEventListener(end, (event) => { held.delete(event.pointerId); spread = 0; map.style.cursor = ""; });
  map.addEventListener("pointerleave", () => { if (!held.size) mark(-1); });
  map.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = map.getBoundingClientRect();
    zoomAt(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });

  let walk = [], step = -1;
  map.addEventListener("keydown", (event) => {
    const far = 60 / scale(), key = event.key;
    const moves = { ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, far], ArrowDown: [0, -far] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[key]) { midX += moves[key][0]; midY += moves[key][1]; step = -1; mark(-1); ask(); }
    else if (key === "+" || key === "=") { step = -1; zoomAt(1.4, width / 2, height / 2); }
    else if (key === "-") { step = -1; zoomAt(1 / 1.4, width / 2, height / 2); }
    else if (key === "0") { step = -1; whole(); }
    else if (key === "n" || key === "N" || key === "p" || key === "P") {
      if (step < 0) walk = within(midX, midY, Math.min(width, height) / 2 / scale());
      if (!walk.length) said.textContent = "No document is shown here.";
      else {
        step = (step + (key.toLowerCase() === "n" ? 1 : walk.length - 1)) % walk.length;
        mark(walk[Math.max(0, step)], true);
      }
    } else if (key === "Escape") mark(-1);
    else return;
    event.preventDefault();
  });
  byId("in").onclick = () => zoomAt(1.6, width / 2, height / 2);
  byId("out").onclick = () => zoomAt(1 / 1.6, width / 2, height / 2);
  byId("whole").onclick = whole;

  // -- branches and views ---------------------------------------------------------------------------------------------

  const toggles = data.branches.map(({ name, colour, n: count }, b) => {
    const button = document.createElement("button"), dot = document.createElement("i");
    button.className = "branch"; dot.style.background = colour;
    button.append(dot, Object.assign(document.createElement("span"), { textContent: name }), count.toLocaleString("en"));
    button.onclick = () => show(b, !shown[b]);
    const item = document.createElement("li");
    item.append(button);
    byId("branches").append(item);
    return button;
  });
  function show(b, yes) {
    shown[b] = yes; step = -1;
    toggles[b].setAttribute("aria-pressed", String(yes));
    if (marked >= 0 && !shown[branch[marked]]) mark(-1);
    const total = data.branches.reduce((sum, { n: count }, k) => sum + (shown[k] ? count : 0), 0);
    said.textContent = `${total.toLocaleString("en")} of ${n.toLocaleString("en")} documents are shown.`;
    ask();
  }
  byId("all").onclick = () => shown.forEach((_, b) => show(b, true));
  byId("none").onclick = () => shown.forEach((_, b) => show(b, false));

  const switches = views.map((view, k) => {
    const button = document.createElement("button");
    button.className = "view"; button.textContent = view.name;
    button.onclick = () => look(k);
    if (views.length > 1) byId("views").append(button, " ");
    return button;
  });
  function look(k) { // documents wander to where the other mapping has them
    const from = points.slice(), to = views[k].points, began = performance.now(), lasts = still ? 0 : 700;
    current = k; grid = null; step = -1; mark(-1);
    switches.forEach((button, j) => button.setAttribute("aria-pressed", String(j === k)));
    map.setAttribute("aria-label", `${data.title}: map of ${n.toLocaleString("en")} documents, ${views[k].name}`);
    (function move() {
      if (current !== k) return;
      const t = lasts ? Math.min(1, (performance.now() - began) / lasts) : 1, e = t * t * (3 - 2 * t);
      if (t >= 1) points = to;
      else { points = new Float32Array(2 * n); for (let i = 0; i < 2 * n; i++) points[i] = from[i] + e * (to[i] - from[i]); }
      ask();
      if (t < 1) requestAnimationFrame(move);
    })();
  }

  new ResizeObserver(resize).observe(stage);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ask);
  resize();
  look(0);
  data.branches.forEach((_, b) => show(b, true));
  // for tests, and for the curious
  window.pinakesMap = { state, data, views, shown, place: (i) => [toX(points[2 * i]), toY(points[2 * i + 1])], within,
    get marked() { return marked; }, get zoom() { return zoom; }, get view() { return current; } };
})();
