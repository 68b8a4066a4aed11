"""Reads JSON lines: our own ``{"id", "text", "labels"}`` and Annif's ``{"document_id", "text", "subjects"}``.

Lines are decoded many at a time, as one JSON list: half the time of one by one. Where that fails, or gives
another number of values than there were lines, the lines are decoded singly, and the bad ones found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pinakes.documents.document import BadLine, Document, Options, Report, parse_labels, shown
from pinakes.documents.sources import Source
from pinakes.errors import closest

BATCH = 128
LABEL_KEYS = ("labels", "label", "subjects")  # the first one that is there, unless the user names the key
ID_KEYS = ("id", "document_id")

_decode = json.JSONDecoder().decode


def read_jsonl(source: Source, options: Options, report: Report) -> Iterator[Document]:
    """Read one JSON object a line."""
    parse = record_parser(source.name, options)
    for first, block in source.blocks():
        for start in range(0, len(block), BATCH):
            lines = block[start : start + BATCH]
            number = first + start
            records = _decode_many(lines)
            if records is None:
                yield from _read_singly(lines, number, parse, source.name, report)
                continue
            for line, record in enumerate(records, start=number):
                try:
                    document = parse(record, line)
                except BadLine as error:
                    report.bad(str(error), source.name, line)
                else:
                    yield document


def _decode_many(lines: list[str]) -> list[Any] | None:
    joined = ",".join(lines)
    if "\\ud" in joined or "\\uD" in joined:  # perhaps half a character: looked at one by one
        return None
    try:
        records = _decode(f"[{joined}]")
    except (ValueError, RecursionError):
        return None
    return records if len(records) == len(lines) else None


def _read_singly(lines: list[str], number: int, parse: Any, source: str, report: Report) -> Iterator[Document]:
    for line, text in enumerate(lines, start=number):
        if not text.strip():
            continue
        try:
            document = parse(decode_json(text), line)
            _check_characters(document)
        except BadLine as error:
            report.bad(str(error), source, line)
        else:
            yield document


def decode_json(text: str) -> Any:
    """Decode one JSON value, or say what is wrong with it."""
    try:
        return _decode(text)
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        raise BadLine(
            f"expected one JSON object a line, got broken JSON: {what} at column {error.colno} of {shown(text.strip())}"
        ) from None
    except RecursionError:
        raise BadLine("expected one JSON object a line, got JSON nested too deeply") from None
    except ValueError as error:
        raise BadLine(f"expected one JSON object a line, got broken JSON: {error}") from None


def record_parser(source: str, options: Options) -> Any:
    """Give the function that makes a document of a JSON object and its line number."""
    text_key = options.text or "text"
    label_keys = (options.labels,) if options.labels else LABEL_KEYS
    id_keys = (options.id,) if options.id else ID_KEYS
    first_labels, first_id = label_keys[0], id_keys[0]
    separator = options.label_separator

    def parse(record: Any, line: int) -> Document:
        if type(record) is not dict:
            raise BadLine(_no_object(record))
        text = record.get(text_key)
        if type(text) is not str:
            text = _text_elsewhere(record, text_key, options.text is not None)
        labels = record.get(first_labels)
        if type(labels) is list and len(labels) == 1 and type(labels[0]) is str and labels[0]:
            labels = (labels[0],)
        else:
            labels = parse_labels(_first(record, label_keys), separator)
        name = record.get(first_id)
        if type(name) is not str:
            name = _id(_first(record, id_keys), line, options.id)
        return Document(name, text, labels, None, source, line)

    return parse


def _first(record: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _id(value: Any, line: int, key: str | None) -> str:
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    if value is None and key is None:
        return str(line)
    if value is None:
        raise BadLine(f"expected the id under the key {key!r}, got none")
    raise BadLine(f"an id must be a string or a whole number, got {shown(value)}")


def _text_elsewhere(record: dict[str, Any], key: str, named: bool) -> str:
    if record.get(key) is not None:
        raise BadLine(f"the text under {key!r} must be a string, got {shown(record[key])}")
    metadata = record.get("metadata")
    if not named and isinstance(metadata, dict) and metadata:  # Annif: title, abstract and the like
        return "\n".join(value for value in metadata.values() if isinstance(value, str))
    if key in record:
        raise BadLine(f"the text under {key!r} must be a string, got null")
    keys = ", ".join(map(repr, list(record)[:8])) or "none"
    raise BadLine(
        f"expected the text under the key {key!r}, got the keys {keys}{closest(key, record)}; "
        "name the key with the option `text`"
    )


def _no_object(record: Any) -> str:
    if isinstance(record, list):
        return f"expected one JSON object a line, got a list: {shown(record)}; write one document a line"
    return f"expected one JSON object a line, got {shown(record)}"


def _check_characters(document: Document) -> None:
    try:
        for value in (document.id, document.text or "", *document.labels):
            value.encode()
    except UnicodeEncodeError as error:
        raise BadLine(
            f"half a character stands alone: \\u{ord(error.object[error.start]):04x} at {error.start + 1}; "
            "write both halves or neither"
        ) from None
