"""F1 over the nodes between labels and their lowest common ancestors (Kosmopoulos et al. 2015).

The closed sets of `hierarchical_f1` count ancestors high above both label sets again and again, and a node
with many ancestors more than one with few. This measure keeps, of all ancestors, only what joins the two
sets:

    cost(y, p) = the fewest edges on a way from y up to a common ancestor and down to p
    lca(y, p)  = the common ancestor on such a way; of several, the one at the deepest level, then the first
                 in node order
    partner(y) = the predicted p with the lowest cost(y, p); ties as above, then the first p
    partner(p) = the true y with the lowest cost(y, p), likewise

    G_t = the nodes on the shortest way from y up to lca(y, p), both included,
    G_p = the nodes on the shortest way from p up to lca(y, p), both included,
    each over the pairs (y, partner(y)) of all true y and (partner(p), p) of all predicted p

    precision = |G_t and G_p| / |G_p|     recall = |G_t and G_p| / |G_t|
    F1 = 2 |G_t and G_p| / (|G_t| + |G_p|)

So every label is joined at least once, by one way. The paper asks for a minimal such graph; where several
would do, these rules choose. Two labels without a common ancestor are joined above the roots: each
contributes its shortest way to a root, and nothing is shared; such a pair is partner only where there is no
other. Of several shortest ways the one is taken that a breadth-first search meets first, parents in node
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from pinakes.metrics.averages import Floats, mean
from pinakes.metrics.labels import Labels, read_two
from pinakes.taxonomy.taxonomy import Taxonomy

Way = tuple[int, ...]
Join = tuple[tuple[float, int, int], Way, Way]  # how good (less is better); the ways from y and from p


def lca_f1(
    y_true: Labels,
    y_pred: Labels,
    taxonomy: Taxonomy,
    labels: Sequence[Any] | None = None,
    *,
    per_document: bool = False,
) -> float | Floats:
    """Give the mean over documents of the lowest-common-ancestor F1; the module says which graph is kept.

    Parameters
    ----------
    y_true, y_pred : one label or one collection of labels a document, or an indicator matrix
        Truth and predictions, as ids or node numbers.
    taxonomy : Taxonomy
    labels : sequence, optional
        What the columns of indicator matrices stand for; default all nodes.
    per_document : bool, default=False
        Give the value of every document instead of the mean.

    Examples
    --------
    >>> t = Taxonomy.from_edges([("", "animal"), ("animal", "cat"), ("animal", "dog"), ("", "plant")])
    >>> lca_f1(["cat", "cat", "cat"], ["cat", "dog", "plant"], t, per_document=True)
    array([1. , 0.5, 0. ])
    """
    true, pred = read_two(y_true, y_pred, taxonomy, labels)
    joins = _Joins(taxonomy)
    value = cache(joins.f1)
    values = [
        value(
            tuple(true.label[true.indptr[i] : true.indptr[i + 1]].tolist()),
            tuple(pred.label[pred.indptr[i] : pred.indptr[i + 1]].tolist()),
        )
        for i in range(true.n_documents)
    ]
    return mean(np.array(values), per_document)


class _Joins:
    """Ways between nodes over their lowest common ancestors, remembered while one metric is computed."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._parents = taxonomy.parents
        self._levels = taxonomy.levels
        self._seen: dict[int, dict[int, tuple[int, int]]] = {}

    def f1(self, true: Way, pred: Way) -> float:
        """Give F1 of the two joined graphs; 1 where both label sets are empty, 0 where one is."""
        if not true or not pred:
            return float(true == pred)
        joins = {(y, p): self.join(y, p) for y in true for p in pred}
        pairs = {min(((y, p) for p in pred), key=lambda pair: (joins[pair][0], pair)) for y in true}
        pairs |= {min(((y, p) for y in true), key=lambda pair: (joins[pair][0], pair)) for p in pred}
        joined = [joins[pair] for pair in pairs]
        in_true = {v for _, way, _ in joined for v in way}
        in_pred = {v for _, _, way in joined for v in way}
        return 2 * len(in_true & in_pred) / (len(in_true) + len(in_pred))

    def join(self, y: int, p: int) -> Join:
        """Give the best way from y to p over a common ancestor, or over the roots."""
        up_y, up_p = self.up(y), self.up(p)
        common = up_y.keys() & up_p.keys()
        if not common:
            way_y, way_p = self.to_root(y), self.to_root(p)
            return (float("inf"), len(way_y) + len(way_p), 0), way_y, way_p
        cost, level, lca = min((up_y[a][0] + up_p[a][0], -int(self._levels[a]), a) for a in common)
        return (cost, level, lca), self.way(y, lca), self.way(p, lca)

    def up(self, v: int) -> dict[int, tuple[int, int]]:
        """Give for every ancestor of v its distance and the node below it on the shortest way."""
        if v not in self._seen:
            found = {v: (0, v)}
            frontier = [v]
            while frontier:  # breadth first: the first way found is a shortest one
                above: list[int] = []
                for u in frontier:
                    for a in self._parents.of(u).tolist():
                        if a not in found:
                            found[a] = (found[u][0] + 1, u)
                            above.append(a)
                frontier = above
            self._seen[v] = found
        return self._seen[v]

    def way(self, v: int, a: int) -> Way:
        """Give the nodes on the shortest way from v up to its ancestor a, from the top."""
        nodes = [a]
        while nodes[-1] != v:
            nodes.append(self.up(v)[nodes[-1]][1])
        return tuple(nodes)

    def to_root(self, v: int) -> Way:
        """Give the nodes on the shortest way from v to a root."""
        roots = [(d, a) for a, (d, _) in self.up(v).items() if not len(self._parents.of(a))]
        return self.way(v, min(roots)[1])
