"""Small random problems for the hierarchical SVM, and their optimum by an independent QP solver."""

from __future__ import annotations

import numpy as np

from pinakes import Taxonomy
from pinakes.taxonomy.loss import NodeCosts
from reference.joint_svm import deltas, graph_of, lambdas, solve_joint_svm

LOSSES = ["tree", "zero-one", "costs", "matrix"]
WEIGHTS = ["normalized", "depth", "equal", "flat", "mapping"]


def random_problem(seed, lattice, loss, node_weight, wide=False):
    """Draw a small lattice or tree with classes at leaves and inner nodes, documents, a loss and node weights.

    A wide one has more than 64 attributes as a lattice, so that solvers keep rows of weights that grow.
    """
    rng = np.random.default_rng(seed)
    n_nodes = 150 if wide else int(rng.integers(4, 12))
    ids = [f"n{v:03}" for v in range(n_nodes)]
    edges = [("", ids[0])]
    for v in range(1, n_nodes):
        n_parents = int(rng.integers(0, 3) + wide) if lattice else int(rng.integers(0, 4) > 0)
        above = rng.choice(v, size=min(n_parents, v), replace=False)
        edges += [(ids[p], ids[v]) for p in above] if len(above) else [("", ids[v])]
    taxonomy = Taxonomy.from_edges(edges)
    n_classes = 20 if wide else int(rng.integers(2, min(6, n_nodes) + 1))
    classes = sorted(rng.choice(ids[60:] if wide else ids, size=n_classes, replace=False))
    n_samples = n_classes if wide else int(rng.integers(n_classes, 16))
    y = np.concatenate([classes, rng.choice(classes, size=n_samples - len(classes))])
    X = rng.normal(size=(n_samples, 5)) * (rng.random((n_samples, 5)) < 0.6)
    if loss == "costs":
        costs = [dict(zip(ids, rng.uniform(0.2, 2, n_nodes), strict=True)) for _ in range(3)]
        loss = NodeCosts(*costs)
    elif loss == "matrix":
        loss = rng.uniform(0.2, 3, (len(classes), len(classes)))
        np.fill_diagonal(loss, 0)
    if node_weight == "mapping":
        node_weight = dict(zip(ids, rng.uniform(0.1, 2, n_nodes), strict=True))
    return taxonomy, classes, X, y, loss, node_weight


def optimum(taxonomy, classes, X, y, C, loss, node_weight, K=None, squared=False):
    """Give the optimal value that the QP solver finds; the kernel is linear unless its matrix is given."""
    graph = graph_of(taxonomy)
    Lam = dict(enumerate(lambdas(graph, classes, node_weight).values()))
    codes = np.searchsorted(classes, y)
    K = X @ X.T if K is None else K
    return solve_joint_svm(K, codes, np.broadcast_to(C, len(y)), Lam, deltas(graph, classes, loss), squared)[0]
