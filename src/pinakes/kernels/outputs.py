"""The classes as the kernels see them: attributes laid out from top to bottom, and the loss Delta between classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pinakes.kernels.compile import inner
from pinakes.kernels.layouts import score_attributes
from pinakes.kernels.rows import BLOCK

LOSS_NODES = 0
LOSS_MATRIX = 1
WINDOW = 8  # attributes side by side; that is where what is above a block of own attributes mostly is
ANY_HEIGHT = 1e30  # more than any score; times a Delta of 0 it is 0, as inf would not be


class Outputs(NamedTuple):
    """What the kernels know of the classes: attributes as in `ClassAttributes`, and Delta.

    Delta(y, y') = miss[y] + false[a'] - sum over common attributes of both, where a' is the own attribute of y'; for
    LOSS_MATRIX it is matrix[y, y']. Where `squared`, slacks are squared in the objective, and the root of the loss is
    in the constraints (solvers/ascent.py): kernels know that root as Delta, and `matrix` has it already.
    """

    own: np.ndarray  # int32 (n_classes,)
    first_own: int  # all attributes from here on are own ones, or empty
    class_of: np.ndarray  # int32 (n_padded,): class of an own attribute, -1 for shared ones
    path_indptr: np.ndarray  # int64 (n_classes + 1,)
    path_indices: np.ndarray  # int32
    path_values: np.ndarray  # float64: Lambda at these attributes, where `weighted`; elsewhere it is v
    weighted: bool
    v2: np.ndarray  # float64 (n_padded,)
    up: np.ndarray  # uint32 (n_padded,): an attribute right above, or one that is always 0
    window: np.ndarray  # uint32 (n_blocks,): first of WINDOW attributes that `up` of the block are among; first_own …
    # … if they are the one that is always 0, first_own + 1 if they are anywhere
    multi: np.ndarray  # int32 (n_multi,): attributes with more above them than `up` and what is above that …
    multi_indptr: np.ndarray  # int64: … and what that is
    multi_indices: np.ndarray  # int32
    loss_kind: int
    squared: bool
    miss: np.ndarray  # float64 (n_classes,)
    false: np.ndarray  # float64 (n_padded,): NaN for shared ones, so that no comparison with them holds
    both: np.ndarray  # float64 (n_padded,)
    matrix: np.ndarray  # float64 (n_classes, n_classes), or (0, 0)
    below_indptr: np.ndarray  # int64 (n_padded + 1,)
    below: np.ndarray  # int32 (n_runs, 2): the attributes below each one, itself included, as runs start..end-1


@inner
def sum_down(outputs, scores, several):
    """Add to the score of each shared attribute those of everything above it, in place; `class_score` adds the rest.

    `several` is scratch of len(multi).
    """
    for m in range(len(outputs.multi)):
        total = 0.0
        for k in range(outputs.multi_indptr[m], outputs.multi_indptr[m + 1]):
            if outputs.weighted:  # multi[m] is then the place of class m, and `up` is empty
                total += outputs.path_values[k] * scores[outputs.multi_indices[k]]
            else:
                total += scores[outputs.multi_indices[k]]
        several[m] = total
    for m in range(len(outputs.multi)):
        scores[outputs.multi[m]] += several[m]
    # from top to bottom; attributes without a parent take the empty place at the end, which stays 0
    for a in range(np.uint64(outputs.first_own)):
        scores[a] += scores[outputs.up[a]]


@inner
def class_score(outputs, scores, c):
    """Give the score of class c, where `sum_down` has been called."""
    a = outputs.own[c]
    return scores[a] + scores[outputs.up[a]]


@inner
def find_highest(outputs, scores, highest):
    """Write the highest score in each window of shared attributes into `highest`, where `sum_down` has been called.

    As `Outputs.window` has it: 0 at first_own, and after that more than any score.
    """
    for a in range(np.uint64(outputs.first_own)):
        top = scores[a]
        for k in range(1, WINDOW):
            score = scores[a + np.uint64(k)]
            top = score if score > top else top
        highest[a] = top
    highest[outputs.first_own] = 0
    highest[outputs.first_own + 1] = ANY_HEIGHT


@inner
def delta_row(outputs, y, delta):
    """Write Delta(y, y') at the own attribute of every class y' into `delta`; shared ones keep what they have."""
    if outputs.loss_kind == LOSS_MATRIX:
        for k in range(len(outputs.own)):
            delta[outputs.own[k]] = outputs.matrix[y, k]
        return
    # delta = miss[y] + false - both of what is shared: only what lies below y's own attributes shares anything
    miss = delta.dtype.type(outputs.miss[y])
    for a in range(np.uint64(outputs.first_own), np.uint64(len(delta))):
        delta[a] = miss + outputs.false[a]
    for k in range(outputs.path_indptr[y], outputs.path_indptr[y + 1]):
        z = outputs.path_indices[k]
        both = delta.dtype.type(outputs.both[z])
        if both != 0:
            for r in range(outputs.below_indptr[z], outputs.below_indptr[z + 1]):
                for a in range(np.uint64(outputs.below[r, 0]), np.uint64(outputs.below[r, 1])):
                    delta[a] -= both
    delta[outputs.own[y]] = 0
    if outputs.squared:
        for a in range(np.uint64(outputs.first_own), np.uint64(len(delta))):
            delta[a] = np.sqrt(delta[a])


@inner
def delta_pair(outputs, y, k):
    """Give Delta(y, k) for two classes."""
    if outputs.loss_kind == LOSS_MATRIX:
        return outputs.matrix[y, k]
    if y == k:
        return 0.0
    delta = outputs.miss[y] + outputs.false[outputs.own[k]] - common(outputs, outputs.both, y, k)
    return np.sqrt(delta) if outputs.squared else delta


@inner
def common(outputs, values, k, m):
    """Sum `values` over the attributes that classes k and m share, times what both have of them where `weighted`."""
    total = 0.0
    p, p_end = outputs.path_indptr[k], outputs.path_indptr[k + 1]
    q, q_end = outputs.path_indptr[m], outputs.path_indptr[m + 1]
    if len(outputs.multi) == 0:  # a tree: what two paths share is where both begin
        while p < p_end and q < q_end and outputs.path_indices[p] == outputs.path_indices[q]:
            total += values[outputs.path_indices[p]]
            p += 1
            q += 1
        return total
    while p < p_end and q < q_end:
        a, b = outputs.path_indices[p], outputs.path_indices[q]
        if a == b:
            if outputs.weighted:
                total += values[a] * outputs.path_values[p] * outputs.path_values[q]
            else:
                total += values[a]
            p += 1
            q += 1
        elif a < b:
            p += 1
        else:
            q += 1
    return total


@inner
def score_document(X, i, rows, outputs, scores, several):
    """Write what document i scores on every attribute, of shared ones everything above included, into `scores`."""
    score_attributes(X, i, rows, scores)
    sum_down(outputs, scores, several)


@inner
def path_sum(outputs, scores, c):
    """Sum the scores over the attributes of class c."""
    total = 0.0
    for p in range(outputs.path_indptr[c], outputs.path_indptr[c + 1]):
        if outputs.weighted:
            total += outputs.path_values[p] * scores[outputs.path_indices[p]]
        else:
            total += scores[outputs.path_indices[p]]
    return total


@inner
def add_to_path(outputs, change, c, weight):
    """Add `weight` to `change` at the attributes of class c, times what it has of them where `weighted`."""
    for p in range(outputs.path_indptr[c], outputs.path_indptr[c + 1]):
        if outputs.weighted:
            change[outputs.path_indices[p]] += weight * outputs.path_values[p]
        else:
            change[outputs.path_indices[p]] += weight


@inner
def collect_blocks(outputs, y_i, classes, mark, blocks):
    """Write the blocks of y_i's and the `classes`' attributes into `blocks`, each once; give how many there are.

    `mark` is scratch, and left at 0.
    """
    n_few = 0
    for k in range(-1, len(classes)):
        c = y_i if k < 0 else classes[k]
        for p in range(outputs.path_indptr[c], outputs.path_indptr[c + 1]):
            block = outputs.path_indices[p] // BLOCK
            if mark[block] == 0:
                mark[block] = 1
                blocks[n_few] = block
                n_few += 1
    for k in range(n_few):
        mark[blocks[k]] = 0
    return n_few
