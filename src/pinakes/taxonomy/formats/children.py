"""A parent and its children on one line, divided by tabs (`taxonomy`).

Nodes that are nobody's child are the roots; a name like ``Root`` has no meaning of its own. A line with one
field only declares a node.
"""

from __future__ import annotations

import io

from pinakes.taxonomy.formats.source import Source


def read_children(text: str, path: str) -> Source:
    """Read lines ``parent TAB child TAB child …``."""
    source = Source(path)
    alone: dict[str, int] = {}
    for line, raw in enumerate(io.StringIO(text, newline=None), start=1):
        parent, *children = raw.rstrip("\n").rstrip("\t").split("\t")
        if not parent and not children:
            continue
        if not parent or "" in children:
            message = f"expected a parent and its children divided by single tabs, got an empty field: {raw[:60]!r}"
            source.report("error", "bad-line", message, line)
            continue
        source.edges += [(parent, child, line) for child in children]
        if not children:
            alone.setdefault(parent, line)
    placed = {node for parent, child, _ in source.edges for node in (parent, child)}
    source.add_roots()
    source.edges += [("", node, line) for node, line in alone.items() if node not in placed]
    return source
