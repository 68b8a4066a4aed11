"""What can go wrong, as one shallow tree.

    PinakesError                    everything below; the command line answers it with one line and exit 1
    ├── InputError                  what was handed in cannot be used (also a ValueError)
    │   ├── TaxonomyError           cycle, unknown parent, bad taxonomy file
    │   ├── DocumentError           bad line, wrong column, missing label
    │   ├── LabelError              a label that the taxonomy does not have
    │   └── ParameterError          a setting out of its range
    ├── ModelFileError              a model file that is damaged, inconsistent or too new
    └── MissingExtraError           an optional dependency is not installed (also an ImportError)

Messages follow one shape: which input, what was expected, what came, what to do. Errors in files carry
the file and, where there is one, the line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PinakesError(Exception):
    """Root of every error that Pinakes raises on purpose."""


class InputError(PinakesError, ValueError):
    """What was handed in cannot be used.

    `source` and `line` (from 1) say where, and are put before the message: ``docs.jsonl:17: …``.
    """

    def __init__(self, message: str, *, source: str | None = None, line: int | None = None) -> None:
        self.source, self.line = source, line
        where = "" if source is None else source if line is None else f"{source}:{line}"
        super().__init__(f"{where}: {message}" if where else message)


class TaxonomyError(InputError):
    """A taxonomy that is none: a cycle, an unknown parent, a file that cannot be read as one."""


class DocumentError(InputError):
    """A document that cannot be read, or that lacks what the task needs."""


class LabelError(InputError):
    """A label that the taxonomy does not have."""


class ParameterError(InputError):
    """A setting out of its range."""


class ModelFileError(PinakesError):
    """A model file that is damaged, inconsistent or written by a newer version."""


class MissingExtraError(PinakesError, ImportError):
    """An optional dependency is not installed; the message holds the line that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'pinakes[{extra}]'")


class PinakesWarning(UserWarning):
    """Root of the warnings that are ours."""


class ConvergenceWarning(PinakesWarning):
    """A solver stopped before it reached the wanted gap."""


class DataWarning(PinakesWarning):
    """Input that was used, but probably not as its owner meant it."""


def closest(word: str, known: Iterable[str], n: int = 3) -> str:
    """Say which known words are nearest to `word`: ``" (closest: 'A01', 'A02')"``, or nothing.

    >>> closest("anmal", ["animal", "plant"])
    " (closest: 'animal')"
    >>> closest("xyz", ["animal", "plant"])
    ''
    """
    pool = list(known)
    if len(pool) > 20_000:  # difflib is quadratic: keep to words that begin alike
        pool = [k for k in pool if k[:2].lower() == word[:2].lower()][:20_000]
    near = difflib.get_close_matches(word, pool, n=n)
    return f" (closest: {', '.join(map(repr, near))})" if near else ""
