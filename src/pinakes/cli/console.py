"""What is said to a person: lines and a progress bar on stderr, tables on stdout."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

import click

from pinakes.cli.options import as_options
from pinakes.errors import PinakesWarning


def say(message: str) -> None:
    """Write one line to stderr."""
    click.echo(message, err=True)


def one_line(message: str) -> str:
    """Put a message on one line, without signs that a terminal would obey.

    >>> one_line("two\\nlines, \\x1b[31m red")
    'two lines, \\\\x1b[31m red'
    """
    text = " ".join(message.split())
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show our warnings as one line on stderr each; those of libraries only to who asked for them (python -W)."""
    show = warnings.showwarning

    def line(message: Any, category: Any, filename: str, lineno: int, *rest: Any) -> None:
        if issubclass(category, PinakesWarning):
            say(f"pinakes: warning: {one_line(as_options(str(message)))}")
        elif sys.warnoptions:
            show(message, category, filename, lineno, *rest)

    with warnings.catch_warnings():
        warnings.simplefilter("always", PinakesWarning)
        warnings.showwarning = line  # type: ignore[assignment]
        yield


class Steps:
    """A progress bar for long work, on stderr and only on a terminal; elsewhere nothing is shown.

    >>> with Steps("reading", terminal=False) as steps:
    ...     steps.update("12 documents")
    """

    def __init__(self, first: str, terminal: bool = True) -> None:
        self.shown = terminal and sys.stderr.isatty()
        self.first = first

    def __enter__(self) -> Steps:
        if self.shown:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description:<10}"),
                BarColumn(bar_width=24),
                TimeElapsedColumn(),
                TextColumn("{task.fields[detail]}"),
                console=Console(stderr=True),
                transient=True,
                redirect_stdout=False,  # data stay on stdout
            )
            self._bar.start()
            self._task = self._bar.add_task(self.first, total=None, detail="")
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take the bar away, for good."""
        if self.shown:
            self._bar.stop()
            self.shown = False

    def start(self, step: str, detail: str = "") -> None:
        """Go on to another step, whose length is not known."""
        if self.shown:
            self._bar.reset(self._task, total=None, description=step, detail=detail)

    def update(self, detail: str, done: float | None = None) -> None:
        """Say how far the step is, from 0 to 1 where that is known."""
        if self.shown:
            self._bar.update(self._task, detail=detail, total=None if done is None else 1.0, completed=done)

    def count(self, items: Iterable[Any], what: str) -> Iterator[Any]:
        """Pass items on, counting them."""
        n = 0
        for n, item in enumerate(items, start=1):
            if n % 1000 == 0:
                self.update(f"{n:,} {what}")
            yield item
        self.update(f"{n:,} {what}")


class GapBar:
    """Reports a solver's progress: how far the gap has come down, on a logarithmic scale, and the time that is left.

    A perceptron has no gap: of it only the steps are shown.
    """

    def __init__(self, steps: Steps, tol: float, n_documents: int) -> None:
        self.steps, self.tol, self.n_documents = steps, tol, n_documents

    def __call__(self, progress: Any) -> None:
        gap = getattr(progress, "gap", None)
        if gap is None:  # a perceptron
            self.steps.update(f"{self.n_documents:,} documents, {progress.n_iter:,} steps")
            return
        gap = max(gap, 1e-300)
        done = min(1.0, math.log(gap) / math.log(self.tol)) if gap < 1 and self.tol < 1 else 0.0
        left = f", {progress.seconds * (1 - done) / done:.0f} s left" if 0 < done < 1 else ""
        self.steps.update(
            f"{self.n_documents:,} documents, objective {progress.p_obj:.4g}, gap {gap:.2%}{left}",
            done,
        )


def write_table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Iterable[str] = (), *, err: bool = False
) -> None:
    """Write a table to stdout, or stderr, as wide as it needs to be; columns in `numbers` stand on the right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    right = set(numbers)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    out: TextIO = sys.stderr if err else sys.stdout
    width = None if out.isatty() else 200
    Console(file=out, width=width, markup=False, highlight=False).print(table)
