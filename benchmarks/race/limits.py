"""One process within its limits: time and memory, and a watch on what else the machine does meanwhile."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pinakes.errors import ParameterError

LOOK = 0.25  # seconds between two looks at the memory of the process
# The whole race in about half an hour on two cores: LIBLINEAR would take hours where classes are many.
DEFAULT_MINUTES = (
    "10,cpc-titles=6,cpc-titles/linearsvc=2,cpc-titles/crammer-singer=1,"
    "wordnet-nouns=3,wordnet-nouns/linearsvc=2,wordnet-nouns/crammer-singer=1,wordnet-nouns/hiclass=1,"
    "wordnet-nouns/hiclass:lookup=true=5"
)


class Unfinished(Exception):
    """A run that gave no result; the message says why, and goes into the table.

    `lasting` says that the same limits would end it again.
    """

    def __init__(self, message: str, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class Limits(NamedTuple):
    """How long a run may take, and how much memory it may hold."""

    minutes: float
    gigabytes: float


class PerSet:
    """The numbers of ``--max-minutes 10,cpc-titles=6,cpc-titles/linearsvc=2``: for all, a set, a system on a set."""

    def __init__(self, option: str, text: str, default: float) -> None:
        self.numbers: dict[str, float] = {"": default}
        for part in filter(None, text.split(",")):
            where, _, number = part.rpartition("=")
            try:
                self.numbers[where] = float(number)
            except ValueError:
                raise ParameterError(f"{option}: expected a number or set=number, got {part!r}") from None

    def of(self, name: str, system: str = "") -> float:
        """Give the number of a set, or of a system on it; options of the system do not matter."""
        keys = (f"{name}/{system}", f"{name}/{system.split(':')[0]}", name, "")
        return next(self.numbers[key] for key in keys if key in self.numbers)


def run_limited(
    command: Sequence[str], cwd: Path, log: Path, limits: Limits, settings: Mapping[str, str] | None = None
) -> int:
    """Run a process to its end and give its exit code; raise `Unfinished` where a limit ended it.

    `settings` are variables of its environment beside those of this process.
    """
    end = time.monotonic() + 60 * limits.minutes
    env = {**os.environ, **(settings or {})}
    with log.open("w") as file, subprocess.Popen(command, cwd=cwd, stdout=file, stderr=file, env=env) as process:
        try:
            while True:
                try:
                    return process.wait(max(0.01, min(LOOK, end - time.monotonic())))
                except subprocess.TimeoutExpired:
                    pass
                if time.monotonic() >= end:
                    raise Unfinished(f"not finished in {limits.minutes:g} min", lasting=True)
                if held_bytes(process.pid) > limits.gigabytes * 1e9:
                    raise Unfinished(f"ended: it wanted more than {limits.gigabytes:.3g} GB of memory", lasting=True)
        finally:
            if process.poll() is None:
                process.kill()


def held_bytes(pid: int) -> int:
    """Give the memory a process holds now; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def machine_gigabytes() -> float:
    """Give the memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9


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
        """Give seconds so far, over all cores: in all, not idle, and of this process and its finished children."""
        try:
            times = [int(field) / os.sysconf("SC_CLK_TCK") for field in Path("/proc/stat").read_text().split()[1:9]]
        except (OSError, ValueError):
            return None
        own = os.times()
        return sum(times), sum(times) - times[3] - times[4], sum(own[:4])
