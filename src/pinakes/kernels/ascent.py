"""What `ascent` does with a document: a full scan that only reads the weights, and an exact step over its active set.

Names as in solvers/ascent.py. `beta` = alpha / Delta is what the simplex constraint sums: beta >= 0 and sum over y of
beta_iy <= C_i; the derivative of the dual along beta_iy is F_iy = Delta(y_i, y) (1 - <w, dPhi_i(y)>). Where slacks are
squared nothing bounds the sum s_i, which costs s_i^2 / (4 C_i) instead. The rows hold u_z = v_z w_z, so that the score
of a class is a plain sum over its attributes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pinakes.kernels.compile import inner, kernel
from pinakes.kernels.layouts import score_blocks
from pinakes.kernels.outputs import (
    add_to_path,
    class_score,
    collect_blocks,
    common,
    delta_pair,
    delta_row,
    find_highest,
    path_sum,
    score_document,
    sum_down,
)
from pinakes.kernels.rows import BLOCK
from pinakes.kernels.vectors import any_above

NOT_FOUND = -1e30  # a score with which no class is found; times a Delta of 0 it is 0, as -inf would not be
ENOUGH = 0.05  # a document's QP is solved to this share of the psi it had: the others will move anyway
UNBOUNDED = 1e300  # a budget that is never used up
MOST_PATIENT = 4  # a quiet document is passed over for at most 2**4 sweeps


@inner
def document_gap(squared, C, slack, total, carried):
    """Give a document's part of the duality gap: `total` is the sum of its beta, `carried` that of beta F."""
    if squared:  # C slack^2 + total^2 / (4 C) - carried, with nothing that cancels
        return C * (slack - total / (2 * C)) ** 2 + (slack * total - carried)
    return C * slack - carried


@inner
def find_violators(outputs, scores, highest, delta, base, threshold, worst, classes):
    """Write the classes with the largest F = delta (base + score) above `threshold` into `classes`, the worst first.

    Writes their F into `worst`, and gives how many there are: at most len(worst). Where `delta` is None it counts as 1.
    `highest` is scratch. A block is passed over if nothing in it were a violator even below the highest in its window.
    """
    base, limit = scores.dtype.type(base), scores.dtype.type(threshold)
    found = 0
    most = len(worst)
    find_highest(outputs, scores, highest)
    for c in range(np.uint64(outputs.first_own // BLOCK), np.uint64(len(scores) // BLOCK)):
        start = c * np.uint64(BLOCK)
        if not any_above(scores, start, base + highest[outputs.window[c]], delta, limit):
            continue
        for a in range(start, start + np.uint64(BLOCK)):
            f = base + scores[outputs.up[a]] + scores[a]
            if delta is not None:
                f *= delta[a]
            if outputs.class_of[a] >= 0 and f > limit and (found < most or f > worst[most - 1]):
                k = min(found, most - 1)
                found = min(found + 1, most)
                while k > 0 and worst[k - 1] < f:
                    worst[k] = worst[k - 1]
                    classes[k] = classes[k - 1]
                    k -= 1
                worst[k] = f
                classes[k] = outputs.class_of[a]
                if found == most:  # nothing below the last of them is of interest any more
                    limit = max(limit, scores.dtype.type(worst[most - 1]))
    return found


@kernel
def scan(
    X, y, C, order, first, last,
    rows, outputs, active_indptr, active_count, active, beta,
    slack, gap, new_classes, new_count, scratch, room, scored,
):  # fmt: skip
    """Look at every class of documents order[first:last]; weights are only read.

    `scored` is None, or has a row for each of these documents with what they score on every attribute alone.

    Writes for each document: `slack` xi_i = max(0, max_y F_iy), `gap` as in `document_gap`, and the few classes
    outside the active set with F above all active ones, the worst first, into `new_classes` and `new_count`.
    `order` is sorted by class, so that a row of Delta serves all documents of the class.
    """
    scores, delta, worst = scratch.scores, scratch.delta, room.worst
    last_class = -1
    for o in range(first, last):
        i = order[o]
        y_i = y[i]
        if y_i != last_class:
            delta_row(outputs, y_i, delta)
            last_class = y_i
        if scored is None:
            score_document(X, i, rows, outputs, scores, scratch.several)
        else:
            for a in range(len(scores)):
                scores[a] = scored[o - first, a]
            sum_down(outputs, scores, scratch.several)
        base = scores.dtype.type(1 - class_score(outputs, scores, y_i))

        top = 0.0  # the largest F among 0 (y_i itself) and the active classes
        carried, total = 0.0, 0.0  # sums of beta F, and of beta
        for k in range(active_indptr[i], active_indptr[i] + active_count[i]):
            own = outputs.own[active[k]]
            f = np.float64((base + scores[outputs.up[own]] + scores[own]) * delta[own])  # as `find_violators` has it
            top = max(top, f)
            carried += beta[k] * f
            total += beta[k]
        found = find_violators(
            outputs, scores, scratch.highest, delta, base, top * (1 + 1e-6) + 1e-9, worst, new_classes[i]
        )
        if found > 0:
            top = max(top, worst[0])
        new_count[i] = found
        slack[i] = top
        gap[i] = document_gap(outputs.squared, C[i], top, total, carried)


@kernel
def merge_active(
    active_indptr, active_count, active, beta, new_count, new_classes, spare, indptr, count, merged, weight
):
    """Write the active sets anew: what carries weight stays, what carries none goes, what the scan found comes in.

    Each document keeps `spare` free places. `indptr`, `count`, `merged` and `weight` are written.
    """
    k_out = 0
    for i in range(len(active_count)):
        indptr[i] = k_out
        for k in range(active_indptr[i], active_indptr[i] + active_count[i]):
            if beta[k] > 0:
                merged[k_out] = active[k]
                weight[k_out] = beta[k]
                k_out += 1
        for k in range(new_count[i]):
            present = False
            for kk in range(indptr[i], k_out):
                present |= merged[kk] == new_classes[i, k]
            if not present:
                merged[k_out] = new_classes[i, k]
                weight[k_out] = 0.0
                k_out += 1
        count[i] = k_out - indptr[i]
        k_out += spare
    indptr[len(active_count)] = k_out


@kernel
def insert_active(order, active_indptr, active_count, active, beta, new_count, new_classes, most):
    """Put the worst the scan found for documents `order` into free places of their active sets; changes those."""
    for i in order:
        start, end = active_indptr[i], active_indptr[i + 1]
        for k in range(min(new_count[i], most)):
            count = active_count[i]
            present = start + count == end
            for kk in range(start, start + count):
                present |= active[kk] == new_classes[i, k]
            if not present:
                active[start + count] = new_classes[i, k]
                beta[start + count] = 0.0
                active_count[i] = count + 1


@inner
def solve_document(Q, F, beta, C, n_active, precision, max_steps):
    """Solve the document's QP over its active set by moving weight between two classes at a time; changes F and beta.

    max sum F_k d_k - 1/2 d Q d over beta + d >= 0, sum(beta + d) <= C. The slack, with F = 0 and no curvature, is one
    more class that takes what the others leave. Gives psi before the first step.
    """
    free = C
    for k in range(n_active):
        free -= beta[k]
    psi_before = -1.0
    for _ in range(max_steps):
        high, F_high = -1, 0.0
        low, F_low = -2, np.inf
        if free > 1e-12 * C:
            low, F_low = -1, 0.0
        for k in range(n_active):
            if F[k] > F_high:
                high, F_high = k, F[k]
            if beta[k] > 0 and F[k] < F_low:
                low, F_low = k, F[k]
        psi = F_high - F_low
        if psi_before < 0:
            psi_before = max(psi, 0.0)
            precision = max(precision, ENOUGH * psi)
        if psi <= precision or high == low or low == -2:
            break
        curvature = 0.0
        if high >= 0:
            curvature += Q[high, high]
        if low >= 0:
            curvature += Q[low, low]
        if high >= 0 and low >= 0:
            curvature -= 2 * Q[high, low]
        available = beta[low] if low >= 0 else free
        step = available
        if curvature > 1e-300 and psi < curvature * available:
            step = psi / curvature
        if high >= 0:
            beta[high] += step
        else:
            free += step
        if low >= 0:
            beta[low] = 0.0 if step == available else beta[low] - step
        else:
            free = 0.0 if step == available else free - step
        for k in range(n_active):
            change = 0.0
            if high >= 0:
                change += Q[k, high]
            if low >= 0:
                change -= Q[k, low]
            F[k] -= step * change
    return psi_before


@inner
def square_slack(Q, F, n_active, C, total):
    """Make the QP of a document that of a squared slack, and give its budget; changes Q and F.

    The sum s of beta costs s^2 / (4 C) and has no bound; `total` is what it is before the step.
    """
    for k in range(n_active):
        F[k] -= total / (2 * C)
        for m in range(n_active):
            Q[k, m] += 1 / (2 * C)
    return UNBOUNDED


class Scratch(NamedTuple):
    """Room that a thread writes to while it looks at a document; of no meaning afterwards."""

    scores: np.ndarray  # (n_padded,): of the weights' type, as `delta`
    delta: np.ndarray
    several: np.ndarray  # float64 (n_multi,)
    highest: np.ndarray  # of the weights' type (first_own + 2,)
    change: np.ndarray  # float64 (n_padded,): always left at 0
    mark: np.ndarray  # uint8 (n_blocks,): always left at 0
    blocks: np.ndarray  # int32 (n_blocks,)


class Changes(NamedTuple):
    """What the documents of a batch want the weights to change by, per unit of x; document b has count[b] blocks."""

    count: np.ndarray  # int64 (n_batch,)
    blocks: np.ndarray  # int32 (n_batch, most)
    values: np.ndarray  # of the weights' type (n_batch, most * BLOCK)


@inner
def write_changes(outputs, blocks, n_few, moved, scratch, changes, b):
    """Turn scratch.change, per attribute, into place b of `changes`, and leave it at 0; gives how many blocks change.

    `moved` is how much was moved in all.
    """
    count = 0
    for k in range(n_few):
        a = blocks[k] * BLOCK
        largest = 0.0
        for t in range(BLOCK):
            change = scratch.change[a + t] * outputs.v2[a + t]
            scratch.change[a + t] = 0.0
            if abs(change) <= 1e-14 * moved:  # parts that cancel leave dust: keep it out of the weights
                change = 0.0
            largest = max(largest, abs(change))
            changes.values[b, count * BLOCK + t] = change
        if largest > 0:
            changes.blocks[b, count] = blocks[k]
            count += 1
    return count


@inner
def keep_worthy(active, beta, F, start, n_active):
    """Drop what has no weight and whose margin holds from an active set: a scan finds it again; gives what stays."""
    kept = start
    for k in range(start, start + n_active):
        if beta[k] > 0 or F[k - start] > 0:
            active[kept] = active[k]
            beta[kept] = beta[k]
            kept += 1
    return kept - start


class ClassRoom(NamedTuple):
    """Room for the QP of a document with at most `widest` active classes."""

    worst: np.ndarray  # float64: F of the classes found, the worst first
    found: np.ndarray  # int32: these classes
    Q: np.ndarray  # float64 (widest, widest)
    F: np.ndarray
    old: np.ndarray
    deltas: np.ndarray
    shared: np.ndarray  # float64: <Lambda(y_i), Lambda(k)> of the active classes k


def make_class_room(widest: int) -> ClassRoom:
    """Make room for `widest` active classes."""
    return ClassRoom(
        np.zeros(widest), np.zeros(widest, np.int32), np.zeros((widest, widest)),
        np.zeros(widest), np.zeros(widest), np.zeros(widest), np.zeros(widest),
    )  # fmt: skip


def step_document(
    i, b, X, x_norm2, y, C, look, by_margin, rows, outputs, active_indptr, active_count, active, beta,
    next_visit, patience, now, quiet_gap, precision, slack, gap, changes, room, scratch,
):  # fmt: skip
    """Solve the QP of document i over its active set; the weights are only read.

    Changes active set, beta and visits of the document, and writes into place b of `changes` what that means for the
    weights. With `look` > 0 all classes are scored, and so many of the worst violators at most take the free places of
    the active set before the step; the worst by their margins alone, if `by_margin`, without Delta. Else only the
    classes of the active set are scored. `slack` and `gap` take what is seen before the step.
    """
    scores, blocks = scratch.scores, scratch.blocks
    Q, F, old, deltas, shared = room.Q, room.F, room.old, room.deltas, room.shared
    changes.count[b] = 0
    a_start, n_active = active_indptr[i], np.int64(active_count[i])
    if n_active == 0 and look == 0:
        gap[i] = 0.0
        return
    y_i = y[i]
    n_few = 0
    if look > 0:
        score_document(X, i, rows, outputs, scores, scratch.several)
        y_score = np.float64(class_score(outputs, scores, y_i))
        for k in range(n_active):
            F[k] = class_score(outputs, scores, active[a_start + k])
        free = min(look, active_indptr[i + 1] - a_start - n_active)
        if free > 0:
            base = scores.dtype.type(1 - class_score(outputs, scores, y_i))
            scores[outputs.own[y_i]] = NOT_FOUND
            for k in range(a_start, a_start + n_active):
                scores[outputs.own[active[k]]] = NOT_FOUND  # no need to find what is there already
            if by_margin:
                found = find_violators(
                    outputs, scores, scratch.highest, None, base, 1e-9, room.worst[:free], room.found[:free]
                )
            else:
                delta_row(outputs, y_i, scratch.delta)
                found = find_violators(
                    outputs, scores, scratch.highest, scratch.delta, base, 1e-9, room.worst[:free], room.found[:free]
                )
            for k in range(found):
                active[a_start + n_active] = room.found[k]
                beta[a_start + n_active] = 0.0
                F[n_active] = class_score(outputs, scores, room.found[k])
                n_active += 1
            active_count[i] = n_active
    else:
        # the blocks with attributes of the active classes only
        n_few = collect_blocks(outputs, y_i, active[a_start : a_start + n_active], scratch.mark, blocks)
        score_blocks(X, i, rows, blocks, n_few, scores)
        y_score = path_sum(outputs, scores, y_i)
        for k in range(n_active):
            F[k] = path_sum(outputs, scores, active[a_start + k])

    top, carried, total = 0.0, 0.0, 0.0
    for k in range(n_active):
        deltas[k] = delta_pair(outputs, y_i, active[a_start + k])
        F[k] = deltas[k] * (1.0 - y_score + F[k])
        top = max(top, F[k])
        carried += beta[a_start + k] * F[k]
        total += beta[a_start + k]
    slack[i] = top
    gap[i] = document_gap(outputs.squared, C[i], top, total, carried)
    if gap[i] <= quiet_gap:
        patience[i] = min(patience[i] + 1, MOST_PATIENT)
        next_visit[i] = now + (1 << patience[i])
        return
    patience[i] = 0

    # Q_km = Delta_k Delta_m <Lambda(y_i) - Lambda(k), Lambda(y_i) - Lambda(m)> |x_i|^2
    own_own = common(outputs, outputs.v2, y_i, y_i)
    for k in range(n_active):
        shared[k] = common(outputs, outputs.v2, y_i, active[a_start + k])
    for k in range(n_active):
        for m in range(k + 1):
            inner = own_own - shared[k] - shared[m]
            inner += common(outputs, outputs.v2, active[a_start + k], active[a_start + m])
            Q[k, m] = deltas[k] * deltas[m] * inner * x_norm2[i]
            Q[m, k] = Q[k, m]
        old[k] = beta[a_start + k]
    budget = square_slack(Q, F, n_active, C[i], total) if outputs.squared else C[i]
    solve_document(Q, F, beta[a_start : a_start + n_active], budget, n_active, precision * top, 20 * n_active + 20)

    # w += sum_k d_k Delta_k dPhi_i(k);  u_z = v_z w_z takes v_z^2
    if look > 0:
        n_few = collect_blocks(outputs, y_i, active[a_start : a_start + n_active], scratch.mark, blocks)
    moved = 0.0
    for k in range(n_active):
        weight = (beta[a_start + k] - old[k]) * deltas[k]
        if weight != 0.0:
            moved += abs(weight)
            add_to_path(outputs, scratch.change, y_i, weight)
            add_to_path(outputs, scratch.change, active[a_start + k], -weight)
    changes.count[b] = write_changes(outputs, blocks, n_few, moved, scratch, changes, b)
    active_count[i] = keep_worthy(active, beta, F, a_start, n_active)
