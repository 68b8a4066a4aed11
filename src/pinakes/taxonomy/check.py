"""Everything that is wrong with a taxonomy file, at once.

Errors are what makes a file no taxonomy (cycles, self-loops, unknown parents, nodes that no root leads to)
or no taxonomy for its documents (labels that it lacks). Warnings are what works, but was hardly meant:
edges that say nothing new, edges given twice, names that differ or are shared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pinakes.errors import closest
from pinakes.taxonomy.files import StrPath, read_source
from pinakes.taxonomy.formats.source import Finding, Severity, Source
from pinakes.taxonomy.taxonomy import Taxonomy, find_cycles, find_levels

SHOWN = 12  # ids spelled out in one message
AT_ONCE = 20_000  # nodes with several parents looked at together: bounds the memory of `redundant_edges`


def check_taxonomy(
    source: Source | StrPath,
    labels: Iterable[str] | Mapping[str, int] | None = None,
    *,
    limit: int | None = 20,
    **options: str | None,
) -> list[Finding]:
    """List what is wrong with a taxonomy file, errors first.

    Parameters
    ----------
    source : Source or path
        What to check.
    labels : iterable of str or mapping of str to int, default=None
        The labels of documents, as often as they occur or with their counts; those without a category are
        errors.
    limit : int or None, default=20
        Findings of one kind to give in full; one more then stands for the rest.
    **options
        The parameters of `pinakes.taxonomy.files.read_taxonomy`, where `source` is a path.

    Returns
    -------
    list of Finding
        Empty where nothing is wrong.
    """
    if not isinstance(source, Source):
        source = read_source(source, **options)
    graph = _Graph(source)
    if labels is None:
        counts: Mapping[str, int] = {}
    else:
        counts = labels if isinstance(labels, Mapping) else Counter(labels)
    found = [
        *source.findings,
        *_empty(source),
        *_unknown_parents(graph, limit),
        *_self_loops(graph),
        *_cycles(graph),
        *_unreachable(graph),
        *_unknown_labels(graph, counts, limit),
        *_duplicates(graph),
        *_redundant(graph),
        *_roots_with_parents(graph),
        *_shared_names(graph),
    ]
    return shorten(sorted(found, key=lambda f: f.severity), limit)


def fix_source(source: Source) -> tuple[Source, list[Finding]]:
    """Drop self-loops, duplicate edges and redundant edges; give what is left and what was dropped."""
    graph = _Graph(source)
    dropped = [*_self_loops(graph), *_duplicates(graph), *_redundant(graph)]
    redundant = {(p, c) for p, c, _ in graph.redundant}
    left = [(parent, child, line) for (parent, child), line in graph.first.items() if (parent, child) not in redundant]
    fixed = Source(source.path, left, dict(source.names), list(source.findings))
    if not any(parent == "" for parent, _ in graph.first):
        fixed.add_roots()
    placed = {child for _, child, _ in fixed.edges}  # a node with nothing but a self-loop becomes a root
    fixed.edges += [("", node, line) for node, line in graph.loops.items() if node not in placed]
    return fixed, dropped


def redundant_edges(taxonomy: Taxonomy) -> npt.NDArray[np.int32]:
    """Give the edges (parent, child) that a longer way from the parent to the child already implies.

    Parent p of child c is redundant where p is above another parent of c, so only nodes with several
    parents matter.
    """
    from scipy.sparse import csr_array

    parents, ancestors, n_nodes = taxonomy.parents, taxonomy.ancestors, len(taxonomy)
    itself = np.zeros(len(ancestors.indices), dtype=bool)
    itself[ancestors.indptr[1:] - 1] = True  # parents come before children: a node closes its row
    rows = (
        np.ones((~itself).sum(), dtype=bool),
        ancestors.indices[~itself],
        ancestors.indptr - np.arange(n_nodes + 1),
    )
    above = csr_array(rows, shape=(n_nodes, n_nodes))
    edges = np.ones(len(parents.indices), dtype=bool), parents.indices, parents.indptr
    upward = csr_array(edges, shape=(n_nodes, n_nodes))
    several = np.flatnonzero(parents.sizes() > 1)
    out = [np.empty((0, 2), dtype=np.int32)]
    for k in range(0, len(several), AT_ONCE):
        children = several[k : k + AT_ONCE]
        mine = upward[children]
        row, parent = (mine * (mine @ above)).nonzero()  # a parent that is above a parent
        out.append(np.column_stack([parent, children[row]]).astype(np.int32))
    return np.concatenate(out)


class _Graph:
    """The edges of a source, numbered and sorted into proper edges, self-loops and repetitions."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.first: dict[tuple[str, str], int] = {}  # every edge but self-loops, with its first line
        self.loops: dict[str, int] = {}
        self.again: list[tuple[str, str, int]] = []
        position: dict[str, int] = {}
        for parent, child, line in source.edges:
            position.setdefault(child, len(position))
            if parent == child:
                self.loops.setdefault(child, line)
            elif (parent, child) in self.first:
                self.again.append((parent, child, line))
            else:
                self.first[parent, child] = line
        self.unknown = source.unknown_parents()
        for parent, _, _ in source.edges:
            if parent and parent not in self.unknown:
                position.setdefault(parent, len(position))
        self.position = position
        self.ids = list(position)
        proper = [(position[p], position[c]) for p, c in self.first if p in position]
        self.pairs = np.array(proper, dtype=np.int64).reshape(-1, 2)

    def find(self, severity: Severity, kind: str, message: str, line: int = 0, count: int = 1) -> Finding:
        return Finding(severity, kind, message, self.source.path, line or None, count)

    @cached_property
    def sound(self) -> Taxonomy | None:
        """The part that is neither on nor below a cycle, or None where nothing is."""
        levels = find_levels(len(self.ids), self.pairs)
        kept = np.flatnonzero(levels)
        if not len(kept):
            return None
        place = np.cumsum(levels > 0) - 1
        return Taxonomy([self.ids[v] for v in kept], place[self.pairs[levels[self.pairs[:, 1]] > 0]])

    @cached_property
    def redundant(self) -> list[tuple[str, str, str]]:
        """Redundant edges as (parent, child, a parent of the child that lies below the parent)."""
        if (t := self.sound) is None:
            return []
        out = []
        for p, c in redundant_edges(t).tolist():
            way = next(q for q in t.parents.of(c) if q != p and p in t.ancestors.of(q))
            out.append((t.ids[p], t.ids[c], t.ids[way]))
        return out


def _empty(source: Source) -> Iterator[Finding]:
    if not source.edges:
        yield Finding("error", "empty", "expected at least one category, got none", source.path)


def _unknown_parents(graph: _Graph, limit: int | None) -> Iterator[Finding]:
    for k, (parent, lines) in enumerate(graph.unknown.items()):
        near = closest(parent, graph.ids) if limit is None or k < limit else ""  # takes a while
        used = f" (used {len(lines)} times)" if len(lines) > 1 else ""
        message = f"the parent {parent!r} has no line of its own{used}{near}"
        cure = "give it one (for a root, with no parent)"
        yield graph.find("error", "unknown-parent", f"{message}; {cure}", lines[0])


def _self_loops(graph: _Graph) -> Iterator[Finding]:
    for node, line in graph.loops.items():
        yield graph.find("error", "self-loop", f"{node!r} is its own parent; remove this edge", line)


def _cycles(graph: _Graph) -> Iterator[Finding]:
    for cycle in find_cycles(len(graph.ids), graph.pairs):
        ids = [graph.ids[v] for v in cycle]
        steps = list(zip(ids, [*ids[1:], ids[0]], strict=True))
        lines = [graph.first[step] for step in steps]
        shown = " > ".join(ids[:SHOWN]) + (" > …" if len(ids) > SHOWN else "") + f" > {ids[0]}"
        where = f" (lines {', '.join(map(str, lines[:SHOWN]))})" if lines[0] else ""
        message = f"{len(ids)} nodes in a cycle: {shown}{where}; remove one of these edges"
        yield graph.find("error", "cycle", message, lines[0])


def _unreachable(graph: _Graph) -> Iterator[Finding]:
    """One finding for all nodes that no way leads to from a node without parents."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    n_nodes = len(graph.ids)
    below = {graph.position[c] for p, c in graph.first if p}  # also below unknown parents
    roots = np.array([v for v in range(n_nodes) if v not in below], dtype=np.int64)
    # one more node above all roots, from which to walk
    start = np.concatenate([graph.pairs[:, 0], np.full(len(roots), n_nodes)])
    end = np.concatenate([graph.pairs[:, 1], roots])
    ones = np.ones(len(start), dtype=np.int8)
    down = coo_array((ones, (start, end)), shape=(n_nodes + 1, n_nodes + 1)).tocsr()
    reached = breadth_first_order(down, n_nodes, return_predecessors=False)
    if missed := n_nodes + 1 - len(reached):
        lost = np.setdiff1d(np.arange(n_nodes), reached)
        shown = ", ".join(repr(graph.ids[v]) for v in lost[:SHOWN]) + (", …" if missed > SHOWN else "")
        nodes = "1 node" if missed == 1 else f"{missed} nodes"
        message = f"{nodes} cannot be reached from any root: {shown}; they hang on a cycle or an unknown parent"
        yield graph.find("error", "unreachable", message, count=missed)


def _unknown_labels(graph: _Graph, counts: Mapping[str, int], limit: int | None) -> Iterator[Finding]:
    missing = sorted((-n, label) for label, n in counts.items() if label not in graph.position)
    if not missing:
        return
    by_name = {name: node for node, name in graph.source.names.items()}
    for k, (minus, label) in enumerate(missing):
        times = "1 document has" if minus == -1 else f"{-minus} documents have"
        hint = ""
        if label in by_name:
            hint = f"; it is the name of {by_name[label]!r}: label documents with ids"
        elif limit is None or k < limit:  # finding the closest takes a while
            hint = closest(label, graph.ids)
        yield graph.find("error", "unknown-label", f"{times} the label {label!r}, which is no category{hint}", count=1)


def _duplicates(graph: _Graph) -> Iterator[Finding]:
    for parent, child, line in graph.again:
        edge = f"{parent!r} > {child!r}" if parent else f"the root {child!r}"
        seen = graph.first[parent, child]
        where = f", first on line {seen}" if seen else ""
        yield graph.find("warning", "duplicate-edge", f"{edge} is given again{where}; remove one", line)


def _redundant(graph: _Graph) -> Iterator[Finding]:
    for parent, child, way in graph.redundant:
        message = f"{parent!r} > {child!r} says nothing new: it follows from {parent!r} > … > {way!r} > {child!r}"
        yield graph.find("warning", "redundant-edge", message, graph.first[parent, child])


def _roots_with_parents(graph: _Graph) -> Iterator[Finding]:
    above = {child: parent for parent, child in graph.first if parent}
    for (parent, child), line in graph.first.items():
        if not parent and child in above:
            message = f"{child!r} is declared a root and has the parent {above[child]!r}; it is taken as no root"
            yield graph.find("warning", "root-with-parent", message, line)


def _shared_names(graph: _Graph) -> Iterator[Finding]:
    owners: dict[str, list[str]] = {}
    for node, name in graph.source.names.items():
        owners.setdefault(name, []).append(node)
    lines = {child: line for (_, child), line in reversed(graph.first.items())}
    for name, nodes in owners.items():
        if len(nodes) > 1:
            shown = ", ".join(map(repr, nodes[:SHOWN])) + (", …" if len(nodes) > SHOWN else "")
            message = f"{len(nodes)} nodes have the name {name!r}: {shown}"
            yield graph.find("warning", "shared-name", message, lines.get(nodes[1], 0))


def shorten(found: list[Finding], limit: int | None) -> list[Finding]:
    """Keep the first findings of each kind; one more stands for the rest."""
    if limit is None:
        return found
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for finding in found:
        kinds.setdefault((finding.severity, finding.kind), []).append(finding)
    out = []
    for same in kinds.values():
        out += same[:limit]
        if rest := same[limit:]:
            n = sum(f.count for f in rest)
            message = f"and {n} more of this kind"
            out.append(Finding(rest[0].severity, rest[0].kind, message, rest[0].source, None, n))
    return out
