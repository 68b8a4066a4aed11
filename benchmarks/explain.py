"""What explanations cost next to scoring: the documents of a corpus ranked and explained in turns, in one process.

    python -m benchmarks.explain --data DIR [--set ipc-titles] [--model FILE] [--repeat 5]

Without a model, one is trained for some seconds first. Times are the best of several rounds, on one thread:

    scoring        the best category of every document, out of all
    explaining     the score of that category split over nodes and words, as arrays
    one by one     single documents, from text to the best category, and from text and category to an explanation
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pinakes import TaxonomySVC, load
from pinakes.datasets import load_corpus
from pinakes.decisions import Classifier
from pinakes.documents import TextFeatures
from pinakes.explain import explain

SINGLE = 200  # documents that are taken one by one


def main() -> None:
    """Measure, and print a line for each comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explain", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("PINAKES_DATA"), help="folder of the corpora")
    parser.add_argument("--set", default="ipc-titles", help="which corpus")
    parser.add_argument("--model", type=Path, help="a model of texts of that corpus")
    parser.add_argument("--seconds", type=float, default=20, help="for training, without a model")
    parser.add_argument("--repeat", type=int, default=5, help="rounds; the best time counts")
    args = parser.parse_args()
    if args.data is None:
        parser.error("say where the corpora are: --data DIR, or PINAKES_DATA")
    taxonomy, train, test = load_corpus(args.data / args.set)
    classifier = load(args.model) if args.model else fit(taxonomy, train, args.seconds)
    assert isinstance(classifier, Classifier)
    classifier.model.n_jobs = 1  # type: ignore[union-attr]
    compare(classifier, test.texts, args.repeat)


def fit(taxonomy: Any, train: Any, seconds: float) -> Classifier:
    """Train for about so long."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TaxonomySVC(taxonomy, C=0.5, max_seconds=seconds)
        return Classifier(model, TextFeatures()).fit(train.texts, train.single_labels("first"))


def compare(classifier: Classifier, texts: list[str], repeat: int) -> None:
    """Rank and explain in turns."""
    X = classifier.vectors(texts)
    vectors = replace(classifier, features=None)
    ranking = classifier.model.rank(X, 1, classifier.temperature)
    best = classifier.model.classes_[ranking.classes[:, 0]]
    found = explain(vectors, X, label=best)
    worst = np.abs(found.scores - ranking.scores[:, 0]).max()
    n_nodes = len(classifier.model.taxonomy_)
    print(f"{len(texts):,} documents, {len(classifier.model.classes_):,} categories, {n_nodes:,} nodes; ", end="")
    print(f"parts add up to the scores within {worst:.1e}")
    report(
        "all at once",
        len(texts),
        *in_turns(
            repeat,
            lambda: classifier.model.rank(X, 1, classifier.temperature),
            lambda: explain(vectors, X, label=best),
        ),
    )
    few = texts[:SINGLE]
    labels = best[:SINGLE].tolist()
    ready = list(explain(classifier, few))

    def whole() -> None:
        for text, label in zip(few, labels, strict=True):
            explain(classifier, [text], label=label)[0]

    report(
        "one by one",
        len(few),
        *in_turns(repeat, lambda: [classifier.rank([text], 1) for text in few], whole),
    )
    seconds = min(clock(lambda: [str(one) for one in ready[:20]]) for _ in range(repeat))
    print(f"as text: {1e6 * seconds / 20:.0f} us a document")


def in_turns(repeat: int, *tasks: Callable[[], Any]) -> list[float]:
    """Give the best processor time of each task."""
    best = [float("inf")] * len(tasks)
    for _ in range(repeat):
        for k, task in enumerate(tasks):
            best[k] = min(best[k], clock(task))
    return best


def clock(task: Callable[[], Any]) -> float:
    started = time.process_time()
    task()
    return time.process_time() - started


def report(name: str, n: int, scoring: float, explaining: float) -> None:
    print(
        f"{name}: scoring {1e6 * scoring / n:.1f} us a document, explaining {1e6 * explaining / n:.1f} us, "
        f"ratio {explaining / scoring:.2f}"
    )


if __name__ == "__main__":
    main()
