"""Two models on the same documents: differences of all measures, whether they may be chance, and where they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pinakes import metrics
from pinakes.errors import InputError
from pinakes.reports.confusions import short
from pinakes.reports.counts import difference_intervals, swap_test
from pinakes.reports.evaluation import Evaluation
from pinakes.taxonomy import Taxonomy

SHOWN = 3  # nodes named in a message
CHANCE = 0.05  # p from which on a difference may be chance


class Difference(NamedTuple):
    """One measure of two models: values, difference (first minus second) with its 95 % interval, and p-value."""

    name: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    p: float

    @property
    def winner(self) -> str:
        """Which model is better, "a" or "b"; empty where the difference may be chance (p is not below 0.05)."""
        if self.p >= CHANCE:
            return ""
        return "a" if (self.difference > 0) == metrics.METRICS[self.name].greater_is_better else "b"


@dataclass(frozen=True)
class Comparison:
    """Two models on the same documents.

    Attributes
    ----------
    measures : list of Difference
        Every measure that both models have.
    documents : list of dict
        The documents whose answers differ, those first on which one model is farther off than the other: id, text,
        true labels, both answers, both losses, and their difference.
    loss : str
        The metric behind these losses: "delta_loss", or "set_loss" for label sets.
    notes : list of str
        What the reader should know: categories that only one model has.
    """

    measures: list[Difference]
    documents: list[dict[str, Any]]
    loss: str
    notes: list[str]


def compare(a: Evaluation, b: Evaluation, names: tuple[str, str] = ("the first", "the second")) -> Comparison:
    """Compare two models evaluated on the same documents.

    p is from a paired permutation test: how often a difference at least as large comes out if the answers of the two
    models are swapped at random, document by document. A model of one label and one of label sets are both measured
    as sets.
    """
    if a.corpus.ids != b.corpus.ids or a.corpus.labels != b.corpus.labels:
        raise InputError("the models must be evaluated on the same documents, in the same order")
    check_taxonomies(a.taxonomy, b.taxonomy, names)
    if a.has_sets != b.has_sets:
        a, b = a.as_sets(), b.as_sets()
    spread = difference_intervals((a.means, b.means), (a.counts, b.counts))
    measures = []
    for name, interval in spread.items():
        p = (
            metrics.paired_permutation_test(a.means[name], b.means[name])
            if name in a.means
            else swap_test(a.counts[name], b.counts[name])
        )
        measures.append(
            Difference(name, a.measures[name], b.measures[name], interval.estimate, interval.low, interval.high, p)
        )
    order = {name: k for k, name in enumerate(a.measures)}
    measures.sort(key=lambda row: order[row.name])
    loss = "set_loss" if a.has_sets else "delta_loss"
    return Comparison(measures, _differing(a, b, loss), loss, _notes(a, b, names))


def check_taxonomies(a: Taxonomy, b: Taxonomy, names: tuple[str, str]) -> None:
    """Refuse models of different taxonomies; names of nodes may differ."""
    ours, theirs = set(a.ids), set(b.ids)
    if ours == theirs and a._edge_set() == b._edge_set():
        return
    said = [
        f"{len(only):,} nodes only in {name} ({_few(only)})"
        for only, name in ((ours - theirs, names[0]), (theirs - ours, names[1]))
        if only
    ]
    if not said:
        moved = sorted({child for _, child in a._edge_set() ^ b._edge_set()})
        said = [f"{len(moved):,} nodes have other parents ({_few(moved)})"]
    raise InputError(
        f"the models must have the same taxonomy to be compared, got two that differ: {'; '.join(said)}; train both "
        "with one taxonomy"
    )


def _notes(a: Evaluation, b: Evaluation, names: tuple[str, str]) -> list[str]:
    notes = []
    for one, other, name in ((a, b, names[0]), (b, a, names[1])):
        only = set(one.classes) - set(other.classes)
        if only:
            asked = sum(any(k in only for k in labels) for labels in a.corpus.labels)
            notes.append(
                f"{len(only):,} categories are known to {name} alone ({_few(only)}); {asked:,} documents have them, "
                "and count as mistakes of the other"
            )
    return notes


def _few(nodes: Any) -> str:
    some = sorted(nodes)
    return ", ".join(map(repr, some[:SHOWN])) + (", …" if len(some) > SHOWN else "")


def _differing(a: Evaluation, b: Evaluation, loss: str) -> list[dict[str, Any]]:
    """List the documents with different answers, the largest difference in loss first."""
    sides = [_as_lists(side.answers) for side in (a, b)]
    costs = [metrics.METRICS[loss](side.tested, side.answers, side.taxonomy, per_document=True) for side in (a, b)]
    differ = [i for i, (x, y) in enumerate(zip(*sides, strict=True)) if x != y]
    differ.sort(key=lambda i: (-abs(costs[0][i] - costs[1][i]), i))
    corpus = a.corpus
    return [
        {
            "id": corpus.ids[i],
            "text": "" if corpus.texts is None else short(corpus.texts[i]),
            "labels": list(corpus.labels[i]),
            "answer_a": sides[0][i],
            "answer_b": sides[1][i],
            f"{loss}_a": float(costs[0][i]),
            f"{loss}_b": float(costs[1][i]),
            "difference": float(np.round(costs[0][i] - costs[1][i], 12)),
        }
        for i in differ
    ]


def _as_lists(answers: list[Any]) -> list[list[str]]:
    return [[one] if isinstance(one, str) else sorted(one) for one in answers]
