"""The lattice itself, against networkx and one-line definitions."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.errors import LabelError, TaxonomyError
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.taxonomy import find_cycles, find_levels
from strategies import edge_lists, taxonomies

DIAMOND = [("", "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]


def as_graph(taxonomy: Taxonomy) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(taxonomy)))
    graph.add_edges_from(taxonomy.edges().tolist())
    return graph


@given(taxonomies())
def test_relations_are_those_of_networkx(taxonomy):
    graph = as_graph(taxonomy)
    for v in graph:
        assert taxonomy.parents.of(v).tolist() == sorted(graph.predecessors(v))
        assert taxonomy.children.of(v).tolist() == sorted(graph.successors(v))
        assert taxonomy.ancestors.of(v).tolist() == sorted(nx.ancestors(graph, v) | {v})
        assert taxonomy.descendants.of(v).tolist() == sorted(nx.descendants(graph, v) | {v})
    assert taxonomy.roots.tolist() == [v for v in graph if graph.in_degree(v) == 0]
    assert taxonomy.leaves.tolist() == [v for v in graph if graph.out_degree(v) == 0]


@given(taxonomies())
def test_levels_are_longest_ways_and_order_the_nodes(taxonomy):
    graph = as_graph(taxonomy)
    levels = [0] * len(taxonomy)
    for v in nx.topological_sort(graph):
        levels[v] = 1 + max((levels[p] for p in graph.predecessors(v)), default=0)
    assert taxonomy.levels.tolist() == levels == sorted(levels)
    assert taxonomy.depth == nx.dag_longest_path_length(graph) + 1
    assert all(len(taxonomy.path(v)) == levels[v] for v in graph)
    assert all(len(taxonomy.path(node)) == levels[taxonomy.index(node)] for node in taxonomy.ids)


@given(taxonomies(trees=True))
def test_trees_are_trees(taxonomy):
    assert taxonomy.is_tree
    assert nx.is_branching(as_graph(taxonomy))


@given(edge_lists(), st.randoms())
def test_equality_does_not_depend_on_order(drawn, random):
    ids, edges = drawn
    places = list(range(len(ids)))
    random.shuffle(places)
    shuffled = [ids[p] for p in places]
    new = {old: k for k, old in enumerate(places)}
    moved = [(new[p], new[c]) for p, c in edges + edges[:1]]  # an edge given twice counts once
    a, b = Taxonomy(ids, edges), Taxonomy(shuffled, moved)
    assert a == b
    assert hash(a) == hash(b)
    assert a != Taxonomy(ids, edges, {ids[0]: ids[0] + "!"})
    assert a != "a"


@given(taxonomies())
def test_round_trip_through_networkx_parents_and_pickle(taxonomy):
    graph = nx.DiGraph()
    graph.add_nodes_from((i, {"name": n}) for i, n in zip(taxonomy.ids, taxonomy.names, strict=True))
    graph.add_edges_from((taxonomy.ids[p], taxonomy.ids[c]) for p, c in taxonomy.edges())
    assert Taxonomy.from_networkx(graph) == taxonomy
    names = dict(zip(taxonomy.ids, taxonomy.names, strict=True))
    parents = {i: [taxonomy.ids[p] for p in taxonomy.parents.of(v)] for v, i in enumerate(taxonomy.ids)}
    assert Taxonomy.from_parents(parents, names) == taxonomy
    assert pickle.loads(pickle.dumps(taxonomy)) == taxonomy


def test_ways_to_build_agree():
    expected = Taxonomy.from_edges(DIAMOND)
    assert Taxonomy.from_parents({"a": None, "b": "a", "c": "a", "d": ["b", "c"]}) == expected
    assert Taxonomy.from_dict({"a": {"b": ["d"], "c": "d"}}) == expected
    assert Taxonomy.from_dict({"a": {"b": {"d": None}, "c": {"d": {}}}}) == expected
    assert repr(expected) == "Taxonomy(4 nodes, 1 leaves, lattice, depth 3)"
    assert "d" in expected
    assert "e" not in expected


def test_paths_name_their_ends():
    taxonomy = Taxonomy.from_paths(["a.b", "c", "a.b.d"], separator=".")
    assert taxonomy.ids == ("a", "c", "a.b", "a.b.d")
    assert taxonomy.names == ("a", "c", "b", "d")
    with pytest.raises(TaxonomyError, match=r"a path needs a name between its separators '/', got 'a//b'"):
        Taxonomy.from_paths(["a//b"])


def test_flat_has_no_edges():
    taxonomy = Taxonomy.flat("xyz")
    assert taxonomy.depth == 1
    assert len(taxonomy.edges()) == 0
    assert taxonomy.ancestors.indices.tolist() == [0, 1, 2]


def test_a_deep_chain_and_a_wide_lattice():
    chain = Taxonomy.from_edges((str(k), str(k + 1)) for k in range(3000))
    assert chain.depth == 3001
    assert chain.ancestors.of(3000).tolist() == list(range(3001))
    ladder = Taxonomy.from_edges((f"{k}{a}", f"{k + 1}{b}") for k in range(40) for a in "xy" for b in "xy")
    assert (ladder.ancestors.sizes() == 2 * ladder.levels - 1).all()  # 2^40 ways, 81 nodes


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Taxonomy([], []), "needs at least one node"),
        (lambda: Taxonomy(["a", "b", "a"], []), "must be unique, got 'a' twice"),
        (lambda: Taxonomy(["a"], [(0, 1)]), "positions from 0 to 0, got 1"),
        (lambda: Taxonomy(["a", "b"], [(0, -1)]), "positions from 0 to 1, got -1"),
        (lambda: Taxonomy.from_edges([("a", "")]), r"an edge needs a child, got \('a', ''\)"),
        (lambda: Taxonomy.from_edges([("a", "a")]), "cannot have a cycle, got a > a; remove"),
        (
            lambda: Taxonomy.from_edges([("r", "a"), ("a", "b"), ("b", "a"), ("c", "c")]),
            r"a > b > a \(and 1 more\)",
        ),
        (
            lambda: Taxonomy.from_edges([(str(k), str((k + 1) % 20)) for k in range(20)]),
            "0 > 1 .* 11 > … > 0",
        ),
    ],
)
def test_refusals(build, message):
    with pytest.raises(TaxonomyError, match=message):
        build()


def test_unknown_nodes_show_the_closest():
    with pytest.raises(LabelError, match=r"'anmal' is not in the taxonomy of 2 nodes \(closest: 'animal'\)"):
        Taxonomy.flat(["animal", "plant"]).index("anmal")


def test_nothing_changes():
    taxonomy = Taxonomy.from_edges(DIAMOND)
    with pytest.raises(AttributeError, match="does not change: cannot set 'ids'"):
        taxonomy.ids = ()
    for array in (taxonomy.levels, taxonomy.ancestors.indices, taxonomy.parents.indptr, taxonomy.roots):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5


@st.composite
def digraphs(draw):
    n = draw(st.integers(1, 8))
    node = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(node, node), max_size=16))


@given(digraphs())
def test_cycles_one_a_knot_and_shortest(drawn):
    n, edges = drawn
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    cycles = find_cycles(n, np.array(edges, dtype=np.int64).reshape(-1, 2))
    knots = [c for c in nx.strongly_connected_components(graph) if len(c) > 1]
    assert sorted(c[0] for c in cycles if len(c) == 1) == sorted(nx.nodes_with_selfloops(graph))
    long = [c for c in cycles if len(c) > 1]
    assert len(long) == len(knots)
    plain = graph.copy()
    plain.remove_edges_from([(v, v) for v in range(n)])
    for cycle in long:
        (knot,) = [k for k in knots if cycle[0] in k]
        assert cycle[0] == min(knot)
        assert all(graph.has_edge(a, b) for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        back = (nx.shortest_path_length(plain, cycle[0], v) for v in plain.predecessors(cycle[0]) if v in knot)
        assert len(cycle) == 1 + min(back)


@given(digraphs())
def test_levels_are_zero_exactly_on_and_below_cycles(drawn):
    n, edges = drawn
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(range(n))
    knotted = {v for k in nx.strongly_connected_components(graph) if len(k) > 1 for v in k}
    knotted |= set(nx.nodes_with_selfloops(graph))
    levels = find_levels(n, np.unique(np.array(edges, dtype=np.int64).reshape(-1, 2), axis=0))
    for v in range(n):
        assert (levels[v] == 0) == bool(knotted & (nx.ancestors(graph, v) | {v}))


def test_a_graph_without_directions_is_refused():
    with pytest.raises(TaxonomyError, match="got an undirected graph; use a networkx DiGraph"):
        Taxonomy.from_networkx(nx.Graph([("a", "b")]))
