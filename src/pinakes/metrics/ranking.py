"""Metrics of rankings: scores of all labels against sets of true ones.

A tie between a true and a wrong label counts as the wrong way round, so that constant scores earn nothing. A
true label without a column (the model never saw it) is ranked below everything: unseen labels are misses.
With ``unseen="ignore"`` they are left out of the truth instead, and documents without any other out of the
mean: the model is then judged only on what it could have known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from pinakes.errors import InputError, ParameterError
from pinakes.metrics.averages import Floats, mean
from pinakes.metrics.hierarchical import shares_parent
from pinakes.metrics.labels import Ints, Labels, LabelSets, Scores, Vocabulary, read, read_columns
from pinakes.taxonomy.loss import LossSpec, make_loss
from pinakes.taxonomy.taxonomy import Taxonomy

Unseen = Literal["miss", "ignore"]


def one_accuracy(
    y_true: Labels,
    scores: Any,
    taxonomy: Taxonomy | None = None,
    labels: Sequence[Any] | None = None,
    *,
    per_document: bool = False,
) -> float | Floats:
    """Give the share of documents whose best-scored label is true (2007).

    Parameters
    ----------
    y_true : one label or one collection of labels a document, or an indicator matrix
        The truth. Labels are ids; with a `taxonomy` integers are node numbers.
    scores : array or sparse matrix of shape (n_documents, n_columns)
        Entries that a sparse matrix does not store rank last, tied.
    taxonomy : Taxonomy, optional
        Given, labels must be its nodes.
    labels : sequence, optional
        What the columns of `scores` (and of an indicator matrix) stand for; default all nodes.
    per_document : bool, default=False
        Give the value of every document instead of the mean.

    Examples
    --------
    >>> one_accuracy(["cat", "dog"], [[0.9, 0.1], [0.8, 0.2]], labels=["cat", "dog"])
    0.5
    """
    task = _read(y_true, scores, taxonomy, labels, "miss")
    keys = np.arange(task.true.n_documents) * task.true.n_labels + task.column_labels[task.top]
    return mean(np.isin(keys, task.true.keys), per_document)


def parent_one_accuracy(
    y_true: Labels,
    scores: Any,
    taxonomy: Taxonomy,
    labels: Sequence[Any] | None = None,
    *,
    per_document: bool = False,
) -> float | Floats:
    """Give the share of documents whose best-scored label is true or shares a parent with a true one (2007).

    Parameters as in `one_accuracy`; a root matches only itself.
    """
    task = _read(y_true, scores, taxonomy, labels, "miss")
    return mean(shares_parent(task.true, task.column_labels[task.top], taxonomy), per_document)


def rank_precision(
    y_true: Labels,
    scores: Any,
    taxonomy: Taxonomy | None = None,
    labels: Sequence[Any] | None = None,
    *,
    unseen: Unseen = "miss",
    per_document: bool = False,
) -> float | Floats:
    """Give the mean of 1 / (number of labels scored at least as high as the true one) (2004, Eq. 38).

    Of several true labels the best ranked counts, and the others are not in its way. Parameters as in
    `average_precision`.
    """
    task = _read(y_true, scores, taxonomy, labels, unseen)
    wrong_above = np.full(task.true.n_documents, np.inf)
    np.minimum.at(wrong_above, task.document, task.above - task.true_above)
    return task.mean(1.0 / (1.0 + wrong_above), per_document)


def average_precision(
    y_true: Labels,
    scores: Any,
    taxonomy: Taxonomy | None = None,
    labels: Sequence[Any] | None = None,
    *,
    unseen: Unseen = "miss",
    per_document: bool = False,
) -> float | Floats:
    """Give label-ranking average precision: at each true label, the share of true ones among those not below.

    Parameters
    ----------
    y_true, scores, taxonomy, labels, per_document
        As in `one_accuracy`.
    unseen : {"miss", "ignore"}, default="miss"
        A true label without a column counts 0; or it is left out of the truth and, if it was the only one,
        its document out of the mean (NaN with `per_document`).
    """
    task = _read(y_true, scores, taxonomy, labels, unseen)
    earned = np.bincount(task.document, task.true_above / task.above, task.true.n_documents)
    n_true = task.n_seen + task.n_unseen
    return task.mean(np.where(n_true > 0, earned / np.maximum(n_true, 1), 1.0), per_document)


def ranking_loss(
    y_true: Labels,
    scores: Any,
    taxonomy: Taxonomy | None = None,
    labels: Sequence[Any] | None = None,
    *,
    unseen: Unseen = "miss",
    per_document: bool = False,
) -> float | Floats:
    """Give the share of pairs (true label, wrong label) that are ordered the wrong way round or tied.

    Parameters as in `average_precision`; an unseen label is below every wrong one.
    """
    task = _read(y_true, scores, taxonomy, labels, unseen)
    n_wrong = task.scores.n_columns - task.n_seen
    misordered = np.bincount(task.document, task.above - task.true_above, task.true.n_documents)
    misordered += task.n_unseen * n_wrong
    n_pairs = (task.n_seen + task.n_unseen) * n_wrong
    return task.mean(misordered / np.maximum(n_pairs, 1), per_document)


def maximal_loss(
    y_true: Labels,
    scores: Any,
    taxonomy: Taxonomy,
    labels: Sequence[Any] | None = None,
    *,
    loss: LossSpec = "tree",
    unseen: Unseen = "miss",
    per_document: bool = False,
) -> float | Floats:
    """Give the mean of the largest Delta(y, ybar) with y true, ybar wrong, and ybar scored at least as high.

    This is what the slack of the 2007 program bounds. `loss` as in `delta_loss`, other parameters as in
    `average_precision`.
    """
    task = _read(y_true, scores, taxonomy, labels, unseen)
    delta = make_loss(loss, taxonomy).against(task.column_labels)
    worst = np.zeros(task.true.n_documents)
    wrong_above = np.flatnonzero(task.above > task.true_above)
    for entries in _groups(wrong_above, task.label[wrong_above]):  # the losses of a label are computed once
        losses = delta(int(task.label[entries[0]]))
        for part in task.scores.parts(len(entries)):
            some = entries[part]
            rows = task.scores.rows(task.document[some])
            above = rows >= rows[np.arange(len(some)), task.column[some]][:, None]
            above &= ~task.is_true(task.document[some])
            np.maximum.at(worst, task.document[some], np.where(above, losses, 0.0).max(axis=1))
    for entries in _groups(task.unseen_entries, task.true.label[task.unseen_entries]):
        losses = delta(int(task.true.label[entries[0]]))
        for part in task.scores.parts(len(entries)):
            documents = task.true.document[entries[part]]
            np.maximum.at(worst, documents, np.where(task.is_true(documents), 0.0, losses).max(axis=1))
    return task.mean(worst, per_document)


def _groups(entries: Ints, label: Ints) -> list[Ints]:
    """Put entries of the same label together."""
    if not len(entries):
        return []
    order = np.argsort(label, kind="stable")
    return np.split(entries[order], np.flatnonzero(np.diff(label[order])) + 1)


@dataclass(frozen=True)
class _Task:
    """True labels and scores, brought together; an entry is a true label that has a column."""

    true: LabelSets
    scores: Scores
    column_labels: Ints  # the label of each column
    document: Ints
    label: Ints
    column: Ints
    unseen_entries: Ints  # positions in `true` of the labels without a column

    @cached_property
    def n_seen(self) -> Ints:
        return np.bincount(self.document, minlength=self.true.n_documents)

    @cached_property
    def n_unseen(self) -> Ints:
        return np.bincount(self.true.document[self.unseen_entries], minlength=self.true.n_documents)

    @cached_property
    def top(self) -> Ints:
        """The best column of each document; of several, the first."""
        out = np.empty(self.true.n_documents, dtype=np.int64)
        for part in self.scores.parts(self.true.n_documents):
            out[part] = self.scores.rows(np.arange(part.start, part.stop)).argmax(axis=1)
        return out

    @cached_property
    def _counted(self) -> tuple[Ints, Ints]:
        above, own = np.empty(len(self.document), dtype=np.int64), np.empty(len(self.document))
        for part in self.scores.parts(len(self.document)):
            rows = self.scores.rows(self.document[part])
            score = rows[np.arange(len(rows)), self.column[part]]
            above[part] = np.count_nonzero(rows >= score[:, None], axis=1)
            own[part] = score
        # among the true labels of a document, by falling score: the place of the last one of a tie
        order = np.lexsort((-own, self.document))
        last = np.ones(len(order), dtype=bool)
        document, score = self.document[order], own[order]
        last[:-1] = (document[1:] != document[:-1]) | (score[1:] != score[:-1])
        ends = np.flatnonzero(last)
        end = ends[np.searchsorted(ends, np.arange(len(order)))]
        first = np.concatenate([[0], np.cumsum(self.n_seen)])[document]
        true_above = np.empty(len(order), dtype=np.int64)
        true_above[order] = end - first + 1
        return above, true_above

    @property
    def above(self) -> Ints:
        """How many labels score at least as high as each entry, itself included."""
        return self._counted[0]

    @property
    def true_above(self) -> Ints:
        """How many of these are true."""
        return self._counted[1]

    def mean(self, values: Floats, per_document: bool) -> float | Floats:
        """Average over documents, without those whose true labels were all ignored (each: NaN)."""
        left = (self.true.sizes == 0) | (self.n_seen + self.n_unseen > 0)
        if not left.any():
            raise InputError("no true label has a column in scores: unseen='ignore' leaves nothing")
        return np.where(left, values, np.nan) if per_document else mean(values[left], False)

    def is_true(self, documents: Ints) -> Any:
        """Mark the true columns of these documents, in a dense table."""
        mark = np.zeros((len(documents), self.scores.n_columns), dtype=bool)
        start = np.searchsorted(self.document, documents)
        sizes = self.n_seen[documents]
        owner = np.repeat(np.arange(len(documents)), sizes)
        mark[owner, self.column[np.arange(len(owner)) + np.repeat(start - (np.cumsum(sizes) - sizes), sizes)]] = True
        return mark


def _read(
    y_true: Labels, scores: Any, taxonomy: Taxonomy | None, labels: Sequence[Any] | None, unseen: Unseen
) -> _Task:
    if unseen not in ("miss", "ignore"):
        raise ParameterError(f"unseen must be 'miss' or 'ignore', got {unseen!r}")
    vocabulary = Vocabulary(taxonomy)
    n_columns = np.shape(scores)[1] if len(np.shape(scores)) == 2 else 0
    if n_columns == 0:
        raise InputError(f"scores must be a matrix of documents by labels, got shape {np.shape(scores)}")
    column_labels = read_columns(n_columns, vocabulary, "scores", labels)
    true = read(y_true, vocabulary, "y_true", labels).sets(vocabulary)
    column_of = np.full(true.n_labels, -1, dtype=np.int64)
    column_of[column_labels] = np.arange(n_columns)
    column = column_of[true.label]
    seen = column >= 0
    unseen_entries = np.flatnonzero(~seen) if unseen == "miss" else np.zeros(0, dtype=np.int64)
    return _Task(
        true=true,
        scores=Scores(scores, true.n_documents),
        column_labels=column_labels,
        document=true.document[seen],
        label=true.label[seen],
        column=column[seen],
        unseen_entries=unseen_entries,
    )
