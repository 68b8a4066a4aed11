"""Training beside other work: `TaxonomySVC` with all threads against one thread, while some cores are kept busy.

    python -m benchmarks.busy --data DIR [--sets clinc150] [--repeat 5]

Threads that wait for each other are as fast as the slowest, and where cores are busy one is faster than all: two,
beside one process that counts, took two and a half times as long as one on clinc150. Others count, or train.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse

from benchmarks.race.data import prepare, read_truth
from pinakes import TaxonomySVC


def main() -> None:
    """Time the fits and print one table a set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.busy", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("PINAKES_DATA"), help="folder of the sets")
    parser.add_argument("--sets", default="clinc150", help="default %(default)s")
    parser.add_argument("--repeat", type=int, default=5, help="fits of each, in turns; the median counts")
    args = parser.parse_args()
    if args.data is None:
        parser.error("say where the sets are: --data DIR, or PINAKES_DATA")
    for name in args.sets.split(","):
        with tempfile.TemporaryDirectory() as folder:
            prepare(args.data / name, Path(folder))
            taxonomy, classes, _ = read_truth(Path(folder))
            X = sparse.load_npz(Path(folder) / "X_train.npz").tocsr()
            y = np.array(classes)[np.load(Path(folder) / "y_train.npy")]
        n_cores = os.cpu_count() or 1
        table = Table(title=f"{name}, {n_cores} cores, medians of {args.repeat}")
        for head in ("beside", "1 thread s", f"{n_cores} threads s", "ratio"):
            table.add_column(head, justify="left" if head == "beside" else "right")
        count, train = (_count, ()), (_train, (taxonomy, X, y))
        for text, others in {
            "nothing": [],
            "1 that counts": [count],
            f"{n_cores} that count": [count] * n_cores,
            "1 that trains": [train],
        }.items():
            alone, together = _beside(others, taxonomy, X, y, args.repeat)
            table.add_row(text, f"{alone:.2f}", f"{together:.2f}", f"{together / alone:.2f}")
        Console().print(table)


def _beside(others: list[Any], taxonomy: Any, X: Any, y: Any, repeat: int) -> tuple[float, float]:
    """Give the seconds of a fit in one thread, and in all, beside other processes."""
    processes = [multiprocessing.Process(target=work, args=arguments, daemon=True) for work, arguments in others]
    times: dict[int | None, list[float]] = {1: [], None: []}
    for process in processes:
        process.start()
    try:
        for k in range(-1, repeat):  # the first fit compiles, and lets the others begin
            for n_jobs, seconds in times.items():
                start = time.perf_counter()
                TaxonomySVC(taxonomy, n_jobs=n_jobs).fit(X, y)
                if k >= 0:
                    seconds.append(time.perf_counter() - start)
    finally:
        for process in processes:
            process.terminate()
    return median(times[1]), median(times[None])


def _count() -> None:
    while True:
        pass


def _train(taxonomy: Any, X: Any, y: Any) -> None:
    while True:
        TaxonomySVC(taxonomy).fit(X, y)


if __name__ == "__main__":
    main()
