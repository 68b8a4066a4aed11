"""Reads documents from files of any known format, one after the other."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

from pinakes.documents.document import Document, Options, Report, Skipped, shown
from pinakes.documents.folders import read_folder
from pinakes.documents.json_lines import read_jsonl
from pinakes.documents.libsvm import read_libsvm
from pinakes.documents.parquet import read_parquet
from pinakes.documents.sources import STDIN, Source, check_path
from pinakes.documents.tables import read_annif_tsv, read_csv, read_tsv
from pinakes.errors import DocumentError, ParameterError

Format = Literal["jsonl", "annif-jsonl", "csv", "tsv", "annif-tsv", "libsvm", "folder", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
Path = str | os.PathLike[str]

READERS = {
    "jsonl": read_jsonl,
    "annif-jsonl": read_jsonl,  # the same reader takes both
    "csv": read_csv,
    "tsv": read_tsv,
    "annif-tsv": read_annif_tsv,
    "libsvm": read_libsvm,
}
COMPRESSED = (".gz", ".xz", ".zst")
ENDINGS: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_SUBJECTS = re.compile(r"\s*((<[^<>\s]+>|https?://\S+)\s*)+")
_VECTOR = re.compile(r"[^\s:]*(\s+\d+:\S+)+|\d+:\S+(\s+\d+:\S+)*|\d+ \d+ \d+\s*")


def read_documents(
    path: Path | Iterable[Path],
    *,
    format: Format | None = None,
    text: str | None = None,
    labels: str | None = None,
    id: str | None = None,
    label_separator: str | None = None,
    encoding: str = "utf-8",
    zero_based: bool | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    skipped: list[Skipped] | None = None,
) -> Iterator[Document]:
    """Read documents one by one from a file, a folder, standard input (``-``), or several of them.

    Files may be compressed with gzip, xz or Zstandard (extra `formats`); blank lines are passed over, and a
    byte order mark is accepted. Missing paths are refused at once, everything else is found while reading.

    Parameters
    ----------
    path : path or iterable of paths
        What to read; ``-`` is standard input, taken for JSON lines unless `format` is given.
    format : str, default=None
        "jsonl", "annif-jsonl", "csv", "tsv", "annif-tsv", "libsvm", "folder" or "parquet"; by default told
        from the ending and, where that does not say it, from the first line.
    text : str, default=None
        The key or column of the text, by default "text".
    labels : str, default=None
        The key or column of the labels, by default the first there is of "labels", "label", and Annif's
        "subjects" (JSON) or "subject_uris" (CSV). Documents without it have no labels.
    id : str, default=None
        The key or column of the id, by default "id" or "document_id", or else the number of the line.
    label_separator : str, default=None
        What stands between labels in one string: by default "|" in CSV and TSV, "," in LIBSVM, white space in
        Annif's formats; a string in JSON or Parquet is one label unless a separator is given.
    encoding : str, default="utf-8"
        How text is written as bytes.
    zero_based : bool, default=None
        Whether LIBSVM feature numbers begin at 0; by default they begin at 1, or at 0 in a file that begins
        with a line "documents features labels".
    on_error : {"stop", "skip"}, default="stop"
        What to do at a bad line: raise a DocumentError, or write it down in `skipped` and go on.
    skipped : list, default=None
        Takes (source, line, message) for each bad line under on_error="skip".

    Examples
    --------
    >>> import os, tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "docs.jsonl")
    >>> with open(file, "w") as out:
    ...     _ = out.write('{"id": "a", "text": "a cat", "labels": ["animal"]}\\n')
    >>> [(d.id, d.text, d.labels) for d in read_documents(file)]
    [('a', 'a cat', ('animal',))]
    """
    if format is not None and format not in FORMATS:
        known = ", ".join(FORMATS)
        raise ParameterError(f"`format` of read_documents must be one of {known}, got {format!r}")
    if on_error not in ("stop", "skip"):
        raise ParameterError(f"`on_error` of read_documents must be 'stop' or 'skip', got {on_error!r}")
    if label_separator == "":
        raise ParameterError("`label_separator` of read_documents must not be empty, got ''")
    try:
        "\n".encode(encoding)
    except LookupError:
        raise ParameterError(
            f"`encoding` of read_documents must be one that Python knows, such as 'utf-8', got {encoding!r}"
        ) from None
    paths = [os.fspath(path)] if isinstance(path, str | os.PathLike) else [os.fspath(one) for one in path]
    if not paths:
        raise ParameterError("`path` of read_documents must name at least one file, got none")
    for one in paths:
        check_path(one)
    options = Options(text, labels, id, label_separator, encoding, zero_based)
    return _read_all(paths, format, options, Report(on_error, skipped))


def _read_all(paths: list[str], format: Format | None, options: Options, report: Report) -> Iterator[Document]:
    n_all = 0
    for path in paths:
        n_read, n_skipped = 0, len(report.skipped)
        for document in _read_one(path, format, options, report):
            n_read += 1
            yield document
        if n_read == 0 and len(report.skipped) == n_skipped:
            report.bad("no documents in it", "<stdin>" if path == STDIN else path, 0)
        n_all += n_read
    if n_all == 0:
        first = report.skipped[0]
        raise DocumentError(
            f"no documents: all {len(report.skipped)} lines were bad, the first because {first.message}",
            source=first.source,
            line=first.line or None,
        )


def _read_one(path: str, format: Format | None, options: Options, report: Report) -> Iterator[Document]:
    if path != STDIN and os.path.isdir(path):
        if format not in (None, "folder"):
            raise DocumentError(f"expected a file to be read as {format}, got a folder", source=path)
        return read_folder(path, options, report)
    format = format or _format_by_ending(path)
    if format == "folder":
        raise DocumentError("expected a folder, got a file; leave out `format` or name another", source=path)
    if format == "parquet":
        return read_parquet(path, options, report)
    return _read_lines(path, format, options, report)


def _read_lines(path: str, format: Format | None, options: Options, report: Report) -> Iterator[Document]:
    source = Source(path, options.encoding, report)
    try:
        if format is None:
            format = _format_by_content(source.head(), options, tabs=_ending(path) in (".tsv", ".tab"))
            if format is None:
                raise DocumentError(
                    f"cannot tell the format from {shown(source.head())}; "
                    f"name it with the option `format`: {', '.join(FORMATS)}",
                    source=source.name,
                )
        yield from READERS[format](source, options, report)
    finally:
        source.close()


def _ending(path: str) -> str:
    stem, ending = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] if ending in COMPRESSED else ending


def _format_by_ending(path: str) -> Format | None:
    return "jsonl" if path == STDIN else ENDINGS.get(_ending(path))


def _format_by_content(head: str, options: Options, tabs: bool) -> Format | None:
    """Tell the format from the first line; `tabs` says that the ending promises tabs."""
    head = head.strip("\r\n ")
    text = options.text or "text"
    cells = [cell.strip().strip('"') for cell in head.split("\t")]
    if len(cells) > 1 and text in cells:
        return "tsv"
    if len(cells) > 1 and _SUBJECTS.fullmatch(cells[1]):
        return "annif-tsv"
    if tabs:
        return "tsv"
    if head.startswith("{") or not head:
        return "jsonl"
    if text in [cell.strip().strip('"') for cell in head.split(",")]:
        return "csv"
    return "libsvm" if _VECTOR.fullmatch(head.partition("#")[0].strip()) else None
