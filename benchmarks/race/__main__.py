"""One command: prepare the data, run Pinakes and its peers, each in its own process, write a table and plots."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from benchmarks.race import bandwidth, frontier, plot, table
from benchmarks.race.kinds import ONE, SEVERAL
from benchmarks.race.limits import DEFAULT_MINUTES, PerSet, machine_gigabytes
from benchmarks.race.runs import Runs, say
from benchmarks.race.systems import System, default_systems, find_system
from pinakes.errors import ParameterError, PinakesError

WORK = Path(__file__).resolve().parent / ".work"


def main() -> None:
    """Run the race as the command line says; every foreseen mishap ends as one line."""
    args = parse()
    race: Race | None = None
    try:
        args.max_minutes = PerSet("--max-minutes", args.max_minutes, 10)
        args.repeat = PerSet("--repeat", args.repeat, 1)
        race = Race(args)
        race.run()
    except PinakesError as error:
        sys.exit(f"race: {error}")
    except KeyboardInterrupt:
        say("interrupted: go on with --resume")
    if race is None or not race.report["sets"]:
        sys.exit(130)
    table.write(race.report, args.out)
    files = plot.draw(race.report, args.out)
    print(table.markdown(race.report))
    say(f"wrote {race.kind.file}.md, {race.kind.file}.json, {', '.join(path.name for path in files)} into {args.out}")


def parse() -> argparse.Namespace:
    """Read the command line."""

    def names(text: str) -> list[str]:
        return [name for name in text.split(",") if name]

    parser = argparse.ArgumentParser(prog="python -m benchmarks.race", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("PINAKES_DATA"), help="folder of the sets")
    parser.add_argument("--several", action="store_true", help="several labels a document: the race on label sets")
    parser.add_argument(
        "--drop-implied",
        action="store_true",
        help="with --several: ancestors of a document's other labels are no labels",
    )
    shown = [(",".join(kind.sets), ",".join(default_systems(kind))) for kind in (ONE, SEVERAL)]
    defaults = [f"default {one}; with --several {sets}" for one, sets in zip(*shown, strict=True)]
    parser.add_argument("--sets", type=names, help=defaults[0])
    parser.add_argument("--systems", type=names, help=f"set/system: on this set only; {defaults[1]}")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="for table and plots")
    parser.add_argument("--work", type=Path, default=WORK, help="for matrices and single results")
    parser.add_argument(
        "--repeat",
        default="1,news20=3,clinc150=3",
        help="runs of each system on each set, or on some (default %(default)s)",
    )
    parser.add_argument(
        "--max-minutes",
        default=DEFAULT_MINUTES,
        help="end a run after this, say so in its row, and go on; also for a set, or a system on it: "
        "10,cpc-titles=6,wordnet-nouns/hiclass=3 (default %(default)s)",
    )
    parser.add_argument(
        "--max-gb", type=float, default=round(0.7 * machine_gigabytes(), 1), help="of memory (default %(default)s)"
    )
    parser.add_argument("--resume", action="store_true", help="keep the rows that are finished and still hold")
    parser.add_argument("--rerun", type=names, default=[], help="as --resume, but run these rows again: set/system,…")
    parser.add_argument(
        "--frontier", type=names, help="ours that are stopped when each peer finishes (default: the first)"
    )
    parser.add_argument("--no-frontier", action="store_true", help="no early stops of ours, and no curves")
    parser.add_argument("--python", help="interpreter for the peers' environments; default: the first that will do")
    args = parser.parse_args()
    if args.data is None:
        parser.error("say where the sets are: --data DIR, or PINAKES_DATA")
    args.kind = SEVERAL if args.several else ONE
    args.sets = args.sets or list(args.kind.sets)
    args.systems = args.systems or default_systems(args.kind, args.sets)
    return args


class Race:
    """The order of events, and the report as it grows; table and report are written after every run."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.kind = args, args.kind
        places = [spec.rpartition("/") for spec in args.systems]
        if unknown := [place for place, _, _ in places if place and place not in args.sets]:
            raise ParameterError(f"--systems: {unknown[0]!r} is not one of the sets {', '.join(args.sets)}")
        self.places = [place for place, _, _ in places]
        self.systems = [find_system(spec, self.kind) for _, _, spec in places]
        self.rerun = self._check_rerun()
        ours = [s.name for s in self.systems if s.is_ours]
        self.frontier = (ours[:1] if self.kind.frontier else []) if args.frontier is None else args.frontier
        if unknown := [name for name in self.frontier if name not in ours]:
            raise ParameterError(f"--frontier: {unknown[0]!r} is not one of ours that run: {', '.join(ours) or 'none'}")
        say("measuring what the memory can do")
        self.report: dict[str, Any] = {
            "kind": self.kind.file,
            "command": _command(sys.argv[1:]),
            "machine": table.describe_machine(),
            "copy_gb_per_second": {
                "one_core": round(bandwidth.copy_rate(1) / 1e9, 2),
                "all_cores": round(bandwidth.copy_rate() / 1e9, 2),
            },
            "sets": {},
        }

    def run(self) -> None:
        """Run every system on every set, systems in turns, then the early stops of ours."""
        for name in self.args.sets:
            say(f"{name}: preparing")
            runs = Runs(self.args, name, self.kind)
            systems = [s for s, place in zip(self.systems, self.places, strict=True) if place in ("", name)]
            runs.forget(s for s in systems if self._is_to_run(name, s.name))
            self.report["sets"][name] = {"set": runs.set, "systems": {}}
            for system in systems:  # what a resumed race has already
                self._note(runs, system)
            for repeat in range(1, self._repeats(name) + 1):  # systems take turns, so that a slow hour hits all of them
                for system in systems:
                    self._once(runs, system, repeat)
            if self.kind.frontier and not self.args.no_frontier:
                self._early_stops(runs, systems)

    def _repeats(self, name: str) -> int:
        return int(self.args.repeat.of(name))

    def _early_stops(self, runs: Runs, systems: list[System]) -> None:
        rows = self.report["sets"][runs.name]["systems"]
        peers = {s.name: rows[s.name] for s in systems if not s.is_ours}
        for system in systems:
            row = rows[system.name]
            if system.name not in self.frontier or "missing" in row:
                continue
            for early in (*frontier.moments(system, row, peers), *frontier.rounds(system, row)):
                self._once(runs, early, 1)

    def _once(self, runs: Runs, system: System, repeat: int) -> None:
        runs.once(system, repeat)
        self._note(runs, system)
        table.write(self.report, self.args.out)

    def _note(self, runs: Runs, system: System) -> None:
        row = runs.row(system, 1 if system.cut else self._repeats(runs.name))
        self.report["sets"][runs.name]["systems"][system.name] = row

    def _is_to_run(self, name: str, system: str) -> bool:
        if not self.args.resume and not self.rerun:
            return True
        return system in self.rerun or f"{name}/{system}" in self.rerun

    def _check_rerun(self) -> list[str]:
        known = {s.name for s in self.systems} | {f"{name}/{s.name}" for name in self.args.sets for s in self.systems}
        if unknown := [name for name in self.args.rerun if name not in known]:
            raise ParameterError(f"--rerun: {unknown[0]!r} is neither a system that runs nor set/system")
        return list(self.args.rerun)


def _command(words: list[str]) -> str:
    """Give the command as others would type it: with a folder of their own, and from the beginning."""
    shown, rest = ["python", "-m", "benchmarks.race"], iter(words)
    for word in rest:
        if word in ("--data", "--out", "--work"):
            next(rest)
            shown += ["--data", "DIR"] if word == "--data" else []
        elif word != "--resume":
            shown.append(word)
    return shlex.join(shown)


if __name__ == "__main__":
    main()
