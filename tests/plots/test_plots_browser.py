"""The page in a real browser: drawn, hovered, zoomed, walked through by keys, told to screen readers, and quick."""

from __future__ import annotations

import io

import numpy as np
import pytest

from browser import Browser, find_browser
from pinakes.plots import Branch, DocumentMap, View, write_page

pytestmark = pytest.mark.skipif(find_browser() is None, reason="needs Chromium: install it to test the page of maps")
COLOURS = ["#0072B2", "#D55E00", "#009E73"]
MANY = 50_000


def chart_of(n):
    """Make a map with three branches, each around a place of its own in one view and mixed in the other."""
    rng = np.random.default_rng(0)
    branch_of = np.arange(n) % 3
    centre = np.array([[-0.5, -0.5], [0.5, -0.5], [0.0, 0.6]])
    apart = np.clip(centre[branch_of] + 0.1 * rng.normal(size=(n, 2)), -1, 1).astype(np.float32)
    mixed = np.clip(0.3 * rng.normal(size=(n, 2)), -1, 1).astype(np.float32)
    names = ["first", "second", "third"]
    return DocumentMap(
        "Things & <others>",
        [View("HLSI", apart, centre.astype(np.float32)), View("LSI", mixed, np.zeros((3, 2), dtype=np.float32))],
        [Branch(name, colour, k) for k, (name, colour) in enumerate(zip(names, COLOURS, strict=True))],
        branch_of,
        [f"title {i}" for i in range(n)],
        [(f"category {k}", f"{name} > category {k}", k, n // 3) for k, name in enumerate(names)],
        branch_of.copy(),
        np.zeros(n, dtype=np.int64),
    )


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.fixture
def page(browser, tmp_path):
    write_page(chart_of(300), tmp_path / "map.html")
    browser.requests.clear()
    browser.open(tmp_path / "map.html")
    browser.wait("performance.now() > 900")  # the first view has settled
    yield browser
    assert browser.errors == []
    assert all(url.startswith("file://") for url in browser.requests), "the page asks for nothing"


def pixels(browser):
    import matplotlib.image

    return matplotlib.image.imread(io.BytesIO(browser.picture()))[..., :3]


def amount(image, colour):
    """Count the pixels that have about this hue."""
    wanted = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    mixed = [1 - a * (1 - wanted) for a in (0.85, 0.9775)]
    return sum(int((np.abs(image[:, :900] - m).max(axis=2) < 0.02).sum()) for m in mixed)


def stage(browser):
    return browser.run("(({left, top}) => [left, top])(document.getElementById('map').getBoundingClientRect())")


def test_points_are_drawn_in_their_colours_and_branches_hide(page):
    before = pixels(page)
    assert all(amount(before, colour) > 100 for colour in COLOURS)
    page.run("document.querySelectorAll('.branch')[1].click()")
    assert page.run("document.querySelectorAll('.branch')[1].getAttribute('aria-pressed')") == "false"
    assert page.run("document.getElementById('said').textContent") == "200 of 300 documents are shown."
    page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    after = pixels(page)
    assert amount(after, COLOURS[1]) < amount(before, COLOURS[1]) / 5
    assert amount(after, COLOURS[0]) > 100


def test_a_click_with_the_mouse_hides_a_branch(page):
    box = "document.querySelectorAll('.branch')[2].getBoundingClientRect()"
    x, y = page.run(f"((box) => [box.left + box.width / 2, box.top + 8])({box})")
    page.click(x, y)
    assert page.run("pinakesMap.shown") == [True, True, False]


def test_pointing_at_a_document_shows_title_and_path(page):
    left, top = stage(page)
    x, y = page.run("pinakesMap.place(7)")
    page.mouse("mouseMoved", left + x, top + y)
    page.wait("!document.getElementById('tip').hidden")
    text = page.run("document.getElementById('tip').textContent")
    i = page.run("pinakesMap.marked")
    assert text == f"title {i}{['first', 'second', 'third'][i % 3]} > category {i % 3}"
    px, py = page.run(f"pinakesMap.place({i})")
    assert np.hypot(px - x, py - y) < 1.5


def test_wheel_zooms_at_the_pointer_and_dragging_moves(page):
    left, top = stage(page)
    x, y = page.run("pinakesMap.place(4)")
    page.mouse("mouseWheel", left + x, top + y, deltaX=0, deltaY=-400)
    page.wait("pinakesMap.zoom > 1.5")
    assert page.run("pinakesMap.place(4)") == pytest.approx([x, y], abs=2)  # the mouse is at whole pixels
    page.mouse("mousePressed", left + 300, top + 300, button="left", clickCount=1)
    page.mouse("mouseMoved", left + 350, top + 280, button="left")
    page.mouse("mouseReleased", left + 350, top + 280, button="left", clickCount=1)
    assert page.run("pinakesMap.place(4)") == pytest.approx([x + 50, y - 20], abs=2.5)


def test_keys_move_zoom_and_read_documents_aloud(page):
    page.run("document.getElementById('map').focus()")
    x, y = page.run("pinakesMap.place(0)")
    page.press("ArrowRight")
    assert page.run("pinakesMap.place(0)") == pytest.approx([x - 60, y], abs=0.5)
    page.press("+")
    assert page.run("pinakesMap.zoom") == pytest.approx(1.4)
    page.press("0")
    assert page.run("pinakesMap.place(0)") == pytest.approx([x, y], abs=0.5)
    page.press("n")
    first = page.run("document.getElementById('said').textContent")
    page.press("n")
    second = page.run("document.getElementById('said').textContent")
    assert first.startswith("title ")
    assert " > category " in second
    assert first != second


def test_the_other_mapping_moves_the_documents(page):
    before = page.run("pinakesMap.place(2)")
    page.run("document.querySelectorAll('.view')[1].click()")
    page.wait(f"pinakesMap.view === 1 && Math.abs(pinakesMap.place(2)[0] - {before[0]}) > 1")
    assert page.run("[...document.querySelectorAll('.view')].map((v) => v.getAttribute('aria-pressed'))") == [
        "false",
        "true",
    ]


def test_screen_readers_are_told_what_is_there(page):
    told = page.accessible()
    roles = {role for role, _ in told}
    assert {"banner", "main", "complementary", "heading", "button", "list", "status"} <= roles
    assert ("application", "Things & <others>: map of 300 documents, HLSI") in told
    assert ("heading", "Things & <others>") in told
    buttons = [name for role, name in told if role == "button"]
    assert "Zoom in" in buttons
    assert any(name.startswith("first") for name in buttons)


def test_fifty_thousand_points_stay_smooth(browser, tmp_path):
    """Drawing all points takes a small part of a frame at 60 a second; this machine may be busy, so the best counts."""
    write_page(chart_of(MANY), tmp_path / "many.html")
    browser.open(tmp_path / "many.html")
    browser.wait("performance.now() > 1500")
    browser.run("document.getElementById('map').focus()")
    times = []
    for _ in range(25):
        browser.press("ArrowLeft")
        frame = "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(pinakesMap.state.drawMs), 0)))"
        times.append(browser.run(frame))
    assert min(times) < 17
    assert np.median(times) < 60
    browser.press("0")
    left, top = stage(browser)
    x, y = browser.run("pinakesMap.place(777)")
    finding = browser.run(
        "(() => { const t = performance.now();"
        "for (let k = 0; k < 100; k++) pinakesMap.within(0.01 * k - 0.5, -0.5, 0.02);"
        "return (performance.now() - t) / 100; })()"
    )
    assert finding < 17
    browser.mouse("mouseMoved", left + x, top + y)
    browser.wait("pinakesMap.marked >= 0")
