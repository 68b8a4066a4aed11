"""Kernels on documents, and rows of the kernel matrix kept in a cache of bounded size.

linear         <x, x'>
poly           (gamma <x, x'> + coef0)^degree
rbf            exp(-gamma |x - x'|^2)
precomputed    the documents are given as the matrix of their kernel values
a function     called with two matrices of documents, gives the matrix of their kernel values
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.errors import ParameterError

Floats = npt.NDArray[np.float64]
Function = Callable[[Any, Any], Any]
KERNELS = ("linear", "poly", "rbf", "precomputed")
DENSE_ABOVE = 0.2  # share of nonzeros above which dense products are faster than sparse ones


@dataclass(frozen=True)
class DocumentKernel:
    """A kernel on documents with its parameters; see the head of this file.

    `dense` says how a function wants its documents: as NumPy arrays, or as CSR. `constant` is added to every value: the
    square of a constant feature, which stands for a bias.
    """

    kind: str | Function
    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0
    dense: bool = False
    constant: float = 0.0

    def between(self, X: sparse.csr_array, Y: sparse.csr_array) -> Floats:
        """Give the kernel values of all pairs, documents of `X` by documents of `Y`."""
        if callable(self.kind):
            return self._called(X, Y) + self.constant
        return self.of_products(_products(X, Y), _squared_norms(X)[:, None], _squared_norms(Y))

    def of_products(self, products: Floats, norms_x: npt.NDArray[Any], norms_y: Floats) -> Floats:
        """Turn inner products into kernel values, given the squared norms of both sides; may change `products`."""
        if self.kind == "poly":
            return np.asarray((self.gamma * products + self.coef0) ** self.degree + self.constant)
        if self.kind == "rbf":
            distances = np.maximum(norms_x + norms_y - 2.0 * products, 0.0)
            return np.asarray(np.exp(-self.gamma * distances) + self.constant)
        return products

    def _called(self, X: sparse.csr_array, Y: sparse.csr_array) -> Floats:
        assert callable(self.kind)
        given: Any = self.kind(X.toarray(), Y.toarray()) if self.dense else self.kind(X, Y)
        values: Floats = np.asarray(given.toarray() if hasattr(given, "toarray") else given, dtype=np.float64)
        wanted = (X.shape[0], Y.shape[0])
        if values.shape != wanted:
            raise ParameterError(
                f"the function given as `kernel` must give a matrix of shape {wanted} for {wanted[0]} and {wanted[1]} "
                f"documents, got shape {values.shape}"
            )
        if not np.isfinite(values).all():
            raise ParameterError("the function given as `kernel` must give finite numbers, got nan or inf")
        return values


def scale_gamma(X: sparse.csr_array) -> float:
    """Give 1 / (features times the variance of all values), which is what gamma="scale" stands for."""
    n_values = X.shape[0] * X.shape[1]
    mean = float(X.sum(dtype=np.float64)) / n_values
    variance = float((X.data.astype(np.float64) ** 2).sum()) / n_values - mean**2
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


class KernelRows:
    """Rows of the kernel matrix of some documents, made when asked for; the last ones used are kept.

    Parameters
    ----------
    kernel : DocumentKernel
    X : CSR array, or for the precomputed kernel the square matrix as a NumPy array
    cache_size : float
        How much to keep, in MB of 10^6 bytes; at least two rows are.
    """

    def __init__(self, kernel: DocumentKernel, X: Any, cache_size: float = 200.0) -> None:
        self.kernel, self.X = kernel, X
        self.n_samples: int = X.shape[0]
        self.most = max(2, int(cache_size * 1e6 // (8 * max(self.n_samples, 1))))
        self.n_made = 0  # rows that had to be computed
        self._kept: OrderedDict[int, Floats] = OrderedDict()
        if not callable(kernel.kind) and kernel.kind != "precomputed":
            self._norms = _squared_norms(X)
            self._matrix = X.toarray().astype(np.float64) if _is_dense(X) else X.astype(np.float64)
            self._document = np.zeros(X.shape[1])

    def row(self, i: int) -> Floats:
        """Give K(x_i, x_j) for all j; not to be written to."""
        row = self._kept.get(i)
        if row is not None:
            self._kept.move_to_end(i)
            return row
        row = self._make(i)
        self.n_made += 1
        while len(self._kept) >= self.most:
            self._kept.popitem(last=False)
        self._kept[i] = row
        return row

    @property
    def nbytes(self) -> int:
        """Bytes that the kept rows take."""
        return sum(row.nbytes for row in self._kept.values())

    def _make(self, i: int) -> Floats:
        if callable(self.kernel.kind):
            return np.ascontiguousarray(self.kernel.between(self.X[[i]], self.X)[0])
        if self.kernel.kind == "precomputed":
            return np.array(self.X[i], dtype=np.float64) + self.kernel.constant
        if isinstance(self._matrix, np.ndarray):
            products = self._matrix @ self._matrix[i]
        else:
            start, end = self._matrix.indptr[i], self._matrix.indptr[i + 1]
            words = self._matrix.indices[start:end]
            self._document[words] = self._matrix.data[start:end]
            products = self._matrix @ self._document
            self._document[words] = 0.0
        return self.kernel.of_products(products, self._norms[i], self._norms)


def _is_dense(X: sparse.csr_array) -> bool:
    return bool(X.nnz > DENSE_ABOVE * X.shape[0] * X.shape[1])


def _squared_norms(X: sparse.csr_array) -> Floats:
    X = X.astype(np.float64)
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()


def _products(X: sparse.csr_array, Y: sparse.csr_array) -> Floats:
    X, Y = X.astype(np.float64), Y.astype(np.float64)
    if _is_dense(X) and _is_dense(Y):
        return np.asarray(X.toarray() @ Y.toarray().T)
    return np.asarray((X @ Y.T).toarray())
