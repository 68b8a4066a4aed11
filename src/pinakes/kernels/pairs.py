"""What `ascent` does with a document of several labels: dual variables belong to pairs of a label and another class.

Names as in solvers/pairs.py. A pair (y, ybar) is kept as one number, y n_classes + ybar, in the place that a class has
in kernels/ascent.py; merging and inserting are the same. F of a pair is Delta(y, ybar) (1 - s_y + s_ybar), s the
scores, so that a document needs the scores of the classes in its pairs, and the inner products of these, each once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pinakes.kernels.ascent import (
    ENOUGH,
    MOST_PATIENT,
    find_violators,
    keep_worthy,
    solve_document,
    write_changes,
)
from pinakes.kernels.compile import inner, kernel
from pinakes.kernels.layouts import score_blocks
from pinakes.kernels.outputs import (
    add_to_path,
    class_score,
    collect_blocks,
    common,
    delta_pair,
    delta_row,
    path_sum,
    score_document,
    sum_down,
)

MOST_PASSES = 20  # over the pairs of a document, in one step of the variant with a slack for each pair


class Labels(NamedTuple):
    """The label sets of all documents, as CSR with ascending classes."""

    indptr: np.ndarray  # int64 (n_samples + 1,)
    indices: np.ndarray  # int32
    most: np.ndarray  # float64 (n_classes,): no Delta(y, .) is larger
    each: bool  # whether each pair has a slack of its own


class PairRoom(NamedTuple):
    """Room for the QP of a document: for `widest` pairs, and twice as many classes in them."""

    worst: np.ndarray  # float64: F of the pairs found, the worst first
    found: np.ndarray  # int64: these pairs
    worst_y: np.ndarray  # float64: the same of one label
    found_y: np.ndarray  # int32: and the other class
    F: np.ndarray
    old: np.ndarray
    deltas: np.ndarray
    label: np.ndarray  # int32: place of the pair's label among the classes
    other: np.ndarray  # int32: place of its other class
    classes: np.ndarray  # int32: the classes in the pairs, each once
    scores: np.ndarray  # float64: their scores
    moved: np.ndarray  # float64: what the step adds to each of them
    Q: np.ndarray
    gram: np.ndarray  # float64: <Lambda(k), Lambda(m)> of the classes
    place: np.ndarray  # int32 (n_classes,): of a class among the classes; always left at -1


def make_pair_room(widest: int, n_classes: int, each: bool) -> PairRoom:
    """Make room for `widest` active pairs."""
    several = min(2 * widest, n_classes)
    return PairRoom(
        np.empty(widest), np.empty(widest, np.int64), np.empty(widest), np.empty(widest, np.int32),
        np.empty(widest), np.empty(widest), np.empty(widest), np.empty(widest, np.int32), np.empty(widest, np.int32),
        np.empty(several, np.int32), np.empty(several), np.empty(several),
        np.empty((1, 1) if each else (widest, widest)), np.empty((several, several)),
        np.full(n_classes, -1, dtype=np.int32),
    )  # fmt: skip


@inner
def best_other(labels, i, outputs, scores):
    """Give the best score among the classes that are no labels of document i."""
    best = -np.inf
    p, last = labels.indptr[i], labels.indptr[i + 1]
    for k in range(len(outputs.own)):
        if p < last and labels.indices[p] == k:
            p += 1
        else:
            best = max(best, np.float64(class_score(outputs, scores, k)))
    return best


@inner
def find_pairs(labels, i, outputs, scratch, threshold, active, room, most):
    """Write the pairs of document i with the largest F above `threshold` into room.found and room.worst, worst first.

    Gives how many there are, at most `most`, and the sum of F over all above 0; pairs in `active` are left out. Only
    where each pair has a slack is that sum wanted: elsewhere labels that cannot be among the worst are passed over, and
    no label takes more than its share of the places, or one label's would push out what the others need as much.
    """
    n_classes, scores, delta = len(outputs.own), scratch.scores, scratch.delta
    share = most if labels.each else max(1, most // max(labels.indptr[i + 1] - labels.indptr[i], 1))
    best = best_other(labels, i, outputs, scores)
    found, total = 0, 0.0
    for p in range(labels.indptr[i], labels.indptr[i + 1]):
        y = labels.indices[p]
        base = 1 - class_score(outputs, scores, y)
        limit = threshold if found < most else max(threshold, room.worst[most - 1])
        if labels.most[y] * (base + best) <= (0.0 if labels.each else limit):
            continue
        delta_row(outputs, y, delta)
        for q in range(labels.indptr[i], labels.indptr[i + 1]):
            delta[outputs.own[labels.indices[q]]] = 0  # labels do not compete with each other
        for pair in active:
            if pair // n_classes == y:
                delta[outputs.own[pair % n_classes]] = 0  # no need to find what is there already
        if labels.each:
            for k in range(n_classes):
                total += max(0.0, np.float64(delta[outputs.own[k]] * (base + class_score(outputs, scores, k))))
        n_y = find_violators(
            outputs, scores, scratch.highest, delta, base, limit, room.worst_y[:share], room.found_y[:share]
        )
        for m in range(n_y):  # two lists, both with the worst first, become one
            f = room.worst_y[m]
            if found == most and f <= room.worst[most - 1]:
                break
            k = min(found, most - 1)
            found = min(found + 1, most)
            while k > 0 and room.worst[k - 1] < f:
                room.worst[k] = room.worst[k - 1]
                room.found[k] = room.found[k - 1]
                k -= 1
            room.worst[k] = f
            room.found[k] = np.int64(y) * n_classes + room.found_y[m]
    return found, total


@kernel
def scan_pairs(
    X, labels, C, order, first, last,
    rows, outputs, active_indptr, active_count, active, beta,
    slack, gap, new_pairs, new_count, scratch, room, scored,
):  # fmt: skip
    """Look at every pair of documents order[first:last]; weights are only read. As `scan` in kernels/ascent.py.

    Writes `slack`, the sum of a document's slacks, `gap`, its part of the duality gap, and the worst pairs that are to
    join the active set.
    """
    scores = scratch.scores
    n_classes, most = len(outputs.own), new_pairs.shape[1]
    for o in range(first, last):
        i = order[o]
        if scored is None:
            score_document(X, i, rows, outputs, scores, scratch.several)
        else:
            for a in range(len(scores)):
                scores[a] = scored[o - first, a]
            sum_down(outputs, scores, scratch.several)
        start, end = active_indptr[i], active_indptr[i] + active_count[i]
        top, total, carried = 0.0, 0.0, 0.0  # the largest F, the sum of those above 0, the sum of beta F
        for k in range(start, end):
            y, other = active[k] // n_classes, active[k] % n_classes
            margin = np.float64(class_score(outputs, scores, y)) - np.float64(class_score(outputs, scores, other))
            f = delta_pair(outputs, y, other) * (1.0 - margin)
            top = max(top, f)
            total += max(0.0, f)
            carried += beta[k] * f
        if labels.each:
            found, more = find_pairs(labels, i, outputs, scratch, 1e-9, active[start:end], room, most)
            top = total + more
        else:
            limit = top * (1 + 1e-6) + 1e-9
            found, _ = find_pairs(labels, i, outputs, scratch, limit, active[:0], room, most)
            if found > 0:
                top = max(top, room.worst[0])
        new_count[i] = found
        for k in range(found):
            new_pairs[i, k] = room.found[k]
        slack[i] = top
        gap[i] = C[i] * top - carried


@inner
def gather_classes(active, start, n_active, n_classes, room):
    """Write the classes in the active pairs into `room`, each once, and where each pair has its two; gives how many."""
    n_several = 0
    for k in range(n_active):
        for side in range(2):
            pair = active[start + k]
            c = pair // n_classes if side == 0 else pair % n_classes
            if room.place[c] < 0:
                room.place[c] = n_several
                room.classes[n_several] = c
                n_several += 1
            if side == 0:
                room.label[k] = room.place[c]
            else:
                room.other[k] = room.place[c]
    for k in range(n_several):
        room.place[room.classes[k]] = -1
    return n_several


@inner
def solve_each(gram, scores, label, other, deltas, F, beta, C, x_norm2, n_active, n_several, precision):
    """Solve the document's QP where each pair has a slack, 0 <= beta <= C, pair by pair; changes beta, scores and F.

    `label` and `other` are the classes of each pair, as places in `scores` and `gram`, of which the first n_several
    count. Gives the largest |F| of a pair that could move, in the first pass.
    """
    before = 0.0
    for passes in range(MOST_PASSES):
        worst = 0.0
        for k in range(n_active):
            a, b, delta = label[k], other[k], deltas[k]
            f = delta * (1.0 - scores[a] + scores[b])
            curvature = delta * delta * (gram[a, a] - 2 * gram[a, b] + gram[b, b]) * x_norm2
            aim = C if f > 0 else 0.0
            if curvature > 1e-300:
                aim = min(max(beta[k] + f / curvature, 0.0), C)
            step = aim - beta[k]
            if step == 0.0:
                continue
            worst = max(worst, abs(f))
            beta[k] = aim
            for m in range(n_several):
                scores[m] += step * delta * x_norm2 * (gram[a, m] - gram[b, m])
        if passes == 0:
            before = worst
            precision = max(precision, ENOUGH * worst)
        if worst <= precision:
            break
    for k in range(n_active):
        F[k] = deltas[k] * (1.0 - scores[label[k]] + scores[other[k]])
    return before


def step_pairs(
    i, b, X, x_norm2, y, C, look, by_margin, rows, outputs, active_indptr, active_count, active, beta,
    next_visit, patience, now, quiet_gap, precision, slack, gap, changes, room, scratch,
):  # fmt: skip
    """Solve the QP of document i over its active pairs; as `step_document` in kernels/ascent.py."""
    n_classes, blocks = len(outputs.own), scratch.blocks
    changes.count[b] = 0
    start, n_active = active_indptr[i], np.int64(active_count[i])
    if n_active == 0 and look == 0:
        gap[i] = 0.0
        return
    if look > 0:
        score_document(X, i, rows, outputs, scratch.scores, scratch.several)
        free = min(look, active_indptr[i + 1] - start - n_active)
        if free > 0:
            known = active[start : start + n_active]
            found, _ = find_pairs(y, i, outputs, scratch, 1e-9, known, room, free)
            for k in range(found):
                active[start + n_active] = room.found[k]
                beta[start + n_active] = 0.0
                n_active += 1
            active_count[i] = n_active
    if n_active == 0:
        slack[i] = gap[i] = 0.0
        return
    n_several = gather_classes(active, start, n_active, n_classes, room)
    n_few = collect_blocks(outputs, room.classes[0], room.classes[1:n_several], scratch.mark, blocks)
    if look == 0:
        score_blocks(X, i, rows, blocks, n_few, scratch.scores)
    for m in range(n_several):
        c = room.classes[m]
        room.scores[m] = class_score(outputs, scratch.scores, c) if look > 0 else path_sum(outputs, scratch.scores, c)

    top, total, carried = 0.0, 0.0, 0.0
    for k in range(n_active):
        pair = active[start + k]
        room.deltas[k] = delta_pair(outputs, pair // n_classes, pair % n_classes)
        room.F[k] = room.deltas[k] * (1.0 - room.scores[room.label[k]] + room.scores[room.other[k]])
        top = max(top, room.F[k])
        total += max(0.0, room.F[k])
        carried += beta[start + k] * room.F[k]
    slack[i] = total if y.each else top
    gap[i] = C[i] * slack[i] - carried
    if gap[i] <= quiet_gap:
        patience[i] = min(patience[i] + 1, MOST_PATIENT)
        next_visit[i] = now + (1 << patience[i])
        return
    patience[i] = 0

    for k in range(n_several):
        for m in range(k + 1):
            room.gram[k, m] = common(outputs, outputs.v2, room.classes[k], room.classes[m])
            room.gram[m, k] = room.gram[k, m]
        room.moved[k] = 0.0
    for k in range(n_active):
        room.old[k] = beta[start + k]
    weights = beta[start : start + n_active]
    if y.each:
        solve_each(
            room.gram, room.scores, room.label, room.other, room.deltas, room.F, weights, C[i], x_norm2[i],
            n_active, n_several, precision * top,
        )  # fmt: skip
    else:
        pair_products(room, n_active, x_norm2[i])
        solve_document(room.Q, room.F, weights, C[i], n_active, precision * top, 20 * n_active + 20)

    # w += sum of d Delta dPhi;  u_z = v_z w_z takes v_z^2
    moved = 0.0
    for k in range(n_active):
        weight = (weights[k] - room.old[k]) * room.deltas[k]
        moved += abs(weight)
        room.moved[room.label[k]] += weight
        room.moved[room.other[k]] -= weight
    for m in range(n_several):
        if room.moved[m] != 0.0:
            add_to_path(outputs, scratch.change, room.classes[m], room.moved[m])
    changes.count[b] = write_changes(outputs, blocks, n_few, moved, scratch, changes, b)
    active_count[i] = keep_worthy(active, beta, room.F, start, n_active)


@inner
def pair_products(room, n_active, x_norm2):
    """Write Q_km = Delta_k Delta_m <Lambda(y_k) - Lambda(ybar_k), Lambda(y_m) - Lambda(ybar_m)> |x|^2 into room.Q."""
    gram = room.gram
    for k in range(n_active):
        a, b = room.label[k], room.other[k]
        for m in range(k + 1):
            c, d = room.label[m], room.other[m]
            inner = gram[a, c] - gram[a, d] - gram[b, c] + gram[b, d]
            room.Q[k, m] = room.deltas[k] * room.deltas[m] * inner * x_norm2
            room.Q[m, k] = room.Q[k, m]
