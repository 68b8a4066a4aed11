"""From documents to class scores: the weights of a fitted model made ready for reading, in threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.kernels import ranking
from pinakes.kernels.outputs import Outputs
from pinakes.kernels.rows import Rows

AT_ONCE = 256  # documents that a thread takes at a time


class Scorer:
    """Scores documents on all classes; `rows` hold v_z w_z, features by attributes."""

    def __init__(self, rows: Rows, outputs: Outputs) -> None:
        self.rows, self.outputs = rows, outputs

    def scores(self, X: sparse.csr_array, n_threads: int) -> npt.NDArray[Any]:
        """Give the scores of all classes, documents by classes."""
        out = np.empty((X.shape[0], len(self.outputs.own)), dtype=self.rows.data.dtype)

        def part(first: int, last: int) -> None:
            ranking.score_classes(X.indptr, X.indices, X.data, first, last, self.rows, self.outputs, out)

        _in_threads(part, X.shape[0], n_threads)
        return out

    def rank(
        self, X: sparse.csr_array, n_best: int, n_threads: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
        """Give the best classes of each document and their scores, best first."""
        n_best = min(n_best, len(self.outputs.own))
        classes = np.empty((X.shape[0], n_best), dtype=np.int32)
        values = np.empty((X.shape[0], n_best), dtype=self.rows.data.dtype)

        def part(first: int, last: int) -> None:
            ranking.rank_classes(X.indptr, X.indices, X.data, first, last, self.rows, self.outputs, classes, values)

        _in_threads(part, X.shape[0], n_threads)
        return classes, values


def _in_threads(part: Callable[[int, int], None], n_samples: int, n_threads: int) -> None:
    if n_threads == 1 or n_samples <= AT_ONCE:
        part(0, n_samples)
        return
    starts = range(0, n_samples, AT_ONCE)
    with ThreadPoolExecutor(n_threads) as threads:
        list(threads.map(lambda s: part(s, min(s + AT_ONCE, n_samples)), starts))
