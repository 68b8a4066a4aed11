"""Coupled binary SVMs written down naively: the primal program with one slack a pair, by a general QP solver."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse

from reference.joint_svm import lambdas


def coupled_optimum(graph, classes, node_weight, X, Y, C, squared):
    """Give the optimum of 1/2 |w|^2 + sum_i C_i sum_r xi_ir (or xi_ir^2) with y_ir F(x_i, r) >= 1 - xi_ir, xi >= 0.

    `Y` has a sign for each document and class, `C` a cost for each document; a bias is up to the caller, as a feature.
    """
    Lam = lambdas(graph, classes, node_weight)
    nodes = sorted(set().union(*(Lam[k] for k in classes)), key=str)
    L = np.array([[Lam[k].get(z, 0.0) for z in nodes] for k in classes])
    n, q = Y.shape
    d = X.shape[1] * len(nodes)
    margins = np.array([Y[i, r] * np.outer(X[i], L[r]).ravel() for i in range(n) for r in range(q)])
    cost = np.repeat(np.broadcast_to(C, n), q)
    m = n * q
    A = sparse.bmat([[-sparse.csc_matrix(margins), -sparse.identity(m)], [None, -sparse.identity(m)]]).tocsc()
    b = np.concatenate([-np.ones(m), np.zeros(m)])
    P = sparse.diags(np.concatenate([np.ones(d), 2 * cost if squared else np.zeros(m)])).tocsc()
    linear = np.concatenate([np.zeros(d), np.zeros(m) if squared else cost])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(P, linear, A, b, [clarabel.NonnegativeConeT(2 * m)], settings).solve()
    assert "Solved" in str(solution.status), solution.status
    return solution.obj_val
