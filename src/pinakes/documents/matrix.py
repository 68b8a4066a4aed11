"""Takes in feature matrices of any kind and gives the one kind that the solvers work on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pinakes.errors import DocumentError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_NONZEROS = 2**31 - 1


def as_csr(X: Any, *, name: str = "X") -> csr_array[Any]:
    """Give a matrix in CSR form: float32 or float64, int32 indices ascending in each row, all values finite.

    Takes SciPy sparse arrays and matrices of any layout (int64 indices too), NumPy arrays, and whatever turns
    into one, such as lists of rows and data frames. Duplicate entries are added up. float32 stays float32, as
    do types that fit into it without loss (bool, small integers); everything else becomes float64. `X` itself
    is never changed; a matrix that already has this form is not copied.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        One row a document.
    name : str, default="X"
        How to call it in messages.

    Examples
    --------
    >>> as_csr([[0, 2], [3, 0]]).indices
    array([1, 0], dtype=int32)
    """
    from scipy.sparse import csr_array, issparse

    if not issparse(X):
        X = _dense(X, name)
    dtype = _dtype(X.dtype, name)
    if X.ndim != 2:
        raise DocumentError(
            f"{name} must have two dimensions (documents, features), got shape {X.shape}; "
            "a single document is a matrix of one row"
        )
    _check_size(int(X.nnz if hasattr(X, "nnz") else np.count_nonzero(X)), X.shape, name)
    given: Any = X if issparse(X) else X.astype(dtype, copy=False)
    csr = csr_array(given)  # shares its arrays with X where it can
    data = csr.data.astype(dtype, copy=False)
    if not csr.has_canonical_format:
        csr = csr_array((data.copy(), csr.indices.copy(), csr.indptr.copy()), shape=csr.shape)
        csr.sum_duplicates()
        data = csr.data
    indices, indptr = csr.indices.astype(np.int32, copy=False), csr.indptr.astype(np.int32, copy=False)
    out = csr_array((data, indices, indptr), shape=csr.shape)
    out.has_canonical_format = True
    _check_finite(out, name)
    return out


def _dense(X: Any, name: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(X)
        return array.astype(np.float64) if array.dtype == object else array
    except (TypeError, ValueError):
        raise DocumentError(
            f"{name} must hold numbers, one row a document, all rows equally long, got {type(X).__name__}; "
            "turn texts into numbers with TextFeatures"
        ) from None


def _dtype(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    if dtype.kind not in "fiub":
        raise DocumentError(f"{name} must hold real numbers, got {dtype}; turn texts into numbers with TextFeatures")
    return np.dtype(np.float32 if np.result_type(dtype, np.float32) == np.float32 else np.float64)


def _check_size(nonzeros: int, shape: tuple[int, ...], name: str) -> None:
    if nonzeros > MAX_NONZEROS:
        raise DocumentError(
            f"{name} must have at most {MAX_NONZEROS:,} nonzero values, got {nonzeros:,}; "
            "use fewer documents or fewer features (max_features)"
        )
    if shape[1] > MAX_NONZEROS:
        raise DocumentError(f"{name} must have at most {MAX_NONZEROS:,} features, got {shape[1]:,}")


def _check_finite(X: csr_array[Any], name: str) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.data.sum(dtype=np.float64)):  # one pass; a sum that overflows is looked at again
            return
    bad = np.flatnonzero(~np.isfinite(X.data))
    if len(bad) == 0:
        return
    p = int(bad[0])
    row = int(np.searchsorted(X.indptr, p, side="right")) - 1
    more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    raise DocumentError(
        f"{name} must hold finite numbers, got {X.data[p]} in row {row}, column {X.indices[p]} "
        f"(counted from 0){more}; fill or remove these values"
    )
