"""How good the answers are: flat, ranking and hierarchical metrics on lattices, and tests of significance."""

from pinakes.metrics.flat import accuracy, macro_f1, micro_f1
from pinakes.metrics.hierarchical import (
    delta_loss,
    hierarchical_f1,
    hierarchical_precision,
    hierarchical_recall,
    nearest_true,
    parent_accuracy,
    set_loss,
)
from pinakes.metrics.lca import lca_f1
from pinakes.metrics.ranking import (
    average_precision,
    maximal_loss,
    one_accuracy,
    parent_one_accuracy,
    rank_precision,
    ranking_loss,
)
from pinakes.metrics.registry import METRICS, Metric, evaluate_labels, evaluate_sets, get_metric
from pinakes.metrics.scorers import Scorer, make_scorers, scorer
from pinakes.metrics.significance import Interval, bootstrap_interval, paired_permutation_test

__all__ = [
    "METRICS",
    "Interval",
    "Metric",
    "Scorer",
    "accuracy",
    "average_precision",
    "bootstrap_interval",
    "delta_loss",
    "evaluate_labels",
    "evaluate_sets",
    "get_metric",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "lca_f1",
    "macro_f1",
    "make_scorers",
    "maximal_loss",
    "micro_f1",
    "nearest_true",
    "one_accuracy",
    "paired_permutation_test",
    "parent_accuracy",
    "parent_one_accuracy",
    "rank_precision",
    "ranking_loss",
    "scorer",
    "set_loss",
]
