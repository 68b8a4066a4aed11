"""2007: flat and hierarchical SVM over the number of documents sampled of each category (section 6, last figure).

    data       one section of the IPC
    training   one, two, three, ... documents of each category, drawn at random; a document with several categories
               counts for each of them
    test       all other documents
    repeats    10; bars are the standard deviation over them
    measures   one-accuracy, average precision, maximal loss, ranking loss, parent one-accuracy

The paper's section has few documents in `patents`; the one here is that with the most documents of each category among
those with a hundred categories or fewer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinakes.reproduce.experiment import Cell, Experiment, Figure, Report, Results, Settings, Table, Value
from pinakes.reproduce.figures import FLAT, FOURTH, JOINT, THIRD
from pinakes.reproduce.patents_2007 import (
    COMPARED,
    CORPUS,
    LESS,
    MEASURES,
    NAMES,
    SYSTEMS,
    compare,
    find_sections,
    fit_svm,
    five_measures,
    load_labelled,
    make_split,
    sample_categories,
    summarise,
)

SECTION = "H"
SAMPLES = (1, 2, 3, 4, 5, 7, 10, 15)
REPEATS = 10
C = 1.0
PANELS = (("prec", "rloss"), ("acc", "pacc"))
COLOURS = {("flat", 0): FLAT, ("hier", 0): JOINT, ("flat", 1): THIRD, ("hier", 1): FOURTH}


class Growth(Experiment):
    """See the head of this file."""

    name = "2007-growth"
    title = "2007: growing samples of each category"
    paper = "Cai and Hofmann 2007, section 6, the figure over documents of each category"

    def constants(self, settings: Settings) -> dict[str, Any]:
        section = find_sections(settings)[0] if settings.quick else SECTION
        return {"corpus": CORPUS, "section": section, "C": C, "tol": 0.01}

    def cells(self, settings: Settings) -> list[Cell]:
        samples, repeats = (SAMPLES[:2], 2) if settings.quick else (SAMPLES, REPEATS)
        return [{"documents": n, "seed": settings.seed + k} for k in range(repeats) for n in samples]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        constants = self.constants(settings)
        patents = load_labelled(settings, constants["section"])
        train = sample_categories(patents.labels, int(cell["documents"]), int(cell["seed"]))
        split = make_split(patents, train, np.setdiff1d(np.arange(len(patents.texts)), train))
        found = {}
        for system in SYSTEMS:
            model = fit_svm(patents.taxonomy, split, system, constants["C"], constants["tol"])
            found[system] = five_measures(model, split, patents.taxonomy)
        return summarise(found) | {"training": len(train), "test": len(split.labels_test)}

    def report(self, settings: Settings, results: Results) -> Report:
        samples = sorted({int(r.cell["documents"]) for r in results})
        rows: list[list[Value]] = []
        gains: dict[str, list[float]] = {measure: [] for measure in MEASURES}
        for n in samples:
            here = results.where(documents=n)
            for measure in MEASURES:
                row, gain = compare(here, measure)
                rows.append([n, float(here.values("training").mean()), *row])
                gains[measure].append(gain)
        columns = ["documents of each", "training", *COMPARED]
        note = "± is the standard deviation over repeats; gain is how much better hier is than flat."
        findings = [
            f"hier has the better {NAMES[measure]} at {sum(g > 0 for g in some)} of {len(samples)} sample sizes; the "
            f"gain is {some[0]:.3g} at the smallest and {some[-1]:.3g} at the largest."
            for measure, some in gains.items()
        ]
        figure = Figure(
            "curves", "Flat and hierarchical SVM over documents of each category", _drawer(results, samples)
        )
        return Report([Table("Growing samples", columns, rows, frozenset({"gain"}), note)], [figure], findings)


def _drawer(results: Results, samples: list[int]) -> Any:
    def draw(canvas: Any) -> None:
        for ax, panel in zip(canvas.subplots(1, len(PANELS)), PANELS, strict=True):
            for k, measure in enumerate(panel):
                for system in SYSTEMS:
                    values = [results.where(documents=n).values(f"{system}_{measure}") for n in samples]
                    mean, spread = [v.mean() for v in values], [v.std(ddof=1) if len(v) > 1 else 0.0 for v in values]
                    style = "--" if measure in LESS or k else "-"
                    label, colour = f"{system} {measure}", COLOURS[system, k]
                    ax.errorbar(samples, mean, spread, label=label, color=colour, ls=style, marker="o", ms=3, capsize=2)
            ax.set_xlabel("documents of each category")
            ax.set_ylabel("%")
            ax.legend(frameon=False)

    return draw
