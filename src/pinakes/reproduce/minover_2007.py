"""2007: flat and hierarchical MinOver perceptron on patents (section 6, the figure of perceptron results).

data       all patents, and each section of the IPC with 1,000 documents or more
folds      3
systems    flat and hierarchical `MinOverPerceptron`, run to the wanted margin or as many steps as are allowed: the
           paper's (softness 0), and one that bears documents that contradict each other (softness 1)
measures   one-accuracy and average precision, as in the figure, and the other three of the tables
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinakes.reproduce.comparison import p_value
from pinakes.reproduce.experiment import Cell, Experiment, Figure, Report, Results, Settings, Table, Value
from pinakes.reproduce.figures import FLAT, JOINT
from pinakes.reproduce.patents_2007 import (
    COMPARED,
    CORPUS,
    MEASURES,
    NAMES,
    NOTE,
    SYSTEMS,
    compare,
    count_gains,
    find_sections,
    fit_minover,
    five_measures,
    fold_of,
    load_labelled,
    make_split,
    summarise,
)

N_FOLDS = 3
STEPS = 5  # most steps for each training document
IN_FIGURE = ("acc", "prec")
SOFTNESS = (0.0, 1.0)


class MinOver(Experiment):
    """See the head of this file."""

    name = "2007-minover"
    title = "2007: flat and hierarchical MinOver perceptron"
    paper = "Cai and Hofmann 2007, section 6, the figure of perceptron results"

    def constants(self, settings: Settings) -> dict[str, Any]:
        return {"corpus": CORPUS, "folds": N_FOLDS, "steps": f"at most {1 if settings.quick else STEPS} n"}

    def cells(self, settings: Settings) -> list[Cell]:
        return [
            {"softness": softness, "section": section, "seed": settings.seed, "fold": fold}
            for softness in SOFTNESS
            for section in find_sections(settings)
            for fold in range(1 if settings.quick else N_FOLDS)
        ]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        patents = load_labelled(settings, str(cell["section"]))
        fold = fold_of(patents, N_FOLDS, int(cell["seed"]))
        split = make_split(patents, np.flatnonzero(fold != cell["fold"]), np.flatnonzero(fold == cell["fold"]))
        steps = (1 if settings.quick else STEPS) * split.X.shape[0]
        found = {}
        fitted: dict[str, Any] = {}
        for system in SYSTEMS:
            model = fit_minover(patents.taxonomy, split, system, float(cell["softness"]), steps)
            found[system] = five_measures(model, split, patents.taxonomy)
            fitted |= {f"{system}_steps": int(model.n_iter_), f"{system}_stopped": str(model.stopped_)}
        sizes = {"documents": len(patents.texts), "categories": patents.n_categories}
        return sizes | summarise(found) | count_gains(found) | fitted

    def report(self, settings: Settings, results: Results) -> Report:
        tables, findings = [], []
        means: dict[tuple[float, str, str], list[float]] = {}
        sections = list(dict.fromkeys(str(r.cell["section"]) for r in results))
        for softness in SOFTNESS:
            part = results.where(softness=softness)
            rows: list[list[Value]] = []
            better = dict.fromkeys(MEASURES, 0)
            for section in sections:
                here = part.where(section=section)
                m = here[0].measures
                for measure in MEASURES:
                    row, gain = compare(here, measure)
                    p = p_value(r.measures[f"gains_{measure}"] for r in here)
                    rows.append([section, m["categories"], m["documents"], *row, p])
                    better[measure] += gain > 0
                    for system in SYSTEMS:
                        mean = float(here.values(f"{system}_{measure}").mean())
                        means.setdefault((softness, system, measure), []).append(mean)
            findings += [
                f"Softness {softness:g}: the hierarchical perceptron has the better {NAMES[measure]} in {n} of "
                f"{len(sections)} rows" + (" (the paper: in all)." if measure in IN_FIGURE else ".")
                for measure, n in better.items()
            ]
            reached = sum(r.measures[f"{system}_stopped"] == "separated" for r in part for system in SYSTEMS)
            findings.append(
                f"Softness {softness:g}: {reached} of {2 * len(part)} perceptrons reached the wanted margin."
            )
            columns = ["section", "#cat", "#doc", *COMPARED, "p"]
            note = NOTE + " p is that of a paired permutation test over all documents."
            title = f"MinOver perceptron, softness {softness:g}"
            tables.append(Table(title, columns, rows, frozenset({"gain"}), note))
        draw = lambda canvas: _draw(canvas, sections, means)  # noqa: E731
        return Report(tables, [Figure("bars", "Flat and hierarchical MinOver", draw, (8.0, 6.0))], findings)


def _draw(canvas: Any, sections: list[str], means: dict[tuple[float, str, str], list[float]]) -> None:
    axes = canvas.subplots(len(SOFTNESS), len(IN_FIGURE), squeeze=False)
    for row, softness in zip(axes, SOFTNESS, strict=True):
        for ax, measure in zip(row, IN_FIGURE, strict=True):
            for system, colour, shift in (("flat", FLAT, -0.2), ("hier", JOINT, 0.2)):
                values = means[softness, system, measure]
                ax.bar(np.arange(len(sections)) + shift, values, 0.38, color=colour, label=system)
            ax.set_xticks(range(len(sections)), sections)
            ax.set_title(f"{NAMES[measure]} (%), softness {softness:g}")
    axes[0, 0].legend(frameon=False)
