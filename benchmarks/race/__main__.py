"""One command: prepare the data, run Pinakes and its peers, each in its own process, write a table and plots."""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.race import bandwidth, data, envs, plot, table
from benchmarks.race.measures import measure
from benchmarks.race.systems import SYSTEMS, System, find_system, stopped
from pinakes import TaxonomySVC
from pinakes.errors import PinakesError

ROOT = Path(__file__).resolve().parents[2]
WORK = Path(__file__).resolve().parent / ".work"
SETS = ("news20", "clinc150", "ipc-titles", "cpc-titles", "wordnet-nouns")
STOPS = {"1/32": 1 / 32, "1/16": 1 / 16, "1/8": 1 / 8, "1/4": 1 / 4, "1/2": 1 / 2}  # of our full training time


class Unfinished(Exception):
    """A run that gave no result; the message says why, and goes into the table."""


def main() -> None:
    """Run the race as the command line says; every foreseen mishap ends as one line."""
    args = parse()
    try:
        report = run(args)
    except PinakesError as error:
        sys.exit(f"race: {error}")
    table.write(report, args.out)
    files = plot.draw(report, args.out)
    print(table.markdown(report))
    say(f"wrote race.md, race.json, {', '.join(path.name for path in files)} into {args.out}")


def parse() -> argparse.Namespace:
    """Read the command line."""

    def names(text: str) -> list[str]:
        return [name for name in text.split(",") if name]

    parser = argparse.ArgumentParser(prog="python -m benchmarks.race", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("PINAKES_DATA"), help="folder of the sets")
    parser.add_argument("--sets", type=names, default=list(SETS), help=f"default {','.join(SETS)}")
    parser.add_argument("--systems", type=names, default=list(SYSTEMS), help=f"default {','.join(SYSTEMS)}")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="for table and plots")
    parser.add_argument("--work", type=Path, default=WORK, help="for matrices and single results")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each system on each set")
    parser.add_argument("--max-hours", type=float, default=24.0, help="start nothing, and finish nothing, after this")
    parser.add_argument("--again", action="store_true", help="run also what is finished")
    parser.add_argument("--no-curve", action="store_true", help="no early stops of ours for the plot")
    parser.add_argument("--python", help="interpreter for the peers' environments; default: the first that will do")
    args = parser.parse_args()
    if args.data is None:
        parser.error("say where the sets are: --data DIR, or PINAKES_DATA")
    return args


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run what is not done yet and give the report on all of it."""
    systems = [find_system(spec) for spec in args.systems]
    end = time.monotonic() + 3600 * args.max_hours
    found: dict[str, Any] = {}
    for name in args.sets:
        say(f"{name}: preparing")
        race = Race(args, name, end)
        for repeat in range(1, args.repeat + 1):  # systems take turns, so that a slow hour hits all of them
            for system in systems:
                race.once(system, repeat)
        rows = {system.name: race.row(system, args.repeat) for system in systems}
        for early, whole in [] if args.no_curve else race.early_stops(systems):
            race.once(early, 1)
            rows[early.name] = {**race.row(early, 1), "curve": whole.name}
        found[name] = {"set": race.set, "systems": rows}
    dates = sorted(
        {date for part in found.values() for row in part["systems"].values() for date in row.get("dates", [])}
    )
    return {
        "command": shlex.join(["python", "-m", "benchmarks.race", *sys.argv[1:]]),
        "machine": table.describe_machine(),
        "copy_gb_per_second": {
            "one_core": round(bandwidth.copy_rate(1) / 1e9, 2),
            "all_cores": round(bandwidth.copy_rate() / 1e9, 2),
        },
        "dates": sorted({*dates[:1], *dates[-1:]}),
        "sets": found,
    }


class Race:
    """One set: runs systems one after the other, keeps what they said as JSON files, and skips what is there.

    A result is kept as long as the data, the options, and the requirements of a peer or our own source stay the same.
    """

    def __init__(self, args: argparse.Namespace, name: str, end: float) -> None:
        self.again, self.python, self.end = args.again, args.python, end
        self.work = args.work.resolve() / name
        self.set = data.prepare(args.data / name, self.work)
        self.truth = data.read_truth(self.work)
        self.missing: dict[str, str] = {}  # why a system has no result
        self.fresh: set[Path] = set()

    def once(self, system: System, repeat: int) -> dict[str, Any] | None:
        """Give the result of a system, running it if there is none yet; None if it came to nothing."""
        place = self._place(system, repeat)
        known = self._known(system, repeat)
        if known and (not self.again or place in self.fresh):
            return known
        mark = self._mark(system)
        try:
            result = self._start(system, place)
        except (Unfinished, envs.NotInstallable) as error:
            self.missing[system.name] = str(error)
            say(f"{self.work.name}: {system.name}: {error}")
            return None
        result |= {
            "mark": mark,
            "system": system.name,
            "options": system.options,
            "repeat": repeat,
            "date": datetime.date.today().isoformat(),
        }
        place.write_text(json.dumps(result))
        self.fresh.add(place)
        seconds, scores = result["seconds"], self._measure(result)
        say(
            f"{self.work.name}: {system.name} #{repeat}: train {seconds['train']:.2f} s, predict "
            f"{seconds['predict']:.2f} s, accuracy {scores['accuracy']:.4f}, Delta {scores['delta_loss']:.4f}"
        )
        return result

    def row(self, system: System, repeats: int) -> dict[str, Any]:
        """Give the summary of a system's repeats, or why there is none."""
        found = [run for repeat in range(1, repeats + 1) if (run := self._known(system, repeat))]
        runs = [run | {"measures": self._measure(run)} for run in found]
        reason = {"missing": self.missing.get(system.name, "not run")}
        who = {"label": system.label, "ours": system.is_ours, "threads": system.threads}
        return who | (table.summarise(runs) if runs else reason)

    def early_stops(self, systems: list[System]) -> list[tuple[System, System]]:
        """Give ours told to stop early, each with the system it is cut from; nothing if it cannot be told."""
        if "max_seconds" not in TaxonomySVC().get_params():
            return []
        whole = [(system, run) for system in systems if system.is_ours and (run := self._known(system, 1))]
        return [
            (stopped(system, name, share * run["seconds"]["train"]), system)
            for system, run in whole
            for name, share in STOPS.items()
        ]

    def _start(self, system: System, place: Path) -> dict[str, Any]:
        """Run one process to its end and give what it wrote."""
        python = sys.executable if system.is_ours else envs.ensure(system.env, self.python)
        left = self.end - time.monotonic()
        if left <= 0:
            raise Unfinished("not run: --max-hours were over")
        place.parent.mkdir(parents=True, exist_ok=True)
        raw, log = place.with_suffix(".raw"), place.with_suffix(".log")
        command = [python, "-m", f"benchmarks.race.runners.{system.runner}", "--work", str(self.work)]
        command += ["--out", str(raw), "--options", json.dumps(system.options)]
        with log.open("w") as file, table.OtherWork() as others:
            try:
                code = subprocess.run(command, cwd=ROOT, stdout=file, stderr=file, timeout=left).returncode
            except subprocess.TimeoutExpired:
                raise Unfinished("not finished: --max-hours were over") from None
        if code:
            said = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
            raise Unfinished(f"failed with exit code {code}: {said[-1][:200]}")
        result: dict[str, Any] = json.loads(raw.read_text())
        raw.unlink()
        return result | {"other_work": others.share}

    def _measure(self, result: dict[str, Any]) -> dict[str, float]:
        taxonomy, classes, truth = self.truth
        return measure([classes[code] for code in result["predictions"]], truth, taxonomy)

    def _place(self, system: System, repeat: int) -> Path:
        plain = "".join(letter if letter.isalnum() or letter in "-.=@" else "_" for letter in system.name)
        return self.work / "runs" / f"{plain}_{repeat}.json"

    def _known(self, system: System, repeat: int) -> dict[str, Any] | None:
        place = self._place(system, repeat)
        result = json.loads(place.read_text()) if place.exists() else None
        return result if result and (place in self.fresh or result["mark"] == self._mark(system)) else None

    def _mark(self, system: System) -> str:
        code = source_mark() if system.is_ours else envs.requirements_mark(system.env)
        facts = (self.set["fingerprint"], system.options, code)
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def source_mark() -> str:
    """Give a short hash of the code that trains and predicts."""
    source = ROOT / "src" / "pinakes"
    total = hashlib.sha256()
    for room in ("taxonomy", "kernels", "solvers", "models"):
        for path in sorted((source / room).rglob("*.py")):
            total.update(path.read_bytes())
    return total.hexdigest()[:16]


def say(text: str) -> None:
    """Say how far the race is; data go to files."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
