"""The hierarchical SVM written down naively: sets of nodes, dense vectors, and a general QP solver.

Nothing here is shared with the product: ancestors come from networkx, Lambda and Delta from their definitions, and
the optimum of the primal program from Clarabel.
"""

from __future__ import annotations

import clarabel
import networkx as nx
import numpy as np
from scipy import sparse


def graph_of(taxonomy):
    graph = nx.DiGraph()
    graph.add_nodes_from(taxonomy.ids)
    graph.add_edges_from((taxonomy.ids[p], taxonomy.ids[c]) for p, c in taxonomy.edges())
    return graph


def above(graph, node):
    return nx.ancestors(graph, node) | {node}


def lambdas(graph, classes, node_weight):
    """Give {class: {node: v}}, terminals named ("terminal", node)."""
    paths = {}
    for k in classes:
        paths[k] = set(above(graph, k))
        if any(k in nx.ancestors(graph, other) for other in classes):
            paths[k].add(("terminal", k))
    own = {k: ("terminal", k) if ("terminal", k) in paths[k] else k for k in classes}
    used = set().union(*paths.values())
    longest = {}
    for z in nx.topological_sort(graph):
        longest[z] = 1 + max((longest[p] for p in graph.predecessors(z)), default=0)
    for z in used:
        if isinstance(z, tuple):
            longest[z] = longest[z[1]] + 1
    if node_weight == "equal":
        v = dict.fromkeys(used, 1.0)
    elif node_weight == "depth":
        v = dict.fromkeys(used, np.sqrt(1 / max(longest[z] for z in used)))
    elif node_weight == "flat":
        v = {z: float(z in own.values()) for z in used}
    elif node_weight == "normalized":
        most_above = {z: max(len(p) - 1 for p in paths.values() if z in p) for z in used}
        v = {z: np.sqrt(1 / (7 + most_above[z])) for z in used}
        for k in classes:
            v[own[k]] = np.sqrt(1 - sum(v[z] ** 2 for z in paths[k] if z != own[k]))
    else:
        v = {z: node_weight.get(z[1] if isinstance(z, tuple) else z, 0.0) for z in used}
    return {k: {z: v[z] for z in paths[k]} for k in classes}


def deltas(graph, classes, loss):
    """Give the table of Delta between classes."""
    table = np.zeros((len(classes), len(classes)))
    for i, y in enumerate(classes):
        for j, other in enumerate(classes):
            if isinstance(loss, np.ndarray):
                table[i, j] = loss[i, j]
            elif loss == "zero-one":
                table[i, j] = y != other
            elif loss == "tree":
                table[i, j] = len(above(graph, y) ^ above(graph, other)) / 2
            elif loss == "exact":
                table[i, j] = sum(0.5 if z in classes else 0.05 for z in above(graph, y) ^ above(graph, other))
            else:
                table[i, j] = sum(loss.f[z] * loss.c[z] for z in above(graph, y) - above(graph, other))
                table[i, j] += sum(loss.f[z] * loss.cbar[z] for z in above(graph, other) - above(graph, y))
    return table


def solve_joint_svm(K, y, C, Lam, delta, squared=False):
    """Give the optimal value of the dual over all alpha, from the kernel matrix, classes 0..q-1, costs and tables.

    max sum alpha - 1/2 alpha' H alpha,  sum_y alpha_iy / Delta <= C_i,  alpha >= 0; where slacks are squared, instead
    of the budgets, less sum_i (sum_y alpha_iy / sqrt(Delta))^2 / (4 C_i).
    """
    delta = np.sqrt(delta) if squared else delta
    classes = sorted(Lam)
    nodes = sorted(set().union(*(Lam[k] for k in classes)), key=str)
    L = np.array([[Lam[k].get(z, 0.0) for z in nodes] for k in classes])
    pairs = [(i, k) for i in range(len(y)) for k in range(len(classes)) if k != y[i]]
    D = np.array([L[y[i]] - L[k] for i, k in pairs])
    owner = np.array([i for i, _ in pairs])
    H = (D @ D.T) * K[np.ix_(owner, owner)]
    m = len(pairs)
    budget = sparse.csc_matrix(([1 / delta[y[i], k] for i, k in pairs], (owner, np.arange(m))), shape=(len(y), m))
    if squared:
        H = H + (budget.T @ sparse.diags(1 / (2 * np.asarray(C))) @ budget).toarray()
        A, b = -sparse.identity(m, format="csc"), np.zeros(m)
    else:
        A = sparse.vstack([budget, -sparse.identity(m)]).tocsc()
        b = np.concatenate([C, np.zeros(m)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        sparse.triu(sparse.csc_matrix(H)).tocsc(),
        -np.ones(m),
        A,
        b,
        [clarabel.NonnegativeConeT(len(b))],
        settings,
    )
    solution = solver.solve()
    assert "Solved" in str(solution.status), solution.status
    return -solution.obj_val, np.asarray(solution.x), pairs
