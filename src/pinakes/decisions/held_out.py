"""Scores of documents that the model has not seen: a fifth is put aside, and a second model learns from the rest.

Scores of training documents are flattered. The second model is solved more loosely than the first, which takes a
fraction of its time and changes scores little.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from pinakes.errors import ConvergenceWarning
from pinakes.models.classes import class_nodes
from pinakes.models.labels import read_labels

HELD_OUT = 0.2
LOOSE = 0.1  # relative gap of the second model
MOST_DOCUMENTS = 5_000  # that are scored; more do not make anything surer
AT_ONCE = 1 << 22  # scores (documents times classes) at a time


class HeldOut(NamedTuple):
    """Documents put aside, the model that has not seen them, and their labels.

    `truth` has the class numbers of `model` where there is one label a document, and else their sets, as a sparse array
    of documents by classes.
    """

    model: Any
    X: Any
    truth: Any

    def scores(self) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
        """Give the scores of all classes, some documents at a time."""
        size = max(1, AT_ONCE // len(self.model.classes_))
        for start in range(0, self.X.shape[0], size):
            part = slice(start, min(start + size, self.X.shape[0]))
            yield part, class_scores(self.model, self.X[part])


def has_sets(model: Any) -> bool:
    """Say whether a model was fitted to label sets, and so answers with sets."""
    return bool(getattr(model, "form_", "single") != "single" or getattr(model, "several_", False))


def class_scores(model: Any, X: Any) -> npt.NDArray[Any]:
    """Give the scores of all classes, documents by `classes_`; two columns where there are two."""
    scores = np.asarray(model.decision_function(X))
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    return np.ascontiguousarray(scores)


def nodes_of(model: Any) -> npt.NDArray[np.int32]:
    """Give the taxonomy node of each of the model's classes."""
    return class_nodes(model.taxonomy_, model.classes_)


def hold_out(model: Any, X: sparse.csr_array, y: Any) -> HeldOut | None:
    """Put documents aside and fit a second model like `model`, which was fitted to `X` and `y`, to the others.

    None where there are too few documents to put any aside.
    """
    sets = has_sets(model)
    labels: Any = np.asarray(y) if not sets else [list(few) for few in _as_lists(model, y)]
    kept, aside = _split_sets(len(labels)) if sets else _split(labels)
    if len(aside) == 0 or (sets and len({k for i in kept for k in labels[i]}) < 2):
        return None
    second: Any = clone(model)
    if hasattr(model, "tol"):
        second.set_params(tol=max(float(model.tol), LOOSE))
    if hasattr(model, "cut"):
        second.set_params(cut=1)  # only its scores are asked for
    X_kept, X_aside = X[kept], X[aside[:MOST_DOCUMENTS]]
    if getattr(second.__sklearn_tags__().input_tags, "pairwise", False):  # kernel values with the training documents
        X_kept, X_aside = X_kept[:, kept], X_aside[:, kept]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the first model has said it
        second.fit(X_kept, [labels[i] for i in kept] if sets else labels[kept])
    aside = aside[:MOST_DOCUMENTS]
    if not sets:
        return HeldOut(second, X_aside, np.searchsorted(second.classes_, labels[aside]))
    return HeldOut(second, X_aside, members_of(second, [labels[i] for i in aside]))


def members_of(model: Any, sets: Sequence[Any]) -> sparse.csr_array:
    """Give label sets as documents by classes of the model; labels that it does not know are left out."""
    place = {str(k): j for j, k in enumerate(model.classes_)}
    rows = [sorted({place[str(k)] for k in few if str(k) in place}) for few in sets]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    indices = np.array([j for row in rows for j in row], dtype=np.int32)
    return sparse.csr_array((np.ones(len(indices), dtype=bool), indices, indptr), shape=(len(rows), len(place)))


def _as_lists(model: Any, y: Any) -> Any:
    """Give label sets as lists of labels, whatever they came as."""
    if getattr(model, "form_", "") != "indicator":
        return y
    members = read_labels(y, model.classes_).members
    return [model.classes_[members.indices[a:b]].tolist() for a, b in pairwise(members.indptr)]


def _split_sets(n_documents: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Put a fifth of the documents aside."""
    order = np.random.default_rng(0).permutation(n_documents)
    aside = order[: int(HELD_OUT * len(order))]
    return np.setdiff1d(np.arange(len(order)), aside), aside


def _split(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Put a fifth of the documents aside, but never the first of its class: every class stays known."""
    order = np.random.default_rng(0).permutation(len(labels))
    _, first = np.unique(labels[order], return_index=True)
    later = np.ones(len(order), dtype=bool)
    later[first] = False
    aside = order[later][: int(HELD_OUT * len(labels))]
    return np.setdiff1d(np.arange(len(labels)), aside), aside
