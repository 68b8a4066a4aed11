r"""Cuts texts into words and n-grams, and counts them.

The default, every run of letters, digits and underscores (``\w+``), has a short cut: in a text that is all
ASCII, as most are, everything else is turned into blanks and the text split, which is several times faster
than a regular expression and gives the same words.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pinakes.errors import DocumentError

WORDS = r"\w+"
BLOCK = 1 << 22  # words between two rounds of adding up
CACHE = 1 << 20  # words whose bucket is remembered

_ASCII_WORDS = "".join(c if c.isalnum() or c == "_" else " " for c in map(chr, range(128)))


class Counts(NamedTuple):
    """How often each term stands in each document, in CSR form; columns are ascending within a row."""

    data: npt.NDArray[Any]  # float32
    indices: npt.NDArray[np.int32]
    indptr: npt.NDArray[np.int64]


def make_tokenizer(
    pattern: str, lowercase: bool, strip_accents: str | None, ngrams: tuple[int, int]
) -> Callable[[str], list[str]]:
    """Give the function that cuts a text into terms: words, or runs of words with a blank between them."""
    findall = re.compile(pattern).findall
    ascii_words = _ASCII_WORDS if pattern == WORDS else None
    low, high = ngrams

    def tokenize(text: str) -> list[str]:
        if lowercase:
            text = text.lower()
        if ascii_words is not None and text.isascii():
            words = text.translate(ascii_words).split()
        else:
            if strip_accents:
                text = without_accents(text, strip_accents)
            words = findall(text)
        return words if high == 1 else _ngrams(words, low, high)

    return tokenize


def _ngrams(words: list[str], low: int, high: int) -> list[str]:
    terms = list(words) if low == 1 else []
    for n in range(max(low, 2), high + 1):
        terms += map(" ".join, zip(*(words[k:] for k in range(n)), strict=False))
    return terms


def without_accents(text: str, how: str) -> str:
    """Take accents off letters; "ascii" drops whatever is not ASCII after that."""
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", text)
    if how == "ascii":
        return apart.encode("ascii", "ignore").decode("ascii")
    return "".join(c for c in apart if not unicodedata.combining(c))


def growing_index() -> tuple[dict[str, int], Callable[[str], int]]:
    """Give an empty vocabulary, and the function that numbers words as they come."""
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    return vocabulary, vocabulary.__getitem__


class FixedIndex(dict[str, int]):
    """A vocabulary that does not grow: unknown words get the number -1."""

    def __missing__(self, term: str) -> int:
        return -1


class HashedIndex(dict[str, int]):
    """Numbers words by their hash (MurmurHash3, as scikit-learn's FeatureHasher); remembers some of them."""

    def __init__(self, n_buckets: int) -> None:
        from sklearn.utils import murmurhash3_32

        super().__init__()
        self._hash, self._n_buckets = murmurhash3_32, n_buckets

    def __missing__(self, term: str) -> int:
        if len(self) >= CACHE:
            self.clear()
        number = abs(int(self._hash(term.encode("utf-8", "surrogatepass"))))
        bucket = self[term] = number % self._n_buckets
        return bucket


def count_terms(
    texts: Iterable[str],
    tokenize: Callable[[str], list[str]],
    index_of: Callable[[str], int],
    size: Callable[[], int],
) -> Counts:
    """Count the terms of each text; `index_of` numbers them (-1: not counted), `size` says up to what."""
    blocks = [_add_up(flat, lengths, size()) for flat, lengths in _blocks(texts, tokenize, index_of)]
    sizes = np.concatenate([np.diff(block.indptr) for block in blocks] or [np.empty(0, dtype=np.int64)])
    indptr = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=indptr[1:])
    data = np.concatenate([block.data for block in blocks] or [np.empty(0, dtype=np.float32)])
    indices = np.concatenate([block.indices for block in blocks] or [np.empty(0, dtype=np.int32)])
    return Counts(data, indices, indptr)


def _blocks(
    texts: Iterable[str], tokenize: Callable[[str], list[str]], index_of: Callable[[str], int]
) -> Iterator[tuple[array[int], list[int]]]:
    """Give term numbers of many texts in a row, and how many each text has."""
    flat, lengths, filled = array("i"), [], 0
    for i, text in enumerate(texts):
        try:
            terms = tokenize(text)
        except (AttributeError, TypeError):
            raise DocumentError(f"texts must be strings, got {type(text).__name__} as number {i} (from 0)") from None
        flat.extend(map(index_of, terms))
        lengths.append(len(flat) - filled)
        filled = len(flat)
        if filled >= BLOCK:
            yield flat, lengths
            flat, lengths, filled = array("i"), [], 0
    if lengths:
        yield flat, lengths


def _add_up(flat: array[int], lengths: list[int], n_terms: int) -> Counts:
    from scipy.sparse import csr_array

    indices = np.frombuffer(flat, dtype=np.int32) if len(flat) else np.empty(0, dtype=np.int32)
    indptr = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    known = indices >= 0
    if not known.all():
        indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(known)])[indptr]
        indices = indices[known]
    ones = np.ones(len(indices), dtype=np.float32)
    matrix = csr_array((ones, indices.copy(), indptr.astype(np.int32)), shape=(len(lengths), max(n_terms, 1)))
    matrix.sum_duplicates()
    return Counts(matrix.data, matrix.indices, matrix.indptr.astype(np.int64))
