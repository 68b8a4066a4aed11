"""The measures of label sets: rankings by scores, and F1 of sets under a rule that is the same for all.

    ranking     over all labels that a library scores, and over its best 20, all others tied last; labels that no
                training document has are left out of the truth
    same rule   a document's labels are those scored at least t, and always its best; t is the cut-off with the highest
                hierarchical F1 on the training documents held out, scored by a second model that has not seen them
    own rule    what the library itself answers with: `predict` of ours, else scores above 0 (SVM) or 0.5, and the best

Hierarchical F1 is micro-averaged over label sets with all their ancestors. Labels that no training document has stay in
the truth of all F1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes import metrics
from pinakes.taxonomy import Taxonomy

FEW = 20
Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


def measure_sets(
    found: dict[str, Any],
    natural: float,
    held_out: Sequence[Sequence[str]],
    truth: Sequence[Sequence[str]],
    classes: Sequence[str],
    taxonomy: Taxonomy,
) -> dict[str, float]:
    """Measure what one run has written; `held_out` are the true labels of the documents held out."""
    scores = found["scores"]
    values = {"one_accuracy": metrics.one_accuracy(truth, scores, taxonomy, classes)}
    for end, some in (("", scores), (f"_{FEW}", keep_best(scores, FEW))):
        for name in ("ranking_loss", "average_precision"):
            values[name + end] = metrics.METRICS[name](truth, some, taxonomy, classes, unseen="ignore")
    cut = best_cut(found["held_out"], held_out, classes, taxonomy)
    if "own" in found:
        own = np.unpackbits(found["own"], axis=1, count=len(classes)).astype(bool)
    else:
        own = take_above(scores, natural)
    for start, chosen in (("", take_above(scores, cut)), ("own_", own)):
        answers = [[classes[k] for k in np.flatnonzero(row)] for row in chosen]
        for name in ("hierarchical_f1", "micro_f1", "macro_f1"):
            values[start + name] = metrics.METRICS[name](truth, answers, taxonomy)
    return {name: round(float(value), 5) for name, value in values.items()} | {"cut_off": float(cut)}


def keep_best(scores: Floats, n_best: int) -> Floats:
    """Put all but the `n_best` best scores of each document last, tied."""
    if scores.shape[1] <= n_best:
        return scores
    out = np.full_like(scores, -np.inf)
    best = np.argpartition(-scores, n_best, axis=1)[:, :n_best]
    np.put_along_axis(out, best, np.take_along_axis(scores, best, axis=1), axis=1)
    return out


def take_above(scores: Floats, cut: float) -> Flags:
    """Give the labels scored at least `cut`, and the best of each document."""
    chosen = scores >= cut
    chosen[np.arange(len(scores)), scores.argmax(axis=1)] = True
    return chosen


def best_cut(scores: Floats, true: Sequence[Sequence[str]], classes: Sequence[str], taxonomy: Taxonomy) -> float:
    """Give the cut-off with the highest hierarchical F1 on these documents.

    A node is in the closed answer if the best score of a class at or below it is at least the cut-off; the ancestors of
    a document's best class always are. So all cut-offs are tried by one sort.
    """
    up = _ways(taxonomy, classes)
    n_true = hits = answers = 0
    levels, signs = [], []
    for i, labels in enumerate(true):
        closed = np.zeros(len(taxonomy), dtype=bool)
        for label in labels:
            closed[taxonomy.ancestors.of(taxonomy.index(label))] = True
        n_true += int(closed.sum())
        node = np.full(len(taxonomy), -np.inf, dtype=np.float32)
        np.maximum.at(node, up.indices, np.repeat(scores[i], np.diff(up.indptr)))
        first = int(scores[i].argmax())
        always = up.indices[up.indptr[first] : up.indptr[first + 1]]
        hits += int(closed[always].sum())
        answers += len(always)
        node[always] = -np.inf
        open_ = np.flatnonzero(np.isfinite(node))
        levels.append(node[open_])
        signs.append(closed[open_])
    level, sign = np.concatenate(levels), np.concatenate(signs)
    order = np.argsort(-level, kind="stable")
    level, sign = level[order], sign[order]
    f1 = 2 * (hits + np.cumsum(sign)) / (n_true + answers + np.arange(1, len(sign) + 1))
    last = np.ones(len(level), dtype=bool)  # of equal scores all are taken or none
    last[:-1] = level[1:] != level[:-1]
    f1[~last] = -1.0
    if not len(f1) or f1.max() <= 2 * hits / max(n_true + answers, 1):
        return float("inf")
    return float(level[int(f1.argmax())])


def _ways(taxonomy: Taxonomy, classes: Sequence[str]) -> sparse.csr_array:
    """Give classes by nodes: a class itself and everything above it."""
    rows = [taxonomy.ancestors.of(taxonomy.index(label)) for label in classes]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    indices = np.concatenate(rows)
    return sparse.csr_array((np.ones(len(indices), dtype=bool), indices, indptr), shape=(len(rows), len(taxonomy)))
