"""The guarantees of the 2013 paper on separable documents, and StructuredSVC against a QP over all closed outputs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from pinakes import HardPerceptron, StochasticPerceptron, StructuredSVC, Taxonomy
from pinakes.errors import ConvergenceWarning
from pinakes.solvers.expansion import LinearExpansion
from pinakes.solvers.perceptron import PerceptronSolver, theorem_steps
from pinakes.taxonomy.loss import NodeCosts
from reference.closed_sets import all_closed, best_margin, differences, random_tree, structured_optimum


def separable(seed, n_nodes=4, n=8, d=6):
    """Draw documents whose closed outputs a linear model tells apart."""
    rng = np.random.default_rng(seed)
    parent = random_tree(rng, n_nodes)
    outputs = all_closed(parent)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True) * np.sqrt(n_nodes)  # |Phi| = 1
    W = rng.normal(size=(d, n_nodes))
    Y = np.array([outputs[np.argmax(outputs @ (x @ W))] for x in X])
    return X, Y, parent, outputs


def taxonomy_of(parent):
    n = len(parent)
    return Taxonomy.from_edges([("" if p == n else f"n{p}", f"n{v}") for v, p in enumerate(parent)])


def lists(Y):
    return [[f"n{v}" for v in np.flatnonzero(y > 0)] for y in Y]


def least_margin(m, X, Y, parent):
    """Give the least margin of the weights over all nodes, those never seen being 0, on the unit ball."""
    W = np.zeros((X.shape[1], len(parent)))
    places = [int(m.taxonomy_.ids[v][1:]) for v in m.nodes_]
    W[:, places] = m.weights_
    D, _, _ = differences(X, Y, all_closed(parent))
    assert np.linalg.norm(W) <= 1 + 1e-9
    return (D @ W.ravel()).min()


def full_support(seed):
    """Look on from `seed` for a task in which every node is + somewhere, so that models know all of them."""
    for k in range(seed, seed + 500):
        X, Y, parent, outputs = separable(k)
        if ((Y > 0).any(axis=0)).all():
            return X, Y, parent, outputs
    raise AssertionError


@pytest.mark.parametrize("seed", [0, 1000, 2000])
def test_hard_perceptron_keeps_theorem_1(seed):
    X, Y, parent, outputs = full_support(seed)
    delta, epsilon = best_margin(X, Y, outputs), 0.1
    T = theorem_steps(True, epsilon, 1.0, len(X))
    m = HardPerceptron(taxonomy_of(parent), max_iter="theorem", epsilon=epsilon).fit(X, lists(Y))
    margin = least_margin(m, X, Y, parent)
    if m.stopped_ == "separated":
        assert m.n_iter_ <= T
        assert margin > 0
    else:
        assert m.n_iter_ == T
        assert margin >= delta - epsilon
    assert margin <= delta + 1e-9, "no margin is larger than the best"


@pytest.mark.parametrize("seed", [0, 1000, 2000])
def test_stochastic_perceptron_keeps_theorem_2(seed):
    X, Y, parent, outputs = full_support(seed)
    delta, epsilon = best_margin(X, Y, outputs), 0.3
    m = StochasticPerceptron(taxonomy_of(parent), max_iter="theorem", epsilon=epsilon, iterate="mean", n_subsets=1)
    m.fit(X, lists(Y))
    assert m.n_iter_ == theorem_steps(False, epsilon, 1.0, len(X))
    assert delta - epsilon <= least_margin(m, X, Y, parent) <= delta + 1e-9
    assert delta - least_margin(m, X, Y, parent) < 0.5 * epsilon, "the bound is generous: a wrong T would show here"


@pytest.mark.parametrize("hard", [True, False])
def test_the_norm_identity_holds_along_the_run(hard):
    """T |wbar|^2 as tracked by alpha_t is the squared length of the sum of steps, whenever one looks."""
    X, Y, parent, _ = separable(3, n_nodes=6, n=40, d=8)
    expansion = LinearExpansion(X.shape[1], 6, False)
    expansion.take(sparse.csr_array(X))
    seen = []

    def look(progress):
        seen.append((progress.norm**2 * 2000, float((expansion.W**2).sum())))

    solver = PerceptronSolver(hard, 2000, n_subsets=1 if hard else 3, report=look)
    result = solver.solve(expansion, sparse.csr_array((Y > 0).astype(float)), parent)
    assert len(seen) > 3 or result.stopped == "separated"
    for tracked, actual in seen:
        assert tracked == pytest.approx(actual, rel=1e-9)


@pytest.mark.kernel
def test_three_steps_by_hand():
    """Algorithm 1 on two documents and two nodes, written out: u stays out of it, and z is the best other set."""
    taxonomy = Taxonomy.from_edges([("", "p"), ("p", "c")])
    m = HardPerceptron(taxonomy, max_iter=3, iterate="last").fit([[1.0, 0.0], [0.0, 1.0]], [["c"], ["p"]])
    # t = 1: all scores are 0, documents tie, the first is taken; of the sets that tie, z = {}: c_1 = (2, 2) x_1
    # t = 2: document 2 has margin 0; its best other set is {}: c_2 = (2, 0) x_2
    # t = 3: document 1 has margin 4 (to {p}); document 2: a = (2, 0), {p, c} ties with {p}: margin 0, c_3 = (0, -2) x_2
    W = np.array([[2.0, 2.0], [2.0, -2.0]])
    np.testing.assert_allclose(m.weights_, W / np.linalg.norm(W))
    assert (m.n_iter_, m.stopped_) == (3, "max_iter")


@pytest.mark.kernel
def test_a_short_run_of_each():
    X, Y, parent, _ = separable(3, n_nodes=4, n=70, d=5)
    taxonomy = taxonomy_of(parent)
    for settings in ({}, {"kernel": "rbf", "gamma": 1.0}, {"n_subsets": 3, "iterate": "mean"}):
        m = StochasticPerceptron(taxonomy, max_iter=30, eta=0.5, **settings).fit(X, lists(Y))
        assert m.n_iter_ == 30
        assert len(m.predict(X)) == 70


@pytest.mark.parametrize("loss", ["tree", "hamming", "zero-one", "costs"])
def test_structured_svc_against_a_qp_over_all_closed_outputs(loss):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        parent = random_tree(rng, int(rng.integers(2, 6)))
        outputs = all_closed(parent)
        X, Y = rng.normal(size=(7, 3)), outputs[rng.integers(len(outputs), size=7)]
        Y[0] = 1  # every node is seen
        C = 10.0 ** rng.uniform(-1, 1)
        miss, false = rng.uniform(0.2, 2, (2, len(parent)))
        ids = [f"n{v}" for v in range(len(parent))]
        given = NodeCosts(1.0, dict(zip(ids, miss, strict=True)), dict(zip(ids, false, strict=True)))

        def delta(y, z, loss=loss, miss=miss, false=false):
            differ = y != z
            if loss == "zero-one":
                return float(differ.any())
            if loss == "costs":
                return float((differ * np.where(y > 0, miss, false)).sum())
            return float(differ.sum()) * (0.5 if loss == "tree" else 1.0)

        m = StructuredSVC(taxonomy_of(parent), C=C, loss=given if loss == "costs" else loss, tol=1e-7, max_iter=3000)
        m.fit(X, lists(Y))
        expected = structured_optimum(X, Y, outputs, C, delta)
        assert m.primal_objective_ == pytest.approx(expected, rel=1e-5)
        assert m.dual_objective_ == pytest.approx(expected, rel=1e-5)
        assert 0 <= m.gap_ <= 1e-7
        # the objective recomputed from the weights by its definition
        W = np.zeros((3, len(parent)))
        W[:, [int(m.taxonomy_.ids[v][1:]) for v in m.nodes_]] = m.weights_
        slack = [max(delta(y, z) - x @ W @ (y - z) for z in outputs) for x, y in zip(X, Y, strict=True)]
        assert m.primal_objective_ == pytest.approx(0.5 * (W**2).sum() + C * np.sum(slack), rel=1e-9)


@pytest.mark.kernel
def test_structured_svc_says_when_it_stopped_early():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 5, 30)
    with pytest.warns(ConvergenceWarning, match=r"after max_iter=1 sweeps .* raise max_iter, or accept a larger tol"):
        m = StructuredSVC(max_iter=1, tol=1e-9).fit(X, y)
    assert m.stopped_ == "max_iter"
    with pytest.warns(ConvergenceWarning, match="after max_seconds=1e-09 .*raise max_seconds"):
        assert StructuredSVC(max_seconds=1e-9).fit(X, y).stopped_ == "max_seconds"


def test_unrelated_nodes_are_binary_svms():
    """Without a taxonomy Delta and the margin fall apart by node: each is a hinge SVM of its own, solved by LIBLINEAR.

    xi_iv = max(0, 1/2 - 2 y a) = 1/2 max(0, 1 - y <4 w, x>).
    """
    rng = np.random.default_rng(1)
    taxonomy = Taxonomy.flat(f"{v:02}" for v in range(12))
    X, C = rng.normal(size=(30, 6)), 0.05
    Y = np.where(rng.random((30, 12)) < 0.5, 1, -1)
    labels = [[f"{v:02}" for v in np.flatnonzero(y > 0)] for y in Y]
    m = StructuredSVC(taxonomy, C=C, tol=1e-4, max_iter=5000).fit(X, labels)
    total = 0.0
    for v in range(12):
        svm = LinearSVC(C=8 * C, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=1_000_000, random_state=0)
        w = svm.fit(X, Y[:, v]).coef_[0]
        total += (0.5 * (w @ w) + 8 * C * np.maximum(0, 1 - Y[:, v] * (X @ w)).sum()) / 16
    assert m.primal_objective_ == pytest.approx(total, rel=2e-4)
