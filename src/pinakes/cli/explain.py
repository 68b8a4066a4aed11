"""`pinakes explain`: why documents get their categories, which words tell, and which training documents weigh."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from pinakes.cli.console import Steps
from pinakes.cli.options import Verb, check_inputs, document_options, example, reading
from pinakes.errors import ParameterError

AT_ONCE = 2000  # documents read and explained at a time
WIDTH = 100  # of lines that are not for a terminal


@click.command(
    "explain",
    cls=Verb,
    epilog=example(
        'pinakes explain model.pinakes --text "a boat that flies"',
        "pinakes explain model.pinakes new.jsonl --against next --json > why.jsonl",
        "pinakes explain model.pinakes --node A01",
    ),
)
@click.argument("model", metavar="MODEL")
@click.argument("docs", nargs=-1, metavar="[DOCS...]")
@click.option("--text", metavar="TEXT", help="A text to explain, instead of documents.")
@click.option("--label", metavar="ID", help="The category to explain.  [default: the best one]")
@click.option("--against", metavar="ID|next", help="Why not this one instead; next is the best one beside it.")
@click.option("--node", metavar="ID|all", help="Show the most telling words of a node and of those right below it.")
@click.option("--words", type=click.IntRange(min=1), default=10, show_default=True, help="Words to show.")
@click.option(
    "--documents",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Training documents to show; the model must have been trained with --keep-documents.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a document, or node, with all its parts.")
@document_options
def command(model: str, docs: tuple[str, ...], **options: Any) -> None:
    """Show why documents get their categories.

    The score of a category is a sum over the nodes on the way to it and over the words of the document: the parts are
    shown, and add up. On a terminal, words of the text are coloured by what they add; elsewhere, and where NO_COLOR is
    set, numbers stand behind them.
    """
    given = [name for name, there in (("--text", options["text"] is not None), ("DOCS", docs)) if there]
    if options["node"] is not None:
        idle = [f"--{name}" for name in ("label", "against", "documents") if options[name]]
        if given or idle:
            raise ParameterError(f"--node tells of words, not of documents: leave out {', '.join(given + idle)}")
    elif len(given) != 1:
        raise ParameterError(
            f"say what to explain: --text TEXT, DOCS or --node ID, {'one of them' if given else 'got none'}"
        )
    check_inputs(*docs)
    docs_options = reading(options)
    with Steps("loading", terminal=not sys.stdout.isatty()) as steps:
        from pinakes.cli.models import load_classifier

        classifier = load_classifier(model)
        if options["node"] is not None:
            steps.close()
            _tell_words(classifier, options["node"], options["words"], options["as_json"])
            return
        skipped: list[Any] = []
        batches = _batches(classifier, docs, options["text"], docs_options, skipped, steps)
        _write(_explained(classifier, batches, options), options["words"], options["as_json"])
    if skipped:
        from pinakes.cli.corpus import tell_skipped

        tell_skipped(skipped)


def _batches(
    classifier: Any, docs: tuple[str, ...], text: str | None, reading: dict[str, Any], skipped: list[Any], steps: Steps
) -> Iterator[Any]:
    """Give documents, some at a time."""
    from pinakes.documents import Corpus, Document, read_documents

    if text is not None:
        yield Corpus.from_documents([Document("text", text)])
        return
    documents = steps.count(read_documents(docs, skipped=skipped, **reading), "documents")
    width = None if classifier.features else classifier.model.n_features_in_
    while batch := list(itertools.islice(documents, AT_ONCE)):
        yield Corpus.from_documents(batch, n_features=width)


def _explained(classifier: Any, batches: Iterator[Any], options: dict[str, Any]) -> Iterator[Any]:
    from pinakes.explain import explain

    for corpus in batches:
        yield from explain(
            classifier,
            corpus,
            label=options["label"],
            against=options["against"],
            n_documents=options["documents"],
        )


def _write(explanations: Iterator[Any], n_words: int, as_json: bool) -> None:
    if as_json:
        for one in explanations:
            sys.stdout.write(json.dumps(one.to_dict(), ensure_ascii=False) + "\n")
        return
    from rich.rule import Rule

    from pinakes.explain.excerpt import clean
    from pinakes.explain.terminal import render

    console = _console()
    colour = console.color_system is not None and not console.no_color
    for k, one in enumerate(explanations):
        head = [] if one.id == "text" else [Rule(clean(one.id), align="left", style="dim")]
        _print(console, *([""] if k else []), *head, render(one, colour=colour, width=console.width, n_words=n_words))


def _tell_words(classifier: Any, node: str, n_words: int, as_json: bool) -> None:
    from pinakes.explain import telling_words

    taxonomy = classifier.model.taxonomy_
    found = telling_words(classifier, n_words=n_words)
    if node != "all" or node in taxonomy:
        v = taxonomy.index(node)
        below = [taxonomy.ids[c] for c in taxonomy.children.of(v)]
        wanted = [z for z in [node, *below] if z in found]
        if not wanted:
            found[node]  # says why there are none
    else:
        wanted = list(found)
    if as_json:
        for z in wanted:
            sys.stdout.write(json.dumps(found[z]._asdict(), ensure_ascii=False) + "\n")
        return
    from pinakes.explain.terminal import words_table

    _print(_console(), words_table([found[z] for z in wanted]))


def _print(console: Any, *things: Any) -> None:
    """Print without the blanks with which rich fills its lines."""
    with console.capture() as captured:
        for thing in things:
            console.print(thing)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def _console() -> Any:
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDTH
    return Console(file=sys.stdout, width=width, markup=False, highlight=False)
