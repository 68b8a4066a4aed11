"""The two kinds of race: one answer a document, and label sets; what each runs on, measures and shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """What differs between the two.

    Attributes
    ----------
    file : str
        The name of the tables, without its ending.
    sets : tuple of str
        What it runs on when nobody says otherwise.
    measures : mapping of measure to the head of its column
    less : tuple of str
        The measures, times and memory of which less is better.
    panels : tuple of (measure, title)
        What the plot shows over training time; of the first, less is better.
    gaps, frontier : bool
        Whether the table says when a gap was reached, and whether ours are stopped early.
    """

    file: str
    title: str
    sets: tuple[str, ...]
    measures: Mapping[str, str]
    less: tuple[str, ...]
    panels: tuple[tuple[str, str], ...]
    gaps: bool = False
    frontier: bool = False


ONE = Kind(
    file="race",
    title="The race",
    sets=("news20", "clinc150", "ipc-titles", "cpc-titles", "wordnet-nouns"),
    measures={"accuracy": "acc", "parent_accuracy": "pacc", "delta_loss": "delta", "hierarchical_f1": "hF1"},
    less=("train_seconds", "predict_seconds", "memory_gb", "delta_loss"),
    panels=(("delta_loss", "Delta-loss (less is better: up)"), ("parent_accuracy", "parent accuracy")),
    gaps=True,
    frontier=True,
)
SEVERAL = Kind(
    file="race-sets",
    title="The race on label sets",
    sets=("arxiv", "patents", "rcv1", "go-oxidoreductase", "go-function"),
    measures={
        "ranking_loss": "RL",
        "average_precision": "AP",
        "ranking_loss_20": "RL20",
        "average_precision_20": "AP20",
        "one_accuracy": "P1",
        "hierarchical_f1": "hF1",
        "micro_f1": "micF1",
        "macro_f1": "macF1",
        "own_hierarchical_f1": "own hF1",
        "own_micro_f1": "own micF1",
        "own_macro_f1": "own macF1",
    },
    less=("train_seconds", "predict_seconds", "memory_gb", "ranking_loss", "ranking_loss_20"),
    panels=(("ranking_loss", "ranking loss (less is better: up)"), ("average_precision", "average precision")),
)
KINDS = {kind.file: kind for kind in (ONE, SEVERAL)}
