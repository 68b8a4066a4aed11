"""Labels in any of the forms people hold them, as one sparse matrix: one a document, a set a document, an indicator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from pinakes.errors import DocumentError, LabelError
from pinakes.models.classes import class_nodes, resolve_taxonomy
from pinakes.taxonomy import Taxonomy


@dataclass(frozen=True)
class LabelSets:
    """The label sets of some documents.

    `classes` are the labels seen, sorted; `nodes` where they stand in `taxonomy`; `Y` (n_documents, n_classes) has True
    where a document carries a label; `single` says that every document was given one label, not a set.
    """

    taxonomy: Taxonomy
    classes: npt.NDArray[Any]
    nodes: npt.NDArray[np.int32]
    Y: sparse.csr_array
    single: bool

    @property
    def by_node(self) -> sparse.csr_array:
        """The same matrix with a column for each node of the taxonomy."""
        columns = self.nodes[self.Y.indices]
        return sparse.csr_array((self.Y.data, columns, self.Y.indptr), shape=(self.Y.shape[0], len(self.taxonomy)))


def read_label_sets(y: Any, taxonomy: Any, n_documents: int | None, owner: object) -> LabelSets:
    """Read labels `y`: one a document, a collection a document, or an indicator matrix.

    An indicator matrix has a column for each node of the taxonomy, in its order (`taxonomy.ids`); without a taxonomy
    its columns are the classes 0, 1, …. `owner` is the estimator, for messages, and `n_documents` how many
    documents there must be.
    """
    if y is None:
        raise DocumentError(f"{type(owner).__name__} requires y to be passed, but the target y is None")
    indicator = sparse.issparse(y) or (isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] != 1)
    known = None if taxonomy is None else resolve_taxonomy(taxonomy, ())
    if indicator:
        classes, Y = _read_indicator(y, known)
        single = False
    else:
        if not isinstance(y, np.ndarray):  # a data frame's column, or anything that says it is an array; a list
            y = np.asarray(y) if hasattr(y, "__array__") else list(y)
        single = len(y) == 0 or (isinstance(y, np.ndarray) and y.ndim == 2) or not _is_set(y[0])
        classes, Y = _read_single(y) if single else _read_sets(y)
    if n_documents is not None and Y.shape[0] != n_documents:
        raise DocumentError(f"X and y must hold the same documents, got {n_documents} and {Y.shape[0]}")
    without = np.flatnonzero(np.diff(Y.indptr) == 0)
    if len(without):
        raise DocumentError(
            f"every document needs a label, got none in row {without[0]} (counted from 0)"
            f"{f' and {len(without) - 1} more' if len(without) > 1 else ''}; drop these documents"
        )
    taxonomy = resolve_taxonomy(known, classes)
    return LabelSets(taxonomy, classes, class_nodes(taxonomy, classes), Y, single)


def _is_set(labels: Any) -> bool:
    return not isinstance(labels, str) and hasattr(labels, "__iter__") and getattr(labels, "ndim", 1) > 0


def _read_single(y: Any) -> tuple[npt.NDArray[Any], sparse.csr_array]:
    if any(_is_set(labels) for labels in y if not isinstance(y, np.ndarray)):
        i = next(i for i, labels in enumerate(y) if _is_set(labels))
        raise LabelError(
            f"y must hold one label each, or one list of labels each, got {y[0]!r} in [0], {y[i]!r} in [{i}]"
        )
    y = column_or_1d(np.asarray(y), warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, _matrix(codes, np.arange(len(y) + 1), len(classes))


def _read_sets(y: Any) -> tuple[npt.NDArray[Any], sparse.csr_array]:
    for i, labels in enumerate(y):
        if not _is_set(labels):
            raise LabelError(
                f"y must hold one label each, or one list of labels each, got {y[0]!r} in [0], {labels!r} in [{i}]"
            )
    rows = [list(labels) for labels in y]
    flat = [label for row in rows for label in row]
    classes, codes = np.unique(np.array(flat), return_inverse=True) if flat else (np.array([], dtype=str), np.array([]))
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return classes, _matrix(codes.astype(np.int64), indptr, len(classes))


def _read_indicator(y: Any, taxonomy: Taxonomy | None) -> tuple[npt.NDArray[Any], sparse.csr_array]:
    Y = sparse.csr_array(y)
    if Y.dtype.kind not in "biuf" or not np.isin(Y.data, (0, 1)).all():
        raise LabelError("an indicator matrix of labels must hold 0 and 1 (or False and True) only")
    Y.eliminate_zeros()
    if taxonomy is not None and Y.shape[1] != len(taxonomy):
        raise LabelError(
            f"an indicator matrix of labels must have a column for each of the {len(taxonomy)} nodes of the taxonomy, "
            f"in the order of its `ids`, got {Y.shape[1]} columns; or give lists of labels"
        )
    used = np.unique(Y.indices)
    names = used if taxonomy is None else np.array([taxonomy.ids[v] for v in used])
    order = np.argsort(names, kind="stable")
    place = np.zeros(Y.shape[1], dtype=np.int64)
    place[used[order]] = np.arange(len(used))
    return names[order], _matrix(place[Y.indices], Y.indptr, len(used))


def _matrix(columns: npt.NDArray[Any], indptr: npt.NDArray[Any], n_classes: int) -> sparse.csr_array:
    """Give the boolean matrix with these entries; what stands there twice counts once."""
    Y = sparse.csr_array((np.ones(len(columns), dtype=bool), columns, indptr), shape=(len(indptr) - 1, n_classes))
    Y.sum_duplicates()
    return Y
