"""The small benchmark: `TaxonomySVC` against scikit-learn's one-vs-rest LinearSVC on news20, in one process.

    python -m benchmarks.news20 --data DIR [--repeat 5]

Both get the same matrix. Each is fitted `--repeat` times, in turns; the best time counts. Compiling is done before, on
a few documents. `make bench` runs it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.svm import LinearSVC

from benchmarks.race.data import prepare, read_truth
from benchmarks.race.measures import measure
from pinakes import Taxonomy, TaxonomySVC
from pinakes.errors import PinakesError

TOL = 0.01


def main() -> None:
    """Fit, time, measure, and print one table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.news20", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("PINAKES_DATA"), help="folder that holds news20")
    parser.add_argument("--repeat", type=int, default=5, help="fits of each; the best time counts")
    args = parser.parse_args()
    if args.data is None:
        parser.error("say where news20 is: --data DIR, or PINAKES_DATA")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        try:
            prepare(args.data / "news20", work)
        except PinakesError as error:
            sys.exit(f"news20: {error}")
        taxonomy, classes, truth = read_truth(work)
        X, X_test = sparse.load_npz(work / "X_train.npz"), sparse.load_npz(work / "X_test.npz")
        y = np.array(classes)[np.load(work / "y_train.npy")]
    models = {
        "LinearSVC one-vs-rest, C 1": LinearSVC(random_state=0),
        "TaxonomySVC, tree loss, C 0.3": _ours(taxonomy, 0.3),
        "TaxonomySVC, tree loss, C 1": _ours(taxonomy, 1.0),
    }
    _ours(taxonomy, 1.0).fit(X[::20], y[::20]).predict(X_test[::20])  # compile
    best = dict.fromkeys(models, (float("inf"), float("inf")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the gap is in the table
        for _ in range(args.repeat):
            for name, model in models.items():
                times = _time(lambda model=model: model.fit(X, y)), _time(lambda model=model: model.predict(X_test))
                best[name] = tuple(map(min, best[name], times))
    _show(models, best, {name: measure(m.predict(X_test), truth, taxonomy) for name, m in models.items()})


def _ours(taxonomy: Taxonomy, C: float) -> TaxonomySVC:
    return TaxonomySVC(taxonomy, C=C, loss="tree", tol=TOL)


def _time(function: Any) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _show(models: dict[str, Any], best: dict[str, Any], scores: dict[str, dict[str, float]]) -> None:
    reference = next(iter(best.values()))[0]
    table = Table(title="news20, same features, best times")
    for head in ("model", "train s", "faster ×", "predict s", "gap", "acc", "pacc", "delta", "hF1"):
        table.add_column(head, justify="left" if head == "model" else "right")
    for name, model in models.items():
        train, predict = best[name]
        gap = f"{model.gap_:.2g}" if hasattr(model, "gap_") else "–"
        cells = [f"{train:.2f}", f"{reference / train:.2f}", f"{predict:.3f}", gap]
        table.add_row(name, *cells, *(f"{value:.4f}" for value in scores[name].values()))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
