"""HLSI against scikit-learn's TruncatedSVD: time on all of rcv1, time and memory on arxiv, growth with the documents.

    python -m benchmarks.hlsi --data DIR [--parts rcv1 arxiv growth] [--out DIR]

rcv1: 100 components of all 15,000 documents, HLSI and the randomized TruncatedSVD in turns in one process, best times.
arxiv: 63,519 abstracts, from the file to the coordinates, with the highest memory of the process. growth: parts of
arxiv, with a plot in DIR. Compiling is done before.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD

from pinakes import HLSI
from pinakes.datasets import load_corpus
from pinakes.documents import TextFeatures

M = 100
SHARES = (0.125, 0.25, 0.5, 0.75, 1.0)


def main() -> None:
    """Run the parts that are asked for, and print a line for each result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hlsi", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("PINAKES_DATA"), help="folder of the corpora")
    parser.add_argument("--parts", nargs="+", default=["rcv1", "arxiv", "growth"], choices=["rcv1", "arxiv", "growth"])
    parser.add_argument("--repeat", type=int, default=3, help="fits of each on rcv1; the best time counts")
    parser.add_argument("--out", type=Path, default=Path("."), help="where the plot of growth goes")
    args = parser.parse_args()
    if args.data is None:
        parser.error("say where the corpora are: --data DIR, or PINAKES_DATA")
    HLSI(n_components=2, solver="free").fit(np.eye(4, dtype=np.float32), list("aabb"))  # compile
    if "rcv1" in args.parts:
        compare(*read_rcv1(args.data), args.repeat)
    if {"arxiv", "growth"} & set(args.parts):
        started = time.perf_counter()
        taxonomy, train, _ = load_corpus(args.data / "arxiv")
        read = time.perf_counter() - started
        X = TextFeatures().fit_transform(train.texts or [])
        features = time.perf_counter() - started - read
        if "arxiv" in args.parts:
            seconds, model = timed(HLSI(taxonomy, n_components=M), X, train.labels)
            model.transform(X)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(
                f"arxiv: {X.shape[0]:,} documents, {X.shape[1]:,} words: reading {read:.0f} s, "
                f"features {features:.0f} s, HLSI {seconds:.0f} s ({model.n_iter_} rounds, "
                f"residual {model.residual_:.3f}), {memory:.1f} GB at most"
            )
        if "growth" in args.parts:
            grow(X, train.labels, taxonomy, args.out)


def read_rcv1(data: Path) -> tuple[Any, Any, Any]:
    """Give all documents, in float32, with their labels and the taxonomy; duplicates are not used."""
    from scipy import sparse

    taxonomy, train, test = load_corpus(data / "rcv1")
    return sparse.csr_array(sparse.vstack([train.X, test.X])), train.labels + test.labels, taxonomy


def timed(model: Any, X: Any, y: Any) -> tuple[float, Any]:
    """Fit a model and give the seconds it took, and the model."""
    started = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - started, model


def compare(X: Any, labels: Any, taxonomy: Any, repeat: int) -> None:
    """Fit HLSI and TruncatedSVD in turns; the time of the processor is told too, which a busy machine disturbs less."""
    models = {
        "HLSI": HLSI(taxonomy, n_components=M),
        "TruncatedSVD": TruncatedSVD(M, algorithm="randomized", random_state=0),
    }
    wall, cpu = ({name: float("inf") for name in models} for _ in range(2))
    for _ in range(repeat):
        for name, model in models.items():
            before = time.process_time()
            wall[name] = min(wall[name], timed(model, X, labels)[0])
            cpu[name] = min(cpu[name], time.process_time() - before)
    print(f"rcv1: {X.shape[0]:,} documents, {X.shape[1]:,} words, {M} components, best of {repeat}")
    for name in models:
        print(f"  {name}: {wall[name]:.1f} s, {cpu[name]:.1f} s of the processor")
    ours = models["HLSI"]
    print(
        f"  ratio {wall['HLSI'] / wall['TruncatedSVD']:.2f}, of the processor {cpu['HLSI'] / cpu['TruncatedSVD']:.2f} "
        f"({ours.n_iter_} rounds, residual {ours.residual_:.3f})"
    )


def grow(X: Any, labels: Any, taxonomy: Any, out: Path) -> None:
    """Fit on parts of the documents, with the same words, and plot seconds a round over documents."""
    order = np.random.default_rng(0).permutation(X.shape[0])
    rows = []
    for share in SHARES:
        part = np.sort(order[: int(share * len(order))])
        seconds, model = timed(HLSI(taxonomy, n_components=M), X[part], [labels[i] for i in part])
        rows.append((len(part), seconds))
        print(f"growth: {len(part):,} documents: {seconds:.1f} s, {model.n_iter_} rounds")
    n, seconds = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    slope = np.polyfit(np.log(n), np.log(seconds), 1)[0]
    print(f"growth: time goes with documents to the power of {slope:.2f}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(6, 4), layout="constrained")
    axis = figure.subplots()
    axis.plot(n, seconds, "o-", label="HLSI, 100 components")
    axis.plot(n, seconds[-1] * n / n[-1], "--", color="grey", label="linear")
    axis.set(xlabel="documents of arxiv", ylabel="seconds", xlim=(0, None), ylim=(0, None))
    axis.legend(frameon=False)
    figure.savefig(out / "hlsi-growth.png", dpi=150)


if __name__ == "__main__":
    main()
