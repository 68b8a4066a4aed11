"""Reads tables: CSV and TSV with a header, and Annif's TSV without one (``text TAB <uri> <uri> …``)."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from itertools import chain

from pinakes.documents.document import BadLine, Document, Options, Report, shown, split_labels, split_uris
from pinakes.documents.sources import Source
from pinakes.errors import DocumentError, closest

SEPARATOR = "|"
URI_COLUMN = "subject_uris"  # Annif's CSV: URIs with blanks between them
LABEL_COLUMNS = ("labels", "label", URI_COLUMN)
ID_COLUMNS = ("id", "document_id")
FIELD_LIMIT = 1 << 30  # Python's own 128 KB is less than a long document


def read_csv(source: Source, options: Options, report: Report) -> Iterator[Document]:
    """Read comma-separated values with a header; a header with semicolons and no commas says semicolons."""
    return _read_table(source, options, report, None)


def read_tsv(source: Source, options: Options, report: Report) -> Iterator[Document]:
    """Read tab-separated values with a header; quotes work as in CSV."""
    return _read_table(source, options, report, "\t")


def _read_table(source: Source, options: Options, report: Report, delimiter: str | None) -> Iterator[Document]:
    csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT))
    lines = (f"{line}\n" for _, line in source.lines())
    first = next(lines, "")
    if delimiter is None:
        delimiter = ";" if ";" in first and "," not in first else ","
    rows = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    header: list[str] = []
    while True:
        line = rows.line_num + 1  # a row may go over several lines: messages name its first
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            if not header:
                raise DocumentError(_describe(error), source=source.name, line=line) from None
            report.bad(_describe(error), source.name, line)
            continue
        if not row or (len(row) == 1 and not row[0].strip()):
            continue
        if not header:
            header = [name.strip() for name in row]
            try:
                parse = _row_parser(source.name, header, options)
            except BadLine as error:
                raise DocumentError(str(error), source=source.name, line=line) from None
            continue
        if len(row) != len(header):
            message = f"expected {len(header)} columns as in the header, got {len(row)}: {shown(row)}"
            report.bad(message, source.name, line)
            continue
        yield parse(row, line)


def _row_parser(source: str, header: list[str], options: Options) -> Callable[[list[str], int], Document]:
    text = _column(header, "text", options.text, ("text",))
    if text is None:
        raise BadLine(_no_column(header, "text", "text"))
    labels = _column(header, "labels", options.labels, LABEL_COLUMNS)
    id = _column(header, "id", options.id, ID_COLUMNS)
    uris = labels is not None and header[labels] == URI_COLUMN and options.label_separator is None
    separator = options.label_separator or SEPARATOR

    def parse(row: list[str], line: int) -> Document:
        found: tuple[str, ...] = ()
        if labels is not None:
            found = split_uris(row[labels]) if uris else split_labels(row[labels], separator)
        name = row[id] if id is not None and row[id] else str(line)
        return Document(name, row[text], found, None, source, line)

    return parse


def _column(header: list[str], option: str, named: str | None, usual: tuple[str, ...]) -> int | None:
    if named is not None:
        if named not in header:
            raise BadLine(_no_column(header, named, option))
        return header.index(named)
    return next((header.index(name) for name in usual if name in header), None)


def _no_column(header: list[str], name: str, option: str) -> str:
    columns = ", ".join(shown(column, 30) for column in header[:8]) + (", …" if len(header) > 8 else "")
    return (
        f"expected a header with a column {name!r}, got the columns {columns}{closest(name, header)}; "
        f"name the column with the option `{option}`, or another format with `format`"
    )


def _describe(error: csv.Error) -> str:
    if "unexpected end of data" in str(error):
        return "a quote that opens here is never closed; double the quotes inside a quoted field"
    if "new-line character" in str(error):
        return "a carriage return stands in a field without quotes; put the field in quotes"
    return f"expected a quoted field to end at a separator ({error}); double the quotes inside a quoted field"


def read_annif_tsv(source: Source, options: Options, report: Report) -> Iterator[Document]:
    """Read Annif's short texts: a text, a tab, and URIs in angle brackets; no header."""
    for number, line in source.lines():
        if not line.strip():
            continue
        text, tab, uris = line.rstrip("\r").partition("\t")
        if not tab:
            message = f"expected a text, a tab and <uri> <uri> …, got no tab: {shown(line)}"
            report.bad(message, source.name, number)
            continue
        separator = options.label_separator
        labels = split_uris(uris) if separator is None else split_labels(uris, separator)
        yield Document(str(number), text, labels, None, source.name, number)
