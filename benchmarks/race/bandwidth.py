"""How fast this machine moves memory, and how many bytes of weights a scan over documents reads."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit

MEGABYTES = 256


@njit(nogil=True)
def _copy(source: Any, target: Any) -> None:
    for p in range(len(source)):
        target[p] = source[p]


def copy_rate(n_threads: int | None = None, repeat: int = 7) -> float:
    """Give the bytes a second, read and written together, of a plain copy in `n_threads` threads (None: all cores)."""
    n_threads = n_threads or os.cpu_count() or 1
    size = MEGABYTES * 2**20 // 8 // n_threads
    parts = [(np.ones(size), np.zeros(size)) for _ in range(n_threads)]
    _copy(np.ones(1), np.ones(1))  # compile
    best = float("inf")
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in range(repeat):
            start = time.perf_counter()
            for done in [pool.submit(_copy, source, target) for source, target in parts]:
                done.result()
            best = min(best, time.perf_counter() - start)
    return 2 * 8 * size * n_threads / best


@njit(nogil=True)
def _blocks_read(X_indices: Any, length: Any) -> int:
    """Count the blocks that are read when each entry of the documents reads the row of its feature."""
    blocks = 0
    for j in X_indices:
        blocks += length[j]
    return blocks


def scan_bytes(X: Any, rows: Any) -> int | None:
    """Give the bytes that scoring the rows of a CSR matrix reads: weights, their tags, and the documents.

    None where the rows are laid out in a way that is not known here. What a cache holds is counted as often as read.
    """
    if not all(hasattr(rows, name) for name in ("length", "tag", "data")):
        return None
    block = len(rows.data) // max(len(rows.tag), 1) * rows.data.itemsize + rows.tag.itemsize
    return int(_blocks_read(X.indices, rows.length)) * block + X.nnz * (X.data.itemsize + X.indices.itemsize)
