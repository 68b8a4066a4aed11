"""Edges in columns: parent, child and, if wanted, the child's name, one edge a line (`tsv` and `csv`).

An empty parent makes the child a root, and a child on several lines has several parents. A first line that
names the columns is a header, and its order counts; further columns are ignored. TSV is taken literally,
without quotes; CSV may quote. A file with semicolons instead of commas on its first line is read with
semicolons.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from pinakes.errors import ParameterError, TaxonomyError
from pinakes.taxonomy.formats.source import Source
from pinakes.taxonomy.taxonomy import Taxonomy

COLUMNS = {
    "parent": {"parent", "parent_id", "parent id", "broader", "superclass", "parent code"},
    "child": {"child", "child_id", "child id", "id", "code", "node", "notation", "narrower", "category"},
    "name": {"name", "label", "title", "child_name", "child name", "preflabel", "description"},
}


def read_tsv(text: str, path: str, *, separator: str = "\t") -> Source:
    """Read edges from columns divided by `separator`, without quotes."""
    if not separator:
        raise ParameterError("the separator between columns must not be empty")
    lines = enumerate(io.StringIO(text, newline=None), start=1)
    return _read(((k, line.rstrip("\n").split(separator)) for k, line in lines), path)


def read_csv(text: str, path: str, *, separator: str | None = None) -> Source:
    """Read edges from columns divided by commas (or `separator`), with quotes where needed."""
    if separator is None:
        first = text.lstrip().partition("\n")[0]
        separator = ";" if ";" in first and "," not in first else ","
    if len(separator) != 1:
        raise ParameterError(f"the separator of a CSV file must be one character, got {separator!r}")

    def rows() -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        line = 1
        try:
            for row in reader:
                yield line, row
                line = reader.line_num + 1
        except csv.Error as error:
            raise TaxonomyError(f"expected comma-separated values: {error}", source=path, line=line) from None

    return _read(rows(), path)


def header(row: Sequence[str]) -> dict[str, int] | None:
    """Give the positions of parent, child and name if the row is a header, or None.

    >>> header(["child", "Parent"])
    {'child': 0, 'parent': 1}
    """
    found: dict[str, int] = {}
    if "" in row[:2]:  # a root, whatever it is called
        return None
    for k, cell in enumerate(row):
        for column, words in COLUMNS.items():
            if cell.strip().lower() in words:
                found.setdefault(column, k)
    return found if {"parent", "child"} <= set(found) else None


def _read(rows: Iterator[tuple[int, list[str]]], path: str) -> Source:
    source = Source(path)
    at_parent, at_child, at_name = 0, 1, 2
    first = True
    for line, row in rows:
        if not any(row):
            continue
        if first:
            first = False
            if columns := header(row):
                at_parent, at_child, at_name = columns["parent"], columns["child"], columns.get("name", -1)
                continue
        if max(at_parent, at_child) >= len(row):
            message = f"expected the columns parent and child, got {len(row)}: {row[0][:60]!r}"
            source.report("error", "bad-line", message, line)
            continue
        parent, child = row[at_parent], row[at_child]
        if not child:
            message = f"expected parent, child[, name], got no child under {parent!r}; name columns in another order "
            message += "on the first line, e.g. child,parent,name"
            source.report("error", "bad-line", message, line)
            continue
        source.edges.append((parent, child, line))
        if 0 <= at_name < len(row):
            source.add_name(child, row[at_name], line)
    return source


def rows_of(taxonomy: Taxonomy) -> Iterator[tuple[str, str, str]]:
    """Give a taxonomy as rows (parent, child, name), parents before children."""
    for v, node in enumerate(taxonomy.ids):
        above = [taxonomy.ids[p] for p in taxonomy.parents.of(v)] or [""]
        for parent in above:
            yield parent, node, taxonomy.names[v]


def write_tsv(taxonomy: Taxonomy) -> Iterator[str]:
    """Write lines ``parent TAB child TAB name``; white space in a name becomes a plain space."""
    for parent, child, name in rows_of(taxonomy):
        if any(c in child for c in "\t\n\r"):
            raise TaxonomyError(f"TSV cannot hold an id with a tab or a line break, got {child!r}; use JSON")
        if any(c in name for c in "\t\n\r"):
            name = " ".join(name.split())
        yield f"{parent}\t{child}\t{name}\n"


def write_csv(taxonomy: Taxonomy) -> Iterator[str]:
    """Write lines ``parent,child,name`` below a header."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    for row in [("parent", "child", "name"), *rows_of(taxonomy)]:
        writer.writerow(row)
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
