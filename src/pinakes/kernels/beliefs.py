"""Probabilities from scores, carried up a taxonomy; one document after the other.

    P(v) = sum of the probabilities of the distinct classes at or below v

On a tree this is one pass from the last inner node to the first (parents come before children). On a lattice a class
counts once for each node above it, however many ways lead there. Adding numbers that are not negative never makes a
sum smaller, rounded or not, and so a parent is never less likely than its child.

A tree is given by `tree`: the parent of every node, len(parent) for a root; the nodes that have children, from the last
to the first; the roots; and the children of every node (indptr, indices). On a lattice the first two are empty, and
`up` (indptr, indices) has the ancestors of every node, itself included.
"""

from __future__ import annotations

import numpy as np

from pinakes.kernels.compile import inner, kernel, summing

SMALLEST = -25.0  # exp of less than this adds nothing that shows
AHEAD = 1.0 + 1e-9  # the best class stays ahead of the second, whatever the rounding


@inner
def _exp(x):
    """Give exp(x) to nine digits, for x from SMALLEST to 0: a series for x / 64, squared six times.

    Unlike the one of the library it is worked out for several x at once.
    """
    h = x * (1 / 64)
    y = h * (1 / 362880) + 1 / 40320
    y = h * y + 1 / 5040
    y = h * y + 1 / 720
    y = h * y + 1 / 120
    y = h * y + 1 / 24
    y = h * y + 1 / 6
    y = h * y + 1 / 2
    y = h * y + 1.0
    y = h * y + 1.0
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    return y * y


@summing
def _weigh(scores, largest, slope, weights):
    """Write exp(slope * (score - largest)) for each score, and give the sum."""
    total = 0.0
    for k in range(len(scores)):
        below = slope * (scores[k] - largest)
        weight = _exp(max(below, SMALLEST))
        weight = weight if below > SMALLEST else 0.0
        weights[k] = weight
        total += weight
    return total


@summing
def _largest(values):
    largest = values.dtype.type(-np.inf)
    for k in range(len(values)):
        largest = values[k] if values[k] > largest else largest
    return largest


@kernel
def largest_two(scores, largest, second, best):
    """Write the largest and the second largest of each row, and where the largest is; -inf where there is no second."""
    for i in range(len(scores)):
        row = scores[i]
        first = _largest(row)
        at = 0
        while at < len(row) - 1 and row[at] != first:
            at += 1
        largest[i], best[i] = first, at
        second[i] = max(_largest(row[:at]), _largest(row[at + 1 :]))


@kernel
def shares(scores, largest, second, best, slope, knots, out):
    """Write softmax(slope[i] * scores[i]) into `out`, row by row, and correct the share of the best class.

    `knots` has two rows: a share of the best class, and how often classes with that share are right; both ascend from 0
    to 1, and lines are drawn between them. The other classes keep their proportions, and none passes the best one.
    """
    for i in range(len(scores)):
        row = out[i]
        total = _weigh(scores[i], largest[i], slope[i], row)
        next_one = slope[i] * (second[i] - largest[i])
        next_one = _exp(next_one) / total if next_one > SMALLEST else 0.0
        rest = (total - 1.0) / total
        right = np.interp(1.0 / total, knots[0], knots[1])
        factor = 1.0
        if rest > 0.0:
            least = next_one / (rest + next_one)
            right = right if right >= least else min(1.0, AHEAD * least)
            factor = (1.0 - right) / rest
        else:
            right = 1.0
        factor /= total
        for k in range(len(row)):
            row[k] *= factor
        row[best[i]] = right


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
def add_up(p, class_node, tree, up_indptr, up_indices, out):
    """Write P(v) of each row of `p`, documents by classes, into `out`, documents by nodes."""
    parent, inner_nodes, _, indptr, indices = tree
    last = len(p) - 1
    for i in range(len(p)):
        row = out[i]
        row[:] = 0.0
        for k in range(len(class_node)):
            row[class_node[k]] = p[i, k]
        if len(parent):
            if i % 4 == 3 or i == last:
                first = i - i % 4
                _climb(out[first], out[min(first + 1, i)], out[min(first + 2, i)], row, inner_nodes, indptr, indices)
        else:
            for k in range(len(class_node)):
                v = class_node[k]
                if p[i, k] > 0.0:
                    for q in range(up_indptr[v], up_indptr[v + 1]):
                        if up_indices[q] != v:
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
