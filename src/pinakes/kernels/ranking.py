"""Scores and rankings of documents over all classes; the weights are only read."""

from __future__ import annotations

import numpy as np

from pinakes.kernels.compile import kernel
from pinakes.kernels.outputs import class_score, score_document, sum_down

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


@kernel
def rank_classes(X, first, last, rows, outputs, scored, temperature, classes, values, total):
    """Write the best classes of documents first..last-1 and their scores, best first; of equals the lower class first.

    As many as `classes` and `values` have columns, which must not be more than there are classes. With a positive
    temperature, `total` takes the sum over all classes of exp((score - best score) / temperature).
    """
    most = classes.shape[1]
    scores = np.zeros(len(outputs.v2), dtype=values.dtype)
    several = np.zeros(len(outputs.multi))
    for i in range(first, last):
        if scored is None:
            score_document(X, i, rows, outputs, scores, several)
        else:
            for a in range(len(scores)):
                scores[a] = scored[i - first, a]
            sum_down(outputs, scores, several)
        found = 0
        for c in range(len(outputs.own)):
            score = class_score(outputs, scores, c)
            if found < most or score > values[i, most - 1]:
                k = min(found, most - 1)
                found = min(found + 1, most)
                while k > 0 and values[i, k - 1] < score:
                    values[i, k] = values[i, k - 1]
                    classes[i, k] = classes[i, k - 1]
                    k -= 1
                values[i, k] = score
                classes[i, k] = c
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
