"""One set of the race: runs systems one after the other and keeps what each said as a JSON file.

A result counts as long as the data, the options, and the requirements of a peer or our own source stay the same; so
an interrupted race can be taken up again. A run that its limits ended is kept too, with the reason.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race import data, envs, table
from benchmarks.race.kinds import SEVERAL, Kind
from benchmarks.race.limits import Limits, OtherWork, Unfinished, run_limited
from benchmarks.race.measures import measure
from benchmarks.race.measures_sets import measure_sets
from benchmarks.race.systems import System

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("taxonomy", "kernels", "solvers", "models", "selection")  # of our source: what trains and predicts

# LIBLINEAR trains in one thread, but hands its short vectors to BLAS, whose threads wait for each other on busy cores
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class Runs:
    """The runs of one set; see the head of this file."""

    def __init__(self, args: argparse.Namespace, name: str, kind: Kind) -> None:
        self.args, self.name, self.kind = args, name, kind
        folder = "" if kind is not SEVERAL else "sets-dropped" if args.drop_implied else "sets"
        self.work = args.work.resolve() / folder / name
        self.set = data.prepare(args.data / name, self.work, kind is SEVERAL, kind is SEVERAL and args.drop_implied)
        self.truth = data.read_truth(self.work)
        self.failed: dict[str, str] = {}  # what went wrong, and may go better next time

    def forget(self, systems: Iterable[System]) -> None:
        """Throw away the results of systems and of their early stops."""
        for system in systems:
            stem = _plain(system.name)
            for place in (self.work / "runs").glob("*.json"):
                if place.stem.rpartition("_")[0] == stem or place.stem.startswith(stem + "@"):
                    place.unlink()

    def once(self, system: System, repeat: int) -> None:
        """Run a system, unless there is a result that counts."""
        if self._known(system, repeat):
            return
        place = self._place(system, repeat)
        facts = {
            "mark": self._mark(system),
            "system": system.name,
            "options": system.options,
            "repeat": repeat,
            "date": datetime.date.today().isoformat(),
        }
        limits = self._limits(system)
        try:
            result = self._start(system, place, limits)
        except (Unfinished, envs.NotInstallable) as error:
            say(f"{self.name}: {system.name}: {error}")
            if getattr(error, "lasting", False):
                place.write_text(json.dumps(facts | {"missing": str(error), "limits": list(limits)}))
            else:
                self.failed[system.name] = str(error)
            return
        scores = self._measure(result, place)
        place.write_text(json.dumps(facts | result | {"measures": scores}))
        shown = ", ".join(f"{head} {scores[name]:.4f}" for name, head in self.kind.measures.items())
        say(
            f"{self.name}: {system.name} #{repeat}: train {result['seconds']['train']:.2f} s, predict "
            f"{result['seconds']['predict']:.2f} s, {shown}"
        )

    def row(self, system: System, repeats: int) -> dict[str, Any]:
        """Give the summary of a system's repeats, or why there is none."""
        found = [run for repeat in range(1, repeats + 1) if (run := self._known(system, repeat))]
        runs = [run for run in found if "missing" not in run]
        reason = next((run["missing"] for run in found if "missing" in run), self.failed.get(system.name, "not run"))
        who = {"label": system.label, "ours": system.is_ours, "threads": system.threads, "cut": system.cut}
        return who | (table.summarise(runs) if runs else {"missing": reason})

    def _start(self, system: System, place: Path, limits: Limits) -> dict[str, Any]:
        """Run one process to its end and give what it wrote."""
        python = sys.executable if system.is_ours else envs.ensure(system.env, self.args.python)
        place.parent.mkdir(parents=True, exist_ok=True)
        raw, log = place.with_suffix(".raw"), place.with_suffix(".log")
        command = [python, "-m", f"benchmarks.race.runners.{system.runner}", "--work", str(self.work)]
        command += ["--out", str(raw), "--options", json.dumps(system.options)]
        with OtherWork() as others:
            code = run_limited(command, ROOT, log, limits, ONE_THREAD if system.threads == "1" else None)
        if code:
            said = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
            raise Unfinished(f"failed with exit code {code}: {said[-1][:200]}")
        result: dict[str, Any] = json.loads(raw.read_text())
        raw.unlink()
        return result | {"other_work": others.share}

    def _measure(self, result: dict[str, Any], place: Path) -> dict[str, float]:
        taxonomy, classes, truth = self.truth
        if self.kind is not SEVERAL:
            return measure([classes[code] for code in result["predictions"]], truth, taxonomy)
        scored = place.with_suffix(".npz")
        with np.load(scored) as file:
            found = dict(file)
        scored.unlink()
        Y, aside = data.read_held_out(self.work)
        held_out = [[classes[k] for k in Y.indices[Y.indptr[i] : Y.indptr[i + 1]]] for i in aside]
        return measure_sets(found, result["natural"], held_out, truth, classes, taxonomy)

    def _known(self, system: System, repeat: int) -> dict[str, Any] | None:
        place = self._place(system, repeat)
        if not place.exists():
            return None
        result: dict[str, Any] = json.loads(place.read_text())
        limits = self._limits(system)
        roomier = any(new > old for new, old in zip(limits, result.get("limits", limits), strict=True))
        return None if result["mark"] != self._mark(system) or roomier else result

    def _limits(self, system: System) -> Limits:
        return Limits(self.args.max_minutes.of(self.name, system.name), self.args.max_gb)

    def _place(self, system: System, repeat: int) -> Path:
        return self.work / "runs" / f"{_plain(system.name)}_{repeat}.json"

    def _mark(self, system: System) -> str:
        code = source_mark() if system.is_ours else envs.requirements_mark(system.env)
        facts = (self.set["fingerprint"], system.options, code)
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def source_mark() -> str:
    """Give a short hash of the code that trains and predicts."""
    total = hashlib.sha256()
    for room in ROOMS:
        for path in sorted((ROOT / "src" / "pinakes" / room).rglob("*.py")):
            total.update(path.read_bytes())
    return total.hexdigest()[:16]


def say(text: str) -> None:
    """Say how far the race is; data go to files."""
    print(text, file=sys.stderr, flush=True)


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-.=@" else "_" for letter in name)
