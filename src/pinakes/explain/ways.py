"""What a score is a sum over: the columns of a model's weights that an answer takes, and the node behind each.

    F(x, y) = sum over the parts a of y's way of  factor_a <u_{column_a}, x>

A part is named by a number: v is the taxonomy's node v; n + v (n nodes in all) is the category v itself, apart from
what lies below it; 2 n + a is attribute a of a matrix given as `class_attributes`. Of the difference of two answers
only those parts are left that not both have.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pinakes.errors import LabelError
from pinakes.kernels import closed
from pinakes.models.closed_outputs import ClosedOutputModel
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.attributes import ClassAttributes
from pinakes.taxonomy.taxonomy import Relation

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Ways(NamedTuple):
    """The ways of some answers, one after the other: parts indptr[i]..indptr[i + 1] - 1 are those of answer i."""

    indptr: Ints
    columns: Ints
    factors: Floats
    names: Ints  # see the head of this file

    def minus(self, other: Ways) -> Ways:
        """Give the ways of differences, answer by answer: what both have alike is left out, the other's comes last."""
        n = len(self.indptr) - 1
        owner = np.concatenate([np.repeat(np.arange(n), np.diff(ways.indptr)) for ways in (self, other)])
        factors = np.concatenate([self.factors, -other.factors])
        names = np.concatenate([self.names, other.names])
        width = int(names.max(initial=0)) + 1
        _, group = np.unique(owner * width + names, return_inverse=True)
        total: Floats = np.bincount(group, weights=factors)[group].astype(np.float64)
        side = np.repeat([0, 1], [len(self.names), len(other.names)])
        left = np.flatnonzero((total != 0) & ((side == 0) | (np.bincount(group)[group] == 1)))
        left = left[np.lexsort((names[left], side[left], owner[left]))]
        columns = np.concatenate([self.columns, other.columns])
        return Ways(_indptr(owner[left], n), columns[left], total[left], names[left])


def attribute_ways(attributes: ClassAttributes, taxonomy: Taxonomy, classes: Ints) -> Ways:
    """Give the ways of classes (numbers) of a model whose weights are by attribute."""
    n, n_nodes = len(classes), len(taxonomy)
    if attributes.values is not None:
        owner, places = attributes.paths.spread(classes)
        columns = attributes.paths.indices[places].astype(np.int64)
        return Ways(_indptr(owner, n), columns, attributes.values[places], 2 * n_nodes + columns)
    nodes = attributes.class_node[classes].astype(np.int64)
    owner, places = taxonomy.ancestors.spread(nodes)
    above = taxonomy.ancestors.indices[places].astype(np.int64)
    columns = attributes.node_attribute[above].astype(np.int64)
    kept = columns >= 0  # a node above every category tells none from another
    owner, above, columns = owner[kept], above[kept], columns[kept]
    own = attributes.own[classes].astype(np.int64)
    apart = np.flatnonzero(attributes.node_attribute[nodes] != own)
    order = np.argsort(np.concatenate([owner, apart]), kind="stable")
    factors = np.concatenate([attributes.node_share[above], np.ones(len(apart))])
    names = np.concatenate([above, n_nodes + nodes[apart]])
    columns = np.concatenate([columns, own[apart]])
    owner = np.concatenate([owner, apart])[order]
    return Ways(_indptr(owner, n), columns[order], factors[order], names[order])


def node_ways(model: ClosedOutputModel, classes: Ints) -> Ways:
    """Give the ways of classes (numbers) of a model whose weights are by node, one label a document."""
    relation = Relation(model._ways.indptr.astype(np.int64), model._ways.indices)
    owner, places = relation.spread(classes)
    columns = relation.indices[places].astype(np.int64)
    return Ways(_indptr(owner, len(classes)), columns, np.ones(len(columns)), model.nodes_[columns].astype(np.int64))


def set_ways(model: ClosedOutputModel, values: Floats, classes: Ints) -> Ways:
    """Give the ways of classes of a model with label sets, where `values` are the nodes' scores on each document.

    The score is half of: the best closed set with the class minus the best one without it. So what counts are the nodes
    that one of these sets has and the other has not.
    """
    place = np.full(len(model.taxonomy_), -1, dtype=np.int64)
    place[model.nodes_] = np.arange(len(model.nodes_))
    at = place[model._class_node[classes]]
    if (at < 0).any():
        label = str(model.classes_[classes[int(np.argmin(at))]])
        raise LabelError(f"{label!r} was no document's label in training, so that it is never an answer")
    known = np.arange(len(classes))
    with_it = values.copy()
    much = 1.0 + 4.0 * np.abs(values).sum(axis=1)  # more than all other nodes together
    with_it[known, at[known]] += much[known]
    without = values.copy()
    without[known, at[known]] -= much[known]
    chosen, left = (np.empty(values.shape, dtype=np.int8) for _ in range(2))
    closed.best_outputs(with_it, model._parent, chosen)
    closed.best_outputs(without, model._parent, left)
    sign = (chosen.astype(np.int64) - left) // 2  # +1: only with it, -1: only without it
    owner, columns = np.nonzero(sign)
    factors = sign[owner, columns]
    order = np.lexsort((columns, -factors, owner))
    owner, columns = owner[order], columns[order]
    factor: Floats = factors[order].astype(np.float64)
    return Ways(_indptr(owner, len(classes)), columns, factor, model.nodes_[columns].astype(np.int64))


def class_ways(model: Any, classes: Ints) -> Ways:
    """Give the ways of classes of a model with one weight vector a class (`coef_`), and none for nodes."""
    n = len(classes)
    names = np.array([model.taxonomy_.index(str(model.classes_[k])) for k in classes], dtype=np.int64)
    if len(model.coef_) == 1 and len(model.classes_) == 2:  # the second class's; the first has the negative
        return Ways(np.arange(n + 1), np.zeros(n, dtype=np.int64), np.where(classes == 1, 1.0, -1.0), names)
    return Ways(np.arange(n + 1), classes.copy(), np.ones(n), names)


def _indptr(owner: Ints, n: int) -> Ints:
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n))]).astype(np.int64)
