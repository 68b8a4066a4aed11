"""Options that several verbs share, and what they stand for."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import click

from pinakes.errors import ParameterError

Command = Callable[..., Any]
STDIN = "-"
AUTO = "auto"

# what settings are called in Python -> the option that sets them
FLAGS = {
    "C": "--C",
    "cut": "--cut",
    "encoding": "--encoding",
    "format": "--docs-format",
    "gamma": "--gamma",
    "hashing": "--hashing",
    "id": "--id-column",
    "label_separator": "--label-separator",
    "labels": "--label-column",
    "max_features": "--max-features",
    "max_iter": "--max-iter",
    "max_seconds": "--max-seconds",
    "min_df": "--min-df",
    "n_jobs": "--jobs",
    "ngrams": "--ngrams",
    "text": "--text-column",
    "tol": "--tol",
    "zero_based": "--zero-based",
}
_OWNERS = "TaxonomySVC|TaxonomySVCCV|TaxonomyRankSVC|CoupledSVC|MinOverPerceptron|StochasticPerceptron|HLSI"
_OWNERS += "|TextFeatures|read_documents"
_SETTING = re.compile(rf"`(\w+)` of (?:{_OWNERS})\b|the option `(\w+)`|`(ngrams|format)`")
_WORD = re.compile(r"(?<![\w./\-'\"])(max_features|max_iter|max_seconds|min_df|n_jobs)(?![\w./\-'\"])")


def as_options(message: str) -> str:
    """Name options in a message as the command line names them.

    >>> as_options("`C` of TaxonomySVC must be a number > 0, got -1.0")
    '--C must be a number > 0, got -1.0'
    >>> as_options("set min_df=1")
    'set --min-df=1'
    """

    def flag(found: re.Match[str]) -> str:
        name = next(filter(None, found.groups()))
        return FLAGS.get(name, found.group())

    return _WORD.sub(flag, _SETTING.sub(flag, message))


def example(*lines: str) -> str:
    """Give the end of a help text: examples, each on a line of its own however narrow the terminal is."""
    return "\n".join(["\b", "Example:" if len(lines) == 1 else "Examples:", *(f"  {line}" for line in lines)])


class Verb(click.Command):
    """A command that takes each option once: of two values for one setting, neither is taken silently."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        times = Counter(id(given) for given in order)
        for given in order:
            if isinstance(given, click.Option) and times[id(given)] > 1:
                raise click.UsageError(f"{given.opts[0]} is given {times[id(given)]} times; give it once", ctx)
        return super().parse_args(ctx, args)


class NumberOrAuto(click.ParamType):  # type: ignore[type-arg]
    """A number, or the word auto."""

    name = "number|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        if value == AUTO:
            return AUTO
        try:
            return float(value)
        except ValueError:
            self.fail(f"expected a number or {AUTO}, got {value!r}", param, ctx)


class CutType(click.ParamType):  # type: ignore[type-arg]
    """Where label sets end: a word, a whole number of labels, or a score with a decimal point."""

    name = "cut"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int | float:
        for kind in (int, float):
            try:
                return kind(value)
            except ValueError:
                pass
        return str(value)  # the estimator knows the words


class Number(click.ParamType):  # type: ignore[type-arg]
    """A number whose range is checked later, by the code that uses it: its message says more."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(value)
        except ValueError:
            self.fail(f"expected a number, got {value!r}", param, ctx)


def document_options(command: Command) -> Command:
    """Add the options that say how documents are read."""
    for option in reversed(
        [
            click.option(
                "--docs-format",
                metavar="FORMAT",
                help="jsonl, annif-jsonl, csv, tsv, annif-tsv, libsvm, folder or parquet; else told from the file.",
            ),
            click.option("--text-column", metavar="NAME", help="Key or column of the text.  [default: text]"),
            click.option("--label-column", metavar="NAME", help="Key or column of the labels.  [default: labels]"),
            click.option("--id-column", metavar="NAME", help="Key or column of the id.  [default: id]"),
            click.option("--label-separator", metavar="S", help="What stands between labels in one field."),
            click.option("--encoding", default="utf-8", show_default=True, help="How the text is encoded."),
            click.option("--zero-based", is_flag=True, help="LIBSVM feature numbers begin at 0, not at 1."),
            click.option(
                "--on-error",
                type=click.Choice(["stop", "skip"]),
                default="stop",
                show_default=True,
                help="What to do at a bad document: stop, or skip it and say so at the end.",
            ),
        ]
    ):
        command = option(command)
    return command


def reading(options: dict[str, Any]) -> dict[str, Any]:
    """Take the document options out of a command's arguments, named as `read_documents` names them."""
    names = {
        "docs_format": "format",
        "text_column": "text",
        "label_column": "labels",
        "id_column": "id",
        "label_separator": "label_separator",
        "encoding": "encoding",
        "zero_based": "zero_based",
        "on_error": "on_error",
    }
    given = {target: options.pop(name) for name, target in names.items()}
    given["zero_based"] = given["zero_based"] or None  # not given: left to the file
    return given


def output_format(choices: list[str]) -> Callable[[Command], Command]:
    """Add --format: the first of the choices is the default."""
    return click.option(
        "--format",
        "output",
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help="How to write the answer.",
    )


def given(name: str) -> bool:
    """Say whether an option of the running command, by parameter name, was given by the user."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def refuse_together(one: str, others: Iterable[str], why: str) -> None:
    """Refuse options of the running command, by parameter name, that were given though `one` makes them idle."""
    for other in others:
        if given(other):
            raise ParameterError(f"--{other.replace('_', '-')} does not go with {one}: {why}; leave one of them out")


def check_inputs(*paths: str) -> None:
    """Refuse standard input for two things at once: whatever is read first leaves nothing for the other."""
    if paths.count(STDIN) > 1:
        raise ParameterError("- (standard input) can be read once, got it twice; put one of them into a file")


def check_target(path: str, inputs: Iterable[str] = ()) -> None:
    """Refuse a place where no model file can or should be written, before any work is done."""
    check_place(path, inputs)
    if os.path.exists(path) and not path.endswith(".pinakes") and os.path.getsize(path) and not is_model(path):
        raise ParameterError(f"{path}: is there already and is no model file; choose another name, or remove it first")


def check_place(path: str, inputs: Iterable[str] = ()) -> None:
    """Refuse a place where no file can be written, before any work is done."""
    if not path:
        raise ParameterError("--out: expected the name of a file to write, got nothing")
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise ParameterError(f"{path}: expected the name of a file to write, got a folder")
    if not os.path.isdir(folder):
        raise ParameterError(f"{path}: the folder {folder} does not exist; make it first")
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise ParameterError(f"{path}: expected the name of a file to write, got something that is no regular file")
    if not os.access(folder, os.W_OK) or (os.path.exists(path) and not os.access(path, os.W_OK)):
        raise ParameterError(f"{path}: cannot be written (read-only); choose another place")
    for other in inputs:
        if other != STDIN and os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other):
            raise ParameterError(f"{path}: is one of the files to read; choose another name for the file to write")


def is_model(path: str) -> bool:
    """Say whether a file is one of our models."""
    with open(path, "rb") as file:
        return b'{"__metadata__":{"pinakes"' in file.read(64)
