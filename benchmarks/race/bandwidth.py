"""How fast this machine moves memory, and how near a scan over weights comes to that."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

MEGABYTES = 256


def copy_rate(n_threads: int | None = None, repeat: int = 7) -> float:
    """Give the bytes a second, read and written together, of a plain copy in `n_threads` threads (None: all cores)."""
    n_threads = n_threads or os.cpu_count() or 1
    size = MEGABYTES * 2**20 // 8 // n_threads
    parts = [(np.ones(size), np.zeros(size)) for _ in range(n_threads)]
    best = float("inf")
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in range(repeat):
            start = time.perf_counter()
            for done in [pool.submit(np.copyto, target, source) for source, target in parts]:
                done.result()
            best = min(best, time.perf_counter() - start)
    return 2 * 8 * size * n_threads / best


def scan_bytes(X: Any, row_bytes: Any) -> int:
    """Give the bytes that scoring the rows of a CSR matrix reads when feature j has `row_bytes[j]` bytes of weights."""
    times = np.bincount(X.indices, minlength=X.shape[1])
    return int(times @ np.asarray(row_bytes, dtype=np.int64)) + X.nnz * (X.data.itemsize + X.indices.itemsize)


def share(seconds: float, n_bytes: int, rate: float) -> float:
    """Give the share of the copy rate at which `n_bytes` were read in `seconds`; above 1, caches helped."""
    return n_bytes / seconds / rate
