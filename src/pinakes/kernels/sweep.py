"""A pass of exact steps over active sets, in threads that work in step.

`y` is the class of each document, or `Labels`: then active sets hold pairs. `step` is written once for each; Numba
takes the one that fits the type.
"""

from __future__ import annotations

import numpy as np
from numba import types

from pinakes.kernels.ascent import step_document
from pinakes.kernels.compile import by_type, kernel
from pinakes.kernels.layouts import change_weights
from pinakes.kernels.pairs import step_pairs
from pinakes.kernels.rows import BLOCK
from pinakes.kernels.threads import take_next, wait_for_all

STEPS, SHARDS = 0, 1  # what is counted in `taken`
PORTIONS = 8  # a thread takes the documents of a batch in so many portions, or more if the others are slower


def step(
    i, b, X, x_norm2, y, C, look, by_margin, rows, outputs, active_indptr, active_count, active, beta,
    next_visit, patience, now, quiet_gap, precision, slack, gap, changes, room, scratch,
):  # fmt: skip
    """Solve the QP of document i over its active set; see `step_document` and `step_pairs`."""
    return (step_document if isinstance(y, np.ndarray) else step_pairs)(
        i, b, X, x_norm2, y, C, look, by_margin, rows, outputs, active_indptr, active_count, active, beta,
        next_visit, patience, now, quiet_gap, precision, slack, gap, changes, room, scratch,
    )  # fmt: skip


@by_type(step)
def _step(
    i, b, X, x_norm2, y, C, look, by_margin, rows, outputs, active_indptr, active_count, active, beta,
    next_visit, patience, now, quiet_gap, precision, slack, gap, changes, room, scratch,
):  # fmt: skip
    return step_document if isinstance(y, types.Array) else step_pairs


@kernel
def sweep(
    X, x_norm2, y, C, order, batch_size, look, by_margin, rows, outputs, active_indptr, active_count,
    active, beta, next_visit, patience, now, quiet_gap, precision, slack, gap, changes, room, scratch,
    thread, steps, taken, first, at, full,
):  # fmt: skip
    """One thread's part of a pass of exact steps over documents `order`, a batch at a time; all threads call it.

    The documents of a batch do not see each other's steps: the threads share them out and only read the weights. Then
    they change the rows, one shard after the other. Both times a thread that is done takes what comes next; `taken`
    counts, and is made like `steps`. When some shard has no room left, all threads give the start of the batch
    they are in, with what is still to be changed in `at`: make room and call again from there, `full` telling that the
    steps of that batch are done. Gives len(order) at the end, and -1 when called off before anything was done.
    """
    n_threads = len(steps) - 1
    n_blocks = len(scratch.scores) // BLOCK
    resumed = full[0] != 0
    if not wait_for_all(steps, thread):
        return -1
    if thread == 0:
        full[0] = 0  # all have read it …
        taken[:] = 0
    wait_for_all(steps, thread)  # … and nobody may set it before
    while first < len(order):
        last = min(first + batch_size, len(order))
        if not resumed:
            size = last - first
            portion = max(1, size // (PORTIONS * n_threads))
            if thread == 0:
                taken[SHARDS] = 0
                at[:, 0] = 0
            start = take_next(taken, STEPS) * portion
            while start < size:
                for b in range(start, min(start + portion, size)):
                    step(
                        order[first + b], b, X, x_norm2, y, C, look, by_margin, rows, outputs,
                        active_indptr, active_count, active, beta, next_visit, patience, now, quiet_gap, precision,
                        slack, gap, changes, room, scratch,
                    )  # fmt: skip
                start = take_next(taken, STEPS) * portion
            wait_for_all(steps, thread)
        resumed = False
        if thread == 0:
            taken[STEPS] = 0
        shard = take_next(taken, SHARDS)
        while shard < len(at):
            if not change_weights(X, order[first:last], changes, shard, at, rows, n_blocks):
                full[0] = 1
            shard = take_next(taken, SHARDS)
        wait_for_all(steps, thread)
        if full[0] != 0:
            return first
        first = last
    return len(order)
