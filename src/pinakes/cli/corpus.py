"""Documents for the verbs: read with a count, checked against the taxonomy, and what was left out told."""

from __future__ import annotations

from typing import Any

from pinakes.cli.console import Steps, say
from pinakes.documents import Corpus, read_documents
from pinakes.documents.document import Skipped
from pinakes.errors import DocumentError, LabelError, closest
from pinakes.taxonomy import Taxonomy

SHOWN = 5  # skipped documents that are told one by one


def read_corpus(paths: tuple[str, ...], options: dict[str, Any], steps: Steps, n_features: int | None = None) -> Corpus:
    """Read documents, counting them; `options` are those of `read_documents`."""
    skipped: list[Skipped] = []
    documents = read_documents(paths, skipped=skipped, **options)
    corpus = Corpus.from_documents(steps.count(documents, "documents"), n_features=n_features)
    corpus.skipped = skipped
    return corpus


def check_labels(corpus: Corpus, taxonomy: Taxonomy, on_error: str) -> Corpus:
    """Refuse, or leave out under on_error "skip", documents without labels or with labels the taxonomy lacks."""
    kept = []
    for i, labels in enumerate(corpus.labels):
        where = {"source": corpus.sources[i], "line": corpus.lines[i]}
        try:
            if not labels:
                raise DocumentError(
                    "expected a document with labels, got none; name their key or column with --label-column, or pass "
                    "over such documents with --on-error skip",
                    **where,  # type: ignore[arg-type]
                )
            for label in labels:
                if label not in taxonomy:
                    raise LabelError(
                        f"the label {label!r} is not in the taxonomy of {len(taxonomy)} nodes"
                        f"{closest(label, taxonomy.ids)}; add it there, or pass over such documents: --on-error skip",
                        **where,  # type: ignore[arg-type]
                    )
            kept.append(i)
        except (DocumentError, LabelError) as error:
            if on_error != "skip":
                raise
            message = str(error).removeprefix(f"{corpus.sources[i]}:{corpus.lines[i]}: ").split(";")[0]
            corpus.skipped.append(Skipped(corpus.sources[i], corpus.lines[i], message))
    if not kept:
        raise DocumentError("no document is left: none has a label that the taxonomy knows")
    return corpus if len(kept) == len(corpus) else corpus.take(kept)


def tell_skipped(corpus: Corpus) -> None:
    """Say which documents were passed over: the first few one by one, then how many more."""
    for item in corpus.skipped[:SHOWN]:
        say(f"skipped {item.source}:{item.line}: {item.message}")
    if len(corpus.skipped) > SHOWN:
        say(f"skipped {len(corpus.skipped) - SHOWN:,} more documents ({len(corpus.skipped):,} in all)")
