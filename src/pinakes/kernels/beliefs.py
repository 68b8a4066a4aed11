"""Probabilities from scores, carried up a taxonomy; one document after the other.

    P(v) = sum of the probabilities of the distinct classes at or below v

On a tree this is one pass from the last inner node to the first (parents come before children). On a lattice a class
counts once for each node above it, however many ways lead there, and classes are added in one order everywhere. Adding
numbers that are not negative never makes a sum smaller, rounded or not, and so a parent is never less likely than its
child.

All is worked out in the precision of the scores; sums over classes, in double.
"""

from __future__ import annotations

import numpy as np

from pinakes.kernels.compile import inner, kernel, summing

SMALLEST = -25.0  # exp of less than this adds nothing that shows
BLOCK = 64  # scores whose largest is found at a time
AHEAD = 1.0 + 1e-9  # the best class stays ahead of the second, whatever the rounding


@inner
def _exp(x):
    """Give exp(x) for x from SMALLEST to 0: a series for x / 64, squared six times.

    Unlike the one of the library it is worked out for several x at once. Right to nine digits, of single numbers to
    five, which is what their scores are worth.
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
    """Write exp(slope * (score - largest)) for each score, and give the sum."""
    kind = scores.dtype.type
    smallest, nothing = kind(SMALLEST), kind(0.0)
    total = nothing
    for k in range(len(scores)):
        below = slope * (scores[k] - largest)
        weight = _exp(max(below, smallest))
        weight = weight if below > smallest else nothing
        weights[k] = weight
        total += weight
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
    kind = scores.dtype.type
    for i in range(len(scores)):
        row = out[i]
        largest, second, best = _largest_two(scores[i])
        lead = largest - second
        slope = max(b[0] + b[1] * largest + b[2] * (lead if second > -np.inf else 0.0), least)
        total = float(_weigh(scores[i], largest, kind(slope), row))
        next_one = np.exp(-slope * lead) / total
        rest = (total - 1.0) / total
        right = np.interp(1.0 / total, knots[0], knots[1])
        factor = 1.0
        if rest > 0.0:
            fewest = next_one / (rest + next_one)
            right = right if right >= fewest else min(1.0, AHEAD * fewest)
            factor = (1.0 - right) / rest
        else:
            right = 1.0
        factor = kind(factor / total)
        for k in range(len(row)):
            row[k] *= factor
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


@inner
def _climb(a, b, c, d, inner_nodes, indptr, indices):
    """Add to every inner node what its children have, in four rows at once; the same row may be given several times."""
    for v in inner_nodes:
        in_a, in_b, in_c, in_d = a[v], b[v], c[v], d[v]
        for q in range(indptr[v], indptr[v + 1]):
            child = indices[q]
            in_a += a[child]
            in_b += b[child]
            in_c += c[child]
            in_d += d[child]
        a[v], b[v], c[v], d[v] = min(in_a, 1.0), min(in_b, 1.0), min(in_c, 1.0), min(in_d, 1.0)


@kernel
def add_up(p, class_node, inner_nodes, children_indptr, children_indices, up_indptr, up_indices, out):
    """Write P(v) of each row of `p`, documents by classes, into `out`, documents by nodes.

    On a tree `inner_nodes` are the nodes that have children, from the last to the first. Without any, as for a lattice,
    `up` has the ancestors of every node, itself included.
    """
    last = len(p) - 1
    for i in range(len(p)):
        row = out[i]
        row[:] = 0.0
        if len(inner_nodes):
            for k in range(len(class_node)):
                row[class_node[k]] = p[i, k]
            if i % 4 == 3 or i == last:
                first = i - i % 4
                second, third = out[min(first + 1, i)], out[min(first + 2, i)]
                _climb(out[first], second, third, row, inner_nodes, children_indptr, children_indices)
        else:
            for k in range(len(class_node)):
                v = class_node[k]
                if p[i, k] > 0.0:
                    for q in range(up_indptr[v], up_indptr[v + 1]):
                        row[up_indices[q]] += p[i, k]
            for v in range(len(row)):
                row[v] = min(row[v], 1.0)


@kernel
def carry_up(values, children_indptr, children_indices):
    """Raise every value of each row, documents by nodes, to the largest among the node's children; in place."""
    for i in range(len(values)):
        for v in range(values.shape[1] - 1, -1, -1):
            for q in range(children_indptr[v], children_indptr[v + 1]):
                values[i, v] = max(values[i, v], values[i, children_indices[q]])
