"""Every kind of finding by a minimal bad file, and redundant edges and repairs against networkx."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.check import check_taxonomy, fix_source, redundant_edges
from pinakes.taxonomy.formats import Finding, Source
from strategies import taxonomies

BAD = [
    ("self-loop", "error", "\ta\na\ta\n", 2, "'a' is its own parent; remove this edge"),
    (
        "cycle",
        "error",
        "\tr\nr\ta\na\tb\nb\tc\nc\ta\n",
        3,
        "3 nodes in a cycle: a > b > c > a (lines 3, 4, 5); remove one of these edges",
    ),
    (
        "unknown-parent",
        "error",
        "\ta\nb\tc\n",
        2,
        "the parent 'b' has no line of its own; give it one (for a root, with no parent)",
    ),
    (
        "unreachable",
        "error",
        "a\tb\nb\ta\nb\tc\n",
        None,
        "3 nodes cannot be reached from any root: 'b', 'a', 'c'; they hang on a cycle or an unknown parent",
    ),
    ("empty", "error", "\n", None, "expected at least one category, got none"),
    ("bad-line", "error", "\ta\nb\n", 2, "expected the columns parent and child, got 1: 'b'"),
    (
        "duplicate-edge",
        "warning",
        "\ta\na\tb\na\tb\n",
        3,
        "'a' > 'b' is given again, first on line 2; remove one",
    ),
    (
        "duplicate-edge",
        "warning",
        "\ta\n\ta\n",
        2,
        "the root 'a' is given again, first on line 1; remove one",
    ),
    (
        "redundant-edge",
        "warning",
        "\ta\na\tb\nb\tc\na\tc\n",
        4,
        "'a' > 'c' says nothing new: it follows from 'a' > … > 'b' > 'c'",
    ),
    (
        "root-with-parent",
        "warning",
        "\ta\na\tb\n\tb\n",
        3,
        "'b' is declared a root and has the parent 'a'; it is taken as no root",
    ),
    (
        "name-clash",
        "warning",
        "\ta\tA\n\ta\tB\n",
        2,
        "'a' is named 'B', but was named 'A' before; the first name is used",
    ),
    ("shared-name", "warning", "\ta\tX\n\tb\tX\n", 2, "2 nodes have the name 'X': 'a', 'b'"),
]


@pytest.mark.parametrize(("kind", "severity", "text", "line", "message"), BAD)
def test_minimal_bad_files(tmp_path, kind, severity, text, line, message):
    path = tmp_path / "t.tsv"
    path.write_text(text)
    (found,) = [f for f in check_taxonomy(path) if f.kind == kind]
    assert (found.severity, found.line, found.message, found.source) == (severity, line, message, str(path))
    where = f"{path}:{line}" if line else str(path)
    assert str(found) == f"{where}: {severity}: {message} [{kind}]"


@given(taxonomies())
def test_sound_files_have_no_errors(taxonomy):
    edges = [(taxonomy.ids[p], taxonomy.ids[c], 0) for p, c in taxonomy.edges()]
    roots = [("", taxonomy.ids[v], 0) for v in taxonomy.roots]
    assert {f.kind for f in check_taxonomy(Source("t", roots + edges))} <= {"redundant-edge"}


@given(taxonomies())
def test_redundant_edges_are_those_of_networkx(taxonomy):
    graph = nx.DiGraph(taxonomy.edges().tolist())
    expected = set(graph.edges) - set(nx.transitive_reduction(graph).edges)
    assert set(map(tuple, redundant_edges(taxonomy).tolist())) == expected


def test_redundant_edges_in_pieces(monkeypatch):
    monkeypatch.setattr("pinakes.taxonomy.check.AT_ONCE", 2)
    complete = Taxonomy.from_edges((f"{a:02}", f"{b:02}") for a in range(12) for b in range(a + 1, 12))
    assert {(p, c) for p, c in redundant_edges(complete).tolist()} == {
        (a, b) for a in range(12) for b in range(a + 2, 12)
    }


@st.composite
def sources(draw):
    node = st.sampled_from("abcdef")
    parent = st.one_of(node, st.just(""))
    edges = draw(st.lists(st.tuples(parent, node), min_size=1, max_size=14))
    return Source("t", [(p, c, k) for k, (p, c) in enumerate(edges, start=1)])


@given(sources())
def test_errors_are_exactly_what_is_refused(source):
    errors = [f for f in check_taxonomy(source) if f.severity == "error"]
    rooted = any(p == "" for p, _, _ in source.edges)
    unknown = {p for p, _, _ in source.edges} - {c for _, c, _ in source.edges} - {""} if rooted else set()
    graph = nx.DiGraph((p, c) for p, c, _ in source.edges if p)
    assert bool(errors) == (bool(unknown) or not nx.is_directed_acyclic_graph(graph))
    if errors:
        with pytest.raises(ValueError, match=r"^t:\d+: "):
            source.taxonomy()
    else:
        assert set(source.taxonomy().ids) == {n for p, c, _ in source.edges for n in (p, c) if n}


@given(sources())
def test_fix_keeps_what_is_above_what(source):
    fixed, dropped = fix_source(source)
    kinds = {f.kind for f in dropped}
    assert kinds <= {"self-loop", "duplicate-edge", "redundant-edge"}
    assert not {f.kind for f in check_taxonomy(fixed)} & kinds
    assert {c for _, c, _ in fixed.edges} >= {c for _, c, _ in source.edges}

    def above(edges):
        graph = nx.DiGraph((p, c) for p, c, _ in edges if p and p != c)
        return set(nx.transitive_closure(graph).edges)

    assert above(fixed.edges) == above(source.edges)
    assert fixed.unknown_parents().keys() == source.unknown_parents().keys()


def test_labels_that_the_taxonomy_lacks():
    source = Source("t", [("", "animal", 1), ("animal", "cat", 2)], {"cat": "Felis catus"})
    found = check_taxonomy(source, ["anmal", "cat", "Felis catus", "anmal", "xyz"])
    assert [f.message for f in found] == [
        "2 documents have the label 'anmal', which is no category (closest: 'animal')",
        "1 document has the label 'Felis catus', which is no category; it is the name of 'cat': "
        "label documents with ids",
        "1 document has the label 'xyz', which is no category",
    ]
    assert {f.kind for f in found} == {"unknown-label"}
    assert check_taxonomy(source, {"anmal": 2, "cat": 1, "Felis catus": 1, "xyz": 1}) == found
    assert not check_taxonomy(source, [])


def test_many_findings_are_summed_up():
    source = Source("t", [("", str(k), k) for k in range(1, 101)], {str(k): "same" for k in range(1, 101)})
    source.edges += source.edges
    found = check_taxonomy(source, limit=5)
    assert [f.kind for f in found] == ["duplicate-edge"] * 6 + ["shared-name"]
    assert found[5] == Finding("warning", "duplicate-edge", "and 95 more of this kind", "t", None, 95)
    assert found[6].message == "100 nodes have the name 'same': " + ", ".join(f"'{k}'" for k in range(1, 13)) + ", …"
    assert len(check_taxonomy(source, limit=None)) == 101


def test_errors_come_first():
    source = Source("t", [("a", "b", 1), ("a", "b", 2), ("b", "a", 3)])
    assert [f.severity for f in check_taxonomy(source)] == ["error", "error", "warning"]


def test_a_refusal_says_how_many_more():
    source = Source("t", [("", "a", 1), ("b", "c", 2), ("d", "e", 3)])
    with pytest.raises(ValueError, match=r"t:2: the parent 'b' .*'pinakes taxonomy check t' lists 2 more"):
        source.taxonomy()


def test_many_small_cycles_and_one_large():
    pairs = [(f"{k}{s}", f"{k}{t}", 1) for k in range(500) for s, t in ("xy", "yx")]
    assert sum(f.count for f in check_taxonomy(Source("t", pairs)) if f.kind == "cycle") == 500
    ring = [(str(k), str((k + 1) % 5000), k) for k in range(5000)]
    (cycle,) = [f for f in check_taxonomy(Source("t", ring)) if f.kind == "cycle"]
    assert cycle.message.startswith("5000 nodes in a cycle: 1 > 2 > 3")
