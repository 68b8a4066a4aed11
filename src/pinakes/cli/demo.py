"""`pinakes demo`: learn from a small WordNet, then say what kind of thing a description describes."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import Any

import click

from pinakes.cli.console import GapBar, Steps
from pinakes.cli.options import Verb, check_target, example

C = 1.0
NEXT = """
Now with your own documents (JSON lines with "id", "text", "labels"; or CSV, Annif, folders, ...):

  {pinakes} taxonomy check taxonomy.tsv
  {pinakes} train docs.jsonl --taxonomy taxonomy.tsv --out model.pinakes
  {pinakes} evaluate model.pinakes test.jsonl --format table
  {pinakes} predict model.pinakes new.jsonl --top 3

or go on with this one:

  echo '{{"id": 1, "text": "a boat that flies"}}' | {pinakes} predict {model} - --format table
"""


@click.command("demo", cls=Verb, epilog=example('pinakes demo "a chair for two cats" "a cheese made of oats"'))
@click.argument("descriptions", nargs=-1, metavar="[DESCRIPTION]...")
@click.option("--out", metavar="FILE", help="Where to keep the model.  [default: a temporary folder]")
def command(descriptions: tuple[str, ...], out: str | None) -> None:
    """Say what kind of thing a description describes.

    Learns from some thousand WordNet glosses that come along, compares the joint model with a flat one and with always
    giving the most frequent answer, and then classifies descriptions that are in no dictionary: yours, or some of ours.
    """
    if out is not None:
        check_target(out)

    from pinakes.datasets import DESCRIPTIONS, load_wordnet_sample
    from pinakes.decisions import Classifier
    from pinakes.documents import TextFeatures
    from pinakes.models import TaxonomyRankSVC
    from pinakes.storage import save

    taxonomy, train, test = load_wordnet_sample()
    labels = [list(few) for few in train.labels]  # several where a thing is of several kinds
    echo = click.echo
    echo(f"Describe a thing, and Pinakes says what kind of thing it is.\n\n  {taxonomy}")
    echo(f"  {len(train):,} glosses to learn from, {len(test):,} to be tested on, e.g.")
    echo(_wrapped(f'"{train.texts[0]}"', 4))  # type: ignore[index]
    echo(_wrapped("is a " + " < ".join(_way_up(taxonomy, labels[0][0])), 6))
    several = next((i for i, few in enumerate(labels) if len(few) > 1), None)
    if several is not None:
        echo(_wrapped(f'"{train.texts[several]}"', 4))  # type: ignore[index]
        names = [taxonomy.names[taxonomy.index(label)] for label in labels[several]]
        echo(
            _wrapped(
                f"is a {' and a '.join(names)}: {sum(len(few) > 1 for few in labels)} glosses are of several kinds", 6
            )
        )
    echo("")

    rows = [
        (
            "most frequent category",
            *_measures([Counter(few[0] for few in labels).most_common(1)[0][0]] * len(test), test, taxonomy),
            "",
        )
    ]
    with Steps("compiling"):  # on the very first run; kept for all others, and out of the times below
        Classifier(TaxonomyRankSVC(taxonomy), TextFeatures(min_df=1)).fit(train.texts[:200], labels[:200])  # type: ignore[index]
    classifier: Any = None
    for name, node_weight, loss, cut in (
        ("flat SVM (the taxonomy ignored)", "flat", "zero-one", 1),
        ("Pinakes (learnt jointly)", "normalized", "tree", "learned"),
    ):
        with Steps("training") as steps:
            model = TaxonomyRankSVC(taxonomy, C=C, node_weight=node_weight, loss=loss, cut=cut)
            classifier = Classifier(model, TextFeatures(ngrams=(1, 2)))
            started = time.perf_counter()
            classifier.fit(train.texts, labels, report=GapBar(steps, 0.01, len(train)))
            seconds = f"{time.perf_counter() - started:.1f} s"
        best = [str(ranked[0].label) for ranked in classifier.rank(test, top=1)]
        rows.append((name, *_measures(best, test, taxonomy), seconds))
    echo(f"  {'':32} {'accuracy':>9} {'parent acc.':>12} {'Delta-loss':>11} {'time':>7}")
    for name, accuracy, parent_accuracy, delta_loss, seconds in rows:
        echo(f"  {name:32} {accuracy:9.3f} {parent_accuracy:12.3f} {delta_loss:11.3f} {seconds:>7}")
    echo("\n  (parent acc.: the answer is a sibling of the right one, or right; Delta-loss: how far off, in nodes)\n")

    texts = list(descriptions) or DESCRIPTIONS
    for text, answers in zip(texts, classifier.rank(texts, top=3), strict=True):
        echo(_wrapped(text, 2))
        for answer in answers:
            echo(f"    {answer.confidence:4.0%}  {' < '.join(reversed(answer.path[-4:]))}")
    path = out or str(Path(tempfile.mkdtemp(prefix="pinakes-")) / "demo.pinakes")
    save(classifier, path)
    echo(NEXT.format(model=path, pinakes=_command()))


def _command() -> str:
    """Say how this command can be called again from here."""
    if shutil.which("pinakes"):
        return "pinakes"
    called = Path(sys.argv[0])
    return os.path.relpath(called) if called.name == "pinakes" else "python -m pinakes"


def _measures(answers: list[str], test: Any, taxonomy: Any) -> tuple[float, float, float]:
    from pinakes.metrics import accuracy, delta_loss, nearest_true, parent_accuracy

    true = nearest_true(test.labels, answers, taxonomy)
    return (
        float(accuracy(true, answers)),
        float(parent_accuracy(true, answers, taxonomy)),
        float(delta_loss(true, answers, taxonomy)),
    )


def _way_up(taxonomy: Any, node: str) -> list[str]:
    return [taxonomy.names[taxonomy.index(v)] for v in reversed(taxonomy.path(node))]


def _wrapped(text: str, indent: int) -> str:
    return textwrap.fill(text, 100, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2))
