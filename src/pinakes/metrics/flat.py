"""Metrics that know labels only by name: how often the answer is right, and F1 over labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from pinakes.errors import ParameterError
from pinakes.metrics.averages import Floats, f1, mean
from pinakes.metrics.labels import Labels, LabelSets, read_answers, read_two
from pinakes.taxonomy.taxonomy import Taxonomy


def accuracy(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy | None = None,
    labels: Sequence[Any] | None = None,
    *,
    per_document: bool = False,
) -> float | Floats:
    """Give the share of documents whose answer is a true label (2004, Eq. 37).

    Parameters
    ----------
    y_true : one label or one collection of labels a document, or an indicator matrix
        The truth. Labels are ids; with a `taxonomy` integers are node numbers.
    y_pred : one label a document
        The answers.
    taxonomy : Taxonomy, optional
        Given, labels must be its nodes.
    labels : sequence, optional
        What the columns of indicator matrices stand for; default all nodes.
    per_document : bool, default=False
        Give the value of every document instead of the mean.

    Examples
    --------
    >>> accuracy(["cat", "dog", "cat"], ["cat", "cat", "cat"])
    0.6666666666666666
    """
    true, answer = read_answers(y_true, y_pred, taxonomy, labels)
    hit = np.isin(np.arange(true.n_documents) * true.n_labels + answer, true.keys)
    return mean(hit, per_document)


def micro_f1(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy | None = None,
    labels: Sequence[Any] | None = None,
    *,
    closed: bool = False,
) -> float:
    """Give F1 over all (document, label) pairs: 2 |T and P| / (|T| + |P|).

    With `closed`, label sets first get all their ancestors, which needs a `taxonomy`. Other parameters as in
    `accuracy`; predictions may be sets.
    """
    true, pred = _read(y_true, y_pred, taxonomy, labels, closed)
    return float(f1(len(true.common(pred).keys), len(true.keys), len(pred.keys)))


def macro_f1(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy | None = None,
    labels: Sequence[Any] | None = None,
    *,
    closed: bool = False,
    over: Literal["present", "true", "all"] = "present",
) -> float:
    """Give the mean over labels of the label's F1.

    `over` says which labels: "present", those that are true or predicted somewhere; "true", those that are
    true somewhere; "all", every node of the taxonomy or, without one, every label named in `labels`, where
    one that is never true and never predicted counts 0, as in scikit-learn. Other parameters as in
    `micro_f1`.
    """
    if over not in ("present", "true", "all"):
        raise ParameterError(f"over of macro_f1 must be 'present', 'true' or 'all', got {over!r}")
    if over == "all" and taxonomy is None and labels is None:
        raise ParameterError("over='all' of macro_f1 needs a taxonomy or labels=[…] to know all labels")
    true, pred = _read(y_true, y_pred, taxonomy, labels, closed)
    n_true, n_pred, hits = (
        np.bincount(sets.label, minlength=sets.n_labels) for sets in (true, pred, true.common(pred))
    )
    present = n_true + n_pred > 0 if over != "true" else n_true > 0
    if not present.any():
        return float(not n_pred.any())
    total = f1(hits[present], n_true[present], n_pred[present]).sum()
    n_all = len(labels) if taxonomy is None and labels is not None else true.n_labels
    return float(total / (n_all if over == "all" else present.sum()))


def _read(
    y_true: Labels, y_pred: Labels, taxonomy: Taxonomy | None, labels: Sequence[Any] | None, closed: bool
) -> tuple[LabelSets, LabelSets]:
    true, pred = read_two(y_true, y_pred, taxonomy, labels)
    if not closed:
        return true, pred
    if taxonomy is None:
        raise ParameterError("closed=True adds the ancestors of every label and so needs a taxonomy")
    return true.closed(taxonomy), pred.closed(taxonomy)
