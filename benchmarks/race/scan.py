"""How long one full scan of the training documents takes with the weights of a fitted model."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from scipy import sparse

from pinakes import TaxonomySVC
from pinakes.models.parameters import count_threads
from pinakes.solvers.ascent import AscentSolver, Start
from pinakes.solvers.problem import Problem


def time_scan(model: TaxonomySVC, X: Any, labels: Any, repeat: int = 3) -> float:
    """Give the seconds of a full scan, the best of `repeat`; 0 where it is too short to tell.

    A solver that starts from the model's weights and dual variables and may make one round does a scan and nothing
    else; one that may not even do that shows what setting it up takes.
    """
    y = np.searchsorted(model.classes_, labels).astype(np.int32)
    problem = Problem(sparse.csr_array(X), y, np.full(len(y), float(model.C)), model._outputs)
    alpha = model.dual_coef_.tocoo()
    delta = model._loss.pairs(model._nodes[y[alpha.row]], model._nodes[alpha.col])
    beta = sparse.csr_array((alpha.data / delta, (alpha.row, alpha.col)), shape=alpha.shape)

    def solve(max_seconds: float) -> float:
        solver = AscentSolver(model.tol, max_iter=1, max_seconds=max_seconds, n_threads=count_threads(model))
        start = time.perf_counter()
        solver.solve(problem, Start(model._scorer.rows, beta))
        return time.perf_counter() - start

    return max(0.0, min(solve(math.inf) for _ in range(repeat)) - min(solve(0.0) for _ in range(repeat)))
