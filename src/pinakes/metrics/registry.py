"""All metrics in one dictionary, and everything at once for one set of predictions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pinakes.errors import ParameterError, closest
from pinakes.metrics import flat, hierarchical, lca, ranking
from pinakes.metrics.labels import Labels
from pinakes.taxonomy.loss import LossSpec, make_loss
from pinakes.taxonomy.taxonomy import Taxonomy

INF = float("inf")


@dataclass(frozen=True)
class Metric:
    """What is known about a metric.

    Attributes
    ----------
    function : callable
        ``function(y_true, y_pred or scores, taxonomy, labels, **options)``.
    needs : {"labels", "sets", "scores"}
        What it measures: one predicted label a document, a predicted set, or scores of all labels. A single
        label is also a set.
    greater_is_better : bool
    range : (float, float)
        The least and the largest value there can be.
    undefined : float
        The value of a document without true labels, where anything was predicted; NaN where it depends on the
        answer.
    """

    function: Callable[..., Any]
    needs: Literal["labels", "sets", "scores"]
    greater_is_better: bool = True
    range: tuple[float, float] = (0.0, 1.0)
    undefined: float = 0.0

    @property
    def name(self) -> str:
        """The function's name: the key of this metric everywhere."""
        return self.function.__name__

    @property
    def best(self) -> float:
        """The value of perfect predictions."""
        return self.range[1] if self.greater_is_better else self.range[0]

    @property
    def has_loss(self) -> bool:
        """Whether the metric depends on the loss Delta."""
        return "loss" in self._options

    @property
    def has_documents(self) -> bool:
        """Whether the metric has values for single documents: ``per_document=True``."""
        return "per_document" in self._options

    @cached_property
    def _options(self) -> frozenset[str]:
        return frozenset(inspect.signature(self.function).parameters)

    def __call__(
        self,
        y_true: Labels,
        y_pred: Any,
        taxonomy: Taxonomy,
        labels: Sequence[Any] | None = None,
        *,
        loss: LossSpec = "tree",
        **options: Any,
    ) -> Any:
        """Call the function; `loss` is dropped where it plays no part."""
        if self.has_loss:
            options["loss"] = loss
        return self.function(y_true, y_pred, taxonomy, labels, **options)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(flat.accuracy, "labels"),
        Metric(hierarchical.parent_accuracy, "labels"),
        Metric(hierarchical.delta_loss, "labels", False, (0.0, INF), float("nan")),
        Metric(hierarchical.hierarchical_precision, "sets"),
        Metric(hierarchical.hierarchical_recall, "sets"),
        Metric(hierarchical.hierarchical_f1, "sets"),
        Metric(lca.lca_f1, "sets"),
        Metric(hierarchical.set_loss, "sets", False, (0.0, INF), float("nan")),
        Metric(flat.micro_f1, "sets"),
        Metric(flat.macro_f1, "sets"),
        Metric(ranking.one_accuracy, "scores"),
        Metric(ranking.parent_one_accuracy, "scores"),
        Metric(ranking.rank_precision, "scores"),
        Metric(ranking.average_precision, "scores", undefined=1.0),
        Metric(ranking.ranking_loss, "scores", False),
        Metric(ranking.maximal_loss, "scores", False, (0.0, INF)),
    )
}


def get_metric(name: str) -> Metric:
    """Find a metric by its name."""
    try:
        return METRICS[name]
    except KeyError:
        raise ParameterError(
            f"there is no metric {name!r}{closest(name, METRICS)}; there are {', '.join(METRICS)}"
        ) from None


def evaluate_labels(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy,
    scores: Any = None,
    labels: Sequence[Any] | None = None,
    loss: LossSpec = "tree",
) -> dict[str, float]:
    """Measure predictions of one label a document in every way that is defined for them.

    A document with several true labels is tested against the one nearest to its answer (see `nearest_true`),
    by every metric but the rankings, which take all of them.

    Parameters
    ----------
    y_true : one label or one collection of labels a document, or an indicator matrix
    y_pred : one label a document
    taxonomy : Taxonomy
    scores : array or sparse matrix of shape (n_documents, n_columns), optional
        Adds the ranking metrics.
    labels : sequence, optional
        What the columns of `scores` and of indicator matrices stand for; default all nodes.
    loss : {"tree", "exact", "zero-one"}, NodeCosts, matrix or Loss, default="tree"

    Returns
    -------
    dict
        Values by metric name.

    Examples
    --------
    >>> t = Taxonomy.from_edges([("", "animal"), ("animal", "cat"), ("animal", "dog")])
    >>> values = evaluate_labels(["cat", "cat"], ["cat", "dog"], t)
    >>> values["accuracy"], values["parent_accuracy"], values["delta_loss"], values["hierarchical_f1"]
    (0.5, 1.0, 0.5, 0.75)
    """
    delta = make_loss(loss, taxonomy)
    nearest = hierarchical.nearest_true(y_true, y_pred, taxonomy, labels, loss=delta)
    skipped = {"set_loss"}  # the same as delta_loss where there is one label
    values = {
        name: metric(nearest, y_pred, taxonomy, labels, loss=delta)
        for name, metric in METRICS.items()
        if metric.needs in ("labels", "sets") and name not in skipped
    }
    return values | _rankings(y_true, scores, taxonomy, labels, delta)


def evaluate_sets(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy,
    scores: Any = None,
    labels: Sequence[Any] | None = None,
    loss: LossSpec = "tree",
) -> dict[str, float]:
    """Measure predicted label sets in every way that is defined for them.

    Parameters and result as in `evaluate_labels`, but a prediction may hold any number of labels. `set_loss`
    is left out where `loss` is a matrix, which says nothing about sets.
    """
    delta = make_loss(loss, taxonomy)
    values = {
        name: metric(y_true, y_pred, taxonomy, labels, loss=delta)
        for name, metric in METRICS.items()
        if metric.needs == "sets" and not (name == "set_loss" and hasattr(delta, "matrix"))
    }
    return values | _rankings(y_true, scores, taxonomy, labels, delta)


def _rankings(
    y_true: Labels, scores: Any, taxonomy: Taxonomy, labels: Sequence[Any] | None, loss: LossSpec
) -> dict[str, float]:
    if scores is None:
        return {}
    return {
        name: metric(y_true, scores, taxonomy, labels, loss=loss)
        for name, metric in METRICS.items()
        if metric.needs == "scores"
    }
