"""The lattice of categories, as immutable arrays.

Nodes are numbered so that parents come before their children: by level (the longest way down from a root),
and within a level in the order in which they were given. All relations are CSR pairs ``(indptr, indices)``
over these numbers; the relatives of node v are ``indices[indptr[v]:indptr[v + 1]]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pinakes.errors import LabelError, TaxonomyError, closest

if TYPE_CHECKING:
    import networkx as nx

Ints = npt.NDArray[np.int32]
MOST_ANCESTORS = 200_000_000  # pairs (node, ancestor) that are kept at once: 0.8 GB


class Relation(NamedTuple):
    """A relation in CSR form: the relatives of node v are ``indices[indptr[v]:indptr[v + 1]]``, ascending."""

    indptr: npt.NDArray[np.int64]
    indices: Ints

    def of(self, v: int) -> Ints:
        """Give the relatives of one node."""
        return self.indices[self.indptr[v] : self.indptr[v + 1]]

    def sizes(self) -> npt.NDArray[np.int64]:
        """Count the relatives of every node."""
        return np.diff(self.indptr)

    def spread(self, nodes: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Give, for the relatives of some nodes one after the other, the place in `nodes` and that in `indices`."""
        starts = self.indptr[nodes]
        sizes = self.indptr[nodes + 1] - starts
        return np.repeat(np.arange(len(nodes)), sizes), _spread(starts, sizes)


class Taxonomy:
    """An immutable lattice of categories: a node may have several parents, and there may be several roots.

    Build one with `from_edges`, `from_parents`, `from_paths`, `from_dict`, `from_networkx` or `load`; write
    it with `save`. Ids identify nodes; names are for people and need not be unique.

    Parameters
    ----------
    ids : sequence of str
        The nodes, each once, in any order.
    edges : sequence of (int, int)
        Pairs (parent, child) of positions in `ids`; a pair given twice counts once.
    names : mapping of str to str, default={}
        Names by id; a node without one is named by its id.

    Attributes
    ----------
    ids, names : tuple of str
        Ids and names in node order: parents before children.
    levels : ndarray of int32
        Nodes on the longest way from a root to the node, both included: 1 for a root.
    parents, children : Relation
        Direct relatives.
    ancestors : Relation
        The node itself and everything above it (found on first use).
    descendants : Relation
        The node itself and everything below it (found on first use).

    Examples
    --------
    >>> t = Taxonomy.from_edges([("", "animal"), ("animal", "cat"), ("animal", "dog")])
    >>> t.ids, t.depth
    (('animal', 'cat', 'dog'), 2)
    >>> [t.ids[v] for v in t.ancestors.of(t.index("cat"))]
    ['animal', 'cat']
    """

    def __init__(
        self,
        ids: Sequence[str],
        edges: Sequence[tuple[int, int]] | npt.NDArray[Any],
        names: Mapping[str, str] | None = None,
    ) -> None:
        n_nodes = len(ids)
        pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        if n_nodes == 0:
            raise TaxonomyError("a taxonomy needs at least one node, got none")
        if len(set(ids)) < n_nodes:
            seen: set[str] = set()
            twice = next(i for i in ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
            raise TaxonomyError(f"node ids must be unique, got {twice!r} twice")
        if pairs.size and (pairs.min() < 0 or pairs.max() >= n_nodes):
            wrong = pairs.min() if pairs.min() < 0 else pairs.max()
            raise TaxonomyError(f"edges must be pairs of positions from 0 to {n_nodes - 1}, got {wrong}")
        pairs = np.column_stack(np.divmod(np.unique(pairs[:, 0] * n_nodes + pairs[:, 1]), n_nodes))
        levels = find_levels(n_nodes, pairs)
        if (levels == 0).any():
            raise TaxonomyError(_describe_cycle(ids, pairs))
        order = np.argsort(levels, kind="stable")
        rank = np.empty(n_nodes, dtype=np.int32)
        rank[order] = np.arange(n_nodes, dtype=np.int32)
        names = names or {}
        self.ids: tuple[str, ...] = tuple(ids[v] for v in order)
        self.names: tuple[str, ...] = tuple(names.get(i) or i for i in self.ids)
        self.levels: Ints = _frozen(levels[order])
        parent, child = rank[pairs[:, 0]], rank[pairs[:, 1]]
        self.parents = _relation(n_nodes, child, parent)
        self.children = _relation(n_nodes, parent, child)

    # -- ways to build one ---------------------------------------------------------------------------------

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[str, str]], names: Mapping[str, str] | None = None) -> Taxonomy:
        """Build from pairs (parent, child) of ids; an empty parent makes the child a root."""
        position: dict[str, int] = {}
        pairs: list[tuple[int, int]] = []
        for parent, child in edges:
            if child == "":
                raise TaxonomyError(f"an edge needs a child, got ({parent!r}, '')")
            if parent == "":
                position.setdefault(child, len(position))
            else:
                p = position.setdefault(parent, len(position))
                pairs.append((p, position.setdefault(child, len(position))))
        return cls(list(position), pairs, names)

    @classmethod
    def from_parents(
        cls,
        parents: Mapping[str, str | Iterable[str] | None],
        names: Mapping[str, str] | None = None,
    ) -> Taxonomy:
        """Build from a map of each node to its parent, its parents, or None (or "") for a root."""

        def edges() -> Iterable[tuple[str, str]]:
            for child, above in parents.items():
                several = [above or ""] if above is None or isinstance(above, str) else list(above) or [""]
                yield from ((parent, child) for parent in several)

        return cls.from_edges(edges(), names)

    @classmethod
    def from_paths(cls, paths: Iterable[str], separator: str = "/") -> Taxonomy:
        """Build from paths: ``a/b/c`` makes the nodes ``a``, ``a/b``, ``a/b/c``, named by their ends."""
        position: dict[str, int] = {}
        pairs: list[tuple[int, int]] = []
        names: dict[str, str] = {}
        for path in paths:
            parts = path.split(separator)
            if "" in parts:
                raise TaxonomyError(f"a path needs a name between its separators {separator!r}, got {path!r}")
            above = -1
            for k, part in enumerate(parts, start=1):
                node = separator.join(parts[:k])
                v = position.setdefault(node, len(position))
                names[node] = part
                if above >= 0:
                    pairs.append((above, v))
                above = v
        return cls(list(position), pairs, names)

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any], names: Mapping[str, str] | None = None) -> Taxonomy:
        """Build from a nested dict ``{id: {id: {}, id: {}}}``; lists and None may stand for leaves.

        A node may stand under several parents; what is below it is then the union of what stands there.
        """
        edges: list[tuple[str, str]] = []
        todo: list[tuple[str, Any]] = [("", tree)]
        while todo:
            parent, below = todo.pop()
            if isinstance(below, Mapping):
                edges += [(parent, str(child)) for child in below]
                todo += [(str(child), rest) for child, rest in reversed(list(below.items()))]
            elif isinstance(below, str):
                edges.append((parent, below))
            elif below is not None:
                edges += [(parent, str(child)) for child in below]
        return cls.from_edges(edges, names)

    @classmethod
    def from_networkx(cls, graph: nx.DiGraph[Any], name: str = "name") -> Taxonomy:
        """Build from a networkx DiGraph, its edges from parent to child; `name` is the attribute to read."""
        if not graph.is_directed():
            raise TaxonomyError(
                "edges must point from parent to child, got an undirected graph; use a networkx DiGraph"
            )
        ids = [str(v) for v in graph.nodes]
        position = {v: k for k, v in enumerate(graph.nodes)}
        names = {str(v): str(data[name]) for v, data in graph.nodes(data=True) if name in data}
        return cls(ids, [(position[u], position[v]) for u, v in graph.edges], names)

    @classmethod
    def flat(cls, ids: Iterable[str]) -> Taxonomy:
        """Build the taxonomy of unrelated categories: every node a root."""
        return cls(list(ids), [])

    @classmethod
    def load(cls, path: str | PathLike[str], **options: Any) -> Taxonomy:
        """Read a taxonomy from a file; see `pinakes.taxonomy.files.read_taxonomy` for formats and options."""
        from pinakes.taxonomy.files import read_taxonomy

        return read_taxonomy(path, **options)

    def save(self, path: str | PathLike[str], **options: Any) -> None:
        """Write the taxonomy to a file; see `pinakes.taxonomy.files.write_taxonomy`."""
        from pinakes.taxonomy.files import write_taxonomy

        write_taxonomy(self, path, **options)

    # -- questions -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, node: object) -> bool:
        return node in self._position

    def __eq__(self, other: object) -> bool:
        """Same nodes, names and edges; the order in which nodes were given does not count."""
        if not isinstance(other, Taxonomy):
            return NotImplemented
        return self._named() == other._named() and self._edge_set() == other._edge_set()

    def __hash__(self) -> int:
        return hash((len(self), frozenset(self.ids)))

    def __repr__(self) -> str:
        shape = "tree" if self.is_tree else "lattice"
        return f"Taxonomy({len(self)} nodes, {len(self.leaves)} leaves, {shape}, depth {self.depth})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Taxonomy:
        return self  # it does not change, so that scikit-learn's clone may share it

    def __setattr__(self, key: str, value: object) -> None:
        if key in self.__dict__:
            raise AttributeError(f"a Taxonomy does not change: cannot set {key!r}; build a new one")
        super().__setattr__(key, value)

    def index(self, node: str) -> int:
        """Give the number of the node with this id."""
        try:
            return self._position[node]
        except KeyError:
            raise LabelError(f"{node!r} is not in the taxonomy of {len(self)} nodes{closest(node, self.ids)}") from None

    def edges(self) -> npt.NDArray[np.int32]:
        """Give all edges as an array of rows (parent, child)."""
        child = np.repeat(np.arange(len(self), dtype=np.int32), self.parents.sizes())
        return np.column_stack([self.parents.indices, child])

    def path(self, node: str | int) -> list[str]:
        """Give the ids on one longest way from a root down to the node, both included.

        Where several parents lie on a longest way, the first of them is taken.
        """
        v = self.index(node) if isinstance(node, str) else node
        way = [v]
        while len(above := self.parents.of(way[-1])):
            way.append(int(above[np.argmax(self.levels[above])]))
        return [self.ids[v] for v in reversed(way)]

    @property
    def depth(self) -> int:
        """The number of nodes on the longest way from a root to a leaf."""
        return int(self.levels.max())

    @cached_property
    def roots(self) -> Ints:
        """The nodes without parents."""
        return _frozen(np.flatnonzero(self.parents.sizes() == 0))

    @cached_property
    def leaves(self) -> Ints:
        """The nodes without children."""
        return _frozen(np.flatnonzero(self.children.sizes() == 0))

    @cached_property
    def is_tree(self) -> bool:
        """Whether no node has several parents (there may be several roots)."""
        return bool((self.parents.sizes() <= 1).all())

    @cached_property
    def ancestors(self) -> Relation:
        """The node itself and everything above it, for every node."""
        return _closure(self.levels, self.parents)

    @cached_property
    def descendants(self) -> Relation:
        """The node itself and everything below it, for every node."""
        up = self.ancestors
        below = np.repeat(np.arange(len(self), dtype=np.int32), up.sizes())
        return _relation(len(self), up.indices, below)

    @cached_property
    def _position(self) -> dict[str, int]:
        return {node: v for v, node in enumerate(self.ids)}

    def _named(self) -> dict[str, str]:
        return dict(zip(self.ids, self.names, strict=True))

    def _edge_set(self) -> set[tuple[str, str]]:
        return {(self.ids[p], self.ids[c]) for p, c in self.edges()}


def _frozen(values: npt.NDArray[Any]) -> Ints:
    out = np.ascontiguousarray(values, dtype=np.int32)
    out.setflags(write=False)
    return out


def _relation(n_nodes: int, row: npt.NDArray[Any], column: npt.NDArray[Any]) -> Relation:
    """Put pairs into CSR form, columns ascending within a row."""
    order = np.lexsort((column, row))
    indptr = np.zeros(n_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=n_nodes), out=indptr[1:])
    indptr.setflags(write=False)
    return Relation(indptr, _frozen(column[order]))


def _spread(starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Give the positions of several runs, one after the other: starts[0], starts[0] + 1, …, starts[1], …"""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    out: npt.NDArray[np.int64] = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - sizes), sizes)
    return out


def find_levels(n_nodes: int, pairs: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Count the nodes on the longest way from a root to each node, itself included; 0 on or below a cycle."""
    down = _relation(n_nodes, pairs[:, 0], pairs[:, 1])
    waiting = np.bincount(pairs[:, 1], minlength=n_nodes)  # parents not yet placed
    levels = np.zeros(n_nodes, dtype=np.int32)
    frontier = np.flatnonzero(waiting == 0)
    level = 0
    while len(frontier):
        level += 1
        levels[frontier] = level
        sizes = down.indptr[frontier + 1] - down.indptr[frontier]
        reached, times = np.unique(down.indices[_spread(down.indptr[frontier], sizes)], return_counts=True)
        waiting[reached] -= times
        frontier = reached[waiting[reached] == 0]
    return levels


def _closure(levels: Ints, parents: Relation) -> Relation:
    """Give every node with all its ancestors, level by level: the parents' sets and the node itself."""
    from scipy.sparse import csr_array

    n_nodes = len(levels)
    _check_closure(int(levels.sum(dtype=np.int64)), n_nodes)  # a node has no fewer ancestors than its level
    indptr = np.zeros(n_nodes + 1, dtype=np.int64)
    flat = np.empty(2 * n_nodes, dtype=np.int32)  # the closed sets so far, doubled when full
    bounds = np.searchsorted(levels, np.arange(1, int(levels.max()) + 2))
    filled = 0
    for start, end in pairwise(bounds.tolist()):
        # a node's row: its parents' sets, one after the other; what stands there twice counts once
        direct = parents.indices[parents.indptr[start] : parents.indptr[end]].astype(np.int64)
        sizes = indptr[direct + 1] - indptr[direct]
        _check_closure(filled + int(sizes.sum()) + end - start, n_nodes)
        ends = np.concatenate([[0], np.cumsum(sizes)])[parents.indptr[start : end + 1] - parents.indptr[start]]
        inherited = flat[_spread(indptr[direct], sizes)]
        above = csr_array((np.ones(len(inherited), dtype=bool), inherited, ends), shape=(end - start, n_nodes))
        above.sum_duplicates()
        filled += above.nnz + end - start
        if filled > len(flat):
            flat = np.concatenate([flat, np.empty(filled, dtype=np.int32)])
        # a node has the largest number among its ancestors: it closes its row
        indptr[start + 1 : end + 1] = indptr[start] + above.indptr[1:] + np.arange(1, end - start + 1)
        itself = np.zeros(above.nnz + end - start, dtype=bool)
        itself[indptr[start + 1 : end + 1] - 1 - indptr[start]] = True
        rows = flat[indptr[start] : filled]
        rows[~itself] = above.indices
        rows[itself] = np.arange(start, end)
    indptr.setflags(write=False)
    return Relation(indptr, _frozen(flat[:filled]))


def _check_closure(n_pairs: int, n_nodes: int) -> None:
    """Refuse a lattice so deep or dense that its ancestor sets would not fit into memory."""
    if n_pairs > MOST_ANCESTORS:
        raise TaxonomyError(
            f"the ancestors of all nodes must be at most {MOST_ANCESTORS:,} together, got {n_pairs:,} or more for "
            f"{n_nodes:,} nodes; the taxonomy is too deep or has too many parents a node: is it one?"
        )


def find_cycles(n_nodes: int, pairs: npt.NDArray[np.int64]) -> list[list[int]]:
    """Give a shortest cycle through the first of each knot of nodes that reach each other, and self-loops."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(pairs):
        return []
    loops = [[int(v)] for v in np.unique(pairs[pairs[:, 0] == pairs[:, 1], 0])]
    edges = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (n_nodes, n_nodes))
    _, knot = connected_components(edges, connection="strong")
    inside = pairs[(knot[pairs[:, 0]] == knot[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])]
    below: dict[int, list[int]] = {}
    for parent, child in inside.tolist():
        below.setdefault(parent, []).append(child)
    _, starts = np.unique(knot, return_index=True)  # the first node of each knot
    return [_shortest_cycle(v, below) for v in np.sort(starts).tolist() if v in below] + loops


def _shortest_cycle(start: int, below: Mapping[int, Sequence[int]]) -> list[int]:
    """Walk down from `start`, breadth first, until an edge leads back to it."""
    before: dict[int, int] = {}
    frontier = [start]
    for v in frontier:
        for child in below[v]:
            if child == start:
                cycle = [v]
                while cycle[-1] != start:
                    cycle.append(before[cycle[-1]])
                return cycle[::-1]
            if child not in before:
                before[child] = v
                frontier.append(child)
    raise AssertionError("a node of a knot lies on a cycle")


def _describe_cycle(ids: Sequence[str], pairs: npt.NDArray[np.int64]) -> str:
    cycles = find_cycles(len(ids), pairs)
    cycle = [ids[v] for v in cycles[0]]
    shown = " > ".join(cycle[:12]) + (" > …" if len(cycle) > 12 else "") + f" > {cycle[0]}"
    more = f" (and {len(cycles) - 1} more)" if len(cycles) > 1 else ""
    return f"a taxonomy cannot have a cycle, got {shown}{more}; remove one of these edges"
