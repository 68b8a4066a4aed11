"""Is the difference real? Tests and intervals on the values of single documents.

Every metric with `per_document` gives such values; two systems are compared on the same documents, in the
same order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pinakes.errors import InputError, ParameterError

Floats = npt.NDArray[np.float64]
EXACT_UP_TO = 14  # differences that are not zero; 2^14 sign patterns are tried one by one
CELLS = 1 << 22  # random cells held at once


class Interval(NamedTuple):
    """A mean, or a mean difference, and its interval."""

    estimate: float
    low: float
    high: float


def paired_permutation_test(
    a: npt.ArrayLike, b: npt.ArrayLike, n_permutations: int = 10_000, random_state: int | None = 0
) -> float:
    """Give the two-sided p-value of the difference of means, if the systems could be swapped on any document.

    Parameters
    ----------
    a, b : arrays of shape (n_documents,)
        The values of two systems on the same documents.
    n_permutations : int, default=10000
        Random sign patterns. With at most 14 documents that differ all patterns are tried, and p is exact;
        otherwise p = (1 + patterns at least as extreme) / (1 + n_permutations), which is never 0.
    random_state : int or None, default=0

    Examples
    --------
    >>> paired_permutation_test([1, 1, 1, 1, 0], [0, 0, 0, 0, 0])
    0.125
    """
    if n_permutations < 1:
        raise ParameterError(f"n_permutations must be at least 1, got {n_permutations}")
    d = _values(a, "a") - _values(b, "b", np.size(a))
    d = d[d != 0]  # a document on which both agree adds nothing, whichever its sign
    observed = abs(d.sum()) - 1e-12 * np.abs(d).sum()  # sums in another order may round differently
    if len(d) <= EXACT_UP_TO:
        patterns = np.arange(1 << len(d))[:, None] >> np.arange(len(d)) & 1
        return float(np.mean(np.abs((2.0 * patterns - 1.0) @ d) >= observed))
    rng = np.random.default_rng(random_state)
    extreme, step = 0, max(1, CELLS // len(d))
    for start in range(0, n_permutations, step):
        n_rows = min(step, n_permutations - start)
        bits = np.frombuffer(rng.bytes(n_rows * ((len(d) + 7) // 8)), dtype=np.uint8).reshape(n_rows, -1)
        signs = np.unpackbits(bits, axis=1, count=len(d)).astype(np.float64)
        extreme += int(np.count_nonzero(np.abs(2.0 * (signs @ d) - d.sum()) >= observed))
    return (1 + extreme) / (1 + n_permutations)


def bootstrap_interval(
    a: npt.ArrayLike,
    b: npt.ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = 2_000,
    random_state: int | None = 0,
) -> Interval:
    """Give the percentile bootstrap interval, over documents, of mean(a) or, with `b`, of mean(a - b).

    Examples
    --------
    >>> bootstrap_interval([0.5, 0.5, 0.5])
    Interval(estimate=0.5, low=0.5, high=0.5)
    """
    if not 0 < level < 1:
        raise ParameterError(f"level must lie between 0 and 1, got {level}")
    if n_resamples < 1:
        raise ParameterError(f"n_resamples must be at least 1, got {n_resamples}")
    values = _values(a, "a")
    if b is not None:
        values = values - _values(b, "b", len(values))
    rng = np.random.default_rng(random_state)
    means, step = np.empty(n_resamples), max(1, CELLS // len(values))
    for start in range(0, n_resamples, step):
        n_rows = min(step, n_resamples - start)
        drawn = rng.integers(len(values), size=(n_rows, len(values)), dtype=np.int32)
        means[start : start + n_rows] = values[drawn].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(values.mean()), float(low), float(high))


def _values(given: npt.ArrayLike, name: str, n_documents: int | None = None) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise InputError(f"`{name}` must hold one value a document, got shape {values.shape}")
    if not np.isfinite(values).all():
        raise InputError(f"`{name}` must hold finite values, got {values[~np.isfinite(values)][0]}")
    if n_documents is not None and len(values) != n_documents:
        raise InputError(f"a and b must hold the same documents, got {n_documents} and {len(values)} values")
    return values
