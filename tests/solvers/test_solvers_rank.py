"""The ranking SVM against an independent QP solver on 100 random problems, and the bound of the 2007 paper."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from pinakes import TaxonomyRankSVC
from pinakes.errors import ConvergenceWarning
from pinakes.solvers.ascent import AscentSolver
from pinakes.solvers.kernel_rows import DocumentKernel, KernelRows
from pinakes.solvers.pairs import make_labels
from pinakes.solvers.papers import PaperSolver
from pinakes.solvers.problem import Problem, make_outputs
from pinakes.taxonomy.attributes import class_attributes
from pinakes.taxonomy.loss import make_loss
from reference.joint_svm import deltas, graph_of
from reference.problems import LOSSES, WEIGHTS, random_problem
from reference.rank_svm import rank_optimum
from strategies import taxonomies

N_PROBLEMS, N_WIDE = 100, 4
COSTS = [0.03, 0.3, 1.0, 5.0]
KINDS = list(product(LOSSES, WEIGHTS, ["document", "pair"], [False, True]))
KINDS += KINDS[: N_PROBLEMS - len(KINDS)]


def draw_problem(k):
    """Give a random problem with a set of one to three of the classes for each document."""
    loss, weight, slack, lattice = KINDS[k]
    wide = k >= N_PROBLEMS - N_WIDE
    taxonomy, classes, X, y, loss, weight = random_problem(3000 + k, lattice, loss, weight, wide=wide)
    rng = np.random.default_rng(k)
    sets = [{str(label), *map(str, rng.choice(classes, rng.integers(0, 3)))} for label in y]
    return taxonomy, [str(c) for c in classes], X, sets, loss, weight, slack


def fit(problem, C, solver, **settings):
    taxonomy, _, X, sets, loss, weight, slack = problem
    model = TaxonomyRankSVC(
        taxonomy, C=C, loss=loss, node_weight=weight, slack=slack, solver=solver, implied=False, cut=1, tol=1e-6,
        max_iter=20_000, n_jobs=1, **settings,
    )  # fmt: skip
    return model.fit(X, [sorted(labels) for labels in sets])


@pytest.mark.parametrize("first", range(0, N_PROBLEMS, 20))
def test_both_solvers_are_within_a_hundred_thousandth_of_the_optimum(first):
    for k in range(first, first + 20):
        problem = taxonomy, classes, X, sets, loss, weight, slack = draw_problem(k)
        C = COSTS[k // 3 % 4]
        expected = rank_optimum(taxonomy, classes, X @ X.T, sets, C, loss, weight, slack)
        for solver in ["ascent", "greedy"]:
            m = fit(problem, C, solver)
            found = [m.primal_objective_, m.dual_objective_]
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9, err_msg=f"{solver} on problem {k}")
            assert 0 <= m.gap_ <= 1e-6, (solver, k)


@pytest.mark.parametrize("solver", ["ascent", "greedy", "joint", "exhaustive"])
@pytest.mark.parametrize("slack", ["document", "pair"])
def test_kernels_reach_the_optimum(solver, slack):
    for k in (1, 40):
        taxonomy, classes, X, sets, loss, weight, _ = draw_problem(k)
        K = rbf_kernel(X, X, 0.4)
        expected = rank_optimum(taxonomy, classes, K, sets, 2.0, loss, weight, slack)
        problem = taxonomy, classes, X, sets, loss, weight, slack
        m = fit(problem, 2.0, solver, kernel="rbf", gamma=0.4)
        assert m.dual_objective_ == pytest.approx(expected, rel=1e-5)
        given = fit((taxonomy, classes, K, sets, loss, weight, slack), 2.0, solver, kernel="precomputed")
        np.testing.assert_allclose(given.decision_function(K), m.decision_function(X), atol=1e-6)


def test_the_problems_are_of_every_kind():
    several = inner = lattices = nested = 0
    for k in range(N_PROBLEMS - N_WIDE):
        taxonomy, classes, _, sets, *_ = draw_problem(k)
        several += sum(len(labels) > 1 for labels in sets) > 2
        nodes = {c: taxonomy.index(c) for c in classes}
        inner += any(len(taxonomy.children.of(v)) for v in nodes.values())
        lattices += max(taxonomy.parents.sizes()) > 1
        nested += any(
            nodes[a] in taxonomy.ancestors.of(nodes[b]) for labels in sets for a in labels for b in labels if a != b
        )
    assert min(several, inner, nested) >= 40
    assert lattices >= 30
    assert {KINDS[k][2] for k in range(N_PROBLEMS - N_WIDE, N_PROBLEMS)} == {"document", "pair"}


@given(
    taxonomy=taxonomies(),
    seed=st.integers(0, 10_000),
    loss=st.sampled_from(["tree", "zero-one"]),
    slack=st.sampled_from(["document", "pair"]),
    solver=st.sampled_from(["ascent", "greedy"]),
    C=st.floats(1e-3, 1e3),
    tol=st.sampled_from([0.5, 1e-2, 1e-6]),
    max_iter=st.sampled_from([1, 3, 2000]),
)
@settings(max_examples=40)
def test_mean_slack_bounds_the_mean_maximal_loss(taxonomy, seed, loss, slack, solver, C, tol, max_iter):
    """The 2007 paper's proposition, for any w, with the slacks recomputed; and the dual variables are feasible."""
    rng = np.random.default_rng(seed)
    sets = [sorted({str(label) for label in rng.choice(taxonomy.ids, rng.integers(1, 4))}) for _ in range(12)]
    X = rng.normal(size=(12, 4)) * (rng.random((12, 4)) < 0.7)
    m = TaxonomyRankSVC(
        taxonomy, C=C, loss=loss, slack=slack, solver=solver, implied=False, cut=1, tol=tol, max_iter=max_iter,
        n_jobs=1,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        m.fit(X, sets)
    classes = [str(c) for c in m.classes_]
    scores, table = m.decision_function(X), deltas(graph_of(taxonomy), classes, loss)
    slacks, largest, total = np.zeros(12), np.zeros(12), 0.0
    for i, labels in enumerate(sets):
        own = [classes.index(label) for label in labels]
        for y in own:
            for k in set(range(len(classes))) - set(own):
                f = table[y, k] * (1 - scores[i, y] + scores[i, k])
                slacks[i] = max(slacks[i], f)
                total += max(0.0, f)
                if scores[i, k] >= scores[i, y]:
                    largest[i] = max(largest[i], table[y, k])
    assert largest.mean() <= slacks.mean() * (1 + 1e-6) + 1e-9
    if m.gap_ <= 1e-6:
        assert C * (total if slack == "pair" else slacks.sum()) <= m.primal_objective_ * (1 + 1e-5) + 1e-9
    assert (m.pairs_.alpha > 0).all()
    beta = m.pairs_.alpha / table[m.pairs_.label, m.pairs_.other]
    used = beta if slack == "pair" else np.bincount(m.pairs_.document, beta, minlength=12)
    assert (used <= C * (1 + 1e-9)).all()


@pytest.mark.kernel
@pytest.mark.parametrize("slack", ["document", "pair"])
def test_bare_solvers_agree_and_the_dual_never_falls(slack):
    """Small enough to run without the compiler."""
    for k in (0, 3):
        taxonomy, classes, X, sets, loss, weight, _ = draw_problem(k)
        nodes = np.array([taxonomy.index(c) for c in classes])
        outputs = make_outputs(class_attributes(taxonomy, nodes, weight), make_loss(loss, taxonomy, classes))
        members = np.array([[c in labels for c in classes] for labels in sets])
        kept = members.any(axis=1) & ~members.all(axis=1)
        y = make_labels(sparse.csr_array(members[kept]), outputs, slack == "pair")
        C = np.full(kept.sum(), 0.7)
        rows = KernelRows(DocumentKernel("linear"), sparse.csr_array(X[kept]))
        paper = PaperSolver("greedy", tol=1e-4).solve(rows, y, C, outputs)
        assert (np.diff(paper.history.d_obj) >= -1e-12 * np.abs(paper.history.d_obj[1:])).all()
        assert (paper.history.active_ratio <= 1).all()
        problem = Problem(sparse.csr_array(X[kept]), y, C, outputs)
        ours = AscentSolver(tol=1e-5).solve(problem)
        assert ours.last.d_obj == pytest.approx(paper.last.d_obj, rel=2e-4)
        few = [labels for labels, keep in zip(sets, kept, strict=True) if keep]
        expected = rank_optimum(taxonomy, classes, X[kept] @ X[kept].T, few, 0.7, loss, weight, slack)
        assert ours.last.d_obj == pytest.approx(expected, rel=2e-5)
