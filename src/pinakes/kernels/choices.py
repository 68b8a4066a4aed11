"""Answers from the probabilities of classes (kernels/beliefs.py), one document after the other.

    P(v) = sum of the probabilities of the distinct classes at or below v

is worked out for the nodes that are looked at, on the way down from the roots: what lies below a node is no likelier
than it, and so most nodes never are. `below` says which classes lie there: classes[first[v]:last[v]], or, where there
are no `classes`, the classes from first[v] to last[v] themselves.

The answer NOTHING stands above all roots: it says that nothing is said.
"""

from __future__ import annotations

import numpy as np

from pinakes.kernels.compile import kernel, summing

NOTHING = -1


@summing
def _probability(p, v, below):
    """Give P(v) of one document."""
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
def probabilities(p, documents, nodes, below, out):
    """Write P(v) for pairs of a document and a node."""
    for j in range(len(nodes)):
        out[j] = _probability(p[documents[j]], nodes[j], below)


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
                P = _probability(p[i], v, below)
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
                P = _probability(p[i], v, below)
                out[i] += miss[v] * P - false[v] * (1.0 - P)


@kernel
def deepest_above(p, below, roots, children_indptr, children_indices, levels, threshold, answers):
    """Write the deepest node with P(v) >= threshold, or NOTHING; of equally deep ones the likeliest, then the first."""
    n_nodes = len(levels)
    seen = np.full(n_nodes, -1)
    waiting = np.empty(n_nodes, dtype=np.int64)
    for i in range(len(p)):
        answer, level, likely = NOTHING, 0, 0.0
        n_waiting = 0
        nodes = roots
        while True:
            for v in nodes:
                if seen[v] == i:  # by another way, on a lattice
                    continue
                seen[v] = i
                P = _probability(p[i], v, below)
                if threshold <= P:
                    waiting[n_waiting] = v
                    n_waiting += 1
                    if levels[v] > level or (levels[v] == level and (likely < P or (likely == P and v < answer))):
                        answer, level, likely = v, levels[v], P
            if n_waiting == 0:
                break
            n_waiting -= 1
            v = waiting[n_waiting]
            nodes = children_indices[children_indptr[v] : children_indptr[v + 1]]
        answers[i] = answer


@summing
def _likeliest(p, nodes, below, above):
    """Give the likeliest of some nodes, of equals the first, and its P(v), rounded to no more than `above`."""
    best, most = nodes[0], -1.0
    for v in nodes:
        P = _probability(p, v, below)
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
def classes_within(p, threshold, classes, indptr):
    """Write the classes with 1 - p <= threshold, one row after the other; `classes` has room for all and one more."""
    at = 0
    for i in range(len(p)):
        indptr[i] = at
        row = p[i]
        for k in range(len(row)):
            classes[at] = k
            at += 1.0 - row[k] <= threshold
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
