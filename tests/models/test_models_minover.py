"""MinOverPerceptron: one label and several, flat and along the taxonomy, scikit-learn's rules, and plain messages."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from pinakes import MinOverPerceptron, Taxonomy
from pinakes.errors import ConvergenceWarning, ParameterError
from pinakes.taxonomy.attributes import class_attributes
from reference.minover import NaiveMinOver

TREE = Taxonomy.from_paths(["a/b/d", "a/b/e", "a/c", "f/g", "f/h"])
LATTICE = Taxonomy.from_edges([("", "top"), ("top", "l"), ("top", "r"), ("l", "both"), ("r", "both"), ("r", "x")])


def draw(seed, taxonomy=TREE, n=40, several=True):
    """Draw documents with a word for each label, and one of their own: all can be ranked without a mistake."""
    rng = np.random.default_rng(seed)
    leaves = [taxonomy.ids[v] for v in taxonomy.leaves]
    sets = [[k for k in leaves if several and rng.random() < 0.3] or [str(rng.choice(leaves))] for _ in range(n)]
    words = np.array([[float(k in few) for k in leaves] for few in sets])
    X = np.hstack([words, 0.5 * np.eye(n)])
    return X / np.linalg.norm(X, axis=1, keepdims=True), sets


@pytest.mark.parametrize("taxonomy", [TREE, LATTICE], ids=["tree", "lattice"])
@pytest.mark.parametrize(("loss", "node_weight"), [("tree", "equal"), ("zero-one", "flat")], ids=["along", "flat"])
def test_all_pairs_come_in_order_with_the_margin_asked_for(taxonomy, loss, node_weight):
    X, sets = draw(0, taxonomy)
    m = MinOverPerceptron(taxonomy, loss=loss, node_weight=node_weight, margin=3.0, softness=0.0).fit(X, sets)
    assert m.stopped_ == "separated"
    scores = m.decision_function(X)
    own = np.array([[k in few for k in m.classes_] for few in sets])
    worst = np.where(own, scores, np.inf).min(axis=1) - np.where(own, -np.inf, scores).max(axis=1)
    pairs = ~own.all(axis=1)
    assert worst[pairs].min() > 3.0
    naive = NaiveMinOver(taxonomy, m.classes_.tolist(), X, sets, loss, node_weight)
    for i, y, ybar in m.steps_.tolist():
        naive.step(i, y, ybar)
    np.testing.assert_allclose(scores, X @ naive.W.T @ naive.Lam.T, atol=1e-9)
    assert m.margin_ == pytest.approx(naive.margins().min() / np.linalg.norm(naive.W))
    assert m.margin_ <= naive.largest_margin() <= m.margin_bound_
    # the weights are what the documents add up to
    members = class_attributes(m.taxonomy_, m.nodes_, node_weight)
    if loss == "tree":
        expected = X.T @ (m.dual_coef_ @ members.matrix(members.v2))
        np.testing.assert_allclose(m.weights_.toarray(), expected, atol=1e-9)


def test_one_label_each_and_lists_of_one_label_learn_the_same():
    X, sets = draw(1, several=False)
    lists = MinOverPerceptron(TREE).fit(X, sets)
    single = MinOverPerceptron(TREE).fit(X, [few[0] for few in sets])
    assert (single.decision_function(X) == lists.decision_function(X)).all()
    assert single.predict(X).tolist() == [few[0] for few in sets]


def test_softness_learns_from_documents_that_contradict_each_other():
    X, sets = draw(2, n=60)
    X, sets = np.vstack([X, X[:2]]), [*sets, ["f/h"] if "f/h" not in sets[0] else ["a/c"], ["a/b/d", "f/g"]]
    with pytest.warns(ConvergenceWarning, match="stopped after 4000 steps with a smallest margin of -.*raise max_iter"):
        hard = MinOverPerceptron(TREE, softness=0.0, max_iter=4000, cut=1).fit(X, sets)
    soft = MinOverPerceptron(TREE, softness=1.0, max_iter=4000, cut=1).fit(X, sets)
    assert soft.stopped_ == "separated"
    assert hard.margin_ < 0 < soft.margin_
    right = [found[0] in few for found, few in zip(soft.predict(X), sets, strict=True)]
    assert np.mean(right) > 0.95
    assert soft.weights_.shape[0] == X.shape[1]  # words of its own are forgotten


def test_a_rare_label_borrows_from_its_parent():
    X = np.zeros((12, 8))
    X[:10, 0], X[10:, 1] = 1, 1  # what all below `a` have, and all below `f`
    X[np.arange(12), 2 + np.arange(12) % 6] = 0.3
    y = ["a/c"] * 9 + ["a/b/d"] + ["f/g", "f/h"]
    settings = {"cut": 1, "softness": 0.1}
    along = MinOverPerceptron(TREE, **settings).fit(X, y).rank(np.eye(8)[:1], 4).classes[0]
    classes = sorted(set(y))
    assert {classes[k] for k in along[:2]} == {"a/c", "a/b/d"}


def test_empty_and_full_label_sets_say_nothing_to_the_ranking():
    X, sets = draw(3)
    plain = MinOverPerceptron(TREE, cut=1).fit(X, sets)
    odd = [[], [TREE.ids[v] for v in TREE.leaves]]
    more = MinOverPerceptron(TREE, cut=1).fit(np.vstack([X, X[:2]]), [*sets, *odd])
    assert (more.weights_ != plain.weights_).nnz == 0
    assert more.dual_coef_[[-2, -1]].nnz == 0
    all_odd = MinOverPerceptron(TREE, cut=0.5).fit(X[:2], odd)
    assert all_odd.n_iter_ == 0
    assert all_odd.predict(X[:2]) == [[], []]


def test_dense_sparse_and_single_precision_documents():
    X, sets = draw(4)
    whole = MinOverPerceptron(TREE, cut=1).fit(X, sets)
    for other in (sparse.csr_matrix(X), sparse.csc_array(X), sparse.coo_array(X)):
        assert (
            MinOverPerceptron(TREE, cut=1).fit(other, sets).decision_function(other) == whole.decision_function(X)
        ).all()
    single = MinOverPerceptron(TREE, cut=1).fit(X.astype(np.float32), sets)
    assert single.predict(X.astype(np.float32)) == whole.predict(X)


def test_progress_is_told_and_time_is_kept():
    X, sets = draw(5)
    told = []
    m = MinOverPerceptron(TREE, margin=50.0, max_iter=10**6).fit(X, sets, report=told.append)
    assert tuple(told) == m.history_
    assert m.history_[-1].worst > 50
    with pytest.warns(
        ConvergenceWarning, match="stopped after max_seconds=0.01 with a smallest margin .* margin=1e\\+09"
    ):
        MinOverPerceptron(TREE, margin=1e9, max_iter=10**9, max_seconds=0.01, cut=1).fit(X, sets)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"margin": -1}, "`margin` of MinOverPerceptron must be a number >= 0, got -1"),
        ({"softness": "no"}, "`softness` of MinOverPerceptron must be a number >= 0, got 'no'"),
        ({"max_iter": 0}, "`max_iter` of MinOverPerceptron must be a whole number >= 1, got 0"),
        ({"max_seconds": 0}, "`max_seconds` of MinOverPerceptron must be a number > 0, got 0"),
        ({"node_weight": "heavy"}, "`node_weight` must be one of .*, got 'heavy'"),
        ({"loss": "path"}, "loss must be .*, got 'path'"),
        ({"cut": "none"}, "`cut` of MinOverPerceptron must be one of .*, got 'none'"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ParameterError, match=message):
        MinOverPerceptron(TREE, **settings).fit(np.eye(2), ["a/c", "f/g"])


@pytest.mark.filterwarnings("ignore::pinakes.errors.ConvergenceWarning")
@parametrize_with_checks([MinOverPerceptron(), MinOverPerceptron(node_weight="flat", loss="zero-one", margin=0.0)])
def test_scikit_learn_rules(estimator, check):
    check(estimator)
