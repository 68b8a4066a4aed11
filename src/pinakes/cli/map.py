"""`pinakes map`: documents drawn in the plane, as a picture or as a page to walk through."""

from __future__ import annotations

import os
from typing import Any

import click

from pinakes.cli.console import Steps, say
from pinakes.cli.options import Number, Verb, check_inputs, check_place, document_options, example, reading

KINDS = (".html", ".png", ".svg", ".pdf")


@click.command(
    "map",
    cls=Verb,
    epilog=example(
        "pinakes map docs.jsonl --taxonomy taxonomy.tsv --out map.html",
        "pinakes map model.pinakes new.jsonl --out map.png",
    ),
)
@click.argument("sources", nargs=-1, required=True, metavar="[MODEL] DOCS...")
@click.option("--taxonomy", "-t", metavar="FILE", help="The taxonomy that the labels come from; else the model's.")
@click.option("--out", "-o", required=True, metavar="FILE", help="What to write: .html, .png, .svg or .pdf.")
@click.option(
    "--method",
    type=click.Choice(["both", "hlsi", "lsi"]),
    default="both",
    show_default=True,
    help="HLSI knows the taxonomy, LSI does not; both are shown side by side, or in turns on the page.",
)
@click.option("--gamma", type=Number(), default=0.2, show_default=True, help="How much words count against categories.")
@click.option("--branch", metavar="ID", help="Draw only what lies below this node, coloured by its children.")
@click.option("--title", help="What to write above the map.  [default: the names of the files]")
@click.option("--min-df", type=int, default=2, show_default=True, help="Documents a word must stand in.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of random numbers.")
@document_options
def command(sources: tuple[str, ...], out: str, **options: Any) -> None:
    """Draw documents in the plane, coloured by branch.

    DOCS are files of documents with an id, a text (or vector) and labels. After a MODEL file, its features and its
    taxonomy are used, and documents without labels are drawn as the model answers. A .html file is a page that needs
    nothing else: zoom, point at documents, show and hide branches.
    """
    if not out.lower().endswith(KINDS):
        raise click.BadParameter(f"expected a name that ends in {', '.join(KINDS)}, got {out!r}", param_hint="--out")
    check_inputs(*sources)
    check_place(out, sources)
    docs_options = reading(options)
    with Steps("reading") as steps:
        from pinakes.cli.corpus import check_labels, read_corpus, tell_skipped
        from pinakes.cli.options import is_model
        from pinakes.documents import TextFeatures
        from pinakes.errors import DocumentError, ParameterError
        from pinakes.plots import make_map, write_page, write_picture
        from pinakes.taxonomy import Taxonomy

        classifier: Any = None
        docs = sources
        if os.path.isfile(sources[0]) and is_model(sources[0]):
            from pinakes.cli.models import load_classifier

            classifier, docs = load_classifier(sources[0]), sources[1:]
            if not docs:
                raise ParameterError("expected documents to draw after the model, got none: pinakes map MODEL DOCS...")
        elif options["taxonomy"] is None:
            raise ParameterError("say where the labels come from: --taxonomy FILE, or give a model first")
        taxonomy = classifier.model.taxonomy_ if options["taxonomy"] is None else Taxonomy.load(options["taxonomy"])
        width = None if classifier is None or classifier.features else classifier.model.n_features_in_
        corpus = read_corpus(docs, docs_options, steps, n_features=width)
        if len(corpus) < 3:
            raise DocumentError(f"expected three documents or more to draw, got {len(corpus)}")
        steps.start("features")
        if classifier is not None:
            X = classifier.vectors(corpus)
            bare = [i for i, labels in enumerate(corpus.labels) if not labels]
            answers = classifier.model.predict(X[bare]) if bare else []
            for i, answer in zip(bare, answers, strict=True):
                corpus.labels[i] = (str(answer),)
        elif corpus.X is not None:
            X = corpus.X
        else:
            X = None
        n_before = len(corpus)
        corpus = check_labels(corpus, taxonomy, docs_options["on_error"])
        if X is None:
            X = TextFeatures(min_df=options["min_df"]).fit_transform(corpus.texts or [])
        elif len(corpus) < n_before:
            X = corpus.X if corpus.X is not None else classifier.vectors(corpus)
        steps.start("mapping")
        chart = make_map(
            X,
            corpus.labels,
            taxonomy,
            [f"{id}: {text}" for id, text in zip(corpus.ids, corpus.texts, strict=True)]
            if corpus.texts
            else corpus.ids,
            methods=("hlsi", "lsi") if options["method"] == "both" else (options["method"],),
            gamma=options["gamma"],
            branch=options["branch"],
            title=options["title"] or ", ".join(os.path.basename(path) for path in docs),
            random_state=options["seed"],
        )
        steps.start("drawing")
        (write_page if out.lower().endswith(".html") else write_picture)(chart, out)
        tell_skipped(corpus.skipped)
    say(
        f"{out}: {len(chart.titles):,} documents, {len(chart.categories):,} categories, "
        f"{len(chart.branches)} branches; " + " and ".join(view.name for view in chart.views)
    )
