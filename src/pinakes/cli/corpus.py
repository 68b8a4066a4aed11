"""Documents for the verbs: read with a count, checked against the taxonomy, and what was left out told."""

from __future__ import annotations

from typing import Any

from pinakes.cli.console import Steps, one_line, say
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


def check_labels(corpus: Corpus, taxonomy: Taxonomy, on_error: str, unlabelled: bool = False) -> Corpus:
    """Refuse, or leave out under on_error "skip", documents without labels or with labels the taxonomy lacks.

    With `unlabelled`, documents without labels are kept: they are of no category.
    """
    kept = []
    for i, labels in enumerate(corpus.labels):
        source, line = corpus.sources[i], corpus.lines[i]
        unknown = next((label for label in labels if label not in taxonomy), None)
        if (labels or unlabelled) and unknown is None:
            kept.append(i)
        elif on_error == "skip":
            why = f"the label {unknown!r} is not in the taxonomy" if labels else "no label"
            corpus.skipped.append(Skipped(source, line, why))
        elif unknown is None:
            raise DocumentError(
                "expected a document with labels, got none; name their key or column with --label-column, or pass "
                "over such documents with --on-error skip",
                source=source,
                line=line,
            )
        else:
            raise LabelError(
                f"the label {unknown!r} is not in the taxonomy of {len(taxonomy)} nodes"
                f"{closest(unknown, taxonomy.ids)}; {_cure(unknown, taxonomy)}",
                source=source,
                line=line,
            )
    if not kept:
        raise DocumentError(
            f"no document is left of {len(corpus):,}: none has a label that the taxonomy knows; is it the right one?"
        )
    return corpus if len(kept) == len(corpus) else corpus.take(kept)


def _cure(unknown: str, taxonomy: Taxonomy) -> str:
    for separator in (";", "|", ","):
        parts = [part.strip() for part in unknown.split(separator)]
        if len(parts) > 1 and all(part in taxonomy for part in parts):
            return f"these are several labels: give --label-separator '{separator}'"
    return "correct it, add it to the taxonomy, or pass over such documents: --on-error skip"


def tell_skipped(skipped: list[Skipped]) -> None:
    """Say which documents were passed over: the first few one by one, then how many more."""
    for item in skipped[:SHOWN]:
        where = f"{item.source}:{item.line}" if item.line else item.source
        say(f"pinakes: skipped {one_line(f'{where}: {item.message}')}")
    if len(skipped) > SHOWN:
        say(f"pinakes: skipped {len(skipped) - SHOWN:,} more ({len(skipped):,} in all)")
