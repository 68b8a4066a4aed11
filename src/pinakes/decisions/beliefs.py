"""What a model believes of a document: the probability of every node of the taxonomy.

With one label a document, P(v) is the sum over the distinct classes at or below v, on a lattice too. With label sets it
is the probability that one of the labels lies at or below v. Either way a parent is never less likely than its child.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pinakes.decisions.calibration import Calibration
from pinakes.decisions.held_out import nodes_of
from pinakes.decisions.set_calibration import SetCalibration
from pinakes.kernels import beliefs
from pinakes.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
NO_NODES: npt.NDArray[np.int32] = np.zeros(0, dtype=np.int32)


class Beliefs:
    """Probabilities of some documents, each kind worked out when it is first asked for.

    Attributes
    ----------
    scores : ndarray (n_documents, n_classes)
    classes : ndarray (n_documents, n_classes)
        The probability of each class; with one label a document they sum to 1.
    nodes : ndarray (n_documents, n_nodes)
        That of each node.
    """

    def __init__(self, believer: Believer, scores: npt.NDArray[Any]) -> None:
        self.believer, self.scores = believer, scores

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def classes(self) -> Floats:
        if isinstance(self.believer.calibration, SetCalibration):
            return self.nodes[:, self.believer.class_node]
        return self.believer.calibration.probabilities(self.scores)

    @cached_property
    def nodes(self) -> Floats:
        believer, taxonomy = self.believer, self.believer.taxonomy
        if isinstance(believer.calibration, SetCalibration):
            return believer.calibration.probabilities(self.scores, believer.class_node, taxonomy)
        out = np.empty((len(self), len(taxonomy)))
        beliefs.add_up(self.classes, believer.below, *taxonomy.parents, out)
        return out

    def of(self, nodes: list[npt.NDArray[np.int64]]) -> list[Floats]:
        """Give the probabilities of a few nodes of each document."""
        if self.believer.has_sets:
            return [P[few] for few, P in zip(nodes, self.nodes, strict=True)]
        sizes = [len(few) for few in nodes]
        out = np.empty(sum(sizes))
        if len(out):
            documents = np.repeat(np.arange(len(nodes)), sizes)
            up = self.believer.taxonomy.ancestors
            beliefs.of_nodes(self.classes, documents, np.concatenate(nodes), self.believer.below, *up, out)
        return np.split(out, np.cumsum(sizes[:-1]))


class Believer:
    """Turns scores into beliefs.

    Parameters
    ----------
    taxonomy : Taxonomy
    class_node : ndarray of int32
        The node of each class.
    calibration : Calibration or SetCalibration
    """

    def __init__(
        self, taxonomy: Taxonomy, class_node: npt.NDArray[np.int32], calibration: Calibration | SetCalibration
    ) -> None:
        self.taxonomy, self.class_node, self.calibration = taxonomy, class_node, calibration

    @classmethod
    def of(cls, model: Any, calibration: Calibration | SetCalibration) -> Believer:
        """Make one for a fitted model."""
        return cls(model.taxonomy_, nodes_of(model), calibration)

    @property
    def has_sets(self) -> bool:
        """Whether documents have any number of labels."""
        return isinstance(self.calibration, SetCalibration)

    @cached_property
    def parent(self) -> npt.NDArray[np.int32]:
        """The parent of every node of a tree, n_nodes for a root; empty for a lattice."""
        if not self.taxonomy.is_tree:
            return NO_NODES
        parent = np.full(len(self.taxonomy), len(self.taxonomy), dtype=np.int32)
        has_one = self.taxonomy.parents.sizes() == 1
        parent[has_one] = self.taxonomy.parents.indices
        return parent

    @cached_property
    def below(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """The classes at or below each node: where they begin and end in a list, and the list (kernels/beliefs.py)."""
        place = np.full(len(self.taxonomy), -1)
        place[self.class_node] = np.arange(len(self.class_node))
        if self.taxonomy.is_tree:
            first, last, order = depth_first(self.taxonomy)
            place = place[order]
        else:
            indptr, indices = self.taxonomy.descendants
            first, last, place = indptr[:-1], indptr[1:], place[indices]
        before = np.concatenate([[0], np.cumsum(place >= 0)])
        classes = place[place >= 0].astype(np.int32)
        in_order = len(classes) == len(self.class_node) and (np.diff(classes) > 0).all()
        return before[first], before[last], NO_NODES if in_order else classes

    def beliefs(self, scores: npt.NDArray[Any]) -> Beliefs:
        """Give the probabilities of classes and nodes."""
        return Beliefs(self, scores)


def depth_first(tree: Taxonomy) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number the nodes of a tree so that those at or below a node follow each other.

    Gives where they begin and end for each node, and the nodes in that order.
    """
    n_nodes = len(tree)
    size = np.ones(n_nodes, dtype=np.int64)
    for v in range(n_nodes - 1, -1, -1):  # parents come before children
        for parent in tree.parents.of(v):
            size[parent] += size[v]
    first = np.zeros(n_nodes, dtype=np.int64)
    free = 0
    for v in range(n_nodes):
        if not len(tree.parents.of(v)):
            first[v], free = free, free + size[v]
        at = first[v] + 1
        for child in tree.children.of(v):
            first[child], at = at, at + size[child]
    order = np.empty(n_nodes, dtype=np.int64)
    order[first] = np.arange(n_nodes)
    return first, first + size, order
