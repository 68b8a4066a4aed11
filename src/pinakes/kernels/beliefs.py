"""Probabilities from scores, carried up a taxonomy; one document after the other.

    P(v) = sum of the probabilities of the distinct classes at or below v

On a tree this is one pass from the last node to the first (parents come before children). On a lattice a class counts
once for each node above it, however many ways lead there. Adding numbers that are not negative never makes a sum
smaller, rounded or not, and so a parent is never less likely than its child.

A tree is given by `parent`, the parent of every node, len(parent) for a root. A lattice has an empty `parent`, and
`up` (indptr, indices), the ancestors of every node, itself included.
"""

from __future__ import annotations

import numpy as np

from pinakes.kernels.compile import kernel

SMALLEST = -25.0  # exp of less than this adds nothing that shows
AHEAD = 1.0 + 1e-9  # the best class stays ahead of the second, whatever the rounding


@kernel
def largest_two(scores, largest, second):
    """Write the largest and the second largest of each row; -inf where there is no second."""
    for i in range(len(scores)):
        largest[i], second[i] = -np.inf, -np.inf
        for k in range(scores.shape[1]):
            score = scores[i, k]
            if score > largest[i]:
                largest[i], second[i] = score, largest[i]
            elif score > second[i]:
                second[i] = score


@kernel
def shares(scores, largest, slope, knots, out):
    """Write softmax(slope[i] * scores[i]) into `out`, row by row, and correct the share of the best class.

    `knots` has two rows: a share of the best class, and how often classes with that share are right; both ascend from 0
    to 1, and lines are drawn between them. The other classes keep their proportions, and none passes the best one.
    """
    for i in range(len(scores)):
        total, best, second = 0.0, 0, 0.0
        for k in range(scores.shape[1]):
            below = slope[i] * (scores[i, k] - largest[i])
            weight = np.exp(below) if below > SMALLEST else 0.0
            out[i, k] = weight
            total += weight
            if weight > out[i, best] or k == 0:
                if k > 0:
                    second = out[i, best]
                best = k
            elif weight > second:
                second = weight
        share, second = out[i, best] / total, second / total
        rest = (total - out[i, best]) / total
        right = np.interp(share, knots[0], knots[1])
        factor = 1.0
        if rest > 0.0:
            least = second / (rest + second)
            right = right if right >= least else min(1.0, AHEAD * least)
            factor = (1.0 - right) / rest
        else:
            right = 1.0
        for k in range(scores.shape[1]):
            out[i, k] *= factor / total
        out[i, best] = right


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


@kernel
def add_up(p, class_node, parent, up_indptr, up_indices, out):
    """Write P(v) of each row of `p`, documents by classes, into `out`, documents by nodes."""
    n_nodes = out.shape[1]
    for i in range(len(p)):
        for v in range(n_nodes):
            out[i, v] = 0.0
        if len(parent):
            for k in range(len(class_node)):
                out[i, class_node[k]] = p[i, k]
            for v in range(n_nodes - 1, -1, -1):
                if parent[v] < n_nodes:
                    out[i, parent[v]] += out[i, v]
        else:
            for k in range(len(class_node)):
                if p[i, k] > 0.0:
                    v = class_node[k]
                    for q in range(up_indptr[v], up_indptr[v + 1]):
                        out[i, up_indices[q]] += p[i, k]
        for v in range(n_nodes):
            out[i, v] = min(out[i, v], 1.0)


@kernel
def carry_up(values, children_indptr, children_indices):
    """Raise every value of each row, documents by nodes, to the largest among the node's children; in place."""
    for i in range(len(values)):
        for v in range(values.shape[1] - 1, -1, -1):
            for q in range(children_indptr[v], children_indptr[v + 1]):
                values[i, v] = max(values[i, v], values[i, children_indices[q]])
