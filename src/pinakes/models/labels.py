"""Labels of documents as estimators take them, as one sparse matrix: one each, a list each, or an indicator matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from pinakes.errors import DocumentError, InputError, LabelError
from pinakes.models.classes import class_nodes, resolve_taxonomy
from pinakes.taxonomy import Taxonomy

Form = Literal["single", "lists", "indicator"]


@dataclass(frozen=True)
class LabelMatrix:
    """Which document has which label.

    Attributes
    ----------
    classes : ndarray
        The labels, ascending; of an indicator matrix, its columns.
    members : sparse array of bool (n_samples, n_classes)
    form : {"single", "lists", "indicator"}
        How they were given.
    """

    classes: npt.NDArray[Any]
    members: sparse.csr_array
    form: Form


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


def read_labels(y: Any, columns: Any = None) -> LabelMatrix:
    """Read labels: one a document, a collection a document, or an indicator matrix, dense or sparse.

    `columns` are the labels behind the columns of an indicator matrix, 0, 1, 2, … where it is None.
    """
    if sparse.issparse(y):
        given: Any = y
        return _read_indicator(given.tocsr(), columns)
    if hasattr(y, "to_numpy"):  # a column or a table of a data frame
        y = y.to_numpy()
    if hasattr(y, "__array__") and not isinstance(y, np.ndarray):
        y = np.asarray(y)
    if isinstance(y, str) or not hasattr(y, "__len__"):
        raise InputError(
            f"y must hold one label or one list of labels a document, or be an indicator matrix, got {type(y).__name__}"
        )
    if _holds_collections(y):
        return _read_lists(y)
    if not isinstance(y, np.ndarray):
        for i, label in enumerate(y):
            if isinstance(label, list | tuple | set | frozenset) and not isinstance(y[0], list | tuple):
                raise LabelError(f"y must hold one label a document, as in [0], got {label!r} in [{i}]")
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] != 1:
        return _read_indicator(sparse.csr_array(array), columns)
    array = column_or_1d(array, warn=True)
    if array.dtype.kind == "f":
        assert_all_finite(array, input_name="y")
    check_classification_targets(array)
    classes, codes = np.unique(array, return_inverse=True)
    ones = np.ones(len(codes), dtype=bool)
    shape = (len(codes), len(classes))
    members = sparse.csr_array((ones, codes.astype(np.int32), np.arange(len(codes) + 1)), shape=shape)
    return LabelMatrix(classes, members, "single")


def read_label_sets(y: Any, taxonomy: Any, n_documents: int | None, owner: object) -> LabelSets:
    """Read labels `y` as `read_labels` does, find them in the taxonomy, and see that every document has one.

    The columns of an indicator matrix are the nodes of the taxonomy, in its order (`taxonomy.ids`); without a taxonomy
    they are the classes 0, 1, …. `owner` is the estimator, for messages, and `n_documents` how many documents
    there must be.
    """
    if y is None:
        raise DocumentError(f"{type(owner).__name__} requires y to be passed, but the target y is None")
    known = None if taxonomy is None else resolve_taxonomy(taxonomy, ())
    labels = read_labels(y, None if known is None else np.array(known.ids))
    classes, Y = labels.classes, labels.members
    if labels.form == "indicator":  # the columns that are used, in the order of their names
        used = np.unique(Y.indices)
        used = used[np.argsort(classes[used], kind="stable")]
        classes, Y = classes[used], sparse.csr_array(Y[:, used])
    if n_documents is not None and Y.shape[0] != n_documents:
        raise DocumentError(f"X and y must hold the same documents, got {n_documents} and {Y.shape[0]}")
    without = np.flatnonzero(np.diff(Y.indptr) == 0)
    if len(without):
        raise DocumentError(
            f"every document needs a label, got none in row {without[0]} (counted from 0)"
            f"{f' and {len(without) - 1} more' if len(without) > 1 else ''}; drop these documents"
        )
    taxonomy = resolve_taxonomy(known, classes)
    return LabelSets(taxonomy, classes, class_nodes(taxonomy, classes), Y, labels.form == "single")


def _holds_collections(y: Any) -> bool:
    if isinstance(y, np.ndarray):
        return bool(y.dtype == object and y.ndim == 1 and len(y) and isinstance(y[0], list | tuple | set | frozenset))
    if not len(y):
        return False
    first = next(iter(y))
    if isinstance(first, set | frozenset):
        return True
    if not isinstance(first, list | tuple):
        return False
    # rows of zeros and ones, all equally long and more than one, are an indicator matrix
    rows = list(y)
    lengths = {len(row) if hasattr(row, "__len__") else -1 for row in rows}
    if len(lengths) > 1 or len(first) < 2:
        return True
    return not all(isinstance(k, bool | int | float | np.number) and k in (0, 1) for row in rows for k in row)


def _read_lists(y: Any) -> LabelMatrix:
    flat: list[Any] = []
    sizes: list[int] = []
    for i, labels in enumerate(y):
        if isinstance(labels, str) or not hasattr(labels, "__iter__"):
            raise LabelError(f"y must hold one list of labels a document, got {labels!r} in [{i}]")
        few = list(dict.fromkeys(labels))
        for label in few:
            if not isinstance(label, str | int | np.integer | np.str_) or isinstance(label, bool):
                raise LabelError(f"labels must be texts or whole numbers, got {label!r} in y[{i}]")
        flat += few
        sizes.append(len(few))
    if len({isinstance(label, str) for label in flat}) > 1:
        raise LabelError("labels must all be texts or all be whole numbers, got both")
    if not flat:
        raise InputError("y holds no label at all: there is nothing to learn")
    classes, codes = np.unique(np.array(flat), return_inverse=True)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    shape = (len(sizes), len(classes))
    members = sparse.csr_array((np.ones(len(codes), dtype=bool), codes.astype(np.int32), indptr), shape=shape)
    members.sort_indices()
    return LabelMatrix(classes, members, "lists")


def _read_indicator(Y: Any, columns: Any) -> LabelMatrix:
    if not np.isin(Y.data, (0, 1)).all():
        raise LabelError("an indicator matrix y must hold 0 and 1 only")
    members = sparse.csr_array(Y.astype(bool))
    members.eliminate_zeros()
    members.sort_indices()
    if columns is None:
        columns = np.arange(Y.shape[1])
    if len(columns) != Y.shape[1]:
        raise LabelError(
            f"the indicator matrix y has {Y.shape[1]} columns where {len(columns)} were expected: one for each node of "
            "the taxonomy, in the order of its ids, or for each label in `classes`; or give y as lists of labels"
        )
    if not members.nnz:
        raise InputError("y holds no label at all: there is nothing to learn")
    return LabelMatrix(np.asarray(columns), members, "indicator")
