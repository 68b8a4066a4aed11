"""From counts to values: ratios where nothing may be there to divide by, and means over documents."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def ratio(hits: npt.ArrayLike, total: npt.ArrayLike, other: npt.ArrayLike) -> Floats:
    """Give hits / total; where total is 0: 1 if `other` is 0 too (nothing to find, nothing said), else 0."""
    hits, total, other = (np.asarray(k, dtype=np.float64) for k in (hits, total, other))
    return np.where(total > 0, hits / np.where(total > 0, total, 1.0), (other == 0).astype(np.float64))


def f1(hits: npt.ArrayLike, n_true: npt.ArrayLike, n_pred: npt.ArrayLike) -> Floats:
    """Give 2 hits / (n_true + n_pred); 1 where both sets are empty."""
    return ratio(2 * np.asarray(hits), np.asarray(n_true) + np.asarray(n_pred), 0)


@overload
def mean(values: npt.NDArray[Any], per_document: Literal[False]) -> float: ...
@overload
def mean(values: npt.NDArray[Any], per_document: bool) -> float | Floats: ...
def mean(values: npt.NDArray[Any], per_document: bool) -> float | Floats:
    """Give the values of all documents, or their mean."""
    return values.astype(np.float64) if per_document else float(np.mean(values))
