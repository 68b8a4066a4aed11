"""Runs an experiment: does the cells that are missing, keeps each one, and writes the report."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinakes.errors import ParameterError
from pinakes.reproduce.experiment import Cell, Experiment, Report, Result, Results, Settings
from pinakes.reproduce.figures import draw_figures
from pinakes.reproduce.store import Store, run_mark
from pinakes.reproduce.writing import describe, write_tables

Told = Callable[[int, int, str], None]


class Interrupted(Exception):
    """The run was stopped by Ctrl-C; what was measured is kept."""

    def __init__(self, done: int, total: int, path: Path) -> None:
        super().__init__(f"{done} of {total} cells are kept in {path}; the same command takes up there")


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    report: Report
    files: list[Path]
    n_new: int
    n_cells: int


def run(
    experiment: Experiment, settings: Settings, out: Path, n_jobs: int = 1, tell: Told = lambda done, total, what: None
) -> Outcome:
    """Run an experiment into the folder `out`.

    Parameters
    ----------
    experiment : Experiment
    settings : Settings
    out : Path
        Gets ``NAME.cells.jsonl`` (what was measured), and ``NAME.md``, ``NAME.json``, ``NAME-*.csv``, ``NAME-*.png``
        and ``NAME-*.svg``.
    n_jobs : int, default=1
        Processes that cells are shared out to.
    tell : callable taking cells done, cells in all, and the cell at hand
        Called as the run goes on.
    """
    if n_jobs < 1:
        raise ParameterError(f"--n-jobs must be a whole number >= 1, got {n_jobs}")
    if out.exists() and not out.is_dir():
        raise ParameterError(f"--out must be a folder, got the file {out}")
    cells = experiment.cells(settings)
    mark = run_mark(experiment, settings)
    out.mkdir(parents=True, exist_ok=True)
    store = Store(out / f"{experiment.name}.cells.jsonl", mark)
    missing = [cell for cell in cells if cell not in store]
    done = len(cells) - len(missing)
    tell(done, len(cells), "")
    try:
        for cell, measures, seconds in _work(experiment, settings, missing, 1 if experiment.alone else n_jobs):
            store.add(cell, measures, seconds)
            done += 1
            tell(done, len(cells), " ".join(str(word) for word in cell.values()))
    except KeyboardInterrupt:
        raise Interrupted(done, len(cells), store.path) from None
    report = experiment.report(settings, Results([Result(cell, store.measures(cell)) for cell in cells]))
    written = write_tables(report, describe(experiment, settings, cells), out)
    written += draw_figures(report.figures, experiment.name, out)
    return Outcome(report, written, len(missing), len(cells))


def _work(
    experiment: Experiment, settings: Settings, cells: list[Cell], n_jobs: int
) -> Iterator[tuple[Cell, dict[str, Any], float]]:
    """Measure cells, in this process or in several; give each as it is done."""
    if n_jobs == 1 or len(cells) < 2:
        for cell in cells:
            yield _measure(experiment, settings, cell)
        return
    context = multiprocessing.get_context("spawn")  # threads and compiled code do not survive a fork
    with ProcessPoolExecutor(min(n_jobs, len(cells)), context) as pool:
        try:
            for future in as_completed([pool.submit(_measure, experiment, settings, cell) for cell in cells]):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _measure(experiment: Experiment, settings: Settings, cell: Cell) -> tuple[Cell, dict[str, Any], float]:
    started = time.perf_counter()
    measures = experiment.measure(settings, cell)
    return cell, measures, time.perf_counter() - started
