"""Reads a folder with one document a file.

- ``doc.txt`` beside ``doc.tsv`` (``<uri> TAB name`` a line) or ``doc.key`` (a label a line): Annif's;
- ``doc.json``: one of Annif's JSON documents;
- ``label/doc.txt``: the folder is the label; folders inside folders are joined with ``/``.

Files without an ending count as text where a folder is a label (20 Newsgroups comes like that).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from pinakes.documents.document import BadLine, Document, Options, Report, bare_uri, unique
from pinakes.documents.json_lines import decode_json, record_parser
from pinakes.documents.sources import Source


def read_folder(path: str, options: Options, report: Report) -> Iterator[Document]:
    """Read the documents of a folder in the order of their paths; ids are paths relative to it."""
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith("."))
        inside = os.path.relpath(folder, path).replace(os.sep, "/")
        label = () if inside == "." else (inside,)
        present = set(names)
        for name in sorted(names):
            stem, ending = os.path.splitext(name)
            file = os.path.join(folder, name)
            if name.startswith("."):
                continue
            id = name if inside == "." else f"{inside}/{name}"
            if ending == ".txt" or (label and not ending):
                text = _text(file, options, report)
                beside = [stem + end for end in (".tsv", ".key") if ending and stem + end in present]
                labels = _keys(os.path.join(folder, beside[0]), options, report) if beside else label
                if text is not None and labels is not None:
                    yield Document(id, text, labels, None, file, 1)
            elif ending == ".json":
                yield from _json(file, id, options, report)


def _text(file: str, options: Options, report: Report) -> str | None:
    """Give the whole text of a file; None if it has a bad line and bad documents are skipped."""
    skipped = len(report.skipped)
    source = Source(file, options.encoding, report)
    text = "\n".join(line for _, block in source.blocks() for line in block)
    return text if len(report.skipped) == skipped else None


def _keys(file: str, options: Options, report: Report) -> tuple[str, ...] | None:
    text = _text(file, options, report)
    if text is None:
        return None
    found = (line.partition("\t")[0].strip() for line in text.split("\n"))
    return unique(bare_uri(label) for label in found if label)


def _json(file: str, id: str, options: Options, report: Report) -> Iterator[Document]:
    text = _text(file, options, report)
    if text is None:
        return
    try:
        record = decode_json(text)
        if isinstance(record, dict) and options.id is None:
            record.setdefault("document_id", id)
        yield record_parser(file, options)(record, 1)
    except BadLine as error:
        report.bad(str(error), file, 1)
