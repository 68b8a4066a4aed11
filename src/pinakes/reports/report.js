"use strict";
// A report on one model: the taxonomy to walk through, confusions, and curves. Texts are set as text, never as HTML.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const make = (tag, set = {}, ...inside) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(set)) name in made ? (made[name] = value) : made.setAttribute(name, value);
    made.append(...inside);
    return made;
  };
  const draw = (tag, set = {}, ...inside) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(set)) made.setAttribute(name, value);
    made.append(...inside);
    return made;
  };
  const whole = (n) => n.toLocaleString("en");
  const counted = (k, what) => `${whole(k)} ${what}${k === 1 ? "" : "s"}`;
  const percent = (share, places = 1) => `${(100 * share).toFixed(places)} %`;

  // -- nodes --------------------------------------------------------------------------------------------------

  const nodes = data.nodes, n = nodes.id.length, ALL = -1;
  const children = Array.from({ length: n + 1 }, () => []), below = (v) => children[v + 1];
  const leaves = new Float64Array(n), own = Float64Array.from(nodes.own);
  nodes.parent.forEach((p, v) => below(p).push(v));
  for (let v = n - 1; v >= 0; v--) { // parents come before their children
    if (!below(v).length) leaves[v] = 1;
    if (nodes.parent[v] >= 0) { leaves[nodes.parent[v]] += leaves[v]; own[nodes.parent[v]] += own[v]; }
  }
  const START = below(ALL).length === 1 && below(below(ALL)[0]).length ? below(ALL)[0] : ALL;
  const name = (v) => (v === ALL ? "All" : nodes.name[v] ? `${nodes.id[v]} ${nodes.name[v]}` : nodes.id[v]);
  const title = (v) => (v === ALL ? "All" : nodes.name[v] || nodes.id[v]);
  const way = (v) => (v === ALL ? [] : [...way(nodes.parent[v]), v]);
  const share = (hits, all, other) => (all > 0 ? hits / all : other > 0 ? 0 : 1);
  const f1 = (hits, t, p) => (t + p > 0 ? (2 * hits) / (t + p) : null);
  const measured = (v) => {
    const [t, p, h] = [nodes.true[v], nodes.predicted[v], nodes.hits[v]];
    return { true: t, predicted: p, hits: h, precision: share(h, p, t), recall: share(h, t, p), f1: f1(h, t, p) };
  };
  const inWords = (v) => {
    const m = measured(v);
    if (m.f1 === null) return "no test document belongs or was put here" + (nodes.known[v] ? "" : "; no category of the model");
    return `${counted(m.true, "document")}, ${whole(m.predicted)} answered, ${whole(m.hits)} right; precision ${m.precision.toFixed(3)}, ` +
      `recall ${m.recall.toFixed(3)}, F1 ${m.f1.toFixed(3)}`;
  };

  const STOPS = [[213, 94, 0], [240, 227, 196], [0, 114, 178]]; // F1 of 0, one half, 1: told apart by any eyes
  const mixed = (value) => {
    const k = value < 0.5 ? 0 : 1, t = 2 * value - k;
    return STOPS[k].map((c, i) => Math.round(c + t * (STOPS[k + 1][i] - c)));
  };
  const colour = (value) => (value === null ? "var(--none)" : `rgb(${mixed(value).join(" ")})`);
  const inkOn = (value) => {
    if (value === null) return "var(--ink)";
    const [r, g, b] = mixed(value);
    return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#1d1f23" : "#fff";
  };
  byId("scale").style.background = `linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map(colour).join(", ")})`;

  // -- icicle: the node in question on the left, what lies below it to the right --------------------------------

  const svg = byId("icicle"), box = byId("icicle-box"), tip = byId("tip"), said = byId("said");
  const COLUMNS = 4, THIN = 3, TALLEST = 580;
  let current = START, shown = [], picked = 0;
  const weight = (v) => (byId("size").value === "own" ? own[v] : leaves[v]);

  function layout() { // rectangles of the current view; nodes too thin to see are drawn as one
    const width = Math.max(320, box.clientWidth), out = [];
    let depth = 0;
    for (let level = [current]; level.length && depth < COLUMNS; depth++) level = level.flatMap(below);
    const rows = depth < 2 ? 1 : [...Array(depth - 1)].reduce((level) => level.flatMap(below), [current]).length;
    const height = Math.min(TALLEST, Math.max(120, 27 * rows)), first = Math.min(160, width / depth);
    const wide = depth > 1 ? (width - first) / (depth - 1) : width;
    const place = (v, column, y, h) => {
      out.push({ v, column, x: column ? first + (column - 1) * wide : 0, y, w: column ? wide : depth > 1 ? first : width, h, many: 0 });
      if (column + 1 >= depth) return;
      const kids = below(v).filter((c) => weight(c) > 0), total = v === ALL ? kids.reduce((s, c) => s + weight(c), 0) : weight(v);
      let at = y, thin = [], from = y;
      const flush = () => {
        if (thin.length === 1) place(thin[0], column + 1, from, at - from);
        else for (let k = column + 1; k < depth && thin.length; k++) { // with all that lies below them
          out.push({ v: thin[0], to: v, column: k, x: first + (k - 1) * wide, y: from, w: wide, h: at - from, many: thin.length, some: thin });
          thin = thin.flatMap(below).filter((c) => weight(c) > 0);
        }
        thin = [];
      };
      for (const c of kids) {
        const high = (h * weight(c)) / total;
        if (high >= THIN) { flush(); place(c, column + 1, at, high); at += high; continue; }
        if (!thin.length) from = at;
        thin.push(c); at += high;
        if (at - from >= THIN) flush();
      }
      flush();
    };
    place(current, 0, 0, height);
    out.sort((a, b) => a.column - b.column || a.y - b.y);
    return { width, height, out };
  }

  const pen = document.createElement("canvas").getContext("2d");
  function fitted(text, room) { // as much of a text as there is room for
    pen.font = "12px system-ui, sans-serif";
    if (pen.measureText(text).width <= room) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const k = (low + high + 1) >> 1;
      if (pen.measureText(text.slice(0, k) + "…").width <= room) low = k; else high = k - 1;
    }
    return low ? text.slice(0, low) + "…" : "";
  }

  function pooled(some) {
    const sum = (of) => some.reduce((s, v) => s + of[v], 0);
    return f1(sum(nodes.hits), sum(nodes.true), sum(nodes.predicted));
  }

  const valueOf = (r) => (r.v === ALL ? null : r.many ? pooled(r.some) : measured(r.v).f1);
  const describe = (r) => (r.many ? `${r.many} nodes below ${name(r.to)}, too small to tell apart; F1 of all ${(pooled(r.some) ?? 0).toFixed(3)}`
    : r.v === ALL ? `${whole(n)} nodes` : inWords(r.v));

  function render(focus) {
    const { width, height, out } = layout();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    shown = out;
    picked = Math.max(0, focus === undefined ? 0 : out.findIndex((r) => r.v === focus && !r.many));
    svg.replaceChildren(...out.map((r, k) => {
      const value = valueOf(r);
      const g = draw("g", { tabindex: k === picked ? 0 : -1, role: "treeitem", "aria-level": r.column + 1,
        "aria-label": `${r.many ? "" : name(r.v) + ": "}${describe(r)}` });
      g.append(draw("rect", { x: r.x, y: r.y, width: r.w, height: r.h, fill: colour(value), "stroke-width": r.h < 6 ? 0.3 : 1 }));
      if (r.h >= 14 && !r.many) {
        const label = draw("text", { x: r.x + 6, y: r.y + Math.min(r.h / 2, 40), "dominant-baseline": "central", fill: inkOn(value) });
        label.textContent = fitted(title(r.v), r.w - 12);
        g.append(label);
      }
      return g;
    }));
    crumbs();
    table();
  }

  function crumbs() {
    const steps = START === ALL ? [ALL, ...way(current)] : way(current);
    byId("crumbs").replaceChildren(...steps.flatMap((v, k) => {
      if (v === current) return [make("b", { ariaCurrent: "location" }, name(v))];
      return [make("button", { onclick: () => go(v) }, name(v)), make("span", { ariaHidden: "true" }, "›")];
    }));
  }

  function go(v, focus) { // show a node with what lies below it; of a leaf, its place below its parent
    if (v !== ALL && !below(v).length) [v, focus] = [nodes.parent[v], v];
    current = v;
    tip.hidden = true;
    render(focus);
    const told = focus ?? v;
    said.textContent = told === ALL ? `${whole(n)} nodes` : `${name(told)}: ${inWords(told)}${alsoBelow(told)}`;
  }

  const alsoBelow = (v) => (nodes.several[v] ? `; ${name(v)} lies below ${nodes.several[v].map(name).join(" and ")}` : "");
  const up = () => { if (current !== START && current !== ALL) go(nodes.parent[current], current), refocus(); };
  const refocus = () => svg.children[picked] && svg.children[picked].focus({ preventScroll: true });
  const index = (event) => { const g = event.target.closest("g"); return g ? [...svg.children].indexOf(g) : -1; };

  function descend(k) {
    const r = shown[k], target = r.many ? r.to : r.v;
    if (target === current) return up();
    go(target);
  }

  function tell(k) {
    const r = shown[k];
    tip.replaceChildren(make("b", {}, r.many ? `${r.many} small nodes` : name(r.v)), describe(r) + (r.many ? "" : alsoBelow(r.v)));
    tip.hidden = false;
    const scale = svg.clientWidth / svg.viewBox.baseVal.width;
    const x = Math.min(r.x * scale + 24, box.clientWidth - tip.offsetWidth - 4), low = (r.y + r.h) * scale + 6;
    tip.style.left = `${Math.max(4, x)}px`;
    tip.style.top = `${low + tip.offsetHeight > svg.clientHeight + 60 ? Math.max(4, r.y * scale - tip.offsetHeight - 6) : low}px`;
  }

  svg.addEventListener("click", (event) => { const k = index(event); if (k >= 0) { descend(k); refocus(); tip.hidden = true; } });
  svg.addEventListener("mousemove", (event) => { const k = index(event); if (k >= 0) tell(k); else tip.hidden = true; });
  svg.addEventListener("mouseleave", () => { tip.hidden = true; });
  svg.addEventListener("focusin", (event) => { const k = index(event); if (k >= 0 && svg.children[k].matches(":focus-visible")) tell(k); });
  svg.addEventListener("focusout", () => { tip.hidden = true; });
  svg.addEventListener("keydown", (event) => {
    const k = index(event);
    if (k < 0) return;
    const r = shown[k], beside = (step) => (shown[k + step] && shown[k + step].column === r.column ? k + step : k);
    const kid = () => shown.findIndex((s) => s.column === r.column + 1 && !r.many && nodes.parent[s.v] === r.v);
    const parent = () => shown.findIndex((s) => s.column === r.column - 1 && !s.many && s.v === nodes.parent[r.v]);
    const moves = { ArrowDown: () => beside(1), ArrowUp: () => beside(-1), ArrowRight: kid, ArrowLeft: parent };
    if (moves[event.key]) {
      const to = moves[event.key]();
      if (to >= 0) { svg.children[picked].setAttribute("tabindex", -1); picked = to; svg.children[to].setAttribute("tabindex", 0); svg.children[to].focus(); }
    } else if (event.key === "Enter" || event.key === " ") { descend(k); refocus(); }
    else if (event.key === "Escape" || event.key === "Backspace") up();
    else return;
    event.preventDefault();
  });

  // -- the table of what lies below -----------------------------------------------------------------------------

  const FEW = 12;
  let sorted = ["true", -1], everything = false;
  const HEADS = [["name", "node"], ["true", "documents"], ["predicted", "answered"], ["hits", "right"], ["precision", "precision"], ["recall", "recall"], ["f1", "F1"]];
  function table() {
    const [by, sign] = sorted;
    const rows = below(current).map((v) => ({ v, name: name(v), ...measured(v) }));
    const key = (row) => row[by] ?? -1;
    rows.sort((a, b) => (by === "name" ? sign * a.name.localeCompare(b.name) : sign * (key(a) - key(b))) || a.v - b.v);
    byId("children-head").textContent = `${current === ALL ? "At the top" : `Below ${name(current)}`}: ${whole(rows.length)} nodes`;
    byId("children").tHead.replaceChildren(make("tr", {}, ...HEADS.map(([of, text]) => {
      const button = make("button", { onclick: () => { sorted = [of, sorted[0] === of ? -sorted[1] : of === "name" ? 1 : -1]; table(); } }, text + (of === by ? (sign < 0 ? " ↓" : " ↑") : ""));
      return make("th", { scope: "col", className: of === "name" ? "" : "n", ariaSort: of === by ? (sign < 0 ? "descending" : "ascending") : "none" }, button);
    })));
    byId("children").tBodies[0].replaceChildren(...rows.slice(0, everything ? rows.length : FEW).map((row) => {
      const mark = make("span", { className: "swatch", ariaHidden: "true" });
      mark.style.background = colour(row.f1);
      const shownName = below(row.v).length ? make("a", { href: "#taxonomy", onclick: (event) => { event.preventDefault(); go(row.v); } }, row.name) : row.name;
      const number = (value) => make("td", { className: "n" }, row.f1 === null ? "–" : value);
      return make("tr", {}, make("td", {}, mark, shownName), number(whole(row.true)), number(whole(row.predicted)), number(whole(row.hits)),
        number(row.precision.toFixed(3)), number(row.recall.toFixed(3)), number(row.f1 === null ? "" : row.f1.toFixed(3)));
    }));
    const more = byId("more-children");
    more.hidden = rows.length <= FEW;
    more.textContent = everything ? "Show fewer" : `Show all ${whole(rows.length)}`;
  }
  byId("more-children").onclick = () => { everything = !everything; table(); };
  byId("size").onchange = () => render();
  const find = byId("find"), found = byId("found");
  find.oninput = () => {
    const text = find.value.trim().toLowerCase(), hits = [];
    for (let v = 0; text && v < n && hits.length < 20; v++) if (name(v).toLowerCase().includes(text)) hits.push(v);
    found.hidden = !text;
    found.replaceChildren(...hits.map((v) => make("li", {}, make("button", { onclick: () => { found.hidden = true; go(v); refocus(); } }, way(v).map(name).join(" › ")))));
    if (text && !hits.length) found.append(make("li", {}, "No node has this in its id or name."));
  };
  find.onkeydown = (event) => {
    if (event.key === "Escape") { find.value = ""; found.hidden = true; }
    if (event.key === "Enter" && found.querySelector("button")) found.querySelector("button").click();
  };

  // -- confusions -----------------------------------------------------------------------------------------------

  const PAGE = 10;
  let pairsShown = PAGE;
  function confusions() {
    const by = byId("order").value, cost = (c) => c.n * c.distance;
    const keys = { cost: [cost, (c) => c.distance], distance: [(c) => c.distance, (c) => c.n], n: [(c) => c.n, (c) => c.distance] }[by];
    const rows = [...data.confusions].sort((a, b) => keys[0](b) - keys[0](a) || keys[1](b) - keys[1](a));
    byId("pairs").replaceChildren(...rows.slice(0, pairsShown).map((c) => {
      const link = (v) => make("a", { href: "#taxonomy", onclick: () => go(v) }, name(v));
      const item = make("li", {}, make("span", { className: "cost" }, `${counted(c.n, "document")} × distance ${c.distance}`),
        make("b", {}, link(c.true)), " taken for ", make("b", {}, c.answer < 0 ? "nothing" : link(c.answer)),
        make("div", { className: "way" }, paths(c)));
      for (const d of c.documents)
        item.append(make("blockquote", {}, d.text, make("small", {}, ` ${d.text ? "– " : ""}${d.id}${d.confidence === null ? "" : `, ${percent(d.confidence, 0)} sure`}`)));
      return item;
    }));
    if (!rows.length) byId("pairs").append(make("li", {}, "No answer was wrong."));
    byId("more-pairs").hidden = rows.length <= pairsShown;
  }
  const paths = (c) => { // the last node above both, and the branches in which they lie from there
    const a = way(c.true), b = c.answer < 0 ? [] : way(c.answer);
    let k = 0;
    while (k < a.length && k < b.length && a[k] === b[k]) k++;
    const branches = [a, b].filter((v) => k < v.length - 1).map((v) => title(v[k]));
    const common = k ? (a[k - 1] === c.true || a[k - 1] === c.answer ? "one lies below the other" : `both below ${title(a[k - 1])}`) : "";
    return [common, branches.join("  |  ")].filter(Boolean).join(": ");
  };
  byId("order").onchange = () => { pairsShown = PAGE; confusions(); };
  byId("more-pairs").onclick = () => { pairsShown += 2 * PAGE; confusions(); };

  // -- curves ---------------------------------------------------------------------------------------------------

  const COLOURS = ["var(--one)", "var(--two)", "var(--three)", "var(--four)"];
  const W = 480, H = 300, LEFT = 48, RIGHT = 22, TOP = 10, BOTTOM = 42;

  function steps(low, high, least = 0) {
    const raw = Math.max(least, (high - low) / 5) || 1, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((k) => k >= raw - 1e-12);
    const out = [];
    for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + 1e-9 * step; v += step) out.push(+v.toPrecision(12));
    return out;
  }
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });
  const plain = (v) => (v === null ? "–" : v !== 0 && (Math.abs(v) >= 1e15 || Math.abs(v) < 1e-3) ? v.toExponential(1) : Math.abs(v) >= 1e4 ? compact.format(v) : +v.toPrecision(4) + "");
  const asPercent = (v) => `${Math.round(100 * v)} %`;

  function axis({ low, high, log, least }, from, to) {
    const f = log ? Math.log10 : (v) => v, a = f(low), b = f(high) === f(low) ? f(low) + 1 : f(high);
    const scale = (v) => from + ((f(v) - a) / (b - a)) * (to - from);
    let ticks = steps(a, b, least);
    if (log) {
      const powers = [];
      for (let k = Math.ceil(a - 1e-9); k <= b + 1e-9; k++) powers.push(10 ** k);
      ticks = powers.length > 1 ? powers : [low, high];
    }
    return { scale, ticks };
  }

  // one chart: bounds and names of the axes, what to draw, and what to read out at each place of x
  function chart(figure, { head, note, x, y, keys = [], paint, places, read }) {
    const ax = axis(x, LEFT, W - RIGHT), ay = axis(y, H - BOTTOM, TOP);
    const pic = draw("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", tabindex: 0, "aria-label": `${head}. ${note || ""} Arrow keys read values.` });
    for (const t of ax.ticks) {
      pic.append(draw("line", { class: "grid", x1: ax.scale(t), x2: ax.scale(t), y1: TOP, y2: H - BOTTOM }));
      pic.append(draw("text", { x: ax.scale(t), y: H - BOTTOM + 16, "text-anchor": "middle" }, (x.text || plain)(t)));
    }
    for (const t of ay.ticks) {
      pic.append(draw("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: ay.scale(t), y2: ay.scale(t) }));
      pic.append(draw("text", { x: LEFT - 7, y: ay.scale(t), "text-anchor": "end", "dominant-baseline": "central" }, (y.text || plain)(t)));
    }
    pic.append(draw("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: H - BOTTOM, y2: H - BOTTOM }));
    pic.append(draw("text", { x: (LEFT + W - RIGHT) / 2, y: H - 6, "text-anchor": "middle" }, x.name));
    const inside = draw("g");
    pic.append(inside);
    paint(inside, ax.scale, ay.scale);
    const cursor = draw("line", { class: "axis", y1: TOP, y2: H - BOTTOM, visibility: "hidden" });
    pic.append(cursor);
    const out = make("div", { className: "read", role: "status" });
    let at = -1;
    const show = (k) => {
      at = Math.max(0, Math.min(places.length - 1, k));
      cursor.setAttribute("x1", ax.scale(places[at])); cursor.setAttribute("x2", ax.scale(places[at]));
      cursor.setAttribute("visibility", "visible");
      out.textContent = read(at);
    };
    const hide = () => { cursor.setAttribute("visibility", "hidden"); out.textContent = ""; at = -1; };
    pic.addEventListener("mousemove", (event) => {
      const mouse = ((event.clientX - pic.getBoundingClientRect().left) / pic.clientWidth) * W;
      let best = 0;
      places.forEach((p, k) => { if (Math.abs(ax.scale(p) - mouse) < Math.abs(ax.scale(places[best]) - mouse)) best = k; });
      if (places.length) show(best);
    });
    pic.addEventListener("mouseleave", hide);
    pic.addEventListener("blur", hide);
    pic.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step && places.length) { show(at < 0 ? 0 : at + step); event.preventDefault(); }
    });
    const legend = make("div", { className: "keys" }, ...keys.map(([text, paintOf]) => {
      const i = make("i");
      i.style.background = paintOf;
      return make("span", {}, i, text);
    }));
    figure.replaceChildren(make("figcaption", {}, make("b", {}, head), note || ""), legend, pic, out);
  }
  const path = (xs, ys, sx, sy) => xs.map((v, k) => `${k ? "L" : "M"}${sx(v).toFixed(1)} ${sy(ys[k]).toFixed(1)}`).join("");
  const line = (xs, ys, sx, sy, stroke, more = {}) => {
    const style = `fill:none;stroke:${stroke};stroke-width:2`;
    if (xs.length === 1) return draw("circle", { cx: sx(xs[0]), cy: sy(ys[0]), r: 4, style: `fill:${stroke}` });
    return draw("path", { d: path(xs, ys, sx, sy), style, ...more });
  };

  function reliability(id, what, { n: total, bins, expected_calibration_error: error }) {
    const most = Math.max(1, ...bins.map((b) => b.n)), claims = data.sets ? "claims" : "answers";
    chart(byId(id), {
      head: `How sure, and how often right: ${what}`,
      note: `${whole(total)} ${claims}; expected calibration error ${error.toFixed(4)}.`,
      x: { low: 0, high: 1, name: "confidence", text: asPercent }, y: { low: 0, high: 1, text: asPercent },
      keys: [["right, with 95 % interval", COLOURS[0]], ["as it should be", "var(--quiet)"], [`number of ${claims}`, "var(--none)"]],
      paint: (g, sx, sy) => {
        for (const b of bins) {
          const high = 0.25 * Math.sqrt(b.n / most); // roots, so that small bins are seen
          g.append(draw("rect", { x: sx(b.from) + 1, y: sy(high), width: sx(b.to) - sx(b.from) - 2, height: sy(0) - sy(high), style: "fill:var(--none);opacity:.75" }));
        }
        g.append(draw("line", { x1: sx(0), y1: sy(0), x2: sx(1), y2: sy(1), style: "stroke:var(--quiet);stroke-dasharray:5 4" }));
        g.append(line(bins.map((b) => b.confidence), bins.map((b) => b.right), sx, sy, COLOURS[0]));
        for (const b of bins) {
          g.append(draw("line", { x1: sx(b.confidence), x2: sx(b.confidence), y1: sy(b.low), y2: sy(b.high), style: `stroke:${COLOURS[0]};stroke-width:1.5` }));
          g.append(draw("circle", { cx: sx(b.confidence), cy: sy(b.right), r: 4, style: `fill:${COLOURS[0]}` }));
        }
      },
      places: bins.map((b) => b.confidence),
      read: (k) => `${percent(bins[k].confidence)} sure, ${percent(bins[k].right)} right (${percent(bins[k].low)} to ${percent(bins[k].high)}); ${whole(bins[k].n)} ${claims}`,
    });
  }

  function curves() {
    reliability("reliability-category", "categories", data.reliability.category);
    reliability("reliability-parent", "their parents", data.reliability.parent);
    const risks = data.risk, most = Math.max(0.05, ...risks.flatMap((r) => r.risk)), grid = [...Array(101)].map((_, k) => k / 100);
    const at = (r, coverage) => { const k = r.coverage.findIndex((c) => c >= coverage - 1e-9); return r.risk[k < 0 ? r.risk.length - 1 : k]; };
    chart(byId("risk"), {
      head: "Mistakes among the surest answers", note: "One curve for categories, one for each level: higher levels are surer.",
      x: { low: 0, high: 1, name: "documents answered, the surest first", text: asPercent }, y: { low: 0, high: most, text: (v) => `${+(100 * v).toPrecision(3)} %` },
      keys: risks.map((r, k) => [r.name, COLOURS[k]]),
      paint: (g, sx, sy) => risks.forEach((r, k) => g.append(line(r.coverage, r.risk, sx, sy, COLOURS[k]))),
      places: grid.slice(1), read: (k) => `${asPercent(grid[k + 1])} answered; wrong: ${risks.map((r) => `${r.name} ${percent(at(r, grid[k + 1]))}`).join(", ")}`,
    });
    const back = data.back_off, KINDS = [["category_right", "right category"], ["inner_right", "right inner node"], ["wrong", "wrong"], ["silent", "no answer"]];
    const paints = [COLOURS[0], "color-mix(in srgb, var(--one) 45%, var(--paper))", COLOURS[1], "var(--none)"];
    chart(byId("shares"), {
      head: "What comes out if answers must be this sure", note: "Shares of all documents, by the confidence that is asked for.",
      x: { low: 0, high: 1, name: "threshold", text: asPercent }, y: { low: 0, high: 1, text: asPercent },
      keys: KINDS.map(([, text], k) => [text, paints[k]]),
      paint: (g, sx, sy) => {
        let under = back.threshold.map(() => 0);
        KINDS.forEach(([of], k) => {
          const top = under.map((u, i) => u + back[of][i]), xs = back.threshold;
          const d = path(xs, top, sx, sy) + path([...xs].reverse(), [...under].reverse(), sx, sy).replace("M", "L") + "Z";
          g.append(draw("path", { d, style: `fill:${paints[k]}` }));
          under = top;
        });
      },
      places: back.threshold,
      read: (k) => `${asPercent(back.threshold[k])}: ${KINDS.map(([of, text]) => `${text} ${percent(back[of][k])}`).join(", ")}; Delta-loss ${back.delta_loss[k].toFixed(3)}`,
    });
    const heads = ["threshold", "right category", "right inner node", "wrong", "no answer", "right among answered", "mean level", "Delta-loss"];
    byId("thresholds").tHead.replaceChildren(make("tr", {}, ...heads.map((text) => make("th", { scope: "col", className: "n" }, text))));
    byId("thresholds").tBodies[0].replaceChildren(...[0, 50, 70, 80, 90, 95, 99].map((k) => {
      const right = back.category_right[k] + back.inner_right[k], answered = right + back.wrong[k];
      const cells = [asPercent(back.threshold[k]), ...KINDS.map(([of]) => percent(back[of][k])), answered > 0 ? percent(right / answered) : "–",
        answered > 0 ? back.level[k].toFixed(2) : "–", back.delta_loss[k].toFixed(3)];
      return make("tr", {}, ...cells.map((text) => make("td", { className: "n" }, text)));
    }));
    training();
  }

  function training() {
    const t = data.training, place = byId("curves");
    const series = (wanted) => wanted.map((of) => t.names.indexOf(of)).filter((k) => k >= 0).map((k) => [t.names[k], t.values[k]]);
    const words = { p_obj: "primal objective", d_obj: "dual objective", gap: "relative gap", margin: "margin", norm: "length of the weights" };
    const groups = [["Objective", ["p_obj", "d_obj"]], ["Duality gap", ["gap"]], ["Margin", ["margin"]], ["Weights", ["norm"]]];
    place.replaceChildren();
    for (const [head, wanted] of groups) {
      const lines = series(wanted), all = lines.flatMap(([, ys]) => ys).filter((v) => v !== null);
      if (!all.length) continue;
      const low = Math.min(...all), high = Math.max(...all);
      const positive = all.filter((v) => v > 0), least = Math.min(...positive);
      const log = positive.length > 1 && high / least > 30 && low >= 0;
      const bounds = log ? { low: least, high, log } : { low: Math.min(0, low), high: high > low ? high : low + Math.abs(low || 1) };
      const figure = make("figure");
      place.append(figure);
      const last = t.round.length - 1;
      chart(figure, {
        head, note: `${counted(t.round[last], "round")}, ${t.seconds[last].toFixed(1)} s; in the end ${lines.map(([of, ys]) => `${words[of]} ${of === "gap" && ys[last] !== null ? percent(ys[last], 2) : plain(ys[last])}`).join(", ")}.`,
        x: { low: Math.min(0, t.round[0]), high: Math.max(t.round[last], 1), name: "rounds", least: 1 }, y: bounds,
        keys: lines.map(([of], k) => [words[of], COLOURS[k]]),
        paint: (g, sx, sy) => lines.forEach(([, ys], k) => {
          const good = t.round.map((r, i) => [r, ys[i]]).filter(([, v]) => v !== null && (!log || v > 0));
          if (good.length) g.append(line(good.map(([r]) => r), good.map(([, v]) => v), sx, sy, COLOURS[k]));
        }),
        places: t.round, read: (k) => `round ${whole(t.round[k])}, ${t.seconds[k].toFixed(2)} s: ${lines.map(([of, ys]) => `${words[of]} ${plain(ys[k])}`).join(", ")}`,
      });
    }
    if (!place.children.length) place.append(make("p", {}, "This model has kept no record of its training."));
  }

  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => render(), 150); });
  render();
  confusions();
  curves();
  window.pinakesReport = { go, get current() { return current; }, get shown() { return shown.length; }, measured, nodes, readyMs: performance.now() };
})();
