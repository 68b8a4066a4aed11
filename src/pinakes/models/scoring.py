"""From documents to class scores: the weights of a fitted model made ready for reading, in threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.kernels import ranking
from pinakes.kernels.outputs import Outputs
from pinakes.kernels.rows import rows_from_csr, rows_to_csr
from pinakes.solvers.ascent import Weights
from pinakes.solvers.problem import make_outputs
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.attributes import ClassAttributes
from pinakes.taxonomy.loss import ZeroOneLoss

NO_LOSS = ZeroOneLoss(Taxonomy.flat(["any"]))  # scores do not depend on it
AT_ONCE = 256  # documents that a thread takes at a time


class Ranking(NamedTuple):
    """The best classes of each document, best first: class numbers, scores, and shares of a softmax over all."""

    classes: npt.NDArray[np.int32]
    scores: npt.NDArray[Any]
    confidences: npt.NDArray[np.float64] | None


class Scorer:
    """Scores documents on all classes; `rows` hold v_z w_z, features by attributes.

    A dense matrix instead, attributes by features, is for dense documents: these are scored by matrix products.
    """

    def __init__(self, rows: Weights, outputs: Outputs) -> None:
        self.rows, self.outputs = rows, outputs

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.rows.dtype if isinstance(self.rows, np.ndarray) else self.rows.data.dtype

    @property
    def n_features(self) -> int:
        """The features of documents, a constant one included."""
        return self.rows.shape[1] if isinstance(self.rows, np.ndarray) else len(self.rows.start)

    def weights(self, n_attributes: int) -> sparse.csr_array:
        """Give v_z w_z, features by attributes."""
        if isinstance(self.rows, np.ndarray):
            return sparse.csr_array(self.rows[:n_attributes].T)
        return rows_to_csr(self.rows, n_attributes)

    def _documents(self, X: Any, first: int, last: int) -> tuple[Any, ...]:
        """Give what the kernels take of documents first..last-1: these, or what they score on each attribute."""
        if isinstance(self.rows, np.ndarray):
            scored = np.ascontiguousarray(X[first:last] @ self.rows.T, dtype=self.rows.dtype)
            return (scored,), first, last, self.rows, self.outputs, scored
        return (X.indptr, X.indices, X.data), first, last, self.rows, self.outputs, None

    def scores(self, X: Any, n_threads: int) -> npt.NDArray[Any]:
        """Give the scores of all classes, documents by classes."""
        out = np.empty((X.shape[0], len(self.outputs.own)), dtype=self.dtype)

        def part(first: int, last: int) -> None:
            ranking.score_classes(*self._documents(X, first, last), out)

        _in_threads(part, X.shape[0], n_threads)
        return out

    def part(self, classes: npt.NDArray[np.int64], attributes: ClassAttributes) -> Scorer:
        """Give a scorer of some of the classes alone, by ascending number: what the others have is left out."""
        some, kept = attributes.restricted(classes)
        outputs = make_outputs(some, NO_LOSS)
        return Scorer(_layout(self.weights(attributes.n_attributes)[:, kept], len(outputs.v2), self.rows), outputs)

    def rank(self, X: Any, n_best: int, n_threads: int, temperature: float = 0.0) -> Ranking:
        """Give the best classes of each document; with a temperature, also how sure a softmax of the scores is."""
        n_best = min(n_best, len(self.outputs.own))
        classes = np.empty((X.shape[0], n_best), dtype=np.int32)
        values = np.empty((X.shape[0], n_best), dtype=self.dtype)
        total = np.zeros(X.shape[0])

        def part(first: int, last: int) -> None:
            ranking.rank_classes(*self._documents(X, first, last), temperature, classes, values, total)

        _in_threads(part, X.shape[0], n_threads)
        if temperature <= 0:
            return Ranking(classes, values, None)
        weight = np.exp((values - values[:, :1]).astype(np.float64) / temperature)
        return Ranking(classes, values, weight / total[:, None])


def _layout(weights: sparse.csr_array, n_padded: int, like: Weights) -> Weights:
    """Lay out weights, features by attributes, as others are."""
    if not isinstance(like, np.ndarray):
        return rows_from_csr(weights, n_padded)
    rows = np.zeros((n_padded, weights.shape[0]), dtype=like.dtype)
    rows[: weights.shape[1]] = weights.toarray().T
    return rows


def _in_threads(part: Callable[[int, int], None], n_samples: int, n_threads: int) -> None:
    starts = range(0, n_samples, AT_ONCE)
    if n_threads == 1 or n_samples <= AT_ONCE:
        for s in starts:
            part(s, min(s + AT_ONCE, n_samples))
        return
    with ThreadPoolExecutor(n_threads) as threads:
        list(threads.map(lambda s: part(s, min(s + AT_ONCE, n_samples)), starts))
