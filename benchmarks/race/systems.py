"""Who runs: a name for the command line, a label for the table, an environment, a runner and its options.

``ours-tree:C=0.3:tol=0.001`` is the system `ours-tree` with two options of its runner set otherwise;
``ours-tree:C=cv`` has its C chosen by `TaxonomySVCCV`. The race on label sets has ours of its own, and the same peers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.race.kinds import ONE, SEVERAL, Kind
from pinakes.errors import ParameterError, closest

OURS = ""  # the environment of the project itself


@dataclass(frozen=True)
class System:
    """What takes part in the race."""

    name: str
    label: str
    env: str  # requirements/<env>.txt
    runner: str  # runners/<runner>.py
    options: dict[str, Any] = field(default_factory=dict)
    threads: str = "all"  # what its training uses
    cut: tuple[str, str] | None = None  # of an early stop: the system it is cut from, and where

    @property
    def is_ours(self) -> bool:
        """Whether it runs in the project's own environment."""
        return self.env == OURS


_SQUARED = {"hinge": "squared", "C": 0.3, "fit_intercept": True, "intercept_scaling": 0.3}
_ONE = (
    System("ours-tree", "Pinakes, tree loss", OURS, "ours", {"loss": "tree"}),
    System("ours-flat", "Pinakes, flat", OURS, "ours", {"loss": "zero-one", "node_weight": "flat"}),
    System("ours-squared", "Pinakes, squared hinge", OURS, "ours", {"loss": "tree", **_SQUARED}),
    System("ours-exact", "Pinakes, squared hinge, exact loss", OURS, "ours", {"loss": "exact", **_SQUARED}),
    System(
        "crammer-singer",
        "LinearSVC Crammer-Singer (tol 0.1)",
        "sklearn",
        "liblinear",
        {"multi_class": "crammer_singer", "tol": 0.1},
        "1",
    ),
    System("hiclass", "HiClass per parent node + LinearSVC", "hiclass", "hiclass", {}, "1"),
)
_BOTH = (
    System("linearsvc", "LinearSVC one-vs-rest", "sklearn", "liblinear", {}, "1"),
    System("omikuji", "omikuji (default)", "omikuji", "omikuji"),
    System("omikuji-collapsed", "omikuji, collapse 5 layers", "omikuji", "omikuji", {"collapse_every_n_layers": 5}),
    System("napkinxc", "napkinXC PLT", "napkinxc", "napkinxc"),
    System("pecos", "PECOS XR-Linear", "pecos", "pecos"),
)
_FLAT = {"node_weight": "flat"}
_SEVERAL = (
    System("rank", "Pinakes, TaxonomyRankSVC", OURS, "ours_sets", {"estimator": "TaxonomyRankSVC"}),
    System(
        "rank-flat",
        "Pinakes, TaxonomyRankSVC flat",
        OURS,
        "ours_sets",
        {"estimator": "TaxonomyRankSVC", "loss": "zero-one", **_FLAT},
    ),
    System("coupled", "Pinakes, CoupledSVC", OURS, "ours_sets", {"estimator": "CoupledSVC"}),
    System("coupled-flat", "Pinakes, CoupledSVC flat", OURS, "ours_sets", {"estimator": "CoupledSVC", **_FLAT}),
)
SYSTEMS = {
    ONE.file: {system.name: system for system in (*_ONE[:4], *_BOTH[:1], *_ONE[4:], *_BOTH[1:])},
    SEVERAL.file: {system.name: system for system in (*_SEVERAL, *_BOTH)},
}
CHOSEN = ("ours-tree:C=cv", "ours-squared:C=cv", "ours-exact:C=cv")  # C by cross-validation on training documents
# HiClass takes hours on wordnet-nouns; the same answers for less, and on another set to show that they are the same
BESIDE = ("ipc-titles/hiclass:lookup=true", "wordnet-nouns/hiclass:lookup=true")


def default_systems(kind: Kind = ONE, sets: Sequence[str] | None = None) -> list[str]:
    """Give who runs when nobody is named: all, ours also with C chosen; only what runs on these sets."""
    systems = SYSTEMS[kind.file]
    ours = [name for name, system in systems.items() if system.is_ours]
    names = [*ours, *(name for name in systems if name not in ours)]
    if kind is ONE:
        names = [*ours, *CHOSEN, *names[len(ours) :], *BESIDE]
    return [name for name in names if "/" not in name or sets is None or name.partition("/")[0] in sets]


def find_system(spec: str, kind: Kind = ONE) -> System:
    """Give the system of a name, with the options that follow it: ``name:option=value:…``."""
    name, *settings = spec.split(":")
    systems = SYSTEMS[kind.file]
    if name not in systems:
        known = ", ".join(systems)
        raise ParameterError(f"--systems: {name!r} is not one of {known}{closest(name, systems)}")
    system = systems[name]
    options = dict(system.options)
    for setting in settings:
        option, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"--systems: after {name!r} expected option=value, got {setting!r}")
        options[option] = _value(value)
    return replace(system, name=spec, label=", ".join([system.label, *settings]), options=options)


def cut(system: System, where: str, **options: Any) -> System:
    """Give the system told to stop early, named ``name@where``: a point of its curve."""
    return replace(
        system, name=f"{system.name}@{where}", options={**system.options, **options}, cut=(system.name, where)
    )


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
