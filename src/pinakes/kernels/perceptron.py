"""The loop of the large-margin perceptrons of 2013: scores of all documents kept, one document's step at a time.

Names as in solvers/perceptron.py. Steps are counted with weight 1 here, not 1 / sqrt(T): A holds sqrt(T) <wbar, .>, and
`norm2` is T |wbar|^2. Documents lie in blocks, each nodes by BLOCK documents, so that the dynamic programming runs over
documents side by side; a block's work does not depend on any other's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pinakes.kernels.closed import BLOCK, block_margins, other_output

NORM2 = 0  # place in `Run.totals`


class Run(NamedTuple):
    """The arrays of a run on some documents; the last block is padded with documents of weight 0."""

    A: np.ndarray  # float64 (n_blocks, n_nodes, BLOCK): a_{t,i}
    Y_indptr: np.ndarray  # int32 (n_samples + 1,)
    Y_indices: np.ndarray  # int32: the nodes that are + of each document
    parent: np.ndarray  # int32 (n_nodes,)
    is_leaf: np.ndarray  # bool (n_nodes,)
    kernel: np.ndarray  # float64 (n_padded,): K(x_{i_t}, .) of the last step
    norms: np.ndarray  # float64 (n_samples,): K(x_i, x_i)
    step: np.ndarray  # int8 (n_nodes,): c_t of the last step
    margin: np.ndarray  # float64 (n_padded,): <a_i, y_i - z_i>
    u: np.ndarray  # float64 (n_padded,): multiplicative weights, relative to exp(log_u)
    log_u: np.ndarray  # float64 (n_padded,): their logarithms when they were last put on a common scale
    base: np.ndarray  # float64 (n_padded,): exp(log_u), 0 for padding
    sums: np.ndarray  # float64 (n_blocks,): sum of base * u over each block
    totals: np.ndarray  # float64 (1,): norm2


@njit(cache=True, nogil=True)
def scan(run, first, last, eta_beta):
    """Do blocks first..last-1: add the last step to A, find all margins, and update the weights u.

    `eta_beta` is eta / beta_t; 0 leaves the weights alone.
    """
    n_nodes = len(run.parent)
    off, on = np.empty((n_nodes + 1, BLOCK)), np.empty((n_nodes + 1, BLOCK))
    drop = np.empty((n_nodes + 1, BLOCK))
    for b in range(first, last):
        A, k = run.A[b], run.kernel[b * BLOCK : (b + 1) * BLOCK]
        u, base = run.u[b * BLOCK : (b + 1) * BLOCK], run.base[b * BLOCK : (b + 1) * BLOCK]
        margin = run.margin[b * BLOCK : (b + 1) * BLOCK]
        for v in range(n_nodes):
            if run.step[v] != 0:
                c = np.float64(run.step[v])
                for d in range(BLOCK):
                    A[v, d] += c * k[d]
        n_documents = min(BLOCK, len(run.norms) - b * BLOCK)
        Y_indptr = run.Y_indptr[b * BLOCK : b * BLOCK + n_documents + 1]
        block_margins(A, n_documents, Y_indptr, run.Y_indices, run.parent, run.is_leaf, off, on, drop, margin)
        if eta_beta > 0.0:
            # u *= 1 - eta v + (eta v)^2
            total = 0.0
            for d in range(BLOCK):
                e = eta_beta * margin[d]
                u[d] *= 1.0 - e + e * e
                total += base[d] * u[d]
            run.sums[b] = total


@njit(cache=True, nogil=True)
def rescale(run):
    """Put the weights on a common scale through their logarithms, the largest at 1; changes u, log_u, base and sums."""
    n_samples = len(run.norms)
    highest = -np.inf
    for i in range(n_samples):
        run.log_u[i] += np.log(run.u[i])
        run.u[i] = 1.0
        highest = max(highest, run.log_u[i])
    run.sums[:] = 0.0
    for i in range(n_samples):
        run.log_u[i] -= highest
        run.base[i] = np.exp(run.log_u[i])
        run.sums[i // BLOCK] += run.base[i]


@njit(cache=True, nogil=True)
def draw(run, uniform):
    """Draw a document with probability p_t = u_t / |u_t|; `uniform` is a random number from [0, 1)."""
    left = uniform * run.sums.sum()
    b, last = 0, len(run.sums) - 1
    while b < last and left >= run.sums[b]:
        left -= run.sums[b]
        b += 1
    i = b * BLOCK
    end = min(i + BLOCK, len(run.norms)) - 1
    while i < end and left >= run.base[i] * run.u[i]:
        left -= run.base[i] * run.u[i]
        i += 1
    return i


@njit(cache=True, nogil=True)
def choose_step(run, i):
    """Set `step` to c_t = y_i - z_i for document i, and norm2 to |w + dPhi|^2; gives the margin <w, dPhi>."""
    n_nodes = len(run.parent)
    b, d = divmod(i, BLOCK)
    off, on, drop = np.empty(n_nodes + 1), np.empty(n_nodes + 1), np.empty(n_nodes + 1)
    weak = np.empty(n_nodes + 1, dtype=np.int64)
    z = np.empty(n_nodes, dtype=np.int8)
    a, y = run.A[b, :, d].copy(), np.full(n_nodes, -1, dtype=np.int8)
    for p in range(run.Y_indptr[i], run.Y_indptr[i + 1]):
        y[run.Y_indices[p]] = 1
    other_output(a, y, run.parent, off, on, drop, weak, z)
    inner = 0.0
    square = 0.0
    for v in range(n_nodes):
        run.step[v] = y[v] - z[v]
        c = np.float64(run.step[v])
        inner += c * a[v]
        square += c * c
    # alpha_{t+1} = alpha_t + K(x, x) <c, c> / T + 2 max(1, sqrt(alpha_t)) / sqrt(T) v_t(i_t)
    run.totals[NORM2] += run.norms[i] * square + 2.0 * inner
    return inner


@njit(cache=True, nogil=True)
def linear_row(X_indptr, X_indices, X_data, T_indptr, T_indices, T_data, i, row):
    """Write <x_i, x_j> for all j into `row`, by the words of x_i; T is X by columns."""
    row[:] = 0.0
    for p in range(X_indptr[i], X_indptr[i + 1]):
        j = X_indices[p]
        x = np.float64(X_data[p])
        for q in range(T_indptr[j], T_indptr[j + 1]):
            row[T_indices[q]] += x * T_data[q]


@njit(cache=True, nogil=True)
def run_linear(
    run, X_indptr, X_indices, X_data, T_indptr, T_indices, T_data,
    hard, root_T, eta, rescale_every, uniforms, done, picked, steps, betas, margins,
):  # fmt: skip
    """Make len(picked) steps with the linear kernel, `done` steps having been made; changes `run`.

    Writes for each step the document (`picked`), c_t (`steps`), beta_t and the least margin, divided by beta_t. Gives
    the steps made: fewer where the hard perceptron finds all documents separated.
    """
    n_blocks, n_samples = len(run.sums), len(run.norms)
    for t in range(len(picked)):
        i = -1
        if not hard:
            if (done + t) % rescale_every == 0:
                rescale(run)
            i = draw(run, uniforms[t])
        beta = max(root_T, np.sqrt(max(run.totals[NORM2], 0.0)))
        scan(run, 0, n_blocks, 0.0 if hard else eta / beta)
        weakest = 0
        for j in range(n_samples):
            if run.margin[j] < run.margin[weakest]:
                weakest = j
        betas[t], margins[t] = beta, run.margin[weakest] / beta
        if hard:
            i = weakest
            if run.margin[i] > 0.0:
                run.step[:] = 0
                return t
        choose_step(run, i)
        linear_row(X_indptr, X_indices, X_data, T_indptr, T_indices, T_data, i, run.kernel)
        picked[t] = i
        steps[t] = run.step
    return len(picked)


@njit(cache=True, nogil=True)
def add_steps(X_indptr, X_indices, X_data, documents, steps, factors, W):
    """Add x_i (x) c_t times `factors[t]` to W (features by nodes) for each step; changes `W`."""
    nodes = np.empty(W.shape[1], dtype=np.int64)
    for t in range(len(documents)):
        n_changed = 0
        for v in range(W.shape[1]):
            if steps[t, v] != 0:
                nodes[n_changed] = v
                n_changed += 1
        i = documents[t]
        for p in range(X_indptr[i], X_indptr[i + 1]):
            j = X_indices[p]
            x = factors[t] * X_data[p]
            for k in range(n_changed):
                W[j, nodes[k]] += x * steps[t, nodes[k]]
