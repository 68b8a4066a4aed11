"""Probabilities from scores, carried up a taxonomy; one document after the other.

    P(v) = sum of the probabilities of the distinct classes at or below v

and never more than that of a node above it, whatever the rounding: a parent is never less likely than its child.

`below` says which classes lie at or below a node: classes[first[v]:last[v]], or, where there are no `classes`, the
classes from first[v] to last[v] themselves. On a lattice a class counts once, however many ways lead there.
"""

from __future__ import annotations

import numpy as np

from pinakes.kernels.compile import inner, kernel, summing

SMALLEST = -25.0  # exp of less than this adds nothing that shows
BLOCK = 64  # scores whose largest is found at a time


@summing
def _exp(x):
    """Give exp(x) for x from SMALLEST to 0: a series for x / 64, squared six times.

    Unlike the one of the library it is worked out for several x at once. Right to nine digits, of single numbers to
    five, which is more than the scores are worth.
    """
    kind = type(x)
    h = x * kind(1 / 64)
    y = h * kind(1 / 362880) + kind(1 / 40320)
    y = h * y + kind(1 / 5040)
    y = h * y + kind(1 / 720)
    y = h * y + kind(1 / 120)
    y = h * y + kind(1 / 24)
    y = h * y + kind(1 / 6)
    y = h * y + kind(1 / 2)
    y = h * y + kind(1.0)
    y = h * y + kind(1.0)
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    return y * y


@summing
def _weigh(scores, largest, slope, weights):
    """Write exp(slope * (score - largest)) for each score, in its precision, and give the sum, in double."""
    kind = scores.dtype.type
    smallest, nothing = kind(SMALLEST), kind(0.0)
    for k in range(len(scores)):
        below = slope * (scores[k] - largest)
        weight = _exp(max(below, smallest))
        weights[k] = weight if below > smallest else nothing
    total = np.float64(0.0)
    for k in range(len(weights)):
        total += weights[k]
    return total


@summing
def _largest(values):
    largest = values.dtype.type(-np.inf)
    for k in range(len(values)):
        largest = values[k] if values[k] > largest else largest
    return largest


@inner
def _largest_two(row):
    """Give the largest and the second largest, -inf where there is no second, and where the largest is."""
    first = second = row.dtype.type(-np.inf)
    inside = 0  # the block of the largest
    for start in range(0, len(row), BLOCK):
        value = _largest(row[start : start + BLOCK])
        if value > first:
            first, second, inside = value, first, start
        elif value > second:
            second = value
    at = inside
    while at < len(row) - 1 and row[at] != first:
        at += 1
    for k in range(inside, min(inside + BLOCK, len(row))):
        if k != at and row[k] > second:
            second = row[k]
    return first, second, at


@kernel
def largest_two(scores, largest, lead):
    """Write the largest of each row, and its lead over the second largest; 0 where there is no second."""
    for i in range(len(scores)):
        first, second, _ = _largest_two(scores[i])
        largest[i], lead[i] = first, first - second if second > -np.inf else 0.0


@kernel
def shares(scores, b, least, knots, out):
    """Write softmax(slope * scores[i]) into `out`, row by row, and correct the share of the best class.

    The slope is b_0 + b_1 (largest score) + b_2 (its lead over the second), and at least `least`. `knots` has two rows:
    a share of the best class, and how often classes with that share are right; both ascend from 0 to 1, and lines are
    drawn between them. The other classes keep their proportions, and none passes the best one.
    """
    kind, weights = scores.dtype.type, np.empty(scores.shape[1], dtype=scores.dtype)
    ahead = 1.0 + 256.0 * np.finfo(scores.dtype).eps  # the best class stays ahead of the second, whatever the rounding
    for i in range(len(scores)):
        largest, second, best = _largest_two(scores[i])
        lead = largest - second
        slope = max(b[0] + b[1] * largest + b[2] * (lead if second > -np.inf else 0.0), least)
        total = _weigh(scores[i], largest, kind(slope), weights)
        next_one = _exp(max(-kind(slope) * lead, kind(SMALLEST))) / total
        rest = (total - 1.0) / total
        right = np.interp(1.0 / total, knots[0], knots[1])
        factor = 1.0
        if rest > 0.0:
            fewest = next_one / (rest + next_one)
            right = right if right >= fewest else min(1.0, ahead * fewest)
            factor = (1.0 - right) / rest
        else:
            right = 1.0
        factor /= total
        row = out[i]
        for k in range(len(row)):
            row[k] = factor * weights[k]
        row[best] = right


@kernel
def surprise_of_shares(scores, largest, slope, true, unknown, pull):
    """Give the mean of -log p(true) under softmax(slope * scores); `pull` takes the derivative by the slopes.

    A share `unknown` of every document is of no known class: there all classes count the same.
    """
    value = 0.0
    for i in range(len(scores)):
        total, below, mean, n_finite = 0.0, 0.0, 0.0, 0
        for k in range(scores.shape[1]):
            gap = scores[i, k] - largest[i]
            if gap > -np.inf:
                mean += gap
                n_finite += 1
                if slope[i] * gap > SMALLEST:
                    weight = np.exp(slope[i] * gap)
                    total += weight
                    below += weight * gap
        expected = (1.0 - unknown) * (scores[i, true[i]] - largest[i]) + unknown * mean / n_finite
        value += np.log(total) - slope[i] * expected
        pull[i] = (below / total - expected) / len(scores)
    return value / len(scores)


@summing
def probability(p, v, below):
    """Give P(v) of one document, as it is rounded by itself."""
    first, last, classes = below
    total = 0.0
    if len(classes):
        inside = classes[first[v] : last[v]]
        for q in range(len(inside)):
            total += p[inside[q]]
    else:
        shares = p[first[v] : last[v]]
        for k in range(len(shares)):  # by number, so that several are added at once
            total += shares[k]
    return min(total, 1.0)


@kernel
def add_up(p, below, parents_indptr, parents_indices, out):
    """Write P(v) of each row of `p`, documents by classes, into `out`, documents by nodes; parents come first."""
    for i in range(len(p)):
        for v in range(out.shape[1]):
            P = probability(p[i], v, below)
            for q in range(parents_indptr[v], parents_indptr[v + 1]):
                P = min(P, out[i, parents_indices[q]])
            out[i, v] = P


@kernel
def of_nodes(p, documents, nodes, below, up_indptr, up_indices, out):
    """Write P(v) for pairs of a document and a node; `up` has the ancestors of every node, itself included."""
    for j in range(len(nodes)):
        out[j] = 1.0
        for q in range(up_indptr[nodes[j]], up_indptr[nodes[j] + 1]):
            out[j] = min(out[j], probability(p[documents[j]], up_indices[q], below))


@kernel
def carry_up(values, children_indptr, children_indices):
    """Raise every value of each row, documents by nodes, to the largest among the node's children; in place."""
    for i in range(len(values)):
        for v in range(values.shape[1] - 1, -1, -1):
            for q in range(children_indptr[v], children_indptr[v + 1]):
                values[i, v] = max(values[i, v], values[i, children_indices[q]])
