"""Where to end an answer: the cut with the fewest errors on a document, and cut-offs with the largest F1."""

from __future__ import annotations

import numpy as np

from pinakes.kernels.compile import kernel


@kernel
def best_intervals(scores, indptr, indices, width, lower, upper):
    """Write the ends of the interval of cuts with the fewest errors on each document into `lower` and `upper`.

    A cut t takes in the classes with scores >= t. Of several intervals with equally few errors the widest is taken, of
    equally wide ones the highest; one without an end (-inf or inf is written) counts as `width` wide.
    """
    n_samples, n_classes = scores.shape
    own = np.zeros(n_classes, dtype=np.bool_)
    for i in range(n_samples):
        order = np.argsort(-scores[i], kind="mergesort")
        for p in range(indptr[i], indptr[i + 1]):
            own[indices[p]] = True
        errors = indptr[i + 1] - indptr[i]  # nothing taken in: all labels are left out
        fewest, widest = errors, width
        upper[i], lower[i] = np.inf, scores[i, order[0]]
        for k in range(n_classes):
            errors += -1 if own[order[k]] else 1
            if errors > fewest:
                continue
            above = scores[i, order[k]]
            below = -np.inf
            if k + 1 < n_classes:
                below = scores[i, order[k + 1]]
                if below == above:  # no cut between equals
                    continue
            wide = above - below if k + 1 < n_classes else width
            if errors < fewest or wide > widest:
                fewest, widest = errors, wide
                upper[i], lower[i] = above, below
        for p in range(indptr[i], indptr[i + 1]):
            own[indices[p]] = False


@kernel
def count_above(scores, true, indptr, counts, below):
    """Add a block of scores to the tally of each column, with true scores true[indptr[k]:indptr[k + 1]], ascending.

    Place m of column k holds the scores from its m-th smallest true score (m = 0: anything less) up to the next, and
    `below` the largest of them.
    """
    for k in range(scores.shape[1]):
        first, last = indptr[k], indptr[k + 1]
        if first == last:
            continue
        for i in range(scores.shape[0]):
            score = scores[i, k]
            low, high = first, last  # how many true scores are <= score
            while low < high:
                middle = (low + high) // 2
                if true[middle] <= score:
                    low = middle + 1
                else:
                    high = middle
            at = low + k
            counts[at] += 1
            if score > below[at]:
                below[at] = score


@kernel
def best_f1(true, indptr, counts, below, cutoffs, reached):
    """Write the cut-off with the largest F1 for each column that has a true score; others keep what they have.

    F1 of a cut-off = 2 hits / (answers + true ones); of equals, the highest cut-off. `reached` takes the F1.
    """
    for k in range(len(cutoffs)):
        first, last = indptr[k], indptr[k + 1]
        n_true, answers = last - first, 0
        best = 0.0
        for m in range(last - 1, first - 1, -1):  # cut right at true[m]
            answers += counts[m + 1 + k]
            if m > first and true[m - 1] == true[m]:  # the lowest of equal ones counts them all
                continue
            f1 = 2.0 * (last - m) / (answers + n_true)
            if f1 > best:
                best = f1
                reached[k] = f1
                down = below[m + k]
                cutoffs[k] = true[m]
                if down > -np.inf and down + (true[m] - down) / 2 > down:
                    cutoffs[k] = down + (true[m] - down) / 2
