"""Closed outputs written down naively: all of them, one by one, and the programs over all of them by a QP solver."""

from __future__ import annotations

from itertools import product

import clarabel
import numpy as np
from scipy import sparse


def all_closed(parent):
    """Give every sign vector in which a node is + only if its parent is; parent n_nodes stands for none."""
    n = len(parent)
    return np.array(
        [z for z in product((-1, 1), repeat=n) if all(z[v] < 0 or parent[v] == n or z[parent[v]] > 0 for v in range(n))]
    )


def random_tree(rng, n_nodes):
    """Draw the parents of a forest, parents before children."""
    return np.array([rng.choice([*range(v), n_nodes]) for v in range(n_nodes)], dtype=np.int32)


def solve(P, q, A, b):
    """Minimise 1/2 x'Px + q'x with Ax <= b."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(len(b))]
    P = sparse.triu(sparse.csc_matrix(P)).tocsc()
    solution = clarabel.DefaultSolver(P, q, sparse.csc_matrix(A), b, cones, settings).solve()
    assert "Solved" in str(solution.status), solution.status
    return solution.obj_val, np.asarray(solution.x)


def differences(X, Y, outputs):
    """Give dPhi_i(z) for every document and every z other than its own, with the document and z of each."""
    rows, owner, others = [], [], []
    for i in range(len(X)):
        for z in outputs:
            if (z != Y[i]).any():
                rows.append(np.outer(X[i], Y[i] - z).ravel())
                owner.append(i)
                others.append(z)
    return np.array(rows), np.array(owner), np.array(others)


def best_margin(X, Y, outputs):
    """Give max over |w| <= 1 of the least <w, dPhi>: one over the length of the shortest w with margins of 1."""
    D, _, _ = differences(X, Y, outputs)
    value, _ = solve(np.eye(D.shape[1]), np.zeros(D.shape[1]), -D, -np.ones(len(D)))
    return 1 / np.sqrt(2 * value)


def structured_optimum(X, Y, outputs, C, delta):
    """Give the optimum of 1/2 |w|^2 + C sum xi with <w, dPhi_i(z)> >= delta(y_i, z) - xi_i over all z."""
    D, owner, others = differences(X, Y, outputs)
    n, d = len(X), D.shape[1]
    slack = np.zeros((len(D), n))
    slack[np.arange(len(D)), owner] = 1
    A = np.block([[-D, -slack], [np.zeros((n, d)), -np.eye(n)]])
    b = np.concatenate([-np.array([delta(Y[i], z) for i, z in zip(owner, others, strict=True)]), np.zeros(n)])
    P = np.diag(np.concatenate([np.ones(d), np.zeros(n)]))
    return solve(P, np.concatenate([np.zeros(d), np.full(n, C)]), A, b)[0]
