"""One document, and what the readers share: where labels are found, and what happens to bad lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from pinakes.errors import DocumentError

Vector = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was read: a text or a vector, and the labels it carries, if any.

    Two documents are equal if id, text and labels are; where they stood does not count, nor do vectors.

    Attributes
    ----------
    id : str
        The id in the file, or the number of its line.
    text : str or None
        The text; None where the file holds vectors.
    labels : tuple of str
        The labels, each once, in the order of the file.
    vector : (ndarray of int32, ndarray of float32) or None
        Feature numbers from 0, ascending, and their values; None where the file holds text.
    source, line : str, int
        The file and the line (from 1) on which the document begins, for messages.
    """

    id: str
    text: str | None
    labels: tuple[str, ...] = ()
    vector: Vector | None = field(default=None, compare=False)
    source: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)


class Skipped(NamedTuple):
    """A line that was not read, and why; line 0 is the file as a whole."""

    source: str
    line: int
    message: str


class BadLine(Exception):
    """Raised by a parser; the reader knows the file and the line, and what is to be done."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may say about a file; None leaves it to the format."""

    text: str | None = None
    labels: str | None = None
    id: str | None = None
    label_separator: str | None = None
    encoding: str = "utf-8"
    zero_based: bool | None = None


class Report:
    """Takes bad lines: the first one ends the reading ("stop"), or all are written down ("skip")."""

    def __init__(self, on_error: Literal["stop", "skip"], skipped: list[Skipped] | None) -> None:
        self.stop = on_error == "stop"
        self.skipped = [] if skipped is None else skipped

    def bad(self, message: str, source: str, line: int) -> None:
        """Stop at, or write down, one bad line."""
        if self.stop:
            raise DocumentError(message, source=source, line=line or None)
        self.skipped.append(Skipped(source, line, message))


def unique(labels: Iterable[str]) -> tuple[str, ...]:
    """Keep the first of equal labels."""
    return tuple(dict.fromkeys(labels))


def shown(value: object, width: int = 60) -> str:
    """Show a value in a message, shortened."""
    text = repr(value)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def parse_labels(value: Any, separator: str | None) -> tuple[str, ...]:
    """Give the labels in one value of a JSON object or a Parquet column.

    A string is one label (several, if there is a separator); a list holds strings, numbers or Annif's
    subjects: objects with a `uri`, a `notation` or a `label`, of which the first one there is counts.
    """
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return split_labels(value, separator) if separator else (value,)
    if isinstance(value, list):
        return unique(_label(item) for item in value)
    return (_label(value),)


def split_labels(value: str, separator: str) -> tuple[str, ...]:
    """Cut a string into labels; white space around them, and empty ones, are dropped."""
    return unique(label for part in value.split(separator) if (label := part.strip()))


def split_uris(value: str) -> tuple[str, ...]:
    """Cut Annif's ``<uri> <uri> …`` into URIs without their angle brackets."""
    return unique(uri for part in value.split() if (uri := bare_uri(part)))


def bare_uri(word: str) -> str:
    """Take a URI out of its angle brackets."""
    return word[1:-1] if word.startswith("<") and word.endswith(">") else word


def _label(item: Any) -> str:
    if isinstance(item, dict):
        found = next((item[key] for key in ("uri", "notation", "label") if item.get(key)), None)
        if found is None:
            raise BadLine(f"a subject must have a 'uri', a 'notation' or a 'label', got {shown(item)}")
        item = found
    if isinstance(item, int) and not isinstance(item, bool):
        return str(item)
    if not isinstance(item, str):
        raise BadLine(f"labels must be a string or a list of strings, got {shown(item)}")
    if not item:
        raise BadLine("a label must not be empty, got ''")
    return item
