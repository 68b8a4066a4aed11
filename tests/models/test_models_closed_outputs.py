"""The perceptrons and StructuredSVC as estimators: labels, kernels, streams, scikit-learn's rules, messages."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from pinakes import HardPerceptron, StochasticPerceptron, StructuredSVC, Taxonomy, metrics
from pinakes.errors import ConvergenceWarning, InputError, LabelError, ParameterError, TaxonomyError

ALL = [HardPerceptron, StochasticPerceptron, StructuredSVC]
TREE = Taxonomy.from_edges([("", "a"), ("", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2"), ("b2", "b3")])


def draw(n=150, seed=0, d=40):
    """Draw documents with one to three labels, at leaves and inner nodes; each node adds its words."""
    rng = np.random.default_rng(seed)
    words = np.random.default_rng(99).normal(size=(len(TREE), d))
    labels = [sorted(rng.choice(TREE.ids, size=int(rng.integers(1, 4)), replace=False)) for _ in range(n)]
    on = np.zeros((n, len(TREE)), dtype=int)
    for i, few in enumerate(labels):
        for k in few:
            on[i, TREE.ancestors.of(TREE.index(k))] = 1
    X = on @ words + 0.3 * rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True), labels, on


@pytest.mark.parametrize("estimator", ALL)
def test_all_forms_of_labels_lead_to_the_same_model(estimator):
    X, labels, on = draw()
    by_lists = estimator(TREE).fit(X, labels)
    given = [np.zeros(len(TREE), dtype=int) for _ in labels]
    for row, few in zip(given, labels, strict=True):
        row[[TREE.index(k) for k in few]] = 1
    by_matrix = estimator(TREE).fit(sparse.csr_array(X), np.array(given))
    by_sparse = estimator(TREE).fit(X, sparse.csr_array(np.array(given)))
    shuffled = [4, 2, 0, 1, 3, 6, 5]
    by_names = estimator(TREE).fit(X, np.array(given)[:, shuffled], classes=[TREE.ids[v] for v in shuffled])
    np.testing.assert_allclose(by_matrix.weights_, by_lists.weights_, atol=1e-12)
    np.testing.assert_array_equal(by_sparse.weights_, by_matrix.weights_)
    np.testing.assert_allclose(by_names.weights_, by_lists.weights_, atol=1e-12)
    X_test, _, truth = draw(seed=1)
    assert (by_lists.predict_nodes(X_test) == by_matrix.predict_nodes(X_test)).all()
    assert f1_score(truth, by_lists.predict_nodes(X_test), average="micro") > 0.8
    assert (by_names.predict(X_test) == by_matrix.predict(X_test)[:, shuffled]).all()
    # a label list holds the most specific nodes; closing it gives the answer back
    closed = np.zeros_like(truth)
    for i, few in enumerate(by_lists.predict(X_test)):
        for k in few:
            closed[i, TREE.ancestors.of(TREE.index(k))] = 1
        assert all(TREE.index(k) not in TREE.ancestors.of(TREE.index(j))[:-1] for k in few for j in few)
    assert (closed == by_lists.predict_nodes(X_test)).all()
    # where the training labels came with their ancestors, so do the answers
    by_closed = estimator(TREE).fit(X, on)
    assert (by_closed.predict(X_test) == by_closed.predict_nodes(X_test)).all()
    np.testing.assert_allclose(by_closed.weights_, by_lists.weights_, atol=1e-12)


@pytest.mark.parametrize("estimator", ALL)
def test_scores_say_what_the_answer_is(estimator):
    X, labels, _ = draw()
    m = estimator(TREE).fit(X, labels)
    scores = m.decision_function(X)
    order = [m.classes_.tolist().index(TREE.ids[v]) for v in m.nodes_]
    assert ((scores[:, order] > 0) == m.predict_nodes(X)).all()


@pytest.mark.parametrize("estimator", ALL)
def test_one_label_each(estimator):
    X, labels, _ = draw()
    y = np.array([few[-1] for few in labels])
    m = estimator(TREE).fit(X, y)
    assert m.predict(X).shape == (len(y),)
    assert set(m.predict(X)) <= set(y)
    assert (m.classes_[m.decision_function(X).argmax(axis=1)] == m.predict(X)).all()
    numbers = Taxonomy.from_edges([("", "10"), ("10", "1"), ("10", "2"), ("", "3")])
    assert estimator(numbers).fit(np.eye(3), [1, 2, 3]).predict(np.eye(3)).tolist() == [1, 2, 3]
    assert estimator(numbers).fit(np.eye(3), [[1], [2, 3], [3]]).predict(np.eye(3)) == [[1], [3, 2], [3]]


def test_micro_label_metrics_are_the_papers():
    """Precision, recall and F1 over all micro-labels, from sign vectors, and by scikit-learn."""
    X, labels, _ = draw()
    m = StochasticPerceptron(TREE).fit(X, labels)
    X_test, truth, on = draw(seed=2)
    answer, predicted = m.predict(X_test), m.predict_nodes(X_test)
    hits = (predicted & (on > 0)).sum()
    P, R = hits / predicted.sum(), hits / on.sum()
    assert metrics.hierarchical_precision(truth, answer, TREE) == pytest.approx(P)
    assert metrics.hierarchical_recall(truth, answer, TREE) == pytest.approx(R)
    assert metrics.hierarchical_f1(truth, answer, TREE) == pytest.approx(2 * P * R / (P + R))
    assert metrics.hierarchical_f1(truth, answer, TREE) == pytest.approx(f1_score(on, predicted, average="micro"))


def rbf(X, Y):
    X, Y = np.asarray(X), np.asarray(Y)
    return np.exp(-0.7 * ((X[:, None] - Y[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("n_subsets", [1, 3])
@pytest.mark.parametrize("start", ["zero", "mean"])
@pytest.mark.parametrize("iterate", ["late", "mean", "last"])
def test_kernels_agree(n_subsets, start, iterate):
    """Linear weights, the precomputed matrix and a function are one algorithm; so are rbf and its matrix."""
    X, labels, _ = draw(60)
    common = {"max_iter": 400, "n_subsets": n_subsets, "start": start, "iterate": iterate}
    linear = StochasticPerceptron(TREE, **common).fit(X, labels)
    matrix = StochasticPerceptron(TREE, kernel="precomputed", **common).fit(X @ X.T, labels)
    np.testing.assert_allclose(matrix._node_values(sparse.csr_array(X @ X.T)), X @ linear.weights_, atol=1e-9)
    curved = StochasticPerceptron(TREE, kernel="rbf", gamma=0.7, **common).fit(X, labels)
    called = StochasticPerceptron(TREE, kernel=rbf, **common).fit(X, labels)
    X_test = draw(20, seed=5)[0]
    np.testing.assert_allclose(curved.decision_function(X_test), called.decision_function(X_test), atol=1e-9)
    assert len(curved.support_) == curved.support_vectors_.shape[0] == len(curved.support_coef_) <= 60
    assert (curved.support_coef_ != 0).any(axis=1).all()
    poly = StochasticPerceptron(TREE, kernel="poly", degree=1, gamma=1.0, **common).fit(X, labels)
    np.testing.assert_allclose(poly._node_values(sparse.csr_array(X_test)), X_test @ linear.weights_, atol=1e-9)


def test_seed_and_threads(monkeypatch):
    X, labels, _ = draw(300)
    monkeypatch.setattr("pinakes.solvers.perceptron.THREADS_ABOVE", 0)
    threads = [StochasticPerceptron(TREE, max_iter=300, n_subsets=1, n_jobs=k).fit(X, labels) for k in (1, 2, 3)]
    for other in threads[1:]:
        np.testing.assert_array_equal(threads[0].weights_, other.weights_)
    hard = [HardPerceptron(TREE, max_iter=300, n_jobs=k).fit(X, labels).weights_ for k in (1, 3)]
    np.testing.assert_array_equal(*hard)
    again = StochasticPerceptron(TREE, max_iter=300, random_state=7).fit(X, labels)
    same = StochasticPerceptron(TREE, max_iter=300, random_state=7).fit(X, labels)
    np.testing.assert_array_equal(again.weights_, same.weights_)
    assert (again.weights_ != threads[0].weights_).any()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_streams(kernel):
    """Batch by batch a stream is learnt about as well as all at once; nodes never seen stay out of answers."""
    X, labels, _ = draw(600)
    m = StochasticPerceptron(TREE, kernel=kernel, gamma=1.0, max_iter=200)
    for first in range(0, 600, 100):
        assert m.partial_fit(X[first : first + 100], labels[first : first + 100]) is m
    assert m.n_iter_ == 1200
    X_test, truth, _ = draw(200, seed=3)
    whole = StochasticPerceptron(TREE, kernel=kernel, gamma=1.0, max_iter=1200).fit(X, labels)
    f1 = [metrics.hierarchical_f1(truth, k.predict(X_test), TREE) for k in (m, whole)]
    assert f1[0] > f1[1] - 0.03
    if kernel == "rbf":
        assert m.support_vectors_.shape[0] <= 600
    with pytest.raises(ParameterError, match=r"met the label 'z', which the first call did not name in `classes`"):
        m.partial_fit(X[:1], [["z"]])
    named = StochasticPerceptron().partial_fit(np.eye(2), ["x", "y"], classes=["x", "y", "z"])
    assert named.partial_fit([[1.0, 1.0]], ["z"]).classes_.tolist() == ["x", "y", "z"]
    matrix = Taxonomy.flat("pq")
    rows = StochasticPerceptron(matrix).partial_fit(np.eye(2), np.eye(2)).partial_fit(np.eye(2), np.eye(2))
    assert rows.predict(np.eye(2)).tolist() == [[1, 0], [0, 1]]


def test_time_runs_out_and_interrupts_keep_what_was_learnt():
    X, labels, _ = draw(300)
    with pytest.warns(
        ConvergenceWarning, match=r"stopped after 1e-06 s, with 256 of 100,000 iterations .*raise max_sec"
    ):
        m = StochasticPerceptron(TREE, max_iter=100_000, n_subsets=1, max_seconds=1e-6).fit(X, labels)
    assert m.stopped_ == "max_seconds"
    assert m.n_iter_ == 256

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="when it was interrupted"):
        m = HardPerceptron(TREE, max_iter=100_000).fit(X, labels, report=interrupt)
    assert m.stopped_ == "interrupted"
    assert m.predict(X)


def test_documents_without_labels_teach_restraint():
    X = np.eye(3)
    m = StructuredSVC(TREE, C=10).fit(X, [["a1"], [], ["b3", "a2"]])
    assert m.predict(X) == [["a1"], [], ["a2", "b3"]]


@pytest.mark.parametrize("estimator", ALL)
def test_lattices_are_refused_with_a_way_out(estimator):
    lattice = Taxonomy.from_edges([("", "a"), ("", "b"), ("a", "c"), ("b", "c"), ("a", "d")])
    with pytest.raises(TaxonomyError, match=r"needs a tree, and 'c' .*several parents: 'a', 'b'; use TaxonomySVC"):
        estimator(lattice).fit(np.eye(2), [["c"], ["d"]])
    assert estimator(lattice).fit(np.eye(2), [["d"], ["b"]]).predict(np.eye(2)) == [["d"], ["b"]]


@pytest.mark.parametrize(
    ("estimator", "settings", "message"),
    [
        (StochasticPerceptron, {"kernel": "magic"}, "`kernel` of StochasticPerceptron must be one of .*, got 'magic'"),
        (
            StochasticPerceptron,
            {"max_iter": 0},
            "`max_iter` of StochasticPerceptron must be a whole number >= 1, got 0",
        ),
        (StochasticPerceptron, {"max_iter": "x"}, "`max_iter` .* must be one of 'auto', 'theorem', got 'x'"),
        (StochasticPerceptron, {"eta": -1.0}, "`eta` of StochasticPerceptron must be a number > 0, got -1.0"),
        (StochasticPerceptron, {"n_subsets": 0}, "`n_subsets` .* must be a whole number >= 1, got 0"),
        (StochasticPerceptron, {"start": "one"}, "`start` .* must be one of 'zero', 'mean', got 'one'"),
        (HardPerceptron, {"max_iter": "theorem", "epsilon": 0}, "`epsilon` of HardPerceptron must be a number > 0"),
        (HardPerceptron, {"taxonomy": 7}, "`taxonomy` must be a Taxonomy, a path or None, got int"),
        (StructuredSVC, {"C": 0}, "`C` of StructuredSVC must be a number > 0, got 0"),
        (StructuredSVC, {"loss": 1 - np.eye(2)}, "`loss` of StructuredSVC must be .* got a matrix"),
        (StructuredSVC, {"loss": "treee"}, "loss must be 'tree', 'exact', 'zero-one', .*got 'treee'"),
    ],
)
def test_bad_settings_are_named(estimator, settings, message):
    with pytest.raises(InputError, match=message):
        estimator(**settings).fit(np.eye(2), ["a", "b"])


@pytest.mark.parametrize("estimator", ALL)
def test_bad_data_is_named(estimator):
    with pytest.raises(LabelError, match=r"the label 'a9' of the documents cannot be found"):
        estimator(TREE).fit(np.eye(2), [["a1"], ["a9"]])
    with pytest.raises(InputError, match=r"one list of labels a document, got 'a2' in \[1\]"):
        estimator(TREE).fit(np.eye(2), [["a1"], "a2"])
    with pytest.raises(InputError, match="the indicator matrix y has 3 columns where 7 were expected"):
        estimator(TREE).fit(np.eye(2), np.eye(3)[:2])
    with pytest.raises(InputError, match="must hold 0 and 1 only"):
        estimator(TREE).fit(np.eye(2), np.full((2, 7), 2))
    with pytest.raises(InputError, match="y holds no label at all"):
        estimator(TREE).fit(np.eye(2), [[], []])
    with pytest.raises(InputError, match="2 rows and labels for 1"):
        estimator(TREE).fit(np.eye(2), [["a1"]])
    with pytest.raises(LabelError, match="all be texts or all be whole numbers, got both"):
        estimator().fit(np.eye(2), [["a1"], [2]])
    with pytest.raises(NotFittedError):
        estimator(TREE).predict(np.eye(2))
    assert clone(estimator(TREE)).taxonomy is TREE


@parametrize_with_checks(
    [
        HardPerceptron(),
        StochasticPerceptron(),
        StochasticPerceptron(kernel="rbf"),
        StochasticPerceptron(kernel="precomputed"),
        StructuredSVC(),
    ]
)
def test_scikit_learn_rules(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)
