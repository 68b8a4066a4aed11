"""Reads LIBSVM vectors: ``label,label index:value index:value … # comment``, one document a line."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pinakes.documents.document import BadLine, Document, Options, Report, Vector, shown, split_labels
from pinakes.documents.sources import Source

MAX_INDEX = 2**31 - 2
FLOAT32_MAX = float(np.finfo(np.float32).max)


def read_libsvm(source: Source, options: Options, report: Report) -> Iterator[Document]:
    """Read vectors; feature numbers begin at 1 unless `zero_based` says otherwise.

    A first line of three whole numbers (documents, features, labels), as in the files of the extreme
    classification repository, is passed over, and feature numbers then begin at 0.
    """
    base = 0 if options.zero_based else 1
    separator = options.label_separator or ","
    first = True
    for number, line in source.lines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        if first and len(words) == 3 and all(word.isdecimal() for word in words):
            first, base = False, 0 if options.zero_based is None else base
            continue
        first = False
        labels: tuple[str, ...] = ()
        if ":" not in words[0] or not words[0].partition(":")[0].isdecimal():
            labels = split_labels(words.pop(0), separator)
        try:
            vector = parse_vector(words, base)
        except BadLine as error:
            report.bad(str(error), source.name, number)
        else:
            yield Document(str(number), None, labels, vector, source.name, number)


def parse_vector(words: list[str], base: int) -> Vector:
    """Give the features of ``index:value`` words, numbered from 0, ascending."""
    pairs: dict[int, float] = {}
    for word in words:
        index, colon, value = word.partition(":")
        if index == "qid":
            continue
        try:
            if not (colon and index.isdecimal()):
                raise ValueError
            j, x = int(index) - base, float(value)
        except ValueError:
            raise BadLine(f"expected index:value, a whole number and a number, got {shown(word)}") from None
        if j < 0:
            raise BadLine(
                "feature numbers begin at 1, got 0; for a file that counts from 0 set the option `zero_based`"
            )
        if j > MAX_INDEX:
            raise BadLine(f"a feature number must be below 2**31, got {shown(index)}")
        if not math.isfinite(x) or abs(x) > FLOAT32_MAX:
            raise BadLine(f"the value of feature {index} must be a finite float32, got {shown(value)}")
        if j in pairs:
            raise BadLine(f"a feature may stand once in a document, got {index} twice")
        pairs[j] = x
    indices = np.fromiter(pairs.keys(), np.int32, len(pairs))
    values = np.fromiter(pairs.values(), np.float32, len(pairs))
    if len(indices) > 1 and (indices[1:] < indices[:-1]).any():
        order = np.argsort(indices)
        indices, values = indices[order], values[order]
    return indices, values
