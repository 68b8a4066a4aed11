"""Hierarchy-regularized latent semantic indexing (2005 paper, section 2.4): the exact solvers.

    min gamma |w|^2 + w^T X^T L X w   s.t.  w^T X^T X w = 1,  X w orthogonal to those before
    (gamma I + X^T L X) w = lambda X^T X w                     the m smallest lambda           (primal)
    (gamma K + K L K) a = lambda K K a,  w = X^T a,  K = X X^T                                 (dual, Eq. 10)

The smallest lambda are the largest sigma^2 = gamma / lambda of the pencil

    X^T X w = sigma^2 (I + X^T L X / gamma) w

whose right side is positive definite whatever the rank of X; gamma may be infinite, which is plain LSI. sigma is what
becomes of a singular value: as gamma grows, it goes to those of X, and X w to its left singular vectors. Directions
with X w = 0 have sigma = 0 and are never among the components; there are as many components as X has rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from pinakes.solvers.hierarchy_graph import HierarchyGraph

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Components:
    """What a solver of HLSI gives.

    `W` (n_features, m) has w_j with w^T X^T X w = 1 in its columns, `sigma` descends. `n_iter` and `residual` tell how
    an iterative solver went: the largest |(I + X^T (L / gamma - I / sigma^2) X) w| / |w|.
    """

    W: Array
    sigma: npt.NDArray[np.float64]
    n_iter: int = 1
    residual: float = 0.0


def solve_primal(X: sparse.csr_array, graph: HierarchyGraph, gamma: float, n_components: int) -> Components:
    """Solve the primal problem exactly: dense matrices of n_features x n_features."""
    dense = X.astype(np.float64).toarray()
    M = dense.T @ dense
    A = np.eye(len(M)) + dense.T @ graph.laplacian(dense) / gamma
    n_features = len(M)
    m = min(n_components, *X.shape)
    sigma2, W = linalg.eigh(M, A, subset_by_index=[n_features - m, n_features - 1])
    return _normalized(W[:, ::-1], sigma2[::-1], dense)


def solve_dual(X: sparse.csr_array, graph: HierarchyGraph, gamma: float, n_components: int) -> Components:
    """Solve the dual problem exactly: dense matrices of n_documents x n_documents.

    With K = U S^2 U^T and a = U S^-2 b it becomes (gamma S^-2 + U^T L U) b = lambda b. Here it is solved the other way
    round, for b = S c: S^2 c = sigma^2 (I + S U^T L U S / gamma) c, so that small singular values do no harm.
    """
    X = X.astype(np.float64)
    s2, U = linalg.eigh((X @ X.T).toarray())
    inside = s2 > _cutoff(s2[-1], max(X.shape))
    s, U = np.sqrt(s2[inside]), U[:, inside]
    if not len(s):
        return Components(np.zeros((X.shape[1], 0)), np.zeros(0))
    US = U * s
    A = np.eye(len(s)) + US.T @ graph.laplacian(US) / gamma
    m = min(n_components, len(s))
    sigma2, c = linalg.eigh(np.diag(s * s), A, subset_by_index=[len(s) - m, len(s) - 1])
    W = X.T @ (U @ (c[:, ::-1] / s[:, None]))
    return _normalized(W, sigma2[::-1], X)


def _normalized(W: Array, sigma2: Array, X: Any) -> Components:
    """Keep the components of nonzero sigma, scaled to w^T X^T X w = 1."""
    kept = sigma2 > _cutoff(sigma2.max(initial=0.0), max(X.shape))
    W, sigma2 = W[:, kept], sigma2[kept]
    norms = np.linalg.norm(X @ W, axis=0)
    return Components(W / norms, np.sqrt(sigma2))


def _cutoff(largest: float, n: int) -> float:
    """Squares of singular values below this are rounding."""
    return float(max(largest, 0.0) * n * np.finfo(np.float64).eps)
