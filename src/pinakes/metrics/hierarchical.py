"""Metrics that know how labels lie in the taxonomy, on trees and lattices alike.

Everything rests on anc(y): the node y and all nodes above it, without a virtual root; anc(Y) is the union
over the labels in Y.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from pinakes.errors import ParameterError
from pinakes.metrics.averages import Floats, f1, mean, ratio
from pinakes.metrics.labels import Ints, Labels, LabelSets, read_answers, read_two
from pinakes.taxonomy.loss import Loss, LossSpec, NodeLoss, ZeroOneLoss, make_loss, members
from pinakes.taxonomy.taxonomy import Taxonomy

Average = Literal["micro", "macro"]


def delta_loss(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy,
    labels: Sequence[Any] | None = None,
    *,
    loss: LossSpec = "tree",
    per_document: bool = False,
) -> float | Floats:
    """Give the mean loss Delta of the answers (2004, Eq. 39), each against the nearest true label.

    Parameters
    ----------
    y_true : one label or one collection of labels a document, or an indicator matrix
        The truth, as ids or node numbers.
    y_pred : one label a document
        The answers.
    taxonomy : Taxonomy
    labels : sequence, optional
        What the columns of indicator matrices stand for; default all nodes.
    loss : {"tree", "exact", "zero-one"}, NodeCosts, matrix or Loss, default="tree"
        See `pinakes.taxonomy.loss.make_loss`; a matrix goes by all nodes in node order.
    per_document : bool, default=False
        Give the value of every document instead of the mean.

    Examples
    --------
    >>> t = Taxonomy.from_edges([("", "animal"), ("animal", "cat"), ("animal", "dog"), ("", "plant")])
    >>> delta_loss(["cat", "cat", "cat"], ["cat", "dog", "plant"], t, per_document=True)
    array([0. , 1. , 1.5])
    """
    true, answer = read_answers(y_true, y_pred, taxonomy, labels)
    return mean(_nearest(true, answer, make_loss(loss, taxonomy))[0], per_document)


def set_loss(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy,
    labels: Sequence[Any] | None = None,
    *,
    loss: LossSpec = "tree",
    per_document: bool = False,
) -> float | Floats:
    """Give the mean cost of the nodes in which anc(Y) and anc(Y_hat) differ: Delta between label sets (2007).

    Parameters as in `delta_loss`, but predictions may be sets; "zero-one" counts the sets that are not equal,
    and a matrix, which says nothing about sets, is refused.
    """
    true, pred = read_two(y_true, y_pred, taxonomy, labels)
    delta = make_loss(loss, taxonomy)
    if isinstance(delta, ZeroOneLoss):
        hits = true.common(pred).sizes
        return mean((hits < true.sizes) | (hits < pred.sizes), per_document)
    if not isinstance(delta, NodeLoss):
        raise ParameterError("loss of set_loss must be 'tree', 'exact', 'zero-one' or NodeCosts, got a matrix")
    true, pred = true.closed(taxonomy), pred.closed(taxonomy)
    values = np.zeros(true.n_documents)
    for sets, other, cost in ((true, pred, delta.miss), (pred, true, delta.false)):
        alone = ~np.isin(sets.keys, other.keys, assume_unique=True)
        values += np.bincount(sets.document[alone], cost[sets.label[alone]], true.n_documents)
    return mean(values, per_document)


def parent_accuracy(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy,
    labels: Sequence[Any] | None = None,
    *,
    per_document: bool = False,
) -> float | Floats:
    """Give the share of answers that are a true label or share a parent with one (2004, Eq. 40).

    A root has no parent and so matches only itself. Parameters as in `delta_loss`.
    """
    true, answer = read_answers(y_true, y_pred, taxonomy, labels)
    return mean(shares_parent(true, answer, taxonomy), per_document)


def shares_parent(true: LabelSets, answer: Ints, taxonomy: Taxonomy) -> Ints:
    """Say for every document whether its answer is a true label or has a parent in common with one."""
    n_nodes = len(taxonomy)
    hit = np.isin(np.arange(true.n_documents) * n_nodes + answer, true.keys)
    owner, above = members(taxonomy.parents, true.label)
    document, above_answer = members(taxonomy.parents, answer)
    shared = np.isin(document * n_nodes + above_answer, true.document[owner] * n_nodes + above)
    hit[document[shared]] = True
    return hit.astype(np.int64)


def hierarchical_precision(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy,
    labels: Sequence[Any] | None = None,
    *,
    average: Average = "micro",
    per_level: bool = False,
    per_document: bool = False,
) -> float | Floats | dict[int, float]:
    """Give the share of predicted nodes that are true: |anc(Y) and anc(Y_hat)| / |anc(Y_hat)|.

    Parameters
    ----------
    y_true, y_pred : one label or one collection of labels a document, or an indicator matrix
        Truth and predictions, as ids or node numbers.
    taxonomy : Taxonomy
    labels : sequence, optional
        What the columns of indicator matrices stand for; default all nodes.
    average : {"micro", "macro"}, default="micro"
        Sum both counts over all documents before dividing, or take the mean of the documents' values.
    per_level : bool, default=False
        Give the micro value of every level of the taxonomy (from 1, the roots) at which a node is true or
        predicted.
    per_document : bool, default=False
        Give the value of every document.
    """
    return _hierarchical(y_true, y_pred, taxonomy, labels, "precision", average, per_level, per_document)


def hierarchical_recall(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy,
    labels: Sequence[Any] | None = None,
    *,
    average: Average = "micro",
    per_level: bool = False,
    per_document: bool = False,
) -> float | Floats | dict[int, float]:
    """Give the share of true nodes that are predicted: |anc(Y) and anc(Y_hat)| / |anc(Y)|.

    Parameters as in `hierarchical_precision`.
    """
    return _hierarchical(y_true, y_pred, taxonomy, labels, "recall", average, per_level, per_document)


def hierarchical_f1(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy,
    labels: Sequence[Any] | None = None,
    *,
    average: Average = "micro",
    per_level: bool = False,
    per_document: bool = False,
) -> float | Floats | dict[int, float]:
    """Give F1 of ancestor sets: 2 |anc(Y) and anc(Y_hat)| / (|anc(Y)| + |anc(Y_hat)|).

    Parameters as in `hierarchical_precision`; "macro" is the mean of the documents' F1.

    Examples
    --------
    >>> t = Taxonomy.from_edges([("", "animal"), ("animal", "cat"), ("animal", "dog")])
    >>> hierarchical_f1(["cat", "cat"], ["cat", "dog"], t)
    0.75
    >>> hierarchical_f1(["cat", "cat"], ["cat", "dog"], t, per_level=True)
    {1: 1.0, 2: 0.5}
    """
    return _hierarchical(y_true, y_pred, taxonomy, labels, "f1", average, per_level, per_document)


def _hierarchical(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy,
    labels: Sequence[Any] | None,
    value: Literal["precision", "recall", "f1"],
    average: Average,
    per_level: bool,
    per_document: bool,
) -> float | Floats | dict[int, float]:
    if average not in ("micro", "macro"):
        raise ParameterError(f"average must be 'micro' or 'macro', got {average!r}")
    if per_level and (per_document or average == "macro"):
        raise ParameterError("per_level gives micro values: it goes neither with per_document nor with 'macro'")
    true, pred = (sets.closed(taxonomy) for sets in read_two(y_true, y_pred, taxonomy, labels))
    both = true.common(pred)
    if per_level:
        n_true, n_pred, hits = (
            np.bincount(taxonomy.levels[k.label], minlength=taxonomy.depth + 1) for k in (true, pred, both)
        )
        values = _divide(value, hits, n_true, n_pred)
        return {int(level): float(values[level]) for level in np.flatnonzero(n_true + n_pred)}
    if average == "macro" or per_document:
        return mean(_divide(value, both.sizes, true.sizes, pred.sizes), per_document)
    return float(_divide(value, len(both.keys), len(true.keys), len(pred.keys)))


def _divide(value: str, hits: Any, n_true: Any, n_pred: Any) -> Floats:
    if value == "f1":
        return f1(hits, n_true, n_pred)
    return ratio(hits, n_pred, n_true) if value == "precision" else ratio(hits, n_true, n_pred)


def nearest_true(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy,
    labels: Sequence[Any] | None = None,
    *,
    loss: LossSpec = "tree",
) -> list[list[str]]:
    """Give for each document the true label nearest to its answer: a list of one id, or none without truth.

    Of several equally near, the first in node order. This is what a single answer is tested against where
    documents have several true labels. Parameters as in `delta_loss`.
    """
    true, answer = read_answers(y_true, y_pred, taxonomy, labels)
    _, nearest = _nearest(true, answer, make_loss(loss, taxonomy))
    return [[taxonomy.ids[v]] if v >= 0 else [] for v in nearest]


def _nearest(true: LabelSets, answer: Ints, loss: Loss) -> tuple[Floats, Ints]:
    """Give for each document the loss to the nearest true label, and that label (-1 where there is none)."""
    delta = loss.pairs(true.label, answer[true.document])
    order = np.lexsort((true.label, delta, true.document))
    first = order[true.indptr[:-1][true.sizes > 0]]
    values, nearest = np.empty(true.n_documents), np.full(true.n_documents, -1, dtype=np.int64)
    values[true.document[first]], nearest[true.document[first]] = delta[first], true.label[first]
    alone = true.sizes == 0
    values[alone] = loss.unwanted(answer[alone])
    return values, nearest
