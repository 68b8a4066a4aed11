"""What classes have in common where it is given as a matrix: attributes, or similarities that stand for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.errors import ParameterError

ROUNDING = 1e-9  # eigenvalues so far below 0, relative to the largest, are 0


def given_matrix(attributes: Any, kernel: Any, classes: npt.NDArray[Any]) -> sparse.csr_array:
    """Give Lambda, classes by attributes, from a matrix of attributes or from similarities <Lambda(y), Lambda(y')>."""
    if attributes is not None and kernel is not None:
        raise ParameterError("give `class_attributes` or `class_kernel`, not both: each says what the classes share")
    name = "class_attributes" if kernel is None else "class_kernel"
    given: Any = attributes if kernel is None else kernel
    if callable(given):
        given = given(list(classes), list(classes))
    matrix: Any = given if sparse.issparse(given) else np.asarray(given, dtype=np.float64)
    expected = f"a row for each of the {len(classes)} classes"
    expected += " and as many columns" if kernel is not None else ""
    if matrix.ndim != 2 or matrix.shape[0] != len(classes) or (kernel is not None and matrix.shape[1] != len(classes)):
        raise ParameterError(f"`{name}` must have {expected}, in the order of `classes_`; got shape {matrix.shape}")
    matrix = sparse.csr_array(matrix, dtype=np.float64)
    if not np.isfinite(matrix.data).all():
        raise ParameterError(f"`{name}` must hold finite numbers, and some are not")
    if not matrix.data.any():
        raise ParameterError(f"`{name}` holds nothing but zeros: no class has anything to learn")
    return matrix if kernel is None else _factor(matrix.toarray())


def _factor(similarity: npt.NDArray[np.float64]) -> sparse.csr_array:
    """Give Lambda with Lambda Lambda^T = similarity, by its eigenvectors."""
    if np.abs(similarity - similarity.T).max() > 1e-8 * np.abs(similarity).max(initial=0.0):
        raise ParameterError("`class_kernel` must be symmetric, and K(y, y') is not K(y', y) in it")
    values, vectors = np.linalg.eigh((similarity + similarity.T) / 2)
    largest = values.max(initial=0.0)
    if values.min(initial=0.0) < -ROUNDING * max(largest, 1e-300) * len(values):
        raise ParameterError(
            f"`class_kernel` must be positive semi-definite, and has the eigenvalue {values.min():g}; add what is "
            "missing to its diagonal"
        )
    kept = values > ROUNDING * largest
    return sparse.csr_array(vectors[:, kept] * np.sqrt(values[kept]))
