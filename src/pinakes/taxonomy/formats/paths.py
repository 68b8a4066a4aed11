"""Paths, one a line (`paths`): ``a/b/c`` makes the nodes ``a``, ``a/b``, ``a/b/c``, named by their ends."""

from __future__ import annotations

import io

from pinakes.errors import ParameterError
from pinakes.taxonomy.formats.source import Source


def read_paths(text: str, path: str, *, separator: str = "/") -> Source:
    """Read one path a line, its steps divided by `separator`."""
    if not separator:
        raise ParameterError("the separator of paths must not be empty")
    source = Source(path)
    known: set[str] = set()
    seen: dict[str, int] = {}
    for line, raw in enumerate(io.StringIO(text, newline=None), start=1):
        way = raw.rstrip("\n")
        if not way.strip():
            continue
        parts = way.split(separator)
        if "" in parts:
            message = f"expected a name between the separators {separator!r}, got {way!r}"
            source.report("error", "bad-line", message, line)
            continue
        if way in seen:
            message = f"the path {way!r} stands on line {seen[way]} already; remove one"
            source.report("warning", "duplicate-edge", message, line)
        seen.setdefault(way, line)
        above = ""
        for part in parts:
            node = f"{above}{separator}{part}" if above else part
            if node not in known:
                known.add(node)
                source.edges.append((above, node, line))
                source.names[node] = part
            above = node
    return source
