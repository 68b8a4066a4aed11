"""The interior-point QP of one document against SLSQP, and inside the papers' algorithms against pairwise steps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from pinakes.errors import ParameterError
from pinakes.kernels.interior import solve_interior
from pinakes.models.classes import class_nodes
from pinakes.solvers.kernel_rows import DocumentKernel, KernelRows
from pinakes.solvers.papers import PaperSolver
from pinakes.solvers.problem import make_outputs
from pinakes.taxonomy.attributes import class_attributes
from pinakes.taxonomy.loss import make_loss
from reference.problems import random_problem


@pytest.mark.kernel
@pytest.mark.parametrize("seed", range(8))
def test_the_qp_is_solved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 9))
    A = rng.normal(size=(m, max(1, m - seed % 2)))  # singular in every other case
    Q, C = A @ A.T, float(rng.choice([0.1, 1.0, 10.0]))
    beta = rng.dirichlet(np.ones(m + 1))[:m] * C
    F = rng.normal(size=m)
    g = F + Q @ beta
    solve_interior(Q, F, beta, C)
    reference = minimize(
        lambda b: 0.5 * b @ Q @ b - g @ b,
        np.full(m, C / (m + 1)),
        jac=lambda b: Q @ b - g,
        bounds=[(0, C)] * m,
        constraints={"type": "ineq", "fun": lambda b: C - b.sum(), "jac": lambda b: -np.ones(m)},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert (beta >= 0).all()
    assert beta.sum() <= C * (1 + 1e-12)
    assert 0.5 * beta @ Q @ beta - g @ beta == pytest.approx(reference.fun, rel=1e-5, abs=1e-6 * C)


@pytest.mark.parametrize("algorithm", ["greedy", "exhaustive"])
def test_both_qps_lead_to_the_same_optimum(algorithm: str) -> None:
    for seed in range(3):
        taxonomy, classes, X, y, loss, node_weight = random_problem(seed, seed == 1, "tree", "normalized")
        attributes = class_attributes(taxonomy, class_nodes(taxonomy, np.array(classes)), node_weight)
        outputs = make_outputs(attributes, make_loss(loss, taxonomy, classes))
        codes = np.searchsorted(classes, y).astype(np.int32)
        pairs, interior = (
            PaperSolver(algorithm, tol=1e-4, qp=qp).solve(
                KernelRows(DocumentKernel("precomputed"), X @ X.T), codes, np.full(len(y), 0.7), outputs
            )
            for qp in ("pairs", "interior")
        )
        assert interior.stopped == pairs.stopped == "converged"
        assert interior.last.d_obj == pytest.approx(pairs.last.d_obj, rel=2e-4)


def test_an_unknown_qp() -> None:
    with pytest.raises(ParameterError, match="`qp` must be 'pairs' or 'interior', got 'loqo'"):
        PaperSolver(qp="loqo")
