"""Outputs that are sign vectors over the nodes of a tree, closed upward: a node is + only if its parent is.

The best and the second best of them by dynamic programming from the leaves up (2013 paper, section 3.5; its recursion
for the second best leaves out a candidate, which stands here):

    off(v) = -a_v + sum of off(children)                    everything below v is -
    on1(v) =  a_v + sum of best(children);   on2(v) = on1(v) - drop(v),  drop(v) = least best - second of the children
    best(v), second(v) = the two largest of off(v), on1(v), on2(v)

`parent` holds the parent of every node, parents before children; roots have the virtual root n_nodes, which is always
on. A tie of best goes to the smaller set; of children with equal drops, to the one numbered last.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 64  # documents side by side
ROUNDING = 1e-12  # relative: sums of the same numbers in another order


@njit(cache=True, nogil=True)
def walk_up(a, parent, off, on, drop, weak):
    """Fill off, on1 (as `on`), drop and the child of the least drop (`weak`) for each node and the virtual root.

    All four have n_nodes + 1 places and are overwritten.
    """
    n_nodes = len(parent)
    off[:] = 0.0
    on[:] = 0.0
    drop[:] = np.inf
    weak[:] = -1
    for v in range(n_nodes - 1, -1, -1):
        p = parent[v]
        off[v] -= a[v]
        on[v] += a[v]
        if on[v] > off[v]:
            best, second = on[v], max(off[v], on[v] - drop[v])
        else:
            best, second = off[v], on[v]
        off[p] += off[v]
        on[p] += best
        if best - second < drop[p]:
            drop[p] = best - second
            weak[p] = v


@njit(cache=True, nogil=True)
def walk_down(parent, off, on, drop, weak, second, z):
    """Write the best output, or the second best, into `z` (+1 and -1, int8) after `walk_up`."""
    n_nodes = len(parent)
    turn = weak[n_nodes] if second else -1  # the node whose subtree takes its second best
    for v in range(n_nodes):
        p = parent[v]
        if p < n_nodes and z[p] < 0:
            z[v] = -1
        elif v != turn:
            z[v] = 1 if on[v] > off[v] else -1
        elif on[v] <= off[v]:
            z[v] = 1
        elif off[v] >= on[v] - drop[v]:
            z[v] = -1
        else:
            z[v] = 1
            turn = weak[v]


@njit(cache=True, nogil=True)
def best_output(a, parent, off, on, drop, weak, z):
    """Write argmax <a, z> over closed outputs into `z`; the other arrays are scratch."""
    walk_up(a, parent, off, on, drop, weak)
    walk_down(parent, off, on, drop, weak, False, z)


@njit(cache=True, nogil=True)
def other_output(a, y, parent, off, on, drop, weak, z):
    """Write argmax <a, z> over closed outputs other than `y` into `z`; the other arrays are scratch."""
    walk_up(a, parent, off, on, drop, weak)
    walk_down(parent, off, on, drop, weak, False, z)
    for v in range(len(z)):
        if z[v] != y[v]:
            return
    walk_down(parent, off, on, drop, weak, True, z)


@njit(cache=True, nogil=True, inline="never")
def _leaf_block(a, off, on, drop):
    """Add a leaf to its parent's off, on1 and drop (halved), for BLOCK documents: off = -a, best = |a|."""
    for d in range(BLOCK):
        size = abs(a[d])
        off[d] -= a[d]
        on[d] += size
        drop[d] = size if size < drop[d] else drop[d]


@njit(cache=True, nogil=True, inline="never")
def _inner_block(a, off_v, on_v, drop_v, off, on, drop):
    """Add an inner node, whose children have been added up, to its parent's off, on1 and drop (halved)."""
    for d in range(BLOCK):
        low = off_v[d] - a[d]
        high = on_v[d] + a[d]
        lower = high - 2.0 * drop_v[d]
        lower = low if low > lower else lower
        is_on = high > low
        best = high if is_on else low
        second = lower if is_on else high
        off[d] += low
        on[d] += best
        fall = 0.5 * (best - second)
        drop[d] = fall if fall < drop[d] else drop[d]


@njit(cache=True, nogil=True)
def block_margins(A, n_documents, Y_indptr, Y_indices, parent, is_leaf, off, on, drop, margin):
    """Write <a, y - z> for the best z other than y into `margin`, for up to BLOCK documents side by side.

    `A` is nodes by documents; Y lists the nodes that are + of the block's documents. The scratch off, on and drop has
    n_nodes + 1 rows.
    """
    n_nodes = len(parent)
    for v in range(n_nodes + 1):
        if v == n_nodes or not is_leaf[v]:
            for d in range(BLOCK):
                off[v, d] = 0.0
            for d in range(BLOCK):
                on[v, d] = 0.0
            for d in range(BLOCK):
                drop[v, d] = np.inf
    for v in range(n_nodes - 1, -1, -1):
        p = parent[v]
        if is_leaf[v]:
            _leaf_block(A[v], off[p], on[p], drop[p])
        else:
            _inner_block(A[v], off[v], on[v], drop[v], off[p], on[p], drop[p])
    for d in range(n_documents):
        # <a, y> = 2 sum of a over the + nodes - sum of all a, and off of the virtual root is the latter's negative
        true = off[n_nodes, d]
        for p in range(Y_indptr[d], Y_indptr[d + 1]):
            true += 2.0 * A[Y_indices[p], d]
        best = on[n_nodes, d]
        if best - true <= ROUNDING * (abs(best) + abs(true) + abs(off[n_nodes, d])):
            margin[d] = 2.0 * drop[n_nodes, d]  # y is the best, or as good as it: what is left is the second best
        else:
            margin[d] = true - best


@njit(cache=True, nogil=True)
def best_outputs(scores, parent, outputs):
    """Write the best closed output of each row of `scores` into `outputs` (int8)."""
    n_nodes = len(parent)
    off, on, drop = np.empty(n_nodes + 1), np.empty(n_nodes + 1), np.empty(n_nodes + 1)
    weak = np.empty(n_nodes + 1, dtype=np.int64)
    for i in range(len(scores)):
        best_output(scores[i], parent, off, on, drop, weak, outputs[i])


@njit(cache=True, nogil=True)
def node_scores(scores, parent):
    """Turn each row of `scores` into half of: the best <a, z> with the node on minus the best with it off; in place.

    Above zero where the node is in the best output; never larger than the parent's.
    """
    n_nodes = len(parent)
    off, on, drop = np.empty(n_nodes + 1), np.empty(n_nodes + 1), np.empty(n_nodes + 1)
    weak = np.empty(n_nodes + 1, dtype=np.int64)
    with_it, without = np.empty(n_nodes + 1), np.empty(n_nodes + 1)
    for i in range(len(scores)):
        walk_up(scores[i], parent, off, on, drop, weak)
        with_it[n_nodes], without[n_nodes] = on[n_nodes], -np.inf
        for v in range(n_nodes):
            p = parent[v]
            rest = with_it[p] - max(on[v], off[v])  # the parent on, and all outside of this subtree at its best
            with_it[v] = rest + on[v]
            without[v] = max(without[p], rest + off[v])
            scores[i, v] = 0.5 * (with_it[v] - without[v])
