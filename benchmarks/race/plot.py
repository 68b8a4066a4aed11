"""The plot: quality over training time, one figure a set; points are systems, our curves come from early stops."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.race.table import kind_of

OURS, PEERS = ("#b3261e", "#c77d0a", "#7b3fa0", "#8a6d3b"), "#3b5b92"
SPACE = 11.0  # points between two labels, one above the other
LETTER, ASIDE = 4.3, 8.0  # points that a letter of a label takes in width; points between a label and its dot


def draw(report: dict[str, Any], out: Path) -> list[Path]:
    """Draw ``<set>.png`` and ``<set>.svg`` into the folder `out`; give the files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "race"  # the same figure is the same file
    files = []
    panels = kind_of(report).panels
    for name, part in report["sets"].items():
        rows = _shown({key: row for key, row in part["systems"].items() if "missing" not in row})
        if not rows:
            continue
        figure, axes = plt.subplots(1, len(panels), figsize=(14, 5.4), constrained_layout=True)
        for axis, (measure, title) in zip(axes, panels, strict=True):
            _panel(axis, rows, measure)
            axis.set_xlabel("training time, s")
            axis.set_ylabel(title)
        axes[0].invert_yaxis()
        size = part["set"]
        figure.suptitle(f"{name}: {size['train']:,} training documents, {size['classes']:,} classes", fontsize=11)
        figure.canvas.draw()  # axes have their places now …
        figure.set_layout_engine("none")  # … and keep them
        for axis, (measure, _) in zip(axes, panels, strict=True):
            _labels(axis, rows, measure)
        for suffix in ("png", "svg"):
            files.append(out / f"{name}.{suffix}")
            figure.savefig(files[-1], dpi=150, metadata={"Date": None} if suffix == "svg" else None)
        plt.close(figure)
    return files


def _shown(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Leave out those of ours that have neither a curve nor a C of their choice, where one with such a C is there."""
    curves = {row["cut"][0] for row in rows.values() if row["cut"]}
    return {key: row for key, row in rows.items() if f"{key}:C=cv" not in rows or key in curves}


def _panel(axis: Any, rows: dict[str, dict[str, Any]], measure: str) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    colors = _colors(rows)
    for key, row in rows.items():
        if row["cut"]:
            continue
        curve = [r for r in rows.values() if r["cut"] and r["cut"][0] == key] + [row]
        curve.sort(key=lambda r: r["train_seconds"])
        if len(curve) > 1:
            times, values = [r["train_seconds"] for r in curve], [r[measure] for r in curve]
            axis.plot(times, values, color=colors[key], lw=1.2, marker=".", ms=5, zorder=1)
        axis.scatter(row["train_seconds"], row[measure], color=colors[key], edgecolor="white", s=60, zorder=2)
    axis.set_xscale("log")
    axis.set_ylim(*_range([r[measure] for r in rows.values() if not r["cut"]], axis.get_ylim()))
    low, high = axis.get_xlim()
    axis.set_xlim(low, high * (high / low) ** 0.25)  # room for labels on the right
    low, high = axis.get_xlim()
    axis.xaxis.set_major_locator(
        LogLocator(subs=(1, 2, 5) if high < 2000 * low else (1, 3) if high < 1e5 * low else (1,))
    )
    axis.xaxis.set_major_formatter("{x:g}")  # plain numbers, not powers
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.grid(alpha=0.25, which="both", lw=0.5)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _colors(rows: dict[str, dict[str, Any]]) -> dict[str, str]:
    ours = [key for key, row in rows.items() if row["ours"] and not row["cut"]]
    return {key: OURS[ours.index(key) % len(OURS)] if key in ours else PEERS for key in rows}


def _range(values: list[float], seen: tuple[float, float]) -> tuple[float, float]:
    """Show what finished systems reached, and of our curves what is not far from that: the very first stops are."""
    spread = max(max(values) - min(values), 1e-3)
    return max(seen[0], min(values) - 0.8 * spread), min(seen[1], max(values) + 0.8 * spread)


@dataclass
class _Label:
    """A label and where it is with its dot, in points: from first to last; at first at the height of the dot, y."""

    key: str
    text: str
    left: bool
    first: float
    last: float
    y: float
    to: float


def _labels(axis: Any, rows: dict[str, dict[str, Any]], measure: str) -> None:
    """Name every point that is no early stop, each label beside its point, moved up or down where two would meet.

    A label stands right of its point, and left of it where the figure would end.
    """
    scale = 72 / axis.figure.dpi
    colors = _colors(rows)
    edge = axis.bbox.x1 * scale
    labels = []
    for key, row in rows.items():
        if not row["cut"]:
            x, y = axis.transData.transform((row["train_seconds"], row[measure])) * scale
            text = _short(row["label"])
            width = ASIDE + LETTER * len(text)
            left = x + width > edge
            first, last = (x - width, x + ASIDE / 2) if left else (x - ASIDE / 2, x + width)  # with the dot
            labels.append(_Label(key, text, left, first, last, float(y), float(y)))
    for _ in range(50):  # push apart, a little at a time
        for below, over in combinations(sorted(labels, key=lambda label: label.to), 2):
            lack = SPACE - (over.to - below.to)
            if lack > 0 and below.first < over.last and over.first < below.last:
                below.to -= lack / 2
                over.to += lack / 2
    for label in labels:
        key, moved = label.key, label.to - label.y
        axis.annotate(
            label.text,
            xy=(rows[key]["train_seconds"], rows[key][measure]),
            xytext=(-ASIDE if label.left else ASIDE, moved - 3),
            textcoords="offset points",
            horizontalalignment="right" if label.left else "left",
            fontsize=7.5,
            color=colors[key],
            arrowprops={"arrowstyle": "-", "color": colors[key], "lw": 0.4} if abs(moved) > SPACE / 2 else None,
        )


def _short(label: str) -> str:
    """Shorten the options in a label; the table has them in full."""
    for long, short in (("fit_intercept=true", "bias"), ("intercept_scaling=", ""), ("scoring=", "by "), ("_", " ")):
        label = label.replace(long, short)
    return label
