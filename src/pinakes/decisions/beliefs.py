"""What a model believes of a document: the probability of every node of the taxonomy.

With one label a document, P(v) is the sum over the distinct classes at or below v, on a lattice too. With label sets it
is the probability that one of the labels lies at or below v. Either way a parent is never less likely than its child.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pinakes.decisions.calibration import Calibration
from pinakes.decisions.held_out import nodes_of
from pinakes.decisions.set_calibration import SetCalibration
from pinakes.kernels import beliefs
from pinakes.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
NO_NODES: npt.NDArray[np.int32] = np.zeros(0, dtype=np.int32)


class Beliefs(NamedTuple):
    """Probabilities of some documents.

    Attributes
    ----------
    scores : ndarray (n_documents, n_classes)
    classes : ndarray (n_documents, n_classes)
        Of each class; with one label a document they sum to 1.
    nodes : ndarray (n_documents, n_nodes)
        Of each node.
    """

    scores: npt.NDArray[Any]
    classes: Floats
    nodes: Floats


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
    def tree(self) -> tuple[npt.NDArray[Any], ...]:
        """What kernels take as the tree: parents, inner nodes, roots and children (kernels/beliefs.py)."""
        inner = np.flatnonzero(self.taxonomy.children.sizes())[::-1].astype(np.int32)
        inner = inner if self.taxonomy.is_tree else NO_NODES
        return self.parent, np.ascontiguousarray(inner), self.taxonomy.roots, *self.taxonomy.children

    @property
    def up(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """What kernels take as the ancestors: these on a lattice; on a tree, where they look at `parent`, no more."""
        return self.taxonomy.parents if self.taxonomy.is_tree else self.taxonomy.ancestors

    def classes(self, scores: npt.NDArray[Any]) -> Floats:
        """Give the probabilities of classes alone."""
        if isinstance(self.calibration, SetCalibration):
            return self.calibration.probabilities(scores, self.class_node, self.taxonomy)[:, self.class_node]
        return self.calibration.probabilities(scores)

    def beliefs(self, scores: npt.NDArray[Any]) -> Beliefs:
        """Give the probabilities of classes and nodes."""
        if isinstance(self.calibration, SetCalibration):
            nodes = self.calibration.probabilities(scores, self.class_node, self.taxonomy)
            return Beliefs(scores, nodes[:, self.class_node], nodes)
        p = self.calibration.probabilities(scores)
        nodes = np.empty((len(p), len(self.taxonomy)))
        beliefs.add_up(p, self.class_node, self.tree, *self.up, nodes)
        return Beliefs(scores, p, nodes)
