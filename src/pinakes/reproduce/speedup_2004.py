"""2004, section 6.4: what active sets save, and what our own solver saves on top.

    data       section D: the first training fold
    systems    hierarchical SVM, C = 1: Algorithm 1 with active sets and without (all classes in every QP, as in 2003),
               each with an interior-point method for the QPs (the papers had LOQO) and with our pairwise steps; and
               `ascent`, what `TaxonomySVC` does unless told otherwise
    measures   processor time on one thread, compiling left out; all stop at the same relative gap

Only ratios are reported: they are what a machine does not change much.
"""

from __future__ import annotations

from typing import Any

from pinakes.reproduce.experiment import Cell, Experiment, Report, Results, Settings, Table, Value
from pinakes.reproduce.optimisation import make_task, shrink, time_ascent, time_paper
from pinakes.reproduce.patents import describe_patents

# system: the algorithm, and how it solves the QP of one document
SYSTEMS = {
    "active sets, interior point": ("greedy", "interior"),
    "no active sets, interior point": ("exhaustive", "interior"),
    "active sets, pairs": ("greedy", "pairs"),
    "no active sets, pairs": ("exhaustive", "pairs"),
    "ascent": ("ascent", ""),
}
WITH, WITHOUT, *_ = SYSTEMS
PAPER_RATIO = 42_200 / 2_200
PAPER_ACTIVE = {WITH: 4.6, WITHOUT: 4.9}


class Speedup(Experiment):
    """See the head of this file."""

    name = "2004-speedup"
    title = "2004, section 6.4: what active sets save"
    paper = "Cai and Hofmann 2004, section 6.4 (42,200 s without active sets, 2,200 s with them)"
    alone = True
    version = 2

    def constants(self, settings: Settings) -> dict[str, Any]:
        return describe_patents(settings) | {"section": "D", "C": 1.0, "tol": 0.1}

    def cells(self, settings: Settings) -> list[Cell]:
        return [{"system": system, "seed": settings.seed} for system in SYSTEMS]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        constants = self.constants(settings)
        task = make_task(settings, constants["C"])
        algorithm, qp = SYSTEMS[str(cell["system"])]
        for work in (shrink(task, 40), task):
            if algorithm == "ascent":
                course = time_ascent(work, constants["tol"])
            else:
                course = time_paper(work, algorithm, constants["tol"], qp)
        return course._asdict() | {"documents": len(task.y), "categories": len(task.outputs.own)}

    def report(self, settings: Settings, results: Results) -> Report:
        seconds = {str(r.cell["system"]): r.measures["seconds"] for r in results}
        rows: list[list[Value]] = []
        for result in results:
            system, m = str(result.cell["system"]), result.measures
            faster = seconds[WITHOUT] / seconds[system]
            paper = {WITH: PAPER_RATIO, WITHOUT: 1.0}.get(system)
            ratio = 100 * m["active_ratio"]
            rows.append(
                [system, m["steps"], m["d_obj"], 100 * m["gap"], ratio, PAPER_ACTIVE.get(system), faster, paper]
            )
        columns = (
            *("system", "steps", "objective", "gap (%)", "active (%)", "paper's active (%)"),
            *("times faster", "paper's times faster"),
        )
        first = results[0].measures
        title = f"{first['documents']} documents, {first['categories']} categories"
        note = "Times faster than Algorithm 1 without active sets, with an interior-point method; ascent counts rounds."
        pairs = seconds["no active sets, pairs"] / seconds["active sets, pairs"]
        findings = [
            f"Active sets make Algorithm 1 {seconds[WITHOUT] / seconds[WITH]:.1f} times faster where QPs are solved by "
            f"an interior-point method, as in the paper ({PAPER_RATIO:.1f} times).",
            f"With our pairwise steps the factor is {pairs:.1f}: classes without weight cost next to nothing there, "
            "and bringing F up to date, which both do once a step, is most of the work.",
            f"`ascent` is {seconds[WITH] / seconds['ascent']:.0f} times faster than Algorithm 1 with active sets and "
            f"{seconds[WITHOUT] / seconds['ascent']:.0f} times faster than without.",
        ]
        return Report([Table(title, columns, rows, note=note)], findings=findings)
