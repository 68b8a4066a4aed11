"""Options that several verbs share, and what they stand for."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from pinakes.errors import ParameterError

Command = Callable[..., Any]


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
        "on_error": "on_error",
    }
    return {target: options.pop(name) for name, target in names.items()}


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


def check_target(path: str) -> None:
    """Refuse a place where no file can be written, before any work is done."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise ParameterError(f"{path}: expected the name of a file to write, got a folder")
    if not os.path.isdir(folder):
        raise ParameterError(f"{path}: the folder {folder} does not exist; make it first")
    if not os.access(folder, os.W_OK) or (os.path.exists(path) and not os.access(path, os.W_OK)):
        raise ParameterError(f"{path}: cannot be written (read-only); choose another place")
