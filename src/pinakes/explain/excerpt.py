"""A text cut into pieces for showing: words with what they add, what stands between them, and gaps in long texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pinakes.explain.explanation import Mark

MOST = 700  # letters shown of a text
AROUND = 50  # letters shown on both sides of a word, where not all are


class Piece(NamedTuple):
    """A piece of text: a word with what it adds (`score`), a word that is not known (`unknown`), or what is between."""

    text: str
    score: float | None = None
    unknown: bool = False


def cut(text: str, marks: Sequence[Mark], most: int = MOST) -> list[Piece]:
    """Cut a text at its marks; of a long one only what stands around the words that add most, or take most, is left."""
    pieces: list[Piece] = []
    end = 0
    for start, stop in _windows(text, marks, most):
        if start > end:
            pieces.append(Piece(" … " if end else "… "))
        at = start
        for mark in marks:
            if mark.start < at or mark.end > stop:
                continue
            pieces.append(Piece(clean(text[at : mark.start])))
            pieces.append(Piece(clean(text[mark.start : mark.end]), mark.score, mark.score is None))
            at = mark.end
        pieces.append(Piece(clean(text[at:stop])))
        end = stop
    if end < len(text.rstrip()):
        pieces.append(Piece(" …"))
    return [piece for piece in pieces if piece.text]


def clean(text: str) -> str:
    """Turn runs of white space into one blank, and signs that a terminal would obey into what can be read.

    >>> clean("a\\n  b\\x1b")
    'a b\\\\x1b'
    """
    words = " ".join(text.split())
    if text[:1].isspace():
        words = f" {words}"
    if words.strip() and text[-1:].isspace():
        words = f"{words} "
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words)


def _windows(text: str, marks: Sequence[Mark], most: int) -> list[tuple[int, int]]:
    """Choose the parts of a text that are shown."""
    whole = len(text.rstrip())
    if whole <= most:
        return [(0, whole)]
    chosen: list[tuple[int, int]] = []
    for mark in sorted((mark for mark in marks if mark.score), key=lambda mark: -abs(mark.score or 0.0)):
        start, end = max(0, mark.start - AROUND), min(whole, mark.end + AROUND)
        while start > 0 and not text[start - 1].isspace() and mark.start - start < 2 * AROUND:
            start -= 1
        while end < whole and not text[end].isspace() and end - mark.end < 2 * AROUND:
            end += 1
        merged = _merged([*chosen, (start, end)])
        if sum(stop - first for first, stop in merged) > most and chosen:
            break
        chosen = merged
    return chosen or [(0, most)]


def _merged(windows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(windows):
        if out and start <= out[-1][1] + 1:
            out[-1] = out[-1][0], max(end, out[-1][1])
        else:
            out.append((start, end))
    return out
