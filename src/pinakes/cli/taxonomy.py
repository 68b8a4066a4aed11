"""`pinakes taxonomy`: check a taxonomy file, show its tree, convert it to another format."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pinakes.taxonomy import Taxonomy
    from pinakes.taxonomy.formats import Source

READABLE = ("tsv", "csv", "json", "paths", "taxonomy", "skos", "obo")
WRITABLE = ("tsv", "csv", "json", "skos")


@click.group("taxonomy", epilog="Example: pinakes taxonomy check taxonomy.tsv --labels train.jsonl")
def command() -> None:
    """Check, show or convert a taxonomy.

    Files may be edges (TSV, CSV), trees (JSON), paths, SKOS or OBO, plain or packed (.gz, .xz, .zst); '-'
    is standard input.
    """


def reading(name: str = "--format") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options that say how to read a file."""
    options = [
        click.option(
            name,
            "format",
            type=click.Choice(READABLE),
            help="How to read the file; told from its ending or content if left out.",
        ),
        click.option("--language", metavar="TAG", help="Language of the names (SKOS)."),
        click.option("--ids", type=click.Choice(["uri", "notation"]), help="What identifies a concept (SKOS)."),
        click.option("--namespace", metavar="NAME", help="Read the terms of this namespace only (OBO)."),
        click.option("--separator", metavar="TEXT", help="What divides columns (TSV, CSV) or steps (paths)."),
    ]

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return add


@command.command(epilog="Example: pinakes taxonomy check taxonomy.tsv --labels train.jsonl")
@click.argument("file")
@reading()
@click.option("--labels", "docs", metavar="DOCS", help="Documents whose labels the taxonomy should have.")
@click.option("--json", "as_json", is_flag=True, help="Write findings as JSON lines.")
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Findings of one kind to write in full; 0 writes all.",
)
def check(file: str, docs: str | None, as_json: bool, limit: int, **options: Any) -> None:
    """List what is wrong with the taxonomy in FILE, a line each.

    Exit 1 if there are errors: cycles, nodes that are their own parent, unknown parents, nodes that no root
    leads to, labels without a category. Warnings: redundant or repeated edges, names that differ or are
    shared, what was left out.
    """
    from pinakes.taxonomy.check import check_taxonomy
    from pinakes.taxonomy.files import read_source

    source = read_source(file, **options)
    found = check_taxonomy(source, _count_labels(docs) if docs else None, limit=limit or None)
    for finding in found:
        click.echo(json.dumps(finding.as_dict(), ensure_ascii=False) if as_json else str(finding))
    nodes = {child for _, child, _ in source.edges} | {parent for parent, _, _ in source.edges if parent}
    counts = Counter({"error": 0, "warning": 0})
    for finding in found:
        counts[finding.severity] += finding.count
    said = ", ".join(_plural(counts[severity], severity) for severity in ("error", "warning"))
    click.echo(f"{source.path}: {_plural(len(nodes), 'node')}, {said}", err=True)
    if counts["error"]:
        sys.exit(1)


@command.command(epilog="Example: pinakes taxonomy show taxonomy.tsv --root A01 --depth 2")
@click.argument("file")
@reading()
@click.option("--root", metavar="ID", help="Show what is below this node only.")
@click.option("--depth", type=click.IntRange(1), metavar="N", help="Levels to show.")
@click.option(
    "--max-lines",
    type=click.IntRange(0),
    default=200,
    show_default=True,
    help="Lines to write at most; 0 writes all.",
)
def show(file: str, root: str | None, depth: int | None, max_lines: int, **options: Any) -> None:
    """Draw the taxonomy in FILE as an indented tree: id, name, and how many nodes are below.

    A node with several parents is marked with their number; what is below it is drawn the first time only.
    """
    from pinakes.taxonomy.files import read_source

    taxonomy = _build(read_source(file, **options))
    tops = [taxonomy.index(root)] if root is not None else taxonomy.roots.tolist()
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for written, line in enumerate(draw(taxonomy, tops, depth)):
        if max_lines and written == max_lines:
            hint = "use --root, --depth or --max-lines"
            click.echo(f"stopped after {_plural(max_lines, 'line')}; {hint}", err=True)
            break
        click.echo(line if width is None or len(line) <= width else line[: width - 1] + "…")
    shape = "tree" if taxonomy.is_tree else "lattice"
    several = int((taxonomy.parents.sizes() > 1).sum())
    click.echo(
        f"{_plural(len(taxonomy), 'node')}, {_plural(len(taxonomy.roots), 'root')}, "
        f"{_plural(len(taxonomy.leaves), 'leaf', 'leaves')}, {_plural(taxonomy.depth, 'level')}, {shape}"
        + (f" ({several} with several parents)" if several else ""),
        err=True,
    )


@command.command(epilog="Example: pinakes taxonomy convert stw.ttl.xz stw.tsv --language en")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@reading("--from")
@click.option("--to", type=click.Choice(WRITABLE), help="How to write; told from the ending of OUT if left out.")
@click.option("--fix", is_flag=True, help="Drop self-loops, repeated and redundant edges, and say which.")
def convert(source: str, target: str, to: str | None, fix: bool, **options: Any) -> None:
    """Read the taxonomy IN and write it as OUT; '-' is standard input or output.

    OUT appears when it is complete, or not at all.
    """
    from pinakes.taxonomy.check import fix_source
    from pinakes.taxonomy.files import read_source, write_taxonomy
    from pinakes.taxonomy.formats import tell_from_name

    told = tell_from_name(source)
    kind = options["format"] or (told.name if told else "skos")
    # names that SKOS holds are chosen by language; those of other formats are written with it
    tag = None if kind == "skos" else options.pop("language")
    said = read_source(source, **options)
    if fix:
        said, dropped = fix_source(said)
        for finding in dropped:
            click.echo(f"dropped: {finding}", err=True)
    taxonomy = _build(said)
    write_taxonomy(taxonomy, target, format=to, language=tag)
    click.echo(f"{target}: {_plural(len(taxonomy), 'node')} written", err=True)


def draw(taxonomy: Taxonomy, tops: list[int], depth: int | None = None) -> Iterator[str]:
    """Give the lines of the tree below `tops`."""
    below = taxonomy.descendants.sizes() - 1
    n_parents = taxonomy.parents.sizes()
    drawn: set[int] = set()
    # node, its level here, what stands before it, what stands before its children
    todo = [(v, 1, "", "") for v in reversed(tops)]
    while todo:
        v, level, before, indent = todo.pop()
        line = before + taxonomy.ids[v]
        if taxonomy.names[v] != taxonomy.ids[v]:
            line += f"  {taxonomy.names[v]}"
        if below[v]:
            line += f"  ({below[v]} below)"
        if n_parents[v] > 1:
            line += f"  [{n_parents[v]} parents]"
        children = taxonomy.children.of(v).tolist()
        if v in drawn and children:
            line += "  see above"
        yield line
        if v in drawn or level == depth:
            continue
        drawn.add(v)
        for child in reversed(children):
            last = child == children[-1]
            start, rest = ("└── ", "    ") if last else ("├── ", "│   ")
            todo.append((child, level + 1, indent + start, indent + rest))


def _build(source: Source) -> Taxonomy:
    """Build the taxonomy, saying what the reader noticed on stderr, a few of each kind."""
    from pinakes.taxonomy.check import shorten

    taxonomy = source.taxonomy(warn=False)
    for finding in shorten(source.findings, 3):
        click.echo(str(finding), err=True)
    return taxonomy


def _count_labels(docs: str) -> Counter[str]:
    from pinakes.documents import read_documents

    counts: Counter[str] = Counter()
    for document in read_documents(docs):
        counts.update(document.labels)
    return counts


def _plural(n: int, word: str, many: str | None = None) -> str:
    return f"{n} {word if n == 1 else many or word + 's'}"
