"""The MinOver perceptron written down naively: every pair of every document is looked at before every step."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse

from reference.joint_svm import deltas, graph_of, lambdas


class NaiveMinOver:
    """Dense Lambda and Delta from their definitions, w as a matrix of nodes by features."""

    def __init__(self, taxonomy, classes, X, sets, loss, node_weight):
        graph = graph_of(taxonomy)
        table = lambdas(graph, classes, node_weight)
        nodes = sorted(set().union(*table.values()), key=str)
        self.Lam = np.array([[table[k].get(z, 0.0) for z in nodes] for k in classes])
        self.delta = deltas(graph, classes, loss)
        self.X = X
        self.W = np.zeros((len(nodes), X.shape[1]))
        codes = [{classes.index(k) for k in few} for few in sets]
        self.pairs = [
            (i, y, ybar)
            for i, own in enumerate(codes)
            for y in sorted(own)
            for ybar in range(len(classes))
            if ybar not in own
        ]
        self.sum_alpha = 0.0

    def margins(self):
        scores = self.X @ self.W.T @ self.Lam.T
        return np.array([scores[i, y] - scores[i, ybar] for i, y, ybar in self.pairs])

    def step(self, i, y, ybar):
        size = self.delta[y, ybar]
        self.W += size * np.outer(self.Lam[y] - self.Lam[ybar], self.X[i])
        self.sum_alpha += size

    def largest_margin(self):
        """Give the largest margin that any w of length 1 has on all pairs, by a QP; 0 where there is none."""
        i, y, ybar = np.array(self.pairs).T
        D = self.Lam[y] - self.Lam[ybar]
        H = (D @ D.T) * (self.X @ self.X.T)[np.ix_(i, i)]
        m = len(i)
        # the nearest point of the hull of all dPhi to 0: min 1/2 a' H a, a >= 0, sum a = 1; the margin is its distance
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        A = sparse.vstack([sparse.csc_matrix(np.ones((1, m))), -sparse.identity(m)]).tocsc()
        solver = clarabel.DefaultSolver(
            sparse.triu(sparse.csc_matrix(H)).tocsc(),
            np.zeros(m),
            A,
            np.concatenate([[1.0], np.zeros(m)]),
            [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(m)],
            settings,
        )
        solution = solver.solve()
        assert "Solved" in str(solution.status), solution.status
        return float(np.sqrt(max(2 * solution.obj_val, 0.0)))
