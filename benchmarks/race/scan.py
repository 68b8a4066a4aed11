"""How long one full scan of the training documents takes with the weights of a fitted model."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import sparse

from pinakes import TaxonomySVC
from pinakes.models.parameters import count_threads
from pinakes.solvers.ascent import Clock, Start, _State
from pinakes.solvers.problem import Problem


def time_scan(model: TaxonomySVC, X: Any, labels: Any, repeat: int = 3) -> float:
    """Give the seconds of a full scan, the best of `repeat`, by the solver's own state, behind its public face."""
    y = np.searchsorted(model.classes_, labels).astype(np.int32)
    problem = Problem(sparse.csr_array(X), y, np.full(len(y), float(model.C)), model._outputs)
    alpha = model.dual_coef_.tocoo()
    delta = model._loss.pairs(model._nodes[y[alpha.row]], model._nodes[alpha.col])
    beta = sparse.csr_array((alpha.data / delta, (alpha.row, alpha.col)), shape=alpha.shape)
    state = _State(problem, model.tol, Start(model._scorer.rows, beta), Clock())
    n_threads = count_threads(model)
    with ThreadPoolExecutor(n_threads) as threads:
        state.threads, state.n_threads = threads, n_threads
        order = state.by_class(np.arange(len(y)))

        def scan() -> float:
            start = time.perf_counter()
            state.scan(order)
            return time.perf_counter() - start

        return min(scan() for _ in range(repeat))
