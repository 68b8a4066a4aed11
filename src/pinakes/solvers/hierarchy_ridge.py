"""Least squares with a hierarchy-induced penalty, for all classes at once (2005 paper, section 2.5).

    min sum_i (<w, x_i> - y_i)^2 + xi w^T X^T L X w + beta |w|^2           for each class, y_i in {-1, 1}
    (X^T (I + xi L) X + beta I) w = X^T y                                  Eq. 13, which lost the X^T

With an intercept that is not penalised, X and y are centred; L 1 = 0, so that the middle term does not change. Three
ways to the same weights: the equation itself (few features); w = X^T a with ((I + xi L) K + beta I) a = y (few
documents); conjugate gradients on the first for all classes side by side, which need only products with X and H.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from pinakes.solvers.hierarchy_graph import HierarchyGraph
from pinakes.solvers.products import Operator, operator

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class RidgeResult:
    """Weights (n_features, n_classes), intercepts, and how the iterations went."""

    W: Array
    intercept: Array
    n_iter: int = 1
    residual: float = 0.0


class RidgeProblem:
    """X, targets Y (n_documents, n_classes), the graph, xi and beta; `fit_intercept` centres X and Y."""

    def __init__(
        self, X: sparse.csr_array, Y: Array, graph: HierarchyGraph, xi: float, beta: float, fit_intercept: bool
    ) -> None:
        self.X, self.Y, self.graph, self.xi, self.beta = X, Y, graph, xi, beta
        self.x_mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel() if fit_intercept else np.zeros(X.shape[1])
        self.y_mean = Y.mean(axis=0) if fit_intercept else np.zeros(Y.shape[1])

    def smooth(self, P: Array) -> Array:
        """Give (I + xi L) P."""
        return np.asarray(P + self.xi * self.graph.laplacian(P)) if self.xi else P

    def result(self, W: Array, n_iter: int = 1, residual: float = 0.0) -> RidgeResult:
        return RidgeResult(W, self.y_mean - self.x_mean @ W, n_iter, residual)


def solve_primal(problem: RidgeProblem) -> RidgeResult:
    """Solve by Cholesky: a dense matrix of n_features x n_features."""
    Xc = problem.X.astype(np.float64).toarray() - problem.x_mean
    A = Xc.T @ problem.smooth(Xc)
    A[np.diag_indices_from(A)] += problem.beta
    return problem.result(linalg.solve(A, Xc.T @ (problem.Y - problem.y_mean), assume_a="pos"))


def solve_dual(problem: RidgeProblem) -> RidgeResult:
    """Solve in the space of the documents: a dense matrix of n_documents x n_documents."""
    Xc = problem.X.astype(np.float64).toarray() - problem.x_mean
    A = problem.smooth(Xc @ Xc.T)
    A[np.diag_indices_from(A)] += problem.beta
    return problem.result(Xc.T @ linalg.solve(A, problem.Y - problem.y_mean))


def solve_free(problem: RidgeProblem, *, tol: float, max_iter: int, n_threads: int = 1) -> RidgeResult:
    """Solve by conjugate gradients for all classes side by side, until every residual is `tol` of its right side."""
    with operator(problem.X.astype(np.float64), n_threads) as X:
        return _conjugate_gradients(problem, X, tol, max_iter)


def _conjugate_gradients(problem: RidgeProblem, X: Operator, tol: float, max_iter: int) -> RidgeResult:
    mean = problem.x_mean[:, None]

    def t_times(Q: Array) -> Array:  # Xc^T Q
        return np.asarray(X.t_times(Q) - mean * Q.sum(axis=0))

    def times(V: Array) -> Array:  # (Xc^T (I + xi L) Xc + beta I) V
        return t_times(problem.smooth(X.times(V) - problem.x_mean @ V)) + problem.beta * V

    r = t_times(problem.Y - problem.y_mean)
    W = np.zeros_like(r)
    goal = tol * np.linalg.norm(r, axis=0)
    direction, rr = r.copy(), np.einsum("ij,ij->j", r, r)
    n_iter = 0
    for n_iter in range(max_iter + 1):
        open_ = np.sqrt(rr) > goal  # classes that are not done; the others rest
        if n_iter == max_iter or not open_.any():
            break
        A_direction = times(direction)
        curvature = np.einsum("ij,ij->j", direction, A_direction)
        step = np.divide(rr, curvature, out=np.zeros_like(rr), where=open_ & (curvature > 0))
        W += step * direction
        r -= step * A_direction
        rr_new = np.einsum("ij,ij->j", r, r)
        direction = r + np.divide(rr_new, rr, out=np.zeros_like(rr), where=rr > 0) * direction
        rr = rr_new
    worst = np.divide(np.sqrt(rr), goal / tol, out=np.zeros_like(rr), where=goal > 0)
    return problem.result(W, max(n_iter, 1), float(worst.max(initial=0.0)))
