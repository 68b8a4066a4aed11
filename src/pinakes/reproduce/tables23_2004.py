"""2004, Tables 2 and 3: flat and hierarchical SVM on the eight sections of the IPC (section 6.4).

    data       the documents of one section: all (Table 2), or three of each category (Table 3)
    folds      3; the documents of a category are dealt out to them
    systems    flat and hierarchical
    measures   accuracy, precision, Delta-loss, parent accuracy; a paired permutation test over all documents

The paper sets C = 1 for both. That is one reading of the tables. In the other each system gets the C that does best
(lowest Delta-loss) when a part of its training documents is held out: the same rule and the same choice for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pinakes.reproduce.comparison import (
    COMPARED,
    MEASURES,
    NOTE,
    SIGNED,
    SYSTEMS,
    compare_row,
    count_gains,
    deal_folds,
    fit,
    four_measures,
    p_value,
    summarise,
)
from pinakes.reproduce.experiment import Cell, Experiment, Figure, Report, Results, Settings, Table, Value
from pinakes.reproduce.figures import FLAT, JOINT
from pinakes.reproduce.patents import (
    SECTIONS,
    choose_C,
    describe_patents,
    load_patents,
    make_split,
    sample_categories,
    take_section,
)

ALL, THREE = "all", "three"
GRID = (0.1, 0.3, 1.0, 3.0)
FIXED = 1.0  # the paper's C
SEEDS = {THREE: 3, ALL: 1}
# section: acc, prec, Delta-loss and pacc, each of flat and of hsvm
_TABLE2 = {
    "A": (42.3, 42.9, 51.7, 53.2, 1.24, 1.15, 61.5, 65.0),
    "B": (33.2, 33.8, 41.5, 43.1, 1.54, 1.41, 57.3, 62.2),
    "C": (35.5, 35.1, 44.8, 44.6, 1.32, 1.23, 61.5, 65.6),
    "D": (41.8, 42.8, 52.3, 54.4, 1.20, 1.08, 65.4, 69.1),
    "E": (34.7, 34.3, 44.8, 46.3, 1.38, 1.30, 62.7, 64.2),
    "F": (31.2, 32.4, 40.6, 42.9, 1.47, 1.33, 57.6, 63.3),
    "G": (41.0, 41.2, 50.3, 51.1, 1.32, 1.26, 60.6, 63.0),
    "H": (43.0, 43.1, 54.2, 55.2, 1.12, 1.07, 63.3, 66.2),
}
_TABLE3 = {
    "A": (10.6, 11.7, 17.3, 20.5, 2.12, 1.87, 34.9, 43.2),
    "B": (9.56, 11.3, 14.7, 18.9, 2.25, 1.99, 36.5, 45.6),
    "C": (12.1, 13.3, 18.1, 20.7, 1.90, 1.69, 45.4, 53.0),
    "D": (19.7, 20.5, 27.2, 30.9, 1.71, 1.54, 48.9, 57.3),
    "E": (10.2, 11.4, 17.3, 20.6, 2.01, 1.82, 40.5, 48.3),
    "F": (13.1, 14.5, 19.4, 22.8, 2.02, 1.75, 40.8, 50.5),
    "G": (12.4, 13.6, 18.9, 22.4, 2.09, 1.87, 35.2, 43.5),
    "H": (14.8, 15.7, 22.6, 25.0, 1.81, 1.66, 42.0, 48.0),
}
PAPER = {ALL: _TABLE2, THREE: _TABLE3}


def paper_figures(sample: str, section: str, measure: str) -> tuple[float, float]:
    """Give what the paper has for flat and for hsvm."""
    k = 2 * MEASURES.index(measure)
    row = PAPER[sample][section]
    return row[k], row[k + 1]


class Tables23(Experiment):
    """See the head of this file."""

    name = "2004-tables23"
    title = "2004, Tables 2 and 3: the sections of the IPC"
    paper = "Cai and Hofmann 2004, section 6.4, Tables 2 and 3"

    def constants(self, settings: Settings) -> dict[str, Any]:
        grid = GRID[1:3] if settings.quick else GRID
        return describe_patents(settings) | {"folds": 3, "C": FIXED, "C chosen from": list(grid), "tol": 0.01}

    def cells(self, settings: Settings) -> list[Cell]:
        if settings.quick:
            return [
                {"sample": sample, "section": section, "seed": settings.seed, "fold": 0}
                for sample in PAPER
                for section in "DE"
            ]
        return [
            {"sample": sample, "section": section, "seed": settings.seed + k, "fold": fold}
            for sample, n_seeds in SEEDS.items()
            for k in range(n_seeds)
            for section in SECTIONS
            for fold in range(3)
        ]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        constants = self.constants(settings)
        seed = int(cell["seed"])
        patents = take_section(load_patents(settings), str(cell["section"]))
        if cell["sample"] == THREE:
            patents = sample_categories(patents, 3, seed)
        elif settings.quick:
            patents = sample_categories(patents, 5, seed)
        fold = deal_folds(patents.y, constants["folds"], seed)
        test = fold == cell["fold"]
        split = make_split(patents, test)
        measured: dict[str, Any] = {"documents": len(patents.y), "categories": len(set(patents.y))}
        chosen = choose_C(patents, ~test, SYSTEMS, constants["C chosen from"], constants["tol"], seed)
        for rule, C in (("fixed", dict.fromkeys(SYSTEMS, FIXED)), ("chosen", chosen)):
            found = {}
            for system, options in SYSTEMS.items():
                model = fit(patents.taxonomy, split.X, split.y, options, C=C[system], tol=constants["tol"])
                found[system] = four_measures(model, split.X_test, split.y_test, patents.taxonomy)
            measured |= {f"{rule}_{name}": value for name, value in summarise(found).items()}
            for name in MEASURES:
                counts = count_gains(name, found["flat"][name], found["hsvm"][name])
                measured[f"{rule}_gains_{name}"] = counts if name != "prec" else None
        return measured | {f"{system}_C": C for system, C in chosen.items()}

    def report(self, settings: Settings, results: Results) -> Report:
        tables, findings = [], []
        gains: dict[tuple[str, str], dict[str, list[float]]] = {}
        for rule, shown in (("chosen", "C chosen on held-out documents"), ("fixed", "C = 1")):
            for sample, number in ((ALL, 2), (THREE, 3)):
                table, gained = _table(results, rule, sample, f"Table {number}, {shown}")
                tables.append(table)
                gains[rule, sample] = gained
            findings += _findings(gains, rule, shown)
        figure = Figure("gains", "What the taxonomy gains in each section", lambda c: _draw(c, gains), (8.0, 3.6))
        return Report(tables, [figure], findings)


def _table(results: Results, rule: str, sample: str, title: str) -> tuple[Table, dict[str, list[float]]]:
    """Lay out one table, and give the gains of each measure by section."""
    rows: list[list[Value]] = []
    gained: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    part = results.where(sample=sample)
    for section in dict.fromkeys(str(r.cell["section"]) for r in part):
        here = part.where(section=section)
        first = here.where(seed=here[0].cell["seed"])
        for measure in MEASURES:
            row, gain = compare_row(here, measure, paper_figures(sample, section, measure), prefix=f"{rule}_")
            counts = [r.measures[f"{rule}_gains_{measure}"] for r in first]
            p = None if measure == "prec" else p_value(counts)
            sizes: list[Value] = [section, here[0].measures["categories"], here[0].measures["documents"]]
            rows.append([*sizes, *row, p])
            gained[measure].append(gain)
    columns = ["section", "#cat", "#doc", *COMPARED, "p"]
    note = NOTE + " p is that of a paired permutation test over the documents of the first seed."
    return Table(title, columns, rows, SIGNED, note), gained


def _findings(gains: Mapping[tuple[str, str], Mapping[str, list[float]]], rule: str, shown: str) -> list[str]:
    said = []
    for measure, name in (("delta", "Δ-loss"), ("pacc", "parent accuracy"), ("acc", "accuracy"), ("prec", "precision")):
        all_, three = np.array(gains[rule, ALL][measure]), np.array(gains[rule, THREE][measure])
        n = len(all_)
        said.append(
            f"{shown}: hsvm has the better {name} in {(all_ > 0).sum()} of {n} sections with all documents (mean gain "
            f"{all_.mean():.3g}) and in {(three > 0).sum()} of {n} with three a category (mean gain "
            f"{three.mean():.3g}); the gain is larger with three in {(three > all_).sum()} of {n}."
        )
    return said


def _draw(canvas: Any, gains: Mapping[tuple[str, str], Mapping[str, list[float]]]) -> None:
    """Draw the gains in Delta-loss and parent accuracy by section, ours and the paper's."""
    axes = canvas.subplots(1, 2)
    panels = (("delta", "lower Δ-loss"), ("pacc", "higher parent accuracy (points)"))
    for ax, (measure, title) in zip(axes, panels, strict=True):
        n = len(gains["chosen", ALL][measure])
        sections = SECTIONS if n == len(SECTIONS) else "DE"[:n]
        for sample, colour, shift in ((ALL, FLAT, -0.2), (THREE, JOINT, 0.2)):
            label = "all documents" if sample == ALL else "three a category"
            x = np.arange(n) + shift
            ax.bar(x, gains["chosen", sample][measure], 0.38, color=colour, label=label)
            pairs = [paper_figures(sample, section, measure) for section in sections]
            theirs = [abs(joint - flat) for flat, joint in pairs]
            mark = "the paper, WIPO-alpha" if sample == ALL else None
            ax.plot(x, theirs, "_", color="black", markersize=10, label=mark)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xticks(range(n), list(sections))
        ax.set_title(title)
        ax.set_xlabel("section")
    axes[0].set_ylabel("gain of hsvm over flat")
    handles, labels = axes[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
