"""`--decision`: how answers follow from probabilities, for the verbs that give or measure answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pinakes.cli.console import Steps
    from pinakes.decisions import Classifier
    from pinakes.documents import Corpus

BEST = "best"
AT_ONCE = 2000  # documents at a time
HELP = (
    "best, expected-loss (the node, inner ones too, with the smallest expected loss), confidence:0.8 (the deepest node "
    "so likely), abstain or abstain:0.3 (best, or nothing), coverage:0.9 (a node that holds the truth so often), or "
    "sets:0.9 (categories that hold it so often)."
)


class DecisionName(click.ParamType):  # type: ignore[type-arg]
    """A decision by its name; what is wrong with one is said before any work is done."""

    name = "decision"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == BEST:
            return BEST
        from pinakes.decisions.rules import read_decision
        from pinakes.errors import ParameterError

        try:
            return str(read_decision(value))
        except ParameterError as error:
            self.fail(str(error), param, ctx)


def decision_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --decision."""
    option = click.option(
        "--decision",
        type=DecisionName(),
        default=BEST,
        show_default=True,
        metavar="NAME",
        help=f"How to answer: {HELP}",
    )
    return option(command)


def measure_decision(classifier: Classifier, corpus: Corpus, decision: str, steps: Steps) -> dict[str, Any]:
    """Give measures of what a decision answers, as sets of nodes: it may stop at an inner node, or say nothing.

    `delta_loss` and `set_loss` count the nodes in which truth and answer differ with everything above them: saying
    nothing costs the distance to above the roots.
    """
    import numpy as np

    from pinakes import metrics
    from pinakes.taxonomy.loss import members

    taxonomy = classifier.model.taxonomy_
    X = classifier.vectors(corpus)
    nodes: list[Any] = []
    for start in range(0, len(corpus), AT_ONCE):
        nodes += classifier.decided_nodes(X[start : start + AT_ONCE], decision)
        steps.update(f"{len(nodes):,} documents", len(nodes) / len(corpus))
    answers = [[taxonomy.ids[v] for v in few] for few in nodes]
    values: dict[str, Any] = {"n_documents": len(corpus), "decision": decision}
    known = {str(k) for k in classifier.model.classes_}
    values["unseen_labels"] = sum(bool(labels) and known.isdisjoint(labels) for labels in corpus.labels)
    each = metrics.METRICS["set_loss"](corpus.labels, answers, taxonomy, per_document=True)
    one = not classifier.has_sets and not decision.startswith("sets")
    name = "delta_loss" if one else "set_loss"
    values[name] = float(np.mean(each))
    values |= {
        key: value
        for key, value in metrics.evaluate_sets(corpus.labels, answers, taxonomy).items()
        if key != "set_loss"
    }
    values["answered"] = float(np.mean([len(few) > 0 for few in nodes]))
    sizes = np.array([len(few) for few in nodes])
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *nodes])
    values["mean_answers"] = float(sizes.mean())
    values["mean_depth"] = float(taxonomy.levels[flat].mean()) if len(flat) else 0.0
    held = []
    for labels, few in zip(corpus.labels, nodes, strict=True):
        true = np.array([taxonomy.index(label) for label in labels], dtype=np.int64)
        owner, above = members(taxonomy.ancestors, true)
        inside = owner[np.isin(above, few)]
        silent = len(few) == 0 and not classifier.has_sets  # nothing is said, and so nothing wrong
        held.append(silent or (len(true) > 0 and len(np.unique(inside)) == len(true)))
    values["coverage"] = float(np.mean(held))
    interval = metrics.bootstrap_interval(each)
    values["intervals"] = {name: [interval.low, interval.high]}
    return values
