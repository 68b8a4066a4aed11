"""Where terms stand: words and n-grams as `TextFeatures` makes them, each with its place in the text as it was given.

Small letters and letters without accents may be more or fewer than those they come from: places are counted in the text
before that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, repeat
from typing import NamedTuple

from pinakes.documents.features import TextFeatures
from pinakes.documents.tokens import HashedIndex, without_accents


class Term(NamedTuple):
    """A term at one place of a text: words first..first + n_words - 1; `column` is -1 where the model knows it not."""

    term: str
    column: int
    first: int
    n_words: int


class Located(NamedTuple):
    """The words of a text, as pairs (start, end), and the terms made of them."""

    words: list[tuple[int, int]]
    terms: list[Term]


def locate(features: TextFeatures, text: str) -> Located:
    """Find the terms of a text; they are those that `features` counts.

    >>> features = TextFeatures(min_df=1).fit(["a cat"])
    >>> locate(features, "Cats? A cat.").words
    [(0, 4), (6, 7), (8, 11)]
    >>> [(t.term, t.column) for t in locate(features, "Cats? A cat.").terms]
    [('cats', -1), ('a', 0), ('cat', 1)]
    """
    found = find_words(text, features.token_pattern, features.lowercase, features.strip_accents)
    low, high = features.ngrams
    names = [word for word, _, _ in found]
    buckets = None if features.hashing is None else HashedIndex(features.hashing)
    terms = []
    for n in range(low, high + 1):
        for first in range(len(names) - n + 1):
            term = " ".join(names[first : first + n])
            column = features.vocabulary_.get(term, -1) if buckets is None else buckets[term]
            terms.append(Term(term, column, first, n))
    return Located([(start, end) for _, start, end in found], terms)


def find_words(text: str, pattern: str, lowercase: bool, strip: str | None) -> list[tuple[str, int, int]]:
    """Give the words of a text as triples (word, start, end); the word is as it is counted, its place as it stands."""
    changed, origin = _changed(text, lowercase, strip)
    regex = re.compile(pattern)
    group = regex.groups  # 0 or 1, as re.findall takes it
    words = []
    for found in regex.finditer(changed):
        start, end = found.span(group)
        if start < 0:  # a group that took no part
            start = end = found.start()
        if origin is None:
            words.append((changed[start:end], start, end))
        else:
            last = origin[end - 1] + 1 if end > start else origin[start]
            words.append((changed[start:end], origin[start], last))
    return words


def _changed(text: str, lowercase: bool, strip: str | None) -> tuple[str, Sequence[int] | None]:
    """Give the text as words are looked for in it, and the place that each of its letters has in the original."""
    origin: Sequence[int] | None = None
    changed = text
    if lowercase:
        changed = text.lower()
        if len(changed) != len(text):  # a few capitals become two signs, whatever stands next to them
            origin = _repeated([len(c.lower()) for c in text])
    if strip and not changed.isascii():
        pieces = [without_accents(c, strip) for c in changed]
        before, origin = origin, _repeated([len(piece) for piece in pieces])
        if before is not None:
            origin = [before[place] for place in origin[:-1]] + [len(text)]
        changed = "".join(pieces)
    return changed, origin


def _repeated(sizes: list[int]) -> list[int]:
    """Give 0, 1, 2, … each as often as `sizes` says, and the end."""
    return [*chain.from_iterable(repeat(i, size) for i, size in enumerate(sizes)), len(sizes)]
