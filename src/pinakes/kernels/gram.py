"""The loops of the papers' algorithms: one document's step in the dual, with the scores of all documents kept.

Names as in solvers/papers.py. A document has a row for each of its labels: one, or in the problem of solvers/pairs.py
several, and then the classes of a row that are labels too are no rivals. `scores` is n_samples x n_classes and always
that of `beta` as it is: a step on document i changes it everywhere, by one row of the kernel matrix and the inner
products of the classes (2004 paper, 4.3). F of a row and a class follows from it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pinakes.kernels.ascent import solve_document, square_slack
from pinakes.kernels.interior import solve_interior
from pinakes.kernels.outputs import common, delta_pair
from pinakes.kernels.pairs import solve_each

MOST_CALLS = 60  # each call of the small QP divides psi by 20 or makes as many steps as it may


class Dual(NamedTuple):
    """Where the algorithm stands: scores of documents, weights of rows by classes, and sums by document."""

    scores: np.ndarray  # float64 (n_samples, n_classes)
    beta: np.ndarray  # float64 (n_rows, n_classes): alpha / Delta
    selected: np.ndarray  # bool (n_rows, n_classes): the sets S_i
    slack: np.ndarray  # float64 (n_samples,): xi_i = max_y F_iy; the sum of all where each pair has one
    psi: np.ndarray  # float64 (n_samples,): Eq. 33
    psi_selected: np.ndarray  # float64 (n_samples,): the same over S_i only
    carried: np.ndarray  # float64 (n_samples,): sum_y beta_iy F_iy
    alpha: np.ndarray  # float64 (n_samples,): sum_y alpha_iy
    spent: np.ndarray  # float64 (n_samples,): sum_y beta_iy
    count: np.ndarray  # int64 (n_samples,): classes, or pairs, with alpha > 0


@njit(cache=True, nogil=True)
def class_tables(outputs, gram, delta):
    """Write <Lambda(y), Lambda(y')> into `gram` and Delta(y, y') into `delta`, both n_classes x n_classes."""
    for k in range(len(gram)):
        for m in range(len(gram)):
            gram[k, m] = common(outputs, outputs.v2, k, m)
            delta[k, m] = 0.0 if k == m else delta_pair(outputs, k, m)


@njit(cache=True, nogil=True)
def measure(i, C, squared, labels, delta, dual):
    """Sum up document i: writes its slack, psi, psi_selected, carried, alpha, spent and count."""
    scores, n_classes = dual.scores[i], len(delta)
    first, last = labels.indptr[i], labels.indptr[i + 1]
    top, top_selected, low, total = 0.0, 0.0, np.inf, 0.0
    moves, moves_selected = 0.0, 0.0  # the largest |F| that has somewhere to go, where each pair has a slack
    spent, carried, alpha = 0.0, 0.0, 0.0
    count = 0
    for r in range(first, last):
        y, q = labels.indices[r], first
        for k in range(n_classes):
            if q < last and labels.indices[q] == k:  # a label: no rival
                q += 1
                continue
            f = delta[y, k] * (1.0 - scores[y] + scores[k])
            b = dual.beta[r, k]
            top = max(top, f)
            total += max(0.0, f)
            move = -f if f < 0.0 and b > 0.0 else (f if b < C else 0.0)
            moves = max(moves, move)
            if dual.selected[r, k]:
                top_selected = max(top_selected, f)
                moves_selected = max(moves_selected, move)
                if b > 0:
                    low = min(low, f)
                    spent += b
                    carried += b * f
                    alpha += b * delta[y, k]
                    count += 1
    dual.slack[i] = total if labels.each else top
    if squared:  # the derivative along beta is F less that of spent^2 / (4 C); nothing bounds what is spent
        paid = spent / (2 * C)
        top, top_selected, low = max(top - paid, 0.0), max(top_selected - paid, 0.0), min(low - paid, 0.0)
    elif C - spent > 1e-12 * C or count == 0:
        low = min(low, 0.0)
    dual.psi[i] = moves if labels.each else top - low
    dual.psi_selected[i] = moves_selected if labels.each else top_selected - low
    dual.carried[i] = carried
    dual.spent[i] = spent
    dual.alpha[i] = alpha
    dual.count[i] = count


@njit(cache=True, nogil=True)
def start(labels, C, squared, delta, dual):
    """Sum up every document; changes `dual`."""
    for i in range(len(C)):
        measure(i, C[i], squared, labels, delta, dual)


@njit(cache=True, nogil=True)
def document_step(i, labels, C, squared, gram, delta, row, precision, interior, dual):
    """Solve the QP over what is selected of document i, then bring the scores of all up to date; changes `dual`.

    `row` holds K(x_i, x_j) for all j; `interior` asks for the interior-point method, which knows no squared slacks.
    """
    n_classes = len(gram)
    first, last = labels.indptr[i], labels.indptr[i + 1]
    n_selected = dual.selected[first:last].sum()
    rows, label, other = np.empty(n_selected, np.int64), np.empty(n_selected, np.int64), np.empty(n_selected, np.int64)
    F, beta, old, deltas = np.empty(n_selected), np.empty(n_selected), np.empty(n_selected), np.empty(n_selected)
    a = 0
    for r in range(first, last):
        y = labels.indices[r]
        for k in range(n_classes):
            if dual.selected[r, k]:
                rows[a], label[a], other[a] = r, y, k
                deltas[a] = delta[y, k]
                F[a] = deltas[a] * (1.0 - dual.scores[i, y] + dual.scores[i, k])
                beta[a] = old[a] = dual.beta[r, k]
                a += 1
    if labels.each:
        scores = dual.scores[i].copy()
        for _ in range(MOST_CALLS):
            moved = solve_each(
                gram, scores, label, other, deltas, F, beta, C[i], row[i], n_selected, n_classes, precision
            )
            if moved <= precision:
                break
    else:
        Q = np.empty((n_selected, n_selected))
        for a in range(n_selected):
            y, k = label[a], other[a]
            for b in range(n_selected):
                inner = gram[y, label[b]] - gram[y, other[b]] - gram[k, label[b]] + gram[k, other[b]]
                Q[a, b] = deltas[a] * deltas[b] * inner * row[i]
        if interior:
            solve_interior(Q, F, beta, C[i])
        else:
            budget = square_slack(Q, F, n_selected, C[i], beta.sum()) if squared else C[i]
            for _ in range(MOST_CALLS):
                if solve_document(Q, F, beta, budget, n_selected, precision, 20 * n_selected + 20) <= precision:
                    break

    # scores of x_j change by K(x_i, x_j) change, change = sum of d Delta (gram[y] - gram[k])
    change = np.zeros(n_classes)
    for a in range(n_selected):
        step = (beta[a] - old[a]) * deltas[a]
        dual.beta[rows[a], other[a]] = beta[a]
        if step != 0.0:
            for m in range(n_classes):
                change[m] += step * (gram[label[a], m] - gram[other[a], m])
    for j in range(len(C)):
        if row[j] != 0.0 or j == i:
            for k in range(n_classes):
                dual.scores[j, k] += row[j] * change[k]
            measure(j, C[j], squared, labels, delta, dual)
