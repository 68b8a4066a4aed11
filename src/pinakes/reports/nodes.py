"""Measures of every node and every level, and the one place at which a node of a lattice is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinakes.metrics.averages import f1, ratio
from pinakes.reports.evaluation import Evaluation
from pinakes.taxonomy import Taxonomy


def drawn_parent(taxonomy: Taxonomy) -> list[int]:
    """Give the parent below which each node is drawn: on a longest way down, as `Taxonomy.path` goes; -1 for roots."""
    parents = taxonomy.parents
    found = []
    for v in range(len(taxonomy)):
        above = parents.of(v)
        found.append(int(above[np.argmax(taxonomy.levels[above])]) if len(above) else -1)
    return found


def node_counts(evaluation: Evaluation) -> dict[str, list[int]]:
    """Count for every node the documents that belong at or below it, are put there, and both; and its own labels.

    `own` counts documents that are labelled with the node itself.
    """
    true, pred = evaluation.labels
    up_true, up_pred = true.closed(evaluation.taxonomy), pred.closed(evaluation.taxonomy)
    sets = {"true": up_true, "predicted": up_pred, "hits": up_true.common(up_pred), "own": true}
    n_nodes = len(evaluation.taxonomy)
    return {name: np.bincount(each.label, minlength=n_nodes).tolist() for name, each in sets.items()}


def level_rows(evaluation: Evaluation, counts: dict[str, list[int]]) -> list[dict[str, Any]]:
    """Give precision, recall and F1 of each level over all its nodes, and the mean F1 of nodes that occur."""
    levels = evaluation.taxonomy.levels
    n_true, n_pred, hits = (np.array(counts[name]) for name in ("true", "predicted", "hits"))
    rows = []
    for level in range(1, evaluation.taxonomy.depth + 1):
        here = levels == level
        present = here & (n_true + n_pred > 0)
        t, p, h = int(n_true[here].sum()), int(n_pred[here].sum()), int(hits[here].sum())
        rows.append(
            {
                "level": level,
                "nodes": int(here.sum()),
                "present": int(present.sum()),
                "true": t,
                "predicted": p,
                "precision": float(ratio(h, p, t)),
                "recall": float(ratio(h, t, p)),
                "f1": float(f1(h, t, p)),
                "mean_f1": float(f1(hits[present], n_true[present], n_pred[present]).mean()) if present.any() else 0.0,
            }
        )
    return [row for row in rows if row["present"]]
