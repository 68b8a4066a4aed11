"""`pinakes predict`: ranked categories for new documents, a line each."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from pinakes.cli.console import Steps, write_table
from pinakes.cli.decisions import BEST, decision_option
from pinakes.cli.options import (
    Verb,
    check_inputs,
    document_options,
    example,
    output_format,
    reading,
    refuse_together,
)

AT_ONCE = 2000  # documents read, ranked and written at a time


@click.command(
    "predict",
    cls=Verb,
    epilog=example("pinakes predict model.pinakes new.jsonl --top 3 > answers.jsonl"),
)
@click.argument("model", metavar="MODEL")
@click.argument("docs", nargs=-1, required=True, metavar="DOCS...")
@click.option("--top", type=click.IntRange(min=1), default=5, show_default=True, help="Categories a document.")
@click.option("--sets", is_flag=True, help="The labels in the answer, however many, instead of the --top best.")
@click.option("--below", metavar="NODE", help="Only categories at or below this node of the taxonomy.")
@decision_option
@click.option("--jobs", type=int, help="Threads; all cores if not given.")
@output_format(["jsonl", "csv", "table"])
@document_options
def command(
    model: str,
    docs: tuple[str, ...],
    top: int,
    sets: bool,
    below: str | None,
    decision: str,
    jobs: int | None,
    output: str,
    **options: Any,
) -> None:
    """Rank the categories of new documents.

    Writes {"id": ..., "labels": [{"label", "name", "path", "score", "confidence"}, ...]} a document, the best category
    first. A document without a known word is answered too, with a low confidence. With --below, confidences are shares
    among the categories there. Of a model that was trained on label sets, the confidence of a category is the
    probability that a label lies at or below it; --sets gives the model's own answer, and --decision expected-loss the
    set with the smallest expected loss.

    With --decision, "labels" holds the answer alone: a category, a node above categories, several, or nothing ([]; in
    CSV and tables, a row without a label).
    """
    check_inputs(*docs)
    if sets:
        refuse_together("--sets", ["top", "below", "decision"], "the answer is a set of its own size")
    if decision != BEST:
        refuse_together(f"--decision {decision}", ["top", "below"], "it says itself how many answers there are")
    docs_options = reading(options)
    # answers that appear on the terminal are progress enough
    with Steps("loading", terminal=output == "table" or not sys.stdout.isatty()) as steps:
        from pinakes.cli.corpus import tell_skipped
        from pinakes.cli.models import load_classifier
        from pinakes.documents import Corpus, read_documents

        classifier = load_classifier(model, jobs)
        skipped: list[Any] = []
        documents = steps.count(read_documents(docs, skipped=skipped, **docs_options), "documents")

        def answers() -> Iterator[tuple[str, list[Any]]]:
            steps.start("predicting")
            while batch := list(itertools.islice(documents, AT_ONCE)):
                width = None if classifier.features else classifier.model.n_features_in_
                corpus = Corpus.from_documents(batch, n_features=width)
                if sets:
                    ranked = classifier.sets(corpus)
                elif decision == BEST:
                    ranked = classifier.rank(corpus, top, below)
                else:
                    ranked = classifier.decide(corpus, decision)
                yield from zip(corpus.ids, ranked, strict=True)
            steps.close()

        WRITERS[output](answers())
        tell_skipped(skipped)


def _write_lines(answers: Iterator[tuple[str, list[Any]]]) -> None:
    for id, ranked in answers:
        line = {"id": id, "labels": [answer.to_dict() for answer in ranked]}
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")


def _write_csv(answers: Iterator[tuple[str, list[Any]]]) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["id", "rank", "label", "name", "path", "score", "confidence"])
    for id, ranked in answers:
        for rank, answer in enumerate(ranked, start=1):
            path = " > ".join(answer.path)
            out.writerow([id, rank, answer.label, answer.name, path, f"{answer.score:.6f}", f"{answer.confidence:.6f}"])
        if not ranked:
            out.writerow([id, *[""] * 6])


def _write_table(answers: Iterator[tuple[str, list[Any]]]) -> None:
    rows: list[tuple[str, ...]] = []
    for id, ranked in answers:
        for rank, answer in enumerate(ranked):
            shown = f"{answer.score:.3f}", f"{answer.confidence:.0%}"
            rows.append((id if rank == 0 else "", answer.label, " > ".join(answer.path), *shown))
        if not ranked:
            rows.append((id, "–", "nothing said", "", ""))
    write_table(["id", "label", "path", "score", "confidence"], rows, numbers=["score", "confidence"])


WRITERS = {"jsonl": _write_lines, "csv": _write_csv, "table": _write_table}
