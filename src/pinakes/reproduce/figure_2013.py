"""2013: F1 and margin over iterations (Theorem 2 speaks of both; the paper shows no figure).

data       20 Newsgroups, split at random
systems    KSP with a linear kernel: subsets with hot start, and plain; each number of iterations is a run of its own
measures   F1 over micro-labels on test documents; the mean and the least margin of training documents, |w| = 1
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pinakes.models import StochasticPerceptron
from pinakes.reproduce.corpora_2013 import load_task
from pinakes.reproduce.experiment import Cell, Experiment, Figure, Report, Results, Settings, Table, Value
from pinakes.reproduce.figures import FLAT, JOINT
from pinakes.reproduce.tables23_2013 import micro

STEPS = (250, 500, 1000, 2000, 4000, 8000, 16000, 32000, 64000)
PLAIN = (250, 500, 1000, 2000, 4000)
QUICK = (100, 400)
SYSTEMS = ("KSP", "KSP plain")


class Curves(Experiment):
    """See the head of this file."""

    name = "2013-curves"
    title = "2013: F1 and margin over iterations"
    paper = "Liu, Tu, Qian and Zhang 2013, sections 3.3 and 4"
    alone = True

    def cells(self, settings: Settings) -> list[Cell]:
        def steps(system: str) -> tuple[int, ...]:
            return QUICK if settings.quick else PLAIN if system == "KSP plain" else STEPS

        return [{"system": s, "steps": k, "seed": settings.seed} for s in SYSTEMS for k in steps(s)]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        task = load_task(settings, "NEWS20", int(cell["seed"]))
        options: dict[str, Any] = {"n_subsets": 1} if cell["system"] == "KSP plain" else {}
        model = StochasticPerceptron(
            task.taxonomy,
            max_iter=int(cell["steps"]),
            iterate="last",
            n_jobs=1,
            random_state=int(cell["seed"]),
            **options,
        )
        started = time.perf_counter()
        model.fit(task.X, task.labels)
        seconds = time.perf_counter() - started
        # the margin of a document: of all nodes, how much the nearest other set costs; node scores are halves of it
        nodes = model.predict_nodes(task.X)
        scores = model.decision_function(task.X)
        known = [model.classes_.tolist().index(model.taxonomy_.ids[v]) for v in model.nodes_ if v in model._class_node]
        place = [k for k, v in enumerate(model.nodes_) if v in model._class_node]
        signed = np.where(nodes[:, place], 1.0, -1.0) * scores[:, known]
        return micro(task, model.predict(task.X_test)) | {
            "margin": float(np.mean(2 * signed.min(axis=1))),
            "norm": float(np.linalg.norm(model.weights_)),
            "seconds": seconds,
        }

    def report(self, settings: Settings, results: Results) -> Report:
        rows: list[list[Value]] = [
            [r.cell["system"], int(r.cell["steps"]), *(r.measures[k] for k in ("P", "R", "F1", "margin", "seconds"))]
            for r in results
        ]
        columns = ("system", "iterations", "P", "R", "F1", "mean margin of the answer", "seconds")
        note = "The margin is that of the answer on training documents: how far the second best set is behind it."
        figure = Figure("f1", "F1 and margin over iterations", lambda canvas: _draw(canvas, results))
        best = max(results, key=lambda r: float(r.measures["F1"]))
        findings = [
            f"F1 is {best.measures['F1']:.3f} at best, after {best.cell['steps']:,} steps of {best.cell['system']}."
        ]
        return Report([Table("F1 and margin over iterations", columns, rows, note=note)], [figure], findings)


def _draw(canvas: Any, results: Results) -> None:
    left, right = canvas.subplots(1, 2)
    for system, colour in zip(SYSTEMS, (JOINT, FLAT), strict=True):
        part = results.where(system=system)
        steps = [r.cell["steps"] for r in part]
        left.plot(steps, part.values("F1"), marker="o", markersize=3.5, color=colour, label=system)
        right.plot(steps, part.values("margin"), marker="o", markersize=3.5, color=colour, label=system)
    left.set_ylabel("F1")
    right.set_ylabel("mean margin")
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xlabel("iterations")
    left.legend(frameon=False)
