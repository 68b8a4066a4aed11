"""Reads Parquet files: a column of texts, a column of labels (strings or lists), a column of ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pinakes.documents.document import BadLine, Document, Options, Report
from pinakes.documents.json_lines import ID_KEYS, LABEL_KEYS, record_parser
from pinakes.documents.sources import STDIN, open_binary
from pinakes.errors import DocumentError, MissingExtraError, closest

BATCH = 4096


def read_parquet(path: str, options: Options, report: Report) -> Iterator[Document]:
    """Read a Parquet file batch by batch; the line of a document is its row, from 1."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("reading Parquet files", "formats") from None
    name = "<stdin>" if path == STDIN else path
    parse = record_parser(name, options)
    with open_binary(path) as raw:
        try:
            file: Any = parquet.ParquetFile(pa.BufferReader(raw.read()) if path == STDIN else raw)
            columns = _columns(list(file.schema_arrow.names), options, name)
            row = 0
            for batch in file.iter_batches(batch_size=BATCH, columns=columns):
                for record in batch.to_pylist():
                    row += 1
                    try:
                        document = parse(record, row)
                    except BadLine as error:
                        report.bad(str(error), name, row)
                    else:
                        yield document
        except (pa.ArrowException, OSError) as error:
            raise DocumentError(f"expected a Parquet file, got: {error}", source=name) from None


def _columns(present: list[str], options: Options, name: str) -> list[str]:
    wanted = {"text": options.text or "text", "labels": options.labels, "id": options.id}
    for option, column in wanted.items():
        if column is not None and column not in present:
            got = ", ".join(map(repr, present[:8])) + (", …" if len(present) > 8 else "")
            raise DocumentError(
                f"expected a column {column!r}, got the columns {got}{closest(column, present)}; "
                f"name the column with the option `{option}`",
                source=name,
            )
    usual = [wanted["text"], *([options.labels] if options.labels else LABEL_KEYS)]
    usual += [options.id] if options.id else ID_KEYS
    return [column for column in usual if column in present]
