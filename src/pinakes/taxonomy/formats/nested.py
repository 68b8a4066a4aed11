"""A tree of JSON objects (`json`), in either of two shapes, which may be mixed.

    {"animal": {"cat": {}, "dog": null}}                                         ids as keys
    [{"id": "animal", "name": "Animals", "children": [{"id": "cat"}, "dog"]}]    objects

An object without an ``id`` is identified by its ``name``.

A node may stand in several places: what is below it is then the union of what stands there, and it has
several parents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pinakes.errors import TaxonomyError
from pinakes.taxonomy.formats.source import Source
from pinakes.taxonomy.taxonomy import Taxonomy

DEEPEST = 300  # levels; readers of JSON (ours too) give up on trees nested much deeper


def read_json(text: str, path: str) -> Source:
    """Read a tree of JSON objects."""
    source = Source(path)
    try:
        tree = json.loads(text)
    except json.JSONDecodeError as error:
        raise TaxonomyError(f"expected JSON: {error.msg}", source=path, line=error.lineno) from None
    except RecursionError:
        raise TaxonomyError("the JSON tree is nested too deeply; use TSV", source=path) from None
    seen: set[tuple[str, str]] = set()
    todo: list[tuple[str, Any]] = [("", tree)]
    while todo:
        parent, below = todo.pop()
        found = list(_children(below, path))
        for child, name, _ in found:
            if (parent, child) in seen:
                where = f"under {parent!r}" if parent else "at the top"
                source.report("warning", "duplicate-edge", f"{child!r} stands twice {where}; remove one")
            else:
                seen.add((parent, child))
                source.edges.append((parent, child, 0))
            source.add_name(child, name)
        todo += [(child, rest) for child, _, rest in reversed(found)]
    return source


def _children(below: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    """Give id, name and what is below, for each node directly in this piece of JSON."""
    if below is None:
        return
    if isinstance(below, dict) and not _is_object(below):
        for child, rest in below.items():
            yield _id(child, path), "", rest
        return
    for item in below if isinstance(below, list) else [below]:
        if isinstance(item, dict) and ("id" in item or "name" in item):
            node = _id(item.get("id", item.get("name")), path)
            name = item.get("name")
            yield node, "" if name is None else str(name), item.get("children")
        elif isinstance(item, dict):
            yield from _children(item, path)
        else:
            yield _id(item, path), "", None


def _is_object(tree: dict[str, Any]) -> bool:
    """Tell ``{"id": "a", …}`` and ``{"name": "a", "children": […]}`` from a dict whose keys are ids."""
    if isinstance(tree.get("id"), str | int):
        return True
    return isinstance(tree.get("name"), str) and isinstance(tree.get("children"), list)


def _id(value: Any, path: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise TaxonomyError(
            f"expected a text or a number as id, got {json.dumps(value)[:60]}; a tree is "
            '{"id": {"id": {}}} or [{"id": …, "name": …, "children": […]}]',
            source=path,
        )
    return str(value)


def write_json(taxonomy: Taxonomy) -> Iterator[str]:
    """Write a list of objects; a node with several parents is written out once, elsewhere only its id."""
    if taxonomy.depth > DEEPEST:
        raise TaxonomyError(f"a JSON tree can be at most {DEEPEST} levels deep, this one has {taxonomy.depth}; use TSV")
    written: set[int] = set()

    def node(v: int, indent: str) -> Iterator[str]:
        head = f'{indent}{{"id": {_quote(taxonomy.ids[v])}'
        if v in written:
            yield head + "}"
            return
        written.add(v)
        if taxonomy.names[v] != taxonomy.ids[v]:
            head += f', "name": {_quote(taxonomy.names[v])}'
        children = taxonomy.children.of(v)
        if not len(children):
            yield head + "}"
            return
        yield head + ', "children": [\n'
        yield from siblings(children, indent + " ")
        yield f"\n{indent}]}}"

    def siblings(nodes: Any, indent: str) -> Iterator[str]:
        for k, v in enumerate(nodes):
            if k:
                yield ",\n"
            yield from node(int(v), indent)

    yield "[\n"
    yield from siblings(taxonomy.roots, " ")
    yield "\n]\n"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
