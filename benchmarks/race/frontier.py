"""The frontier: our model at the moment each peer finishes, and along our own rounds.

For each peer our system is trained again and told to be done, all included, by the peer's training time of the same
race; where our full training takes no longer, that run is the answer. The rounds between, each a run with `max_iter`,
draw our curve. Times are those measured, not those asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.race.systems import System, cut

APART = 1.3  # rounds nearer than this in time are not both drawn
BETTER = {"delta_loss": -1, "parent_accuracy": 1}  # what counts, and which way is up


def moments(ours: System, row: dict[str, Any], peers: dict[str, dict[str, Any]]) -> Iterator[System]:
    """Give the cuts of one of our systems at the moments at which peers finish."""
    for peer, other in peers.items():
        if "missing" not in other and other["train_seconds"] < row["train_seconds"]:
            yield cut(ours, peer, finish_by=round(other["train_seconds"], 3))


def rounds(ours: System, row: dict[str, Any]) -> Iterator[System]:
    """Give the cuts of one of our systems after its rounds, without the last, which is the full run."""
    last = 0.0
    for n_iter, entry in enumerate(row["notes"].get("history", [])[:-1], start=1):
        if entry["seconds"] >= APART * last and APART * entry["seconds"] <= row["train_seconds"]:
            last = entry["seconds"]
            yield cut(ours, f"round {n_iter}", max_iter=n_iter)


def compare(systems: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Give one entry for each of our systems and each peer: both at the moment the peer finishes."""
    entries = []
    mine = {key: row for key, row in systems.items() if row["ours"] and not row["cut"] and "missing" not in row}
    for key, row in mine.items():
        cuts = [other for other in systems.values() if other["cut"] and other["cut"][0] == key]
        for peer, other in systems.items():
            if other["ours"] or "missing" in other:
                continue
            stopped = next((r for r in cuts if r["cut"][1] == peer), None)
            late = stopped is None and row["train_seconds"] > other["train_seconds"]
            if late or (stopped is not None and "missing" in stopped):
                continue  # it was not run
            entries.append(
                {"ours": key, "peer": peer, "then": stopped or row, "its": other} | _judge(stopped or row, other)
            )
    return entries


def _judge(ours: dict[str, Any], other: dict[str, Any]) -> dict[str, bool]:
    in_time = ours["train_seconds"] <= other["train_seconds"]
    return {"in_time": in_time, "ahead": all(up * (ours[name] - other[name]) > 0 for name, up in BETTER.items())}
