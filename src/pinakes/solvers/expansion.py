"""What a perceptron has learnt: a sum of steps x_i (x) c, as weights of features or as weights of documents.

    w~ = start + sum over steps of x_{i_t} (x) c_t,      scores of x = sum over steps of K(x_{i_t}, x) c_t

Two sums are kept where the average of the iterates is wanted: the steps, and the steps times how much of the average
had gone by when they were made; see solvers/perceptron.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.kernels import perceptron as kernels
from pinakes.solvers.kernel_rows import DocumentKernel, KernelRows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MOST_DOUBLES = 2**25  # weights beyond this number are kept in single precision: 256 MB
MOST_VALUES = 2**22  # kernel values at a time: 32 MB


class LinearExpansion:
    """Weights of features: `W` and, for the average, `late`; both features by nodes."""

    def __init__(self, n_features: int, n_nodes: int, average: bool) -> None:
        dtype = np.float64 if n_features * n_nodes <= MOST_DOUBLES else np.float32
        self.W: npt.NDArray[Any] = np.zeros((n_features, n_nodes), dtype=dtype)
        self.late = np.zeros_like(self.W) if average else None

    def take(self, X: sparse.csr_array) -> None:
        """Go on with these documents."""
        self.X = X
        self._norms = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()

    def norms(self, part: Ints) -> Floats:
        """Give K(x, x)."""
        return self._norms[part]

    def scores(self, part: Ints) -> Floats:
        """Give <w~_z, x> of some documents, by nodes."""
        return np.asarray(self.X[part] @ self.W, dtype=np.float64)

    def part(self, part: Ints) -> LinearRows:
        """Prepare for rows of the kernel matrix of some documents."""
        return LinearRows(self.X if len(part) == self.X.shape[0] else self.X[part])

    def add(self, documents: Ints, steps: npt.NDArray[np.int8], gone: Floats | None) -> None:
        """Add steps; `gone` is the share of the average gone by at each."""
        X = self.X
        kernels.add_steps(X.indptr, X.indices, X.data, documents, steps, np.ones(len(documents)), self.W)
        if self.late is not None and gone is not None:
            kernels.add_steps(X.indptr, X.indices, X.data, documents, steps, gone, self.late)

    def begin(self, coefficients: Floats) -> float:
        """Start from the sum of x_i (x) coefficients_i, scaled to length 1; gives the scale, 0 where it is nothing."""
        W = self.X.T @ coefficients
        length = float(np.linalg.norm(W))
        if length > 0:
            self.W += W / length
        return 1.0 / length if length > 0 else 0.0

    def scale(self, factor: float) -> None:
        self.W *= factor

    def final(self, total: float, average: bool) -> npt.NDArray[Any]:
        """Give the sum of steps times `total`, or the sum behind the average."""
        if average and self.late is not None:
            return np.asarray(total * self.W - self.late)
        return np.asarray(total * self.W)


class KernelExpansion:
    """Weights of documents: coefficients, documents by nodes; `X` is CSR, or the matrix of a precomputed kernel."""

    def __init__(self, kernel: DocumentKernel, n_nodes: int, average: bool, cache_size: float) -> None:
        self.kernel, self.n_nodes, self.average, self.cache_size = kernel, n_nodes, average, cache_size
        self.coefficients = np.zeros((0, n_nodes))
        self.late = np.zeros((0, n_nodes))
        self.first = 0  # of the documents taken last

    def take(self, X: Any) -> None:
        """Go on with these documents, after those before them."""
        self.first = len(self.coefficients)
        room = np.zeros((X.shape[0], self.n_nodes))
        self.X: Any = X if self.first == 0 else sparse.csr_array(sparse.vstack([self.X, X]))
        self.coefficients = np.concatenate([self.coefficients, room])
        self.late = np.concatenate([self.late, room]) if self.average else self.late
        if callable(self.kernel.kind):
            parts = [X[k : k + 64] for k in range(0, X.shape[0], 64)]
            self._norms = np.concatenate([np.diag(self.kernel.between(part, part)) for part in parts])
        elif self.kernel.kind == "precomputed":
            self._norms = np.diagonal(X).astype(np.float64)
        else:
            squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
            self._norms = self.kernel.of_products(squares.copy(), squares, squares)

    def norms(self, part: Ints) -> Floats:
        return self._norms[part]

    def scores(self, part: Ints) -> Floats:
        support = self.support()
        out = np.zeros((len(part), self.n_nodes))
        size = max(1, MOST_VALUES // max(len(support), 1))
        for first in range(0, len(part) if len(support) else 0, size):
            rows = self.first + part[first : first + size]
            if self.kernel.kind == "precomputed":
                K = np.asarray(self.X[np.ix_(rows, support)])
            else:
                K = self.kernel.between(self.X[rows], self.X[support])
            out[first : first + size] = K @ self.coefficients[support]
        return out

    def part(self, part: Ints) -> KernelRows:
        rows = self.first + part
        X = self.X[np.ix_(rows, rows)] if self.kernel.kind == "precomputed" else self.X[rows]
        return KernelRows(self.kernel, X, self.cache_size)

    def add(self, documents: Ints, steps: npt.NDArray[np.int8], gone: Floats | None) -> None:
        np.add.at(self.coefficients, self.first + documents, steps.astype(np.float64))
        if self.average and gone is not None:
            np.add.at(self.late, self.first + documents, gone[:, None] * steps)

    def begin(self, coefficients: Floats) -> float:
        self.coefficients[self.first :] = coefficients
        every = np.arange(len(coefficients))
        length = float(np.sqrt(max((coefficients * self.scores(every)).sum(), 0.0)))
        self.coefficients /= length if length > 0 else 1.0
        return 1.0 / length if length > 0 else 0.0

    def scale(self, factor: float) -> None:
        self.coefficients *= factor

    def support(self) -> Ints:
        """Give the documents that carry weight."""
        return np.flatnonzero((self.coefficients != 0).any(axis=1))

    def final(self, total: float, average: bool) -> Floats:
        if average and self.average:
            return np.asarray(total * self.coefficients - self.late)
        return np.asarray(total * self.coefficients)


class LinearRows:
    """Rows of the matrix of inner products of some documents, by the words they share."""

    def __init__(self, X: sparse.csr_array) -> None:
        self.X = X
        T = sparse.csc_array(X)
        self.arrays = (X.indptr, X.indices, X.data, T.indptr, T.indices, T.data)

    def fill(self, i: int, row: Floats) -> None:
        """Write <x_i, x_j> for all j into `row`."""
        kernels.linear_row(*self.arrays, i, row)


Expansion = LinearExpansion | KernelExpansion
