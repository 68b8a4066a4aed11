"""Sparse times dense."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def times_dense(A_data, A_indices, A_indptr, B, start, end, out):
    """Set rows start..end-1 of `out` to those of A B, for a CSR matrix A and a dense B in C order."""
    for i in range(start, end):
        # out[i] = A[i] @ B
        row = out[i]
        row[:] = 0
        for p in range(A_indptr[i], A_indptr[i + 1]):
            value, source = A_data[p], B[A_indices[p]]
            for k in range(row.shape[0]):
                row[k] += value * source[k]
