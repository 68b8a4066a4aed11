"""How training time grows with documents and with classes, on one corpus after the other.

    python -m benchmarks.growth --data DIR [--sets ipc-titles,cpc-titles] [--repeat 3] [--steps 5] [--largest 1]

Three ways to make a corpus smaller, in `--steps` sizes; samples are nested, and chosen by a fixed seed:

    documents          n shrinks, all classes stay: each keeps one document at least, and n is never below 1.25 q
    classes, fixed n   q shrinks, n is the same for all: as many documents as the smallest set of classes has
    classes, all docs  q shrinks, and the documents of the classes that go, go too: documents per class stay

The exponent is the slope of log time over log n (or q), by least squares over all points, and over the upper half of
them, where what does not grow has ceased to show. "Time grows no faster than q^0.7" is read at fixed n: that is what
more classes alone cost. Where documents per class stay, n grows with q; the time a document is given beside the whole.

Each fit is one of `TaxonomySVC` to a gap of 1 %, settings after `--options` (JSON); the best of `--repeat` counts.
Writes growth.md, growth.json and growth.png into `--out`.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.race.data import prepare, read_truth
from benchmarks.race.table import describe_machine
from pinakes import Taxonomy, TaxonomySVC
from pinakes.errors import ConvergenceWarning, PinakesError

WORK = Path(__file__).resolve().parent / "race" / ".work"
AIMS = {"documents": ("n", 1.1), "classes, fixed n": ("q", 0.7), "classes, all docs": ("q", None)}
COLORS = {"ipc-titles": "#b3261e", "cpc-titles": "#3b5b92", "wordnet-nouns": "#2e7d32"}


class Corpus(NamedTuple):
    """Training documents, the class of each as a number, and what the numbers stand for."""

    X: Any
    y: Any
    classes: Any
    taxonomy: Taxonomy


def main() -> None:
    """Fit samples of each corpus, print the exponents, write table and plot."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("PINAKES_DATA"), help="folder of the sets")
    parser.add_argument("--sets", default="ipc-titles,cpc-titles")
    parser.add_argument("--repeat", type=int, default=3, help="fits of each sample; the best time counts")
    parser.add_argument("--steps", type=int, default=5, help="sizes, each up to twice the one before")
    parser.add_argument("--largest", type=float, default=1.0, help="share of the documents that the largest size has")
    parser.add_argument("--options", type=json.loads, default={}, help="settings of TaxonomySVC, as JSON")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--work", type=Path, default=WORK, help="for matrices")
    args = parser.parse_args()
    if args.data is None:
        parser.error("say where the sets are: --data DIR, or PINAKES_DATA")
    report: dict[str, Any] = {
        "command": shlex.join(["python", "-m", "benchmarks.growth", *sys.argv[1:]]),
        "machine": describe_machine(),
        "options": args.options,
        "sets": {},
    }
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.sets.split(","):
        try:
            corpus = shrink_documents(load(args.data / name, args.work / name), args.largest)
        except PinakesError as error:
            sys.exit(f"growth: {error}")
        report["sets"][name] = measure(name, corpus, args)
        (args.out / "growth.json").write_text(json.dumps(report, indent=1) + "\n")
        (args.out / "growth.md").write_text(markdown(report))
    draw(report, args.out / "growth.png")
    print(markdown(report))


def load(folder: Path, work: Path) -> Corpus:
    """Read the training documents of a set, as the race does."""
    prepare(folder, work)
    taxonomy, classes, _ = read_truth(work)
    X = sparse.csr_matrix(sparse.load_npz(work / "X_train.npz"))
    return Corpus(X, np.load(work / "y_train.npy"), np.array(classes), taxonomy)


def order_documents(y: Any) -> Any:
    """Give an order of the documents whose beginnings are samples: one of each class first, then at random."""
    order = np.random.default_rng(0).permutation(len(y))
    first = np.unique(y[order], return_index=True)[1]
    return np.concatenate([order[np.sort(first)], np.delete(order, first)])


def shrink_documents(corpus: Corpus, share: float) -> Corpus:
    """Keep a share of the documents, and at least one of each class."""
    kept = np.sort(order_documents(corpus.y)[: max(len(np.unique(corpus.y)), round(share * len(corpus.y)))])
    return corpus._replace(X=corpus.X[kept], y=corpus.y[kept])


def shrink_classes(corpus: Corpus, share: float) -> Corpus:
    """Keep a share of the classes, with all their documents."""
    present = np.unique(corpus.y)
    chosen = np.random.default_rng(1).permutation(present)[: max(2, round(share * len(present)))]
    kept = np.flatnonzero(np.isin(corpus.y, chosen))
    return corpus._replace(X=corpus.X[kept], y=corpus.y[kept])


def samples(corpus: Corpus, steps: int) -> Iterator[tuple[str, Corpus]]:
    """Give the samples of all three ways, from small to large."""
    shares = [2.0**-k for k in reversed(range(steps))]
    by_class = [shrink_classes(corpus, share) for share in shares]
    n_fixed = len(by_class[0].y)
    fewest = max(shares[0], min(1.0, 1.25 * len(np.unique(corpus.y)) / len(corpus.y)))  # all classes, and some twice
    for share in np.geomspace(fewest, 1.0, steps):
        yield "documents", shrink_documents(corpus, share)
    for sample in by_class:
        yield "classes, fixed n", shrink_documents(sample, n_fixed / len(sample.y))
    for sample in by_class:
        yield "classes, all docs", sample


def measure(name: str, corpus: Corpus, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Fit every sample and give its sizes and its best time."""
    points = []
    known: dict[tuple[int, int], dict[str, Any]] = {}  # the whole corpus belongs to two ways
    fit(shrink_documents(corpus, 0.01), args.options)  # compile
    for way, sample in samples(corpus, args.steps):
        key = (len(sample.y), len(np.unique(sample.y)))
        if key not in known or len(sample.y) < len(corpus.y):
            seconds, model = min((fit(sample, args.options) for _ in range(args.repeat)), key=lambda found: found[0])
            known[key] = {"seconds": seconds, "rounds": int(model.n_iter_), "gap": float(model.gap_)}
        points.append({"way": way, "n": key[0], "q": key[1], **known[key]})
        print(f"{name}: {way}: n {key[0]:,}, q {key[1]:,}: {known[key]['seconds']:.3f} s", file=sys.stderr, flush=True)
    return points


def fit(corpus: Corpus, options: dict[str, Any]) -> tuple[float, TaxonomySVC]:
    """Fit once and give the time and the model."""
    labels = corpus.classes[corpus.y]
    model = TaxonomySVC(corpus.taxonomy, **options)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The number of unique classes is greater")
        model.fit(corpus.X, labels)
    return time.perf_counter() - start, model


def exponent(sizes: Any, seconds: Any) -> float:
    """Give the slope of log seconds over log size, by least squares.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def exponents(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give for each way the exponents over all points and over their upper half, and what was aimed at."""
    rows = []
    for way, (size, aim) in AIMS.items():
        found = [p for p in points if p["way"] == way]
        sizes, seconds = [p[size] for p in found], [p["seconds"] for p in found]
        half = len(found) // 2
        rows.append({"way": way, "size": size, "all": exponent(sizes, seconds), "aim": aim})
        rows[-1]["upper"] = exponent(sizes[half:], seconds[half:])
        if aim is None:
            rows[-1]["each"] = exponent(sizes, np.divide(seconds, [p["n"] for p in found]))
    return rows


def markdown(report: dict[str, Any]) -> str:
    """Lay the points and their exponents out for people."""
    machine = report["machine"]
    lines = ["# Growth of training time", "", f"`{report['command']}`", ""]
    lines += [f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}."]
    for name, points in report["sets"].items():
        lines += ["", f"## {name}", "", "| way | n | q | train s | rounds |", "| --- | --- | --- | --- | --- |"]
        lines += [f"| {p['way']} | {p['n']:,} | {p['q']:,} | {p['seconds']:.3f} | {p['rounds']} |" for p in points]
        lines += ["", "| way | time grows as | upper half | aim | |", "| --- | --- | --- | --- | --- |"]
        for row in exponents(points):
            aim = "–" if row["aim"] is None else f"{row['size']}^{row['aim']}"
            verdict = "" if row["aim"] is None else "reached" if row["all"] <= row["aim"] else "missed"
            if "each" in row:
                verdict = f"time a document: q^{row['each']:.2f}"
            size = row["size"]
            lines.append(f"| {row['way']} | {size}^{row['all']:.2f} | {size}^{row['upper']:.2f} | {aim} | {verdict} |")
    return "\n".join(lines) + "\n"


def draw(report: dict[str, Any], path: Path) -> None:
    """Draw time over size, one panel a way, with the aimed-at slope through the largest point."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter

    plain = FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "1235" else "")
    figure, axes = plt.subplots(1, len(AIMS), figsize=(13, 4.2), constrained_layout=True)
    for axis, (way, (size, aim)) in zip(axes, AIMS.items(), strict=True):
        for name, points in report["sets"].items():
            found = [p for p in points if p["way"] == way]
            sizes, seconds = np.array([p[size] for p in found]), np.array([p["seconds"] for p in found])
            label = f"{name}: {size}^{exponent(sizes, seconds):.2f}"
            color = COLORS.get(name, "#555555")
            axis.plot(sizes, seconds, marker="o", ms=5, lw=1.2, color=color, label=label)
            if aim is not None:
                line = seconds[-1] * (sizes / sizes[-1]) ** aim
                axis.plot(sizes, line, ls=":", lw=1, color=color, label=f"aim {size}^{aim}")
        axis.set(xscale="log", yscale="log", xlabel={"n": "documents", "q": "classes"}[size], title=way)
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_formatter(plain)
            side.set_minor_formatter(plain)
        axis.grid(alpha=0.25, which="both", lw=0.5)
        axis.legend(fontsize=8, frameon=False)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0].set_ylabel("training time to a gap of 1 %, s")
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()
