"""Each format by small files: what is read, what is told about it, and round trips of what can be written."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
import stat
import sys
import warnings
from pathlib import Path

import fastobo
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pinakes.errors import DataWarning, MissingExtraError, ParameterError, TaxonomyError
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.files import read_source, read_taxonomy, write_taxonomy
from pinakes.taxonomy.formats import FORMATS
from strategies import taxonomies

DIAMOND = Taxonomy.from_edges([("", "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")], {"d": "Dee"})
PREFIXES = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix : <http://x.org/> .
"""


@pytest.fixture
def put(tmp_path):
    """Write a text to a file of this name and give its path."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write


# -- round trips ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["tsv", "csv", "json"])
@given(taxonomy=taxonomies())
@settings(max_examples=60)
def test_round_trip(tmp_path_factory, ending, taxonomy):
    path = tmp_path_factory.getbasetemp() / f"round.{ending}"
    taxonomy.save(path)
    assert Taxonomy.load(path) == taxonomy


@given(taxonomy=taxonomies(max_nodes=6), language=st.sampled_from([None, "en", "de-CH"]))
@settings(max_examples=30)
def test_round_trip_skos(tmp_path_factory, taxonomy, language):
    path = tmp_path_factory.getbasetemp() / "round.ttl"
    write_taxonomy(taxonomy, path, language=language)
    assert read_taxonomy(path, language=language) == taxonomy


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".zst"])
@pytest.mark.parametrize("kind", ["tsv", "csv", "json", "ttl"])
def test_packed_files(tmp_path, kind, ending):
    path = tmp_path / f"t.{kind}{ending}"
    DIAMOND.save(path)
    assert Taxonomy.load(path) == DIAMOND
    assert os.listdir(tmp_path) == [path.name]
    unpack = {"": bytes, ".gz": gzip.decompress, ".xz": lzma.decompress}
    unpack[".zst"] = lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)
    plain = tmp_path / f"plain.{kind}"
    DIAMOND.save(plain)
    assert unpack[ending](path.read_bytes()) == plain.read_bytes()


@pytest.mark.parametrize("ending", ["gz", "xz", "zst"])
def test_a_damaged_packed_file_is_told(tmp_path, ending):
    path = tmp_path / f"t.tsv.{ending}"
    Taxonomy.from_edges((str(k), str(k * 7919)) for k in range(1, 2000)).save(path)
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(TaxonomyError, match=rf"t\.tsv\.{ending}: the packed file is damaged"):
        Taxonomy.load(path)


def test_zstandard_missing(tmp_path, monkeypatch):
    DIAMOND.save(tmp_path / "t.tsv.zst")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'pinakes[formats]'")):
        Taxonomy.load(tmp_path / "t.tsv.zst")
    with pytest.raises(MissingExtraError, match="Zstandard"):
        DIAMOND.save(tmp_path / "new.tsv.zst")
    assert os.listdir(tmp_path) == ["t.tsv.zst"]


def test_rdflib_missing(put, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(MissingExtraError, match="reading SKOS needs an optional dependency"):
        Taxonomy.load(put("t.ttl", PREFIXES))


def test_nothing_half_written(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("before")
    bad = Taxonomy.from_edges([("", "a"), ("a", "b\tc")])
    with pytest.raises(TaxonomyError, match="TSV cannot hold an id with a tab or a line break, got 'b"):
        bad.save(path)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["t.tsv"]
    bad.save(tmp_path / "t.json")
    assert Taxonomy.load(tmp_path / "t.json") == bad


def test_a_written_file_has_ordinary_permissions(tmp_path):
    DIAMOND.save(tmp_path / "t.tsv")
    (tmp_path / "other").write_text("")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("t.tsv", "other")}
    assert len(modes) == 1


def test_names_with_tabs_become_plain_in_tsv(tmp_path):
    Taxonomy.from_edges([("", "a")], {"a": "one\ttwo\nthree"}).save(tmp_path / "t.tsv")
    assert (tmp_path / "t.tsv").read_text() == "\ta\tone two three\n"


# -- edges ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.tsv", "\ta\na\tb\na\tc\nb\td\tDee\nc\td\n"),
        ("t.tsv", "\ufeff\ta\r\na\tb\r\n\r\na\tc\r\nb\td\tDee\r\nc\td\tDee\r\n"),
        ("t.tsv", "a\tb\na\tc\nb\td\tDee\nc\td"),
        ("t.tab", "name\tchild\tParent\textra\n\ta\t\n\tb\ta\n\tc\ta\t?\nDee\td\tb\t!\nDee\td\tc\n"),
        ("t.csv", 'parent,child,name\n,a,\n"a","b"\na,c\nb,d,Dee\nc,d,Dee\n'),
        ("t.csv", "id;parent;label\na;;a\nb;a;b\nc;a;c\nd;b;Dee\nd;c;Dee\n"),
        ("t.json", '{"a": {"b": {"d": {}}, "c": ["d"]}}'),
        ("t.json", '[{"id": "a", "children": [{"id": "b", "children": [{"id": "d", "name": "Dee"}]}, '
                   '{"id": "c", "children": ["d"]}]}]'),
        ("t.taxonomy", "a\tb\tc\nb\td\nc\td\n"),
        ("t", "\ta\na\tb\na\tc\nb\td\tDee\nc\td\n"),
        ("t.txt", "a\tb\tc\tx\nb\td\nc\td\n"),
        ("t.txt", '{"a": {"b": {"d": {}}, "c": ["d"]}}'),
        ("t.txt", "parent,child\n,a\na,b\na,c\nb,d\nc,d\n"),
        ("t.obo", "format-version: 1.4\n\n[Term]\nid: a\n\n[Term]\nid: b\nis_a: a ! first\n\n[Term]\nid: c\n"
                  "is_a: a\n[Term]\nid: d\nname: Dee\nis_a: b\nis_a: c {source=\"x\"} ! see\n"),
        ("t.txt", "[Term]\nid: a\n[Term]\nid: b\nis_a: a\n[Term]\nid: c\nis_a: a\n[Term]\nid: d\n"
                  "is_a: b\nis_a: c\n"),
    ],
)  # fmt: skip
def test_the_same_lattice_in_every_guise(put, name, text):
    taxonomy = Taxonomy.load(put(name, text))
    expected = {("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")}
    edges = {(taxonomy.ids[p], taxonomy.ids[c]) for p, c in taxonomy.edges()}
    assert edges - {("a", "x")} == expected
    if "Dee" in text:
        assert taxonomy == DIAMOND


@pytest.mark.parametrize("first", ["\tparent\tchild\n", "\tchild\tparent\n"])
def test_a_root_is_no_header(put, first):
    assert len(Taxonomy.load(put("t.tsv", first))) == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.tsv", "\ta\nb\n", r"t\.tsv:2: expected the columns parent and child, got 1: 'b'"),
        ("t.tsv", "\ta\na\t\n", r"t\.tsv:2: expected parent, child\[, name\], got no child under 'a'"),
        ("t.tsv", "\ta\nb\tc\nb\td\n", r"t\.tsv:2: the parent 'b' has no line of its own \(used 2 times\)"),
        ("t.tsv", "\ta\na\tb\nb\tc\nc\tb\n", r"t\.tsv:3: 2 nodes in a cycle: b > c > b \(lines 3, 4\)"),
        ("t.tsv", "\ta\na\ta\n", r"t\.tsv:2: 'a' is its own parent; remove this edge"),
        ("t.tsv", "", r"t\.tsv: expected at least one category, got none"),
        ("t.csv", 'a,b\n"a"x,c\n', r"t\.csv:2: expected comma-separated values: "),
        ("t.csv", ',a\n"a\nb",\n', r"t\.csv:2: expected parent, child\[, name\], got no child under 'a\\nb'"),
        ("t.json", '{"a":\n{]}', r"t\.json:2: expected JSON"),
        ("t.json", '{"a": [1.5]}', r"t\.json: expected a text or a number as id, got 1\.5; a tree is"),
        ("t.json", "[" * 100_000, r"t\.json: (the JSON tree is nested too deeply; use TSV|expected JSON)"),
        ("t.json", '{"a": {"b": {"a": {}}}}', r"t\.json: 2 nodes in a cycle: a > b > a; remove"),
        ("t.paths", "a/b\na//c\n", r"t\.paths:2: expected a name between the separators '/', got 'a//c'"),
        ("t.taxonomy", "a\tb\n\tc\n", r"t\.taxonomy:2: expected a parent and its children divided by"),
        ("t.obo", "[Term]\nname: x\n", r"t\.obo:1: expected an id in this \[Term\]"),
        ("t.obo", "[Term]\nid: x\nrubbish\n", r"t\.obo:3: expected 'tag: value', got 'rubbish'"),
        ("t.ttl", "@prefix a: <http://a> .\n\na:b a:c", r"t\.ttl: .* Turtle: the text ends too early"),
        ("t.ttl", "@prefix a: <http://a> .\n\na:b c:d a:e .", r"t\.ttl:3: expected SKOS in Turtle: .*c"),
        ("t.rdf", "<?xml version='1.0'?>\n<a>\n", r"t\.rdf:3: expected SKOS in RDF/XML: "),
        ("t.jsonld", '{"@context": "http://x.org/c.json"}', "c.json' lies elsewhere and is not fetched"),
        ("t.jsonld", '{"@context":', r"t\.jsonld:1: expected JSON-LD: "),
        ("t.txt", "no structure\nat all\n", r"t\.txt: cannot tell the format from the ending or"),
        ("t.txt", "", "cannot tell the format"),
        ("t.txt", "a\tb\nc\n", "cannot tell the format"),
    ],
)  # fmt: skip
def test_refusals_say_where_and_what(put, name, text, message):
    with pytest.raises(TaxonomyError, match=message):
        Taxonomy.load(put(name, text))


def test_other_encodings_are_told(tmp_path):
    (tmp_path / "t.tsv").write_bytes("\ta\na\tä\n".encode("latin-1"))
    with pytest.raises(TaxonomyError, match=r"t\.tsv:2: expected text in UTF-8, got the byte 0xe4; save"):
        Taxonomy.load(tmp_path / "t.tsv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "tvs"}, r"format must be one of tsv, .*, got 'tvs' \(closest: 'tsv'\)"),
        ({"language": "en"}, "'language' is no option for reading tsv; its options: separator"),
        ({"format": "taxonomy", "ids": "uri"}, "'ids' is no option for reading taxonomy; its options: none"),
        ({"format": "skos", "ids": "name"}, "ids must be 'uri' or 'notation', got 'name'"),
        ({"format": "csv", "separator": "::"}, "must be one character, got '::'"),
        ({"format": "paths", "separator": ""}, "the separator of paths must not be empty"),
        ({"separator": ""}, "the separator between columns must not be empty"),
    ],
)
def test_bad_options(put, options, message):
    with pytest.raises(ParameterError, match=message):
        read_taxonomy(put("t.tsv", "\ta\n"), **options)


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("t.txt", {}, "cannot tell a format from the ending of .*t.txt'; name it: tsv, csv, json, skos"),
        ("t.obo", {}, "'obo' can be read, not written; choose from tsv, csv, json, skos"),
        ("t.tsv", {"language": "en"}, "'language' is no option for writing tsv"),
        ("t.ttl", {"language": "e n"}, "language must be a tag like 'en' or 'de-CH', got 'e n'"),
    ],
)
def test_bad_targets(tmp_path, path, options, message):
    with pytest.raises(ParameterError, match=message):
        write_taxonomy(DIAMOND, tmp_path / path, **options)
    assert not os.listdir(tmp_path)


def test_format_overrides_the_ending(put):
    path = put("t.tsv", "a\tb\tc\n")
    assert read_taxonomy(path) == Taxonomy.from_edges([("a", "b")], {"b": "c"})
    assert read_taxonomy(path, format="taxonomy") == Taxonomy.from_edges([("a", "b"), ("a", "c")])
    assert read_taxonomy(put("t.csv", "a|b\n"), separator="|") == Taxonomy.from_edges([("a", "b")])


def test_every_format_has_a_test():
    here = Path(__file__).read_text(encoding="utf-8")
    assert all(any(f'"t{ending}"' in here for ending in f.endings) for f in FORMATS.values())


# -- the others ----------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=6))
def test_paths_are_those_of_from_paths(tmp_path_factory, ways):
    path = tmp_path_factory.getbasetemp() / "p.paths"
    path.write_text("".join("/".join(way) + "\n" for way in ways))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert read_taxonomy(path) == Taxonomy.from_paths("/".join(way) for way in ways)
    path.write_text("".join(" > ".join(way) + "\n" for way in ways))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert read_taxonomy(path, separator=" > ") == Taxonomy.from_paths((" > ".join(w) for w in ways), " > ")


def test_paths_are_told_from_content(put):
    assert len(Taxonomy.load(put("t.txt", "Arts\nArts/Music\nArts/Film\n"))) == 3


def test_children_root_is_a_node_and_lone_lines_declare(put):
    taxonomy = Taxonomy.load(put("t.taxonomy", "Root\tA\tB\nC\nA\n\n"))
    assert taxonomy == Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("", "C")])


def test_json_objects_by_name_and_numbers(put):
    flare = {"name": "flare", "children": [{"name": "x", "size": 3}, {"name": "y", "children": []}]}
    expected = Taxonomy.from_edges([("flare", "x"), ("flare", "y")])
    assert Taxonomy.load(put("t.json", json.dumps(flare))) == expected
    assert Taxonomy.load(put("t.json", '[{"id": 1, "name": "one", "children": [2]}]')) == Taxonomy.from_edges(
        [("1", "2")], {"1": "one"}
    )
    assert Taxonomy.load(put("t.json", '[{"a": {"b": null}}, "c"]')) == Taxonomy.from_edges([("a", "b"), ("", "c")])


def test_json_is_json_and_not_too_deep(tmp_path):
    DIAMOND.save(tmp_path / "t.json")
    written = json.loads((tmp_path / "t.json").read_text())
    assert [node["id"] for node in written[0]["children"]] == ["b", "c"]
    chain = Taxonomy.from_edges((str(k), str(k + 1)) for k in range(400))
    with pytest.raises(TaxonomyError, match="at most 300 levels deep, this one has 401; use TSV"):
        chain.save(tmp_path / "deep.json")
    deep = Taxonomy.from_edges((str(k), str(k + 1)) for k in range(299))
    deep.save(tmp_path / "deep.json")
    assert Taxonomy.load(tmp_path / "deep.json") == deep


OBO = """format-version: 1.2
default-namespace: one

[Term]
id: X:1
name: first\\, and \\"best\\"

[Term]
id: X:2
name: second
namespace: two
is_a: X:1 {source="a"} ! first

[Term]
id: X:3
name: gone
is_obsolete: true

[Term]
id: X:4
name: fourth
is_a: X:3 ! gone
is_a: X:9
is_a: X:1

[Typedef]
id: part_of
name: part of
"""


def test_obo_drops_the_obsolete_and_the_unknown(put):
    path = put("t.obo", OBO)
    with pytest.warns(DataWarning) as told:
        taxonomy = Taxonomy.load(path)
    assert len(told) == 1
    expected = r"t\.obo:22: 'X:4' is_a 'X:3', which is obsolete; this edge is left out \(and 1 more like it\)"
    assert re.search(expected, str(told[0].message))
    names = {"X:1": 'first, and "best"', "X:2": "second", "X:4": "fourth"}
    assert taxonomy == Taxonomy.from_edges([("X:1", "X:2"), ("X:1", "X:4")], names)


def test_obo_namespaces(put):
    path = put("t.obo", OBO)
    assert read_source(path, namespace="two").edges == [("", "X:2", 8)]
    with pytest.raises(ParameterError, match=r"in the namespace 'tow'.*; it has one, two"):
        read_taxonomy(path, namespace="tow")


def test_obo_terms_are_those_of_fastobo(put):
    document = fastobo.loads(OBO)
    alive = {str(f.id) for f in document if type(f).__name__ == "TermFrame"} - {"X:3"}
    assert {child for _, child, _ in read_source(put("t.obo", OBO)).edges} == alive


def test_obo_stanzas_of_one_term_are_joined(put):
    text = "[Term]\nid: a\n[Term]\nid: b\nname: bee\n[Term]\nid: b\nname: bee\nis_a: a\n"
    assert Taxonomy.load(put("t.obo", text)) == Taxonomy.from_edges([("a", "b")], {"b": "bee"})


def skos(put, text: str, name: str = "t.ttl", **options: str) -> Taxonomy:
    return read_taxonomy(put(name, PREFIXES + text), **options)


@pytest.mark.parametrize(
    "text",
    [
        ":a a skos:Concept . :b a skos:Concept ; skos:broader :a .",
        ":a a skos:Concept ; skos:narrower :b . :b a skos:Concept .",
        ":s skos:hasTopConcept :a . :a a skos:Concept . :b skos:broader :a .",
        ":a skos:topConceptOf :s ; skos:narrower :b . :b skos:prefLabel 'b' .",
        ":a a skos:Concept . :b skos:broader :a ; skos:broaderTransitive :a, :z .",
        ":a a skos:Concept . :b skos:broader :a . :c skos:broader :b ; owl:deprecated true .",
    ],
)
def test_skos_hierarchies(put, text):
    taxonomy = skos(put, text) if "deprecated" not in text else read_source_quietly(put, text)
    assert taxonomy.ids == ("http://x.org/a", "http://x.org/b")
    assert taxonomy.edges().tolist() == [[0, 1]]


def read_source_quietly(put, text: str) -> Taxonomy:
    with pytest.warns(DataWarning, match="'http://x.org/c' is deprecated; this edge is left out"):
        return skos(put, text)


def test_skos_labels_fall_back(put):
    text = """
    :a a skos:Concept ; skos:prefLabel "Katze"@de, "chat"@fr, "cat"@en, "felis" .
    :b a skos:Concept ; skos:prefLabel "Hund"@de, "dog"@en .
    :c a skos:Concept ; skos:prefLabel "vache"@fr, "Kuh"@de .
    :d a skos:Concept ; skos:prefLabel "colour"@en-GB .
    :e a skos:Concept .
    """
    assert skos(put, text).names == ("felis", "dog", "Kuh", "colour", "http://x.org/e")
    assert skos(put, text, language="fr").names == ("chat", "dog", "vache", "colour", "http://x.org/e")
    assert skos(put, text, language="EN").names == ("cat", "dog", "Kuh", "colour", "http://x.org/e")
    with pytest.warns(DataWarning, match="no label is in the language 'fi'; the file has de, en, en-GB, fr"):
        assert skos(put, text, language="fi").names[0] == "felis"


def test_skos_unknown_broader_is_dropped_and_told(put):
    with pytest.warns(DataWarning, match=r"t\.ttl: .*'http://x.org/z' is not in the file; this edge is left out"):
        taxonomy = skos(put, ":a a skos:Concept ; skos:broader :z .")
    assert taxonomy.ids == ("http://x.org/a",)


def test_skos_notations(put):
    text = ":a a skos:Concept ; skos:notation 'A' . :b a skos:Concept ; skos:notation 'B' ; skos:broader :a ."
    assert skos(put, text, ids="notation") == Taxonomy.from_edges([("A", "B")])
    with pytest.warns(DataWarning, match="1 of 3 concepts have no notation; they keep their URI"):
        assert "http://x.org/c" in skos(put, text + ":c skos:broader :b .", ids="notation")
    with pytest.raises(TaxonomyError, match=r"x\.org/c' and .*x\.org/a' share the notation 'A'; use ids"):
        skos(put, text + ":c a skos:Concept ; skos:notation 'A' .", ids="notation")


def test_skos_collections_and_schemes_are_no_concepts(put):
    text = ":s a skos:ConceptScheme ; skos:prefLabel 'S' . :g a skos:Collection ; skos:prefLabel 'G' . "
    text += ":a a skos:Concept ."
    assert skos(put, text).ids == ("http://x.org/a",)


def test_skos_in_three_syntaxes(put, tmp_path):
    import rdflib

    turtle = put("t.ttl", PREFIXES + ":a a skos:Concept . :b skos:broader :a ; skos:prefLabel 'bee'@en .")
    graph = rdflib.Graph().parse(turtle)
    for name, syntax in [("t.rdf", "xml"), ("t.jsonld", "json-ld"), ("t.nt", "nt"), ("t.json", "json-ld")]:
        path = put(name, graph.serialize(format=syntax))
        assert read_taxonomy(path) == read_taxonomy(turtle)
        path = path.rename(tmp_path / "unnamed")
        assert read_taxonomy(path) == read_taxonomy(turtle)


def test_skos_written_is_skos(tmp_path):
    import rdflib
    from rdflib import RDF, SKOS, Literal, URIRef

    taxonomy = Taxonomy.from_edges([("", "a b"), ("a b", "http://x.org/1")], {"a b": 'A "b"\\'})
    write_taxonomy(taxonomy, tmp_path / "t.ttl", language="en")
    graph = rdflib.Graph().parse(tmp_path / "t.ttl")
    top, below = URIRef("urn:pinakes:node:a%20b"), URIRef("http://x.org/1")
    assert set(graph.subjects(RDF.type, SKOS.Concept)) == {top, below}
    assert set(graph.subject_objects(SKOS.broader)) == {(below, top)}
    assert set(graph.subject_objects(SKOS.notation)) == {(top, Literal("a b"))}
    assert graph.value(top, SKOS.prefLabel) == Literal('A "b"\\', lang="en")
