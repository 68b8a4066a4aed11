"""Answers from the probabilities of nodes (kernels/beliefs.py), one document after the other.

The answer NOTHING stands above all roots: it says that nothing is said.
"""

from __future__ import annotations

import numpy as np

from pinakes.kernels.compile import kernel

NOTHING = -1


@kernel
def least_expected_loss(P, miss, false, tree, up_indptr, up_indices, answers, gains):
    """Write the node of the smallest expected node loss, or NOTHING, and its gain over NOTHING, for each row of `P`.

        E Delta(y, u) = sum over all z of miss_z P(z)  -  sum over z in anc(u) of miss_z P(z) - false_z (1 - P(z))

    so that u is best whose ancestors gain most; NOTHING gains 0. On a lattice gains are summed over the ancestors of
    every node. On a tree (`tree` as in kernels/beliefs.py) they are summed on the way down, and a node that is too
    unlikely to gain anything ends the way: those below are no likelier. Of equals the first.
    """
    parent, _, roots, indptr, indices = tree
    n_nodes = P.shape[1]
    gain = np.empty(n_nodes)
    waiting = np.empty(n_nodes, dtype=np.int64)
    least = 1.0
    for v in range(n_nodes):
        if miss[v] > 0.0:
            least = min(least, false[v] / (miss[v] + false[v]))
    for i in range(len(P)):
        best, answer = 0.0, NOTHING
        if len(parent):
            n_waiting = 0
            below = roots
            while True:
                for v in below:
                    if P[i, v] > least:
                        gain[v] = miss[v] * P[i, v] - false[v] * (1.0 - P[i, v])
                        gain[v] += gain[parent[v]] if parent[v] < n_nodes else 0.0
                        if gain[v] > best or (gain[v] == best and v < answer):
                            best, answer = gain[v], v
                        waiting[n_waiting] = v
                        n_waiting += 1
                if n_waiting == 0:
                    break
                n_waiting -= 1
                v = waiting[n_waiting]
                below = indices[indptr[v] : indptr[v + 1]]
        else:
            for v in range(n_nodes):
                gain[v] = miss[v] * P[i, v] - false[v] * (1.0 - P[i, v])
            for v in range(n_nodes):
                value = 0.0
                for q in range(up_indptr[v], up_indptr[v + 1]):
                    value += gain[up_indices[q]]
                if value > best:
                    best, answer = value, v
        answers[i], gains[i] = answer, best


@kernel
def gain_of_answers(P, miss, false, up_indptr, up_indices, answers, out):
    """Write what each answer gains over NOTHING: the sum over its ancestors of miss_z P(z) - false_z (1 - P(z))."""
    for i in range(len(P)):
        out[i] = 0.0
        if answers[i] != NOTHING:
            for q in range(up_indptr[answers[i]], up_indptr[answers[i] + 1]):
                v = up_indices[q]
                out[i] += miss[v] * P[i, v] - false[v] * (1.0 - P[i, v])


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
