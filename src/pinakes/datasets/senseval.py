"""The English lexical sample of Senseval-2: an ambiguous word in its context, and which of its senses it has there.

The folder holds ``taxonomy.tsv`` (the senses below the files of WordNet's lexicographers), ``train.jsonl`` and
``test.jsonl``, each plain or packed (``.xz``, ``.gz``), with one context a line::

    {"id": "art.40002", "lemma": "art.n", "text": "… the <<art>> gallery …", "labels": ["art_gallery%1:06:00::"]}

Official answers that are no senses, P (a proper name) and U (none fits), are left out: some contexts have no labels.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pinakes.datasets.corpora import PARTS, find_parts, load_corpus
from pinakes.documents import Corpus
from pinakes.errors import DocumentError
from pinakes.taxonomy import Taxonomy

OPEN, CLOSE = "<<", ">>"


@dataclass(frozen=True, slots=True)
class Context:
    """A word in its context.

    Attributes
    ----------
    id, lemma : str
        The id of the context, and the entry that the word belongs to.
    before, word, after : str
        The text up to the word, the word as it is written there, and the text after it.
    senses : tuple of str
        The right answers: one for most, several where the annotators allowed several, none for P and U.
    """

    id: str
    lemma: str
    before: str
    word: str
    after: str
    senses: tuple[str, ...]


class Senseval(NamedTuple):
    """The senses in their taxonomy, contexts to learn from, and contexts to be tested on."""

    taxonomy: Taxonomy
    train: list[Context]
    test: list[Context]


def load_senseval(folder: str | os.PathLike[str]) -> Senseval:
    """Load a lexical sample of Senseval-2 from a folder.

    Parameters
    ----------
    folder : path
        Holds ``taxonomy.tsv``, ``train.jsonl`` and ``test.jsonl``; see the head of this file.

    Returns
    -------
    Senseval
        The taxonomy and two lists of contexts; every sense is in the taxonomy.
    """
    taxonomy, *parts = load_corpus(folder)
    files = find_parts(Path(folder))[1:]
    train, test = (
        _contexts(corpus, Corpus.read(file, labels="lemma"), part)
        for corpus, file, part in zip(parts, files, PARTS[1:], strict=True)
    )
    return Senseval(taxonomy, train, test)


def _contexts(corpus: Corpus, lemmas: Corpus, part: str) -> list[Context]:
    """Put texts and senses together with the lemmas, which are read as if they were labels."""
    if corpus.texts is None:
        raise DocumentError(f"{part}: contexts must be texts, got vectors")
    contexts = []
    for i, text in enumerate(corpus.texts):
        where: dict[str, Any] = {"source": corpus.sources[i], "line": corpus.lines[i]}
        if len(lemmas.labels[i]) != 1:
            found = f"{len(lemmas.labels[i])} lemmas" if lemmas.labels[i] else "none"
            raise DocumentError(f"a context needs its one lemma under the key 'lemma', got {found}", **where)
        if text.count(OPEN) != 1 or text.count(CLOSE) != 1 or text.index(OPEN) > text.index(CLOSE):
            raise DocumentError(
                f"the ambiguous word must stand once as {OPEN}word{CLOSE}, got {text.count(OPEN)} of {OPEN!r} and "
                f"{text.count(CLOSE)} of {CLOSE!r}; mark the one that is meant",
                **where,
            )
        before, _, rest = text.partition(OPEN)
        word, _, after = rest.partition(CLOSE)
        if not word.strip():
            raise DocumentError(f"there must be a word between {OPEN} and {CLOSE}, got none", **where)
        contexts.append(Context(corpus.ids[i], lemmas.labels[i][0], before, word.strip(), after, corpus.labels[i]))
    return contexts
