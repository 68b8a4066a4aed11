"""Answers from the probabilities of classes, one document after the other.

P(v) and `below` are those of kernels/beliefs.py. P is worked out for the nodes that are looked at, on the way down from
the roots: what lies below a node is no likelier than it, and so most nodes never are.

The answer NOTHING stands above all roots: it says that nothing is said.
"""

from __future__ import annotations

import numpy as np

from pinakes.kernels.beliefs import probability
from pinakes.kernels.compile import kernel, summing

NOTHING = -1


@kernel
def least_expected_loss(p, below, miss, false, roots, children_indptr, children_indices, answers, gains):
    """Write the node of a tree with the smallest expected node loss, or NOTHING, and its gain over NOTHING.

        E Delta(y, u) = sum over all z of miss_z P(z)  -  sum over z in anc(u) of miss_z P(z) - false_z (1 - P(z))

    so that u is best whose ancestors gain most; NOTHING gains 0. Gains are summed on the way down, and a node that is
    too unlikely to gain anything ends the way: those below are no likelier. Of equals the first.
    """
    n_nodes = len(miss)
    gain = np.empty(n_nodes)
    waiting = np.empty(n_nodes, dtype=np.int64)
    least = 1.0
    for v in range(n_nodes):
        if miss[v] > 0.0:
            least = min(least, false[v] / (miss[v] + false[v]))
    for i in range(len(p)):
        best, answer = 0.0, NOTHING
        n_waiting = 0
        so_far, nodes = 0.0, roots
        while True:
            for v in nodes:
                P = probability(p[i], v, below)
                if least < P:
                    gain[v] = so_far + miss[v] * P - false[v] * (1.0 - P)
                    if gain[v] > best or (gain[v] == best and v < answer):
                        best, answer = gain[v], v
                    waiting[n_waiting] = v
                    n_waiting += 1
            if n_waiting == 0:
                break
            n_waiting -= 1
            v = waiting[n_waiting]
            so_far, nodes = gain[v], children_indices[children_indptr[v] : children_indptr[v + 1]]
        answers[i], gains[i] = answer, best


@kernel
def least_expected_loss_on_lattice(P, miss, false, up_indptr, up_indices, answers, gains):
    """Do the same for a lattice, with the probabilities of all nodes.

    Gains are summed over the ancestors of every node: one that gains nothing itself may be the only one below two that
    gain much.
    """
    n_nodes = P.shape[1]
    gain = np.empty(n_nodes)
    for i in range(len(P)):
        best, answer = 0.0, NOTHING
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
def gain_of_answers(p, below, miss, false, up_indptr, up_indices, answers, out):
    """Write what each answer gains over NOTHING: the sum over its ancestors of miss_z P(z) - false_z (1 - P(z))."""
    for i in range(len(p)):
        out[i] = 0.0
        if answers[i] != NOTHING:
            for q in range(up_indptr[answers[i]], up_indptr[answers[i] + 1]):
                v = up_indices[q]
                P = probability(p[i], v, below)
                out[i] += miss[v] * P - false[v] * (1.0 - P)


@kernel
def deepest_above(p, below, roots, children_indptr, children_indices, levels, threshold, answers):
    """Write the deepest node with P(v) >= threshold, or NOTHING; of equally deep ones the likeliest, then the first."""
    n_nodes = len(levels)
    seen = np.full(n_nodes, -1)
    waiting, P = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes)
    for i in range(len(p)):
        answer = NOTHING
        n_waiting = 0
        nodes, above = roots, 1.0
        while True:
            for v in nodes:
                if seen[v] == i:  # by another way, on a lattice
                    continue
                seen[v] = i
                P[v] = min(probability(p[i], v, below), above)
                if P[v] >= threshold:
                    waiting[n_waiting] = v
                    n_waiting += 1
                    if (
                        answer == NOTHING
                        or levels[v] > levels[answer]
                        or (levels[v] == levels[answer] and (P[v] > P[answer] or (P[v] == P[answer] and v < answer)))
                    ):
                        answer = v
            if n_waiting == 0:
                break
            n_waiting -= 1
            v = waiting[n_waiting]
            nodes, above = children_indices[children_indptr[v] : children_indptr[v + 1]], P[v]
        answers[i] = answer


@summing
def _likeliest(p, nodes, below, above):
    """Give the likeliest of some nodes, of equals the first, and its P(v), rounded to no more than `above`."""
    best, most = nodes[0], -1.0
    for v in nodes:
        P = probability(p, v, below)
        if most < P:
            best, most = v, P
    return best, min(most, above)


@kernel
def likeliest_way(p, below, roots, children_indptr, children_indices, threshold, answers):
    """Write the last node with P(v) > threshold, or NOTHING, on the likeliest way down.

    That way begins at the likeliest root and goes on to the likeliest child, of equals the first, to a leaf.
    """
    for i in range(len(p)):
        answers[i] = NOTHING
        nodes, above = roots, 1.0
        while len(nodes):
            v, above = _likeliest(p[i], nodes, below, above)
            if above <= threshold:
                break
            answers[i] = v
            nodes = children_indices[children_indptr[v] : children_indptr[v + 1]]


@kernel
def where_ways_part(p, below, roots, children_indptr, children_indices, true, up_indptr, up_indices, out):
    """Write P(v) of the first node on the likeliest way down that is not at or above the true node; 0 without one.

    `likeliest_way` with a threshold of this value or more gives an answer that holds the true node.
    """
    inside = np.zeros(len(up_indptr) - 1, dtype=np.bool_)
    for i in range(len(p)):
        up = up_indices[up_indptr[true[i]] : up_indptr[true[i] + 1]]
        inside[up] = True
        out[i] = 0.0
        nodes, above = roots, 1.0
        while len(nodes):
            v, above = _likeliest(p[i], nodes, below, above)
            if not inside[v]:
                out[i] = above
                break
            nodes = children_indices[children_indptr[v] : children_indptr[v + 1]]
        inside[up] = False


@kernel
def classes_within(scores, p, threshold, classes, indptr):
    """Write the classes with 1 - p <= threshold, or the best one, row after row; `classes` has room for all and one."""
    at = 0
    for i in range(len(p)):
        indptr[i] = at
        row = p[i]
        for k in range(len(row)):
            classes[at] = k
            at += 1.0 - row[k] <= threshold
        if at == indptr[i]:
            classes[at] = np.argmax(scores[i])
            at += 1
    indptr[len(p)] = at


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
