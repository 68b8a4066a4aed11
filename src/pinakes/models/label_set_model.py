"""What the estimators for several labels share: labels in every form, scores of classes, and answers that are sets.

What odd label sets mean:

- An empty one says nothing about which class should come before which. It is kept for the cut: nothing should be in
  its answer. Where no training document has one, an answer is never empty (unless a number was given as `cut`).
- A document with every label says nothing to a ranking either, and is kept for the cut.
- A label given twice counts once.
- An ancestor of another label of the same document is implied by it, and no label of its own unless `implied=False`.
  Answers are alike: a class above another one in the answer is left out, unless `closed=True`, which puts in all.
- An inner node may be a label as any other: it stands for what is in no category below it.
- A label that the taxonomy does not have is an error.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from pinakes.errors import ConvergenceWarning, DocumentError, ParameterError
from pinakes.models.classes import class_nodes, resolve_taxonomy
from pinakes.models.closed_outputs import writable_csr
from pinakes.models.cuts import Cut, best_f1_cutoffs, check_cut, learn_threshold
from pinakes.models.labels import LabelMatrix, read_labels
from pinakes.models.parameters import check_ranking
from pinakes.models.scoring import Ranking
from pinakes.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]

AT_ONCE = 1 << 22  # scores (documents times classes) at a time
MOST_SCORES = 8_000_000  # that the learned threshold is fitted to
N_FOLDS = 5  # a fold is a fifth of the documents
ENOUGH = 1000  # held-out documents from which no further fold is asked for
LOOSE = 0.1  # relative gap of the models that score held-out documents


class LabelSetModel(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of the estimators that score every class and answer with label sets; see the head of this file.

    A subclass has the parameters `taxonomy`, `cut`, `closed` and `implied`, implements `_scores`, and its `fit` calls
    `_read_labels` first and `_fit_cut` last.
    """

    taxonomy: Any
    cut: Any
    closed: bool
    implied: bool
    taxonomy_: Taxonomy
    classes_: npt.NDArray[Any]
    columns_: npt.NDArray[Any]
    nodes_: npt.NDArray[np.int32]
    form_: str
    cut_: Cut

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags

    # -- answers ---------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Give the scores of all classes; of two classes with one label each only the difference, as scikit-learn does.

        Where `fit` was given an indicator matrix, the scores have its columns: one that was never a label of its own
        has the best score of the classes below it, and the worst of all where there are none.
        """
        X = self._check_documents(X)
        scores = np.concatenate([self._ranked(self._scores(part)) for part in self._blocks(X)])
        if self.form_ == "single" and len(self.classes_) == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        return self._by_column(scores) if self.form_ == "indicator" else scores

    def predict(self, X: Any) -> Any:
        """Give the labels of each document, in the form in which `fit` was given them.

        One label each: the best class. Lists or an indicator matrix: what is above the cut; see `cut`.
        """
        X = self._check_documents(X)
        if self.form_ == "single":
            best = [self._scores(part).argmax(axis=1) for part in self._blocks(X)]
            return self.classes_[np.concatenate(best)]
        parts = [self._answers(self._scores(part)) for part in self._blocks(X)]
        found: Any = sparse.vstack(parts, format="csr") if len(parts) > 1 else parts[0]
        if self.form_ == "lists":
            return [
                [self._node_label(int(v)) for v in found.indices[found.indptr[i] : found.indptr[i + 1]]]
                for i in range(found.shape[0])
            ]
        nodes = class_nodes(self.taxonomy_, self.columns_)
        return np.asarray(found[:, nodes].toarray(), dtype=np.int64)

    def rank(self, X: Any, n_best: int = 5, temperature: float = 0.0) -> Ranking:
        """Give the `n_best` best classes of each document (positions in `classes_`) and their scores, best first.

        With a positive temperature also how sure each is: with one label a document the shares of a softmax of all
        scores divided by it, with label sets a logistic function of the distance from the cut divided by it, above one
        half where the class is above the cut.
        """
        check_ranking(n_best, temperature)
        X = self._check_documents(X)
        parts = [self._rank(self._scores(part), n_best, temperature) for part in self._blocks(X)]
        if len(parts) == 1:
            return parts[0]
        sure = [part.confidences for part in parts if part.confidences is not None]
        return Ranking(
            np.concatenate([part.classes for part in parts]),
            np.concatenate([part.scores for part in parts]),
            np.concatenate(sure) if sure else None,
        )

    def _rank(self, scores: Floats, n_best: int, temperature: float) -> Ranking:
        n_best = min(n_best, scores.shape[1])
        margins = self.cut_.margins(scores) if temperature > 0 and self.form_ != "single" else None
        scores = self._ranked(scores)
        best = _best(scores, n_best)
        values = np.take_along_axis(scores, best, axis=1)
        if temperature <= 0:
            return Ranking(best, values, None)
        with np.errstate(over="ignore"):
            if margins is not None:
                return Ranking(best, values, 1.0 / (1.0 + np.exp(-np.take_along_axis(margins, best, 1) / temperature)))
            shares = np.exp((scores - values[:, :1]) / temperature)
        return Ranking(best, values, np.take_along_axis(shares, best, axis=1) / shares.sum(axis=1, keepdims=True))

    def _answers(self, scores: Floats) -> sparse.csr_array:
        """Give the nodes in the answer of each document, documents by nodes of the taxonomy."""
        inside = sparse.csr_array(self.cut_.answers(scores))
        shape = (inside.shape[0], len(self.taxonomy_))
        found = sparse.csr_array((inside.data, self.nodes_[inside.indices], inside.indptr), shape=shape)
        if self.closed:
            found = closed_upward(found, self.taxonomy_)
        elif self.implied and not self.cut_.top:
            found = without_implied(found, self.taxonomy_)
        found.sort_indices()
        return found

    def _by_column(self, scores: Floats) -> Floats:
        """Give scores of the columns of the indicator matrix from those of the classes."""
        columns = class_nodes(self.taxonomy_, self.columns_)
        if len(columns) == len(self.nodes_) and (columns == self.nodes_).all():
            return scores
        out = np.repeat(scores.min(axis=1, keepdims=True), len(columns), axis=1)
        place = np.full(len(self.taxonomy_), -1)
        place[self.nodes_] = np.arange(len(self.nodes_))
        below = self.taxonomy_.descendants
        for c, v in enumerate(columns):
            own = place[v]
            some = [own] if own >= 0 else [k for k in place[below.of(int(v))] if k >= 0]
            if some:
                out[:, c] = scores[:, some].max(axis=1)
        return out

    def _node_label(self, v: int) -> Any:
        """Give the label of a node: that of its class, or its id, as a number where labels are numbers."""
        if v not in self._labels:
            text = self.taxonomy_.ids[v]
            self._labels[v] = int(text) if self.classes_.dtype.kind in "iu" and text.lstrip("-").isdigit() else text
        return self._labels[v]

    @abstractmethod
    def _scores(self, X: Any) -> Floats:
        """Give the scores of all classes for documents as `_documents` lays them out, documents by classes."""

    def _ranked(self, scores: Floats) -> Floats:
        """Give the scores that classes are ranked by; those that answers are cut by are given, and may be changed."""
        return scores

    # -- what fit, load and predict share --------------------------------------------------------------------

    def _read_labels(self, y: Any, X: Any) -> tuple[Any, LabelMatrix]:
        """Check documents and labels of `fit` and set the classes; give both, the labels with one column a class.

        What is implied is taken out, if so wanted. A document may be left with no label only if it came without one.
        """
        check_cut(self)
        for name in ("closed", "implied"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ParameterError(
                    f"`{name}` of {type(self).__name__} must be True or False, got {getattr(self, name)!r}"
                )
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], accept_large_sparse=True)
        if y is None:
            raise ParameterError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give the labels of X"
            )
        taxonomy = None if self.taxonomy is None else resolve_taxonomy(self.taxonomy, ())
        labels = read_labels(y, None if taxonomy is None else np.array(taxonomy.ids))
        classes, members = labels.classes, labels.members
        if members.shape[0] != X.shape[0]:
            raise DocumentError(
                f"X and y must hold the same documents, got {X.shape[0]} rows and labels for {members.shape[0]}: "
                "inconsistent numbers of samples"
            )
        if labels.form == "single" and len(classes) < 2:
            raise ParameterError(
                f"{type(self).__name__} needs at least 2 classes, got the 1 class {str(classes[0])!r} only"
            )
        if taxonomy is None:
            taxonomy = resolve_taxonomy(None, classes)
        nodes = class_nodes(taxonomy, classes)
        if self.implied and labels.form != "single":
            own = sparse.csr_array(
                (members.data, nodes[members.indices], members.indptr), (members.shape[0], len(taxonomy))
            )
            place = np.full(len(taxonomy), -1, dtype=np.int32)
            place[nodes] = np.arange(len(nodes), dtype=np.int32)
            own = without_implied(own, taxonomy)
            members = sparse.csr_array((own.data, place[own.indices], own.indptr), shape=members.shape)
        used = np.unique(members.indices)
        used = used[np.argsort(classes[used], kind="stable")]
        members = sparse.csr_array(members[:, used])
        members.sort_indices()
        self._set_classes(taxonomy, classes[used], labels.form, classes)
        return self._documents(X), LabelMatrix(self.classes_, members, labels.form)

    def _set_classes(
        self, taxonomy: Taxonomy, classes: npt.NDArray[Any], form: str, columns: npt.NDArray[Any] | None = None
    ) -> None:
        """Set what follows from the classes: `columns` are the labels of an indicator matrix, used or not."""
        self.taxonomy_, self.classes_, self.form_ = taxonomy, classes, form
        self.columns_ = columns if columns is not None and form == "indicator" else classes
        self.nodes_ = class_nodes(taxonomy, classes)
        self._labels: dict[int, Any] = dict(zip(self.nodes_.tolist(), classes.tolist(), strict=True))

    def _fit_cut(
        self, X: Any, labels: LabelMatrix, sample_weight: Any = None, right: sparse.csr_array | None = None
    ) -> None:
        """Find the cut, with documents and labels as `_read_labels` gave them; documents of no weight do not count.

        `right` are the classes that should be above the cut; None: the labels.

        Scores of the training documents are flattered, so cuts are tuned on documents that a second model, solved more
        loosely, was not trained on: a fifth of them, and up to five fifths where documents are few. For "macro-f1",
        which needs documents of every class, always all.
        """
        cut = check_cut(self)
        members, n_classes = labels.members, len(self.classes_)
        right = members if right is None else right
        never_empty = bool((np.diff(members.indptr) > 0).all())
        if labels.form == "single":
            self.cut_ = Cut.best(1)
        elif isinstance(cut, int):
            self.cut_ = Cut.best(cut)
        elif isinstance(cut, float):
            self.cut_ = Cut.at(cut)
        else:
            weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
            folds = [
                (self._second(X, labels, kept, weight), kept, aside)
                for kept, aside in _folds(members, cut == "macro-f1", weight)
            ]
            if cut == "learned":
                scores, own = self._some_scores(X, right, folds)
                coef, offset = learn_threshold(scores, own)
                self.cut_ = Cut(np.array([offset]), coef, never_empty=never_empty)
            else:
                blocks = partial(self._held_out, X, right, folds)
                for_all, cutoffs = best_f1_cutoffs(blocks, n_classes)
                self.cut_ = Cut.at(for_all if cut == "micro-f1" else cutoffs, never_empty)

    def _second(self, X: Any, labels: LabelMatrix, kept: npt.NDArray[np.int64], weight: Floats | None) -> Any:
        """Fit a model of the same kind to some of the documents; itself where these are all."""
        if len(kept) == X.shape[0]:
            return self
        second: Any = clone(self).set_params(cut=0.0)
        if self.taxonomy is not None:
            second.set_params(taxonomy=self.taxonomy_)
        if "tol" in second.get_params():
            second.set_params(tol=max(float(second.tol), LOOSE))
        Y = labels.members[kept]
        names = self.classes_[Y.indices].tolist()
        y = [set(names[Y.indptr[i] : Y.indptr[i + 1]]) for i in range(len(kept))]
        settings = {} if weight is None else {"sample_weight": weight[kept]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the first model has said it
            second.fit(self._part(X, kept, kept), y, **settings)
        return second

    def _held_out(self, X: Any, members: sparse.csr_array, folds: Any) -> Iterator[tuple[Floats, sparse.csr_array]]:
        """Give the scores of held-out documents, some at a time, and their labels."""
        for second, kept, aside in folds:
            size = max(1, AT_ONCE // len(self.classes_))
            for first in range(0, len(aside), size):
                rows = aside[first : first + size]
                yield second._scores(self._part(X, rows, kept)), sparse.csr_array(members[rows])

    def _some_scores(self, X: Any, members: sparse.csr_array, folds: Any) -> tuple[Floats, sparse.csr_array]:
        """Give the scores of as many held-out documents as `MOST_SCORES` allows, and their labels."""
        most = max(1, MOST_SCORES // len(self.classes_) // len(folds))
        folds = [(second, kept, aside[:most]) for second, kept, aside in folds]
        scores, own = zip(*self._held_out(X, members, folds), strict=True)
        both: Any = sparse.vstack(own, format="csr")
        return np.concatenate(scores), both

    def _part(self, X: Any, rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64]) -> Any:
        """Give some documents; of kernel values, only those with the documents `columns`."""
        pairwise = self.__sklearn_tags__().input_tags.pairwise
        return X[rows][:, columns] if pairwise else X[rows]

    def _documents(self, X: Any) -> Any:
        """Lay out checked documents as `_scores` takes them."""
        return writable_csr(X)

    def _check_documents(self, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        settings: dict[str, Any] = {"accept_sparse": "csr", "accept_large_sparse": True, "reset": False}
        return self._documents(validate_data(self, X, dtype=[np.float64, np.float32], **settings))

    def _blocks(self, X: Any) -> Iterator[Any]:
        size = max(1, AT_ONCE // len(self.classes_))
        if X.shape[0] <= size:
            yield X
            return
        for first in range(0, X.shape[0], size):
            yield X[first : first + size]


def closed_upward(members: sparse.csr_array, taxonomy: Taxonomy) -> sparse.csr_array:
    """Put the ancestors of all nodes into sets of nodes, documents by nodes."""
    up = taxonomy.ancestors
    above = sparse.csr_array((np.ones(len(up.indices), dtype=np.int32), up.indices, up.indptr), (len(taxonomy),) * 2)
    return sparse.csr_array((members.astype(np.int32) @ above) > 0)


def without_implied(members: sparse.csr_array, taxonomy: Taxonomy) -> sparse.csr_array:
    """Take the nodes that are above others of the same set out of sets of nodes, documents by nodes."""
    up = taxonomy.ancestors
    below = np.repeat(np.arange(len(taxonomy), dtype=np.int32), up.sizes())
    strict = up.indices != below
    indptr = np.concatenate([[0], np.cumsum(np.bincount(below[strict], minlength=len(taxonomy)))])
    ones = np.ones(int(strict.sum()), dtype=np.int32)
    above = sparse.csr_array((ones, up.indices[strict], indptr), (len(taxonomy),) * 2)
    count = members.astype(np.int32)
    implied = sparse.csr_array((count @ above) > 0)
    left = sparse.csr_array(count - count.multiply(implied)).astype(bool)
    left.eliminate_zeros()
    left.sort_indices()
    return left


def _best(scores: Floats, n_best: int) -> npt.NDArray[np.int32]:
    """Give the best classes of each document, best first; of equals the lower class first."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :n_best].astype(np.int32)


def _folds(
    members: sparse.csr_array, every: bool, weight: Floats | None
) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Give pairs of documents to keep and to put aside; no label is without a document among those kept.

    Where nothing can be put aside, one pair with all documents twice.
    """
    n_samples, n_classes = members.shape
    order = np.random.default_rng(0).permutation(n_samples)
    counted = np.ones(n_samples, dtype=bool) if weight is None else weight > 0
    total = np.bincount(members[np.flatnonzero(counted)].indices, minlength=n_classes)
    n_folds = N_FOLDS if every else min(N_FOLDS, max(1, -(-ENOUGH * N_FOLDS // max(n_samples, 1))))
    folds = []
    for f in range(n_folds):
        aside = order[f::N_FOLDS]
        aside = aside[counted[aside]]
        inside = members[aside]
        gone = np.bincount(inside.indices, minlength=n_classes) == total
        stays = np.asarray((inside.astype(np.int32) @ gone.astype(np.int32)) > 0)
        aside = np.sort(aside[~stays])
        if len(aside):
            folds.append((np.setdiff1d(np.arange(n_samples), aside), aside))
    everything = np.flatnonzero(counted)
    return folds or [(np.arange(n_samples), everything)]
