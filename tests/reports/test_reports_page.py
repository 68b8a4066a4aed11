"""The page of a report: whole, safe, free of NaN on tiny inputs, and walked through in a real browser."""

from __future__ import annotations

import html.parser
import json
import re

import numpy as np
import pytest

from browser import Browser, find_browser
from pinakes import HardPerceptron, Taxonomy, TaxonomySVC, metrics
from pinakes.decisions import Classifier
from pinakes.documents import Corpus, Document, TextFeatures
from pinakes.reports import evaluate, make_report, write_report
from pinakes.reports.page import MEANINGS, page

WORDS = {
    "cat": "purr whisker kitten",
    "dog": "bark leash puppy",
    "oak": "trunk crown acorn",
    "fern": "frond spore moss",
}
EVIL = "</script><script>alert(1)</script><b onclick='x'>"
needs_browser = pytest.mark.skipif(find_browser() is None, reason="needs Chromium: install it to test the report")


def taxonomy():
    edges = [("", "animal"), ("", "plant"), ("animal", "cat"), ("animal", "dog"), ("plant", "oak"), ("plant", "fern")]
    return Taxonomy.from_edges(edges, {"animal": f"Animals {EVIL}", "cat": "Cats & kittens"})


def documents(n, sets=False, noise=0.4):
    rng = np.random.default_rng(4)
    names = sorted(WORDS)
    found = []
    for i in range(n):
        labels = [names[i % 4]] if not sets or i % 3 else [names[i % 4], names[(i + 1) % 4]]
        said = [names[rng.integers(4)] if rng.random() < noise else label for label in labels for _ in range(4)]
        text = " ".join(rng.choice(WORDS[label].split()) for label in said)
        found.append(Document(f"d{i} {EVIL}" if i == 0 else f"d{i}", f"{text} {EVIL if i < 9 else ''}", tuple(labels)))
    return Corpus.from_documents(found)


def made(n=80, sets=False, tested=60):
    train, test = documents(n, sets), documents(tested, sets)
    model = HardPerceptron(taxonomy(), max_iter=300) if sets else TaxonomySVC(taxonomy())
    labels = [list(few) for few in train.labels] if sets else train.single_labels()
    classifier = Classifier(model, TextFeatures(min_df=1)).fit(train.texts, labels)
    return classifier, evaluate(classifier, test, confidences=True)


@pytest.fixture(scope="module", params=[False, True], ids=["one label", "label sets"])
def report(request):
    classifier, evaluation = made(sets=request.param)
    commands = {"train": "pinakes train 'a b.jsonl'", "evaluate": f"pinakes evaluate {EVIL}"}
    return evaluation, make_report(evaluation, classifier, title=f"Things {EVIL}", commands=commands)


class Parsed(html.parser.HTMLParser):
    """Tags in balance, the text of table cells, all texts, and everything that could be fetched."""

    VOID = frozenset({"meta", "input", "br", "link", "img", "rect"})

    def __init__(self, text):
        super().__init__()
        self.open, self.cells, self.tags, self.asked, self.texts = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.asked += [v for k, v in attributes if k in ("src", "href", "action") and not v.startswith("#")]
        assert not any(k.startswith("on") for k, _ in attributes)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open:
            self.cells[-1] += data
        self.texts.append(data)


def data_of(text):
    return json.loads(text.split('id="data">')[1].split("</script>")[0])


def test_the_page_is_whole_and_asks_for_nothing(report):
    evaluation, made = report
    text = page(made)
    parsed = Parsed(text)
    assert parsed.open == []
    assert parsed.asked == []
    assert parsed.tags.count("script") == 2
    assert "http" not in re.sub(r'SVG = "http://www.w3.org/2000/svg"|http-equiv', "", text)
    assert "@import" not in text
    assert "/*" not in re.sub(r"^.*//.*$", "", text.split("<body>")[0], flags=re.M)
    for name, value in evaluation.measures.items():
        at = parsed.cells.index(name)
        assert float(parsed.cells[at + 1]) == pytest.approx(value, abs=5.1e-5), name


def test_texts_stay_texts(report):
    _, made = report
    text = page(made)
    assert "<script>alert" not in text
    assert "<b onclick" not in text
    shown = "".join(Parsed(text).texts)
    assert f"Things {EVIL}" in shown
    assert f"pinakes evaluate {EVIL}" in shown
    assert data_of(text)["nodes"]["name"][0] == f"Animals {EVIL}"


def test_every_measure_is_explained():
    assert set(MEANINGS) >= set(metrics.METRICS)


@pytest.mark.parametrize("sets", [False, True])
def test_one_document_and_two_categories_make_a_report_without_nan(sets, tmp_path):
    tiny = Taxonomy.flat(["x", "y"])
    model = HardPerceptron(tiny, max_iter=5) if sets else TaxonomySVC(tiny)
    y = [["x"], ["x", "y"]] if sets else ["x", "y"]
    classifier = Classifier(model).fit([[1.0, 0.0], [0.0, 1.0]], y)
    vector = (np.array([], dtype=np.int32), np.array([], dtype=np.float32))
    corpus = Corpus.from_documents([Document("only", None, ("y",), vector)], n_features=2)
    made = make_report(evaluate(classifier, corpus, confidences=True), classifier)
    write_report(made, tmp_path / "tiny.html")
    text = (tmp_path / "tiny.html").read_text(encoding="utf-8")
    for word in ("NaN", "Infinity", "nan"):
        assert not re.search(rf"(?<![\w.]){word}(?!\w)", text.split("<body>")[1].split("<script>")[0]), word
    assert data_of(text)["nodes"]["true"] == [0, 1]


def test_signs_that_no_encoding_has_are_replaced(tmp_path):
    odd = Taxonomy.from_edges([("", "x"), ("", "y")], {"x": "half \ud83d of a pair", "y": "line\u2028two"})
    classifier = Classifier(TaxonomySVC(odd)).fit([[1.0, 0.0], [0.0, 1.0]], ["x", "y"])
    vector = (np.array([0], dtype=np.int32), np.array([1.0], dtype=np.float32))
    corpus = Corpus.from_documents([Document("only", None, ("y",), vector)], n_features=2)
    write_report(make_report(evaluate(classifier, corpus, confidences=True), classifier), tmp_path / "odd.html")
    assert data_of((tmp_path / "odd.html").read_text(encoding="utf-8"))["nodes"]["name"][0] == "half ? of a pair"


# -- in a browser --------------------------------------------------------------------------------------------

READY = "window.pinakesReport"


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.fixture
def opened(browser, report, tmp_path):
    write_report(report[1], tmp_path / "report.html")
    browser.requests.clear()
    browser.errors.clear()
    browser.open(tmp_path / "report.html", READY)
    yield browser, report[0]
    assert browser.errors == []
    assert all(url.startswith("file://") for url in browser.requests), "the page asks for nothing"


def labels(browser):
    return browser.run("[...document.querySelectorAll('#icicle g')].map((g) => g.getAttribute('aria-label'))")


@needs_browser
def test_the_taxonomy_is_walked_by_mouse_and_by_keys(opened):
    browser, evaluation = opened
    assert browser.run("pinakesReport.current") == -1
    told = labels(browser)
    assert len(told) == 7
    v = evaluation.taxonomy.index("cat")
    m = browser.run(f"pinakesReport.measured({v})")
    cats = next(text for text in told if text.startswith("cat Cats & kittens: "))
    wanted = f"precision {m['precision']:.3f}, recall {m['recall']:.3f}, F1 {m['f1']:.3f}"
    assert wanted in cats
    truth, answers = (
        [["cat"] if "cat" in few else [] for few in side] for side in (evaluation.tested, as_lists(evaluation))
    )
    assert m["f1"] == pytest.approx(metrics.micro_f1(truth, answers, evaluation.taxonomy))
    # a click goes down, the breadcrumb goes up
    place = browser.run(
        "(() => { const g = [...document.querySelectorAll('#icicle g')].find((g) => g.ariaLabel.startsWith('plant'));"
        "g.scrollIntoView(); const {left, top, width, height} = g.getBoundingClientRect();"
        "return [left + width / 2, top + height / 2]; })()"
    )
    browser.mouse("mouseMoved", *place)
    browser.wait("!document.getElementById('tip').hidden")
    assert browser.run("document.getElementById('tip').textContent").startswith("plant")
    assert "precision" in browser.run("document.getElementById('tip').textContent")
    browser.click(*place)
    browser.wait(f"pinakesReport.current === {evaluation.taxonomy.index('plant')}")
    assert len(labels(browser)) == 3
    assert browser.run("document.getElementById('children-head').textContent") == "Below plant: 2 nodes"
    browser.run("document.querySelector('#crumbs button').click()")
    assert browser.run("pinakesReport.current") == -1
    # keys: right to the first branch, down to the second, Enter, and Escape back
    browser.run("document.querySelector('#icicle g').focus()")
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        browser.press(key)
    assert browser.run("pinakesReport.current") == evaluation.taxonomy.index("plant")
    assert browser.run("document.getElementById('said').textContent").startswith("plant: ")
    browser.press("Escape")
    assert browser.run("pinakesReport.current") == -1
    assert browser.run("document.activeElement.getAttribute('aria-label')").startswith("plant")


def as_lists(evaluation):
    return [[answer] if isinstance(answer, str) else answer for answer in evaluation.answers]


@needs_browser
def test_nodes_are_found_and_tables_sorted(opened):
    browser, evaluation = opened
    browser.run("(() => { const f = document.getElementById('find'); f.value = 'kitten'; f.oninput(); })()")
    assert browser.run("document.querySelectorAll('#found button').length") == 1
    browser.run("document.querySelector('#found button').click()")
    assert browser.run("pinakesReport.current") == evaluation.taxonomy.index("animal")
    assert browser.run("document.activeElement.getAttribute('aria-label')").startswith("cat ")
    cells = "[...document.querySelectorAll('#children tbody tr')].map((row) => row.cells[6].textContent)"
    browser.run("document.querySelectorAll('#children th button')[6].click()")
    first = browser.run(cells)
    assert first == sorted(first, reverse=True)
    browser.run("document.querySelectorAll('#children th button')[6].click()")
    assert browser.run(cells) == first[::-1]


@needs_browser
def test_confusions_and_curves_are_drawn(opened):
    browser, evaluation = opened
    costs = "[...document.querySelectorAll('#pairs .cost')].map((c) => c.textContent)"
    assert browser.run("document.querySelectorAll('#pairs li').length") > 0
    assert "document" in browser.run(costs)[0]
    browser.run("(() => { const o = document.getElementById('order'); o.value = 'distance'; o.onchange(); })()")
    far = [float(text.split()[-1]) for text in browser.run(costs)]
    assert far == sorted(far, reverse=True)
    assert browser.run("document.querySelectorAll('figure svg').length") >= 5
    assert browser.run("document.querySelectorAll('#thresholds tbody tr').length") == 7
    drawn = browser.run("document.querySelector('main').innerHTML")
    assert "NaN" not in drawn
    assert "undefined" not in drawn
    assert "<b onclick" not in drawn
    browser.run("document.querySelector('#shares svg').focus()")
    browser.press("ArrowRight")
    assert browser.run("document.querySelector('#shares .read').textContent").startswith("0 %: right category ")
    if not evaluation.has_sets:
        first = browser.run("document.querySelector('#thresholds tbody tr').cells[1].textContent")
        assert first == f"{100 * evaluation.measures['accuracy']:.1f} %"


@needs_browser
def test_light_dark_narrow_and_printed(opened):
    browser, _ = opened
    paper = "getComputedStyle(document.body).backgroundColor"
    for scheme, colour in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(22, 24, 27)")):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        assert browser.run(paper) == colour
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run(paper) == "rgb(255, 255, 255)"
    assert browser.run("getComputedStyle(document.getElementById('find').parentElement).display") == "none"
    assert len(browser.call("Page.printToPDF")["data"]) > 10_000
    browser.call("Emulation.setEmulatedMedia", media="", features=[])
    size = {"deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", width=420, height=800, **size)
    assert browser.run("document.documentElement.scrollWidth") <= 420
    browser.call("Emulation.setDeviceMetricsOverride", width=1200, height=800, **size)


@needs_browser
def test_screen_readers_are_told_what_is_there(opened):
    browser, _ = opened
    told = browser.accessible()
    roles = {role for role, _ in told}
    assert {"banner", "main", "navigation", "heading", "table", "tree", "treeitem", "image", "status"} <= roles
    headings = [name for role, name in told if role == "heading"]
    assert f"Things {EVIL}" in headings
    assert "What was run, and how to repeat it" in headings
    assert all(name for role, name in told if role in ("button", "combobox", "searchbox", "treeitem", "image"))


@needs_browser
def test_six_thousand_nodes_open_at_once(browser, tmp_path):
    """A page of the size of a patent classification is small, and drawn in a moment; the best of three counts."""
    edges = [("", f"s{a}") for a in range(8)]
    edges += [(f"s{a}", f"s{a}c{b}") for a in range(8) for b in range(16)]
    edges += [(f"s{a}c{b}", f"s{a}c{b}g{c}") for a in range(8) for b in range(16) for c in range(46)]
    names = {child: f"Methods and apparatus for the making of {child} and of parts thereof" for _, child in edges}
    large = Taxonomy.from_edges(edges, names)
    leaves = [large.ids[v] for v in large.leaves]
    rng = np.random.default_rng(0)
    rows = [(np.arange(3, dtype=np.int32), rng.random(3).astype(np.float32)) for _ in range(3000)]
    made = [Document(f"d{i}", None, (leaves[rng.integers(len(leaves))],), row) for i, row in enumerate(rows)]
    corpus = Corpus.from_documents(made, n_features=3)
    some = leaves[:: len(leaves) // 40]
    classifier = Classifier(TaxonomySVC(large)).fit(rng.random((len(some), 3)), some)
    write_report(make_report(evaluate(classifier, corpus, confidences=True), classifier), tmp_path / "large.html")
    assert (tmp_path / "large.html").stat().st_size < 5_000_000
    times = []
    for _ in range(3):
        browser.open(tmp_path / "large.html", READY)
        times.append(browser.run("pinakesReport.readyMs"))
    assert min(times) < 2000
    assert browser.run("pinakesReport.shown") < 1500
    assert len(large) > 6000
