"""Draws the figures of a report with matplotlib, as PNG and SVG; without matplotlib there are none."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from pinakes.reproduce.experiment import Figure

# colours that the colour-blind tell apart, and that differ in grey
FLAT, JOINT, THIRD, FOURTH = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
DPI = 150


def can_draw() -> bool:
    """Say whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw_figures(figures: Sequence[Figure], name: str, out: Path) -> list[Path]:
    """Draw each figure into ``NAME-FIGURE.png`` and ``.svg``; give the files, none without matplotlib."""
    if not figures or not can_draw():
        return []
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    files = []
    style = {
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.size": 9,
        "svg.hashsalt": name,  # the same figure gives the same file
        "svg.fonttype": "none",
    }
    with mpl.rc_context(style):
        for figure in figures:
            canvas = Canvas(figsize=figure.size, layout="constrained")
            FigureCanvasAgg(canvas)
            figure.draw(canvas)
            for ending, nothing in ((".png", {"Software": None}), (".svg", {"Date": None})):
                files.append(out / f"{name}-{figure.name}{ending}")
                canvas.savefig(files[-1], dpi=DPI, metadata=nothing)
    return files
