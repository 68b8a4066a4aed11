"""The tables: one a set, as Markdown for people and JSON for programs, with what is needed to run it again."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.race import frontier
from benchmarks.race.kinds import KINDS, ONE, Kind

GAPS = {"to_gap_10": 0.1, "to_gap_1": 0.01}
GAP_HEADS = ("to gap 10 %", "to 1 %")
STANDING = {"train_seconds": "train s", "predict_seconds": "predict s", "memory_gb": "memory GB"}
GIGA = 1e9
BUSY = 0.1  # share of the machine that other work took, above which a run is named


def describe_machine() -> dict[str, Any]:
    """Give what times depend on: cores, processor, system. No host name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return {"cores": os.cpu_count(), "cpu": model, "system": platform.system(), "python": platform.python_version()}


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
        **{name: _time_to(gap, runs) for name, gap in GAPS.items()},
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


def _time_to(gap: float, runs: Sequence[dict[str, Any]]) -> float | None:
    """Give the median time at which a run first knew, by a full scan, that its gap was at most `gap`; None: never."""
    found = []
    for run in runs:
        history = run["notes"].get("history", [])
        found.append(next((h["seconds"] for h in history if h["exact"] and h["gap"] <= gap), None))
    reached = [seconds for seconds in found if seconds is not None]
    return median(reached) if len(reached) == len(runs) else None


def write(report: dict[str, Any], out: Path) -> None:
    """Write ``race.json`` and ``race.md`` into the folder `out`; of label sets ``race-sets.json`` and so on."""
    out.mkdir(parents=True, exist_ok=True)
    for name, text in (
        (f"{kind_of(report).file}.json", json.dumps(report, indent=1, ensure_ascii=False) + "\n"),
        (f"{kind_of(report).file}.md", markdown(report)),
    ):
        part = out / f"{name}.part"
        part.write_text(text)
        os.replace(part, out / name)


def kind_of(report: dict[str, Any]) -> Kind:
    """Give the kind of race that a report is of."""
    return KINDS[report.get("kind", ONE.file)]


def markdown(report: dict[str, Any]) -> str:
    """Lay the report out for people."""
    kind = kind_of(report)
    machine, rates = report["machine"], report["copy_gb_per_second"]
    rows = [row for part in report["sets"].values() for row in part["systems"].values()]
    shares = {
        f"{row['label']} on {name} ({row['other_work']:.0%})": row["other_work"]
        for name, part in report["sets"].items()
        for row in part["systems"].values()
        if row.get("other_work")
    }
    busy = max((share for share in shares.values() if share <= BUSY), default=0)
    beside = [run for run, share in shares.items() if share > BUSY]
    dates = sorted({date for row in rows for date in row.get("dates", [])})
    lines = [
        f"# {kind.title}",
        "",
        f"`{report['command']}`",
        "",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}; plain copy "
        f"{rates['one_core']:.1f} GB/s on one core, {rates['all_cores']:.1f} on all (read and written). "
        f"Measured {' to '.join(sorted({*dates[:1], *dates[-1:]}))}; other processes took at most {busy:.0%} of the "
        f"machine{', more beside ' + ', '.join(beside) if beside else ''}. Times are medians of the repeats, with "
        "their range where there are several. What is measured, and what is left out, is told in "
        "`benchmarks/README.md`.",
    ]
    for name, part in report["sets"].items():
        size, systems = part["set"], part["systems"]
        lines += [
            "",
            f"## {name}",
            "",
            f"{size['train']:,} + {size['test']:,} documents, {size['features']:,} features, "
            f"{size['classes']:,} classes, {size['nodes']:,} nodes"
            + (f", {size['labels_each']:.2f} labels a document." if "labels_each" in size else "."),
            "",
            *_head(_heads(kind)),
            *(_row(row, kind) for row in systems.values() if not row["cut"]),
            *_standing(systems, kind),
            *(_frontier(systems) if kind.frontier else []),
            *_remarks(systems, rates),
        ]
    versions = {name: version for row in rows for name, version in row.get("versions", {}).items()}
    lines += ["", "Versions: " + ", ".join(f"{name} {versions[name]}" for name in sorted(versions)) + "."]
    return "\n".join(lines) + "\n"


def _head(names: Sequence[str]) -> list[str]:
    return [_line(names), _line(["---"] * len(names))]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _heads(kind: Kind) -> list[str]:
    gaps = GAP_HEADS if kind.gaps else ()
    return ["system", "train s", *gaps, "predict s", "memory GB", "above data", *kind.measures.values()]


def _row(row: dict[str, Any], kind: Kind) -> str:
    if "missing" in row:
        return f"| {row['label']} | {row['missing']} |" + " |" * (len(_heads(kind)) - 2)
    return _line(
        [
            row["label"],
            _time(row["train_seconds"], row["train_spread"]),
            *("–" if row[name] is None else _time(row[name]) for name in (GAPS if kind.gaps else ())),
            _time(row["predict_seconds"], row["predict_spread"]),
            f"{row['memory_gb']:.2f}",
            f"{row['memory_above_data_gb']:.2f}",
            *(f"{row[name]:.4f}" for name in kind.measures),
        ]
    )


def _time(value: float, spread: Sequence[float] = (0, 0)) -> str:
    digits = 2 if value < 10 else 1
    if spread[0] == spread[1]:
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} ({spread[0]:.{digits}f}–{spread[1]:.{digits}f})"


def _standing(systems: dict[str, dict[str, Any]], kind: Kind) -> list[str]:
    """Say, measure by measure, who is the best of the peers and who the best of ours."""
    whole = [row for row in systems.values() if not row["cut"] and "missing" not in row]
    peers, ours = [r for r in whole if not r["ours"]], [r for r in whole if r["ours"]]
    if not peers or not ours:
        return []
    lines = ["", "Best of the peers, and best of ours:", "", *_head(("", "peer", "", "ours", "", ""))]
    for name, head in {**STANDING, **kind.measures}.items():
        sign = -1 if name in kind.less else 1
        peer, own = (max(rows, key=lambda r: sign * r[name]) for rows in (peers, ours))
        ahead = sign * (own[name] - peer[name])
        verdict = "level" if ahead == 0 else "ours" if ahead > 0 else "peer"
        cells = [_time(row[name]) if "seconds" in name else f"{row[name]:.4f}" for row in (peer, own)]
        lines.append(_line([head, cells[0], peer["label"], cells[1], own["label"], verdict]))
    return lines


def _frontier(systems: dict[str, dict[str, Any]]) -> list[str]:
    """Say how both stand at the moment each peer finishes training."""
    lines: list[str] = []
    heads = ("when it finishes", "at s", "its delta", "its pacc", "ours at s", "delta", "pacc", "ours is ahead")
    last = ""
    for entry in sorted(frontier.compare(systems), key=lambda e: (e["ours"], e["its"]["train_seconds"])):
        then, its = entry["then"], entry["its"]
        if entry["ours"] != last:
            last = entry["ours"]
            lines += ["", f"The frontier of {systems[last]['label']}:", "", *_head(heads)]
        ahead = "yes" if entry["ahead"] else "no"
        cells = [its["label"], _time(its["train_seconds"]), f"{its['delta_loss']:.4f}", f"{its['parent_accuracy']:.4f}"]
        cells += [_time(then["train_seconds"]), f"{then['delta_loss']:.4f}", f"{then['parent_accuracy']:.4f}"]
        lines.append(_line([*cells, ahead if entry["in_time"] else f"{ahead}, but later"]))
    return lines


def _remarks(systems: dict[str, dict[str, Any]], rates: dict[str, float]) -> list[str]:
    """Say of our own runs what the table has no column for: compile time, gap, and the rates of reading weights."""
    lines = []
    for row in systems.values():
        notes = row.get("notes", {})
        if row["cut"] or "gap" not in notes:
            continue
        text = (
            f"{row['label']}: gap {notes['gap']:.2g} after {notes['rounds']} rounds; compiling or loading "
            f"compiled code {row['warm_up_seconds']:.1f} s, not counted"
        )
        if "chosen" in notes:
            text += "; chosen: " + ", ".join(f"{name} {value}" for name, value in notes["chosen"].items())
        if "predict_bytes" in notes:
            text += "; prediction reads " + _rate(notes["predict_bytes"], row["predict_seconds"], rates)
        if notes.get("scan_seconds", 0) > 1e-3:
            text += f"; a full scan takes {notes['scan_seconds']:.2f} s and reads "
            text += _rate(notes["scan_bytes"], notes["scan_seconds"], rates)
        lines += ["", text + "."]
    return lines


def _rate(n_bytes: int, seconds: float, rates: dict[str, float]) -> str:
    rate = n_bytes / max(seconds, 1e-9) / GIGA
    return f"{rate:.1f} GB/s of weights, {rate / rates['all_cores']:.0%} of the copy rate"
