"""A map of documents as a picture: PNG, SVG or PDF, by matplotlib."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from pinakes.errors import MissingExtraError
from pinakes.plots.map import DocumentMap

LABELLED = 14  # categories that are named in the picture
DPI = 160


def write_picture(chart: DocumentMap, path: str | PathLike[str]) -> None:
    """Draw a map into a file; its ending says what kind of picture: .png, .svg or .pdf."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing a map", "plots") from None

    n = len(chart.views)
    with mpl.rc_context({"font.size": 9, "svg.hashsalt": "pinakes", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7.5 * n, 7.5), layout="constrained")
        FigureCanvasAgg(figure)
        for axis, view in zip(figure.subplots(1, n, squeeze=False)[0], chart.views, strict=True):
            _draw(axis, chart, view)
            axis.set_title(f"{view.name}: {chart.title}" if n > 1 else chart.title)
        entries, names = figure.axes[0].get_legend_handles_labels()
        figure.legend(
            entries, names, loc="outside lower center", ncols=min(len(names), 3 + 2 * n), frameon=False, markerscale=3
        )
        nothing: dict[str, Any] = {"Date": None} if str(path).endswith(".svg") else {}
        figure.savefig(path, dpi=DPI, metadata=nothing)


def _draw(axis: Any, chart: DocumentMap, view: Any) -> None:
    size = float(np.clip(20_000 / len(view.points), 1.5, 14.0))
    order = np.random.default_rng(0).permutation(len(view.points))  # no branch lies on top of another
    colours = np.array([branch.colour for branch in chart.branches])[chart.branch_of]
    rastered = len(view.points) > 5_000  # an SVG of many points is too large to open
    axis.scatter(
        view.points[order, 0], view.points[order, 1], s=size, c=colours[order], alpha=0.55, lw=0, rasterized=rastered
    )
    for branch in chart.branches:  # for the legend only
        axis.scatter([], [], s=12, c=branch.colour, label=branch.name)
    taken: list[tuple[float, float]] = []
    for (name, _, b, _), (x, y) in zip(chart.categories, view.centroids, strict=True):
        if any(abs(x - u) < 0.28 and abs(y - v) < 0.06 for u, v in taken):
            continue  # it would lie on a larger category's name
        taken.append((float(x), float(y)))
        axis.annotate(
            name if len(name) <= 28 else name[:27] + "…",
            (x, y),
            ha="center",
            va="center",
            fontsize=8,
            weight="bold",
            color="black",
            bbox={"boxstyle": "round,pad=0.25", "fc": (1, 1, 1, 0.75), "ec": chart.branches[b].colour, "lw": 0.8},
        )
        if len(taken) == LABELLED:
            break
    axis.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), xticks=[], yticks=[], aspect="equal")
