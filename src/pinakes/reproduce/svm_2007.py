"""2007: flat and hierarchical multilabel SVM on patents, all and with three documents of each category (section 6).

    data       all patents, and each section of the IPC with 1,000 documents or more; whole, or about three documents of
               each category (a document is drawn if one of its categories has fewer than three so far)
    folds      3; the documents of a first category are dealt out to them
    systems    flat and hierarchical `TaxonomyRankSVC`
    measures   one-accuracy, average precision, maximal loss, ranking loss, parent one-accuracy; a paired permutation
               test over all documents

C = 1 for both is one reading of the tables. In the other each system gets the C that does best (lowest maximal loss)
when a third of its training documents is held out.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    choose_C,
    compare,
    count_gains,
    find_sections,
    fit_svm,
    five_measures,
    fold_of,
    load_labelled,
    make_split,
    sample_categories,
    summarise,
)

ALL, THREE = "all", "three"
FIXED = 1.0
GRID = (0.1, 0.3, 1.0, 3.0)
SEEDS = {THREE: 3, ALL: 1}
N_FOLDS = 3
# what the paper says in words of both of its tables
CLAIMED = ("xloss", "rloss", "pacc")


class SvmTables(Experiment):
    """See the head of this file."""

    name = "2007-svm"
    title = "2007: flat and hierarchical SVM with several labels"
    paper = "Cai and Hofmann 2007, section 6, the two tables of SVM experiments"

    def constants(self, settings: Settings) -> dict[str, Any]:
        grid = GRID[1:3] if settings.quick else GRID
        return {"corpus": CORPUS, "folds": N_FOLDS, "C": FIXED, "C chosen from": list(grid), "tol": 0.01}

    def cells(self, settings: Settings) -> list[Cell]:
        n_seeds, n_folds = ({ALL: 1, THREE: 1}, 1) if settings.quick else (SEEDS, N_FOLDS)
        return [
            {"sample": sample, "section": section, "seed": settings.seed + k, "fold": fold}
            for sample in (THREE, ALL)
            for k in range(n_seeds[sample])
            for section in find_sections(settings)
            for fold in range(n_folds)
        ]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        constants, seed = self.constants(settings), int(cell["seed"])
        patents = load_labelled(settings, str(cell["section"]))
        if cell["sample"] == THREE:
            patents = patents.take(sample_categories(patents.labels, 3, seed))
        fold = fold_of(patents, N_FOLDS, seed)
        train, test = np.flatnonzero(fold != cell["fold"]), np.flatnonzero(fold == cell["fold"])
        split = make_split(patents, train, test)
        measured: dict[str, Any] = {
            "documents": len(patents.texts),
            "categories": patents.n_categories,
            "categories a document": float(np.mean([len(few) for few in patents.labels])),
        }
        chosen = choose_C(patents, train, constants["C chosen from"], constants["tol"], seed)
        for rule, C in (("fixed", dict.fromkeys(SYSTEMS, FIXED)), ("chosen", chosen)):
            found = {}
            for system in SYSTEMS:
                model = fit_svm(patents.taxonomy, split, system, C[system], constants["tol"])
                found[system] = five_measures(model, split, patents.taxonomy)
                measured[f"{rule}_{system}_gap"] = float(model.gap_)
            both = summarise(found) | count_gains(found)
            measured |= {f"{rule}_{name}": value for name, value in both.items()}
        return measured | {f"{system}_C": C for system, C in chosen.items()}

    def report(self, settings: Settings, results: Results) -> Report:
        tables, findings = [], []
        gains: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
        for rule, shown in (("chosen", "C chosen on held-out documents"), ("fixed", "C = 1")):
            for sample, title in ((ALL, "all documents"), (THREE, "three documents of each category")):
                table, gained, tested = _table(results, rule, sample, f"{title.capitalize()}, {shown}")
                tables.append(table)
                gains[rule, sample] = gained
                findings += _findings(gained, tested, f"{title}, {shown}")
        draw = lambda canvas: _draw(canvas, gains)  # noqa: E731
        return Report(tables, [Figure("gains", "What the taxonomy gains", draw, (8.0, 3.6))], findings)


def _table(
    results: Results, rule: str, sample: str, title: str
) -> tuple[Table, dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Lay out one table; give also the gains and the p-values of each measure by section."""
    rows: list[list[Value]] = []
    gained: dict[str, dict[str, float]] = {measure: {} for measure in MEASURES}
    tested: dict[str, dict[str, float]] = {measure: {} for measure in MEASURES}
    part = results.where(sample=sample)
    for section in dict.fromkeys(str(r.cell["section"]) for r in part):
        here = part.where(section=section)
        first = here.where(seed=here[0].cell["seed"])
        m = here[0].measures
        for measure in MEASURES:
            row, gain = compare(here, measure, f"{rule}_")
            p = p_value(r.measures[f"{rule}_gains_{measure}"] for r in first)
            rows.append([section, m["categories"], m["documents"], m["categories a document"], *row, p])
            gained[measure][section], tested[measure][section] = gain, p
    columns = ["section", "#cat", "#doc", "#cat/doc", *COMPARED, "p"]
    note = NOTE + " p is that of a paired permutation test over the documents of the first seed."
    return Table(title, columns, rows, frozenset({"gain"}), note), gained, tested


def _findings(
    gained: Mapping[str, Mapping[str, float]], tested: Mapping[str, Mapping[str, float]], where: str
) -> list[str]:
    said = []
    for measure in (*CLAIMED, *(name for name in MEASURES if name not in CLAIMED)):
        gains, ps = np.array(list(gained[measure].values())), np.array(list(tested[measure].values()))
        words = "in all sections" if measure in CLAIMED else "by a little in most"
        said.append(
            f"{where}: hier has the better {NAMES[measure]} in {(gains > 0).sum()} of {len(gains)} rows (mean gain "
            f"{gains.mean():.3g}), with p < 0.05 in {((gains > 0) & (ps < 0.05)).sum()}, and the worse with p < 0.05 "
            f"in {((gains < 0) & (ps < 0.05)).sum()}; the paper: better {words}."
        )
    return said


def _draw(canvas: Any, gains: Mapping[tuple[str, str], Mapping[str, Mapping[str, float]]]) -> None:
    """Draw the gains in maximal loss, ranking loss and parent accuracy by section."""
    axes = canvas.subplots(1, len(CLAIMED))
    titles = {"xloss": "lower maximal loss", "rloss": "lower ranking loss (points)", "pacc": "higher pacc (points)"}
    for ax, measure in zip(axes, CLAIMED, strict=True):
        sections = list(gains["chosen", ALL][measure])
        for sample, colour, shift in ((ALL, FLAT, -0.2), (THREE, JOINT, 0.2)):
            label = "all documents" if sample == ALL else "three a category"
            values = list(gains["chosen", sample][measure].values())
            ax.bar(np.arange(len(sections)) + shift, values, 0.38, color=colour, label=label)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xticks(range(len(sections)), sections)
        ax.set_title(titles[measure])
        ax.set_xlabel("section")
    axes[0].set_ylabel("gain of hier over flat")
    handles, labels = axes[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
