"""`hinge="squared"`: against a QP solver, LIBLINEAR, its own bound, and where a fit goes on from another."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

import pinakes
from pinakes import Taxonomy, TaxonomySVC, TaxonomySVCCV
from pinakes.errors import ConvergenceWarning, ModelFileError, ParameterError
from pinakes.models.continuation import begin_after
from pinakes.solvers import ascent
from pinakes.solvers.papers import PaperSolver
from pinakes.storage.bundle import read_bundle, write_bundle
from pinakes.storage.model import KIND, VERSION
from reference.joint_svm import deltas, graph_of
from reference.problems import LOSSES, WEIGHTS, optimum, random_problem
from strategies import taxonomies

SOLVERS = ["ascent", "greedy", "joint", "exhaustive"]
COSTS = [0.03, 0.3, 1.0, 5.0]
KINDS = list(product([*LOSSES, "exact"], WEIGHTS, [False, True]))


def close(model, expected, message=""):
    found = [model.primal_objective_, model.dual_objective_]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9, err_msg=message)


@pytest.mark.parametrize("first", range(0, len(KINDS), 10))
def test_every_solver_reaches_the_optimum_of_a_qp_solver(first):
    for k in range(first, first + 10):
        loss, weight, lattice = KINDS[k]
        taxonomy, classes, X, y, loss, weight = random_problem(3000 + k, lattice, loss, weight)
        C = COSTS[k % 4]
        K = np.exp(-0.4 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
        for kernel, values in ({"kernel": "linear"}, X @ X.T), ({"kernel": "rbf", "gamma": 0.4}, K):
            expected = optimum(taxonomy, classes, X, y, C, loss, weight, values, squared=True)
            for solver in SOLVERS:
                m = TaxonomySVC(
                    taxonomy, C=C, loss=loss, hinge="squared", node_weight=weight, solver=solver, tol=1e-6,
                    max_iter=20_000, **kernel,
                ).fit(X, y)  # fmt: skip
                close(m, expected, f"{solver} on problem {k}, {kernel}")
                assert 0 <= m.gap_ <= 1e-6


@pytest.mark.parametrize("loss", [*LOSSES, "exact"])
def test_steps_in_batches_reach_the_optimum_whatever_the_number_of_threads(loss, monkeypatch):
    """As where documents are many: rows of weights that grow, and all classes looked at before a step."""
    monkeypatch.setattr(ascent, "_batch_size", lambda X, norms: 3)
    monkeypatch.setattr(ascent.growing, "FEW_BLOCKS", 0)
    monkeypatch.setattr("pinakes.models.joint_machine.DENSE_ABOVE", 2)
    taxonomy, classes, X, y, loss, weight = random_problem(4000, True, loss, "normalized", wide=True)
    expected = optimum(taxonomy, classes, X, y, 1.0, loss, weight, squared=True)
    same = {"loss": loss, "hinge": "squared", "C": 1.0, "tol": 1e-6, "max_iter": 20_000}
    models = [TaxonomySVC(taxonomy, n_jobs=n, **same).fit(X, y) for n in (1, 2)]
    for m in models:
        close(m, expected)
    assert models[0].primal_objective_ == models[1].primal_objective_


def test_two_classes_are_liblinears_squared_hinge():
    """With w_1 = -w_2 = u / 2, |w|^2 is |u|^2 / 2: LIBLINEAR's problem with twice the C, and half its objective."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, "b", "a")
    ours = TaxonomySVC(loss="zero-one", hinge="squared", C=0.7, tol=1e-13).fit(X, y)
    theirs = LinearSVC(C=1.4, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


@given(
    taxonomy=taxonomies(),
    seed=st.integers(0, 10_000),
    loss=st.sampled_from(["tree", "exact", "zero-one"]),
    solver=st.sampled_from(SOLVERS),
    C=st.floats(1e-3, 1e3),
    tol=st.sampled_from([0.5, 1e-6]),
    max_iter=st.sampled_from([1, 2000]),
)
@settings(max_examples=40)
def test_mean_squared_slack_bounds_the_mean_loss(taxonomy, seed, loss, solver, C, tol, max_iter):
    """As Proposition 1 of 2004, wherever a solver stops; and at the end these are the xi of the objective."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(taxonomy.ids, size=12)
    X = rng.normal(size=(12, 4)) * (rng.random((12, 4)) < 0.7)
    classes = sorted(set(labels.tolist()))
    if len(classes) < 2:
        return
    m = TaxonomySVC(taxonomy, C=C, loss=loss, hinge="squared", solver=solver, tol=tol, max_iter=max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        m.fit(X, labels)
    own, rows = np.searchsorted(classes, labels), np.arange(12)
    scores = np.asarray(m.coef_ @ X.T).T
    delta = deltas(graph_of(taxonomy), classes, loss)[own]
    xi = (np.sqrt(delta) * (1 - scores[rows, own][:, None] + scores)).max(axis=1)
    answers = np.searchsorted(classes, m.predict(X))
    assert delta[rows, answers].mean() <= (xi**2).mean() * (1 + 1e-5)
    if m.gap_ <= 1e-6:
        assert C * (xi**2).sum() <= m.primal_objective_ * (1 + 1e-5)


def test_weights_are_those_of_the_dual_variables():
    taxonomy, classes, X, y, loss, weight = random_problem(5, True, "tree", "normalized")
    m = TaxonomySVC(taxonomy, loss=loss, hinge="squared", node_weight=weight, C=0.02, tol=1e-9).fit(X, y)
    alpha, own = m.dual_coef_.toarray(), np.searchsorted(classes, y)
    Lam = m.attributes_.matrix(np.sqrt(m.attributes_.v2)).toarray()
    w = sum(a * np.outer(Lam[own[i]] - Lam[k], X[i]) for (i, k), a in np.ndenumerate(alpha))
    np.testing.assert_allclose((w * np.sqrt(m.attributes_.v2)[:, None]).T, m.weights_.toarray(), atol=1e-8)
    # no budget bounds them: sum over y of alpha / sqrt(Delta) is 2 C xi
    root = np.sqrt(deltas(graph_of(taxonomy), classes, "tree")[own])
    spent = np.divide(alpha, root, out=np.zeros_like(alpha), where=root > 0).sum(axis=1)
    scores = X @ m.coef_.toarray().T
    xi = (root * (1 - scores[np.arange(len(y)), own][:, None] + scores)).max(axis=1)
    np.testing.assert_allclose(spent, 2 * 0.02 * xi, atol=1e-6)
    assert spent.max() > 0.02


@given(seed=st.integers(0, 10_000), C=st.sampled_from([0.01, 1.0, 30.0]), lattice=st.booleans())
@settings(max_examples=20)
def test_any_beginning_leads_to_the_optimum(seed, C, lattice):
    """From another C, with kept documents, and from a file."""
    taxonomy, classes, X, y, loss, weight = random_problem(seed, lattice, "tree", "normalized")
    expected = optimum(taxonomy, classes, X, y, C, loss, weight, squared=True)
    first = TaxonomySVC(taxonomy, hinge="squared", C=0.5, tol=1e-3).fit(X, y)
    nodes, codes = first.taxonomy_, np.searchsorted(classes, y)
    m = TaxonomySVC(taxonomy, hinge="squared", C=C, tol=1e-3)
    m._fit_known(first._laid_out(X), codes, first.classes_, nodes, np.ones(len(y)), previous=first)
    np.testing.assert_allclose(m.dual_objective_, expected, rtol=2e-3)
    parts = TaxonomySVC(taxonomy, hinge="squared", C=C, tol=1e-7, max_iter=20_000, keep_documents=True)
    half = len(y) // 2
    for part in slice(half), slice(half, None):
        parts.partial_fit(X[part], y[part], classes=classes)
    close(parts, expected)


def test_a_beginning_is_scaled_to_the_largest_dual_objective():
    taxonomy, _, X, y, *_ = random_problem(8, True, "tree", "normalized")
    small = TaxonomySVC(taxonomy, hinge="squared", C=0.2, tol=1e-9).fit(X, y)
    large = TaxonomySVC(taxonomy, hinge="squared", C=5.0)
    large.classes_ = small.classes_
    large._set_classes(small.taxonomy_)
    begin = begin_after(small, large)
    alpha = small.dual_coef_
    norm2 = float((small.weights_.toarray() ** 2 / small.attributes_.v2).sum())
    s = np.asarray(small._dual[0].sum(axis=1))

    def dual(t):
        return t * alpha.sum() - t * t / 2 * norm2 - t * t * (s @ s) / (4 * 5.0)

    assert begin.scale > 1
    assert dual(begin.scale) > max(dual(0.999 * begin.scale), dual(1.001 * begin.scale))


def test_goes_into_the_file_and_comes_back(tmp_path):
    taxonomy, _, X, y, *_ = random_problem(9, False, "tree", "normalized")
    m = TaxonomySVC(taxonomy, hinge="squared", loss="exact", C=1.0).fit(X, y)
    pinakes.save(m, tmp_path / "m.pinakes")
    back = pinakes.load(tmp_path / "m.pinakes")
    assert back.hinge == "squared"
    np.testing.assert_allclose(back.decision_function(X), m.decision_function(X), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(back._loss.miss, m._loss.miss)
    back.partial_fit(X, y)
    assert back.stopped_ == "converged"


def test_a_file_without_the_word_is_linear_and_another_word_is_refused(tmp_path):
    taxonomy, _, X, y, *_ = random_problem(9, False, "tree", "normalized")
    path = tmp_path / "m.pinakes"
    pinakes.save(TaxonomySVC(taxonomy).fit(X, y), path)
    assert pinakes.load(path).hinge == "linear"
    header, tensors = read_bundle(path, kind=KIND, newest=VERSION)
    assert "hinge" not in header["model"]
    header["model"]["hinge"] = "cubic"
    write_bundle(path, header, tensors)
    with pytest.raises(ModelFileError, match="hinge"):
        pinakes.load(path)


def test_what_is_refused():
    X, y = np.eye(4), ["a", "b", "a", "b"]
    with pytest.raises(ParameterError, match="`hinge` of TaxonomySVC must be one of 'linear', 'squared', got 'cubic'"):
        TaxonomySVC(hinge="cubic").fit(X, y)
    m = TaxonomySVC(hinge="squared").fit(X, y).set_params(hinge="linear")
    with pytest.raises(ParameterError, match="`hinge` of TaxonomySVC was changed after the fit"):
        m.partial_fit(X, y)
    outputs = TaxonomySVC(hinge="squared").fit(X, y)._outputs
    with pytest.raises(ParameterError, match="not squared; use 'pairs'"):
        PaperSolver(qp="interior").solve(None, np.zeros(4, np.int32), np.ones(4), outputs)


def test_cross_validation_chooses_c_for_squared_slacks():
    rng = np.random.default_rng(0)
    taxonomy = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree", "plant/herb"])
    y = rng.choice([taxonomy.ids[v] for v in taxonomy.leaves], size=120)
    X = rng.normal(size=(120, 6)) + 2 * np.eye(6)[np.searchsorted(np.unique(y), y)]
    m = TaxonomySVCCV(taxonomy, hinge="squared", losses=["tree", "exact"]).fit(X, y)
    assert m.best_estimator_.hinge == "squared"
    again = TaxonomySVC(taxonomy, hinge="squared", **m.best_params_).fit(X, y)
    np.testing.assert_allclose(m.best_estimator_.primal_objective_, again.primal_objective_, rtol=1e-2)


@pytest.mark.kernel
def test_without_the_jit():
    taxonomy, classes, X, y, loss, weight = random_problem(11, True, "tree", "normalized")
    expected = optimum(taxonomy, classes, X, y, 1.0, loss, weight, squared=True)
    for solver in ("ascent", "greedy"):
        close(TaxonomySVC(taxonomy, hinge="squared", C=1.0, solver=solver, tol=1e-6).fit(X, y), expected)
