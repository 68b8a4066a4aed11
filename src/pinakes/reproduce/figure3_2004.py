"""2004, Figure 3: flat and hierarchical SVM on two sections with C from 0.01 to 100 (section 6.4).

data       sections D and E, all documents; the paper's figure does not say which two it shows
folds      3
systems    flat and hierarchical, at nine values of C
measures   accuracy and Delta-loss
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinakes.reproduce.comparison import SYSTEMS, deal_folds, fit, four_measures, summarise
from pinakes.reproduce.experiment import Cell, Experiment, Figure, Report, Results, Settings, Table, Value
from pinakes.reproduce.figures import FLAT, JOINT
from pinakes.reproduce.patents import (
    describe_patents,
    load_patents,
    make_split,
    sample_categories,
    take_section,
)

GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
QUICK = (0.01, 1.0, 100.0)
SECTIONS = "DE"


class Figure3(Experiment):
    """See the head of this file."""

    name = "2004-figure3"
    title = "2004, Figure 3: performance over C"
    paper = "Cai and Hofmann 2004, section 6.4, Figure 3"

    def constants(self, settings: Settings) -> dict[str, Any]:
        return describe_patents(settings) | {"folds": 3, "tol": 0.01}

    def cells(self, settings: Settings) -> list[Cell]:
        return [
            {"section": section, "C": C, "seed": settings.seed, "fold": fold}
            for section in SECTIONS
            for C in (QUICK if settings.quick else GRID)
            for fold in range(1 if settings.quick else 3)
        ]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        constants, seed = self.constants(settings), int(cell["seed"])
        patents = take_section(load_patents(settings), str(cell["section"]))
        if settings.quick:
            patents = sample_categories(patents, 2, seed)
        split = make_split(patents, deal_folds(patents.y, constants["folds"], seed) == cell["fold"])
        found = {}
        for system, options in SYSTEMS.items():
            model = fit(patents.taxonomy, split.X, split.y, options, C=float(cell["C"]), tol=constants["tol"])
            found[system] = four_measures(model, split.X_test, split.y_test, patents.taxonomy)
        return summarise(found)

    def report(self, settings: Settings, results: Results) -> Report:
        grid = QUICK if settings.quick else GRID
        rows: list[list[Value]] = []
        curves: dict[tuple[str, str, str], Any] = {}
        findings = []
        for section in SECTIONS:
            for system in SYSTEMS:
                for measure in ("acc", "delta"):
                    each = [results.where(section=section, C=C).values(f"{system}_{measure}") for C in grid]
                    curves[section, system, measure] = np.array([(v.mean(), v.std(ddof=len(v) > 1)) for v in each])
            for k, C in enumerate(grid):
                values = [curves[section, s, m][k] for m in ("acc", "delta") for s in SYSTEMS]
                rows.append([section, C, *(float(number) for pair in values for number in pair)])
            findings.append(_finding(section, grid, *(curves[section, system, "delta"][:, 0] for system in SYSTEMS)))
        pairs = [f"{m} {s}" for m in ("acc (%)", "Δ-loss") for s in SYSTEMS]
        columns = ["section", "C", *(name for pair in pairs for name in (pair, f"{pair} ±"))]
        table = Table("Figure 3 in numbers", columns, rows, note="± is the standard deviation over folds.")
        figure = Figure("curves", "Accuracy and Δ-loss over C", lambda canvas: _draw(canvas, grid, curves), (8.0, 5.6))
        return Report([table], [figure], findings)


def _finding(section: str, grid: tuple[float, ...], flat: Any, joint: Any) -> str:
    return (
        f"Section {section}: hsvm has the lower Δ-loss at {(joint < flat).sum()} of {len(grid)} values of C (the "
        f"paper: always); its best C is {grid[int(joint.argmin())]:g} ({joint.min():.3f}), that of flat "
        f"{grid[int(flat.argmin())]:g} ({flat.min():.3f}); at C = 1 they have {joint[grid.index(1.0)]:.3f} and "
        f"{flat[grid.index(1.0)]:.3f}."
    )


def _draw(canvas: Any, grid: tuple[float, ...], curves: dict[tuple[str, str, str], Any]) -> None:
    """Draw as the paper does: solid lines are flat, dashed lines hierarchical; bands are the spread over folds."""
    axes = canvas.subplots(2, len(SECTIONS), sharex=True)
    for row, (measure, label) in zip(axes, (("acc", "accuracy (%)"), ("delta", "Δ-loss")), strict=True):
        for ax, section in zip(row, SECTIONS, strict=True):
            for system, colour, line in (("flat", FLAT, "-"), ("hsvm", JOINT, "--")):
                mean, spread = curves[section, system, measure].T
                ax.plot(grid, mean, line, marker="o", markersize=3.5, color=colour, label=system)
                ax.fill_between(grid, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
            ax.set_xscale("log")
            ax.set_title(f"section {section}")
            ax.set_ylabel(label)
    for ax in axes[-1]:
        ax.set_xlabel("C")
    axes[0, 0].legend(frameon=False)
