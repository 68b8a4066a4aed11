"""The data of the 2013 paper as they stand here: 20 Newsgroups, split at random and by date, and subtrees of RCV1.

RCV1 is here as 15,000 rows, not as the paper's LYRL2004 split; of equal rows one stays. CCAT, ECAT, GCAT and MCAT are
the documents that carry that code, with it and the labels below it: so counted, the paper's numbers of labels (34, 26,
33 and 10) come out. A fifth of them, drawn at random, is the test set. WIPO is not here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pinakes.datasets import Sample, load_corpus
from pinakes.documents import TextFeatures
from pinakes.reproduce.experiment import Settings
from pinakes.taxonomy import Taxonomy

RCV1 = ("CCAT", "ECAT", "GCAT", "MCAT")
NEWS = ("NEWS20", "NEWS20 by date")
SETS = (*RCV1, *NEWS)
TEST_SHARE = 0.2
QUICK = 400  # documents of a quick run, or a few more


class Task(NamedTuple):
    """Documents to learn from and to be tested on, each with its labels; `top` is a label that all of them have."""

    taxonomy: Taxonomy
    X: Any
    labels: list[list[str]]
    X_test: Any
    labels_test: list[list[str]]
    top: str | None = None


def load_task(settings: Settings, name: str, seed: int) -> Task:
    """Load one of `SETS`."""
    folder = str(settings.folder())
    if name in NEWS:
        return _newsgroups(folder, name != "NEWS20", seed, settings.quick)
    return _subtree(folder, name, seed, settings.quick)


@lru_cache(maxsize=1)
def _newsgroups(folder: str, by_date: bool, seed: int, quick: bool) -> Task:
    corpus = load_corpus(f"{folder}/news20")
    texts = [*(corpus.train.texts or []), *(corpus.test.texts or [])]
    labels = [list(few) for few in (*corpus.train.labels, *corpus.test.labels)]
    n_test = len(corpus.test) if by_date else round(TEST_SHARE * len(texts))
    order = np.arange(len(texts)) if by_date else np.random.default_rng(seed).permutation(len(texts))
    train, test = _few(order[:-n_test], quick), _few(order[-n_test:], quick)
    features = TextFeatures()
    X = features.fit_transform([texts[i] for i in train])
    X_test = features.transform([texts[i] for i in test])
    return Task(corpus.taxonomy, X, [labels[i] for i in train], X_test, [labels[i] for i in test])


@lru_cache(maxsize=1)
def _rcv1(folder: str, seed: int) -> Sample:
    return load_corpus(f"{folder}/rcv1", test_share=TEST_SHARE, random_state=seed)


def _subtree(folder: str, name: str, seed: int, quick: bool) -> Task:
    corpus = _rcv1(folder, seed)
    whole = corpus.taxonomy
    inside = {whole.ids[v] for v in whole.descendants.of(whole.index(name))}
    edges = [(whole.ids[p], whole.ids[c]) for p, c in whole.edges() if whole.ids[c] in inside - {name}]
    parts: list[Any] = []
    for part in (corpus.train, corpus.test):
        rows = _few(np.array([i for i, labels in enumerate(part.labels) if name in labels]), quick)
        assert part.X is not None
        parts += [part.X[rows], [[k for k in part.labels[i] if k in inside] for i in rows]]
    X, labels, X_test, labels_test = parts
    return Task(Taxonomy.from_edges([("", name), *edges]), X, labels, X_test, labels_test, name)


def _few(rows: Any, quick: bool) -> Any:
    """Give all rows, or for a quick run some from everywhere."""
    return rows[:: max(1, len(rows) // QUICK)] if quick else rows
