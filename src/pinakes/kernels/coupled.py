"""The loops of coupled binary SVMs: a scan that only reads the weights, and a sweep of exact steps, batch by batch.

Names as in solvers/coupled.py. The pair of document i and class r has the sign y_ir, the dual variable alpha_ir, and
along it the dual rises by

    G_ir = 1 - y_ir F(x_i, r) - D_i alpha_ir,      0 <= alpha_ir <= U_i

with D_i = 0, U_i = C_i for the hinge and D_i = 1 / (2 C_i), U_i = inf for the squared hinge. The rows hold
u_z = v_z w_z, so that the score of a class is a plain sum over its attributes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pinakes.kernels.ascent import write_changes
from pinakes.kernels.compile import inner, kernel
from pinakes.kernels.layouts import change_weights, score_attributes, score_blocks
from pinakes.kernels.outputs import add_to_path, class_score, collect_blocks, path_sum, score_document, sum_down
from pinakes.kernels.rows import BLOCK
from pinakes.kernels.threads import wait_for_all

MOST_PASSES = 8  # over the pairs of one document
ENOUGH = 0.1  # a document's QP is solved to this share of the largest step that it made first: others will move anyway
MOST_PATIENT = 4  # a quiet document is passed over for at most 2**4 sweeps
SPARE = 1.5  # room that a growing set of pairs takes, times what it needs


class Task(NamedTuple):
    """What does not change: the documents, their labels and what they count."""

    X: tuple  # (indptr, indices, data), or (values,) where documents are dense
    x_norm2: np.ndarray  # float64 (n_samples,)
    Y_indptr: np.ndarray  # int64 (n_samples + 1,)
    Y_indices: np.ndarray  # int32: the classes with y_ir = 1
    C: np.ndarray  # float64 (n_samples,)
    squared: bool


class Pairs(NamedTuple):
    """The pairs that carry weight: those of document i are at start[i] .. start[i] + count[i] - 1."""

    start: np.ndarray  # int64 (n_samples,)
    count: np.ndarray  # int32 (n_samples,)
    capacity: np.ndarray  # int32 (n_samples,): places reserved
    filled: np.ndarray  # int64 (1,): places taken of the pool
    classes: np.ndarray  # int32 (pool,)
    alpha: np.ndarray  # float64 (pool,)


class Seen(NamedTuple):
    """What the documents were last seen to add to the objective, and when they are due again."""

    loss: np.ndarray  # float64 (n_samples,): C_i times the sum over r of the loss
    gap: np.ndarray  # float64 (n_samples,)
    next_visit: np.ndarray  # int64 (n_samples,)
    patience: np.ndarray  # int64 (n_samples,)


class Scratch(NamedTuple):
    """Room that a thread writes to; of no meaning afterwards."""

    several: np.ndarray  # float64 (n_multi,)
    sign: np.ndarray  # float64 (n_classes,): always left at -1
    old: np.ndarray  # float64 (n_classes,): always left at 0
    found: np.ndarray  # int32 (n_classes,)
    score: np.ndarray  # float64 (n_classes,)
    alpha: np.ndarray  # float64 (n_classes,)
    moved: np.ndarray  # uint8 (n_classes,): always left at 0
    change: np.ndarray  # float64 (n_padded,): always left at 0
    mark: np.ndarray  # uint8 (n_blocks,): always left at 0
    blocks: np.ndarray  # int32 (n_blocks,)


class Changes(NamedTuple):
    """What the documents of a batch want the weights to change by, per unit of x; document b has count[b] blocks."""

    count: np.ndarray  # int64 (n_batch,)
    blocks: np.ndarray  # int32 (n_batch, n_blocks)
    values: np.ndarray  # of the weights' type (n_batch, n_padded)


@inner
def add_loss(margin, alpha, C, squared):
    """Give what a pair adds to the primal objective and to the duality gap, at margin = 1 - y F."""
    xi = max(margin, 0.0)
    if squared:
        return C * xi * xi, C * (xi - alpha / (2 * C)) ** 2 + alpha * (xi - margin)
    return C * xi, C * xi - alpha * margin


@inner
def set_signs(task, i, sign, value):
    """Write `value` at the classes of document i."""
    for p in range(task.Y_indptr[i], task.Y_indptr[i + 1]):
        sign[task.Y_indices[p]] = value


@kernel
def scan(task, first, last, rows, outputs, pairs, seen, scores, scratch, scored):
    """Look at every class of documents first..last-1; weights are only read. Writes `loss` and `gap` of `seen`.

    `scored` is None, or has a row for each of these documents with what they score on every attribute alone.
    """
    sign, old = scratch.sign, scratch.old
    for i in range(first, last):
        if scored is None:
            score_document(task.X, i, rows, outputs, scores, scratch.several)
        else:
            for a in range(len(scores)):
                scores[a] = scored[i - first, a]
            sum_down(outputs, scores, scratch.several)
        set_signs(task, i, sign, 1.0)
        start, end = pairs.start[i], pairs.start[i] + pairs.count[i]
        for k in range(start, end):
            old[pairs.classes[k]] = pairs.alpha[k]
        loss, gap = 0.0, 0.0
        for c in range(len(sign)):
            margin = 1.0 - sign[c] * np.float64(class_score(outputs, scores, c))
            if margin > 0.0 or old[c] > 0.0:
                more_loss, more_gap = add_loss(margin, old[c], task.C[i], task.squared)
                loss += more_loss
                gap += more_gap
        seen.loss[i], seen.gap[i] = loss, gap
        for k in range(start, end):
            old[pairs.classes[k]] = 0.0
        set_signs(task, i, sign, -1.0)


@inner
def gather(b, i, look, task, rows, outputs, pairs, scores, scratch):
    """Write what document i scores on the attributes of its pairs, with `look` on all, into scores[b]."""
    if look:
        score_attributes(task.X, i, rows, scores[b])
    elif pairs.count[i] > 0:
        start = pairs.start[i]
        classes = pairs.classes[start : start + pairs.count[i]]
        n_few = collect_blocks(outputs, classes[0], classes[1:], scratch.mark, scratch.blocks)
        score_blocks(task.X, i, rows, scratch.blocks, n_few, scores[b])


@inner
def list_pairs(i, look, task, outputs, pairs, scores, scratch):
    """Write class, score and alpha of the pairs worth a step: those with weight and, with `look`, all that violate.

    Gives how many there are. Signs are set.
    """
    found, score, alpha, old, sign = scratch.found, scratch.score, scratch.alpha, scratch.old, scratch.sign
    start, count = pairs.start[i], pairs.count[i]
    if not look:
        for k in range(count):
            found[k], alpha[k] = pairs.classes[start + k], pairs.alpha[start + k]
            score[k] = path_sum(outputs, scores, found[k])
        return count
    sum_down(outputs, scores, scratch.several)
    for k in range(start, start + count):
        old[pairs.classes[k]] = pairs.alpha[k]
    n_pairs = 0
    for c in range(len(sign)):
        f = np.float64(class_score(outputs, scores, c))
        if sign[c] * f < 1.0 or old[c] > 0.0:
            found[n_pairs], score[n_pairs], alpha[n_pairs] = c, f, old[c]
            n_pairs += 1
    for k in range(start, start + count):
        old[pairs.classes[k]] = 0.0
    return n_pairs


@inner
def climb(n_pairs, x_norm2, D, U, outputs, lambda2, scratch):
    """Climb the dual along the pairs of one document, one after the other, until steps are small.

    Changes `alpha`, `moved` and `change` of scratch: `change` takes the sum of y d over the classes with an attribute.
    """
    found, score, alpha, change, sign = scratch.found, scratch.score, scratch.alpha, scratch.change, scratch.sign
    first = 0.0
    moved = False
    for _ in range(MOST_PASSES):
        largest = 0.0
        for k in range(n_pairs):
            c = found[k]
            f = score[k]
            if moved:
                # f += |x|^2 <Lambda(c), what has changed>
                for p in range(outputs.path_indptr[c], outputs.path_indptr[c + 1]):
                    a = outputs.path_indices[p]
                    f += x_norm2 * outputs.v2[a] * change[a]
            G = 1.0 - sign[c] * f - D * alpha[k]
            new = min(max(alpha[k] + G / (lambda2[c] * x_norm2 + D), 0.0), U)
            d = new - alpha[k]
            if d != 0.0:
                largest = max(largest, abs(d))
                alpha[k] = new
                scratch.moved[k] = 1
                add_to_path(outputs, change, c, sign[c] * d)
                moved = True
        first = max(first, largest)
        if largest <= ENOUGH * first:
            break


@inner
def keep_pairs(i, n_pairs, pairs, scratch):
    """Write the pairs of document i that carry weight back, in their old places or at the end of the pool."""
    needed = 0
    for k in range(n_pairs):
        needed += scratch.alpha[k] > 0.0
    if needed > pairs.capacity[i]:
        room = min(np.int64(SPARE * needed) + 1, np.int64(len(scratch.sign)))
        pairs.start[i], pairs.capacity[i] = pairs.filled[0], room
        pairs.filled[0] += room
    place = pairs.start[i]
    for k in range(n_pairs):
        if scratch.alpha[k] > 0.0:
            pairs.classes[place], pairs.alpha[place] = scratch.found[k], scratch.alpha[k]
            place += 1
    pairs.count[i] = needed


@inner
def collect_changes(b, n_pairs, outputs, changes, scratch):
    """Write what the steps of a document mean for the weights into place b of `changes`: v_z^2 times `change`.

    Changes `found`, and leaves `moved` and `change` at 0.
    """
    n_moved = 0
    total = 0.0
    for k in range(n_pairs):
        if scratch.moved[k] != 0:
            scratch.moved[k] = 0
            total += abs(scratch.alpha[k] - scratch.old[k])
            scratch.found[n_moved] = scratch.found[k]
            n_moved += 1
    changes.count[b] = 0
    if n_moved == 0:
        return
    blocks = changes.blocks[b]
    n_few = collect_blocks(outputs, scratch.found[0], scratch.found[1:n_moved], scratch.mark, blocks)
    changes.count[b] = write_changes(outputs, blocks, n_few, total, scratch, changes, b)


@inner
def step_document(
    i, b, gram, look, task, outputs, lambda2, pairs, seen, now, quiet, scores, changes, n_before, before, scratch
):  # fmt: skip
    """Take the steps of document i, at place b of its batch; the weights are as they were before the batch.

    Changes pairs and `seen` of the document, and writes into place b of `changes` what that means for the weights.
    """
    # scores += what the documents before it in the batch have changed
    for m in range(n_before):
        a = before[m]
        g = gram[a, b]
        if g != 0:
            for k in range(changes.count[a]):
                s, c = np.uint64(BLOCK * changes.blocks[a, k]), np.uint64(BLOCK * k)
                for t in range(np.uint64(BLOCK)):
                    scores[s + t] += g * changes.values[a, c + t]
    C = task.C[i]
    set_signs(task, i, scratch.sign, 1.0)
    n_pairs = list_pairs(i, look, task, outputs, pairs, scores, scratch)
    loss, gap = 0.0, 0.0
    for k in range(n_pairs):
        scratch.old[k] = scratch.alpha[k]
        margin = 1.0 - scratch.sign[scratch.found[k]] * scratch.score[k]
        more_loss, more_gap = add_loss(margin, scratch.alpha[k], C, task.squared)
        loss += more_loss
        gap += more_gap
    seen.loss[i], seen.gap[i] = loss, gap
    changes.count[b] = 0
    if gap <= quiet:
        seen.patience[i] = min(seen.patience[i] + 1, MOST_PATIENT)
        seen.next_visit[i] = now + (1 << seen.patience[i])
    else:
        seen.patience[i] = 0
        D, U = (0.5 / C, np.inf) if task.squared else (0.0, C)
        climb(n_pairs, task.x_norm2[i], D, U, outputs, lambda2, scratch)
        keep_pairs(i, n_pairs, pairs, scratch)
        collect_changes(b, n_pairs, outputs, changes, scratch)
    for k in range(n_pairs):
        scratch.old[k] = 0.0
    set_signs(task, i, scratch.sign, -1.0)


@kernel
def sweep(
    task, batches, grams, order, look, rows, outputs, lambda2, pairs, seen, now, quiet, scores, changes, scratch,
    thread, steps, first, at, full,
):  # fmt: skip
    """One thread's part of a pass of exact steps over the documents of batches `order`; all threads call it.

    Of a batch, the threads share out the scoring. Then the first takes the steps of one document after the other, each
    with the scores set right for the steps before it (`grams` has the products of the documents of each batch). Then
    each thread changes the rows of its shard. When the pool of pairs, or some shard, has no room left, all threads give
    the batch they are in: make room and call again from there, `full` telling that its steps are done and what is still
    to be changed is in `at`. Gives len(order) at the end, and -1 when called off before anything was done.
    """
    n_threads = len(steps) - 1
    n_batch, n_blocks = batches.shape[1], scores.shape[1] // BLOCK
    due = np.empty(n_batch, dtype=np.int64)  # places in the batch
    documents = np.empty(n_batch, dtype=np.int64)
    resumed = full[0] != 0
    if not wait_for_all(steps, thread):
        return -1
    if thread == 0:
        full[0] = 0  # all have read it …
    wait_for_all(steps, thread)  # … and nobody may set it before
    while first < len(order):
        batch, gram = batches[order[first]], grams[order[first]]
        n_due = 0
        for b in range(n_batch):
            i = batch[b]
            documents[b] = max(i, 0)
            if i >= 0 and (resumed or seen.next_visit[i] <= now):
                due[n_due] = b
                n_due += 1
        if not resumed and n_due > 0:
            if len(pairs.classes) - pairs.filled[0] < n_batch * len(lambda2):
                return first
            for m in range(n_due * thread // n_threads, n_due * (thread + 1) // n_threads):
                gather(due[m], batch[due[m]], look, task, rows, outputs, pairs, scores, scratch)
            at[thread, 0] = 0
            if not wait_for_all(steps, thread):
                return -1
            if thread == 0:
                changes.count[:] = 0
                for m in range(n_due):
                    b = due[m]
                    step_document(
                        batch[b], b, gram, look, task, outputs, lambda2, pairs, seen, now, quiet, scores[b],
                        changes, m, due, scratch,
                    )  # fmt: skip
            wait_for_all(steps, thread)
        if resumed or n_due > 0:
            resumed = False
            if not change_weights(task.X, documents, changes, thread, at, rows, n_blocks):
                full[0] = 1
            wait_for_all(steps, thread)
            if full[0] != 0:
                return first
        first += 1
    return len(order)


@kernel
def multiply_batches(X_indptr, X_indices, X_data, batches, n_features, grams):
    """Write the products <x_a, x_b> of the documents of each batch, a before b, into `grams`; -1 stands for none."""
    values = np.zeros(n_features)
    for k in range(len(batches)):
        for a in range(batches.shape[1]):
            i = batches[k, a]
            if i < 0:
                continue
            for p in range(X_indptr[i], X_indptr[i + 1]):
                values[X_indices[p]] = X_data[p]
            for b in range(a + 1, batches.shape[1]):
                j = batches[k, b]
                if j < 0:
                    continue
                total = 0.0
                for p in range(X_indptr[j], X_indptr[j + 1]):
                    total += values[X_indices[p]] * X_data[p]
                grams[k, a, b] = total
            for p in range(X_indptr[i], X_indptr[i + 1]):
                values[X_indices[p]] = 0.0
