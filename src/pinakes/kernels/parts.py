"""What scores are made of: the product of every word of a document with every weight that its answer sums over."""

from __future__ import annotations

import numpy as np
from numba import types

from pinakes.kernels.compile import by_type, kernel
from pinakes.kernels.rows import BLOCK, find_block


def weight_at(weights, j, column):
    """Give the weight of feature j in a column: of growing rows, or of a matrix of features by columns."""
    return (_weight_in_matrix if isinstance(weights, np.ndarray) else _weight_in_rows)(weights, j, column)


def _weight_in_rows(weights, j, column):
    p = find_block(weights, j, column // BLOCK, weights.table.shape[1])
    return np.float64(weights.data[p * BLOCK + column % BLOCK]) if p >= 0 else 0.0


def _weight_in_matrix(weights, j, column):
    return np.float64(weights[j, column])


@by_type(weight_at)
def _weight_at(weights, j, column):
    return _weight_in_matrix if isinstance(weights, types.Array) else _weight_in_rows


@kernel
def split_scores(X_indptr, X_indices, X_data, weights, way_indptr, way_columns, way_factors, parts):
    """Write x_ij times factor times weight into `parts`, document by document, each words by columns of its way.

    The way of document i are the columns way_columns[way_indptr[i] : way_indptr[i + 1]].
    """
    k = 0
    for i in range(len(X_indptr) - 1):
        for p in range(X_indptr[i], X_indptr[i + 1]):
            x = np.float64(X_data[p])
            for a in range(way_indptr[i], way_indptr[i + 1]):
                parts[k] = x * way_factors[a] * weight_at(weights, X_indices[p], way_columns[a])
                k += 1
