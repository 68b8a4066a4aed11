"""2005, Figure 2: documents in two dimensions (section 4.2).

    data      rcv1: the mapping is learnt from 2,000 documents and drawn with another 1,000
    shown     the classes CCAT, GCAT and MCAT, and C15, a subclass of CCAT; documents of several of them are left out
    spaces    LSI, CCA, HLSI

The first direction of LSI and of HLSI is nearly constant (L 1 = 0, and word vectors have no negative values), and is
not shown: of three directions those two are taken that vary most around their mean. How well the classes are separated
is measured by the share of documents whose nearest other document in the plane is of their class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pinakes.reproduce import feature_spaces as spaces
from pinakes.reproduce.experiment import Cell, Experiment, Figure, Report, Results, Settings, Table
from pinakes.reproduce.figures import FLAT, FOURTH, JOINT, THIRD

CLASSES = {"C15": FOURTH, "CCAT": FLAT, "GCAT": THIRD, "MCAT": JOINT}
MARKS = {"C15": "D", "CCAT": "o", "GCAT": "^", "MCAT": "s"}
SPACES = ("LSI", "CCA", "HLSI")
GAMMA = 5.0


class Figure2(Experiment):
    """See the head of this file."""

    name = "2005-figure2"
    title = "2005, Figure 2: documents in two dimensions"
    paper = "Huang et al. 2005, section 4.2, Figure 2"

    def constants(self, settings: Settings) -> dict[str, Any]:
        return {"training documents": 300 if settings.quick else 2000, "documents shown": 1000, "gamma": GAMMA}

    def cells(self, settings: Settings) -> list[Cell]:
        return [{"space": space, "seed": settings.seed} for space in SPACES]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        constants = self.constants(settings)
        data = spaces.read_collection(settings.folder(), "rcv1")
        split = spaces.draw_split(
            data, constants["training documents"], int(cell["seed"]), constants["documents shown"]
        )
        W = spaces.fit_space(str(cell["space"]), data, split.train, 3, GAMMA)
        F, Z = data.X[split.train] @ W, data.X[split.test] @ W
        axes = np.sort(np.argsort(-F.var(axis=0), kind="stable")[:2])
        held = data.Y[split.test][:, [data.taxonomy.index(k) for k in CLASSES]].toarray() > 0
        held[:, 1] &= ~held[:, 0]  # CCAT without C15
        one = held.sum(axis=1) == 1
        Z, which = Z[one][:, axes], held[one].argmax(axis=1)
        return {
            "points": np.round(Z, 4).tolist(),
            "class": which.tolist(),
            "neighbours": _neighbours(Z, which),
        }

    def report(self, settings: Settings, results: Results) -> Report:
        shares = {str(r.cell["space"]): float(r.measures["neighbours"]) for r in results}
        table = Table(
            "Figure 2",
            ["space", "nearest document of the same class (%)"],
            [[space, 100 * share] for space, share in shares.items()],
        )
        said = ", ".join(f"{space} {100 * share:.1f} %" for space, share in shares.items())
        finding = f"The nearest document in the plane is of the same class for: {said}."
        figure = Figure("map", "rcv1 in two dimensions", lambda canvas: _draw(canvas, results), (11.0, 4.0))
        return Report([table], [figure], [finding])


def _neighbours(Z: npt.NDArray[Any], which: npt.NDArray[Any]) -> float:
    """Give the share of documents whose nearest other document is of their class."""
    from scipy.spatial import cKDTree

    nearest = np.asarray(cKDTree(Z).query(Z, k=2)[1])
    other = np.where(nearest[:, 0] == np.arange(len(Z)), nearest[:, 1], nearest[:, 0])
    return float((which[other] == which).mean())


def _draw(canvas: Any, results: Results) -> None:
    for axis, result in zip(canvas.subplots(1, len(results)), results, strict=True):
        Z, which = np.array(result.measures["points"]), np.array(result.measures["class"])
        for k in (1, 2, 3, 0):  # C15 on top of CCAT
            name = list(CLASSES)[k]
            part = Z[which == k]
            label = "CCAT, not C15" if name == "CCAT" else name
            axis.scatter(*part.T, s=9, c=CLASSES[name], marker=MARKS[name], label=label, alpha=0.6, lw=0)
        axis.set_title(str(result.cell["space"]))
        axis.grid(False)
        axis.set_xticks([])
        axis.set_yticks([])
    canvas.axes[-1].legend(frameon=False, markerscale=2)
