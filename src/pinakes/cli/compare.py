"""`pinakes compare`: two models on the same documents, and whether what differs may be chance."""

from __future__ import annotations

import csv
import json
import sys
from typing import TYPE_CHECKING, Any

import click

from pinakes.cli.console import Steps, say, write_table
from pinakes.cli.evaluate import evaluate, read_tested, rounded
from pinakes.cli.options import Verb, check_inputs, check_place, document_options, example, output_format, reading
from pinakes.errors import ParameterError

if TYPE_CHECKING:
    from pinakes.decisions import Classifier
    from pinakes.reports import Comparison

KINDS = (".csv", ".jsonl")


@click.command(
    "compare",
    cls=Verb,
    epilog=example(
        "pinakes compare old.pinakes new.pinakes test.jsonl --format table",
        "pinakes compare old.pinakes new.pinakes test.jsonl --out differences.csv",
    ),
)
@click.argument("model_a", metavar="MODEL_A")
@click.argument("model_b", metavar="MODEL_B")
@click.argument("docs", nargs=-1, required=True, metavar="DOCS...")
@click.option(
    "--labels",
    "several",
    type=click.Choice(["error", "first", "nearest"]),
    default="error",
    show_default=True,
    help="A document with several labels, for models of one label: refuse it, test against the first, or against the "
    "one nearest to the answer.",
)
@click.option("--out", "-o", metavar="FILE", help="Write all documents whose answers differ: .csv or .jsonl.")
@click.option("--show", type=click.IntRange(min=0), default=5, show_default=True, help="Such documents to show.")
@click.option("--jobs", type=int, help="Threads; all cores if not given.")
@output_format(["json", "table"])
@document_options
def command(
    model_a: str,
    model_b: str,
    docs: tuple[str, ...],
    several: str,
    out: str | None,
    show: int,
    jobs: int | None,
    output: str,
    **options: Any,
) -> None:
    """Compare two models on the same labelled documents.

    Gives every measure of both, the difference (A minus B) with its 95 % bootstrap interval, and p from a paired
    permutation test: how often so large a difference comes out if the two models' answers are swapped at random. Then
    the documents on which one model is farther off than the other. The models need one taxonomy.
    """
    check_inputs(*docs)
    if out is not None:
        if not out.lower().endswith(KINDS):
            raise click.BadParameter(
                f"expected a name that ends in {' or '.join(KINDS)}, got {out!r}", param_hint="--out"
            )
        check_place(out, [model_a, model_b, *docs])
    docs_options = reading(options)
    with Steps("loading") as steps:
        from pinakes.cli.corpus import tell_skipped
        from pinakes.cli.models import load_classifier
        from pinakes.reports import compare
        from pinakes.reports.comparison import check_taxonomies

        models = [load_classifier(path, jobs) for path in (model_a, model_b)]
        _check_inputs_agree(models, (model_a, model_b))
        check_taxonomies(models[0].model.taxonomy_, models[1].model.taxonomy_, (model_a, model_b))
        corpus = read_tested(min(models, key=lambda each: each.has_sets), docs, several, docs_options, steps)
        found = []
        for path, classifier in zip((model_a, model_b), models, strict=True):
            steps.start("evaluating", path)
            found.append(evaluate(classifier, corpus, steps))
        steps.start("comparing")
        result = compare(found[0], found[1], (model_a, model_b))
        if out is not None:
            _write_documents(result, out)
        tell_skipped(corpus.skipped)
    for note in result.notes:
        say(f"pinakes: note: {note}")
    if out is not None:
        say(f"{out}: {len(result.documents):,} of {len(corpus):,} documents have different answers")
    if output == "json":
        json.dump(
            rounded(_as_json(result, model_a, model_b, len(corpus), show)), sys.stdout, indent=2, ensure_ascii=False
        )
        sys.stdout.write("\n")
    else:
        _write_tables(result, len(corpus), show)


def _check_inputs_agree(models: list[Classifier], paths: tuple[str, str]) -> None:
    """Refuse models of which one takes texts and the other vectors, or vectors of another width."""

    def takes(classifier: Classifier) -> str:
        return "texts" if classifier.features else f"vectors of {classifier.model.n_features_in_:,} features"

    a, b = map(takes, models)
    if a != b:
        raise ParameterError(
            f"the models must take the same documents: {paths[0]} takes {a} and {paths[1]} takes {b}; compare models "
            "that were trained on one kind of documents"
        )


def _as_json(result: Comparison, a: str, b: str, n_documents: int, show: int) -> dict[str, Any]:
    return {
        "a": a,
        "b": b,
        "n_documents": n_documents,
        "measures": {
            row.name: {
                "a": row.a,
                "b": row.b,
                "difference": row.difference,
                "interval": [row.low, row.high],
                "p": row.p,
                "better": row.winner,
            }
            for row in result.measures
        },
        "differ": len(result.documents),
        "documents": result.documents[:show],
    }


def _write_tables(result: Comparison, n_documents: int, show: int) -> None:
    rows = [
        (
            row.name,
            f"{row.a:.4f}",
            f"{row.b:.4f}",
            f"{row.difference:+.4f}",
            f"{row.low:+.4f} to {row.high:+.4f}",
            f"{row.p:.4f}",
            row.winner.upper(),
        )
        for row in result.measures
    ]
    numbers = ["A", "B", "A - B", "p"]
    write_table(["measure", "A", "B", "A - B", "95 % interval", "p", "better"], rows, numbers=numbers)
    sys.stdout.write(f"{len(result.documents):,} of {n_documents:,} documents have different answers\n")
    if not result.documents[:show]:
        return
    loss = result.loss
    shown = [
        (
            document["id"],
            " ".join(document["labels"]),
            f"{' '.join(document['answer_a']) or '-'} ({document[f'{loss}_a']:g})",
            f"{' '.join(document['answer_b']) or '-'} ({document[f'{loss}_b']:g})",
            document["text"][:80],
        )
        for document in result.documents[:show]
    ]
    write_table(["id", "labels", f"A ({loss})", f"B ({loss})", "text"], shown)


def _write_documents(result: Comparison, out: str) -> None:
    with open(out, "w", encoding="utf-8", newline="", errors="replace") as file:
        if out.lower().endswith(".jsonl"):
            file.writelines(json.dumps(document, ensure_ascii=False) + "\n" for document in result.documents)
            return
        loss = result.loss
        columns = ["id", "labels", "answer_a", "answer_b", f"{loss}_a", f"{loss}_b", "difference", "text"]
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for document in result.documents:
            lists = {name: " ".join(document[name]) for name in ("labels", "answer_a", "answer_b")}
            writer.writerow(document | lists)
