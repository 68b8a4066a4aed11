"""What models for label sets share: labels in every form, odd label sets, answers, rankings, and how cuts are tuned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import f1_score, label_ranking_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from pinakes import Taxonomy
from pinakes.errors import DocumentError, InputError, LabelError, ParameterError
from pinakes.models import label_set_model
from pinakes.models.label_set_model import LabelSetModel, closed_upward, without_implied

TREE = Taxonomy.from_paths(["a/b/d", "a/b/e", "a/c", "f/g", "f/h"])
LATTICE = Taxonomy.from_edges([("", "top"), ("top", "l"), ("top", "r"), ("l", "both"), ("r", "both"), ("r", "x")])


class LeastSquares(LabelSetModel):
    """The simplest model there is: one least-squares scorer a class."""

    def __init__(self, taxonomy=None, *, cut="learned", closed=False, implied=True):
        self.taxonomy, self.cut, self.closed, self.implied = taxonomy, cut, closed, implied

    def fit(self, X, y):
        X, labels = self._read_labels(y, X)
        dense = X.toarray()
        self.members_ = labels.members.toarray()
        aim = dense.T @ (2.0 * self.members_ - 1)
        self.coef_ = np.linalg.solve(dense.T @ dense + np.eye(X.shape[1]), aim)
        self._fit_cut(X, labels)
        return self

    def _scores(self, X):
        return np.asarray(X @ self.coef_, dtype=np.float64)


def draw(seed, n=200, taxonomy=TREE, empty=0.0):
    """Draw documents that have a word for each of their labels and some noise."""
    rng = np.random.default_rng(seed)
    leaves = [taxonomy.ids[v] for v in taxonomy.leaves]
    words = rng.normal(size=(len(leaves), 12))
    sets, rows = [], []
    for _ in range(n):
        few = [k for k in range(len(leaves)) if rng.random() < 0.35]
        if not few and rng.random() > empty:
            few = [int(rng.integers(len(leaves)))]
        sets.append([leaves[k] for k in few])
        rows.append(words[few].sum(axis=0) + 0.3 * rng.normal(size=12))
    return np.array(rows), sets


def as_indicator(sets, taxonomy):
    return np.array([[int(node in few) for node in taxonomy.ids] for few in sets])


# -- the same labels in other forms ------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", ["learned", "micro-f1", "macro-f1", 2, 0.0])
def test_lists_and_indicator_matrices_give_the_same_answers(cut):
    X, sets = draw(0)
    lists = LeastSquares(TREE, cut=cut).fit(X, sets)
    Y = as_indicator(sets, TREE)
    for given in (Y, sparse.csr_array(Y), Y.tolist(), Y.astype(bool)):
        matrix = LeastSquares(TREE, cut=cut).fit(X, given)
        assert matrix.form_ == "indicator"
        assert matrix.classes_.tolist() == lists.classes_.tolist()
        assert (matrix.predict(X) == as_indicator(lists.predict(X), TREE)).all()
        assert matrix.predict(X).shape == Y.shape
    assert lists.form_ == "lists"
    assert lists.classes_.tolist() == ["a/b/d", "a/b/e", "a/c", "f/g", "f/h"]
    assert [TREE.ids[v] for v in lists.nodes_] == lists.classes_.tolist()
    tuples = LeastSquares(TREE, cut=cut).fit(X, [tuple(few) for few in sets])
    assert tuples.predict(X) == lists.predict(X)


def test_scores_have_the_columns_of_the_indicator_matrix():
    X, sets = draw(1)
    taxonomy = Taxonomy.from_edges([*((p, c) for p, c in _edges(TREE)), ("", "unused")])
    Y = as_indicator(sets, taxonomy)
    m = LeastSquares(taxonomy).fit(X, Y)
    scores = m.decision_function(X)
    assert scores.shape == Y.shape
    column = {node: scores[:, k] for k, node in enumerate(taxonomy.ids)}
    assert (column["a/b"] == np.maximum(column["a/b/d"], column["a/b/e"])).all()
    assert (column["unused"] == scores.min(axis=1)).all()
    assert label_ranking_loss(closed_upward(sparse.csr_array(Y), taxonomy).toarray(), scores) < 0.1
    lists = LeastSquares(taxonomy).fit(X, sets)
    assert (lists.decision_function(X) == scores[:, [taxonomy.index(k) for k in lists.classes_]]).all()


def _edges(taxonomy):
    yield from (("", taxonomy.ids[v]) for v in taxonomy.roots)
    yield from ((taxonomy.ids[p], taxonomy.ids[c]) for p, c in taxonomy.edges())


def test_one_label_each_is_answered_with_one_label_each():
    X, sets = draw(2)
    y = np.array([few[0] for few in sets])
    m = LeastSquares(TREE).fit(X, y)
    scores = m.decision_function(X)
    assert m.form_ == "single"
    assert (m.predict(X) == m.classes_[scores.argmax(axis=1)]).all()
    two = LeastSquares().fit(X, y == "a/c")
    assert two.decision_function(X).shape == (200,)
    assert ((two.decision_function(X) > 0) == two.predict(X)).all()


def test_numbers_as_labels():
    X, sets = draw(3)
    number = {"a/b/d": 4, "a/b/e": 5, "a/c": 60, "f/g": -2, "f/h": 3}
    m = LeastSquares(cut=1).fit(X, [[number[k] for k in few] for few in sets])
    assert m.classes_.tolist() == [-2, 3, 4, 5, 60]
    assert all(type(k) is int for few in m.predict(X) for k in few)
    above = Taxonomy.from_edges([("", "1"), ("1", "-2"), ("1", "3"), ("", "4"), ("4", "5"), ("4", "60")])
    closed = LeastSquares(above, cut=1, closed=True).fit(X, [[number[k] for k in few] for few in sets])
    assert {k for few in closed.predict(X) for k in few} == {1, -2, 3, 4, 5, 60}


# -- odd label sets ----------------------------------------------------------------------------------------------


def test_ancestors_are_implied_unless_they_are_said_to_count():
    X, sets = draw(4)
    full = [[*few, *{k[: k.rindex("/")] for k in few}] for few in sets]
    plain, implied = LeastSquares(TREE).fit(X, sets), LeastSquares(TREE).fit(X, full)
    assert implied.classes_.tolist() == plain.classes_.tolist()
    assert implied.predict(X) == plain.predict(X)
    counted = LeastSquares(TREE, implied=False).fit(X, full)
    assert counted.classes_.tolist() == ["a", "a/b", "a/b/d", "a/b/e", "a/c", "f", "f/g", "f/h"]
    assert any({"a/b", "a/b/d"} <= set(few) for few in counted.predict(X))


def test_an_inner_node_is_a_label_and_what_it_implies_is_not_answered():
    X, sets = draw(5)
    sets[:60] = [["a/b"]] * 60
    m = LeastSquares(TREE, cut=-10.0).fit(X, sets)
    assert "a/b" in m.classes_
    assert m.predict(X[:1]) == [["a/c", "f/g", "f/h", "a/b/d", "a/b/e"]]
    assert len(LeastSquares(TREE, cut=6).fit(X, sets).predict(X[:1])[0]) == 6  # so many were asked for


@pytest.mark.parametrize("taxonomy", [TREE, LATTICE], ids=["tree", "lattice"])
def test_answers_closed_upward(taxonomy):
    X, sets = draw(6, taxonomy=taxonomy)
    open_sets = LeastSquares(taxonomy).fit(X, sets).predict(X)
    closed = LeastSquares(taxonomy, closed=True).fit(X, sets).predict(X)
    for few, more in zip(open_sets, closed, strict=True):
        assert set(more) == {taxonomy.ids[v] for k in few for v in taxonomy.ancestors.of(taxonomy.index(k))}
        assert len(more) == len(set(more))


def test_closing_and_taking_out_what_is_implied_are_each_others_opposite():
    rng = np.random.default_rng(0)
    for taxonomy in (TREE, LATTICE):
        some = sparse.csr_array(rng.random((50, len(taxonomy))) < 0.3)
        closed = closed_upward(some, taxonomy).toarray()
        few = without_implied(some, taxonomy)
        for i, row in enumerate(some.toarray()):
            ways = [set(taxonomy.ancestors.of(v).tolist()) for v in np.flatnonzero(row)]
            assert set(np.flatnonzero(closed[i])) == set().union(*ways)
            above = set().union(*(way - {v} for v, way in zip(np.flatnonzero(row), ways, strict=True)))
            assert set(few[[i]].indices.tolist()) == set(np.flatnonzero(row)) - above
        assert (closed_upward(few, taxonomy).toarray() == closed).all()
        assert (without_implied(sparse.csr_array(closed), taxonomy).toarray() == few.toarray()).all()


@pytest.mark.parametrize("cut", ["learned", "micro-f1", "macro-f1"])
def test_answers_are_empty_only_where_training_sets_were(cut):
    X, sets = draw(7)
    never = LeastSquares(TREE, cut=cut).fit(X, sets)
    noise = np.zeros((1, 12))
    assert all(never.predict(np.vstack([X, noise])))
    X, sets = draw(7, n=400, empty=1.0)
    assert 20 < sum(not few for few in sets) < 100
    m = LeastSquares(TREE, cut=cut).fit(X, sets)
    found = m.predict(X)
    right = [not answer for answer, few in zip(found, sets, strict=True) if not few]
    assert np.mean(right) > 0.5
    assert any(not few for few in found)


def test_a_document_with_every_label_and_duplicates():
    X, sets = draw(8)
    sets[3] = [TREE.ids[v] for v in TREE.leaves]
    sets[4] = list(sets[3])
    once = LeastSquares(TREE).fit(X, sets)
    assert once.members_[3].all()
    twice = LeastSquares(TREE).fit(X, [few + few[:1] for few in sets])
    assert (twice.members_ == once.members_).all()
    assert twice.predict(X) == once.predict(X)


def test_one_class_that_some_documents_have():
    X, sets = draw(9)
    only = [["a/c"] if "a/c" in few else [] for few in sets]
    m = LeastSquares(TREE).fit(X, only)
    assert m.decision_function(X).shape == (200, 1)
    assert np.mean([found == few for found, few in zip(m.predict(X), only, strict=True)]) > 0.75


def test_documents_too_few_to_put_any_aside():
    m = LeastSquares(TREE).fit(np.eye(5), [["a/b/d"], ["a/b/e"], ["a/c"], ["f/g"], ["f/h"]])
    assert m.predict(np.eye(5)) == [["a/b/d"], ["a/b/e"], ["a/c"], ["f/g"], ["f/h"]]


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([["a/c"], ["f/k"]], LabelError, "the label 'f/k' of the documents cannot be found .*closest: .*add it there"),
        ([[], []], InputError, "y holds no label at all: there is nothing to learn"),
        ([["a/c"]], DocumentError, "X and y must hold the same documents, got 2 rows and labels for 1"),
        (["a/c", "a/c"], ParameterError, "LeastSquares needs at least 2 classes, got the 1 class 'a/c' only"),
        ([["a/c"], "f/g"], LabelError, "y must hold one list of labels a document, got 'f/g' in \\[1\\]"),
        (np.ones((2, 3)), LabelError, "the indicator matrix y has 3 columns where 8 were expected"),
        (None, ParameterError, "LeastSquares requires y to be passed, but the target y is None"),
    ],
)
def test_labels_that_cannot_be_used(y, error, message):
    with pytest.raises(error, match=message):
        LeastSquares(TREE).fit(np.eye(2), y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cut": "best"}, "`cut` of LeastSquares must be one of 'learned', .*got 'best'"),
        ({"cut": 0}, "a whole number >= 1 .*, got 0"),
        ({"cut": True}, "a number with a decimal point .*, got True"),
        ({"cut": float("nan")}, "`cut` of LeastSquares .*, got nan"),
        ({"closed": "yes"}, "`closed` of LeastSquares must be True or False, got 'yes'"),
        ({"implied": None}, "`implied` of LeastSquares must be True or False, got None"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ParameterError, match=message):
        LeastSquares(TREE, **settings).fit(np.eye(2), [["a/c"], ["f/g"]])


# -- rankings, blocks, and how cuts are tuned --------------------------------------------------------------------


def test_ranking_and_confidence():
    X, sets = draw(10)
    m = LeastSquares(TREE).fit(X, sets)
    scores = m.decision_function(X)
    found = m.rank(X, 3)
    assert found.confidences is None
    assert (found.classes == np.argsort(-scores, axis=1)[:, :3]).all()
    assert (found.scores == np.take_along_axis(scores, found.classes, axis=1)).all()
    sure = m.rank(X, 99, temperature=0.5)
    assert sure.classes.shape == scores.shape
    inside = m.cut_.answers(scores)
    above = np.take_along_axis(inside, sure.classes, axis=1)
    assert (above[sure.confidences > 0.5]).all()
    assert above.sum() - (sure.confidences >= 0.5).sum() == (~(m.cut_.margins(scores) >= 0).any(axis=1)).sum()
    one = LeastSquares(TREE).fit(X, [few[0] for few in sets])
    F = one.decision_function(X)
    shares = np.exp(F / 0.5) / np.exp(F / 0.5).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(one.rank(X, 2, temperature=0.5).confidences, np.sort(shares)[:, ::-1][:, :2], rtol=1e-9)


def test_blocks_do_not_change_anything(monkeypatch):
    X, sets = draw(11)
    whole = {cut: LeastSquares(TREE, cut=cut).fit(X, sets) for cut in ("learned", "micro-f1", "macro-f1")}
    monkeypatch.setattr(label_set_model, "AT_ONCE", 35)
    for cut, m in whole.items():
        parts = LeastSquares(TREE, cut=cut).fit(X, sets)
        np.testing.assert_allclose(parts.cut_.offset, m.cut_.offset, rtol=1e-9)
        assert parts.predict(X) == m.predict(X)
        assert (parts.rank(X, 2, 1.0).classes == m.rank(X, 2, 1.0).classes).all()
        np.testing.assert_allclose(parts.decision_function(X), m.decision_function(X), rtol=1e-12)


def test_cuts_are_tuned_on_documents_that_a_second_model_has_not_seen(monkeypatch):
    X, sets = draw(12, n=100)
    seen = []
    second = LabelSetModel._second

    def watch(self, X, labels, kept, weight):
        seen.append(kept)
        return second(self, X, labels, kept, weight)

    monkeypatch.setattr(LabelSetModel, "_second", watch)
    for cut in ("learned", "micro-f1", "macro-f1"):
        seen.clear()
        LeastSquares(TREE, cut=cut).fit(X, sets)
        aside = np.concatenate([np.setdiff1d(np.arange(100), kept) for kept in seen])
        assert sorted(aside) == list(range(100))  # each document once
    monkeypatch.setattr(label_set_model, "ENOUGH", 20)
    for cut, n_models in (("learned", 1), ("micro-f1", 1), ("macro-f1", 5), (3, 0), (0.5, 0)):
        seen.clear()
        LeastSquares(TREE, cut=cut).fit(X, sets)
        assert len(seen) == n_models
    seen.clear()
    LeastSquares(TREE).fit(X, [few[0] for few in sets])
    assert not seen


def test_no_label_loses_all_its_documents_in_a_fold():
    X, sets = draw(13)
    sets[17], sets[18] = ["a/b"], ["f"]  # one document each
    for cut in ("learned", "macro-f1"):
        m = LeastSquares(TREE, cut=cut).fit(X, sets)
        assert {"a/b", "f"} <= set(m.classes_.tolist())
        assert np.isfinite(m.cut_.offset).all()


def test_tuned_cuts_are_better_than_cuts_that_were_not():
    X, sets = draw(14, n=600)
    truth = as_indicator(sets[300:], TREE)
    value = {}
    for cut in ("learned", "micro-f1", "macro-f1", 0.6, 1):
        found = LeastSquares(TREE, cut=cut).fit(X[:300], sets[:300]).predict(X[300:])
        value[cut] = f1_score(truth, as_indicator(found, TREE), average="micro", zero_division=0)
    assert min(value["learned"], value["micro-f1"], value["macro-f1"]) > max(value[0.6], value[1]) + 0.02


@parametrize_with_checks([LeastSquares(), LeastSquares(cut="macro-f1")])
def test_scikit_learn_rules(estimator, check):
    check(estimator)
