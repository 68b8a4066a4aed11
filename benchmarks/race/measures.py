"""The measures: accuracy, parent accuracy, Delta-loss and hierarchical F1 of one answer a document.

Where a document has several true labels, the first three count the best of them; F1 of ancestor sets is taken against
the nearest, that of the smallest Delta. Labels that no training document has stay in the truth.
"""

from __future__ import annotations

from collections.abc import Sequence

from pinakes import metrics
from pinakes.taxonomy import Taxonomy


def measure(answers: Sequence[str], truth: Sequence[Sequence[str]], taxonomy: Taxonomy) -> dict[str, float]:
    """Measure the answers of one run."""
    nearest = metrics.nearest_true(truth, answers, taxonomy)
    values = {
        "accuracy": metrics.accuracy(truth, answers, taxonomy),
        "parent_accuracy": metrics.parent_accuracy(truth, answers, taxonomy),
        "delta_loss": metrics.delta_loss(truth, answers, taxonomy),
        "hierarchical_f1": metrics.hierarchical_f1(nearest, answers, taxonomy),
    }
    return {name: round(float(value), 5) for name, value in values.items()}
