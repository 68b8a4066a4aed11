"""From documents to class scores where the kernel is not linear: through the support documents, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.models.scoring import Ranking
from pinakes.solvers.kernel_rows import DocumentKernel
from pinakes.taxonomy.attributes import ClassAttributes

MOST_VALUES = 2**22  # kernel values and scores at a time: 32 MB each


class KernelScorer:
    """Scores documents on all classes: sum over support documents of K(x, x_i) times their attribute coefficients.

    `support` are the support documents, or for a precomputed kernel their numbers: documents then come as rows of
    kernel values with all training documents.
    """

    def __init__(
        self,
        kernel: DocumentKernel,
        support: sparse.csr_array | npt.NDArray[np.int64],
        coefficients: sparse.csr_array,
        attributes: ClassAttributes,
    ) -> None:
        self.kernel, self.support, self.attributes = kernel, support, attributes
        self.coefficients = coefficients  # n_support x n_attributes

    def scores(self, X: sparse.csr_array, n_threads: int) -> npt.NDArray[np.float64]:
        """Give the scores of all classes, documents by classes; one thread, whatever is asked for."""
        out = np.empty((X.shape[0], self.attributes.n_classes))
        for first, last in self._batches(X.shape[0]):
            out[first:last] = self._batch(X[first:last])
        return out

    def rank(self, X: sparse.csr_array, n_best: int, n_threads: int, temperature: float = 0.0) -> Ranking:
        """Give the best classes of each document; with a temperature, also how sure a softmax of the scores is."""
        n_best = min(n_best, self.attributes.n_classes)
        classes = np.empty((X.shape[0], n_best), dtype=np.int32)
        values = np.empty((X.shape[0], n_best))
        total = np.ones(X.shape[0])
        for first, last in self._batches(X.shape[0]):
            scores = self._batch(X[first:last])
            best = np.argsort(-scores, axis=1, kind="stable")[:, :n_best]
            classes[first:last], values[first:last] = best, np.take_along_axis(scores, best, axis=1)
            if temperature > 0:
                total[first:last] = np.exp((scores - values[first:last, :1]) / temperature).sum(axis=1)
        if temperature <= 0:
            return Ranking(classes, values, None)
        return Ranking(classes, values, np.exp((values - values[:, :1]) / temperature) / total[:, None])

    def part(self, classes: npt.NDArray[np.int64]) -> KernelScorer:
        """Give a scorer of some of the classes alone, by ascending number."""
        attributes, kept = self.attributes.restricted(classes)
        return KernelScorer(self.kernel, self.support, self.coefficients[:, kept], attributes)

    def _batches(self, n_samples: int) -> Iterator[tuple[int, int]]:
        size = max(1, MOST_VALUES // max(self.coefficients.shape[0], self.attributes.n_attributes, 1))
        return ((first, min(first + size, n_samples)) for first in range(0, n_samples, size))

    def _batch(self, X: sparse.csr_array) -> npt.NDArray[np.float64]:
        if isinstance(self.support, np.ndarray):
            K: Any = X[:, self.support].toarray() + self.kernel.constant
        else:
            K = self.kernel.between(X, self.support)
        values = np.asarray((self.coefficients.T @ K.T).T)  # K @ coefficients, which are sparse
        return np.asarray((self.attributes.matrix() @ values.T).T)
