"""A sparse matrix as an operator on dense blocks: X B and X^T B, on several threads, in one precision."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.kernels.products import times_dense

Array = npt.NDArray[Any]
PARTS = 8  # pieces of rows a thread, so that long rows even out


class Operator:
    """X and X^T, both kept by rows.

    >>> with operator(sparse.csr_array([[1.0, 2.0]]), n_threads=1) as X:
    ...     X.times(np.array([[3.0], [4.0]])), X.t_times(np.array([[1.0]]))
    (array([[11.]]), array([[1.],
           [2.]]))
    """

    def __init__(self, X: sparse.csr_array, n_threads: int, threads: ThreadPoolExecutor | None) -> None:
        # arrays that may be written to: the kernel is compiled once, not once more for read-only arrays
        data, indices, indptr = (a if a.flags.writeable else a.copy() for a in (X.data, X.indices, X.indptr))
        self.X = sparse.csr_array((data, indices, indptr), shape=X.shape)
        self.XT = sparse.csr_array(X.T.tocsr())
        self.shape, self.dtype = X.shape, X.dtype
        self._n_threads, self._threads = n_threads, threads

    def times(self, B: Array) -> Array:
        """Give X B."""
        return self._product(self.X, B)

    def t_times(self, B: Array) -> Array:
        """Give X^T B."""
        return self._product(self.XT, B)

    def _product(self, A: sparse.csr_array, B: Array) -> Array:
        n_rows = A.shape[0]
        B = np.ascontiguousarray(B, dtype=self.dtype)
        out = np.empty((n_rows, B.shape[1]), dtype=self.dtype)
        if self._threads is None:
            times_dense(A.data, A.indices, A.indptr, B, 0, n_rows, out)
            return out
        # pieces of about equally many values
        n_parts = min(PARTS * self._n_threads, max(n_rows, 1))
        cuts = np.searchsorted(A.indptr, np.linspace(0, A.indptr[-1], n_parts + 1)[1:-1])
        bounds = np.concatenate([[0], cuts, [n_rows]])
        tasks = [
            self._threads.submit(times_dense, A.data, A.indices, A.indptr, B, start, end, out)
            for start, end in pairwise(bounds)
            if end > start
        ]
        for task in tasks:
            task.result()
        return out


@contextmanager
def operator(X: sparse.csr_array, n_threads: int) -> Iterator[Operator]:
    """Open an operator, with threads of its own."""
    if n_threads == 1:
        yield Operator(X, 1, None)
        return
    with ThreadPoolExecutor(n_threads) as threads:
        yield Operator(X, n_threads, threads)
