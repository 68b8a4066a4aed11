"""What an experiment is: cells of work, a measure of each, and a report on all of them.

    cells     the independent units of work, each named by a few words and numbers: row, fold, seed, system
    measure   does one of them and gives a small dict of numbers
    report    makes the paper's tables and figures from all of them

The runner does the rest: it keeps what was measured, takes up what was interrupted, and writes the report.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from pinakes.errors import ParameterError

Word = str | int | float | bool
Cell = Mapping[str, Word]
Value = str | int | float | None


@dataclass(frozen=True)
class Settings:
    """What a user may say about a run.

    Attributes
    ----------
    data : Path or None
        The folder of the corpora.
    quick : bool
        A small version that ends in seconds: does everything, shows nothing worth reporting.
    seed : int
        The first seed; repetitions take those that follow.
    """

    data: Path | None = None
    quick: bool = False
    seed: int = 0

    def folder(self) -> Path:
        """Give the folder of the corpora, or say that it is needed."""
        if self.data is None:
            raise ParameterError("this experiment needs corpora: say where they are with --data DIR")
        return self.data


class Result(NamedTuple):
    """One cell and what was measured in it."""

    cell: Cell
    measures: Mapping[str, Any]


class Results(Sequence[Result]):
    """All results of a run, in the order of the cells.

    >>> results = Results([Result({"row": "A", "fold": k}, {"loss": k / 2}) for k in range(3)])
    >>> results.where(row="A").values("loss")
    array([0. , 0.5, 1. ])
    """

    def __init__(self, items: Sequence[Result]) -> None:
        self._items = list(items)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._items)

    def __getitem__(self, k: Any) -> Any:
        return self._items[k]

    def where(self, **words: Word) -> Results:
        """Give the results of the cells that have these words."""
        return Results([r for r in self if all(r.cell[name] == value for name, value in words.items())])

    def values(self, measure: str) -> npt.NDArray[np.float64]:
        """Give one measure of all results."""
        return np.array([r.measures[measure] for r in self], dtype=np.float64)

    def means(self, measure: str, by: str = "seed") -> npt.NDArray[np.float64]:
        """Give one measure averaged over all results that have the same word `by`: one number a seed."""
        words = list(dict.fromkeys(r.cell[by] for r in self))
        return np.array([self.where(**{by: word}).values(measure).mean() for word in words])


@dataclass(frozen=True)
class Table:
    """A table of the report. Numbers are shown with three digits; those in `signed` columns with their sign."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    signed: frozenset[str] = frozenset()
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure of the report: `draw` is handed an empty matplotlib Figure of `size` inches."""

    name: str
    title: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (7.0, 4.5)


@dataclass(frozen=True)
class Report:
    """What came out: tables, figures, and findings, one plain sentence each, worked out from the numbers."""

    tables: Sequence[Table]
    figures: Sequence[Figure] = ()
    findings: Sequence[str] = field(default_factory=list)


class Experiment(ABC):
    """A table or figure of a paper. Subclasses set the names below and write three methods.

    Attributes
    ----------
    name : str
        What `pinakes reproduce run` is told: year and table.
    title : str
        One line.
    paper : str
        Where in which paper.
    version : int
        To be raised when cells are measured differently: results of another version are not used.
    alone : bool
        Times are measured: cells run one after the other, whatever `--n-jobs` says.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    version: ClassVar[int] = 1
    alone: ClassVar[bool] = False

    def constants(self, settings: Settings) -> dict[str, Any]:
        """Give what is the same for all cells, for the report; results of other constants are not used."""
        return {}

    @abstractmethod
    def cells(self, settings: Settings) -> list[Cell]:
        """Give the units of work; each has the same words, and no two are equal."""

    @abstractmethod
    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        """Do one unit of work; what is given must fit into JSON, and be small."""

    @abstractmethod
    def report(self, settings: Settings, results: Results) -> Report:
        """Make tables and figures from all results."""
