"""Documents and weights in two layouts: sparse documents with growing rows, dense documents with a dense matrix.

Sparse documents are CSR, X = (indptr, indices, data), and the weights growing rows, one a feature. Dense documents are
X = (values,), a matrix, and the weights a matrix of attributes by features. Each function here is written once for each
layout; Numba takes the one that fits the types.
"""

from __future__ import annotations

import numpy as np
from numba import types

from pinakes.kernels.compile import by_type, summing
from pinakes.kernels.rows import BLOCK, add_row, add_two_rows, gather_row, has_room, scatter_row


@summing
def dot(w, x):
    """Give <w, x>, in the type of w."""
    total = w.dtype.type(0)
    for j in range(np.uint64(len(w))):
        total += w[j] * x[j]
    return total


def score_attributes(X, i, rows, scores):
    """Write what document i scores on every attribute alone into `scores`."""
    return (_score_dense if isinstance(rows, np.ndarray) else _score_sparse)(X, i, rows, scores)


def _score_sparse(X, i, rows, scores):
    indptr, indices, data = X
    n_blocks = len(scores) // BLOCK
    scores[:] = 0
    p, end = indptr[i], indptr[i + 1]
    while p < end:
        j = indices[p]
        # two full rows at once: `scores` is read and written half as often; the order of sums stays the same
        if p + 1 < end and rows.length[j] == n_blocks and rows.length[indices[p + 1]] == n_blocks:
            add_two_rows(rows, j, data[p], indices[p + 1], data[p + 1], scores)
            p += 2
        else:
            add_row(rows, j, data[p], scores, n_blocks)
            p += 1


def _score_dense(X, i, rows, scores):
    for a in range(len(scores)):
        scores[a] = dot(rows[a], X[0][i])


@by_type(score_attributes)
def _score_attributes(X, i, rows, scores):
    return _score_dense if isinstance(rows, types.Array) else _score_sparse


def score_blocks(X, i, rows, blocks, n_few, scores):
    """Write what document i scores on the attributes of blocks[:n_few] alone into `scores`."""
    return (_score_blocks_dense if isinstance(rows, np.ndarray) else _score_blocks_sparse)(
        X, i, rows, blocks, n_few, scores
    )


def _score_blocks_sparse(X, i, rows, blocks, n_few, scores):
    indptr, indices, data = X
    for k in range(n_few):
        for t in range(BLOCK):
            scores[blocks[k] * BLOCK + t] = 0
    for p in range(indptr[i], indptr[i + 1]):
        gather_row(rows, indices[p], data[p], blocks, n_few, scores, len(scores) // BLOCK)


def _score_blocks_dense(X, i, rows, blocks, n_few, scores):
    for k in range(n_few):
        a = blocks[k] * BLOCK
        for t in range(BLOCK):
            scores[a + t] = dot(rows[a + t], X[0][i])


@by_type(score_blocks)
def _score_blocks(X, i, rows, blocks, n_few, scores):
    return _score_blocks_dense if isinstance(rows, types.Array) else _score_blocks_sparse


def change_weights(X, batch, changes, shard, at, rows, n_blocks):
    """Change the weights of one shard of features as the documents of `batch` want, going on from at[shard] = (b, p).

    Gives True when done. When the shard has no room left, writes where it got to and gives False.
    """
    return (_change_dense if isinstance(rows, np.ndarray) else _change_sparse)(
        X, batch, changes, shard, at, rows, n_blocks
    )


def _change_sparse(X, batch, changes, shard, at, rows, n_blocks):
    indptr, indices, data = X
    n_shards = len(rows.free)
    for b in range(at[shard, 0], len(batch)):
        i = batch[b]
        if changes.count[b] > 0:
            for p in range(max(at[shard, 1], indptr[i]), indptr[i + 1]):
                j = indices[p]
                if j % n_shards == shard:
                    if not has_room(rows, j, n_blocks):
                        at[shard, 0], at[shard, 1] = b, p
                        return False
                    scatter_row(rows, j, data[p], changes.blocks[b], changes.values[b], changes.count[b], n_blocks)
        at[shard, 1] = 0
    at[shard, 0] = len(batch)
    return True


def _change_dense(X, batch, changes, shard, at, rows, n_blocks):
    values = X[0]
    n_shards, n_features = len(at), values.shape[1]
    first, last = n_features * shard // n_shards, n_features * (shard + 1) // n_shards
    for b in range(len(batch)):
        x = values[batch[b]]
        for k in range(changes.count[b]):
            for t in range(BLOCK):
                change = changes.values[b, k * BLOCK + t]
                if change != 0:
                    w = rows[changes.blocks[b, k] * BLOCK + t]
                    for j in range(np.uint64(first), np.uint64(last)):
                        w[j] += change * x[j]
    return True


@by_type(change_weights)
def _change_weights(X, batch, changes, shard, at, rows, n_blocks):
    return _change_dense if isinstance(rows, types.Array) else _change_sparse
