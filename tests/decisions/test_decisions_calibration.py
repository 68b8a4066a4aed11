"""From scores to probabilities: the slope, the correction of the best share, label sets, and documents put aside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, logsumexp, softmax

from pinakes import HardPerceptron, HierarchyRidge, StochasticPerceptron, StructuredSVC, TaxonomySVC
from pinakes.datasets import make_synthetic
from pinakes.decisions import Calibration, Classifier, SetCalibration
from pinakes.decisions.beliefs import Believer
from pinakes.decisions.calibration import (
    COLDEST,
    WARMEST,
    fit_knots,
    fit_slope,
    most_likely_temperature,
)
from pinakes.decisions.held_out import HeldOut, _split, hold_out
from pinakes.decisions.set_calibration import fit_set_calibration
from pinakes.kernels import beliefs
from pinakes.taxonomy import Taxonomy
from strategies import taxonomies

KNOTS = np.array([[0.0, 0.3, 0.8, 1.0], [0.0, 0.4, 0.6, 1.0]])


def draw(shares, rng):
    return (shares.cumsum(axis=1) > rng.random((len(shares), 1))).argmax(axis=1)


@st.composite
def believers(draw_):
    """Draw a taxonomy, some of its nodes as classes, and how scores become probabilities."""
    taxonomy = draw_(taxonomies(max_nodes=10, trees=draw_(st.booleans())))
    rng = np.random.default_rng(draw_(st.integers(0, 2**31)))
    n_classes = draw_(st.integers(1, len(taxonomy)))
    nodes = rng.permutation(len(taxonomy))[:n_classes].astype(np.int32)
    scores = rng.normal(size=(4, n_classes)) * draw_(st.sampled_from([0.01, 1.0, 50.0]))
    if draw_(st.booleans()):
        scores = np.round(scores)  # ties
    if draw_(st.booleans()):
        return Believer(taxonomy, nodes, Calibration((1.0, 0.2, -0.1), 0.1, KNOTS)), scores
    return Believer(
        taxonomy, nodes, SetCalibration(rng.normal(size=(taxonomy.depth, 3)) * [1, 0, 1] + [0, 1, 0])
    ), scores


@pytest.mark.kernel
@given(case=believers())
@settings(max_examples=60)
def test_a_parent_is_never_less_likely_than_its_child(case):
    believer, scores = case
    taxonomy = believer.taxonomy
    found = believer.beliefs(scores)
    assert (found.nodes >= 0).all()
    assert (found.nodes <= 1).all()
    for parent, child in taxonomy.edges():
        assert (found.nodes[:, parent] >= found.nodes[:, child]).all()


@pytest.mark.kernel
@given(case=believers())
@settings(max_examples=60)
def test_a_node_has_the_sum_over_distinct_classes_below_it(case):
    believer, scores = case
    if believer.has_sets:
        return
    found = believer.beliefs(scores)
    np.testing.assert_allclose(found.classes.sum(axis=1), 1, rtol=1e-9)
    for v in range(len(believer.taxonomy)):
        below = np.isin(believer.class_node, believer.taxonomy.descendants.of(v))
        expected = np.minimum(found.classes[:, below].sum(axis=1), 1)
        np.testing.assert_allclose(found.nodes[:, v], expected, rtol=1e-9, atol=1e-15)


@pytest.mark.kernel
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-6), (np.float32, 1e-4)])
def test_shares_are_a_softmax_with_a_corrected_best(dtype, rtol):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(200, 7)).astype(dtype)
    calibration = Calibration((2.0, 0.5, 0.25), 0.5, KNOTS)
    two = -np.sort(-scores, axis=1)[:, :2]
    slope = np.maximum(2 + 0.5 * two[:, 0] + 0.25 * (two[:, 0] - two[:, 1]), 0.5)
    plain = softmax(slope[:, None] * scores, axis=1)
    found = calibration.probabilities(scores)
    assert (found.argmax(axis=1) == scores.argmax(axis=1)).all()
    for row, p in zip(plain, found, strict=True):
        k = row.argmax()
        rest, second = 1 - row[k], np.sort(row)[-2]
        right = max(np.interp(row[k], *KNOTS), second / (rest + second))
        assert p[k] == pytest.approx(right, rel=rtol)
        others = np.arange(7) != k
        np.testing.assert_allclose(p[others], row[others] * (1 - right) / rest, rtol=rtol)
        assert p.sum() == pytest.approx(1, abs=1e-9)
    order = np.argsort(-scores, axis=1)
    assert (np.diff(np.take_along_axis(found, order, axis=1), axis=1) <= 1e-12).all()


@pytest.mark.kernel
def test_surprise_and_its_derivative():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(6, 4))
    scores[2, 1] = -np.inf
    true = np.array([0, 1, 2, 3, 0, 1])
    largest = scores.max(axis=1)
    slope = rng.uniform(0.5, 2, size=6)
    unknown, pull = 0.1, np.empty(6)

    def surprise(slope):
        values = slope[:, None] * (scores - largest[:, None])
        mean = [row[np.isfinite(row)].mean() for row in values]
        own = values[np.arange(6), true]
        return np.mean(logsumexp(values, axis=1) - 0.9 * own - 0.1 * np.array(mean))

    value = beliefs.surprise_of_shares(scores, largest, slope, true, unknown, pull)
    assert value == pytest.approx(surprise(slope))
    for i in range(6):
        step = np.eye(6)[i] * 1e-6
        assert pull[i] == pytest.approx((surprise(slope + step) - surprise(slope - step)) / 2e-6, abs=1e-6)


@pytest.mark.parametrize("temperature", [0.02, 0.3, 1.0, 4.0])
def test_a_known_temperature_is_found_again(temperature):
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(20_000, 6)) * temperature * 2
    true = draw(softmax(scores / temperature, axis=1), rng)
    assert most_likely_temperature(scores, true) == pytest.approx(temperature, rel=0.05)


def test_a_known_slope_is_found_again():
    rng = np.random.default_rng(6)
    scores = rng.normal(size=(30_000, 5))
    two = -np.sort(-scores, axis=1)[:, :2]
    slope = 2.0 - 0.6 * two[:, 0] + 0.8 * (two[:, 0] - two[:, 1])
    true = draw(softmax(np.maximum(slope, 0.1)[:, None] * scores, axis=1), rng)
    found = fit_slope(scores, true, most_likely_temperature(scores, true))
    np.testing.assert_allclose(found.slope, (2.0, -0.6, 0.8), atol=0.15)


@given(st.integers(1, 40), st.integers(2, 6), st.integers(0, 2**32 - 1), st.floats(0.01, 100))
@settings(max_examples=50)
def test_temperatures_are_never_extreme_nor_depend_on_the_unit(n, n_classes, seed, unit):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_classes))
    true = rng.integers(n_classes, size=n)
    found = most_likely_temperature(scores, true)
    assert COLDEST <= found <= WARMEST
    if 2 * COLDEST < found < WARMEST / 2 and 2 * COLDEST < found * unit < WARMEST / 2:
        assert most_likely_temperature(scores * unit, true) == pytest.approx(found * unit, rel=0.1)


def test_few_documents_that_come_out_right_do_not_make_answers_certain():
    scores = np.eye(4)[[0, 1, 2, 3, 0, 1]] * 2
    true = scores.argmax(axis=1)
    temperature = most_likely_temperature(scores, true)
    assert softmax(scores / temperature, axis=1).max() == pytest.approx(1 - 1 / 7 * 3 / 4, abs=0.01)
    assert fit_slope(scores, true, temperature).probabilities(scores).max() < 0.95


def test_knots_say_what_shares_are_worth():
    rng = np.random.default_rng(1)
    shares = rng.random(60_000)
    right = rng.random(60_000) < shares**2
    knots = fit_knots(shares, right)
    assert (knots[:, 0] == 0).all()
    assert (knots[:, -1] == 1).all()
    x = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(np.interp(x, *knots), x**2, atol=0.03)
    np.testing.assert_array_equal(fit_knots(shares[:60], right[:60]), [[0, 1], [0, 1]])


class Fixed:
    """A model whose scores are its documents."""

    def __init__(self, taxonomy, classes):
        self.taxonomy_, self.classes_ = taxonomy, np.array(classes)

    def decision_function(self, X):
        return X


def test_label_sets_are_calibrated_at_every_level():
    taxonomy = Taxonomy.from_paths(["a/x", "a/y", "b/z"])
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(20_000, 3))
    truth = sparse.csr_array(rng.random(scores.shape) < expit(3 * scores - 1))
    calibration = fit_set_calibration(HeldOut(Fixed(taxonomy, ["a/x", "a/y", "b/z"]), scores, truth))
    np.testing.assert_allclose(calibration.coefficients[1], [-1, 3, 0], atol=0.3)
    believer = Believer.of(Fixed(taxonomy, ["a/x", "a/y", "b/z"]), calibration)
    P = believer.beliefs(scores).nodes
    dense = truth.toarray()
    for node, right in (("a", dense[:, :2].any(axis=1)), ("b/z", dense[:, 2]), ("b", dense[:, 2])):
        sure = P[:, taxonomy.index(node)]
        for low in (0.1, 0.3, 0.5, 0.7):
            some = (sure >= low) & (sure < low + 0.2)
            assert right[some].mean() == pytest.approx(sure[some].mean(), abs=0.12)


def test_every_class_stays_known_when_documents_are_put_aside():
    labels = np.array(["a"] * 30 + ["b"] + ["c"] * 2)
    kept, aside = _split(labels)
    assert set(labels[kept]) == {"a", "b", "c"}
    assert len(aside) == int(0.2 * 33)
    assert sorted([*kept, *aside]) == list(range(33))


def test_too_few_documents_to_put_any_aside():
    X, y, taxonomy = make_synthetic(n_children=2, depth=2, n_samples=8, random_state=0)
    y = np.asarray(y)
    first = np.unique(y, return_index=True)[1]
    classifier = Classifier(TaxonomySVC(taxonomy)).fit(X[first], y[first])
    assert classifier.calibration is None
    assert classifier.coverage is None
    assert classifier.probabilities(X[:3]).shape == (3, len(taxonomy))
    assert hold_out(classifier.model, X[first], y[first]) is None


@pytest.fixture(scope="module")
def synthetic():
    return make_synthetic(n_children=3, depth=2, n_samples=400, random_state=0)


@pytest.mark.parametrize(
    "make",
    [
        lambda t: TaxonomySVC(t),
        lambda t: TaxonomySVC(t, kernel="poly", degree=2, coef0=1.0, tol=0.1),
        lambda t: StochasticPerceptron(t, max_iter=1000),
        lambda t: HardPerceptron(t, max_iter=300),
        lambda t: StructuredSVC(t, tol=0.1),
        lambda t: HierarchyRidge(t),
    ],
    ids=["linear", "kernel", "stochastic", "hard", "structured", "ridge"],
)
@pytest.mark.parametrize("sets", [False, True], ids=["one label", "label sets"])
@pytest.mark.filterwarnings("ignore::pinakes.errors.ConvergenceWarning")
def test_every_model_is_calibrated(synthetic, make, sets):
    X, y, taxonomy = synthetic
    model = make(taxonomy)
    if sets and isinstance(model, TaxonomySVC):
        return  # one label a document
    classifier = Classifier(model).fit(X, [[k] for k in y] if sets else y)
    assert classifier.has_sets == sets
    assert isinstance(classifier.calibration, SetCalibration if sets else Calibration)
    P = classifier.probabilities(X[:50])
    assert P.shape == (50, len(taxonomy))
    parent, child = taxonomy.edges().T
    assert (P[:, parent] >= P[:, child]).all()
    roots = P[:, taxonomy.roots]
    if not sets:
        np.testing.assert_allclose(roots.sum(axis=1), 1, rtol=1e-9)
        best = classifier.predict(X[:50])
        sure = [P[i, taxonomy.index(str(k))] for i, k in enumerate(best)]
        ranked = classifier.rank(X[:50], top=1)
        np.testing.assert_allclose([answers[0].confidence for answers in ranked], sure, rtol=1e-6)
    few = classifier.probabilities(X[:50], least=0.2)
    np.testing.assert_allclose(few.toarray(), np.where(P >= 0.2, P, 0))


def test_a_precomputed_kernel_is_calibrated(synthetic):
    X, y, taxonomy = synthetic
    K = np.asarray(X @ X.T if isinstance(X, np.ndarray) else (X @ X.T).toarray())
    linear = Classifier(TaxonomySVC(taxonomy, kernel="precomputed", tol=1e-3)).fit(K, y)
    assert linear.calibration is not None
    assert linear.probabilities(K[:5]).shape == (5, len(taxonomy))
