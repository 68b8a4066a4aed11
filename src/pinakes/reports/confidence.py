"""How sure a model is of categories and of everything above them (pinakes.decisions), and whether it was right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pinakes.decisions import Classifier
from pinakes.metrics.labels import LabelSets
from pinakes.models.classes import class_nodes
from pinakes.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
N_BINS = 10
LEAST = 0.01  # of label sets, only categories with a confidence of at least this are claims


class NodeConfidences:
    """Gives the confidences of a classifier in classes and in all nodes: the one place where reports ask for them."""

    def __init__(self, classifier: Classifier) -> None:
        self.taxonomy: Taxonomy = classifier.model.taxonomy_
        self.class_node = class_nodes(self.taxonomy, classifier.model.classes_)
        self._believer = classifier.believer()

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Give p (documents by classes) and P (documents by nodes) from the scores of all classes."""
        beliefs = self._believer.beliefs(scores)
        return beliefs.classes, beliefs.nodes


@dataclass(frozen=True)
class Bins:
    """Claims by confidence: how many, how sure on average, how many right; ten bins of equal width."""

    n: Ints
    confidence: Floats
    right: Ints

    @classmethod
    def of(cls, confidence: Floats, right: Bools) -> Bins:
        place = np.minimum((confidence * N_BINS).astype(np.int64), N_BINS - 1)
        return cls(
            np.bincount(place, minlength=N_BINS),
            np.bincount(place, confidence, N_BINS).astype(np.float64),
            np.bincount(place, right, N_BINS).astype(np.int64),
        )

    def __add__(self, other: Bins) -> Bins:
        return Bins(self.n + other.n, self.confidence + other.confidence, self.right + other.right)

    @property
    def expected_calibration_error(self) -> float:
        """The mean, over claims, of how far each bin's share of right claims is from its mean confidence."""
        return float(np.abs(self.right - self.confidence).sum() / max(1, self.n.sum()))


@dataclass(frozen=True)
class Confidences:
    """How sure the model was of its best class, of what lies above it, and of the best node at every level.

    Attributes
    ----------
    best, best_confidence, best_right : arrays of shape (n_documents,)
        The class with the highest score (its node), how sure, and whether it is a true label.
    level_node, level_confidence, level_right : arrays of shape (n_documents, depth)
        The most likely node of each level, how sure, and whether a true label lies there or below.
    category, parent : Bins
        Claims about categories and about their parents. One label a document: its answer, and the most likely parent
        of it (a root stands for its own parent). Label sets: all categories, and all parents of categories, with a
        confidence of at least 0.01.
    """

    best: Ints
    best_confidence: Floats
    best_right: Bools
    level_node: Ints
    level_confidence: Floats
    level_right: Bools
    category: Bins
    parent: Bins


class Recorder:
    """Takes scores a few documents at a time and keeps what `Confidences` holds."""

    def __init__(self, classifier: Classifier, true: LabelSets) -> None:
        self._confidences = NodeConfidences(classifier)
        self._sets = classifier.has_sets
        self._true, self._closed = true, true.closed(self._confidences.taxonomy)
        taxonomy = self._confidences.taxonomy
        n, depth = true.n_documents, taxonomy.depth
        self._first = np.searchsorted(taxonomy.levels, np.arange(1, depth + 2))  # nodes are numbered by level
        self._best, self._best_confidence = np.zeros(n, dtype=np.int64), np.zeros(n)
        self._level_node, self._level_confidence = np.zeros((n, depth), dtype=np.int64), np.zeros((n, depth))
        self._parent, self._parent_confidence = np.zeros(n, dtype=np.int64), np.zeros(n)
        self._above = np.unique([self._parents(int(v))[0] for v in self._confidences.class_node])
        none = np.zeros(N_BINS, dtype=np.int64)
        self._bins = [Bins(none, none.astype(np.float64), none)] * 2

    def add(self, first: int, scores: Floats) -> None:
        """Take the scores of some documents, the first of which has this number."""
        by_class, by_node = self._confidences(scores)
        part = slice(first, first + len(scores))
        rows = np.arange(len(scores))
        k = scores.argmax(axis=1)
        self._best[part] = self._confidences.class_node[k]
        self._best_confidence[part] = by_class[rows, k]
        for level, (begin, end) in enumerate(zip(self._first, self._first[1:], strict=False)):
            v = begin + by_node[:, begin:end].argmax(axis=1)
            self._level_node[part, level], self._level_confidence[part, level] = v, by_node[rows, v]
        for best in np.unique(self._best[part]):
            above = self._parents(int(best))
            some = np.flatnonzero(self._best[part] == best)
            values = by_node[np.ix_(some, above)]
            self._parent[first + some] = above[values.argmax(axis=1)]
            self._parent_confidence[first + some] = values.max(axis=1)
        if self._sets:
            nodes = self._confidences.class_node.astype(np.int64)
            for which, values, columns, true in (
                (0, by_class, nodes, self._true),
                (1, by_node[:, self._above], self._above, self._closed),
            ):
                row, column = np.nonzero(values >= LEAST)
                right = np.isin((first + row) * true.n_labels + columns[column], true.keys)
                self._bins[which] += Bins.of(values[row, column], right)

    def finish(self) -> Confidences:
        """Give what was kept."""
        documents = np.arange(self._true.n_documents)
        n_labels = self._true.n_labels
        best_right = np.isin(documents * n_labels + self._best, self._true.keys)
        level_right = np.isin(documents[:, None] * n_labels + self._level_node, self._closed.keys)
        category, parent = self._bins
        if not self._sets:
            category = Bins.of(self._best_confidence, best_right)
            parent = Bins.of(self._parent_confidence, np.isin(documents * n_labels + self._parent, self._closed.keys))
        return Confidences(
            self._best,
            self._best_confidence,
            best_right,
            self._level_node,
            self._level_confidence,
            level_right,
            category,
            parent,
        )

    def _parents(self, v: int) -> Ints:
        above = self._confidences.taxonomy.parents.of(v).astype(np.int64)
        return above if len(above) else np.array([v])
