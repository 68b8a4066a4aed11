"""`pinakes train`: labelled documents and a taxonomy in, a model file out."""

from __future__ import annotations

import time
from typing import Any

import click

from pinakes.cli.console import GapBar, Steps, say, write_table
from pinakes.cli.methods import FOR_ONE, FOR_SETS, METHODS, make_model, notice_method
from pinakes.cli.options import (
    AUTO,
    CutType,
    Number,
    NumberOrAuto,
    Verb,
    check_inputs,
    check_target,
    command_line,
    document_options,
    example,
    reading,
    refuse_together,
)

LOSSES = ["tree", "exact", "zero-one"]
HINGES = ["linear", "squared"]
NODE_WEIGHTS = ["normalized", "depth", "equal", "flat"]
TEXT_OPTIONS = ["ngrams", "min_df", "max_features", "hashing"]


@click.command(
    "train",
    cls=Verb,
    epilog=example("pinakes train docs.jsonl --taxonomy taxonomy.tsv --out model.pinakes"),
)
@click.argument("docs", nargs=-1, required=True, metavar="DOCS...")
@click.option("--taxonomy", "-t", required=True, metavar="FILE", help="The taxonomy that the labels come from.")
@click.option("--out", "-o", required=True, metavar="FILE", help="The model file to write.")
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    help=f"What to learn with.  [default: {FOR_ONE}; {FOR_SETS} where a document has several labels]",
)
@click.option(
    "--C",
    "C",
    type=NumberOrAuto(),
    default=0.5,
    show_default=True,
    help="What a margin violation costs; auto chooses it on documents put aside.",
)
@click.option("--loss", type=click.Choice(LOSSES), default="tree", show_default=True, help="What a mistake costs.")
@click.option(
    "--hinge",
    type=click.Choice(HINGES),
    default="linear",
    show_default=True,
    help="How margin violations add up; squared is often a little better, and wants a smaller C.",
)
@click.option(
    "--node-weight",
    type=click.Choice([*NODE_WEIGHTS, AUTO]),
    default="normalized",
    show_default=True,
    help="How strongly nodes are shared; flat ignores the taxonomy, auto chooses.",
)
@click.option(
    "--scoring",
    metavar="METRIC",
    help="What auto looks for: the name of a metric; what mistakes cost is told by --loss.  [default: delta_loss]",
)
@click.option("--balanced", is_flag=True, help="Every category counts the same in sum, however many documents it has.")
@click.option("--bias", is_flag=True, help="Learn a constant for every category.")
@click.option("--tol", type=Number(), default=0.01, show_default=True, help="Relative duality gap to stop at.")
@click.option("--max-iter", type=int, default=1000, show_default=True, help="Most rounds over all documents.")
@click.option("--max-seconds", type=Number(), help="Stop learning after about so long, with what there is.")
@click.option(
    "--labels",
    "several",
    type=click.Choice(["all", "error", "first"]),
    default="all",
    show_default=True,
    help="Of a document with several labels: take all, refuse it, or take the first.",
)
@click.option(
    "--cut",
    type=CutType(),
    help="Where label sets end: learned, micro-f1, macro-f1, a number of labels, or a score as in 0.5.",
)
@click.option("--closed", is_flag=True, help="Answers have everything above their labels.")
@click.option(
    "--every-label", is_flag=True, help="A label above another one of the same document is a label of its own."
)
@click.option("--ngrams", type=click.IntRange(1, 5), default=1, show_default=True, help="Longest run of words.")
@click.option("--min-df", type=Number(), default=2, show_default=True, help="Documents a word must stand in.")
@click.option("--max-features", type=int, help="Keep only so many words, the most frequent.")
@click.option("--hashing", type=int, metavar="BUCKETS", help="Number words by hash; keeps no vocabulary.")
@click.option(
    "--keep-documents", is_flag=True, help="Keep the documents that carry weight in the model, for `pinakes explain`."
)
@click.option("--taxonomy-format", metavar="FORMAT", help="tsv, csv, json, paths, taxonomy, skos or obo.")
@click.option("--language", metavar="CODE", help="Language of the names of a SKOS vocabulary.")
@click.option("--ids", type=click.Choice(["uri", "notation"]), help="What the labels name in a SKOS vocabulary.")
@click.option("--jobs", type=int, help="Threads; all cores if not given.")
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Fixes the order of documents."
)
@document_options
def command(docs: tuple[str, ...], out: str, **options: Any) -> None:
    """Learn a model from labelled documents and a taxonomy.

    DOCS are files of documents with an id, a text and labels: JSON lines, CSV, TSV, Annif's formats, LIBSVM vectors, a
    folder of texts, or Parquet; plain, gz, xz or zst; - is standard input.
    """
    source = options.pop("taxonomy")
    check_inputs(*docs, source)
    check_target(out, inputs=[*docs, source])
    if options["hashing"] is not None:
        refuse_together("--hashing", ["min_df", "max_features"], "hashed words are not counted or chosen")
    docs_options = reading(options)
    started = time.perf_counter()
    with Steps("reading") as steps:
        from pinakes.cli.corpus import check_labels, read_corpus, tell_skipped
        from pinakes.errors import DocumentError
        from pinakes.taxonomy import Taxonomy

        taxonomy_options = {name: options.pop(name) for name in ("language", "ids")}
        taxonomy_options["format"] = options.pop("taxonomy_format")
        taxonomy = Taxonomy.load(source, **taxonomy_options)
        corpus = read_corpus(docs, docs_options, steps)
        corpus = check_labels(corpus, taxonomy, docs_options["on_error"])
        if options["method"] is None:
            options["method"] = FOR_ONE if options["several"] != "all" else notice_method(corpus.labels)
        if options["method"] != FOR_ONE:
            refuse_together(f"--method {options['method']}", ["keep_documents"], "it does not tell what weighs")
        labels = choose_labels(corpus, METHODS[options["method"]].sets, options["several"])
        if len({label for few in corpus.labels for label in few}) < 2:
            raise DocumentError(
                f"expected documents of two categories or more, got {corpus.labels[0][0]!r} only; there is nothing to "
                "tell apart"
            )
        if corpus.X is not None:
            refuse_together("documents that are vectors", TEXT_OPTIONS, "they have no words")
        read = time.perf_counter()

        steps.start("features")
        classifier = make_classifier(taxonomy, vectors=corpus.X is not None, **options)
        search = classifier.model if hasattr(classifier.model, "Cs") else None
        reporter = _Reporter(steps, getattr(classifier.model, "tol", 1.0), len(corpus))
        classifier.fit(
            corpus.X if corpus.X is not None else steps.count(corpus.texts or [], "texts"),
            labels,
            report=reporter,
            **({} if search is None else {"report_trial": reporter.trial}),
        )
        model = classifier.model
        classifier.summary = {
            "documents": len(corpus),
            "skipped": len(corpus.skipped),
            "classes": len(model.classes_),
            "features": model.n_features_in_,
            "nodes": len(taxonomy),
            **progress_of(model),
            "seconds_reading": round(read - started, 3),
            "seconds_training": round(model.history_[-1].seconds, 3),
            "seconds": round(time.perf_counter() - started, 3),
            "seed": options["seed"],
            "command": command_line(),
        }
        if search is not None:
            classifier.summary["search"] = _tried(search)
        if options["keep_documents"]:
            from pinakes.decisions import KeptDocuments

            X = classifier.vectors(corpus)
            classifier.documents = KeptDocuments.of(model, X, labels, corpus.ids, corpus.texts)
            classifier.summary["kept_documents"] = len(classifier.documents)
        steps.start("writing")
        from pinakes.storage import save

        save(classifier, out)
        tell_skipped(corpus.skipped)
    if search is not None:
        rows = [list(row.values()) for row in classifier.summary["search"]]
        write_table(list(classifier.summary["search"][0]), rows, ["C", search.scoring, "seconds"], err=True)
    say(
        f"{out}: {len(corpus):,} documents, {len(model.classes_):,} categories, {model.n_features_in_:,} features; "
        f"{_sizes(labels)}{_reached(model)}; reading {read - started:.1f} s, "
        f"training {model.history_[-1].seconds:.1f} s, all {time.perf_counter() - started:.1f} s{_kept(classifier)}"
    )


def _kept(classifier: Any) -> str:
    kept = classifier.documents
    return "" if kept is None else f"; keeps {len(kept):,} documents, {kept.nbytes / 1e6:.1f} MB"


def make_classifier(taxonomy: Any, *, vectors: bool, **options: Any) -> Any:
    """Put features and model together from the options of the command line."""
    from pinakes.decisions import Classifier
    from pinakes.documents import TextFeatures

    min_df = options["min_df"]
    features = None
    if not vectors:
        features = TextFeatures(
            ngrams=(1, options["ngrams"]),
            min_df=int(min_df) if float(min_df).is_integer() and min_df >= 1 else min_df,
            max_features=options["max_features"],
            hashing=options["hashing"],
        )
    return Classifier(make_model(options["method"], taxonomy, options), features)


def _tried(search: Any) -> list[dict[str, Any]]:
    """List what a search has tried, the metric as people know it."""
    from pinakes.metrics import get_metric

    sign = 1 if get_metric(search.scoring).greater_is_better else -1
    return [
        {
            "C": trial.params["C"],
            "node_weight": trial.params["node_weight"],
            search.scoring: round(sign * trial.score, 4),
            "seconds": round(trial.seconds, 2),
            "chosen": "*" if trial.params == search.best_params_ else "",
        }
        for trial in search.trials_
    ]


def choose_labels(corpus: Any, sets: bool, several: str) -> Any:
    """Give one label a document, or label sets where the method takes them and some document does not have one."""
    if sets and several == "all" and any(len(labels) != 1 for labels in corpus.labels):
        return [list(labels) for labels in corpus.labels]
    return corpus.single_labels(several="first" if several == "first" else "error")


def _sizes(labels: Any) -> str:
    """Say how many labels documents have, where some have several."""
    if isinstance(labels[0], str):
        return ""
    return f"{sum(map(len, labels)) / len(labels):.2f} labels a document; "


def progress_of(model: Any) -> dict[str, Any]:
    """Give how far training came, for the model file: objectives where the method has them."""
    names = {"primal_objective": "primal_objective_", "gap": "gap_", "rounds": "n_iter_"}
    return {name: getattr(model, place) for name, place in names.items() if hasattr(model, place)}


def _reached(model: Any) -> str:
    if hasattr(model, "gap_"):
        return f"gap {model.gap_:.2%} after {model.n_iter_} rounds"
    return f"{model.n_iter_:,} steps"


class _Reporter:
    """Shows the training step from its first report on."""

    def __init__(self, steps: Steps, tol: float, n_documents: int) -> None:
        self.steps, self.bar, self.begun = steps, GapBar(steps, tol, n_documents), False

    def __call__(self, progress: Any) -> None:
        if not self.begun:
            self.steps.start("training")
            self.begun = True
        self.bar(progress)

    def trial(self, trial: Any) -> None:
        """Say what was just tried; the next fit begins."""
        C, node_weight = trial.params["C"], trial.params["node_weight"]
        self.steps.start("choosing", f"C {C:g}, {node_weight}: {abs(trial.score):.4f}")
