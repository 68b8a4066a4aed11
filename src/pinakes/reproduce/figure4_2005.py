"""2005, Figure 4: how much gamma matters (section 4.4).

The setting of Figure 3 with HLSI alone, and gamma from 0.5 to infinity in units of the mean squared length of a
document. The paper's gamma, 0.001 to 0.1, is in the units of its own TF-IDF vectors, whose length it does not tell.
"""

from __future__ import annotations

from typing import Any

from pinakes.reproduce import feature_spaces as spaces
from pinakes.reproduce.experiment import Cell, Experiment, Figure, Report, Results, Settings, Table, Value

GAMMAS: tuple[float | str, ...] = (0.5, 2.0, 10.0, 100.0, "inf")
DIMENSIONS = (10, 20, 50, 100, 200)
SHADES = ("#7F3B08", "#D55E00", "#E69F00", "#009E73", "#0072B2")


class Figure4(Experiment):
    """See the head of this file."""

    name = "2005-figure4"
    title = "2005, Figure 4: how much gamma matters"
    paper = "Huang et al. 2005, section 4.4, Figure 4"
    version = 2

    def constants(self, settings: Settings) -> dict[str, Any]:
        return {
            "training documents": 200 if settings.quick else 2000,
            "test documents": 500 if settings.quick else "all others",
            "dimensions": [50] if settings.quick else list(DIMENSIONS),
            "C times mean squared length": spaces.C,
        }

    def cells(self, settings: Settings) -> list[Cell]:
        sets = ["rcv1"] if settings.quick else list(spaces.SETS)
        return [
            {"set": name, "gamma": gamma, "seed": settings.seed + k}
            for k in range(1 if settings.quick else 10)
            for name in sets
            for gamma in GAMMAS
        ]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        constants = self.constants(settings)
        data = spaces.read_collection(settings.folder(), str(cell["set"]))
        n_test = constants["test documents"] if settings.quick else None
        split = spaces.draw_split(data, constants["training documents"], int(cell["seed"]), n_test)
        W = spaces.fit_space("HLSI", data, split.train, max(constants["dimensions"]), float(cell["gamma"]))
        return spaces.classify_space(data, split, W, constants["dimensions"])

    def report(self, settings: Settings, results: Results) -> Report:
        dimensions = self.constants(settings)["dimensions"]
        sets = list(dict.fromkeys(str(r.cell["set"]) for r in results))
        tables, findings = [], []
        for name in sets:
            rows: list[list[Value]] = []
            for gamma in GAMMAS:
                part = results.where(set=name, gamma=gamma)
                for measure in ("micro", "macro"):
                    values = [float(part.values(f"{measure}_{m}").mean()) for m in dimensions]
                    rows.append([str(gamma), f"{measure}-F1", *values])
            tables.append(Table(f"Figure 4, {name}", ["gamma", "measure", *(f"{m} dim." for m in dimensions)], rows))
            at = {g: float(results.where(set=name, gamma=g).values("micro_50").mean()) for g in GAMMAS}
            best = max(at, key=at.__getitem__)
            shown = ", ".join(f"{g}: {value:.3f}" for g, value in at.items())
            findings.append(f"{name}: of the values tried, gamma {best} is best at 50 dimensions (micro-F1; {shown}).")
        figure = Figure(
            "gamma", "F1 for several gamma", lambda canvas: _draw(canvas, results, sets, dimensions), (8, 6.5)
        )
        return Report(tables, [figure], findings)


def _draw(canvas: Any, results: Results, sets: list[str], dimensions: list[int]) -> None:
    axes = canvas.subplots(len(sets), 2, squeeze=False, sharex=True)
    for row, name in zip(axes, sets, strict=True):
        for axis, measure in zip(row, ("micro", "macro"), strict=True):
            for gamma, colour in zip(GAMMAS, SHADES, strict=True):
                part = results.where(set=name, gamma=gamma)
                values = [float(part.values(f"{measure}_{m}").mean()) for m in dimensions]
                label = "LSI (gamma infinite)" if gamma == "inf" else f"gamma = {gamma:g}"
                axis.plot(dimensions, values, label=label, color=colour, marker="o", ms=3)
            axis.set_title(f"{measure}-averaged F1 on {name}")
            axis.set_xlabel("dimensions")
    axes[0, 0].legend(frameon=False)
