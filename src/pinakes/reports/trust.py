"""May one trust the confidences? Reliability, risk against coverage, and what backing off to inner nodes gives.

Backing off with a threshold t: the best category where its confidence is at least t, else the deepest node with a
confidence of at least t (of several at one level the most likely), else no answer. A single root says nothing, and
counts as no answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinakes import metrics
from pinakes.reports.confidence import N_BINS, Bins, Bools, Floats
from pinakes.reports.evaluation import Evaluation

MOST_POINTS = 100  # of a curve
MOST_LEVELS = 3  # curves beside that of categories
REACHED = 0.9  # share of documents that belong somewhere at a level, for it to have a curve
THRESHOLDS = np.linspace(0, 1, 101)
TOLERANCE = 1e-9  # summed confidences may be 1 but for rounding
Z = 1.959963984540054  # 95 % of a normal distribution


def wilson(hits: Any, n: Any) -> tuple[Floats, Floats]:
    """Give Wilson's 95 % interval of a share; from 0 to 1 where there is nothing."""
    hits, n = np.asarray(hits, dtype=np.float64), np.asarray(n, dtype=np.float64)
    some = np.maximum(n, 1e-12)
    share, z2 = hits / some, Z * Z
    middle = (share + z2 / (2 * some)) / (1 + z2 / some)
    half = Z * np.sqrt(share * (1 - share) / some + z2 / (4 * some**2)) / (1 + z2 / some)
    nothing = n <= 0
    return np.where(nothing, 0.0, np.maximum(0, middle - half)), np.where(nothing, 1.0, np.minimum(1, middle + half))


def reliability(bins: Bins) -> dict[str, Any]:
    """Give the reliability diagram: of the bins that hold claims, mean confidence and share of right claims."""
    low, high = wilson(bins.right, bins.n)
    filled = np.flatnonzero(bins.n)
    return {
        "n": int(bins.n.sum()),
        "expected_calibration_error": bins.expected_calibration_error,
        "bins": [
            {
                "from": k / N_BINS,
                "to": (k + 1) / N_BINS,
                "n": int(bins.n[k]),
                "confidence": float(bins.confidence[k] / bins.n[k]),
                "right": float(bins.right[k] / bins.n[k]),
                "low": float(low[k]),
                "high": float(high[k]),
            }
            for k in filled.tolist()
        ],
    }


def risk_coverage(confidence: Floats, right: Bools) -> dict[str, Any]:
    """Give the share of wrong answers among the surest ones, for every share of documents that are answered.

    `area` is the mean risk over all coverages: less is better. Equally sure answers are answered together.
    """
    order = np.argsort(-confidence, kind="stable")
    wrong = np.cumsum(~right[order])
    n = len(order)
    last = np.flatnonzero(np.append(np.diff(confidence[order]) != 0, True))
    risk = wrong[last] / (last + 1)
    area = float((risk * np.diff(last, prepend=-1)).sum() / n)
    if len(last) > MOST_POINTS:
        keep = np.unique(np.searchsorted(last, np.linspace(0, n - 1, MOST_POINTS)))
        last, risk = last[keep], risk[keep]
    return {"coverage": ((last + 1) / n).tolist(), "risk": risk.tolist(), "area": area}


def risk_by_level(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Give a risk-coverage curve for categories and for up to three levels that nearly all documents reach."""
    sure, taxonomy = evaluation.confidences, evaluation.taxonomy
    assert sure is not None
    sizes = np.bincount(taxonomy.levels)[1:]
    true = evaluation.labels[0].closed(taxonomy)
    reached = np.zeros((true.n_documents, taxonomy.depth), dtype=bool)
    reached[true.document, taxonomy.levels[true.label] - 1] = True
    enough = reached.mean(axis=0) >= REACHED
    telling = [level for level in range(len(sizes) - 1) if sizes[level] > 1 and enough[level]]
    if len(telling) > MOST_LEVELS:
        telling = [telling[k] for k in np.unique(np.linspace(0, len(telling) - 1, MOST_LEVELS).round().astype(int))]
    curves = [{"name": "category", **risk_coverage(sure.best_confidence, sure.best_right)}]
    return curves + [
        {"name": f"level {level + 1}", **risk_coverage(sure.level_confidence[:, level], sure.level_right[:, level])}
        for level in telling
    ]


def back_off(evaluation: Evaluation) -> dict[str, Any]:
    """Give what comes out for each threshold: shares of documents by kind of answer, and the mean Delta-loss."""
    sure, taxonomy, labels = evaluation.confidences, evaluation.taxonomy, evaluation.corpus.labels
    assert sure is not None
    ids = np.array(taxonomy.ids)
    n, depth = sure.level_node.shape

    def delta(nodes: Any) -> Floats:
        return np.asarray(metrics.delta_loss(labels, ids[nodes].tolist(), taxonomy, per_document=True))

    best_delta = delta(sure.best)
    level_delta = np.column_stack([delta(sure.level_node[:, level]) for level in range(depth)])
    if len(taxonomy.roots) == 1:
        silent, first = level_delta[:, 0], 1
    else:  # half the nodes above the label nearest to the roots, itself included
        size = taxonomy.ancestors.sizes()
        silent, first = 0.5 * np.array([min(size[taxonomy.index(k)] for k in few) for few in labels], float), 0
    rows: dict[str, list[float]] = {
        name: [] for name in ("category_right", "inner_right", "wrong", "silent", "delta_loss", "level")
    }
    best_level = taxonomy.levels[sure.best]
    for t in THRESHOLDS - TOLERANCE:
        whole = sure.best_confidence >= t
        enough = sure.level_confidence[:, first:] >= t
        deepest = np.where(enough.any(axis=1), depth - 1 - enough[:, ::-1].argmax(axis=1), -1)
        inner = ~whole & (deepest >= first)
        place = np.maximum(deepest, 0)
        at = np.arange(n)
        inner_right = inner & sure.level_right[at, place]
        rows["category_right"].append(float((whole & sure.best_right).mean()))
        rows["inner_right"].append(float(inner_right.mean()))
        rows["wrong"].append(float(((whole & ~sure.best_right) | (inner & ~inner_right)).mean()))
        rows["silent"].append(float((~whole & ~inner).mean()))
        cost = np.where(whole, best_delta, np.where(inner, level_delta[at, place], silent))
        rows["delta_loss"].append(float(cost.mean()))
        said = whole | inner
        levels = np.where(whole, best_level, place + 1)[said]
        rows["level"].append(float(levels.mean()) if said.any() else 0.0)
    return {"threshold": THRESHOLDS.tolist(), **rows}
