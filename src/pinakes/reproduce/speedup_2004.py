"""2004, section 6.4: what active sets save, and what our own solver saves on top.

    data       section D: the first training fold
    systems    hierarchical SVM, C = 1: Algorithm 1 with active sets and without (all classes in every QP, as in 2003),
               each with an interior-point method for the QPs (the papers had LOQO) and with our pairwise steps; and
               `ascent`, what `TaxonomySVC` does unless told otherwise
    measures   processor time on one thread, compiling left out, the least of three runs; all stop at the same relative
               gap, a loose one and our default: the paper stops on psi, and the factor depends on when one stops

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
TOLS = (0.1, 0.01)
REPEATS = 3
PAPER_RATIO = 42_200 / 2_200
PAPER_ACTIVE = {WITH: 4.6, WITHOUT: 4.9}


class Speedup(Experiment):
    """See the head of this file."""

    name = "2004-speedup"
    title = "2004, section 6.4: what active sets save"
    paper = "Cai and Hofmann 2004, section 6.4 (42,200 s without active sets, 2,200 s with them)"
    alone = True
    version = 3

    def constants(self, settings: Settings) -> dict[str, Any]:
        return describe_patents(settings) | {"section": "D", "C": 1.0, "tol": list(TOLS)}

    def cells(self, settings: Settings) -> list[Cell]:
        return [
            {"system": system, "tol": tol, "seed": settings.seed, "repeat": k}
            for k in range(1 if settings.quick else REPEATS)
            for tol in (TOLS[:1] if settings.quick else TOLS)
            for system in SYSTEMS
        ]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        task = make_task(settings, self.constants(settings)["C"])
        algorithm, qp = SYSTEMS[str(cell["system"])]
        tol = float(cell["tol"])
        for work in (shrink(task, 40), task):
            course = time_ascent(work, tol) if algorithm == "ascent" else time_paper(work, algorithm, tol, qp)
        return course._asdict() | {"documents": len(task.y), "categories": len(task.outputs.own)}

    def report(self, settings: Settings, results: Results) -> Report:
        rows: list[list[Value]] = []
        findings = []
        for tol in dict.fromkeys(float(r.cell["tol"]) for r in results):
            each = {system: results.where(system=system, tol=tol) for system in SYSTEMS}
            seconds = {system: float(part.values("seconds").min()) for system, part in each.items()}
            for system, part in each.items():
                m = part[0].measures
                rows.append([100 * tol, system, m["steps"], m["d_obj"], 100 * m["active_ratio"]])
                rows[-1] += [PAPER_ACTIVE.get(system), seconds[WITHOUT] / seconds[system]]
                rows[-1] += [{WITH: PAPER_RATIO, WITHOUT: 1.0}.get(system)]
                rows[-1] += [float(part.values("seconds").max()) / seconds[system]]
            pairs = seconds["no active sets, pairs"] / seconds["active sets, pairs"]
            once = each[WITHOUT].values("seconds") / each[WITH].values("seconds")
            findings.append(
                f"Down to a gap of {100 * tol:g} %, active sets make Algorithm 1 "
                f"{seconds[WITHOUT] / seconds[WITH]:.1f} times faster where QPs are solved by an interior-point "
                f"method, as in the paper ({PAPER_RATIO:.1f} times); in single runs {once.min():.1f} to "
                f"{once.max():.1f} times. With our pairwise steps it is {pairs:.1f} times. `ascent` is "
                f"{seconds[WITH] / seconds['ascent']:.0f} "
                "times faster than Algorithm 1 with active sets and an interior-point method, and "
                f"{seconds[WITHOUT] / seconds['ascent']:.0f} times faster than without them."
            )
        columns = [
            *("gap (%)", "system", "steps", "objective", "active (%)", "paper's active (%)"),
            *("times faster", "paper's times faster", "slowest / fastest run"),
        ]
        first = results[0].measures
        title = f"{first['documents']} documents, {first['categories']} categories"
        note = (
            "Times faster than Algorithm 1 without active sets, with an interior-point method, by the fastest run of "
            "each; ascent counts rounds, not steps."
        )
        return Report([Table(title, columns, rows, note=note)], findings=findings)
