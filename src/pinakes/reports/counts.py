"""Measures that divide sums over documents (micro and macro averages), and what chance does to any measure.

Such a measure is a function of three counts a document and column: hits, true and predicted. So resampled documents are
weights on the rows of three matrices, and swapped answers are sums with some rows of another model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.metrics import Interval
from pinakes.metrics.averages import Floats, f1, ratio
from pinakes.metrics.labels import LabelSets
from pinakes.metrics.significance import CELLS, EXACT_UP_TO
from pinakes.taxonomy import Taxonomy

N_RESAMPLES = 2000
N_PERMUTATIONS = 10_000
LEVEL = 0.95


def _over_labels(hits: Floats, n_true: Floats, n_pred: Floats) -> Floats:
    """Give the mean F1 of the labels that are true or predicted; 1 where there is none."""
    present = n_true + n_pred > 0
    values = np.where(present, f1(hits, n_true, n_pred), 0.0).sum(axis=-1)
    n_present = present.sum(axis=-1)
    return np.where(n_present > 0, values / np.maximum(n_present, 1), 1.0)


def _summed(value: Callable[[Floats, Floats, Floats], Floats]) -> Callable[[Floats, Floats, Floats], Floats]:
    return lambda hits, n_true, n_pred: value(hits[..., 0], n_true[..., 0], n_pred[..., 0])


# name -> (whether ancestors count, whether each label has a column of its own, the value from sums)
COUNTED: dict[str, tuple[bool, bool, Callable[[Floats, Floats, Floats], Floats]]] = {
    "hierarchical_precision": (True, False, _summed(lambda hits, n_true, n_pred: ratio(hits, n_pred, n_true))),
    "hierarchical_recall": (True, False, _summed(lambda hits, n_true, n_pred: ratio(hits, n_true, n_pred))),
    "hierarchical_f1": (True, False, _summed(f1)),
    "micro_f1": (False, False, _summed(f1)),
    "macro_f1": (False, True, _over_labels),
}


@dataclass(frozen=True)
class Counts:
    """Hits, true and predicted labels, documents by columns, and the measure of their sums."""

    hits: sparse.csr_array
    n_true: sparse.csr_array
    n_pred: sparse.csr_array
    value: Callable[[Floats, Floats, Floats], Floats]

    def weighted(self, weights: Floats) -> Floats:
        """Give the measure of each row of weights on the documents."""
        parts = (self.hits, self.n_true, self.n_pred)
        step = max(1, CELLS // self.hits.shape[1])
        rows = (weights[start : start + step] for start in range(0, len(weights), step))
        return np.concatenate([self.value(*(np.asarray(some @ part) for part in parts)) for some in rows])


def count(name: str, true: LabelSets, pred: LabelSets, taxonomy: Taxonomy) -> Counts:
    """Count what the measure of this name is made of."""
    closed, by_label, value = COUNTED[name]
    if closed:
        true, pred = true.closed(taxonomy), pred.closed(taxonomy)
    n_columns = true.n_labels if by_label else 1

    def matrix(sets: LabelSets) -> Any:
        column = sets.label if by_label else np.zeros(len(sets.keys), dtype=np.int64)
        ones = np.ones(len(sets.keys))
        return sparse.csr_array((ones, (sets.document, column)), shape=(sets.n_documents, n_columns))

    return Counts(matrix(true.common(pred)), matrix(true), matrix(pred), value)


def intervals(means: Mapping[str, Floats], counts: Mapping[str, Counts], seed: int = 0) -> dict[str, Interval]:
    """Give the 95 % bootstrap interval of every measure, all over the same resampled documents.

    Documents are drawn as `metrics.bootstrap_interval` draws them, so that intervals agree.
    """
    values = {name: np.concatenate(parts) for name, parts in _resampled(means, counts, seed).items()}
    whole = _weighted(means, counts, np.ones((1, _n_documents(means, counts))))
    return {name: _interval(name, float(whole[name][0]), each) for name, each in values.items()}


def difference_intervals(
    means: tuple[Mapping[str, Floats], Mapping[str, Floats]],
    counts: tuple[Mapping[str, Counts], Mapping[str, Counts]],
    seed: int = 0,
) -> dict[str, Interval]:
    """Give the 95 % bootstrap interval of the first minus the second of two models, measure by measure."""
    first, second = (_resampled(*side, seed) for side in zip(means, counts, strict=True))
    one = np.ones((1, _n_documents(means[0], counts[0])))
    a, b = (_weighted(*side, one) for side in zip(means, counts, strict=True))
    return {
        name: _interval(
            name, float(a[name][0] - b[name][0]), np.concatenate(first[name]) - np.concatenate(second[name])
        )
        for name in first
        if name in second
    }


def swap_test(a: Counts, b: Counts, n_permutations: int = N_PERMUTATIONS, random_state: int | None = 0) -> float:
    """Give the two-sided p-value of the difference, if the systems could be swapped on any document.

    As `metrics.paired_permutation_test`, for a measure that is no mean over documents: exact where at most 14 documents
    differ, else from random swaps.
    """
    sides = [(a.hits, b.hits), (a.n_true, b.n_true), (a.n_pred, b.n_pred)]
    changes = [sparse.csr_array(y - x) for x, y in sides]
    differ = np.flatnonzero(sum(np.asarray(abs(change).sum(axis=1)) for change in changes))
    sums: list[Any] = [(np.asarray(x.sum(axis=0)), np.asarray(y.sum(axis=0))) for x, y in sides]
    few = [change[differ] for change in changes]

    def extreme(swapped: Floats) -> int:
        moved = [np.asarray(swapped @ change) for change in few]
        left = a.value(*(x + move for (x, _), move in zip(sums, moved, strict=True)))
        right = a.value(*(y - move for (_, y), move in zip(sums, moved, strict=True)))
        return int(np.count_nonzero(np.abs(left - right) >= observed))

    observed = float(abs(a.value(*(x for x, _ in sums)) - a.value(*(y for _, y in sums)))) - 1e-12
    step = max(1, CELLS // max(len(differ), few[0].shape[1]))
    if len(differ) <= EXACT_UP_TO:
        patterns = (np.arange(1 << len(differ))[:, None] >> np.arange(len(differ)) & 1).astype(np.float64)
        pieces = (patterns[start : start + step] for start in range(0, len(patterns), step))
        return sum(map(extreme, pieces)) / len(patterns)
    rng = np.random.default_rng(random_state)
    found = 0
    for start in range(0, n_permutations, step):
        found += extreme(rng.integers(2, size=(min(step, n_permutations - start), len(differ))).astype(np.float64))
    return (1 + found) / (1 + n_permutations)


def _n_documents(means: Mapping[str, Floats], counts: Mapping[str, Counts]) -> int:
    sizes = [len(each) for each in means.values()] + [each.hits.shape[0] for each in counts.values()]
    return sizes[0]


def _weighted(
    means: Mapping[str, Floats], counts: Mapping[str, Counts], weights: Floats
) -> dict[str, npt.NDArray[np.float64]]:
    n_documents = weights.sum(axis=1)
    found = {name: weights @ each / n_documents for name, each in means.items()}
    return found | {name: each.weighted(weights) for name, each in counts.items()}


def _resampled(
    means: Mapping[str, Floats], counts: Mapping[str, Counts], seed: int
) -> dict[str, list[npt.NDArray[np.float64]]]:
    found: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in [*means, *counts]}
    for weights in _drawn(_n_documents(means, counts), seed):
        for name, each in _weighted(means, counts, weights).items():
            found[name].append(each)
    return found


def _drawn(n_documents: int, seed: int) -> Iterator[Floats]:
    """Draw documents with replacement: how often each was drawn, a few rows at a time."""
    rng = np.random.default_rng(seed)
    step = max(1, CELLS // n_documents)
    for start in range(0, N_RESAMPLES, step):
        n_rows = min(step, N_RESAMPLES - start)
        drawn = rng.integers(n_documents, size=(n_rows, n_documents), dtype=np.int32)
        drawn = drawn + n_documents * np.arange(n_rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=n_rows * n_documents)
        yield times.reshape(n_rows, n_documents).astype(np.float64)


def _interval(name: str, estimate: float, values: npt.NDArray[np.float64]) -> Interval:
    """Give the middle 95 % of resampled values; of a mean over labels, moved by what resampling itself changes.

    A label of one document is missing from a third of the draws, so that drawn documents have fewer labels than the
    real ones, and another mean: without moving, the interval need not even hold the estimate.
    """
    by_label = name in COUNTED and COUNTED[name][1]
    moved = estimate - float(values.mean()) if by_label else 0.0
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(estimate, float(low) + moved, float(high) + moved)
