"""Scores and rankings of documents over all classes; the weights are only read."""

from __future__ import annotations

import numpy as np

from pinakes.kernels.compile import inner, kernel
from pinakes.kernels.outputs import class_score, find_highest, score_document, sum_down
from pinakes.kernels.rows import BLOCK
from pinakes.kernels.vectors import any_above

NEAR, FAR = -0.9, -1.1  # scores about the margin of what a document is not
SMALLEST = -30.0  # exp of less than this adds nothing that shows


@kernel
def score_classes(X, first, last, rows, outputs, scored, out):
    """Write the scores of all classes for documents first..last-1 into `out` (documents by classes).

    `scored` is None, or has a row for each of these documents with what they score on every attribute alone: then the
    documents themselves, and `rows`, are not looked at.
    """
    scores = np.zeros(len(outputs.v2), dtype=out.dtype)
    several = np.zeros(len(outputs.multi))
    for i in range(first, last):
        if scored is None:
            score_document(X, i, rows, outputs, scores, several)
        else:
            for a in range(len(scores)):
                scores[a] = scored[i - first, a]
            sum_down(outputs, scores, several)
        for k in range(len(outputs.own)):
            out[i, k] = class_score(outputs, scores, k)


@inner
def find_best(outputs, scores, highest, classes, values):
    """Write the best classes and their scores into `classes` and `values`, best first; of equals the lower class first.

    `highest` is scratch. A block is passed over if nothing in it were as good as the last of them even below the
    highest in its window.
    """
    found, most = 0, len(values)
    limit, lowest = scores.dtype.type(0), scores.dtype.type(-np.inf)
    find_highest(outputs, scores, highest)
    for b in range(np.uint64(outputs.first_own // BLOCK), np.uint64(len(scores) // BLOCK)):
        start = b * np.uint64(BLOCK)
        if found == most and not any_above(scores, start, highest[outputs.window[b]], None, limit):
            continue
        for a in range(start, start + np.uint64(BLOCK)):
            c = outputs.class_of[a]
            score = scores[a] + scores[outputs.up[a]]
            if c < 0 or (found == most and not is_before(score, c, values, classes, most - 1)):
                continue
            k = min(found, most - 1)
            found = min(found + 1, most)
            while k > 0 and is_before(score, c, values, classes, k - 1):
                values[k] = values[k - 1]
                classes[k] = classes[k - 1]
                k -= 1
            values[k] = score
            classes[k] = c
            if found == most:
                limit = np.nextafter(values[most - 1], lowest)  # an equal one may be a lower class


@inner
def is_before(score, c, values, classes, k):
    """Say whether class c with this score comes before place k."""
    return score > values[k] or (score == values[k] and c < classes[k])


@kernel
def rank_classes(X, first, last, rows, outputs, scored, temperature, classes, values, total):
    """Write the best classes of documents first..last-1 and their scores, best first; of equals the lower class first.

    As many as `classes` and `values` have columns, which must not be more than there are classes. With a positive
    temperature, `total` takes the sum over all classes of exp((score - best score) / temperature).
    """
    scores = np.zeros(len(outputs.v2), dtype=values.dtype)
    highest = np.zeros(outputs.first_own + 2, dtype=values.dtype)
    several = np.zeros(len(outputs.multi))
    for i in range(first, last):
        if scored is None:
            score_document(X, i, rows, outputs, scores, several)
        else:
            for a in range(len(scores)):
                scores[a] = scored[i - first, a]
            sum_down(outputs, scores, several)
        find_best(outputs, scores, highest, classes[i], values[i])
        if temperature > 0:
            for c in range(len(outputs.own)):
                below = np.float64(class_score(outputs, scores, c) - values[i, 0]) / temperature
                if below > SMALLEST:
                    total[i] += np.exp(below)


@kernel
def lower_rare(scores, loss):
    """Lower the scores of each row beyond the margin, in place: by loss[k] from FAR on, by nothing down to NEAR."""
    for i in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            beyond = (NEAR - scores[i, k]) / (NEAR - FAR)
            if beyond > 0.0:
                scores[i, k] -= loss[k] * min(beyond, 1.0)
