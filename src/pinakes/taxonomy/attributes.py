"""Class attributes Lambda: what each category shares with the others, in the form that solvers walk through.

Category y has the attributes Lambda_z(y) = v_z for every node z that is y or above y (2004 paper, Eq. 20). A category
that is itself above another one gets a terminal node of its own (section 2.4). What never matters is left out, and the
problem stays exactly the same:

- nodes above no category never carry weight;
- a node above *every* category cancels in Lambda(y) - Lambda(y'), where only differences count;
- a node with one child, and that child with one parent, act as one with v^2 = v_p^2 + v_c^2.

What is left are the *attributes*. Those that several categories share come first, as a walk through the tree meets
them, so that sums over ancestors go from top to bottom; then each category's own one, in the order of the same walk:
what is below a node is side by side, and what is above them is too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.errors import ParameterError, closest
from pinakes.taxonomy.taxonomy import Ints, Relation, Taxonomy

Floats = npt.NDArray[np.float64]
NodeWeight = str | Mapping[str, float]
OWN = 7.0  # how many nodes above it a category's own node counts for with "normalized"
NODE_WEIGHTS = ("normalized", "depth", "equal", "flat")


@dataclass(frozen=True)
class ClassAttributes:
    """Lambda over compacted attributes; see the head of this file.

    Attributes
    ----------
    class_node : int32 array (n_classes,)
        The taxonomy node of each class.
    own : int32 array (n_classes,)
        The attribute that only this class has.
    paths : Relation
        The attributes of each class, ascending, its own one included.
    v2 : float64 array (n_attributes,)
        v_z^2 of each attribute.
    up : int32 array (n_attributes,)
        The attribute right above each one, always a smaller number, or -1; of several one that is farthest down.
    multi : int32 array (n_multi,)
        Attributes with several parents; `multi_paths` lists everything above each of them, itself included.
    multi_paths : Relation
    node_attribute : int32 array (n_nodes,)
        The attribute into which each taxonomy node went, -1 if it was left out.
    node_share : float64 array (n_nodes,)
        Which part of that attribute's v^2 is the node's own: w_z = v_z / v^2 times the attribute's weights.
    values : float64 array or None
        Lambda at the entries of `paths` where it was given as a matrix (`given_attributes`); None: v_z.
    """

    class_node: Ints
    own: Ints
    paths: Relation
    v2: Floats
    up: Ints
    multi: Ints
    multi_paths: Relation
    node_attribute: Ints
    node_share: Floats
    values: Floats | None = None

    @property
    def n_classes(self) -> int:
        return len(self.own)

    @property
    def n_attributes(self) -> int:
        return len(self.v2)

    def restricted(self, classes: npt.NDArray[Any]) -> tuple[ClassAttributes, npt.NDArray[np.int64]]:
        """Give some of the classes alone (ascending numbers), and which attributes these have; scores stay the same.

        Everything above them stays too, even where it no longer tells them apart.
        """
        if self.values is not None:
            n_given = self.n_attributes - self.n_classes
            part = given_attributes(self.matrix()[classes][:, :n_given], self.class_node[classes])
            return part, np.concatenate([np.arange(n_given), self.own[classes]])
        sizes = self.paths.sizes()[classes]
        members = self.paths.indices[self.paths.spread(classes)[1]]
        kept = np.unique(members).astype(np.int64)
        rank = np.full(self.n_attributes + 1, -1, dtype=np.int32)
        rank[kept] = np.arange(len(kept), dtype=np.int32)
        inside = np.flatnonzero(rank[self.multi] >= 0)
        above = [rank[self.multi_paths.of(int(m))] for m in inside]
        attribute = np.where(self.node_attribute >= 0, rank[self.node_attribute], -1)
        part = replace(
            self,
            class_node=self.class_node[classes],
            own=rank[self.own[classes]],
            paths=Relation(np.concatenate([[0], np.cumsum(sizes)]), rank[members]),
            v2=self.v2[kept],
            up=rank[self.up[kept]],
            multi=rank[self.multi[inside]],
            multi_paths=Relation(
                np.concatenate([[0], np.cumsum([len(up) for up in above])]).astype(np.int64),
                np.concatenate([*above, np.zeros(0, dtype=np.int32)]).astype(np.int32),
            ),
            node_attribute=attribute.astype(np.int32),
        )
        return part, kept

    def path_sums(self, values: Floats) -> Floats:
        """Sum values given per attribute over each class's attributes."""
        return np.asarray(self.matrix(values) @ np.ones(self.n_attributes))

    def matrix(self, factors: Floats | None = None) -> sparse.csr_array:
        """Give Lambda / v (n_classes, n_attributes): 1 at each class's attributes, or what was given; times factors."""
        entries = np.ones(len(self.paths.indices)) if self.values is None else self.values
        entries = entries if factors is None else entries * factors[self.paths.indices]
        shape = (self.n_classes, self.n_attributes)
        return sparse.csr_array((entries, self.paths.indices, self.paths.indptr), shape=shape)

    def node_sums(self, values: npt.NDArray[Any]) -> Floats:
        """Sum values given per taxonomy node over each attribute's nodes."""
        sums = np.zeros(self.n_attributes)
        kept = self.node_attribute >= 0
        np.add.at(sums, self.node_attribute[kept], np.asarray(values, dtype=np.float64)[kept])
        return sums


def given_attributes(matrix: Any, class_nodes: Sequence[int] | Ints) -> ClassAttributes:
    """Build Lambda from a matrix with a row for each class and a column for each attribute.

    Behind the given attributes every class has a place of its own, which carries no weight.
    """
    given = sparse.csr_array(matrix, dtype=np.float64)
    given.sum_duplicates()
    n_classes, n_given = given.shape
    own = np.arange(n_given, n_given + n_classes, dtype=np.int32)
    paths = Relation(given.indptr.astype(np.int64), given.indices.astype(np.int32))
    return ClassAttributes(
        class_node=np.asarray(class_nodes, dtype=np.int32),
        own=own,
        paths=paths,
        v2=np.ones(n_given + n_classes),
        up=np.full(n_given + n_classes, -1, dtype=np.int32),
        multi=own,
        multi_paths=paths,
        node_attribute=np.zeros(0, dtype=np.int32),
        node_share=np.zeros(0),
        values=given.data,
    )


def class_attributes(
    taxonomy: Taxonomy,
    class_nodes: Sequence[int] | Ints,
    node_weight: NodeWeight = "normalized",
    *,
    differences: bool = True,
) -> ClassAttributes:
    """Build Lambda for the classes at these taxonomy nodes (each at most once).

    Parameters
    ----------
    taxonomy : Taxonomy
    class_nodes : sequence of int
        Node numbers of the classes, in the order of the classes.
    node_weight : {"normalized", "depth", "equal", "flat"} or mapping of node id to v_z, default="normalized"
        See `node_weights`.
    differences : bool, default=True
        Whether only Lambda(y) - Lambda(y') counts: what is above every category is left out.
    """
    classes = np.asarray(class_nodes, dtype=np.int64)
    n_nodes, n_classes = len(taxonomy), len(classes)
    graph = _terminals_added(taxonomy, classes)
    v2 = node_weights(graph, node_weight, taxonomy)

    # nodes that stay: above some class but, for differences, not above all; where there is one class only, its own
    count = np.bincount(graph.paths.indices, minlength=graph.n_nodes)
    keep = (count > 0) & (count < max(n_classes, 2)) if differences else count > 0
    keep[graph.own] = True
    parents = _Pruned.of(graph, keep)

    # chains: the only child of an only parent joins it; `head` is the upper end of each node's chain
    head = parents.chain_heads()
    heads = np.flatnonzero(keep & (head == np.arange(graph.n_nodes)))
    order, up, multi = parents.lay_out(heads, head, graph.own)
    attribute = np.full(graph.n_nodes, -1, dtype=np.int32)
    attribute[order] = np.arange(len(order), dtype=np.int32)
    attribute[keep] = attribute[head[keep]]

    total = np.zeros(len(order))
    np.add.at(total, attribute[keep], v2[keep])
    share = np.zeros(n_nodes)
    inside = keep[:n_nodes]
    divisor = total[attribute[:n_nodes][inside]]
    share[inside] = np.divide(v2[:n_nodes][inside], divisor, out=np.zeros(len(divisor)), where=divisor > 0)

    kept = keep[graph.paths.indices]
    owner = np.repeat(np.arange(n_classes), graph.paths.sizes())[kept]
    paths = _unique_relation(n_classes, owner, attribute[graph.paths.indices[kept]])
    multi_owner, places = taxonomy.ancestors.spread(multi)
    above = taxonomy.ancestors.indices[places]
    return ClassAttributes(
        class_node=classes.astype(np.int32),
        own=attribute[graph.own],
        paths=paths,
        v2=total,
        up=up,
        multi=attribute[multi],
        multi_paths=_unique_relation(len(multi), multi_owner[keep[above]], attribute[above[keep[above]]]),
        node_attribute=attribute[:n_nodes],
        node_share=share,
    )


def node_weights(graph: _Graph, node_weight: NodeWeight, taxonomy: Taxonomy) -> Floats:
    """Give v_z^2 for every node of the graph, terminals included.

    - ``equal``: 1.
    - ``depth``: 1 / the depth of the taxonomy (2004 paper, Eq. 35), so that |Lambda(y)| = 1 where all categories
      are equally deep.
    - ``normalized``: |Lambda(y)| = 1 for *every* category, on lattices too. A shared node takes 1 / (7 + the most nodes
      that any category below it has above itself), and the category's own node what is left: about seven times as much
      as each node above it. That did well on news, utterances and patent titles; docs/mathematics.md tells more.
    - ``flat``: 1 for each category's own node and 0 for all others: nothing is shared, Lambda = identity.
    - a mapping of ids to v_z; nodes not named get 0, and a terminal takes the v_z of its node.
    """
    n_nodes = len(taxonomy)
    if isinstance(node_weight, Mapping):
        v = np.zeros(graph.n_nodes)
        for node, value in node_weight.items():
            if node not in taxonomy:
                raise ParameterError(
                    f"`node_weight` names {node!r}, which is not in the taxonomy{closest(node, taxonomy.ids)}"
                )
            if not (np.isfinite(value) and value >= 0):
                raise ParameterError(f"`node_weight` must be finite and >= 0, got {value!r} for {node!r}")
            v[taxonomy.index(node)] = value
        v[n_nodes:] = v[graph.terminal_of]
        return v * v
    sizes = graph.paths.sizes()
    if node_weight == "equal":
        return np.ones(graph.n_nodes)
    if node_weight == "flat":
        v2 = np.zeros(graph.n_nodes)
        v2[graph.own] = 1.0
        return v2
    if node_weight == "depth":
        return np.full(graph.n_nodes, 1.0 / max(int(graph.levels.max()), 1))
    if node_weight == "normalized":
        most = np.ones(graph.n_nodes)
        np.maximum.at(most, graph.paths.indices, np.repeat(sizes, sizes).astype(np.float64))
        v2 = 1.0 / (most - 1.0 + OWN)
        v2[graph.own] = 0.0
        owner = np.repeat(np.arange(len(sizes)), sizes)
        v2[graph.own] = 1.0 - np.bincount(owner, weights=v2[graph.paths.indices], minlength=len(sizes))
        return v2
    raise ParameterError(
        f"`node_weight` must be one of {', '.join(NODE_WEIGHTS)} or a mapping of ids to weights, got {node_weight!r}"
    )


@dataclass(frozen=True)
class _Graph:
    """The taxonomy with a terminal node under every class that is above another class."""

    n_nodes: int
    edges: npt.NDArray[np.int64]
    levels: Ints
    paths: Relation  # classes x nodes: everything above the class, its own node included
    own: npt.NDArray[np.int64]
    terminal_of: npt.NDArray[np.int64]


def _terminals_added(taxonomy: Taxonomy, classes: npt.NDArray[np.int64]) -> _Graph:
    n_nodes = len(taxonomy)
    owner, places = taxonomy.ancestors.spread(classes)
    members = taxonomy.ancestors.indices[places]
    inner = np.bincount(members, minlength=n_nodes)[classes] > 1  # some other class lies below
    terminal_of = classes[inner]
    terminals = n_nodes + np.arange(len(terminal_of))
    own = classes.copy()
    own[inner] = terminals
    owner = np.concatenate([owner, np.flatnonzero(inner)])
    members = np.concatenate([members, terminals])
    edges = np.concatenate([taxonomy.edges().astype(np.int64), np.column_stack([terminal_of, terminals])])
    levels = np.concatenate([taxonomy.levels, taxonomy.levels[terminal_of] + 1]).astype(np.int32)
    used = np.bincount(members, minlength=len(levels)) > 0
    shallow = np.where(used, levels, 0).astype(np.int32)  # depth counts only what the classes use
    paths = _unique_relation(len(classes), owner, members)
    return _Graph(n_nodes + len(terminals), edges, shallow, paths, own, terminal_of)


class _Pruned:
    """The edges between kept nodes, and the walks over them that the layout needs."""

    def __init__(self, n_nodes: int, edges: npt.NDArray[np.int64], levels: Ints) -> None:
        self.n_nodes, self.edges, self.levels = n_nodes, edges, levels
        self.n_parents = np.bincount(edges[:, 1], minlength=n_nodes)
        self.n_children = np.bincount(edges[:, 0], minlength=n_nodes)
        self.parent = np.full(n_nodes, -1, dtype=np.int64)  # of those with a single one
        self.parent[edges[:, 1]] = edges[:, 0]
        self.parent[self.n_parents > 1] = -1

    @classmethod
    def of(cls, graph: _Graph, keep: npt.NDArray[np.bool_]) -> _Pruned:
        edges = graph.edges[keep[graph.edges].all(axis=1)]
        return cls(graph.n_nodes, edges, graph.levels)

    def chain_heads(self) -> npt.NDArray[np.int64]:
        linked = self.parent >= 0
        linked[linked] = self.n_children[self.parent[linked]] == 1
        head = np.where(linked, self.parent, np.arange(self.n_nodes))
        while not np.array_equal(higher := head[head], head):
            head = higher
        return head

    def lay_out(
        self, heads: npt.NDArray[np.int64], head: npt.NDArray[np.int64], own: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], Ints, npt.NDArray[np.int64]]:
        """Order the heads, the shared ones and then the own ones; give their order, what is above each, and multi.

        Both come as a walk through a tree meets them, of children the own ones first. In that tree those with several
        parents hang below one that is farthest down.
        """
        is_head, is_own = np.zeros((2, self.n_nodes), dtype=bool)
        is_head[heads], is_own[head[own]] = True, True
        edges = self.edges[is_head[self.edges[:, 1]]]
        edges = edges[np.argsort(self.levels[edges[:, 1]], kind="stable")]
        up, down = head[edges[:, 0]], edges[:, 1]
        # a parent may be levels away once chains are joined: the level follows the joined parents
        level = np.zeros(self.n_nodes, dtype=np.int64)
        for here in np.split(np.arange(len(edges)), np.flatnonzero(np.diff(self.levels[down])) + 1):
            np.maximum.at(level, down[here], level[up[here]] + 1)
        lowest_last = np.argsort(level[up], kind="stable")
        above = np.full(self.n_nodes, -1)
        above[down[lowest_last]] = up[lowest_last]
        by_level = [heads[level[heads] == d] for d in range(int(level[heads].max(initial=-1)) + 1)]
        # shared and own attributes at or below each node, and those that the walk meets before it
        size, before = np.stack([~is_own, is_own]).astype(np.int64), np.zeros((2, self.n_nodes), dtype=np.int64)
        for at in by_level[:0:-1]:
            for kind in size:
                np.add.at(kind, above[at], kind[at])
        for at in by_level:
            parent = above[at]
            sibling_of = np.where(parent >= 0, before[0, parent], -1)
            by_walk = np.lexsort((self.n_parents[at] > 1, ~is_own[at], sibling_of))
            at, parent = at[by_walk], parent[by_walk]
            passed = np.cumsum(size[:, at], axis=1) - size[:, at]
            first = np.flatnonzero(np.diff(parent, prepend=-2))  # of each parent's children
            passed -= np.repeat(passed[:, first], np.diff(first, append=len(at)), axis=1)
            before[:, at] = passed + np.where(parent >= 0, before[:, parent] + [[1], [0]], 0)
        place = np.where(is_own, size[0, heads[level[heads] == 0]].sum() + before[1], before[0])
        order = heads[np.argsort(place[heads])]
        upper = np.where(above[order] >= 0, place[above[order]], -1).astype(np.int32)
        return order, upper, heads[self.n_parents[heads] > 1]


def _unique_relation(n_rows: int, row: npt.NDArray[Any], column: npt.NDArray[Any]) -> Relation:
    width = int(column.max()) + 1 if len(column) else 1
    keys = np.sort(row.astype(np.int64) * width + column)  # much faster than np.unique, which hashes
    keys = keys[np.diff(keys, prepend=-1) > 0]
    rows, columns = np.divmod(keys, width)
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
    return Relation(indptr, columns.astype(np.int32))
