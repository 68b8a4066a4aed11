"""The file formats of taxonomies, one a file, and how a file's format is told.

A reader takes the text, the path (for messages) and its own options, and gives a `Source`; a writer takes a
taxonomy and its own options, and gives pieces of text. Modules are imported when first used.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import cast

from pinakes.errors import ParameterError, TaxonomyError, closest
from pinakes.taxonomy.formats.source import Finding, Source

__all__ = ["FORMATS", "Finding", "Format", "Source", "find_format", "tell_format", "tell_from_name"]


@dataclass(frozen=True)
class Format:
    """A format: where its functions are, the endings of its files, and the options it knows."""

    name: str
    module: str
    endings: tuple[str, ...]
    reader: str
    read_options: tuple[str, ...] = ()
    writer: str | None = None
    write_options: tuple[str, ...] = ()

    def read(self, text: str, path: str, **options: str) -> Source:
        """Read what a file says."""
        return cast("Callable[..., Source]", self._get(self.reader))(text, path, **options)

    def write(self, *args: object, **options: str) -> Iterator[str]:
        """Give the text of a taxonomy in this format, in pieces."""
        assert self.writer is not None
        return cast("Callable[..., Iterator[str]]", self._get(self.writer))(*args, **options)

    def _get(self, function: str) -> object:
        return getattr(importlib.import_module(f"pinakes.taxonomy.formats.{self.module}"), function)


FORMATS = {
    f.name: f
    for f in (
        Format("tsv", "edges", (".tsv", ".tab"), "read_tsv", ("separator",), "write_tsv"),
        Format("csv", "edges", (".csv",), "read_csv", ("separator",), "write_csv"),
        Format("json", "nested", (".json",), "read_json", (), "write_json"),
        Format("paths", "paths", (".paths",), "read_paths", ("separator",)),
        Format("taxonomy", "children", (".taxonomy",), "read_children"),
        Format(
            "skos",
            "skos",
            (".ttl", ".turtle", ".nt", ".rdf", ".xml", ".skos", ".jsonld"),
            "read_skos",
            ("language", "ids"),
            "write_skos",
            ("language",),
        ),
        Format("obo", "obo", (".obo",), "read_obo", ("namespace",)),
    )
}


def find_format(name: str) -> Format:
    """Give the format of this name."""
    if name not in FORMATS:
        raise ParameterError(f"format must be one of {', '.join(FORMATS)}, got {name!r}{closest(name, FORMATS)}")
    return FORMATS[name]


def tell_from_name(path: str) -> Format | None:
    """Tell the format from the ending, a compression ending aside.

    >>> tell_from_name("stw.ttl.xz").name
    'skos'
    """
    name = PurePath(path).name.lower()
    for packed in (".gz", ".xz", ".zst"):
        name = name.removesuffix(packed)
    return next((f for f in FORMATS.values() if name.endswith(f.endings)), None)


def tell_format(path: str, text: str) -> Format:
    """Tell the format from the ending or, failing that, from the content."""
    known = tell_from_name(path)
    if known and known.name == "json" and _is_json_ld(text):
        return FORMATS["skos"]
    name = None if known else _tell_from_text(text)
    if known is None and name is None:
        raise TaxonomyError(
            f"cannot tell the format from the ending or the content; name it: {', '.join(FORMATS)}",
            source=path,
        )
    return known or FORMATS[cast("str", name)]


def _is_json_ld(text: str) -> bool:
    return re.search(r'"@(context|graph|id)"\s*:', text[:100_000]) is not None


def _tell_from_text(text: str) -> str | None:
    start = text[:100_000].lstrip("\r\n")
    lines = [line for line in start.splitlines()[:1000] if line.strip()]
    if not lines:
        return None
    if re.search(r"^(format-version:|\[Term\])", start, re.MULTILINE):
        return "obo"
    if re.match(r"\s*(<\?xml|<\w+:RDF|<!--|@prefix\s|@base\s|PREFIX\s|BASE\s|<\w+:[^>]*>\s)", start, re.IGNORECASE):
        return "skos"
    if start.lstrip().startswith(("{", "[")):
        return "skos" if _is_json_ld(text) else "json"
    if all("\t" in line for line in lines):
        rooted = any(line.startswith("\t") for line in lines)
        return "tsv" if rooted or all(line.count("\t") <= 2 for line in lines) else "taxonomy"
    if any("\t" in line for line in lines):
        return None
    if re.match(r"[^,;]*(,|;)", lines[0]) and all("," in line or ";" in line for line in lines):
        return "csv"
    return "paths" if any("/" in line for line in lines) else None
