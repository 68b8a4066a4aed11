"""MinOver step by step against a rescan of all pairs, and in the limit against the QP of the largest margin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pinakes.kernels.rows import rows_to_csr
from pinakes.solvers import minover
from pinakes.solvers.minover import MinOverSolver
from pinakes.solvers.problem import make_outputs
from pinakes.taxonomy.attributes import class_attributes
from pinakes.taxonomy.loss import make_loss
from reference.minover import NaiveMinOver
from reference.problems import random_problem


def sets_of(seed, classes, n_samples, odd=True):
    """Draw label sets; some empty, one with every class."""
    rng = np.random.default_rng(seed)
    sets = [[k for k in classes if rng.random() < 0.3] or [str(rng.choice(classes))] for _ in range(n_samples)]
    if odd:
        sets[0], sets[-1] = [], list(classes)
    return sets


def problem_of(seed, lattice, loss, node_weight, wide=False, negative=True):
    """Give the arrays of a small problem, and the same problem written down naively."""
    taxonomy, classes, X, _, loss, node_weight = random_problem(seed, lattice, loss, node_weight, wide)
    classes = [str(k) for k in classes]
    X = X if negative else np.abs(X)
    sets = sets_of(seed, classes, len(X))
    nodes = [taxonomy.index(k) for k in classes]
    outputs = make_outputs(class_attributes(taxonomy, nodes, node_weight), make_loss(loss, taxonomy, classes))
    Y = sparse.csr_array(np.array([[k in few for k in classes] for few in sets]))
    return sparse.csr_array(X), Y, outputs, NaiveMinOver(taxonomy, classes, X, sets, loss, node_weight)


CASES = [
    (0, False, "tree", "equal", False),
    (1, True, "tree", "equal", False),
    (2, False, "zero-one", "flat", False),
    (3, True, "matrix", "normalized", False),
    (4, True, "costs", "mapping", False),
    (5, False, "tree", "depth", True),
]


@pytest.mark.kernel
@pytest.mark.parametrize(("seed", "lattice", "loss", "node_weight", "wide"), CASES)
@pytest.mark.parametrize("n_rivals", [1, 8])
def test_every_step_takes_a_worst_pair_of_all(monkeypatch, seed, lattice, loss, node_weight, wide, n_rivals):
    monkeypatch.setattr(minover, "N_RIVALS", n_rivals)
    X, Y, outputs, naive = problem_of(seed, lattice, loss, node_weight, wide)
    result = MinOverSolver(1e9, 300).solve(X, Y, outputs)
    assert result.stopped == "max_iter"
    assert result.steps.shape == (300, 3)
    place = {pair: k for k, pair in enumerate(naive.pairs)}
    for step, worst in zip(result.steps.tolist(), result.worst, strict=True):
        margins = naive.margins()
        scale = 1e-10 * max(1.0, np.abs(margins).max())
        assert margins[place[tuple(step)]] == pytest.approx(margins.min(), abs=scale)
        assert worst == pytest.approx(margins.min(), abs=scale)
        naive.step(*step)
    last = result.history[-1]
    norm = np.linalg.norm(naive.W)
    assert last.worst == pytest.approx(naive.margins().min(), rel=1e-9, abs=1e-9)
    assert last.norm == pytest.approx(norm, rel=1e-9)
    assert last.sum_alpha == pytest.approx(naive.sum_alpha)
    assert last.margin <= last.bound * (1 + 1e-12)
    scores = X @ rows_to_csr(result.rows, len(outputs.v2))
    assert np.isfinite(scores.toarray()).all()


@pytest.mark.parametrize("wide", [False, True], ids=["few", "many"])
def test_few_documents_are_looked_at_twice(wide):
    rng = np.random.default_rng(0)
    _, Y, outputs, _ = problem_of(7, True, "tree", "equal", wide=True)
    n, q = 400, Y.shape[1]
    words = sparse.random_array((n, 300), density=0.01, rng=rng, format="csr") + sparse.csr_array((n, 300))
    labels = sparse.csr_array(np.eye(q, dtype=bool)[rng.integers(q, size=n)])
    steps = 500 if wide else 50
    result = MinOverSolver(1e9, steps).solve(sparse.csr_array(words), labels, outputs)
    naive = (steps + 1) * n  # looking at every document before every step
    assert n <= result.n_looks < n + 0.02 * naive


@pytest.mark.parametrize(
    ("seed", "lattice", "loss", "node_weight"),
    [(10, False, "tree", "equal"), (11, True, "tree", "equal"), (12, False, "zero-one", "flat")],
)
def test_the_margin_tends_to_the_largest_there_is(seed, lattice, loss, node_weight):
    rng = np.random.default_rng(seed)
    taxonomy, classes, *_ = random_problem(seed, lattice, loss, node_weight)
    classes = [str(k) for k in classes]
    X = np.hstack([np.eye(8), 0.3 * rng.normal(size=(8, 4))])  # a word of its own each: any order can be had
    sets = sets_of(seed, classes, 8)
    nodes = [taxonomy.index(k) for k in classes]
    outputs = make_outputs(class_attributes(taxonomy, nodes, node_weight), make_loss(loss, taxonomy, classes))
    Y = sparse.csr_array(np.array([[k in few for k in classes] for few in sets]))
    best = NaiveMinOver(taxonomy, classes, X, sets, loss, node_weight).largest_margin()
    assert best > 0.1
    reached = []
    for margin in (0.0, 10.0, 1000.0):
        result = MinOverSolver(margin, 200_000).solve(sparse.csr_array(X), Y, outputs)
        assert result.stopped == "separated"
        last = result.history[-1]
        assert last.worst > margin
        assert last.margin <= best * (1 + 1e-6)
        assert last.bound >= best * (1 - 1e-6)
        reached.append(last.margin)
    assert reached[-1] == pytest.approx(best, rel=5e-3)
    assert last.bound == pytest.approx(best, rel=5e-3)
    assert reached[0] < reached[-1]


def test_stops_on_time_and_tells_how_it_goes():
    X, Y, outputs, _ = problem_of(20, False, "tree", "equal")
    told = []
    result = MinOverSolver(1e9, 10**9, max_seconds=0.05, report=told.append).solve(X, Y, outputs)
    assert result.stopped == "max_seconds"
    assert tuple(told) == result.history
    assert [h.n_iter for h in told] == sorted({h.n_iter for h in told})

    def stop(progress):
        raise KeyboardInterrupt

    result = MinOverSolver(1e9, 10**9, report=stop).solve(X, Y, outputs)
    assert result.stopped == "interrupted"
    assert len(result.steps) == minover.FIRST


def test_no_pair_to_order_is_nothing_to_learn():
    X, Y, outputs, _ = problem_of(21, False, "tree", "equal")
    everything = sparse.csr_array(np.ones(Y.shape, dtype=bool))
    nothing = sparse.csr_array(Y.shape, dtype=bool)
    for odd in (everything, nothing):
        result = MinOverSolver(1.0, 100).solve(X, odd, outputs)
        assert result.stopped == "separated"
        assert len(result.steps) == 0
        assert rows_to_csr(result.rows, len(outputs.v2)).nnz == 0
