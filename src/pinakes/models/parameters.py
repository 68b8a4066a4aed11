"""Checks of estimator settings, with one form of message."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from pinakes.errors import ParameterError


def check_number(owner: object, name: str, *, above: float | None = None, least: float | None = None) -> float:
    """Check that a setting is a finite number, greater than `above` or at least `least`."""
    value: Any = getattr(owner, name)
    wanted = f"> {above:g}" if above is not None else f">= {least:g}"
    good = isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)
    if not good or (above is not None and value <= above) or (least is not None and value < least):
        raise ParameterError(f"`{name}` of {type(owner).__name__} must be a number {wanted}, got {value!r}")
    return float(value)


def check_integer(owner: object, name: str, *, least: int) -> int:
    """Check that a setting is a whole number of at least `least`."""
    value: Any = getattr(owner, name)
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ParameterError(f"`{name}` of {type(owner).__name__} must be a whole number >= {least}, got {value!r}")
    return int(value)


def check_choice(owner: object, name: str, choices: Iterable[str]) -> str:
    """Check that a setting is one of a few words."""
    value: Any = getattr(owner, name)
    known = list(choices)
    if value not in known:
        raise ParameterError(
            f"`{name}` of {type(owner).__name__} must be one of {', '.join(map(repr, known))}, got {value!r}"
        )
    return str(value)


def check_ranking(n_best: Any, temperature: Any) -> None:
    """Check what a ranking is asked for."""
    if not isinstance(n_best, int | np.integer) or isinstance(n_best, bool) or n_best < 1:
        raise ParameterError(f"`n_best` must be a whole number >= 1, got {n_best!r}")
    if not isinstance(temperature, int | float | np.number) or not 0 <= temperature < math.inf:
        raise ParameterError(f"`temperature` must be a number >= 0, got {temperature!r}")


def count_threads(owner: object) -> int:
    """Give the threads behind `n_jobs`: None and -1 mean all cores that this process may use."""
    n_jobs: Any = getattr(owner, "n_jobs")  # noqa: B009 - the owner is any estimator
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if not isinstance(n_jobs, int | np.integer) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ParameterError(f"`n_jobs` of {type(owner).__name__} must be a whole number other than 0, got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def same_setting(a: Any, b: Any) -> bool:
    """Whether two settings, words or objects, are the same; a matrix only if it is the same object."""
    return a is b or (isinstance(a, str) and isinstance(b, str) and a == b)
