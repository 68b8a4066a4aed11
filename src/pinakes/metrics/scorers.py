"""Metrics as scikit-learn scorers, for `GridSearchCV(scoring=…)` and `cross_validate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinakes.errors import ParameterError
from pinakes.metrics.registry import METRICS, get_metric
from pinakes.taxonomy.loss import LossSpec
from pinakes.taxonomy.taxonomy import Taxonomy


@dataclass(frozen=True)
class Scorer:
    """A metric as a function of (estimator, X, y): greater is always better, so losses come out negative."""

    metric: str
    taxonomy: Taxonomy
    loss: LossSpec = "tree"

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        metric = get_metric(self.metric)
        labels = getattr(estimator, "classes_", None)
        found = _scores(estimator, X) if metric.needs == "scores" else estimator.predict(X)
        columns = labels if _is_matrix(found) or _is_matrix(y) else None
        value = float(metric(y, found, self.taxonomy, columns, loss=self.loss))
        return value if metric.greater_is_better else -value


def scorer(metric: str, taxonomy: Taxonomy, loss: LossSpec = "tree") -> Scorer:
    """Make a scikit-learn scorer of one metric.

    Metrics of labels and sets call the estimator's `predict`; metrics of rankings its `decision_function` or
    `predict_proba`, with `classes_` as columns. Losses are negated, as scikit-learn expects: ``delta_loss``
    of 0.4 is reported as -0.4.
    """
    get_metric(metric)
    return Scorer(metric, taxonomy, loss)


def make_scorers(taxonomy: Taxonomy, loss: LossSpec = "tree") -> dict[str, Scorer]:
    """Make scorers of all metrics, by name, to choose from for ``GridSearchCV(scoring={…}, refit=…)``.

    An estimator that predicts sets has no single answer, and so no `accuracy`, `parent_accuracy` and
    `delta_loss`.
    """
    return {name: Scorer(name, taxonomy, loss) for name in METRICS}


def _is_matrix(y: Any) -> bool:
    return len(getattr(y, "shape", ())) == 2


def _scores(estimator: Any, X: Any) -> Any:
    for method in ("decision_function", "predict_proba"):
        if hasattr(estimator, method):
            scores = getattr(estimator, method)(X)
            if np.ndim(scores) == 1:  # scikit-learn gives two classes one column: the second's
                scores = np.column_stack([-scores, scores])
            return scores
    raise ParameterError(
        f"{type(estimator).__name__} has neither decision_function nor predict_proba: it cannot be scored by "
        "a ranking metric; use one of labels, such as accuracy or delta_loss"
    )
