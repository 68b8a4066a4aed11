"""Results kept on disk, one JSON line a cell, so that a run may be stopped and taken up.

A line holds the mark of the run (a digest of the experiment, its version and constants, and of the settings), the cell
and what was measured. Lines of another mark stay where they are and are not used. A last line that was cut short,
because the process ended while writing it, is dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pinakes import __version__
from pinakes.errors import InputError
from pinakes.reproduce.experiment import Cell, Experiment, Settings


def run_mark(experiment: Experiment, settings: Settings) -> str:
    """Give the digest of everything but the cell that results depend on."""
    what = {
        "experiment": experiment.name,
        "version": experiment.version,
        "constants": experiment.constants(settings),
        "quick": settings.quick,
        "seed": settings.seed,
        "pinakes": __version__,
    }
    return hashlib.sha256(_json(what).encode()).hexdigest()[:16]


def cell_key(cell: Cell) -> str:
    """Give the text that names a cell, whatever the order of its words.

    >>> cell_key({"row": "A", "fold": 0})
    '{"fold": 0, "row": "A"}'
    """
    return _json(dict(cell))


class Store:
    """The file of results of one experiment."""

    def __init__(self, path: Path, mark: str) -> None:
        self.path, self.mark = path, mark
        self._known: dict[str, dict[str, Any]] = {}
        if path.exists():
            self._mend()
            for line in self._lines():
                if line["mark"] == mark:
                    self._known[cell_key(line["cell"])] = line

    def __contains__(self, cell: Cell) -> bool:
        return cell_key(cell) in self._known

    def measures(self, cell: Cell) -> dict[str, Any]:
        """Give what was measured in a cell."""
        found: dict[str, Any] = self._known[cell_key(cell)]["measures"]
        return found

    def add(self, cell: Cell, measures: dict[str, Any], seconds: float) -> None:
        """Keep the result of a cell, at once and for good."""
        line = {"mark": self.mark, "cell": dict(cell), "measures": measures, "seconds": round(seconds, 3)}
        text = _json(line)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._known[cell_key(cell)] = json.loads(text)

    def _mend(self) -> None:
        """Drop a last line that was cut short: one without its end, or that is no JSON."""
        data = self.path.read_bytes()
        body = data.rstrip(b"\n")
        start = body.rfind(b"\n") + 1
        if data and (not data.endswith(b"\n") or not _is_json(body[start:])):
            with self.path.open("r+b") as file:
                file.truncate(start)

    def _lines(self) -> Iterator[dict[str, Any]]:
        with self.path.open(encoding="utf-8", errors="replace") as file:
            for number, text in enumerate(file, start=1):
                if not text.strip():
                    continue
                line = json.loads(text) if _is_json(text.encode()) else None
                if not isinstance(line, dict) or not {"mark", "cell", "measures"} <= line.keys():
                    raise InputError(
                        "expected the result of one cell as JSON, got something else; remove this line or the file",
                        source=str(self.path),
                        line=number,
                    )
                yield line


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
