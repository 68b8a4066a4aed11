"""Ontologies in OBO (`obo`): the terms, their names and their ``is_a`` edges.

Read line by line: of the format's many tags only six matter here, and a file that strict readers refuse for
a tag they do not know still has a usable tree. Obsolete terms are left out; so are edges to terms that the
file does not have (reported) or that lie in another namespace when one was asked for.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pinakes.errors import ParameterError, closest
from pinakes.taxonomy.formats.source import Source

_ESCAPE = re.compile(r"\\(.)")
_PLAIN = {"n": "\n", "t": "\t", "W": " "}


@dataclass
class _Term:
    line: int
    node: str = ""
    name: str = ""
    namespace: str = ""
    obsolete: bool = False
    parents: list[tuple[str, int]] = field(default_factory=list)


def read_obo(text: str, path: str, *, namespace: str | None = None) -> Source:
    """Read the terms and their is_a edges; with `namespace`, the terms of that one only."""
    source = Source(path)
    terms: dict[str, _Term] = {}
    for term in _terms(text, source):
        if not term.node:
            source.report("error", "bad-line", "expected an id in this [Term], got none", term.line)
            continue
        known = terms.setdefault(term.node, term)
        if known is not term:  # OBO allows a term to be described in several places
            known.parents += term.parents
            known.obsolete |= term.obsolete
            source.add_name(term.node, term.name, term.line)
        elif not term.obsolete:
            source.add_name(term.node, term.name, term.line)
    if namespace is not None:
        spaces = {t.namespace for t in terms.values() if t.namespace}
        if namespace not in spaces:
            raise ParameterError(
                f"no term of {path} lies in the namespace {namespace!r}{closest(namespace, spaces)}; "
                f"it has {', '.join(sorted(spaces)[:10]) or 'none'}"
            )
    kept = {node: t for node, t in terms.items() if not t.obsolete and namespace in (None, t.namespace)}
    for node, term in kept.items():
        before = len(source.edges)
        for parent, line in term.parents:
            if parent in kept:
                source.edges.append((parent, node, line))
            elif parent not in terms or terms[parent].obsolete:
                why = "is obsolete" if parent in terms else "is not in the file"
                message = f"{node!r} is_a {parent!r}, which {why}; this edge is left out"
                source.report("warning", "dropped-edge", message, line)
        if all(parent == node for parent, _, _ in source.edges[before:]):
            source.edges.append(("", node, term.line))
    source.names = {node: name for node, name in source.names.items() if node in kept}
    return source


def _terms(text: str, source: Source) -> Iterator[_Term]:
    term: _Term | None = None
    default = ""
    header = True
    for line, raw in enumerate(io.StringIO(text, newline=None), start=1):
        row = raw.strip()
        if row.startswith("["):
            if term:
                yield term
            header = False
            term = _Term(line, namespace=default) if row.startswith("[Term]") else None
            continue
        tag, colon, value = row.partition(":")
        value = value.strip()
        if not row or row.startswith("!"):
            continue
        if not colon:
            source.report("error", "bad-line", f"expected 'tag: value', got {row[:60]!r}", line)
        elif header and tag == "default-namespace":
            default = _word(value)
        elif term is None:
            continue
        elif tag == "id":
            term.node = _word(value)
        elif tag == "name":
            term.name = _unescape(value)
        elif tag == "namespace":
            term.namespace = _word(value)
        elif tag == "is_obsolete":
            term.obsolete = _word(value) == "true"
        elif tag == "is_a":
            term.parents.append((_word(value), line))
    if term:
        yield term


def _word(value: str) -> str:
    """Take the identifier, without modifiers in braces and the comment that follow it."""
    return _unescape(value.split()[0]) if value and not value.startswith(("!", "{")) else ""


def _unescape(value: str) -> str:
    return _ESCAPE.sub(lambda found: _PLAIN.get(found[1], found[1]), value)
