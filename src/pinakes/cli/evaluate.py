"""`pinakes evaluate`: every measure of a model on labelled documents, and a report on it."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from pinakes.cli.console import Steps, say, write_table
from pinakes.cli.decisions import BEST, decision_option, measure_decision
from pinakes.cli.options import (
    Verb,
    check_inputs,
    check_place,
    command_line,
    document_options,
    example,
    output_format,
    reading,
    refuse_together,
)
from pinakes.errors import DocumentError, ParameterError

if TYPE_CHECKING:
    from pinakes.decisions import Classifier
    from pinakes.documents import Corpus
    from pinakes.reports import Evaluation, Report


@click.command(
    "evaluate",
    cls=Verb,
    epilog=example(
        "pinakes evaluate model.pinakes test.jsonl --format table",
        "pinakes evaluate model.pinakes test.jsonl --report report.html",
    ),
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
@click.option("--report", metavar="FILE", help="Write a report to look at: one .html page that needs nothing else.")
@click.option("--title", help="What to write above the report.  [default: the names of model and documents]")
@decision_option
@click.option(
    "--unlabelled",
    is_flag=True,
    help="Documents without labels are of no category: to say nothing is right for them. With --decision.",
)
@click.option("--jobs", type=int, help="Threads; all cores if not given.")
@output_format(["json", "table"])
@document_options
def command(
    model: str,
    docs: tuple[str, ...],
    several: str,
    report: str | None,
    title: str | None,
    decision: str,
    unlabelled: bool,
    jobs: int | None,
    output: str,
    **options: Any,
) -> None:
    """Measure a model on labelled documents.

    Writes one JSON object whose keys are the names of the metrics, with 95 % bootstrap intervals over documents. A
    model that was trained on label sets is measured on sets. With --report also a page: measures by level and by node,
    the worst confusions, how far confidences can be trusted, how training went, and how to repeat it all. With
    --decision, what that decision answers is measured, as sets of nodes: saying nothing costs the distance to above the
    roots.
    """
    check_inputs(*docs)
    if report is not None:
        if not report.lower().endswith((".html", ".htm")):
            raise click.BadParameter(f"expected a name that ends in .html, got {report!r}", param_hint="--report")
        check_place(report, [model, *docs])
    if decision == BEST:
        refuse_together("--decision best", ["unlabelled"], "it always answers")
    else:
        refuse_together(f"--decision {decision}", ["report"], "a report is about the best answers")
        if several == "nearest":
            raise ParameterError(
                f"--labels nearest does not go with --decision {decision}, which is measured against one truth a "
                "document; use --labels first"
            )
    docs_options = reading(options)
    with Steps("loading") as steps:
        from pinakes.cli.corpus import tell_skipped
        from pinakes.cli.models import load_classifier

        classifier = load_classifier(model, jobs)
        corpus = read_tested(classifier, docs, several, docs_options, steps, unlabelled)
        steps.start("evaluating")
        if decision != BEST:
            result = measure_decision(classifier, corpus, decision, steps)
        else:
            evaluation = evaluate(classifier, corpus, steps, confidences=report is not None)
            result = results(evaluation)
        if report is not None:
            from pinakes.reports import write_report

            steps.start("report")
            write_report(_report(evaluation, classifier, model, title or _title(model, docs)), report)
        tell_skipped(corpus.skipped)
    if result["unseen_labels"]:
        say(
            f"pinakes: note: {result['unseen_labels']:,} of {len(corpus):,} documents have only labels without "
            "training documents; they count as mistakes"
        )
    if report is not None:
        size = os.path.getsize(report)
        say(f"{report}: {len(corpus):,} documents, {len(evaluation.taxonomy):,} nodes, {size:,} bytes")
    if output == "json":
        json.dump(rounded(result), sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    intervals = result.pop("intervals")
    rows = []
    for name, value in result.items():
        low, high = intervals.get(name, ("", ""))
        shown = f"{value:.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
        rows.append((name, shown, f"{low:.4f} to {high:.4f}" if name in intervals else ""))
    write_table(["measure", "value", "95 % interval"], rows, numbers=["value"])


def read_tested(
    classifier: Classifier,
    docs: tuple[str, ...],
    several: str,
    options: dict[str, Any],
    steps: Steps,
    unlabelled: bool = False,
) -> Corpus:
    """Read labelled documents to test a classifier on; `several` says what becomes of several labels.

    With `unlabelled`, documents without a label are kept.
    """
    from pinakes.cli.corpus import check_labels, read_corpus

    steps.start("reading")
    width = None if classifier.features else classifier.model.n_features_in_
    corpus = read_corpus(docs, options, steps, n_features=width)
    corpus = check_labels(corpus, classifier.model.taxonomy_, options["on_error"], unlabelled)
    if several != "nearest" and not classifier.has_sets:
        corpus.labels = [few[:1] if several == "first" or not few else few for few in corpus.labels]
        labelled = corpus.take([i for i, few in enumerate(corpus.labels) if few])
        try:
            labelled.single_labels(several="error")
        except DocumentError as error:
            nearest = "or test against whichever is nearest to the answer (--labels nearest)"
            raise DocumentError(f"{error}, {nearest}") from None
    return corpus


def evaluate(classifier: Classifier, corpus: Corpus, steps: Steps, *, confidences: bool = False) -> Evaluation:
    """Answer all documents, telling how many are done."""
    from pinakes import reports

    def progress(done: int) -> None:
        steps.update(f"{done:,} documents", done / len(corpus))

    return reports.evaluate(classifier, corpus, confidences=confidences, progress=progress)


def results(evaluation: Evaluation) -> dict[str, Any]:
    """Give all measures, and the intervals of those that have one."""
    from pinakes.reports.counts import intervals

    spread = intervals(evaluation.means, evaluation.counts)
    return {
        "n_documents": len(evaluation),
        "unseen_labels": evaluation.n_unseen,
        **evaluation.measures,
        "intervals": {name: [spread[name].low, spread[name].high] for name in evaluation.measures if name in spread},
    }


def rounded(value: Any) -> Any:
    """Give numbers with the six places that a test set can tell apart."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return round(value, 6) if isinstance(value, float) else value


def _title(model: str, docs: tuple[str, ...]) -> str:
    return f"{os.path.basename(model)} on {', '.join(os.path.basename(path) or path for path in docs)}"


def _report(evaluation: Evaluation, classifier: Classifier, path: str, title: str) -> Report:
    from pinakes.reports import make_report
    from pinakes.storage import origin

    made = origin(path)
    trained = classifier.summary.get("command")
    commands = {"train": str(trained)} if trained else {}
    facts = {
        "Model file": f"{os.path.basename(path)}, {os.path.getsize(path):,} bytes",
        "Model of": f"{made['written']}, by Pinakes {made['pinakes']}",
    }
    return make_report(
        evaluation, classifier, title=title, commands={**commands, "evaluate": command_line()}, facts=facts
    )
