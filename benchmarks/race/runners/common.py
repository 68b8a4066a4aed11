"""What all runners share: read the matrices, time the steps, take the memory, write one JSON file.

A runner is a process: ``python -m benchmarks.race.runners.<name> --work FOLDER --out FILE --options JSON``. It needs
NumPy and SciPy only, and runs on Python 3.10 as well. Of label sets it also writes, beside that file, the scores of all
test documents, and those of the documents held out by a second model that has not seen them.
"""

from __future__ import annotations

import argparse
import copy
import importlib.metadata
import json
import os
import platform
import resource
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse


class Task:
    """One set as a runner sees it: training matrix, class codes, class names and their ways down the taxonomy.

    Label sets come as an indicator matrix `Y`, and `y` is None.
    """

    def __init__(self, work: Path) -> None:
        self.work = work
        self.X = sparse.load_npz(work / "X_train.npz").tocsr()
        self.several = (work / "Y_train.npz").exists()
        self.y = None if self.several else np.load(work / "y_train.npy")
        self.Y = sparse.load_npz(work / "Y_train.npz").tocsr() if self.several else None
        names = json.loads((work / "classes.json").read_text())
        self.classes: list[str] = names["classes"]
        self.ways: list[list[str]] = names["ways"]

    def lists(self) -> list[list[int]]:
        """Give the class codes of each document as a list."""
        if self.Y is None:
            return [[int(k)] for k in self.y]
        return [self.Y.indices[a:b].tolist() for a, b in zip(self.Y.indptr[:-1], self.Y.indptr[1:], strict=True)]

    def part(self, rows: Any) -> Task:
        """Give some of the documents of a set of label sets."""
        some = copy.copy(self)
        some.X, some.Y = self.X[rows], self.Y[rows]
        return some


class Runner:
    """The steps of a race; a library overrides what it needs. Only `fit` and `predict` count as its time."""

    packages: tuple[str, ...] = ()
    natural = 0.5  # of label sets: a score above this says that the library takes the label
    best = 20  # of label sets: labels a document that `predict` is asked for, where all would be slower

    def __init__(self, task: Task, options: dict[str, Any]) -> None:
        self.task, self.options = task, options

    def prepare(self) -> None:
        """Put the training documents into the form the library wants."""

    def warm_up(self) -> None:
        """Compile what is compiled on first use."""

    def fit(self) -> None:
        """Train."""
        raise NotImplementedError

    def again(self, seconds: float) -> float | None:
        """Give the time of training that counts, having heard what `fit` took; None: train again."""
        return seconds

    def batches(self, X: Any) -> Iterable[Any]:
        """Give the test documents in the form the library wants, and bring the model into memory if it is not."""
        yield X

    def predict(self, documents: Any) -> Any:
        """Give the best class of each document, in whatever form the library does."""
        raise NotImplementedError

    def codes(self, answers: Any) -> Any:
        """Turn what `predict` gave into class codes."""
        return answers

    def scores(self, documents: Any) -> Any:
        """Give the scores of label sets, documents by classes, with -inf where the library gives none."""
        raise NotImplementedError

    def own_sets(self, X: Any) -> Any:
        """Give the label sets that the library itself answers with, as an indicator matrix; None: by `natural`."""
        return None

    def notes(self, X: Any) -> dict[str, Any]:
        """Give what else is worth keeping about the fitted model and the prediction of `X`."""
        return {}


def peak_memory() -> int:
    """Give the most memory this process ever held, in bytes.

    Linux says it in VmHWM; ``ru_maxrss``, the fallback, can start at the size of the process that started this one.
    """
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _status(field: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":")), 0)


def score_all(runner: Runner, X_test: Any) -> dict[str, Any]:
    """Give the scores of test documents, the library's own answers, and a second model's scores of others.

    The second learns from the training documents without those held out, and scores these.
    """
    task = runner.task
    found = {"scores": np.concatenate([runner.scores(documents) for documents in runner.batches(X_test)])}
    own = runner.own_sets(X_test)
    if own is not None:
        found["own"] = np.packbits(np.asarray(own, dtype=bool), axis=1)
    aside = np.load(task.work / "held_out.npy")
    second = type(runner)(task.part(np.setdiff1d(np.arange(task.X.shape[0]), aside)), runner.options)
    second.prepare()
    second.fit()
    found["held_out"] = np.concatenate([second.scores(few) for few in second.batches(task.X[aside])])
    return {name: values.astype(np.float32) if name != "own" else values for name, values in found.items()}


def race(kind: type[Runner]) -> None:
    """Run one library on one set, as the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--options", type=json.loads, default={})
    args = parser.parse_args()

    task = Task(args.work)
    X_test = sparse.load_npz(args.work / "X_test.npz").tocsr()
    loaded = _status("VmRSS") or peak_memory()
    runner = kind(task, args.options)
    seconds: dict[str, float] = {}

    def timed(step: str, function: Any, *arguments: Any) -> Any:
        start, start_cpu = time.perf_counter(), time.process_time()
        answer = function(*arguments)
        seconds[step] = seconds.get(step, 0) + time.perf_counter() - start
        seconds[step + "_cpu"] = seconds.get(step + "_cpu", 0) + time.process_time() - start_cpu
        return answer

    timed("prepare", runner.prepare)
    timed("warm_up", runner.warm_up)
    timed("train", runner.fit)
    while (counted := runner.again(seconds["train"])) is None:
        del seconds["train"], seconds["train_cpu"]
        timed("train", runner.fit)
    seconds["train"] = counted
    codes: list[int] = []
    for documents in runner.batches(X_test):
        answers = timed("predict", runner.predict, documents)
        if not task.several:
            codes += np.asarray(runner.codes(answers)).astype(int).tolist()
    peak = peak_memory()
    if task.several:
        np.savez(args.out.with_suffix(".npz"), **score_all(runner, X_test))
    result = {
        "seconds": {step: round(value, 4) for step, value in seconds.items()},
        "memory": {"loaded": loaded, "peak": peak},
        "versions": {name: importlib.metadata.version(name) for name in kind.packages},
        "python": platform.python_version(),
        "notes": runner.notes(X_test),
        "predictions": codes,
        "natural": runner.natural,
    }
    part = args.out.with_suffix(".part")
    part.write_text(json.dumps(result))
    os.replace(part, args.out)
