"""Answers from the probabilities of nodes (kernels/beliefs.py), one document after the other.

The answer NOTHING stands above all roots: it says that nothing is said.
"""

from __future__ import annotations

import numpy as np

from pinakes.kernels.compile import kernel

NOTHING = -1


@kernel
def least_expected_loss(P, miss, false, parent, up_indptr, up_indices, answers, losses):
    """Write the node of the smallest expected node loss, or NOTHING, and that loss, for each row of `P`.

        E Delta(y, u) = sum over all z of miss_z P(z)  -  sum over z in anc(u) of miss_z P(z) - false_z (1 - P(z))

    so that u is best whose ancestors gain most; NOTHING gains 0. On a tree two passes do: P comes from the leaves up,
    and gains are summed on the way down. On a lattice (`parent` empty) they are summed over the ancestors. Of equals
    the first, which is the highest.
    """
    n_nodes = P.shape[1]
    gain = np.empty(n_nodes)
    for i in range(len(P)):
        missed, best, answer = 0.0, 0.0, NOTHING
        for v in range(n_nodes):
            missed += miss[v] * P[i, v]
            gain[v] = miss[v] * P[i, v] - false[v] * (1.0 - P[i, v])
            if len(parent) and parent[v] < n_nodes:
                gain[v] += gain[parent[v]]
        for v in range(n_nodes):
            value = gain[v]
            if not len(parent):
                value = 0.0
                for q in range(up_indptr[v], up_indptr[v + 1]):
                    value += gain[up_indices[q]]
            if value > best:
                best, answer = value, v
        answers[i], losses[i] = answer, missed - best


@kernel
def deepest_above(P, levels, threshold, answers):
    """Write the deepest node with P(v) >= threshold, or NOTHING; of equally deep ones the likeliest."""
    for i in range(len(P)):
        answer = NOTHING
        for v in range(P.shape[1]):
            if P[i, v] >= threshold and (
                answer == NOTHING
                or levels[v] > levels[answer]
                or (levels[v] == levels[answer] and P[i, v] > P[i, answer])
            ):
                answer = v
        answers[i] = answer


@kernel
def likeliest_way(P, roots, children_indptr, children_indices, threshold, answers):
    """Write the last node with P(v) > threshold, or NOTHING, on the likeliest way down.

    That way begins at the likeliest root and goes on to the likeliest child, of equals the first, to a leaf.
    """
    for i in range(len(P)):
        answers[i] = NOTHING
        v = roots[np.argmax(P[i, roots])]
        while P[i, v] > threshold:
            answers[i] = v
            below = children_indices[children_indptr[v] : children_indptr[v + 1]]
            if len(below) == 0:
                break
            v = below[np.argmax(P[i, below])]


@kernel
def where_ways_part(P, roots, children_indptr, children_indices, true, up_indptr, up_indices, out):
    """Write P(v) of the first node on the likeliest way down that is not at or above the true node; 0 without one.

    `likeliest_way` with a threshold of this value or more gives an answer that holds the true node.
    """
    inside = np.zeros(P.shape[1], dtype=np.bool_)
    for i in range(len(P)):
        up = up_indices[up_indptr[true[i]] : up_indptr[true[i] + 1]]
        inside[up] = True
        out[i] = 0.0
        below = roots
        while len(below):
            v = below[np.argmax(P[i, below])]
            if not inside[v]:
                out[i] = P[i, v]
                break
            below = children_indices[children_indptr[v] : children_indptr[v + 1]]
        inside[up] = False


@kernel
def best_classes(scores, classes):
    """Write the best classes of each row, best first, as many as `classes` has columns; of equals the lower first."""
    most = classes.shape[1]
    values = np.empty(most, dtype=scores.dtype)
    for i in range(len(scores)):
        found = 0
        for c in range(scores.shape[1]):
            score = scores[i, c]
            if found < most or score > values[most - 1]:
                k = min(found, most - 1)
                found = min(found + 1, most)
                while k > 0 and values[k - 1] < score:
                    values[k] = values[k - 1]
                    classes[i, k] = classes[i, k - 1]
                    k -= 1
                values[k] = score
                classes[i, k] = c
