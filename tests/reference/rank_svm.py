"""The hierarchical SVM for several labels written down naively: every pair, dense vectors, and a general QP solver."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse

from reference.joint_svm import deltas, graph_of, lambdas


def solve_rank_svm(K, sets, C, Lam, delta, slack):
    """Give the optimal value of the dual over all alpha, from the kernel matrix, label sets, costs and tables.

    max sum alpha - 1/2 alpha' H alpha,  alpha >= 0, and sum over pairs of alpha / Delta <= C_i for each document, or
    alpha / Delta <= C_i for each pair.
    """
    classes = range(len(delta))
    nodes = sorted(set().union(*(Lam[k] for k in classes)), key=str)
    L = np.array([[Lam[k].get(z, 0.0) for z in nodes] for k in classes])
    pairs = [(i, y, k) for i, own in enumerate(sets) for y in own for k in classes if k not in own]
    D = np.array([L[y] - L[k] for _, y, k in pairs])
    owner = np.array([i for i, _, _ in pairs])
    H = (D @ D.T) * K[np.ix_(owner, owner)]
    m = len(pairs)
    inverse = np.array([1 / delta[y, k] for _, y, k in pairs])
    if slack == "pair":
        budget, room = sparse.diags_array(inverse), C[owner]
    else:
        budget, room = sparse.csc_array((inverse, (owner, np.arange(m))), shape=(len(sets), m)), C
    A = sparse.csc_matrix(sparse.vstack([budget, -sparse.identity(m)]))
    b = np.concatenate([room, np.zeros(m)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    P = sparse.triu(sparse.csc_matrix(H)).tocsc()
    solution = clarabel.DefaultSolver(P, -np.ones(m), A, b, [clarabel.NonnegativeConeT(len(b))], settings).solve()
    assert "Solved" in str(solution.status), solution.status
    return -solution.obj_val


def rank_optimum(taxonomy, classes, K, sets, C, loss, node_weight, slack):
    """Give the optimal value for label sets given as sets of ids."""
    graph = graph_of(taxonomy)
    Lam = dict(enumerate(lambdas(graph, classes, node_weight).values()))
    own = [{classes.index(label) for label in labels} for labels in sets]
    costs = np.broadcast_to(C, len(sets)).astype(float)
    return solve_rank_svm(K, own, costs, Lam, deltas(graph, classes, loss), slack)
