"""2004, Figure 4: objective and active variables while Algorithm 1 runs (section 6.4).

data       section D: the first training fold
systems    hierarchical SVM by Algorithm 1 with step 8a, C = 1
measures   dual objective (Eq. 16) and the ratio of active variables (Eq. 41), step by step
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinakes.reproduce.experiment import Cell, Experiment, Figure, Report, Results, Settings, Table, Value
from pinakes.reproduce.figures import FLAT, JOINT
from pinakes.reproduce.optimisation import make_task, run_paper
from pinakes.reproduce.patents import describe_patents

POINTS = 200  # of the curves that are kept
TENTHS = 10


class Figure4(Experiment):
    """See the head of this file."""

    name = "2004-figure4"
    title = "2004, Figure 4: the course of the optimisation"
    paper = "Cai and Hofmann 2004, section 6.4, Figure 4"

    def constants(self, settings: Settings) -> dict[str, Any]:
        return describe_patents(settings) | {"section": "D", "C": 1.0, "tol": 0.05 if settings.quick else 0.002}

    def cells(self, settings: Settings) -> list[Cell]:
        return [{"algorithm": "greedy", "seed": settings.seed}]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        constants = self.constants(settings)
        task = make_task(settings, constants["C"])
        history = run_paper(task, str(cell["algorithm"]), constants["tol"], "pairs").history
        kept = np.unique(np.linspace(0, len(history) - 1, POINTS).round().astype(int))
        n_active = np.round(history.active_ratio * len(task.y) * (len(task.outputs.own) - 1)).astype(int)
        grown = np.diff(n_active, prepend=0) > 0
        return {
            "documents": len(task.y),
            "categories": len(task.outputs.own),
            "step": (kept + 1).tolist(),
            "objective": [float(f"{v:.6g}") for v in history.d_obj[kept]],
            "ratio": [float(f"{v:.6g}") for v in history.active_ratio[kept]],
            "grown": [float(part.mean()) for part in np.array_split(grown, TENTHS)],
            "gap": float(history.gap[-1]),
        }

    def report(self, settings: Settings, results: Results) -> Report:
        m = results[0].measures
        step, objective, ratio = (np.array(m[name]) for name in ("step", "objective", "ratio"))
        rows: list[list[Value]] = []
        for tenth in range(1, TENTHS + 1):
            k = int(np.searchsorted(step, tenth * step[-1] / TENTHS))
            k = min(k, len(step) - 1)
            share = 100 * m["grown"][tenth - 1]
            rows.append([int(step[k]), float(objective[k]), float(100 * ratio[k]), float(share)])
        columns = ("step", "objective", "active variables (%)", "steps that add one (%)")
        note = "The last column counts the steps since the line above after which there were more active variables."
        findings = [
            f"{100 * m['grown'][0]:.0f} % of the first tenth of the steps add a variable, and "
            f"{100 * m['grown'][-1]:.0f} % of the last "
            '(the paper: "almost always" at first, then growth "slows down").',
            f"At a gap of {100 * m['gap']:.2g} % the solution has {100 * ratio[-1]:.2g} % active variables (the paper: "
            "4.6 % on section D, and between 0.5 and 10 % everywhere).",
        ]
        figure = Figure(
            "course", "Objective and active variables over steps", lambda c: _draw(c, step, objective, ratio)
        )
        title = f"Figure 4 in numbers: {m['documents']} documents, {m['categories']} categories"
        return Report([Table(title, columns, rows, note=note)], [figure], findings)


def _draw(canvas: Any, step: Any, objective: Any, ratio: Any) -> None:
    """Draw the objective, and below it the ratio of active variables, over the same steps."""
    above, below = canvas.subplots(2, 1, sharex=True)
    above.plot(step, objective, color=FLAT)
    above.set_ylabel("dual objective")
    below.plot(step, 100 * ratio, color=JOINT)
    below.set_ylabel("active variables (%)")
    below.set_xlabel("steps of Algorithm 1")
