"""The plot: quality over training time, one figure a set; points are systems, our curves come from early stops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PANELS = (("accuracy", "accuracy"), ("delta_loss", "Delta-loss (less is better)"))
OURS, PEERS = "#b3261e", "#3b5b92"
MARKS = "osD^vPX*<>"


def draw(report: dict[str, Any], out: Path) -> list[Path]:
    """Draw ``<set>.png`` and ``<set>.svg`` into the folder `out`; give the files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "race"  # the same figure is the same file
    files = []
    for name, part in report["sets"].items():
        rows = {key: row for key, row in part["systems"].items() if "missing" not in row}
        if not rows:
            continue
        figure, axes = plt.subplots(1, len(PANELS), figsize=(11, 4.2), constrained_layout=True)
        for axis, (measure, title) in zip(axes, PANELS, strict=True):
            _panel(axis, rows, measure)
            axis.set_xlabel("training time, s")
            axis.set_ylabel(title)
        axes[1].invert_yaxis()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", fontsize=8, frameon=False)
        size = part["set"]
        figure.suptitle(f"{name}: {size['train']:,} training documents, {size['classes']:,} classes", fontsize=11)
        for suffix in ("png", "svg"):
            files.append(out / f"{name}.{suffix}")
            figure.savefig(files[-1], dpi=150, metadata={"Date": None} if suffix == "svg" else None)
        plt.close(figure)
    return files


def _panel(axis: Any, rows: dict[str, dict[str, Any]], measure: str) -> None:
    from matplotlib.ticker import LogFormatter

    finished = {key: row for key, row in rows.items() if not row.get("curve")}
    for k, (key, row) in enumerate(finished.items()):
        color = OURS if row["ours"] else PEERS
        curve = [r for other, r in rows.items() if r.get("curve") == key] + [row]
        curve.sort(key=lambda r: r["train_seconds"])
        if len(curve) > 1:
            axis.plot([r["train_seconds"] for r in curve], [r[measure] for r in curve], color=color, lw=1, zorder=1)
        style = {"marker": MARKS[k % len(MARKS)], "color": color, "edgecolor": "white", "s": 55, "zorder": 2}
        axis.scatter(row["train_seconds"], row[measure], label=row["label"], **style)
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(LogFormatter())  # plain numbers, not powers
    axis.xaxis.set_minor_formatter(LogFormatter())
    axis.grid(alpha=0.25, which="both", lw=0.5)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
