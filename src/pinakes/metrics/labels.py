"""What metrics measure: sets of labels and rows of scores, read from the forms in which people hold them.

A family of label sets is kept as one sorted array of keys ``document * n_labels + label``: closing upward,
intersecting and counting are then single array operations, on lattices as on trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from pinakes.errors import InputError, LabelError
from pinakes.taxonomy.loss import members
from pinakes.taxonomy.taxonomy import Taxonomy

Ints = npt.NDArray[np.int64]
Labels = Any  # ids or node numbers, one or several a document, or an indicator matrix; see `read`


@dataclass(frozen=True)
class LabelSets:
    """The label sets of some documents over `n_labels` labels; `keys` ascends and holds nothing twice."""

    n_documents: int
    n_labels: int
    keys: Ints

    @cached_property
    def document(self) -> Ints:
        """The document of each entry."""
        return self.keys // self.n_labels

    @cached_property
    def label(self) -> Ints:
        """The label of each entry."""
        return self.keys % self.n_labels

    @cached_property
    def sizes(self) -> Ints:
        """The number of labels of each document."""
        return np.bincount(self.document, minlength=self.n_documents)

    @cached_property
    def indptr(self) -> Ints:
        """Where the entries of each document begin and end."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def closed(self, taxonomy: Taxonomy) -> LabelSets:
        """Give the sets with all ancestors of their labels."""
        owner, above = members(taxonomy.ancestors, self.label)
        return LabelSets(self.n_documents, self.n_labels, np.unique(self.document[owner] * self.n_labels + above))

    def common(self, other: LabelSets) -> LabelSets:
        """Give the intersections, document by document."""
        both = np.intersect1d(self.keys, other.keys, assume_unique=True)
        return LabelSets(self.n_documents, self.n_labels, both)


class Vocabulary:
    """The numbers of labels: the nodes of a taxonomy or, without one, the order in which labels are met."""

    def __init__(self, taxonomy: Taxonomy | None = None) -> None:
        self.taxonomy = taxonomy
        self._position: dict[Any, int] = {}
        if taxonomy is not None:
            self._position = {node: v for v, node in enumerate(taxonomy.ids)}

    def __len__(self) -> int:
        return len(self._position)

    def number(self, label: Any, where: str) -> int:
        """Give the number of a label; `where` names it in messages."""
        if self.taxonomy is None:
            return self._position.setdefault(label, len(self._position))
        if isinstance(label, Integral):
            if not 0 <= int(label) < len(self):
                raise LabelError(f"{where}: node numbers go from 0 to {len(self) - 1}, got {label}")
            return int(label)
        v = self._position.get(label)
        if v is None:
            try:
                return self.taxonomy.index(str(label))
            except LabelError as error:
                raise LabelError(f"{where}: {error}") from None
        return v

    def numbers(self, labels: Iterable[Any], where: str) -> Ints:
        """Give the numbers of many labels."""
        return np.array([self.number(k, f"{where}[{i}]") for i, k in enumerate(labels)], dtype=np.int64)


@dataclass(frozen=True)
class _Read:
    """Entries (document, label) as they were met, before the number of labels is known."""

    n_documents: int
    document: Ints
    label: Ints

    def sets(self, vocabulary: Vocabulary) -> LabelSets:
        n_labels = max(len(vocabulary), 1)
        return LabelSets(self.n_documents, n_labels, np.unique(self.document * n_labels + self.label))


def is_single(label: Any) -> bool:
    """Whether this is one label, not a set of them."""
    return isinstance(label, (str, Integral))


def read(y: Labels, vocabulary: Vocabulary, what: str, columns: Sequence[Any] | None = None) -> _Read:
    """Read labels: one a document, a collection a document, or an indicator matrix with its `columns`."""
    if hasattr(y, "tocsr"):
        y = y.tocsr()
        stored = y.data != 0
        document = np.repeat(np.arange(y.shape[0]), np.diff(y.indptr))[stored]
        return _read_indicator(y.shape, document, y.indices[stored], vocabulary, what, columns)
    if isinstance(y, str) or not hasattr(y, "__len__"):
        raise InputError(f"{what} must hold one label or one list of labels a document, got {type(y).__name__}")
    if hasattr(y, "to_numpy"):  # a column of a data frame
        y = y.to_numpy()
    if len(y) == 0:
        raise InputError(f"{what} holds no documents: there is nothing to measure")
    if isinstance(y, np.ndarray) and y.ndim == 2:
        document, column = np.nonzero(y)
        return _read_indicator(y.shape, document, column, vocabulary, what, columns)
    if isinstance(y, np.ndarray) and y.dtype.kind in "USiu":  # one label each: look every label up once
        values, first, inverse = np.unique(y, return_index=True, return_inverse=True)
        numbers = [vocabulary.number(k, f"{what}[{i}]") for k, i in zip(values.tolist(), first, strict=True)]
        return _Read(len(y), np.arange(len(y)), np.array(numbers, dtype=np.int64)[inverse])
    single = is_single(y[0])
    for i, labels in enumerate(y):
        if is_single(labels) != single or not (single or hasattr(labels, "__iter__")):
            raise InputError(
                f"{what} must hold one label each, or one list of labels each, got {y[0]!r} in [0] and "
                f"{labels!r} in [{i}]"
            )
    if single:
        return _Read(len(y), np.arange(len(y)), vocabulary.numbers(y, what))
    rows = [[vocabulary.number(k, f"{what}[{i}]") for k in labels] for i, labels in enumerate(y)]
    document = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return _Read(len(rows), document, np.array([k for row in rows for k in row], dtype=np.int64))


def _read_indicator(
    shape: tuple[int, ...],
    document: npt.NDArray[Any],
    column: npt.NDArray[Any],
    vocabulary: Vocabulary,
    what: str,
    columns: Sequence[Any] | None,
) -> _Read:
    if shape[0] == 0:
        raise InputError(f"{what} holds no documents: there is nothing to measure")
    numbers = read_columns(shape[1], vocabulary, f"the indicator matrix {what}", columns)
    return _Read(shape[0], document.astype(np.int64), numbers[column])


def read_columns(n_columns: int, vocabulary: Vocabulary, what: str, columns: Sequence[Any] | None) -> Ints:
    """Give the label numbers of a matrix's columns."""
    if columns is None:
        if vocabulary.taxonomy is not None and n_columns == len(vocabulary):
            return np.arange(n_columns)
        raise InputError(f"{what} has {n_columns} columns: say which labels they are with labels=[…]")
    if len(columns) != n_columns:
        raise InputError(f"{what} has {n_columns} columns, but labels names {len(columns)}")
    numbers = vocabulary.numbers(np.asarray(columns, dtype=object).tolist(), "labels")
    if len(np.unique(numbers)) < len(numbers):
        raise InputError("labels must name every column differently, got one of them twice")
    return numbers


def read_two(
    y_true: Labels, y_pred: Labels, taxonomy: Taxonomy | None, labels: Sequence[Any] | None = None
) -> tuple[LabelSets, LabelSets]:
    """Read true and predicted label sets over the same labels."""
    vocabulary = Vocabulary(taxonomy)
    true, pred = read(y_true, vocabulary, "y_true", labels), read(y_pred, vocabulary, "y_pred", labels)
    if true.n_documents != pred.n_documents:
        raise InputError(
            f"y_true and y_pred must hold the same documents, got {true.n_documents} and {pred.n_documents}"
        )
    return true.sets(vocabulary), pred.sets(vocabulary)


def read_answers(
    y_true: Labels, y_pred: Labels, taxonomy: Taxonomy | None, labels: Sequence[Any] | None = None
) -> tuple[LabelSets, Ints]:
    """Read true label sets, and predictions of exactly one label a document."""
    true, pred = read_two(y_true, y_pred, taxonomy, labels)
    if (pred.sizes != 1).any():
        i = int(np.argmax(pred.sizes != 1))
        raise InputError(
            f"y_pred must hold one label a document, got {pred.sizes[i]} in [{i}]; for label sets use "
            "hierarchical_f1, lca_f1, micro_f1, macro_f1 or set_loss"
        )
    return true, pred.label


class Scores:
    """A score matrix, dense or sparse, from which dense rows are taken a few at a time.

    Entries that a sparse matrix does not store rank last, tied: so the few best labels of a document are
    enough.
    """

    CELLS = 1 << 21  # cells made dense at once

    def __init__(self, scores: Any, n_documents: int) -> None:
        self._sparse = scores.tocsr() if hasattr(scores, "tocsr") else None
        self._dense = None if self._sparse is not None else np.asarray(scores)
        shape = scores.shape if self._sparse is not None else self._dense.shape  # type: ignore[union-attr]
        if len(shape) != 2 or shape[1] == 0:
            raise InputError(f"scores must be a matrix of documents by labels, got shape {tuple(shape)}")
        if shape[0] != n_documents:
            raise InputError(
                f"scores must have a row for each of the {n_documents} documents in y_true, got {shape[0]}"
            )
        self.n_documents, self.n_columns = int(shape[0]), int(shape[1])
        for part in self.parts(self.n_documents):
            least = self.rows(np.arange(part.start, part.stop)).min(axis=1)
            if np.isnan(least).any():
                raise InputError(f"scores must be numbers, got NaN in row {part.start + int(np.isnan(least).argmax())}")

    def parts(self, n_rows: int) -> Iterable[slice]:
        """Cut this many rows into pieces that may be made dense."""
        step = max(1, self.CELLS // self.n_columns)
        return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))

    def rows(self, documents: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Give the dense rows of these documents; they are the caller's own."""
        if self._dense is not None:
            rows: npt.NDArray[Any] = self._dense[documents]
            return rows
        assert self._sparse is not None
        indptr = self._sparse.indptr
        sizes = indptr[documents + 1] - indptr[documents]
        owner = np.repeat(np.arange(len(documents)), sizes)
        place = np.arange(len(owner)) + np.repeat(indptr[documents] - (np.cumsum(sizes) - sizes), sizes)
        out = np.full((len(documents), self.n_columns), -np.inf)
        out[owner, self._sparse.indices[place]] = self._sparse.data[place]
        return out
