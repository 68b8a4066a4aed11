"""A context as words: what is written around an ambiguous word, and which phrases it stands in.

Senses of phrases (``art_gallery``, ``bar_code``, ``sense_of_humour``) are known by their spelling: where the words
around the ambiguous one spell a phrase of its entry, the phrase is meant. Senseval-2 marked phrases in its files, and
its systems used that; here they are found in the text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Container, Iterable
from typing import NamedTuple

from pinakes.datasets.senseval import Context
from pinakes.taxonomy import Taxonomy

_TOKEN = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*|\d+(?:[.,]\d+)*|[^\sA-Za-z\d]")
_MARKS = {"&bquo;": '"', "&equo;": '"', "&rehy;": "-"}  # of the British National Corpus, not of HTML
_PLURALS = {"children": "child", "men": "man", "women": "woman", "feet": "foot", "teeth": "tooth"}
_ENDINGS = ("ingly", "edly", "ing", "ed", "ly")


class Words(NamedTuple):
    """The tokens of a context, which of them is the ambiguous word, and its sentence: tokens first..last-1."""

    tokens: tuple[str, ...]
    target: int
    first: int
    last: int


def split_context(context: Context) -> Words:
    """Cut a context into words, numbers and signs."""
    before, after = tokenize(context.before), tokenize(context.after)
    tokens = (*before, context.word, *after)
    target = len(before)
    ends = [k for k, token in enumerate(tokens) if token in ".!?" and k != target]
    first = max((k + 1 for k in ends if k < target), default=0)
    last = min((k for k in ends if k > target), default=len(tokens))
    return Words(tokens, target, first, last)


def tokenize(text: str) -> list[str]:
    """Cut a text into words, numbers and signs.

    >>> tokenize("The director&equo;s 2,000 avant-garde films &mdash; all")
    ['The', 'director', '"', 's', '2,000', 'avant-garde', 'films', '—', 'all']
    """
    for mark, sign in _MARKS.items():
        text = text.replace(mark, sign)
    return _TOKEN.findall(html.unescape(text))


def singular(word: str) -> str:
    """Give a noun in small letters and without its plural ending.

    >>> [singular(w) for w in ("Bodies", "churches", "children", "senses", "glass", "bus")]
    ['body', 'church', 'child', 'sense', 'glass', 'bus']
    """
    word = word.lower()
    if word in _PLURALS:
        return _PLURALS[word]
    if len(word) > 3 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def stem(word: str) -> str:
    """Give a word without the endings of plurals, past and present forms, and adverbs.

    >>> [stem(w) for w in ("stopped", "writing", "writes", "quickly", "holidays")]
    ['stop', 'writ', 'writ', 'quick', 'holiday']
    """
    word = singular(word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def spelling(sense: str) -> list[str]:
    """Give the words of a sense key: ``sense_of_humour%1:07:00::`` is a phrase of three.

    >>> spelling("musical_chairs%1:04:00::")
    ['musical', 'chair']
    """
    return [singular(word) for word in sense.partition("%")[0].split("_")]


def senses_by_lemma(taxonomy: Taxonomy, contexts: Iterable[Context]) -> dict[str, tuple[str, ...]]:
    """Give the senses of every lemma: those of the taxonomy that are spelled with it, and those it was given."""
    known: dict[str, set[str]] = {}
    for context in contexts:
        known.setdefault(context.lemma, set()).update(context.senses)
    keys = [sense for sense in taxonomy.ids if "%" in sense]
    parts = {key: {part for word in spelling(key) for part in (word, *word.split("-"))} for key in keys}
    for lemma, senses in known.items():
        word = lemma.rpartition(".")[0] or lemma
        senses.update(key for key in keys if word in parts[key])
    return {lemma: tuple(sorted(senses)) for lemma, senses in known.items()}


def phrase_senses(words: Words, senses: Iterable[str]) -> list[str]:
    """Give those senses that are phrases and are spelled around the ambiguous word; of several, the longest."""
    phrases = [(phrase, sense) for sense in senses if len(phrase := spelling(sense)) > 1]
    reach = max((len(phrase) for phrase, _ in phrases), default=1) - 1
    start = max(0, words.target - reach)
    tokens = [singular(token) for token in words.tokens[start : words.target + reach + 1]]
    target = words.target - start
    found: list[tuple[int, str]] = []
    for phrase, sense in phrases:
        n = len(phrase)
        if any(tokens[k : k + n] == phrase for k in range(max(0, target - n + 1), target + 1)):
            found.append((n, sense))
    longest = max((n for n, _ in found), default=0)
    return [sense for n, sense in found if n == longest]


def choices(words: Words, senses: Iterable[str], learnt: Container[str]) -> list[str]:
    """Give the senses to choose from: phrases where they are spelled, else the single words that were learnt."""
    senses = list(senses)
    phrases = phrase_senses(words, senses)
    if phrases:
        return [sense for sense in phrases if sense in learnt] or phrases
    known = [sense for sense in senses if sense in learnt] or senses
    return [sense for sense in known if len(spelling(sense)) == 1] or known
