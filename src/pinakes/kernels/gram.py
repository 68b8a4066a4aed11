"""The loops of the papers' algorithms: one document's step in the dual, with F of all documents and classes kept.

Names as in solvers/papers.py. `F` is n_samples x n_classes and always that of `beta` as it is: a step on document i
changes it everywhere, by one row of the kernel matrix and the inner products of the classes (2004 paper, 4.3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pinakes.kernels.ascent import solve_document
from pinakes.kernels.interior import solve_interior
from pinakes.kernels.outputs import common, delta_pair

MOST_CALLS = 60  # each call of the small QP divides psi by 20 or makes as many steps as it may


class Dual(NamedTuple):
    """Where the algorithm stands: n_samples x n_classes arrays, and sums of them by document."""

    F: np.ndarray  # float64 (n_samples, n_classes): Eq. 28
    beta: np.ndarray  # float64 (n_samples, n_classes): alpha / Delta
    selected: np.ndarray  # bool (n_samples, n_classes): the sets S_i
    slack: np.ndarray  # float64 (n_samples,): xi_i = max_y F_iy
    psi: np.ndarray  # float64 (n_samples,): Eq. 33
    psi_selected: np.ndarray  # float64 (n_samples,): the same over S_i only
    carried: np.ndarray  # float64 (n_samples,): sum_y beta_iy F_iy
    alpha: np.ndarray  # float64 (n_samples,): sum_y alpha_iy
    count: np.ndarray  # int64 (n_samples,): classes with alpha_iy > 0


@njit(cache=True, nogil=True)
def class_tables(outputs, gram, delta):
    """Write <Lambda(y), Lambda(y')> into `gram` and Delta(y, y') into `delta`, both n_classes x n_classes."""
    for k in range(len(gram)):
        for m in range(len(gram)):
            gram[k, m] = common(outputs, outputs.v2, k, m)
            delta[k, m] = 0.0 if k == m else delta_pair(outputs, k, m)


@njit(cache=True, nogil=True)
def measure(i, C, delta, dual):
    """Sum up document i: writes its slack, psi, psi_selected, carried, alpha and count. `delta` is its row of Delta."""
    F, beta, selected = dual.F[i], dual.beta[i], dual.selected[i]
    top, top_selected, low = 0.0, 0.0, np.inf
    free, carried, alpha = C, 0.0, 0.0
    count = 0
    for k in range(len(F)):
        f = F[k]
        top = max(top, f)
        if selected[k]:
            top_selected = max(top_selected, f)
            b = beta[k]
            if b > 0:
                low = min(low, f)
                free -= b
                carried += b * f
                alpha += b * delta[k]
                count += 1
    if free > 1e-12 * C or count == 0:
        low = min(low, 0.0)
    dual.slack[i] = top
    dual.psi[i] = top - low
    dual.psi_selected[i] = top_selected - low
    dual.carried[i] = carried
    dual.alpha[i] = alpha
    dual.count[i] = count


@njit(cache=True, nogil=True)
def start(y, C, delta, dual):
    """Set F to that of beta = 0, which is Delta, and sum up every document; changes `dual`."""
    for i in range(len(y)):
        for k in range(len(delta)):
            dual.F[i, k] = delta[y[i], k]
        measure(i, C[i], delta[y[i]], dual)


@njit(cache=True, nogil=True)
def document_step(i, y, C, gram, delta, row, precision, interior, dual):
    """Solve the QP over the selected classes of document i, then bring F of all documents up to date; changes `dual`.

    `row` holds K(x_i, x_j) for all j; `interior` asks for the interior-point method.
    """
    y_i = y[i]
    n_classes = len(gram)
    classes = np.empty(n_classes, dtype=np.int64)
    n_selected = 0
    for k in range(n_classes):
        if dual.selected[i, k]:
            classes[n_selected] = k
            n_selected += 1
    F, beta, old = np.empty(n_selected), np.empty(n_selected), np.empty(n_selected)
    Q = np.empty((n_selected, n_selected))
    for a in range(n_selected):
        k = classes[a]
        F[a] = dual.F[i, k]
        beta[a] = old[a] = dual.beta[i, k]
        for b in range(n_selected):
            m = classes[b]
            inner = gram[y_i, y_i] - gram[y_i, k] - gram[y_i, m] + gram[k, m]
            Q[a, b] = delta[y_i, k] * delta[y_i, m] * inner * row[i]
    if interior:
        solve_interior(Q, F, beta, C[i])
    else:
        for _ in range(MOST_CALLS):
            if solve_document(Q, F, beta, C[i], n_selected, precision, 20 * n_selected + 20) <= precision:
                break

    # scores of x_j change by K(x_i, x_j) change[y], change = sum_k d_k Delta_k (gram[y_i] - gram[k])
    change = np.zeros(n_classes)
    for a in range(n_selected):
        k = classes[a]
        step = (beta[a] - old[a]) * delta[y_i, k]
        dual.beta[i, k] = beta[a]
        if step != 0.0:
            for m in range(n_classes):
                change[m] += step * (gram[y_i, m] - gram[k, m])
    for j in range(len(y)):
        if row[j] == 0.0 and j != i:
            continue
        # F[j] += Delta[y_j] * K_ij * (change - change[y_j])
        y_j = y[j]
        for k in range(n_classes):
            dual.F[j, k] += delta[y_j, k] * (row[j] * (change[k] - change[y_j]))
        measure(j, C[j], delta[y_j], dual)
