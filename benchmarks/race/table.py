"""The table: one a set, as Markdown for people and JSON for programs, with what is needed to run it again."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.race.bandwidth import share

HEAD = ("system", "train s", "predict s", "memory GB", "above data", "acc", "pacc", "delta", "hF1")
GIGA = 1e9


def describe_machine() -> dict[str, Any]:
    """Give what times depend on: cores, processor, system. No host name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return {"cores": os.cpu_count(), "cpu": model, "system": platform.system(), "python": platform.python_version()}


class OtherWork:
    """Watches, while it is open, what share of the machine's processor time went to processes other than our child."""

    share: float | None = None

    def __enter__(self) -> OtherWork:
        self.before = self._read()
        return self

    def __exit__(self, *_: object) -> None:
        after = self._read()
        if after and self.before:
            total, busy, own = (b - a for a, b in zip(self.before, after, strict=True))
            self.share = round(max(0.0, busy - own) / max(total, 0.01), 3)

    @staticmethod
    def _read() -> tuple[float, float, float] | None:
        """Give seconds so far, over all cores: in all, not idle, and of finished children."""
        try:
            times = [int(field) / os.sysconf("SC_CLK_TCK") for field in Path("/proc/stat").read_text().split()[1:9]]
        except (OSError, ValueError):
            return None
        own = os.times()
        return sum(times), sum(times) - times[3] - times[4], own.children_user + own.children_system


def summarise(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Put the repeats of one system on one set together: medians, and the spread of the times."""

    def values(*keys: str) -> list[float]:
        found: list[Any] = list(runs)
        for key in keys:
            found = [value[key] for value in found]
        return found

    train, predict = values("seconds", "train"), values("seconds", "predict")
    peak = median(values("memory", "peak"))
    return {
        "repeats": len(runs),
        "train_seconds": median(train),
        "train_spread": [min(train), max(train)],
        "train_cpu_seconds": median(values("seconds", "train_cpu")),
        "predict_seconds": median(predict),
        "predict_spread": [min(predict), max(predict)],
        "prepare_seconds": median(values("seconds", "prepare")),
        "warm_up_seconds": median(values("seconds", "warm_up")),
        "memory_gb": round(peak / GIGA, 3),
        "memory_above_data_gb": round((peak - median(values("memory", "loaded"))) / GIGA, 3),
        **{name: median(values("measures", name)) for name in runs[0]["measures"]},
        "versions": runs[0]["versions"],
        "options": runs[0]["options"],
        "notes": runs[0]["notes"],
        "other_work": max(values("other_work")),
        "dates": sorted({run["date"] for run in runs}),
    }


def write(report: dict[str, Any], out: Path) -> None:
    """Write ``race.json`` and ``race.md`` into the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "race.json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    (out / "race.md").write_text(markdown(report))


def markdown(report: dict[str, Any]) -> str:
    """Lay the report out for people."""
    machine, rates = report["machine"], report["copy_gb_per_second"]
    rows = [row for part in report["sets"].values() for row in part["systems"].values()]
    busy = max((row["other_work"] or 0 for row in rows if "other_work" in row), default=0)
    lines = [
        "# The race",
        "",
        f"`{report['command']}`",
        "",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}; plain copy "
        f"{rates['one_core']:.1f} GB/s on one core, {rates['all_cores']:.1f} on all (read and written). "
        f"Measured {' to '.join(report['dates'])}; other processes took at most {busy:.0%} of the machine. Times are "
        "medians of the repeats, with their range where there are several. What is measured, and what is left out, is "
        "told in `benchmarks/README.md`.",
    ]
    for name, part in report["sets"].items():
        size = part["set"]
        lines += [
            "",
            f"## {name}",
            "",
            f"{size['train']:,} + {size['test']:,} documents, {size['features']:,} features, "
            f"{size['classes']:,} classes, {size['nodes']:,} nodes.",
            "",
            "| " + " | ".join(HEAD) + " |",
            "| " + " | ".join(["---"] * len(HEAD)) + " |",
        ]
        lines += [_row(row) for row in part["systems"].values() if not row.get("curve")]
        lines += _remarks(part, rates)
    versions = {name: version for row in rows for name, version in row.get("versions", {}).items()}
    lines += ["", "Versions: " + ", ".join(f"{name} {versions[name]}" for name in sorted(versions)) + "."]
    return "\n".join(lines) + "\n"


def _row(row: dict[str, Any]) -> str:
    if "missing" in row:
        return f"| {row['label']} | {row['missing']} |" + " |" * (len(HEAD) - 2)
    cells = [
        row["label"],
        _time(row["train_seconds"], row["train_spread"]),
        _time(row["predict_seconds"], row["predict_spread"]),
        f"{row['memory_gb']:.2f}",
        f"{row['memory_above_data_gb']:.2f}",
        *(f"{row[name]:.4f}" for name in ("accuracy", "parent_accuracy", "delta_loss", "hierarchical_f1")),
    ]
    return "| " + " | ".join(cells) + " |"


def _time(value: float, spread: Sequence[float]) -> str:
    digits = 2 if value < 1 else 1
    if spread[0] == spread[1]:
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} ({spread[0]:.{digits}f}–{spread[1]:.{digits}f})"


def _remarks(part: dict[str, Any], rates: dict[str, float]) -> list[str]:
    """Say of our own runs what the table has no column for: compile time, gap, and the rate of reading weights."""
    lines = []
    for row in part["systems"].values():
        notes = row.get("notes", {})
        if row.get("curve") or "gap" not in notes:
            continue
        text = (
            f"{row['label']}: gap {notes['gap']:.2g} after {notes['full_scans']} rounds; compiling or loading "
            f"compiled code {row['warm_up_seconds']:.1f} s, not counted"
        )
        if "predict_bytes" in notes:
            seconds, n_bytes = row["predict_seconds"], notes["predict_bytes"]
            near = share(seconds, n_bytes, rates["all_cores"] * GIGA)
            text += f"; prediction reads {n_bytes / seconds / GIGA:.1f} GB/s of weights, {near:.0%} of the copy rate"
        lines += ["", text + "."]
    return lines
