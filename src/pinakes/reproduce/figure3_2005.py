"""2005, Figure 3: classification in LSI, CCA, HLSI and all features (section 4.3).

data        rcv1; go-function, in place of the paper's SwissProt entries under Oxidoreductase
training    2,000 documents drawn at random, at least five of each leaf category
test        all others
spaces      LSI, CCA, HLSI with 10 to 200 dimensions, learnt from the training documents; all words
classifier  a linear SVM for each category, inner or leaf
measures    micro- and macro-averaged F1; ten repeats
"""

from __future__ import annotations

from typing import Any

from pinakes.reproduce import feature_spaces as spaces
from pinakes.reproduce.experiment import Cell, Experiment, Figure, Report, Results, Settings, Table, Value
from pinakes.reproduce.figures import FLAT, FOURTH, JOINT, THIRD

MAPPED = ("LSI", "CCA", "HLSI", "HLSI-n")
COLOURS = {"LSI": FLAT, "HLSI": JOINT, "HLSI-n": "#7F3B08", "CCA": THIRD, "all": FOURTH}
DIMENSIONS = (10, 20, 50, 80, 120, 200)
# of HLSI by cross-validation on the training documents of one draw
GAMMA = {"rcv1": {"HLSI": 2.0, "HLSI-n": 0.2, "CCA": 5.0}, "go-function": {"HLSI": 100.0, "HLSI-n": 0.05, "CCA": 5.0}}


class Figure3(Experiment):
    """See the head of this file."""

    name = "2005-figure3"
    title = "2005, Figure 3: classification in feature spaces"
    paper = "Huang et al. 2005, section 4.3, Figure 3"
    version = 2

    def constants(self, settings: Settings) -> dict[str, Any]:
        return {
            "training documents": 200 if settings.quick else 2000,
            "test documents": 500 if settings.quick else "all others",
            "dimensions": [50] if settings.quick else list(DIMENSIONS),
            "gamma": GAMMA,
            "C times mean squared length": spaces.C,
        }

    def cells(self, settings: Settings) -> list[Cell]:
        sets = ["rcv1"] if settings.quick else list(spaces.SETS)
        return [
            {"set": name, "space": space, "seed": settings.seed + k}
            for k in range(1 if settings.quick else 10)
            for name in sets
            for space in (*MAPPED, "all")
        ]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        constants, name, space = self.constants(settings), str(cell["set"]), str(cell["space"])
        data = spaces.read_collection(settings.folder(), name)
        n_test = constants["test documents"] if settings.quick else None
        split = spaces.draw_split(data, constants["training documents"], int(cell["seed"]), n_test)
        dimensions = constants["dimensions"]
        if space == "all":
            return spaces.classify_space(data, split, None, dimensions)
        W = spaces.fit_space(space, data, split.train, max(dimensions), GAMMA[name].get(space, 1.0))
        return spaces.classify_space(data, split, W, dimensions)

    def report(self, settings: Settings, results: Results) -> Report:
        dimensions = self.constants(settings)["dimensions"]
        sets = list(dict.fromkeys(str(r.cell["set"]) for r in results))
        tables, findings = [], []
        for name in sets:
            part = results.where(set=name)
            means = _means(part, dimensions)
            rows: list[list[Value]] = [
                [space, m, *means[space, m, "micro"], *means[space, m, "macro"]] for space in MAPPED for m in dimensions
            ]
            rows.append(["all", None, *means["all", None, "micro"], *means["all", None, "macro"]])
            columns = ["space", "dimensions", "micro-F1", "micro ±", "macro-F1", "macro ±"]
            note = "± is the standard deviation over the repeats."
            tables.append(Table(f"Figure 3, {name}", columns, rows, note=note))
            findings += _findings(name, means, dimensions)
        figure = Figure("f1", "F1 over dimensions", lambda canvas: _draw(canvas, results, sets, dimensions), (8.0, 6.5))
        return Report(tables, [figure], findings)


def _means(part: Results, dimensions: list[int]) -> dict[tuple[str, int | None, str], tuple[float, float]]:
    found = {}
    for space in (*MAPPED, "all"):
        for m in [None] if space == "all" else dimensions:
            for measure in ("micro", "macro"):
                values = part.where(space=space).values(measure if m is None else f"{measure}_{m}")
                found[space, m, measure] = float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return found


def _findings(name: str, means: dict[Any, tuple[float, float]], dimensions: list[int]) -> list[str]:
    said = []
    last = max(dimensions)
    for measure in ("micro", "macro"):
        hlsi, normalized, lsi, cca = (means[space, 50, measure][0] for space in ("HLSI", "HLSI-n", "LSI", "CCA"))
        said.append(
            f"{name}, {measure}-F1 at 50 dimensions: HLSI {hlsi:.3f}, HLSI-n {normalized:.3f}, CCA {cca:.3f}, LSI "
            f"{lsi:.3f}; LSI at {last}: "
            f"{means['LSI', last, measure][0]:.3f}; all features: {means['all', None, measure][0]:.3f}."
        )
    every = means["all", None, "micro"][0]
    for space in ("HLSI", "HLSI-n"):
        reached = [m for m in dimensions if means[space, m, "micro"][0] >= every]
        said.append(
            f"{name}: {space} is at or above all features in micro-F1 with "
            + (f"{', '.join(map(str, reached))} dimensions." if reached else "no number of dimensions tried.")
        )
    return said


def _draw(canvas: Any, results: Results, sets: list[str], dimensions: list[int]) -> None:
    axes = canvas.subplots(len(sets), 2, squeeze=False, sharex=True)
    for row, name in zip(axes, sets, strict=True):
        means = _means(results.where(set=name), dimensions)
        for axis, measure in zip(row, ("micro", "macro"), strict=True):
            for space in MAPPED:
                values, spread = zip(*(means[space, m, measure] for m in dimensions), strict=True)
                axis.errorbar(
                    dimensions, values, spread, label=space, color=COLOURS[space], marker="o", ms=3, capsize=2
                )
            axis.axhline(means["all", None, measure][0], color=COLOURS["all"], ls="--", label="all features")
            axis.set_title(f"{measure}-averaged F1 on {name}")
            axis.set_xlabel("dimensions")
    axes[0, 0].legend(frameon=False)
