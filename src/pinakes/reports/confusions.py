"""The worst confusions: which categories are taken for which, how far apart they lie, and documents to look at.

A confusion is a pair (true label, answer). Of label sets: every wrong answer with the true label nearest to it, and
every missed label with the nearest answer, or with none. Distances are Delta: half the nodes in which the ways down to
both labels differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinakes.documents import Corpus
from pinakes.reports.evaluation import Evaluation
from pinakes.taxonomy.loss import make_loss

MOST = 120  # pairs kept of each order: by cost in all, and by distance
EXAMPLES = 3
LONGEST = 220  # signs of a text that are shown
NOTHING = -1


def short(text: str, longest: int = LONGEST) -> str:
    """Put a text on one line, cut at a word where it is too long."""
    words = " ".join(text.split())
    if len(words) <= longest:
        return words
    cut = words[: longest - 1]
    return (cut[: cut.rfind(" ")] if cut.rfind(" ") > longest // 2 else cut) + "…"


def confused_pairs(evaluation: Evaluation) -> list[tuple[int, int, int]]:
    """Give all confusions: (document, true node, answered node); the answer is -1 where there was none."""
    loss = make_loss("tree", evaluation.taxonomy)
    true, pred = evaluation.labels
    found: list[tuple[int, int, int]] = []
    hits = true.common(pred).sizes
    for i in np.flatnonzero((hits < true.sizes) | (hits < pred.sizes)).tolist():
        right = true.label[true.indptr[i] : true.indptr[i + 1]]
        said = pred.label[pred.indptr[i] : pred.indptr[i + 1]]
        if not len(said):
            found += [(i, int(y), NOTHING) for y in right]
            continue
        if len(said) == len(right) == 1:
            found.append((i, int(right[0]), int(said[0])))
            continue
        pairs = {(int(right[loss.row(int(p), right).argmin()]), int(p)) for p in np.setdiff1d(said, right)}
        pairs |= {(int(y), int(said[loss.row(int(y), said).argmin()])) for y in np.setdiff1d(right, said)}
        found += [(i, y, p) for y, p in sorted(pairs)]
    return found


def worst_confusions(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Give the pairs that cost most in all, and those that lie farthest apart, with a few documents each.

    Of a pair, the documents are shown of whose answer the model was surest.
    """
    taxonomy, corpus = evaluation.taxonomy, evaluation.corpus
    loss = make_loss("tree", taxonomy)
    documents: dict[tuple[int, int], list[int]] = {}
    for i, y, p in confused_pairs(evaluation):
        documents.setdefault((y, p), []).append(i)
    if not documents:
        return []
    pairs = list(documents)
    left, right = np.array(pairs).T
    distance = np.where(
        right == NOTHING,
        0.5 * taxonomy.ancestors.sizes()[left],
        loss.pairs(left, np.where(right == NOTHING, left, right)),
    )
    n = np.array([len(documents[pair]) for pair in pairs])
    by_cost = np.lexsort((left, -distance, -n * distance))[:MOST]
    by_distance = np.lexsort((left, -n, -distance))[:MOST]
    sure = None if evaluation.confidences is None else evaluation.confidences.best_confidence
    return [
        {
            "true": int(left[k]),
            "answer": int(right[k]),
            "n": int(n[k]),
            "distance": float(distance[k]),
            "documents": [_example(corpus, i, sure) for i in _surest(documents[pairs[k]], sure)],
        }
        for k in dict.fromkeys([*by_cost.tolist(), *by_distance.tolist()])
    ]


def _surest(documents: list[int], sure: Any) -> list[int]:
    order = documents if sure is None else sorted(documents, key=lambda i: -sure[i])
    return order[:EXAMPLES]


def _example(corpus: Corpus, i: int, sure: Any) -> dict[str, Any]:
    return {
        "id": short(corpus.ids[i], 60),
        "text": "" if corpus.texts is None else short(corpus.texts[i]),
        "confidence": None if sure is None else round(float(sure[i]), 4),
    }
