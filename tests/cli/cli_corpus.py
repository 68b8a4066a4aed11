"""A small corpus for the command line: two levels, sixty documents, four categories that differ by their words."""

from __future__ import annotations

import json
import random
from typing import NamedTuple

from pinakes.cli.main import main

WORDS = {
    "animal/cat": ["purr", "whisker", "kitten", "meow"],
    "animal/dog": ["bark", "leash", "puppy", "fetch"],
    "plant/herb": ["basil", "mint", "thyme", "sage"],
    "plant/tree": ["trunk", "oak", "birch", "crown"],
}
COMMON = ["thing", "house", "garden", "day"]
TAXONOMY = "\tanimal\tAnimals\n\tplant\tPlants\n" + "".join(
    f"{label.split('/')[0]}\t{label}\t{label.split('/')[1].title()}\n" for label in WORDS
)


class Left(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def documents(n: int = 60) -> list[dict[str, object]]:
    """Make documents, each with four words of its category and two that say nothing."""
    draw = random.Random(7)
    labels = sorted(WORDS)
    rows: list[dict[str, object]] = []
    for i in range(n):
        label = labels[i % len(labels)]
        words = draw.choices(WORDS[label], k=4) + draw.choices(COMMON, k=2)
        rows.append({"id": f"d{i}", "text": " ".join(words), "labels": [label]})
    return rows


def json_lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def call(*args: str) -> int:
    """Run a command in this process and give its exit code."""
    try:
        main(list(args))
    except SystemExit as left:
        return int(left.code or 0)
    return 0
