"""The loss Delta(y, y_hat) of answering y_hat where y is right.

    Delta(y, y_hat) = sum over z in anc(y) - anc(y_hat) of miss_z
                    + sum over z in anc(y_hat) - anc(y) of false_z

with anc(y) the node y and everything above it, miss_z = f_z c_z and false_z = f_z cbar_z: f_z people follow
node z, each is owed c_z for a document that did not reach them and cbar_z for one that should not have. With
f = 1 and c = cbar = 1/2 ("tree") this is half the symmetric difference of the ancestor sets: half the path
length in a tree. With f = 1/10 for the nodes that are no classes ("exact") what counts most is the class itself, and
how far off an answer is still tells mistakes apart. Two other losses stand beside it: zero-one, and any matrix. All of
them are asked by node numbers of the taxonomy, and none forms a table of all nodes by all nodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pinakes.errors import LabelError, ParameterError, closest
from pinakes.taxonomy.taxonomy import Relation, Taxonomy

Floats = npt.NDArray[np.float64]
Cost = float | Mapping[str, float] | Sequence[float] | Floats
LossSpec = Any  # "tree", "exact", "zero-one", NodeCosts, a square matrix, or a Loss

NAMES = ("tree", "exact", "zero-one")
WANTED = "loss must be 'tree', 'exact', 'zero-one', NodeCosts or a square matrix"
BEYOND = 0.1  # in "exact", how many follow a node that is no class; 1 follows a class
PAIRS_AT_ONCE = 1 << 15  # keeps the merged ancestor sets of a chunk within the cache


def members(relation: Relation, nodes: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Give for many nodes all relatives, one after the other: the position in `nodes` of each, and itself."""
    owner, places = relation.spread(nodes)
    return owner, relation.indices[places]


@dataclass(frozen=True)
class NodeCosts:
    """Costs by node: `f` followers, `c` the cost of missing it, `cbar` of wrongly sending to it.

    Each is one number for all nodes, a mapping from ids (nodes left out keep the default), or an array in
    node order.
    """

    f: Cost = 1.0
    c: Cost = 0.5
    cbar: Cost = 0.5


class Loss(ABC):
    """A loss between nodes of a taxonomy: zero where the answer is right, positive elsewhere."""

    taxonomy: Taxonomy

    @abstractmethod
    def pairs(self, y: npt.ArrayLike, y_hat: npt.ArrayLike) -> Floats:
        """Give Delta(y[i], y_hat[i]) for arrays of node numbers, or for one number against an array."""

    @abstractmethod
    def against(self, nodes: npt.ArrayLike) -> Callable[[int], Floats]:
        """Prepare for many questions about the same answers: give the function from y to Delta(y, nodes)."""

    @abstractmethod
    def unwanted(self, y_hat: npt.ArrayLike) -> Floats:
        """Give the loss of each answer where no label is right."""

    def row(self, y: int, nodes: npt.ArrayLike) -> Floats:
        """Give Delta(y, nodes[k]) for one y."""
        return self.against(nodes)(y)


class NodeLoss(Loss):
    """The cost of the nodes in which two ancestor sets differ.

    Attributes
    ----------
    miss, false : ndarray of float64, shape (n_nodes,)
        f_z c_z and f_z cbar_z, in node order.
    """

    def __init__(self, taxonomy: Taxonomy, miss: Floats, false: Floats) -> None:
        self.taxonomy, self.miss, self.false = taxonomy, miss, false

    def pairs(self, y: npt.ArrayLike, y_hat: npt.ArrayLike) -> Floats:
        y, y_hat = _alike(y, y_hat, len(self.taxonomy))
        out = np.empty(len(y))
        for start in range(0, len(y), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            out[part] = self._pairs(y[part], y_hat[part])
        return out

    def _pairs(self, y: npt.NDArray[np.int64], y_hat: npt.NDArray[np.int64]) -> Floats:
        n_nodes, up = len(self.taxonomy), self.taxonomy.ancestors
        owner, above = members(up, y)
        owner_hat, above_hat = members(up, y_hat)
        keys, keys_hat = owner * n_nodes + above, owner_hat * n_nodes + above_hat  # both ascending
        place = np.searchsorted(keys_hat, keys)
        place[place == len(keys_hat)] = 0
        common = keys_hat[place] == keys
        common_hat = np.zeros(len(keys_hat), dtype=bool)
        common_hat[place[common]] = True
        missed = _sums(owner, np.where(common, 0.0, self.miss[above]), len(y))
        return missed + _sums(owner_hat, np.where(common_hat, 0.0, self.false[above_hat]), len(y))

    def against(self, nodes: npt.ArrayLike) -> Callable[[int], Floats]:
        nodes = _numbers(nodes, len(self.taxonomy))
        owner, above = members(self.taxonomy.ancestors, nodes)
        false = self.false[above]

        def delta(y: int) -> Floats:
            up = self.taxonomy.ancestors.of(y)
            inside = np.zeros(len(self.taxonomy), dtype=bool)
            inside[up] = True
            common = inside[above]
            reached = np.zeros((len(nodes), len(up)), dtype=bool)
            reached[owner[common], np.searchsorted(up, above[common])] = True
            return ~reached @ self.miss[up] + _sums(owner, np.where(common, 0.0, false), len(nodes))

        return delta

    def unwanted(self, y_hat: npt.ArrayLike) -> Floats:
        nodes = _numbers(y_hat, len(self.taxonomy))
        owner, above = members(self.taxonomy.ancestors, nodes)
        return _sums(owner, self.false[above], len(nodes))


class ZeroOneLoss(Loss):
    """1 for every wrong answer: what flat classifiers minimise."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy

    def pairs(self, y: npt.ArrayLike, y_hat: npt.ArrayLike) -> Floats:
        first, second = _alike(y, y_hat, len(self.taxonomy))
        wrong: npt.NDArray[np.bool_] = np.not_equal(first, second)
        return wrong.astype(np.float64)

    def against(self, nodes: npt.ArrayLike) -> Callable[[int], Floats]:
        nodes = _numbers(nodes, len(self.taxonomy))
        return lambda y: (nodes != y).astype(np.float64)

    def unwanted(self, y_hat: npt.ArrayLike) -> Floats:
        return np.ones(len(_numbers(y_hat, len(self.taxonomy))))


class MatrixLoss(Loss):
    """Any table of losses: rows the right class, columns the answer.

    Attributes
    ----------
    matrix : ndarray of float64, shape (n_classes, n_classes)
    classes : ndarray of int64
        The nodes of its rows and columns.
    """

    def __init__(self, taxonomy: Taxonomy, matrix: Floats, classes: npt.NDArray[np.int64]) -> None:
        self.taxonomy, self.matrix, self.classes = taxonomy, matrix, classes
        self._place = np.full(len(taxonomy), -1, dtype=np.int64)
        self._place[classes] = np.arange(len(classes))

    def pairs(self, y: npt.ArrayLike, y_hat: npt.ArrayLike) -> Floats:
        y, y_hat = _alike(y, y_hat, len(self.taxonomy))
        return self.matrix[self.find(y), self.find(y_hat)]

    def against(self, nodes: npt.ArrayLike) -> Callable[[int], Floats]:
        columns = self.find(_numbers(nodes, len(self.taxonomy)))
        return lambda y: self.matrix[self.find(np.array([y]))[0], columns]

    def unwanted(self, y_hat: npt.ArrayLike) -> Floats:
        columns = self.find(_numbers(y_hat, len(self.taxonomy)))
        worst: Floats = self.matrix.max(axis=0)
        return worst[columns]

    def find(self, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Give the row of each node."""
        place = self._place[nodes]
        if (place < 0).any():
            unknown = self.taxonomy.ids[nodes[np.argmin(place)]]
            raise LabelError(
                f"the loss matrix has no row for {unknown!r}; it covers {len(self.classes)} classes: give "
                "one that covers every label, or use loss='tree'"
            )
        return place


def make_loss(spec: LossSpec, taxonomy: Taxonomy, classes: Sequence[str] | None = None) -> Loss:
    """Make a loss from what a user wrote.

    Parameters
    ----------
    spec : {"tree", "exact", "zero-one"}, NodeCosts, square array or Loss
        Half the symmetric difference of ancestor sets; the same with a tenth of the cost for nodes that are no classes;
        1 for every mistake; costs by node; any table with a zero diagonal and positive values elsewhere, rows the right
        class; or a loss that is ready.
    taxonomy : Taxonomy
    classes : sequence of str, optional
        The ids between which the loss must be positive, those that count in full for "exact", and, for a table, the
        order of its rows. Default: the leaves, and for a table all nodes in node order.

    Examples
    --------
    >>> t = Taxonomy.from_edges([("", "animal"), ("animal", "cat"), ("animal", "dog"), ("", "plant")])
    >>> make_loss("tree", t).row(t.index("cat"), [t.index(i) for i in ("cat", "dog", "animal", "plant")])
    array([0. , 1. , 0.5, 1.5])
    """
    if isinstance(spec, Loss):
        return spec
    if isinstance(spec, NodeCosts):
        f, c, cbar = (_by_node(getattr(spec, name), name, taxonomy) for name in ("f", "c", "cbar"))
        loss = NodeLoss(taxonomy, f * c, f * cbar)
        _check_positive(loss, _class_nodes(classes, taxonomy) if classes is not None else taxonomy.leaves)
        return loss
    if isinstance(spec, str):
        if spec == "zero-one":
            return ZeroOneLoss(taxonomy)
        if spec in NAMES:
            half = np.full(len(taxonomy), 0.5)
            if spec == "exact":
                counted = taxonomy.leaves if classes is None else _class_nodes(classes, taxonomy)
                half *= BEYOND
                half[counted] = 0.5
            return NodeLoss(taxonomy, half, half)
        raise ParameterError(f"{WANTED}, got {spec!r}{closest(spec, NAMES)}")
    nodes = np.arange(len(taxonomy)) if classes is None else _class_nodes(classes, taxonomy)
    return MatrixLoss(taxonomy, _checked_matrix(spec, taxonomy, nodes), nodes)


def _sums(owner: npt.NDArray[np.int64], values: Floats, n_owners: int) -> Floats:
    """Add up the values of each owner."""
    return np.bincount(owner, values, n_owners).astype(np.float64, copy=False)


def _numbers(nodes: npt.ArrayLike, n_nodes: int) -> npt.NDArray[np.int64]:
    out = np.atleast_1d(np.asarray(nodes))
    if out.size == 0:
        return np.zeros(0, dtype=np.int64)
    if out.ndim != 1 or not np.issubdtype(out.dtype, np.integer) or out.min() < 0 or out.max() >= n_nodes:
        raise ParameterError(f"a loss is asked by node numbers from 0 to {n_nodes - 1}, got {nodes!r}")
    return out.astype(np.int64, copy=False)


def _alike(y: npt.ArrayLike, y_hat: npt.ArrayLike, n_nodes: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    first, second = _numbers(y, n_nodes), _numbers(y_hat, n_nodes)
    if len(first) != len(second) and 1 not in (len(first), len(second)):
        raise ParameterError(f"y and y_hat must be equally long, got {len(first)} and {len(second)}")
    first, second = np.broadcast_arrays(first, second)
    return first, second


def _class_nodes(classes: Sequence[str], taxonomy: Taxonomy) -> npt.NDArray[np.int64]:
    nodes = np.array([taxonomy.index(k) for k in classes], dtype=np.int64)
    if len(np.unique(nodes)) < len(nodes):
        raise ParameterError("the classes of a loss must be different, got one of them twice")
    return nodes


def _by_node(value: Cost, name: str, taxonomy: Taxonomy) -> Floats:
    """Spread what was given for f, c or cbar over all nodes."""
    if isinstance(value, Mapping):
        out = np.full(len(taxonomy), getattr(NodeCosts, name), dtype=np.float64)
        for node, cost in value.items():
            out[taxonomy.index(node)] = cost
    else:
        given = np.asarray(value, dtype=np.float64)
        if given.ndim and given.shape != (len(taxonomy),):
            raise ParameterError(
                f"`{name}` of NodeCosts must be a number, a mapping from ids, or one value for each of the "
                f"{len(taxonomy)} nodes, got shape {given.shape}"
            )
        out = np.array(np.broadcast_to(given, len(taxonomy)))
    bad = ~np.isfinite(out) | (out < 0)
    if bad.any():
        v = int(np.argmax(bad))
        raise ParameterError(
            f"`{name}` of NodeCosts must be finite and >= 0, got {out[v]} for node {taxonomy.ids[v]!r}"
        )
    return out


def _check_positive(loss: NodeLoss, classes: npt.NDArray[Any]) -> None:
    """Refuse costs under which two classes can be taken for each other at no cost.

    Delta(y, y_hat) holds miss_y unless y is above y_hat, and false of y_hat unless y_hat is above y. So
    nothing is left to check where both are positive for every class; the others are compared with all
    classes, the first thousand of them.
    """
    doubtful = classes[(loss.miss[classes] == 0) | (loss.false[classes] == 0)]
    if not len(doubtful):
        return
    against = loss.against(classes)
    ids = loss.taxonomy.ids
    for y in doubtful[:1000]:
        free = np.flatnonzero((against(int(y)) == 0) & (classes != y))
        wrong = [(int(y), int(classes[k])) for k in free]
        back = loss.pairs(classes, y)
        wrong += [(int(classes[k]), int(y)) for k in np.flatnonzero((back == 0) & (classes != y))]
        if wrong:
            a, b = wrong[0]
            raise ParameterError(
                f"NodeCosts must make every mistake cost something, got 0 for answering {ids[b]!r} where "
                f"{ids[a]!r} is right; give one of the nodes that set them apart a positive cost"
            )


def _checked_matrix(spec: Any, taxonomy: Taxonomy, nodes: npt.NDArray[np.int64]) -> Floats:
    try:
        matrix = np.array(spec, dtype=np.float64)
    except (TypeError, ValueError):
        kind = type(spec).__name__
        raise ParameterError(f"{WANTED}, got {kind}") from None
    if matrix.shape != (len(nodes), len(nodes)):
        raise ParameterError(
            f"a loss matrix needs one row and column for each of the {len(nodes)} classes, got shape {matrix.shape}"
        )
    right = np.eye(len(nodes), dtype=bool)
    bad = ~np.isfinite(matrix) | np.where(right, matrix != 0, matrix <= 0)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        expected = "0 on its diagonal" if i == j else "finite and > 0 off its diagonal"
        raise ParameterError(
            f"a loss matrix must be {expected}, got {matrix[i, j]} in the row of {taxonomy.ids[nodes[i]]!r} "
            f"and the column of {taxonomy.ids[nodes[j]]!r}"
        )
    return matrix
