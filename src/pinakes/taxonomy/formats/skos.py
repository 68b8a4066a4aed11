"""SKOS vocabularies (`skos`): concepts, their preferred labels, and what is broader or narrower than what.

Read through rdflib from Turtle, N-Triples, RDF/XML or JSON-LD. A concept is what is typed skos:Concept, or
stands where only a concept can. Relations to concepts that the file does not describe are left out and
reported; concepts with owl:deprecated true are left out. skos:broaderTransitive is not read: it holds no
edge that skos:broader lacks.

Written as Turtle. An id that is a web address is the concept's URI; any other id becomes
``urn:pinakes:node:<id>``, which reading takes off again, and is also given as skos:notation.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from pinakes.errors import MissingExtraError, ParameterError, TaxonomyError
from pinakes.taxonomy.formats.source import Source
from pinakes.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    from rdflib import Graph

SCHEME = "urn:pinakes:scheme"
NODE = "urn:pinakes:node:"
_ADDRESS = re.compile(r"https?://[^\x00-\x20<>\"{}|\\^`\x7f-\xa0]+")
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_SYNTAXES = {"turtle": "Turtle", "xml": "RDF/XML", "json-ld": "JSON-LD"}


def read_skos(text: str, path: str, *, language: str | None = None, ids: str = "uri") -> Source:
    """Read a vocabulary, with names in `language` where there are any and `ids` from "uri" or "notation".

    A name is taken in the asked language, else without a language, else in English, else in the first
    language by its tag. A concept without a notation keeps its URI.
    """
    if ids not in ("uri", "notation"):
        raise ParameterError(f"ids must be 'uri' or 'notation', got {ids!r}")
    graph = _parse(text, path)
    from rdflib import OWL, RDFS, SKOS, URIRef

    source = Source(path)
    retired = {s for s, value in graph.subject_objects(OWL.deprecated) if str(value).lower() in ("true", "1")}
    concepts = {c for c in _concepts(graph) if isinstance(c, URIRef)} - retired
    relations = set(graph.subject_objects(SKOS.broader))
    relations |= {(narrow, wide) for wide, narrow in graph.subject_objects(SKOS.narrower)}
    ident = _identify(graph, sorted(concepts), ids, source)
    edges = set()
    for narrow, wide in sorted(relations):
        if narrow in concepts and wide in concepts:
            edges.add((ident[wide], ident[narrow]))
        elif narrow in concepts or wide in concepts:
            stranger = wide if narrow in concepts else narrow
            gone = "is deprecated" if stranger in retired else "is not in the file"
            message = f"{str(narrow)!r} is below {str(wide)!r}, but {str(stranger)!r} {gone}; this edge is left out"
            source.report("warning", "dropped-edge", message)
    tops = set(graph.subjects(SKOS.topConceptOf)) | set(graph.objects(None, SKOS.hasTopConcept))
    placed = {child for parent, child in edges if parent != child}
    roots = {ident[c] for c in concepts if c in tops or ident[c] not in placed}
    source.edges = [("", node, 0) for node in sorted(roots)] + [(p, c, 0) for p, c in sorted(edges)]
    labels: dict[Any, list[Any]] = {}
    for predicate in (SKOS.prefLabel, RDFS.label):
        missing = concepts - labels.keys()
        for concept, label in graph.subject_objects(predicate):
            if concept in missing:
                labels.setdefault(concept, []).append(label)
    source.names = {ident[c]: choose_label(found, language) for c, found in labels.items()}
    known = {str(label.language) for found in labels.values() for label in found if label.language}
    if language is not None and labels and not any(_speaks(tag, language) for tag in known):
        has = ", ".join(sorted(known)[:10]) or "labels without a language only"
        source.report("warning", "language", f"no label is in the language {language!r}; the file has {has}")
    return source


def choose_label(labels: Iterable[Any], language: str | None) -> str:
    """Choose a literal: in the asked language (or a variant), without one, in English, by the first tag."""

    def rank(label: Any) -> tuple[int, str, str]:
        tag = (label.language or "").lower()
        if language is not None and tag == language.lower():
            order = 0
        elif language is not None and _speaks(tag, language):
            order = 1
        else:
            order = 2 if not tag else 3 if tag == "en" else 4
        return order, tag, str(label)

    return str(min(labels, key=rank))


def _speaks(tag: str, language: str) -> bool:
    tag, language = tag.lower(), language.lower()
    return tag == language or tag.startswith(language + "-")


def _parse(text: str, path: str) -> Graph:
    try:
        from rdflib import Graph
    except ImportError:
        raise MissingExtraError("reading SKOS", "formats") from None
    start = text[:4096].lstrip()
    syntax = "turtle"
    if start.startswith(("{", "[")) and not re.match(r"\[\s*(\]|a\s|[\w-]*:)", start):
        syntax = "json-ld"
        _refuse_remote_contexts(text, path)
    elif re.match(r"<(\?xml|!DOCTYPE|!--|[\w-]+:RDF|RDF)\b", start) or start.startswith("<!--"):
        syntax = "xml"
    graph = Graph()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # rdflib's own, about its own classes
            graph.parse(data=text, format=syntax)
    except Exception as error:  # rdflib has no common class for what its parsers raise
        line = getattr(error, "lines", None)
        if hasattr(error, "getLineNumber"):
            line = error.getLineNumber() - 1
        what = " ".join((getattr(error, "message", None) or str(error)).split())[:200]
        if isinstance(error, IndexError):
            what = "the text ends too early"
        raise TaxonomyError(
            f"expected SKOS in {_SYNTAXES[syntax]}: {what}",
            source=path,
            line=line + 1 if isinstance(line, int) else None,
        ) from None
    return graph


def _refuse_remote_contexts(text: str, path: str) -> None:
    """Refuse a JSON-LD context named by its address: it would be fetched from there."""
    try:
        todo = [json.loads(text)]
    except json.JSONDecodeError as error:
        raise TaxonomyError(f"expected JSON-LD: {error.msg}", source=path, line=error.lineno) from None
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            context = item.get("@context")
            for part in context if isinstance(context, list) else [context]:
                if isinstance(part, str):
                    raise TaxonomyError(
                        f"the JSON-LD context {part!r} lies elsewhere and is not fetched; write it into the "
                        "file, or save the vocabulary as Turtle",
                        source=path,
                    )
            todo += item.values()
        elif isinstance(item, list):
            todo += item


def _concepts(graph: Graph) -> set[Any]:
    """Give what is typed a concept or stands where only one can; a label counts where there is no type."""
    from rdflib import RDF, SKOS

    concepts = set(graph.subjects(RDF.type, SKOS.Concept))
    for predicate in (SKOS.broader, SKOS.narrower, SKOS.topConceptOf):
        concepts |= set(graph.subjects(predicate))
    typed = set(graph.subjects(RDF.type))
    return concepts | (set(graph.subjects(SKOS.prefLabel)) - typed)


def _identify(graph: Graph, concepts: list[Any], ids: str, source: Source) -> dict[Any, str]:
    """Give each concept its id; a notation that two concepts share identifies neither."""
    from rdflib import SKOS

    ident = {c: unquote(str(c)[len(NODE) :]) if str(c).startswith(NODE) else str(c) for c in concepts}
    if ids == "uri":
        return ident
    owner: dict[str, Any] = {}
    without = 0
    for concept in concepts:
        notation = min((str(n) for n in graph.objects(concept, SKOS.notation)), default="")
        if not notation:
            without += 1
        elif notation in owner:
            both = f"{ident[concept]!r} and {str(owner[notation])!r}"
            message = f"{both} share the notation {notation!r}; use ids='uri'"
            source.report("error", "duplicate-notation", message)
        else:
            owner[notation] = concept
            ident[concept] = notation
    if without:
        message = f"{without} of {len(concepts)} concepts have no notation; they keep their URI as id"
        source.report("warning", "no-notation", message, count=without)
    return ident


def write_skos(taxonomy: Taxonomy, *, language: str | None = None) -> Iterator[str]:
    """Write Turtle, with the names in `language` or without a language."""
    if language is not None and not _LANGUAGE.fullmatch(language):
        raise ParameterError(f"language must be a tag like 'en' or 'de-CH', got {language!r}")
    tag = f"@{language}" if language else ""
    uris = [_uri(node) for node in taxonomy.ids]
    yield "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n\n"
    yield f"<{SCHEME}> a skos:ConceptScheme .\n"
    for v, uri in enumerate(uris):
        yield f"\n{uri} a skos:Concept ;\n    skos:inScheme <{SCHEME}> ;\n"
        if uri.startswith(f"<{NODE}"):
            yield f"    skos:notation {_literal(taxonomy.ids[v])} ;\n"
        above = taxonomy.parents.of(v)
        if len(above):
            yield f"    skos:broader {', '.join(uris[p] for p in above)} ;\n"
        else:
            yield f"    skos:topConceptOf <{SCHEME}> ;\n"
        yield f"    skos:prefLabel {_literal(taxonomy.names[v])}{tag} .\n"


def _uri(node: str) -> str:
    return f"<{node}>" if _ADDRESS.fullmatch(node) else f"<{NODE}{quote(node, safe='')}>"


def _literal(text: str) -> str:
    """Quote a text for Turtle; control characters go by number."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04X}" for c in plain) + '"'
