"""What a model answers on labelled documents, document by document: measures, reports and comparisons rest on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pinakes import metrics
from pinakes.decisions import Classifier
from pinakes.documents import Corpus
from pinakes.metrics.labels import LabelSets, read_two
from pinakes.reports.confidence import Confidences, Floats, Recorder
from pinakes.reports.counts import COUNTED, Counts, count
from pinakes.taxonomy import Taxonomy

AT_ONCE = 2000  # documents scored at a time, fewer where
CELLS = 1 << 22  # documents times nodes would be more than this


@dataclass(frozen=True)
class Evaluation:
    """The answers of one model on a corpus, and what they are measured against.

    Attributes
    ----------
    corpus : Corpus
        The documents with their true labels.
    taxonomy : Taxonomy
    classes : list of str
        The categories that the model knows.
    has_sets : bool
        Whether an answer is a set of labels.
    answers : list of str, or of lists of str
        One label, or one list of labels, a document.
    rankings : dict
        The values of the ranking metrics, document by document.
    confidences : Confidences or None
        How sure the model was, where this was asked for.
    """

    corpus: Corpus
    taxonomy: Taxonomy
    classes: list[str]
    has_sets: bool
    answers: list[Any]
    rankings: dict[str, Floats]
    confidences: Confidences | None = None

    def __len__(self) -> int:
        return len(self.answers)

    @cached_property
    def tested(self) -> list[Any]:
        """The labels that answers are tested against: all of a document, or the one nearest to a single answer."""
        if self.has_sets:
            return [list(labels) for labels in self.corpus.labels]
        return metrics.nearest_true(self.corpus.labels, self.answers, self.taxonomy)

    @cached_property
    def labels(self) -> tuple[LabelSets, LabelSets]:
        """The same as sets of node numbers: tested and answered."""
        return read_two(self.tested, self.answers, self.taxonomy)

    @cached_property
    def n_unseen(self) -> int:
        """How many documents have only labels that the model never saw."""
        known = set(self.classes)
        return sum(known.isdisjoint(labels) for labels in self.corpus.labels)

    @cached_property
    def measures(self) -> dict[str, float]:
        """All metrics that are defined for these answers."""
        evaluate = metrics.evaluate_sets if self.has_sets else metrics.evaluate_labels
        values = evaluate(self.corpus.labels, self.answers, self.taxonomy)
        return values | {name: float(each.mean()) for name, each in self.rankings.items()}

    @cached_property
    def means(self) -> dict[str, Floats]:
        """The values document by document of those metrics that are their mean."""
        found: dict[str, Floats] = {}
        for name in self.measures:
            metric = metrics.METRICS[name]
            if name in self.rankings:
                found[name] = self.rankings[name]
            elif name not in COUNTED and metric.has_documents:
                each = metric(self.tested, self.answers, self.taxonomy, per_document=True)
                if np.isclose(each.mean(), self.measures[name]):
                    found[name] = each
        return found

    @cached_property
    def counts(self) -> dict[str, Counts]:
        """What those metrics are made of that divide sums over all documents."""
        return {name: count(name, *self.labels, self.taxonomy) for name in self.measures if name in COUNTED}

    def as_sets(self) -> Evaluation:
        """Give the same answers as sets of labels, to be compared with those of a model of label sets."""
        return self if self.has_sets else replace(self, answers=[[one] for one in self.answers], has_sets=True)


def evaluate(
    classifier: Classifier,
    corpus: Corpus,
    *,
    confidences: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Answer all documents; scores of all categories are formed in parts.

    Parameters
    ----------
    classifier : Classifier
    corpus : Corpus
        Documents with labels of the classifier's taxonomy.
    confidences : bool, default=False
        Note also how sure the model is at every level.
    progress : callable, optional
        Is told how many documents are done.
    """
    model = classifier.model
    taxonomy: Taxonomy = model.taxonomy_
    classes = [str(k) for k in model.classes_]
    rankings = [name for name, metric in metrics.METRICS.items() if metric.needs == "scores"]
    parts: dict[str, list[Any]] = {name: [] for name in rankings}
    answers: list[Any] = []
    X = classifier.vectors(corpus)
    recorder = Recorder(classifier, read_two(corpus.labels, corpus.labels, taxonomy)[0]) if confidences else None
    step = max(1, min(AT_ONCE, CELLS // len(taxonomy)))
    for start in range(0, len(corpus), step):
        rows = X[start : start + step]
        scores = model.decision_function(rows)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        if classifier.has_sets:
            answers += [[str(k) for k in few] for few in classifier.label_sets(rows)]
        else:
            answers += [classes[k] for k in scores.argmax(axis=1)]
        true = corpus.labels[start : start + step]
        for name in rankings:
            parts[name].append(metrics.METRICS[name](true, scores, taxonomy, classes, per_document=True))
        if recorder is not None:
            recorder.add(start, scores)
        if progress is not None:
            progress(min(start + step, len(corpus)))
    found = {name: np.concatenate(values) for name, values in parts.items()}
    sure = None if recorder is None else recorder.finish()
    return Evaluation(corpus, taxonomy, classes, classifier.has_sets, answers, found, sure)
