"""Hierarchy-regularized LSI without any matrix but X and H (the problem is in `pinakes.solvers.hlsi`).

A block Davidson method on the pencil X^T X w = sigma^2 (I + X^T L X / gamma) w. The basis V is orthonormal, and P = X V
is kept beside it. Per round:

1. Rayleigh-Ritz: the best m components within the basis, from P^T P and P^T L P alone
2. residuals R = w + X^T (L / gamma - I / sigma^2) X w; stop when they are small
3. R is orthogonal to the basis already; the columns that are not yet small join it, with X R
4. a basis that has become too large is cut down to the best Ritz vectors

Each round passes over X twice, with m columns. The start spans the nodes themselves, since functions that are constant
on nodes are what L wants, and the top of X by randomized subspace iteration, which is what gamma wants. All of V lies
in the span of the documents, whatever their rank.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from pinakes.solvers.hierarchy_graph import HierarchyGraph
from pinakes.solvers.hlsi import Components
from pinakes.solvers.products import Operator, operator

Array = npt.NDArray[Any]
OVERSAMPLED = 10
POWER_ITERATIONS = 2
LARGEST = 5  # the basis is cut when it would exceed so many times m vectors
KEPT = 2  # ... down to so many times m


def solve_free(
    X: sparse.csr_array,
    graph: HierarchyGraph,
    gamma: float,
    n_components: int,
    *,
    tol: float,
    max_iter: int,
    random_state: np.random.RandomState,
    n_threads: int = 1,
) -> Components:
    """Find the components to the residual `tol`, in the precision of X."""
    m = min(n_components, *X.shape)
    with operator(X, n_threads) as op:
        basis = _Basis(op, graph, gamma, LARGEST * m + 2 * OVERSAMPLED)
        for block in _start(op, graph, m + OVERSAMPLED, random_state):
            basis.add(block)
        for n_iter in range(1, max_iter + 1):
            ritz = basis.ritz(m)
            R, residuals = _residual(op, graph, ritz, gamma)
            left = residuals > tol  # those that are near enough rest
            if not left.any() or n_iter == max_iter:
                break
            if basis.size + left.sum() > basis.largest:
                basis.cut(KEPT * m)
            if not basis.add(R[:, left]):
                break
        return Components(ritz.W, ritz.sigma, n_iter, float(residuals.max(initial=0.0)))


class _Ritz(NamedTuple):
    """Approximate components: W, P = X W with columns of length 1, and sigma."""

    W: Array
    P: Array
    sigma: npt.NDArray[np.float64]


def _residual(X: Operator, graph: HierarchyGraph, ritz: _Ritz, gamma: float) -> tuple[Array, Array]:
    """Give R = w + X^T (L / gamma - I / sigma^2) X w, and |R| / |w|."""
    dtype = X.dtype.type
    R = X.t_times(graph.laplacian(ritz.P) / dtype(gamma) - ritz.P / (ritz.sigma**2).astype(dtype))
    R += ritz.W
    return R, _lengths(R) / _lengths(ritz.W)


class _Basis:
    """An orthonormal V, and with it P = X V."""

    def __init__(self, X: Operator, graph: HierarchyGraph, gamma: float, largest: int) -> None:
        self.X, self.graph, self.gamma, self.largest = X, graph, gamma, largest
        n, d = X.shape
        self._V, self._P = (np.empty((rows, largest), dtype=X.dtype) for rows in (d, n))  # filled from the left
        self.M = self.A = np.empty((0, 0))  # P^T P and I + P^T L P / gamma

    @property
    def size(self) -> int:
        return len(self.M)

    @property
    def V(self) -> Array:
        return self._V[:, : self.size]

    @property
    def P(self) -> Array:
        return self._P[:, : self.size]

    def add(self, V: Array) -> bool:
        """Take in the part of new vectors that is orthogonal to the basis; say whether there is any."""
        for least in (100 * np.finfo(V.dtype).eps, 0.5):  # twice is enough; what is hardly anything is rounding
            before = _lengths(V)
            V = V - self.V @ (self.V.T @ V)
            after = _lengths(V)
            V = _orthonormal(V[:, after > least * before])
            if (after > 0.9 * before).all():  # was nearly orthogonal before: once is enough
                break
        if not V.shape[1]:
            return False
        P = self.X.times(V)
        LP = self.graph.laplacian(P)
        cross_M, cross_A = self.P.T @ P, self.P.T @ LP / self.gamma
        end = self.size + V.shape[1]
        self._V[:, self.size : end], self._P[:, self.size : end] = V, P
        own = np.eye(V.shape[1]) + P.T @ LP / self.gamma
        self.M = np.block([[self.M, cross_M], [cross_M.T, P.T @ P]]).astype(np.float64)
        self.A = np.block([[self.A, cross_A], [cross_A.T, (own + own.T) / 2]]).astype(np.float64)
        return True

    def ritz(self, m: int) -> _Ritz:
        """Give the best `m` components of the basis, fewer where it has a lower rank."""
        sigma2, b = self._pairs(m)
        positive = sigma2 > sigma2[0] * self.size * np.finfo(self.X.dtype).eps
        sigma2 = sigma2[positive]
        b = (b[:, positive] / np.sqrt(sigma2)).astype(self.X.dtype)  # b^T M b = sigma^2 before, and 1 now
        return _Ritz(self.V @ b, self.P @ b, np.sqrt(sigma2))

    def cut(self, size: int) -> None:
        """Keep the span of the best Ritz vectors."""
        q = linalg.qr(self._pairs(size)[1], mode="economic")[0]
        turn = q.astype(self.X.dtype)
        self._V[:, : q.shape[1]], self._P[:, : q.shape[1]] = self.V @ turn, self.P @ turn
        self.M, self.A = q.T @ self.M @ q, q.T @ self.A @ q

    def _pairs(self, m: int) -> tuple[Array, Array]:
        """Solve M b = sigma^2 A b for the largest sigma^2, with b^T A b = 1."""
        first = max(self.size - m, 0)
        sigma2, b = linalg.eigh(self.M, self.A, subset_by_index=[first, self.size - 1])
        return sigma2[::-1], b[:, ::-1]


def _lengths(V: Array) -> Array:
    """Give the lengths of columns."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", V, V)))


def _orthonormal(V: Array) -> Array:
    """Give an orthonormal basis of the span of V, without what is rounding."""
    if not V.shape[1]:
        return V
    V = V / np.maximum(_lengths(V), np.finfo(V.dtype).tiny)
    gram = (V.T @ V).astype(np.float64)
    e, q = linalg.eigh(gram)
    kept = e > 10 * len(e) * np.finfo(V.dtype).eps
    return np.asarray(V @ (q[:, kept] / np.sqrt(e[kept])).astype(V.dtype))


def _start(X: Operator, graph: HierarchyGraph, size: int, random_state: np.random.RandomState) -> list[Array]:
    top = random_state.normal(size=(X.shape[0], min(size, *X.shape))).astype(X.dtype)
    for _ in range(POWER_ITERATIONS):
        top = _orthonormal(X.times(X.t_times(top)))
    n_used = int((graph.sizes > 0).sum())
    mixing = random_state.normal(size=(n_used, size)) if n_used > size else None
    return [X.t_times(top), X.t_times(graph.node_sums(mixing))]
