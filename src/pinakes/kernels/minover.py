"""Steps of the MinOver perceptron, and the books that let it find the worst pair without looking at all of them.

A step with document i and the pair (y, ybar) changes the score of class k on document j by <x_i, x_j> g_k, where
g = Delta(y, ybar) <Lambda(y) - Lambda(ybar), Lambda(.)> is the same for all documents. So only documents that share a
word with x_i change at all. The books hold, of every document,

- the score of each of its labels, exactly;
- the score of a few classes that are not its labels, its rivals: the best ones when it was last looked at, exactly;
- `rest`, a bound from above on the scores of all others, for each part of the classes: it grows by <x_i, x_j> times the
  largest g in that part. Near classes are in one part, and far from y and ybar g is 0;
- `key` = worst label - max(best rival, rest), a bound from below on the smallest margin of the document.

The document with the smallest key is the worst one if its best rival is at least as good as all of `rest`. If not, its
classes are scored anew, and the next smallest key is taken. The smallest key of every few documents is kept as well.
The rows hold u_z = v_z w_z, so that the score of a class is a plain sum over its attributes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pinakes.kernels.compile import inner, kernel
from pinakes.kernels.outputs import add_to_path, class_score, collect_blocks, delta_pair, score_document, sum_down
from pinakes.kernels.rows import BLOCK, has_room, scatter_row

GROUP = 64  # documents whose smallest key is kept
DONE, SEPARATED, NO_ROOM = 0, 1, 2
NORM2, SUM_ALPHA, N_LOOKS, WORST = 0, 1, 2, 3


class Books(NamedTuple):
    """What is known of every document; see the head of this file."""

    Y_indptr: np.ndarray  # int64 (n_samples + 1,)
    Y_indices: np.ndarray  # int32: the labels of each document
    own: np.ndarray  # float64: their scores
    rival: np.ndarray  # int32 (n_samples, n_rivals): -1 where there are no more
    against: np.ndarray  # float64 (n_samples, n_rivals): their scores
    rest: np.ndarray  # float64 (n_samples, n_parts)
    highest: np.ndarray  # float64 (n_samples,): the largest of `rest`
    part: np.ndarray  # int32 (n_classes,): which part of the classes each is in
    key: np.ndarray  # float64 (n_samples,): -inf before the first look, inf where there is no pair
    least: np.ndarray  # float64 (n_groups,): the smallest key of each group
    totals: np.ndarray  # float64 (4,): |w|^2, sum of alpha, times that all classes of a document were scored, worst


class Scratch(NamedTuple):
    """Room to work in."""

    scores: np.ndarray  # float64 (n_padded,)
    several: np.ndarray  # float64 (n_multi,)
    other: np.ndarray  # int32 (1,)
    change: np.ndarray  # float64 (n_padded,): always left at 0
    mark: np.ndarray  # uint8 (n_blocks,): always left at 0
    blocks: np.ndarray  # int32 (n_blocks,)
    values: np.ndarray  # float64 (n_padded,)
    is_known: np.ndarray  # bool (n_classes,): always left at False
    top: np.ndarray  # int32 (n_parts,): the class with the largest g of each part
    gains: np.ndarray  # float64 (n_parts, 3): that g, the second largest, and the smallest
    moved: np.ndarray  # int32 (n_parts,): parts in which some g is not 0
    known: np.ndarray  # bool (n_parts,): always left at False
    product: np.ndarray  # float64 (n_samples,): always left at 0
    seen: np.ndarray  # bool (n_samples,): always left at False
    touched: np.ndarray  # int32 (n_samples,)
    changed: np.ndarray  # bool (n_groups,): always left at False


class Record(NamedTuple):
    """The steps that were made: document, label, rival, and the margin that the pair had."""

    document: np.ndarray  # int32 (n_steps,)
    label: np.ndarray  # int32 (n_steps,)
    rival: np.ndarray  # int32 (n_steps,)
    margin: np.ndarray  # float64 (n_steps,)


@inner
def _best_rival(books, j):
    """Give the score of the best rival of document j."""
    best = -np.inf
    for k in range(books.rival.shape[1]):
        best = max(best, books.against[j, k])
    return best


@inner
def _set_key(books, j):
    """Set the key of document j from the scores in the books."""
    worst = np.inf
    for p in range(books.Y_indptr[j], books.Y_indptr[j + 1]):
        worst = min(worst, books.own[p])
    books.key[j] = worst - max(_best_rival(books, j), books.highest[j])


@inner
def _set_highest(books, j):
    highest = -np.inf
    for m in range(books.rest.shape[1]):
        highest = max(highest, books.rest[j, m])
    books.highest[j] = highest


@inner
def _set_least(books, group):
    least = np.inf
    for j in range(group * GROUP, min((group + 1) * GROUP, len(books.key))):
        least = min(least, books.key[j])
    books.least[group] = least


@inner
def look(X, j, rows, outputs, books, scratch):
    """Score all classes of document j anew: sets its rivals, its key, and everything else in the books."""
    score_document(X, j, rows, outputs, scratch.scores, scratch.several)
    for p in range(books.Y_indptr[j], books.Y_indptr[j + 1]):
        k = books.Y_indices[p]
        scratch.is_known[k] = True
        books.own[p] = class_score(outputs, scratch.scores, k)
    most, found = books.rival.shape[1], 0
    for k in range(len(outputs.own)):
        score = class_score(outputs, scratch.scores, k)
        if scratch.is_known[k] or (found == most and score <= books.against[j, most - 1]):
            continue
        r = min(found, most - 1)
        found = min(found + 1, most)
        while r > 0 and books.against[j, r - 1] < score:
            books.against[j, r] = books.against[j, r - 1]
            books.rival[j, r] = books.rival[j, r - 1]
            r -= 1
        books.against[j, r] = score
        books.rival[j, r] = k
    for r in range(found):
        scratch.is_known[books.rival[j, r]] = True
    books.rest[j, :] = -np.inf
    for k in range(len(outputs.own)):
        if not scratch.is_known[k]:
            m = books.part[k]
            books.rest[j, m] = max(books.rest[j, m], class_score(outputs, scratch.scores, k))
    for r in range(found):
        scratch.is_known[books.rival[j, r]] = False
    for p in range(books.Y_indptr[j], books.Y_indptr[j + 1]):
        scratch.is_known[books.Y_indices[p]] = False
    _set_highest(books, j)
    _set_key(books, j)
    _set_least(books, j // GROUP)
    books.totals[N_LOOKS] += 1


@inner
def _find_worst(X, rows, outputs, books, scratch):
    """Give the document with the smallest margin, which its key is then; documents in doubt are looked at."""
    while True:
        group = 0
        for g in range(len(books.least)):
            if books.least[g] < books.least[group]:
                group = g
        i = group * GROUP
        for j in range(group * GROUP, min((group + 1) * GROUP, len(books.key))):
            if books.key[j] < books.key[i]:
                i = j
        if books.key[i] == np.inf or _best_rival(books, i) >= books.highest[i]:
            return i
        look(X, i, rows, outputs, books, scratch)


@inner
def _worst_pair(books, i):
    """Give the label of document i with the smallest score, and the rival with the largest; of equals the first."""
    y, ybar = -1, -1
    least, most = np.inf, -np.inf
    for p in range(books.Y_indptr[i], books.Y_indptr[i + 1]):
        if books.own[p] < least:
            y, least = books.Y_indices[p], books.own[p]
    for k in range(books.rival.shape[1]):
        score, c = books.against[i, k], books.rival[i, k]
        if c >= 0 and (score > most or (score == most and c < ybar)):
            ybar, most = c, score
    return y, ybar


@inner
def _prepare(outputs, y, ybar, scratch):
    """Write the change of the weights per unit of x into blocks and values, and g into `scores`; give how many blocks.

    u_z changes by Delta v_z^2 for z in anc(y) - anc(ybar), and by the opposite for z in anc(ybar) - anc(y).
    """
    delta = delta_pair(outputs, y, ybar)
    scratch.other[0] = ybar
    n_few = collect_blocks(outputs, y, scratch.other, scratch.mark, scratch.blocks)
    add_to_path(outputs, scratch.change, y, delta)
    add_to_path(outputs, scratch.change, ybar, -delta)
    scratch.scores[:] = 0
    for b in range(n_few):
        for t in range(BLOCK):
            a = scratch.blocks[b] * BLOCK + t
            value = scratch.change[a] * outputs.v2[a] if scratch.change[a] != 0 else 0.0
            scratch.values[b * BLOCK + t] = value
            scratch.scores[a] = value
            scratch.change[a] = 0
    sum_down(outputs, scratch.scores, scratch.several)
    return n_few


@inner
def _gains(outputs, books, g, scratch):
    """Write what g is in each part of the classes into `top` and `gains`, and where it is not 0 into `moved`.

    Gives how many parts these are.
    """
    gains = scratch.gains
    gains[:, 0], gains[:, 1], gains[:, 2] = -np.inf, -np.inf, np.inf
    for k in range(len(outputs.own)):
        value, m = class_score(outputs, g, k), books.part[k]
        if value > gains[m, 0]:
            scratch.top[m] = k
            gains[m, 1] = gains[m, 0]
            gains[m, 0] = value
        else:
            gains[m, 1] = max(gains[m, 1], value)
        gains[m, 2] = min(gains[m, 2], value)
    n_moved = 0
    for m in range(len(gains)):
        if gains[m, 0] != 0 or gains[m, 2] != 0:
            scratch.moved[n_moved] = m
            n_moved += 1
    return n_moved


@inner
def _raise_rest(books, j, product, n_moved, scratch):
    """Raise the bounds of document j on classes that are neither its labels nor its rivals."""
    for p in range(books.Y_indptr[j], books.Y_indptr[j + 1]):
        c = books.Y_indices[p]
        scratch.known[books.part[c]] |= scratch.top[books.part[c]] == c
    for r in range(books.rival.shape[1]):
        c = books.rival[j, r]
        if c >= 0:
            scratch.known[books.part[c]] |= scratch.top[books.part[c]] == c
    before, highest, fell = books.highest[j], books.highest[j], False
    for n in range(n_moved):
        m = scratch.moved[n]
        if books.rest[j, m] > -np.inf:
            gain = scratch.gains[m, 2]
            if product > 0:
                gain = scratch.gains[m, 1] if scratch.known[m] else scratch.gains[m, 0]
            fell |= books.rest[j, m] == before
            books.rest[j, m] += product * gain
            highest = max(highest, books.rest[j, m])
    books.highest[j] = highest
    if fell and highest == before:
        _set_highest(books, j)
    for p in range(books.Y_indptr[j], books.Y_indptr[j + 1]):
        scratch.known[books.part[books.Y_indices[p]]] = False
    for r in range(books.rival.shape[1]):
        if books.rival[j, r] >= 0:
            scratch.known[books.part[books.rival[j, r]]] = False


@inner
def _update_books(X, i, XT, outputs, books, scratch):
    """Bring the books up to date after a step with document i; g is in `scores`. Gives |x_i|^2.

    XT are the documents by words: (indptr, indices, data) of the transpose of X.
    """
    indptr, indices, data = X
    word_indptr, word_documents, word_data = XT
    # product = X @ x_i, for documents that share a word with it
    n_touched = 0
    norm2 = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        x = data[p]
        norm2 += x * x
        for q in range(word_indptr[indices[p]], word_indptr[indices[p] + 1]):
            j = word_documents[q]
            scratch.product[j] += x * word_data[q]
            if not scratch.seen[j]:
                scratch.seen[j] = True
                scratch.touched[n_touched] = j
                n_touched += 1
    if 32 * n_touched > len(scratch.seen):  # many: go through them as they lie in memory
        n_touched = 0
        for j in range(len(scratch.seen)):
            if scratch.seen[j]:
                scratch.touched[n_touched] = j
                n_touched += 1
    g = scratch.scores
    n_moved = _gains(outputs, books, g, scratch)
    for n in range(n_touched):
        j = scratch.touched[n]
        product = scratch.product[j]
        scratch.product[j] = 0.0
        scratch.seen[j] = False
        if product == 0.0 or books.key[j] == np.inf:
            continue
        for p in range(books.Y_indptr[j], books.Y_indptr[j + 1]):
            books.own[p] += product * class_score(outputs, g, books.Y_indices[p])
        for r in range(books.rival.shape[1]):
            c = books.rival[j, r]
            if c >= 0:
                books.against[j, r] += product * class_score(outputs, g, c)
        _raise_rest(books, j, product, n_moved, scratch)
        _set_key(books, j)
        scratch.changed[j // GROUP] = True
    for group in range(len(books.least)):
        if scratch.changed[group]:
            scratch.changed[group] = False
            _set_least(books, group)
    return norm2


@kernel
def run(X, XT, rows, outputs, books, scratch, margin, record, at):
    """Make steps until all of `record` is filled, all margins exceed `margin`, or the rows have no room left.

    Changes rows, books and record. `at` says where to go on and is written: the next step, and, where one was left
    half-way, the next entry of its document, else -1. Gives DONE, SEPARATED or NO_ROOM; the smallest margin there is
    then stands in the totals.
    """
    indptr, indices, data = X
    n_blocks = len(outputs.v2) // BLOCK
    while True:
        t = at[0]
        if at[1] < 0:
            i = _find_worst(X, rows, outputs, books, scratch)
            books.totals[WORST] = books.key[i]
            if books.key[i] > margin:
                return SEPARATED
            if t == len(record.document):
                return DONE
            record.margin[t] = books.key[i]
            y, ybar = _worst_pair(books, i)
            record.document[t], record.label[t], record.rival[t] = i, y, ybar
            at[1] = indptr[i]
        i, y, ybar = record.document[t], record.label[t], record.rival[t]
        n_few = _prepare(outputs, y, ybar, scratch)
        for p in range(at[1], indptr[i + 1]):
            if not has_room(rows, indices[p], n_blocks):
                at[1] = p
                return NO_ROOM
            scatter_row(rows, indices[p], data[p], scratch.blocks, scratch.values, n_few, n_blocks)
        delta = delta_pair(outputs, y, ybar)
        # Delta |Lambda(y) - Lambda(ybar)|^2
        own = class_score(outputs, scratch.scores, y) - class_score(outputs, scratch.scores, ybar)
        norm2 = _update_books(X, i, XT, outputs, books, scratch)
        books.totals[NORM2] += delta * (2.0 * record.margin[t] + own * norm2)
        books.totals[SUM_ALPHA] += delta
        at[0], at[1] = t + 1, -1
