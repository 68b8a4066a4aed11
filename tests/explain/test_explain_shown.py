"""What people see: marks in the text, plain text, colours, HTML, JSON, and the most telling words."""

from __future__ import annotations

import io
import json
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console

from pinakes import StochasticPerceptron, Taxonomy, TaxonomySVC
from pinakes.decisions import Classifier, KeptDocuments
from pinakes.documents import TextFeatures
from pinakes.errors import LabelError, ParameterError
from pinakes.explain import explain, telling_words
from pinakes.explain.excerpt import cut

TREE = Taxonomy.from_edges(
    [("", "A"), ("A", "A1"), ("A", "A2"), ("", "P"), ("P", "P1")],
    {"A": "<Animals>", "A1": "Cat & kitten", "A2": "Dog", "P": "Plants", "P1": "Tree"},
)
TEXTS = ["It purrs and eats", "It barks and eats", "It grows, and has leaves"] * 5
LABELS = ["A1", "A2", "P1"] * 5
ASKED = "What <purrs>, and Eats \x1b[31m, and purrs?"


def make(**features):
    return Classifier(TaxonomySVC(TREE, fit_intercept=True), TextFeatures(min_df=1, **features)).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def classifier():
    made = make()
    made.documents = KeptDocuments.of(made.model, made.vectors(TEXTS), LABELS, [f"d{i}" for i in range(15)], TEXTS)
    return made


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 3), (2, 2)])
def test_marks_add_up_to_the_score_without_bias(ngrams):
    made = make(ngrams=ngrams)
    why = explain(made, [ASKED])[0]
    total = sum(mark.score for mark in why.marks if mark.score is not None)
    assert total + why.bias.sum() == pytest.approx(why.score)
    words = [ASKED[mark.start : mark.end] for mark in why.marks]
    assert words == ["What", "purrs", "and", "Eats", "31m", "and", "purrs"]
    if ngrams == (1, 1):
        assert why.unknown == ("What", "31m")
        both = [mark.score for mark, word in zip(why.marks, words, strict=True) if word == "purrs"]
        assert both[0] == both[1] == pytest.approx(next(p.score for p in why.words if p.word == "purrs") / 2)


def test_hashed_words_are_named_by_the_text():
    why = explain(make(hashing=4), [ASKED])[0]
    total = sum(mark.score for mark in why.marks if mark.score is not None)
    assert total + why.bias.sum() == pytest.approx(why.score)
    assert {word for part in why.words for word in part.word.split(" | ")} == {"what", "purrs", "and", "eats", "31m"}
    with pytest.raises(ParameterError, match="hashed features have no names, so that no words can be told"):
        telling_words(make(hashing=4))


def test_plain_text_is_read_without_colour(classifier):
    why = explain(classifier, [ASKED], n_documents=2)[0]
    text = str(why)
    assert "\x1b" not in text, "signs that a terminal would obey are written out"
    assert r"\x1b" in text
    head, path, _, told, *_ = text.splitlines()
    assert head.startswith(f"Cat & kitten  A1  {why.score:+.3f}  ")
    assert path == "<Animals> > Cat & kitten"
    purrs = next(part.score for part in why.words if part.word == "purrs")
    assert f"purrs[{purrs / 2:+.2f}]" in told
    assert "not known: What, 31m" in text
    assert f"{purrs:+.3f}  ████████████████" in text, "the largest part has a whole bar"
    assert "bias" in text
    assert "training document" in text
    assert "all others" in text
    assert all(line == line.rstrip() for line in text.splitlines())
    assert max(map(len, text.splitlines())) <= 100
    assert repr(why) == f"<Explanation of 0: A1, {why.score:+.3f}>"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_colour_marks_words_instead_of_numbers(classifier, width):
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system="truecolor", highlight=False)
    console.print(explain(classifier, [ASKED], n_documents=2)[0])
    assert "48;2;0;135;175mpurrs" in out.getvalue()
    assert "purrs[" not in out.getvalue()


def test_a_difference_names_both(classifier):
    why = explain(classifier, [ASKED], against="A2")[0]
    assert why.against is not None
    first, second, third = str(why).splitlines()[:3]
    assert first.startswith("Cat & kitten  A1 and not Dog  A2  ")
    assert (second, third) == ("<Animals> > Cat & kitten", "<Animals> > Dog")
    assert "and not" in why._repr_html_()
    assert why.to_dict()["against"]["label"] == "A2"


class Checked(HTMLParser):
    """Tells whether tags are closed in the order in which they were opened, and what a reader sees."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_html_is_whole_and_escaped(classifier):
    why = explain(classifier, [ASKED], n_documents=2)[0]
    seen = Checked(why._repr_html_())
    assert "<purrs>" in seen.text
    assert "<Animals> > Cat & kitten" in seen.text
    assert {"animals", "purrs", "script", "style", "link", "img"}.isdisjoint(seen.tags)
    for part in why.nodes:
        assert f"{part.score:+.3f}" in seen.text
    many = explain(classifier, [ASKED] * 8)
    assert "… and 3 more documents" in Checked(many._repr_html_()).text
    assert len(many[2:4]) == 2
    assert many[-1].id == "7"
    assert str(many).count("Cat & kitten  A1") == 8
    with pytest.raises(IndexError):
        many[8]


def test_json_holds_all_parts(classifier):
    why = explain(classifier, [ASKED], n_documents=1)[0]
    told = json.loads(json.dumps(why.to_dict()))
    assert list(told) == [
        "id", "label", "name", "path", "score", "confidence", "nodes", "bias", "words", "unknown", "documents",
    ]  # fmt: skip
    assert sum(part["score"] for part in told["nodes"]) == pytest.approx(told["score"], abs=1e-5)
    assert sum(part["score"] for part in told["words"]) + told["bias"] == pytest.approx(told["score"], abs=1e-5)
    for part in told["words"]:
        assert sum(part["by_node"]) == pytest.approx(part["score"], abs=1e-5)
    assert told["documents"][0]["title"] in TEXTS


def test_vectors_have_numbers_or_given_names(classifier):
    X = classifier.vectors([ASKED])
    names = classifier.features.get_feature_names_out().tolist()
    why = explain(classifier.model, X, feature_names=names)[0]
    assert [part.word for part in why.words] == [part.word for part in explain(classifier, [ASKED])[0].words]
    assert {part.word for part in explain(classifier.model, X)[0].words} == {f"x{j}" for j in X.indices}
    assert why.marks == ()
    assert "not known" not in str(why)


def test_long_texts_are_cut_around_telling_words(classifier):
    text = "nothing " * 300 + "it purrs here\n\n " + "void " * 300
    why = explain(classifier, [text])[0]
    pieces = "".join(piece.text for piece in cut(text, why.marks))
    assert len(pieces) < 1000
    assert "it purrs here void" in pieces
    assert pieces.startswith("… ")
    assert pieces.endswith(" …")
    short = cut("it  purrs\n", explain(classifier, ["it  purrs\n"])[0].marks)
    assert "".join(piece.text for piece in short) == "it purrs"
    assert cut("x" * 2000, ())[0].text == "x" * 700


def test_a_text_without_known_words(classifier):
    why = explain(classifier, ["qwerty"])[0]
    assert why.words == ()
    assert why.score == pytest.approx(why.bias.sum())
    assert "qwerty" in str(why)
    assert Checked(why._repr_html_()).text


# -- telling words -------------------------------------------------------------------------------------------


def test_telling_words_have_the_largest_weights(classifier):
    model = classifier.model
    terms = classifier.features.get_feature_names_out()
    found = telling_words(classifier, n_words=3)
    for node in ("A1", "A2"):
        column = model.weights_.toarray()[:, model.attributes_.node_attribute[TREE.index(node)]]
        best, worst = np.argsort(-column, kind="stable")[:3], np.argsort(column, kind="stable")[:3]
        assert found[node].speak_for == tuple((terms[j], column[j]) for j in best if column[j] > 0)
        assert found[node].speak_against == tuple((terms[j], column[j]) for j in worst if column[j] < 0)
    assert found["A1"].speak_for[0][0] == "purrs"
    assert found["P1"].speak_for[0][0] in ("grows", "has", "leaves")
    # P and P1 act as one: their weights are shared out, and together are those of the attribute
    joint = model.weights_.toarray()[:, model.attributes_.node_attribute[TREE.index("P")]]
    for (word, weight), (_, other) in zip(found["P"].speak_for, found["P1"].speak_for, strict=True):
        assert weight + other == pytest.approx(joint[terms.tolist().index(word)])
    assert "A1 Cat & kitten + purrs" in str(found)
    assert "Cat & kitten" in Checked(found._repr_html_()).text
    assert list(telling_words(classifier, ["A2"])) == ["A2"]


def test_an_inner_category_has_words_of_its_own():
    model = TaxonomySVC(TREE).fit(np.eye(3), ["A", "A1", "P1"])
    found = telling_words(model, feature_names=["a", "b", "c"])
    assert found["A"].itself[0][0] == "a"
    assert found["A1"].itself == ()


def test_telling_words_of_a_perceptron():
    model = StochasticPerceptron(TREE).fit(np.eye(3), ["A1", "A2", "P1"])
    found = telling_words(model, n_words=1)
    assert found["A1"].speak_for == (("x0", pytest.approx(model.weights_[:, model.nodes_ == TREE.index("A1")].max())),)


def test_mistakes_about_nodes_are_told(classifier):
    with pytest.raises(LabelError, match=r"no words tell of 'A3' \(closest: 'A"):
        telling_words(classifier, ["A3"])
    with pytest.raises(ParameterError, match="`n_words` of telling_words must be a whole number >= 1, got 0"):
        telling_words(classifier, n_words=0)
    with pytest.raises(ParameterError, match="has no weights by node and word here: its kernel is not linear"):
        telling_words(TaxonomySVC(TREE, kernel="rbf").fit(np.eye(3), ["A1", "A2", "P1"]))
    chain = Taxonomy.from_paths(["root/a", "root/b"])
    with pytest.raises(LabelError, match="no words tell of 'root', it lies above all categories or above none"):
        telling_words(TaxonomySVC(chain).fit(np.eye(2), ["root/a", "root/b"]))["root"]
