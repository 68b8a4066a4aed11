"""Writes a report: as text for people (Markdown), for programs (JSON), and its tables for spreadsheets (CSV)."""

from __future__ import annotations

import csv
import importlib.metadata
import json
import math
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pinakes import __version__
from pinakes.reproduce.experiment import Cell, Experiment, Report, Settings, Table, Value

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def describe(experiment: Experiment, settings: Settings, cells: Sequence[Cell]) -> dict[str, Any]:
    """Say what was run: the command, versions, seeds and constants; nothing about the machine."""
    words = ["pinakes reproduce run", experiment.name]
    words += ["--data DIR"] if settings.data is not None else []
    words += ["--out DIR", f"--seed {settings.seed}"]
    words += ["--quick"] if settings.quick else []
    versions = {"pinakes": __version__, "python": platform.python_version()}
    versions |= {name: importlib.metadata.version(name) for name in LIBRARIES}
    return {
        "name": experiment.name,
        "title": experiment.title,
        "paper": experiment.paper,
        "command": " ".join(words),
        "versions": versions,
        "quick": settings.quick,
        "seeds": sorted({int(cell["seed"]) for cell in cells if "seed" in cell}) or [settings.seed],
        "cells": len(cells),
        "constants": experiment.constants(settings),
    }


def write_tables(report: Report, about: dict[str, Any], out: Path) -> list[Path]:
    """Write ``NAME.json``, ``NAME.md`` and one ``NAME-k.csv`` for each table; give the files."""
    whole = about | {
        "findings": list(report.findings),
        "tables": [
            {
                "title": table.title,
                "columns": list(table.columns),
                "rows": [[_plain(value) for value in row] for row in table.rows],
                "signed": sorted(table.signed),
                "note": table.note,
            }
            for table in report.tables
        ],
        "figures": [{"file": f"{about['name']}-{figure.name}.png", "title": figure.title} for figure in report.figures],
    }
    name = about["name"]
    files = [out / f"{name}.json", out / f"{name}.md"]
    files[0].write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    files[1].write_text("# " + "\n".join([about["title"], "", markdown(whole)]), encoding="utf-8")
    for k, table in enumerate(report.tables, start=1):
        files.append(out / f"{name}-{k}.csv")
        with files[-1].open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(table.columns)
            writer.writerows([_plain(value) for value in row] for row in table.rows)
    return files


def markdown(whole: Mapping[str, Any], folder: str = "") -> str:
    """Give a report, as `write_tables` keeps it in JSON, as Markdown without its heading; figures lie in `folder`."""
    constants = "; ".join(f"{key} {_words(value)}" for key, value in whole["constants"].items())
    versions = ", ".join(f"{key} {value}" for key, value in whole["versions"].items())
    parts = [f"{whole['paper']}.", f"`{whole['command']}`"]
    seeds = f"seeds {_words(whole['seeds'])}; {whole['cells']} cells; {versions}."
    parts.append(f"{constants}; {seeds}" if constants else seeds)
    if whole["quick"]:
        parts.append("A quick run: it shows that everything works, and nothing about the methods.")
    if whole["findings"]:
        parts.append("\n".join(f"- {finding}" for finding in whole["findings"]))
    for kept in whole["tables"]:
        table = Table(kept["title"], kept["columns"], kept["rows"], frozenset(kept["signed"]), kept["note"])
        lines = ["| " + " | ".join(table.columns) + " |", "| " + " | ".join(_rule(table)) + " |"]
        lines += ["| " + " | ".join(row) + " |" for row in shown_rows(table)]
        parts += [f"**{table.title}**", "\n".join(lines)]
        parts += [table.note] if table.note else []
    parts += [f"![{figure['title']}]({folder}{figure['file']})" for figure in whole["figures"]]
    return "\n\n".join(parts) + "\n"


def shown_rows(table: Table) -> list[list[str]]:
    """Give the rows of a table as people read them."""
    return [
        [show(value, column in table.signed) for column, value in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]


def numbers(table: Table) -> list[str]:
    """Give the columns that hold numbers."""
    found = []
    for k, column in enumerate(table.columns):
        values = [row[k] for row in table.rows if row[k] is not None]
        if values and all(not isinstance(value, str) for value in values):
            found.append(column)
    return found


def show(value: Value, signed: bool = False) -> str:
    """Show a value; a number that is not whole by its type gets three digits that count.

    >>> [show(v) for v in (72.65, 0.0478, 1172, None, "flat", 100.0)], show(0.5, signed=True)
    (['72.7', '0.0478', '1172', '', 'flat', '100'], '+0.5')
    """
    if value is None:
        return ""
    if isinstance(value, str) or (isinstance(value, int) and not signed):
        return str(value)
    if not math.isfinite(value):
        return "–"
    digits = f"{value:.3g}"
    if "e" in digits:
        digits = f"{value:.0f}" if abs(value) >= 1 else f"{value:.1g}" if abs(value) < 1e-4 else f"{value:.3f}"
    return f"+{digits}" if signed and value > 0 else digits


def _rule(table: Table) -> list[str]:
    right = set(numbers(table))
    return ["---:" if column in right else "---" for column in table.columns]


def _plain(value: Any) -> Any:
    """Give a value that JSON can hold: NumPy's numbers as Python's, no more digits than anybody can use, no NaN."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def _words(value: Any) -> str:
    return ", ".join(_words(v) for v in value) if isinstance(value, list | tuple) else str(value)
