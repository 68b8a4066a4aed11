"""The data of the 2013 paper as they stand here: 20 Newsgroups, split at random and by date, and subtrees of RCV1.

RCV1 is here as 15,000 rows, not as the paper's LYRL2004 split; of equal rows one stays. CCAT, ECAT, GCAT and MCAT are
the documents that carry that code, with it and the labels below it: so counted, the paper's numbers of labels (34, 26,
33 and 10) come out. A fifth of them, drawn at random, is the test set. WIPO is not here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pinakes.datasets import load_corpus
from pinakes.documents import TextFeatures
from pinakes.reproduce.experiment import Settings
from pinakes.taxonomy import Taxonomy

RCV1 = ("CCAT", "ECAT", "GCAT", "MCAT")
NEWS = ("NEWS20", "NEWS20 by date")
SETS = (*RCV1, *NEWS)
TEST_SHARE = 0.2
QUICK = 400  # documents of a quick run


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
    task = _subtree(settings, name, seed) if name in RCV1 else _news(settings, name, seed)
    if not settings.quick:
        return task
    few, few_test = slice(QUICK), slice(QUICK // 4)
    return task._replace(
        X=task.X[few], labels=task.labels[few], X_test=task.X_test[few_test], labels_test=task.labels_test[few_test]
    )


@lru_cache(maxsize=1)
def _newsgroups(folder: str, by_date: bool, seed: int) -> Task:
    corpus = load_corpus(f"{folder}/news20")
    texts = [*(corpus.train.texts or []), *(corpus.test.texts or [])]
    labels = [list(few) for few in (*corpus.train.labels, *corpus.test.labels)]
    if by_date:
        order, n_train = np.arange(len(texts)), len(corpus.train)
    else:
        order = np.random.default_rng(seed).permutation(len(texts))
        n_train = len(texts) - round(TEST_SHARE * len(texts))
    features = TextFeatures()
    X = features.fit_transform([texts[i] for i in order[:n_train]])
    X_test = features.transform([texts[i] for i in order[n_train:]])
    named = [labels[i] for i in order]
    return Task(corpus.taxonomy, X, named[:n_train], X_test, named[n_train:])


def _news(settings: Settings, name: str, seed: int) -> Task:
    task = _newsgroups(str(settings.folder()), name != "NEWS20", seed)
    if settings.quick and name != "NEWS20":  # the posts stand by group there: take some of each
        step, step_test = max(1, task.X.shape[0] // QUICK), max(1, task.X_test.shape[0] // (QUICK // 4))
        task = task._replace(
            X=task.X[::step],
            labels=task.labels[::step],
            X_test=task.X_test[::step_test],
            labels_test=task.labels_test[::step_test],
        )
    return task


def _subtree(settings: Settings, name: str, seed: int) -> Task:
    corpus = load_corpus(settings.folder() / "rcv1", test_share=TEST_SHARE, random_state=seed)
    whole = corpus.taxonomy
    inside = {whole.ids[v] for v in whole.descendants.of(whole.index(name))}
    edges = [(whole.ids[p], whole.ids[c]) for p, c in whole.edges() if whole.ids[c] in inside - {name}]
    taxonomy = Taxonomy.from_edges([("", name), *edges])
    parts: list[Any] = []
    for part in (corpus.train, corpus.test):
        rows = [i for i, labels in enumerate(part.labels) if name in labels]
        assert part.X is not None
        parts += [part.X[np.array(rows)], [[k for k in part.labels[i] if k in inside] for i in rows]]
    return Task(taxonomy, parts[0], parts[1], parts[2], parts[3], name)
