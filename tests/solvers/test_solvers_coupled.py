"""Coupled binary SVMs against the optimum of an independent QP solver on 100 problems, and against LIBLINEAR."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from pinakes import CoupledSVC, Taxonomy
from pinakes.errors import ConvergenceWarning
from pinakes.kernels.coupled import add_loss
from pinakes.models import coupled_svc
from pinakes.solvers import coupled
from reference.coupled_svm import coupled_optimum
from reference.joint_svm import graph_of, lambdas
from reference.problems import WEIGHTS, random_problem

COSTS = [0.03, 0.3, 1.0, 5.0]
LOSSES = ["hinge", "squared_hinge"]
# loss, node weights, bias, tree or lattice; the last few have enough attributes for rows that grow
KINDS = list(product(LOSSES, WEIGHTS, [False, True], [False, True]))
N_PROBLEMS, N_WIDE = 100, 4


def draw_problem(k):
    """Draw a problem of `random_problem` with label sets instead: some empty, some with ancestors of other labels."""
    loss, weight, bias, lattice = KINDS[k % len(KINDS)]
    wide = k >= N_PROBLEMS - N_WIDE
    taxonomy, classes, X, _, _, node_weight = random_problem(3000 + k, lattice or wide, "tree", weight, wide=wide)
    rng = np.random.default_rng(k)
    Y = rng.random((len(X), len(classes))) < 0.3
    Y[rng.integers(len(X), size=len(classes)), np.arange(len(classes))] = True  # every class has a document
    return taxonomy, list(classes), X, Y, loss, node_weight, bias


def as_sets(Y, classes):
    return [{classes[k] for k in np.flatnonzero(row)} for row in Y]


def fit(k, **settings):
    taxonomy, classes, X, Y, loss, node_weight, bias = draw_problem(k)
    settings = {"C": COSTS[k // 3 % 4], "tol": 1e-6, "max_iter": 20_000, "cut": 0.0, "implied": False} | settings
    m = CoupledSVC(taxonomy, loss=loss, node_weight=node_weight, fit_intercept=bias, intercept_scaling=0.7, **settings)
    return m.fit(X, as_sets(Y, classes))


def with_bias(X, bias):
    return np.column_stack([X, np.full(len(X), 0.7)]) if bias else X


@pytest.mark.parametrize("first", range(0, N_PROBLEMS, 20))
def test_within_a_hundred_thousandth_of_the_optimum(first):
    for k in range(first, first + 20):
        taxonomy, classes, X, Y, loss, node_weight, bias = draw_problem(k)
        signs, squared = np.where(Y, 1, -1), loss == "squared_hinge"
        expected = coupled_optimum(
            graph_of(taxonomy), classes, node_weight, with_bias(X, bias), signs, COSTS[k // 3 % 4], squared
        )
        m = fit(k)
        found = [m.primal_objective_, m.dual_objective_]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9, err_msg=f"problem {k}")
        assert 0 <= m.gap_ <= 1e-6, k


def test_the_problems_are_of_every_kind():
    inner = several = empty = growing = 0
    for k in range(N_PROBLEMS):
        taxonomy, classes, X, Y, _, _, _ = draw_problem(k)
        inner += any(len(taxonomy.children.of(taxonomy.index(c))) for c in classes)
        several += max(taxonomy.parents.sizes()) > 1
        empty += not Y.any(axis=1).all()
        growing += len(X) > 15 and fit(k, tol=0.5).attributes_.n_attributes > 64
    assert min(inner, several, empty) >= 30
    assert growing >= N_WIDE - 1


@pytest.mark.parametrize("k", [2, 7, 21, 39])
def test_documents_of_weight_count_as_often(k):
    """A document of weight 3 is three documents, one of weight 0 none, and scores do not change."""
    taxonomy, classes, X, Y, loss, node_weight, bias = draw_problem(k)
    weight = np.array([3, 1, 0, 2] * len(X))[: len(X)]
    weight[~(Y[weight > 0].any(axis=0)[None, :] | ~Y).all(axis=1)] = 1  # no class is lost
    sets = as_sets(Y, classes)
    m = CoupledSVC(taxonomy, loss=loss, node_weight=node_weight, fit_intercept=bias, tol=1e-8, cut=0.0, implied=False)
    weighted = m.fit(X, sets, sample_weight=weight)
    scores, objective = weighted.decision_function(X), weighted.primal_objective_
    assert not weighted.dual_coef_[np.flatnonzero(weight == 0)].nnz
    repeated = m.fit(np.repeat(X, weight, axis=0), [s for s, w in zip(sets, weight, strict=True) for _ in range(w)])
    np.testing.assert_allclose(repeated.primal_objective_, objective, rtol=1e-6)
    np.testing.assert_allclose(repeated.decision_function(X), scores, atol=2e-3)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("density", [0.1, 1.0])
def test_flat_classes_are_one_vs_rest_svms_of_liblinear(loss, bias, density):
    rng = np.random.default_rng(5)
    X = sparse.random(150, 40, density, random_state=rng, data_rvs=rng.standard_normal).toarray()
    Y = X @ rng.normal(size=(40, 7)) + rng.normal(size=(150, 7)) > 1
    classes = list("abcdefg")
    taxonomy = Taxonomy.from_edges([("", "top")] + [("top", k) for k in classes])
    expected = 0.0
    for r in range(7):
        y = np.where(Y[:, r], 1, -1)
        peer = LinearSVC(
            C=0.5, loss=loss, dual=True, fit_intercept=bias, intercept_scaling=1.3, tol=1e-8, max_iter=100_000
        ).fit(X, y)
        w, b = peer.coef_[0], float(peer.intercept_[0]) if bias else 0.0
        xi = np.maximum(0, 1 - y * (X @ w + b))
        expected += 0.5 * (w @ w + (b / 1.3) ** 2) + 0.5 * (xi**2 if loss == "squared_hinge" else xi).sum()
    settings = {
        "C": 0.5,
        "loss": loss,
        "prior": 0,
        "fit_intercept": bias,
        "intercept_scaling": 1.3,
        "tol": 2e-5,
        "cut": 0.0,
        "max_iter": 50_000,
    }
    for m in (CoupledSVC(**settings), CoupledSVC(taxonomy, node_weight="flat", **settings)):
        m.fit(sparse.csr_array(X) if density < 1 else X, as_sets(Y, classes))
        np.testing.assert_allclose([m.primal_objective_, m.dual_objective_], expected, rtol=1e-4)
        np.testing.assert_allclose(X @ m.coef_.T.toarray() + m.intercept_, m.decision_function(X), atol=1e-9)
        assert (m.intercept_ != 0).all() == bias


@pytest.mark.parametrize("k", [0, 1, 6, 99])
def test_the_number_of_threads_does_not_matter(k, monkeypatch):
    monkeypatch.setattr(coupled, "FEW", 0 if k == 1 else coupled.FEW)  # sweeps over pairs with weight, too
    monkeypatch.setattr(coupled, "LONG", 0)
    monkeypatch.setattr(coupled, "BUSY", 0)
    monkeypatch.setattr(coupled_svc, "TINY", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, two = (fit(k, tol=1e-3, max_iter=5, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert (one.weights_ != two.weights_).nnz == 0
    assert [p.p_obj for p in one.history_] == [p.p_obj for p in two.history_]


def test_weights_and_dual_variables_belong_together():
    """w_z = v_z sum of y alpha x over the classes below z, and so coef_ = K (y alpha)' X with K = <Lambda, Lambda'>."""
    for k in (3, 6, 9, 98):
        taxonomy, classes, X, _, _, node_weight, bias = draw_problem(k)
        m = fit(k)
        Lam = lambdas(graph_of(taxonomy), classes, node_weight)
        K = np.array([[sum(v * Lam[b].get(z, 0) for z, v in Lam[a].items()) for b in classes] for a in classes])
        coef = K @ m.dual_coef_.T.toarray() @ with_bias(X, bias)
        np.testing.assert_allclose(m.coef_.toarray(), coef[:, :5], atol=1e-9)
        np.testing.assert_allclose(m.intercept_, 0.7 * coef[:, 5] if bias else 0 * m.intercept_, atol=1e-9)


def test_every_node_may_have_a_problem():
    """`targets="nodes"` is the same as giving all ancestors as labels of their own, but for what is answered."""
    for k in (3, 4, 19):
        taxonomy, classes, X, Y, loss, node_weight, bias = draw_problem(k)
        sets = as_sets(Y, classes)
        above = [{taxonomy.ids[u] for c in s for u in taxonomy.ancestors.of(taxonomy.index(c))} for s in sets]
        settings = {"loss": loss, "node_weight": node_weight, "prior": 0, "tol": 1e-6, "cut": 0.0, "implied": False}
        nodes = CoupledSVC(taxonomy, targets="nodes", fit_intercept=bias, **settings).fit(X, sets)
        closed = CoupledSVC(taxonomy, fit_intercept=bias, **settings).fit(X, above)
        assert nodes.classes_.tolist() == classes
        np.testing.assert_allclose(nodes.primal_objective_, closed.primal_objective_, rtol=1e-5)
        columns = np.searchsorted(closed.classes_, classes)
        np.testing.assert_allclose(nodes.decision_function(X), closed.decision_function(X)[:, columns], atol=2e-2)
        assert nodes.dual_coef_.shape[1] == len(closed.classes_)


def test_time_and_rounds_and_interrupts_keep_the_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30)) * (rng.random((400, 30)) < 0.4)
    sets = as_sets(rng.random((400, 9)) < 0.2, list("abcdefghi"))

    def stop(progress):
        if progress.n_iter == 2:
            raise KeyboardInterrupt

    for settings, report, why, cure in [
        ({"max_iter": 2}, None, "max_iter", "after max_iter=2 rounds .* raise max_iter"),
        ({"max_seconds": 1e-9}, None, "max_seconds", "after max_seconds=1e-09 .* raise max_seconds"),
        ({}, stop, "interrupted", "when it was interrupted .* fit again"),
    ]:
        m = CoupledSVC(C=100, tol=1e-9, cut=0.0, **settings)
        with pytest.warns(ConvergenceWarning, match=cure):
            m.fit(X, sets, report=report)
        assert m.stopped_ == why
        assert m.decision_function(X).shape == (400, 9)
        assert len(m.predict(X)) == 400
        if why != "max_seconds":
            assert m.gap_ > 1e-9
            assert np.abs(m.coef_).max() > 0


def test_the_dual_does_not_fall():
    """Steps are exact, so that exact objectives, as at the last of so many rounds, can only rise."""
    for k in (5, 6, 13, 14, 98):
        found = []
        for max_iter in range(1, 7):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                found.append(fit(k, max_iter=max_iter).dual_objective_)
        assert (np.diff(found) >= -1e-9 * np.abs(found[-1])).all(), (k, found)


@pytest.mark.kernel
@pytest.mark.parametrize("squared", [False, True])
def test_the_gap_of_a_pair_is_what_primal_and_dual_differ_by(squared):
    """With n = 1, x = 1 and v = 1: P = w^2/2 + C L(1 - y w), D = alpha - w^2/2 - D alpha^2/2, w = y alpha."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        C, y = rng.uniform(0.1, 3), rng.choice([-1, 1])
        alpha = rng.uniform(0, 3 if squared else C)
        w = y * alpha
        xi = max(0, 1 - y * w)
        primal = w * w / 2 + C * (xi**2 if squared else xi)
        dual = alpha - w * w / 2 - (alpha**2 / (4 * C) if squared else 0)
        loss, gap = (
            add_loss.py_func(1 - y * w, alpha, C, squared)
            if hasattr(add_loss, "py_func")
            else add_loss(1 - y * w, alpha, C, squared)
        )
        assert loss == pytest.approx(primal - w * w / 2)
        assert gap == pytest.approx(primal - dual)


@pytest.mark.kernel
def test_few_documents_and_steps(monkeypatch):
    """Small enough to run with the JIT off: all pairs, and pairs with weight alone."""
    monkeypatch.setattr(coupled_svc, "TINY", 0)
    for k, few in [(0, 256), (25, 256), (1, 0)]:
        monkeypatch.setattr(coupled, "FEW", few)
        m = fit(k, tol=0.2, n_jobs=1)
        assert m.gap_ <= 0.2
