"""The taxonomies of public corpora, against counts found in other ways."""

from __future__ import annotations

import lzma
import re

import networkx as nx
import pytest

from pinakes.errors import DataWarning
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.check import check_taxonomy
from pinakes.taxonomy.files import read_source

pytestmark = pytest.mark.corpus

SETS = {  # nodes, nodes with several parents, depth: the first two as the sets' own pages state them
    "arxiv": (80, 0, 2),
    "clinc150": (160, 0, 2),
    "cpc-titles": (9754, 0, 4),
    "go-function": (4964, 1184, 13),
    "go-oxidoreductase": (622, 67, 6),
    "ipc-titles": (6268, 0, 4),
    "news20": (27, 0, 2),
    "patents": (1196, 0, 4),
    "senseval2-nouns": (284, 0, 2),
    "wordnet-nouns": (17157, 476, 19),
}


@pytest.mark.parametrize("name", SETS)
def test_edge_files(corpora, name):
    path = corpora / name / "taxonomy.tsv"
    taxonomy = Taxonomy.load(path)
    n_nodes, several, depth = SETS[name]
    assert (len(taxonomy), int((taxonomy.parents.sizes() > 1).sum()), taxonomy.depth) == (
        n_nodes,
        several,
        depth,
    )
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if line]
    graph = nx.DiGraph((row[0], row[1]) for row in rows)
    assert nx.is_directed_acyclic_graph(graph)
    assert {(taxonomy.ids[p], taxonomy.ids[c]) for p, c in taxonomy.edges()} == {(p, c) for p, c in graph.edges if p}
    assert not [f for f in check_taxonomy(path) if f.severity == "error"]


def test_redundant_edges_of_wordnet_are_those_of_networkx(corpora):
    path = corpora / "wordnet-nouns" / "taxonomy.tsv"
    taxonomy = Taxonomy.load(path)
    graph = nx.DiGraph(taxonomy.edges().tolist())
    reduced = nx.transitive_reduction(graph)
    found = [f for f in check_taxonomy(path, limit=None) if f.kind == "redundant-edge"]
    assert len(found) == graph.number_of_edges() - reduced.number_of_edges() > 0


def test_rcv1_has_a_root_like_any_other(corpora):
    taxonomy = Taxonomy.load(corpora / "rcv1" / "rcv1.taxonomy")
    assert len(taxonomy) == 104
    assert [taxonomy.ids[v] for v in taxonomy.roots] == ["Root"]
    assert taxonomy.path("C1511") == ["Root", "CCAT", "C15", "C151", "C1511"]
    assert not check_taxonomy(corpora / "rcv1" / "rcv1.taxonomy")


def test_yso_in_two_syntaxes_and_three_languages(corpora):
    folder = corpora / "skos"
    for language in (None, "en", "fi", "sv"):
        turtle = Taxonomy.load(folder / "yso-archaeology.ttl", language=language)
        assert turtle == Taxonomy.load(folder / "yso-archaeology.rdf", language=language)
        assert (len(turtle), len(turtle.edges())) == (130, 51)
        uri = "http://www.yso.fi/onto/yso/p10174"
        assert turtle.names[turtle.index(uri)] == {"fi": "fosfaattianalyysi", "sv": "fosfatanalys"}.get(
            language or "", "phosphate analysis"
        )


def test_stw_is_an_acyclic_lattice_of_descriptors_and_subject_categories(corpora):
    path = corpora / "skos" / "stw-skos.ttl.xz"
    source = read_source(path, language="de")
    with pytest.warns(DataWarning, match=r"thsys/70818' is deprecated; this edge is left out \(and 18 more"):
        taxonomy = source.taxonomy()
    text = lzma.decompress(path.read_bytes()).decode()
    blocks = [b for b in text.split("\n\n") if re.search(r"^ +a [^;]*skos:Concept\b", b, re.MULTILINE)]
    retired = [b for b in blocks if "owl:deprecated" in b]
    assert (len(blocks), len(retired)) == (6244, 1)
    assert len(taxonomy) == 6243
    assert len(taxonomy.edges()) == 13252 - 19
    assert "Kreislaufwirtschaft" in taxonomy.names[taxonomy.index("http://zbw.eu/stw/thsys/70816")]
    kinds = {f.kind for f in check_taxonomy(source)}
    assert kinds == {"dropped-edge", "redundant-edge"}
