"""Hierarchy-regularized LSI and ridge by the letter of the paper: loops over documents, dense matrices."""

from __future__ import annotations

import numpy as np
import scipy.linalg


def ancestors(taxonomy, node):
    """Walk up by hand; '' stands for the root above several roots."""
    above = {node}
    for parent in taxonomy.parents.of(taxonomy.index(node)):
        above |= ancestors(taxonomy, taxonomy.ids[parent])
    return above | ({""} if len(taxonomy.roots) > 1 else set())


def memberships(taxonomy, sets):
    """h(x_i): the classes of every document and everything above them."""
    return [set().union(*(ancestors(taxonomy, str(label)) for label in labels)) for labels in sets]


def weights(h):
    """Eq. 1 and 2, document by document."""
    size = {k: sum(k in held for held in h) for k in set().union(*h)}
    n = len(h)
    return np.array([[sum(1 / size[k] for k in h[i] & h[j]) if i != j else 0.0 for j in range(n)] for i in range(n)])


def laplacian(h):
    """Eq. 8."""
    W = weights(h)
    return np.diag(W.sum(axis=1)) - W


def project(X, L, gamma):
    """All components with X w != 0: gamma S^-2 + U^T L U, from a full SVD; gives X w, lambda and w."""
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    kept = s > 1e-9 * s[0]
    U, s, Vt = U[:, kept], s[kept], Vt[kept]
    eigenvalues, b = scipy.linalg.eigh(np.diag(gamma / s**2) + U.T @ L @ U)
    return U @ b, eigenvalues, Vt.T @ (b / s[:, None])
