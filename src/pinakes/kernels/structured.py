"""The loops of the structural SVM over closed outputs: a scan for the exact gap, and a sweep of exact steps.

Names as in solvers/structured.py. Each document has a working set of outputs z, kept as c = y - z with their losses;
alpha >= 0 and sum over z of alpha_iz <= C_i. The derivative of the dual along alpha_iz is

    F_iz = Delta(y_i, z) - <w, dPhi_i(z)> = Delta(y_i, z) - <a_i, c>,      a_i = W' x_i
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pinakes.kernels.ascent import solve_document
from pinakes.kernels.closed import best_output, other_output

MOST_PATIENT = 4  # a quiet document is passed over for at most 2**4 sweeps


class Work(NamedTuple):
    """The working sets and the dual variables, by document."""

    count: np.ndarray  # int32 (n_samples,)
    steps: np.ndarray  # int8 (n_samples, most, n_nodes): c = y - z
    loss: np.ndarray  # float64 (n_samples, most): Delta(y, z)
    alpha: np.ndarray  # float64 (n_samples, most)
    slack: np.ndarray  # float64 (n_samples,): xi_i, as last seen
    gap: np.ndarray  # float64 (n_samples,): C_i xi_i - sum alpha F, as last seen
    next_visit: np.ndarray  # int64 (n_samples,)
    patience: np.ndarray  # int64 (n_samples,)


class Costs(NamedTuple):
    """Delta: the costs of nodes in which y and z differ, or 1 wherever z is not y."""

    zero_one: bool
    miss: np.ndarray  # float64 (n_nodes,): y + and z -
    false: np.ndarray  # float64 (n_nodes,): y - and z +


@njit(cache=True, nogil=True)
def worst_output(a, y, parent, costs, raised, off, on, drop, weak, z):
    """Write the output that violates the margin most into `z`; gives its Delta, 0 where it is y."""
    n_nodes = len(parent)
    if costs.zero_one:
        other_output(a, y, parent, off, on, drop, weak, z)
        return 1.0
    # Delta is a sum over nodes, so it goes into the scores: miss (1 - z) / 2 where y is +, false (1 + z) / 2 where -
    for v in range(n_nodes):
        raised[v] = a[v] - 0.5 * costs.miss[v] if y[v] > 0 else a[v] + 0.5 * costs.false[v]
    best_output(raised, parent, off, on, drop, weak, z)
    delta = 0.0
    for v in range(n_nodes):
        if z[v] != y[v]:
            delta += costs.miss[v] if y[v] > 0 else costs.false[v]
    return delta


@njit(cache=True, nogil=True)
def score(X_indptr, X_indices, X_data, i, W, a):
    """Write a = W' x_i."""
    n_nodes = W.shape[1]
    a[:] = 0.0
    for p in range(X_indptr[i], X_indptr[i + 1]):
        x, row = np.float64(X_data[p]), W[X_indices[p]]
        for v in range(n_nodes):
            a[v] += x * row[v]


@njit(cache=True, nogil=True)
def visit(
    X_indptr, X_indices, X_data, x_norm2, Y_indptr, Y_indices, C, order, parent, costs, W, work, step, now, quiet,
    precision,
):  # fmt: skip
    """Look at the documents `order`; with `step`, put the worst output into the working set and solve its small QP.

    Changes `work`, and W with `step`; then documents that are not due at sweep `now` are passed over. `slack` and `gap`
    are those before the step. Gives where it stopped: before the end where a working set is full.
    """
    n_nodes, most = len(parent), work.loss.shape[1]
    a, raised = np.empty(n_nodes), np.empty(n_nodes)
    off, on, drop = np.empty(n_nodes + 1), np.empty(n_nodes + 1), np.empty(n_nodes + 1)
    weak = np.empty(n_nodes + 1, dtype=np.int64)
    y, z = np.empty(n_nodes, dtype=np.int8), np.empty(n_nodes, dtype=np.int8)
    F, old, change = np.empty(most), np.empty(most), np.empty(n_nodes)
    Q = np.empty((most, most))
    for o in range(len(order)):
        i = order[o]
        if step and work.next_visit[i] > now:
            continue
        if step and work.count[i] == most:
            _drop_idle(i, work)
            if work.count[i] == most:
                return o
        y[:] = -1
        for p in range(Y_indptr[i], Y_indptr[i + 1]):
            y[Y_indices[p]] = 1
        score(X_indptr, X_indices, X_data, i, W, a)
        delta = worst_output(a, y, parent, costs, raised, off, on, drop, weak, z)
        worst = delta
        for v in range(n_nodes):
            worst -= a[v] * (y[v] - z[v])

        n = work.count[i]
        top, carried = 0.0, 0.0
        for k in range(n):
            f = work.loss[i, k]
            for v in range(n_nodes):
                f -= a[v] * work.steps[i, k, v]
            F[k] = f
            top = max(top, f)
            carried += work.alpha[i, k] * f
        new = delta > 0.0 and worst > top + 1e-12 * (1.0 + abs(top))
        work.slack[i] = max(top, worst) if delta > 0.0 else top
        work.gap[i] = C[i] * work.slack[i] - carried
        if not step:
            continue
        if work.gap[i] <= quiet:
            work.patience[i] = min(work.patience[i] + 1, MOST_PATIENT)
            work.next_visit[i] = now + 2 ** work.patience[i]
        else:
            work.patience[i] = 0
        if new:
            for v in range(n_nodes):
                work.steps[i, n, v] = y[v] - z[v]
            work.loss[i, n], work.alpha[i, n], F[n] = delta, 0.0, worst
            n += 1
            work.count[i] = n
        if n == 0:
            continue
        for k in range(n):
            old[k] = work.alpha[i, k]
            for m in range(k + 1):
                inner = 0.0
                for v in range(n_nodes):
                    inner += np.float64(work.steps[i, k, v]) * np.float64(work.steps[i, m, v])
                Q[k, m] = Q[m, k] = inner * x_norm2[i]
        solve_document(Q, F, work.alpha[i], C[i], n, precision, 20 * n + 20)
        # W += x_i (x) sum over z of the change of alpha_iz times c
        change[:] = 0.0
        moved = False
        for k in range(n):
            d = work.alpha[i, k] - old[k]
            if d != 0.0:
                moved = True
                for v in range(n_nodes):
                    change[v] += d * work.steps[i, k, v]
        if moved:
            for p in range(X_indptr[i], X_indptr[i + 1]):
                x, row = np.float64(X_data[p]), W[X_indices[p]]
                for v in range(n_nodes):
                    row[v] += x * change[v]
    return len(order)


@njit(cache=True, nogil=True)
def _drop_idle(i, work):
    """Drop the outputs of document i that carry no weight; changes `work`."""
    kept = 0
    for k in range(work.count[i]):
        if work.alpha[i, k] > 0.0:
            work.steps[i, kept] = work.steps[i, k]
            work.loss[i, kept], work.alpha[i, kept] = work.loss[i, k], work.alpha[i, k]
            kept += 1
    work.count[i] = kept
