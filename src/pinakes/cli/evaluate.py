"""`pinakes evaluate`: every measure of a model on labelled documents."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from pinakes.cli.console import Steps, say, write_table
from pinakes.cli.options import Verb, check_inputs, document_options, example, output_format, reading

if TYPE_CHECKING:
    from pinakes.decisions import Classifier
    from pinakes.documents import Corpus

AT_ONCE = 2000  # documents scored on all categories at a time
WITH_INTERVAL = ("accuracy", "parent_accuracy", "delta_loss")
SETS_WITH_INTERVAL = ("set_loss",)
RANKS_WITH_INTERVAL = ("average_precision", "ranking_loss")


@click.command(
    "evaluate",
    cls=Verb,
    epilog=example("pinakes evaluate model.pinakes test.jsonl --format table"),
)
@click.argument("model", metavar="MODEL")
@click.argument("docs", nargs=-1, required=True, metavar="DOCS...")
@click.option(
    "--labels",
    "several",
    type=click.Choice(["error", "first", "nearest"]),
    default="error",
    show_default=True,
    help="A document with several labels, for a model of one label: refuse it, test against the first, or against the "
    "one nearest to the answer.",
)
@click.option("--jobs", type=int, help="Threads; all cores if not given.")
@output_format(["json", "table"])
@document_options
def command(model: str, docs: tuple[str, ...], several: str, jobs: int | None, output: str, **options: Any) -> None:
    """Measure a model on labelled documents.

    Writes one JSON object whose keys are the names of the metrics, with 95 % bootstrap intervals for the main ones. A
    model that was trained on label sets is measured on sets.
    """
    check_inputs(*docs)
    docs_options = reading(options)
    with Steps("loading") as steps:
        from pinakes.cli.corpus import check_labels, read_corpus, tell_skipped
        from pinakes.cli.models import load_classifier

        classifier = load_classifier(model, jobs)
        steps.start("reading")
        width = None if classifier.features else classifier.model.n_features_in_
        corpus = read_corpus(docs, docs_options, steps, n_features=width)
        corpus = check_labels(corpus, classifier.model.taxonomy_, docs_options["on_error"])
        if several != "nearest" and not classifier.has_sets:
            corpus.labels = [
                (label,) for label in corpus.single_labels(several="first" if several == "first" else "error")
            ]
        steps.start("evaluating")
        result = measure(classifier, corpus, steps)
        tell_skipped(corpus.skipped)
    if result["unseen_labels"]:
        say(
            f"pinakes: note: {result['unseen_labels']:,} of {len(corpus):,} documents have only labels without "
            "training documents; they count as mistakes"
        )
    if output == "json":
        json.dump(_rounded(result), sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    intervals = result.pop("intervals")
    rows = []
    for name, value in result.items():
        low, high = intervals.get(name, ("", ""))
        shown = f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
        rows.append((name, shown, f"{low:.4f} to {high:.4f}" if name in intervals else ""))
    write_table(["measure", "value", "95 % interval"], rows, numbers=["value"])


def _rounded(value: Any) -> Any:
    """Give numbers with the six places that a test set can tell apart."""
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return round(value, 6) if isinstance(value, float) else value


def measure(classifier: Classifier, corpus: Corpus, steps: Steps) -> dict[str, Any]:
    """Give all measures of a classifier on a corpus; scores of all categories are formed in parts."""
    import numpy as np

    from pinakes import metrics

    model = classifier.model
    taxonomy = model.taxonomy_
    classes = [str(k) for k in model.classes_]
    rankings = [name for name, metric in metrics.METRICS.items() if metric.needs == "scores"]
    per_document: dict[str, list[Any]] = {name: [] for name in rankings}
    answers: list[Any] = []
    X = classifier.vectors(corpus)
    for start in range(0, len(corpus), AT_ONCE):
        scores = model.decision_function(X[start : start + AT_ONCE])
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        true = corpus.labels[start : start + AT_ONCE]
        if classifier.has_sets:
            answers += [[str(k) for k in few] for few in classifier.label_sets(X[start : start + AT_ONCE])]
        else:
            answers += [classes[k] for k in scores.argmax(axis=1)]
        for name in rankings:
            per_document[name].append(metrics.METRICS[name](true, scores, taxonomy, classes, per_document=True))
        steps.update(f"{min(start + AT_ONCE, len(corpus)):,} documents", (start + AT_ONCE) / len(corpus))
    values: dict[str, Any] = {"n_documents": len(corpus)}
    known = set(classes)
    values["unseen_labels"] = sum(known.isdisjoint(labels) for labels in corpus.labels)
    evaluate = metrics.evaluate_sets if classifier.has_sets else metrics.evaluate_labels
    values |= evaluate(corpus.labels, answers, taxonomy)
    values |= {name: float(np.concatenate(parts).mean()) for name, parts in per_document.items()}
    nearest = corpus.labels if classifier.has_sets else metrics.nearest_true(corpus.labels, answers, taxonomy)
    values["intervals"] = {}
    for name in SETS_WITH_INTERVAL if classifier.has_sets else WITH_INTERVAL:
        each = metrics.METRICS[name](nearest, answers, taxonomy, per_document=True)
        interval = metrics.bootstrap_interval(each)
        values["intervals"][name] = [interval.low, interval.high]
    for name in RANKS_WITH_INTERVAL if classifier.has_sets else ():
        interval = metrics.bootstrap_interval(np.concatenate(per_document[name]))
        values["intervals"][name] = [interval.low, interval.high]
    return values
