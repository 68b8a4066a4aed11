"""Every solver against the optimum of an independent QP solver on 200 problems, and Proposition 1 of 2004."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from pinakes import TaxonomySVC
from pinakes.errors import ConvergenceWarning
from pinakes.solvers import ascent
from reference.joint_svm import deltas, graph_of
from reference.problems import LOSSES, WEIGHTS, optimum, random_problem
from strategies import taxonomies

SOLVERS = ["ascent", "greedy", "joint", "exhaustive"]
COSTS = [0.03, 0.3, 1.0, 5.0]
N_PROBLEMS, N_WIDE = 200, 8
# kernel settings, and the matrix they stand for by somebody else's definition
KERNELS = {
    "linear": ({}, lambda A, B: A @ B.T),
    "poly": ({"degree": 3, "gamma": 0.3, "coef0": 1.0}, lambda A, B: polynomial_kernel(A, B, 3, 0.3, 1.0)),
    "rbf": ({"gamma": 0.4}, lambda A, B: rbf_kernel(A, B, 0.4)),
    "precomputed": ({}, lambda A, B: np.exp(-0.3 * cdist(A, B, "cityblock"))),
}
# all combinations of loss, weights, kernel and shape, and so many more with a linear kernel, the last of them wide
KINDS = list(product(LOSSES, WEIGHTS, KERNELS, [False, True]))
KINDS += [(loss, weight, "linear", True) for loss, weight in product(LOSSES, WEIGHTS)] * 2


def draw_problem(k):
    loss, weight, kernel, lattice = KINDS[k]
    return random_problem(1000 + k, lattice, loss, weight, wide=k >= N_PROBLEMS - N_WIDE), kernel


@pytest.mark.parametrize("first", range(0, N_PROBLEMS, 20))
def test_every_solver_is_within_a_hundred_thousandth_of_the_optimum(first):
    for k in range(first, first + 20):
        (taxonomy, classes, X, y, loss, node_weight), kernel = draw_problem(k)
        C = COSTS[k // 3 % 4]
        K = KERNELS[kernel][1](X, X)
        expected = optimum(taxonomy, classes, X, y, C, loss, node_weight, K)
        for solver in SOLVERS:
            m = TaxonomySVC(
                taxonomy,
                C=C,
                loss=loss,
                node_weight=node_weight,
                solver=solver,
                kernel=kernel,
                tol=1e-6,
                max_iter=20_000,
                **KERNELS[kernel][0],
            ).fit(K if kernel == "precomputed" else X, y)
            found = [m.primal_objective_, m.dual_objective_]
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9, err_msg=f"{solver} on problem {k}")
            assert 0 <= m.gap_ <= 1e-6, (solver, k)


def test_the_problems_are_of_every_kind():
    """Uneven depth, documents on inner nodes, nodes with several parents, and enough attributes for rows that grow."""
    assert len(KINDS) == N_PROBLEMS
    uneven = inner = several = 0
    for k in range(N_PROBLEMS - N_WIDE):
        (taxonomy, classes, *_), _ = draw_problem(k)
        nodes = [taxonomy.index(c) for c in classes]
        uneven += len({taxonomy.levels[v] for v in nodes}) > 1
        inner += any(len(taxonomy.children.of(v)) for v in nodes)
        several += max(taxonomy.parents.sizes()) > 1
    assert min(uneven, inner, several) >= 70
    for k in range(N_PROBLEMS - N_WIDE, N_PROBLEMS):
        (taxonomy, _, X, y, loss, node_weight), _ = draw_problem(k)
        m = TaxonomySVC(taxonomy, loss=loss, node_weight=node_weight, max_iter=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert m.fit(X, y).attributes_.n_attributes > 64 or node_weight == "flat"


@pytest.mark.parametrize("k", range(N_PROBLEMS - N_WIDE, N_PROBLEMS))
def test_steps_in_batches_reach_the_optimum_whatever_the_number_of_threads(k, monkeypatch):
    """As where documents are many: each looks at all classes before its step, at first by their margins alone."""
    (taxonomy, classes, X, y, loss, node_weight), _ = draw_problem(k)
    looked = []
    sweep = ascent._State.sweep

    def watched(self, order, quiet, look=0, by_margin=False):
        looked.append((look, by_margin))
        return sweep(self, order, quiet, look, by_margin)

    monkeypatch.setattr(ascent, "_batch_size", lambda X, norms: 3)
    monkeypatch.setattr(ascent.growing, "FEW_BLOCKS", 0)
    monkeypatch.setattr("pinakes.models.joint_machine.DENSE_ABOVE", 2)
    monkeypatch.setattr(ascent._State, "sweep", watched)
    expected = optimum(taxonomy, classes, X, y, 1.0, loss, node_weight, X @ X.T)
    models = [
        TaxonomySVC(taxonomy, loss=loss, node_weight=node_weight, C=1.0, tol=1e-6, max_iter=20_000, n_jobs=n).fit(X, y)
        for n in (1, 2)
    ]
    assert [by_margin for look, by_margin in looked if look == ascent.N_FIRST] == [True, False, False] * 2
    for m in models:
        np.testing.assert_allclose([m.primal_objective_, m.dual_objective_], expected, rtol=1e-5)
    assert models[0].primal_objective_ == models[1].primal_objective_


@pytest.mark.parametrize("by_margin", [False, True])
def test_the_worst_classes_come_in_by_f_or_by_their_margins(by_margin, monkeypatch):
    monkeypatch.setattr(ascent.growing, "FEW_BLOCKS", 0)
    monkeypatch.setattr("pinakes.models.joint_machine.DENSE_ABOVE", 2)
    states = []
    init = ascent._State.__init__
    monkeypatch.setattr(ascent._State, "__init__", lambda self, *a: [init(self, *a), states.append(self)][0])
    (taxonomy, classes, X, y, _, _), _ = draw_problem(N_PROBLEMS - 1)
    m = TaxonomySVC(taxonomy, C=1e-3, tol=0.5).fit(X, y)
    solved = states[-1]
    start = ascent.Start(solved.rows)  # nothing is active yet …
    problem = replace(solved.problem, C=np.full(len(y), 1e-12))  # … and steps are so small that the weights stay
    state = ascent._State(problem, 0.5, start, ascent.Clock())
    with ThreadPoolExecutor(1) as threads:
        state.threads, state.n_threads = threads, 1
        state.merge()  # makes free places
        scores, delta = m.decision_function(X), deltas(graph_of(taxonomy), classes, "tree")
        own = np.searchsorted(classes, y)
        differ = 0
        for i in range(len(y)):
            state.sweep(np.array([i]), 0.0, 3, by_margin)
            violation = 1 - scores[i, own[i]] + scores[i]
            violation[own[i]] = 0
            worst = violation if by_margin else delta[own[i]] * violation
            found = state.active[state.active_indptr[i] :][: state.active_count[i]]
            np.testing.assert_allclose(
                np.sort(worst[found]), np.sort(worst)[-3:], rtol=1e-9
            )  # by value: some are equal
            differ += np.sort(violation)[-3:].sum() > violation[found].sum() + 1e-9
        assert (differ > 0) == (not by_margin)


@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=8), seed=st.integers(0, 1000))
def test_documents_of_each_class_are_spread_evenly(sizes, seed):
    """Whatever the class: in the first share t of the order lie about a share t of its documents."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    order = ascent._evenly(np.random.default_rng(seed), y)
    assert sorted(order) == list(range(len(y)))
    for k, size in enumerate(sizes):
        for n, place in enumerate(np.flatnonzero(y[order] == k)):
            # of every class between floor and ceil of its share of what comes before
            assert n * len(y) / size - len(sizes) <= place <= (n + 1) * len(y) / size + len(sizes)


@given(
    taxonomy=taxonomies(),
    seed=st.integers(0, 10_000),
    loss=st.sampled_from(["tree", "zero-one"]),
    weight=st.sampled_from(["normalized", "depth", "equal", "flat"]),
    solver=st.sampled_from(SOLVERS),
    kernel=st.sampled_from(["linear", "rbf"]),
    C=st.floats(1e-3, 1e3),
    tol=st.sampled_from([0.5, 1e-2, 1e-6]),
    max_iter=st.sampled_from([1, 2, 2000]),
)
@settings(max_examples=60)
def test_mean_slack_bounds_the_mean_loss(taxonomy, seed, loss, weight, solver, kernel, C, tol, max_iter):
    """Proposition 1: for any w, with xi as small as the constraints allow, and so wherever a solver stops."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(taxonomy.ids, size=12)
    X = rng.normal(size=(12, 4)) * (rng.random((12, 4)) < 0.7)
    classes = sorted(set(labels.tolist()))
    if len(classes) < 2:
        return
    m = TaxonomySVC(
        taxonomy, C=C, loss=loss, node_weight=weight, solver=solver, kernel=kernel, tol=tol, max_iter=max_iter
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        m.fit(X, labels)
    ranking = m.rank(X, len(classes))
    scores = np.empty(ranking.scores.shape)
    np.put_along_axis(scores, ranking.classes.astype(int), ranking.scores, axis=1)
    own = np.searchsorted(classes, labels)
    delta = deltas(graph_of(taxonomy), classes, loss)[own]
    xi = (delta * (1 - scores[np.arange(12), own][:, None] + scores)).max(axis=1)  # 0 at y_i itself
    answers = np.searchsorted(classes, m.predict(X))
    assert delta[np.arange(12), answers].mean() <= xi.mean() * (1 + 1e-6)
    if m.gap_ <= 1e-6:  # and these are the xi of the objective
        assert C * xi.sum() <= m.primal_objective_ * (1 + 1e-6)
