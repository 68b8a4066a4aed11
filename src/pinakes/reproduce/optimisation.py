"""What Figure 4 and the speed-up of the 2004 paper share: section D as the papers' own algorithms take it."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pinakes.kernels.outputs import Outputs
from pinakes.models.classes import class_nodes
from pinakes.reproduce.comparison import SYSTEMS, deal_folds
from pinakes.reproduce.experiment import Settings
from pinakes.reproduce.patents import load_patents, make_split, sample_categories, take_section
from pinakes.solvers.ascent import AscentSolver
from pinakes.solvers.kernel_rows import DocumentKernel, KernelRows
from pinakes.solvers.papers import PaperResult, PaperSolver
from pinakes.solvers.problem import Problem, make_outputs
from pinakes.taxonomy.attributes import class_attributes
from pinakes.taxonomy.loss import make_loss

FOLDS = 3
QUICK = 1  # document of each category in a quick run


class Task(NamedTuple):
    """Two thirds of section D, for the hierarchical SVM."""

    X: Any
    y: npt.NDArray[np.int32]
    C: npt.NDArray[np.float64]
    outputs: Outputs


class Course(NamedTuple):
    """How an algorithm ended, and the processor time it took."""

    seconds: float
    d_obj: float
    gap: float
    steps: int
    active_ratio: float  # Eq. 41


def make_task(settings: Settings, C: float) -> Task:
    """Take the first training fold of section D."""
    patents = take_section(load_patents(settings), "D")
    if settings.quick:
        patents = sample_categories(patents, QUICK, settings.seed)
    split = make_split(patents, deal_folds(patents.y, FOLDS, settings.seed) == 0)
    classes, codes = np.unique(split.y, return_inverse=True)
    names = [str(k) for k in classes]
    attributes = class_attributes(
        patents.taxonomy, class_nodes(patents.taxonomy, names), SYSTEMS["hsvm"]["node_weight"]
    )
    outputs = make_outputs(attributes, make_loss(SYSTEMS["hsvm"]["loss"], patents.taxonomy, names))
    return Task(split.X, codes.astype(np.int32), np.full(len(codes), C), outputs)


def shrink(task: Task, n: int) -> Task:
    """Give the task with its first documents only: enough to compile everything before times are taken."""
    return task._replace(X=task.X[:n], y=task.y[:n], C=task.C[:n])


def run_paper(task: Task, algorithm: str, tol: float, qp: str) -> PaperResult:
    """Run an algorithm of the papers."""
    rows = KernelRows(DocumentKernel("linear"), task.X)
    return PaperSolver(algorithm, tol=tol, qp=qp).solve(rows, task.y, task.C, task.outputs)


def time_paper(task: Task, algorithm: str, tol: float, qp: str) -> Course:
    """Run an algorithm of the papers and say how it went."""
    started = time.process_time()
    result = run_paper(task, algorithm, tol, qp)
    seconds = time.process_time() - started
    history = result.history
    return Course(seconds, result.last.d_obj, result.last.gap, len(history), float(history.active_ratio[-1]))


def time_ascent(task: Task, tol: float) -> Course:
    """Run the default solver, on one thread, and say how it went; it goes in rounds, not in steps."""
    started = time.process_time()
    solver = AscentSolver(tol=tol, max_iter=1000, max_seconds=math.inf, seed=0, n_threads=1)
    result = solver.solve(Problem(task.X, task.y, task.C, task.outputs))
    seconds = time.process_time() - started
    ratio = int((result.beta.data > 0).sum()) / (len(task.y) * (len(task.outputs.own) - 1))
    return Course(seconds, result.last.d_obj, result.last.gap, result.last.n_iter, ratio)
