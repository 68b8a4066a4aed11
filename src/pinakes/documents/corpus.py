"""A set of documents in memory: what training, prediction and evaluation start from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pinakes.documents.document import Document, Skipped, Vector
from pinakes.documents.readers import Path, read_documents
from pinakes.errors import DocumentError, ParameterError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(slots=True)
class Corpus:
    """Documents side by side: texts or vectors, with ids, labels, and where each one stood.

    Attributes
    ----------
    ids : list of str
        One id a document.
    texts : list of str or None
        The texts; None where the documents are vectors.
    X : CSR array of float32 or None
        The vectors, one row a document; None where the documents are texts.
    labels : list of tuple of str
        The labels of each document; an empty tuple where there is none.
    sources, lines : list of str, list of int
        The file and the line of each document, for messages.
    skipped : list of Skipped
        The lines that were not read, under on_error="skip".
    """

    ids: list[str]
    texts: list[str] | None
    X: csr_array[Any] | None
    labels: list[tuple[str, ...]]
    sources: list[str]
    lines: list[int]
    skipped: list[Skipped] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path | Iterable[Path], *, n_features: int | None = None, **options: Any) -> Corpus:
        """Read a corpus; the options are those of `read_documents`.

        `n_features` is the width of `X` where documents are vectors, by default the highest feature number
        there is; give that of the training set when reading a test set.
        """
        if options.get("skipped") is None:
            options["skipped"] = []
        corpus = cls.from_documents(read_documents(path, **options), n_features=n_features)
        corpus.skipped = options["skipped"]
        return corpus

    @classmethod
    def from_documents(cls, documents: Iterable[Document], *, n_features: int | None = None) -> Corpus:
        """Put documents side by side; all of them are texts, or all vectors."""
        corpus = cls([], None, None, [], [], [])
        texts: list[str] = []
        vectors: list[Vector] = []
        for document in documents:
            corpus.ids.append(document.id)
            corpus.labels.append(document.labels)
            corpus.sources.append(document.source)
            corpus.lines.append(document.line)
            if document.text is not None:
                texts.append(document.text)
            elif document.vector is not None:
                vectors.append(document.vector)
            if len(texts) < len(corpus.ids) and len(vectors) < len(corpus.ids):
                raise DocumentError(
                    "documents must all be texts or all be vectors, got both; use one kind of file at a time",
                    source=document.source,
                    line=document.line,
                )
        if vectors:
            corpus.X = _stack(vectors, n_features, corpus)
        else:
            corpus.texts = texts
        return corpus

    def __len__(self) -> int:
        return len(self.ids)

    def single_labels(self, several: Literal["error", "first"] = "error") -> list[str]:
        """Give one label a document; several are refused ("error"), or the first is taken ("first")."""
        if several not in ("error", "first"):
            raise ParameterError(f"`several` of single_labels must be 'error' or 'first', got {several!r}")
        without = [i for i, labels in enumerate(self.labels) if not labels]
        if without:
            raise self._error(
                without[0],
                f"every document needs a label, got none here and in {len(without) - 1} more documents; "
                "name the key or column of the labels with the option `labels`, or drop these documents "
                "(drop_unlabelled)",
            )
        more = [i for i, labels in enumerate(self.labels) if len(labels) > 1]
        if more and several == "error":
            i = more[0]
            shown = ", ".join(map(repr, self.labels[i][:5])) + (", …" if len(self.labels[i]) > 5 else "")
            raise self._error(
                i,
                f"this method takes one label a document, got several in {len(more)} of {len(self)}, "
                f"the first being {self.ids[i]!r} with {shown}; use a method for label sets, or the first "
                "label of each (--labels first on the command line, several='first' in Python)",
            )
        return [labels[0] for labels in self.labels]

    def drop_unlabelled(self) -> int:
        """Remove the documents without labels, in place, and say how many there were."""
        keep = [i for i, labels in enumerate(self.labels) if labels]
        dropped = len(self) - len(keep)
        if dropped:
            kept = self.take(keep)
            self.ids, self.texts, self.X, self.labels = kept.ids, kept.texts, kept.X, kept.labels
            self.sources, self.lines = kept.sources, kept.lines
        return dropped

    def take(self, rows: Sequence[int]) -> Corpus:
        """Give a corpus of some of the documents, by position."""
        return Corpus(
            [self.ids[i] for i in rows],
            None if self.texts is None else [self.texts[i] for i in rows],
            None if self.X is None else self.X[np.asarray(rows, dtype=np.int64)],
            [self.labels[i] for i in rows],
            [self.sources[i] for i in rows],
            [self.lines[i] for i in rows],
            self.skipped,
        )

    def _error(self, i: int, message: str) -> DocumentError:
        return DocumentError(message, source=self.sources[i] or None, line=self.lines[i] or None)


def _stack(vectors: list[Vector], n_features: int | None, corpus: Corpus) -> csr_array[Any]:
    from scipy.sparse import csr_array

    from pinakes.documents.matrix import as_csr

    sizes = np.array([len(indices) for indices, _ in vectors], dtype=np.int64)
    indices = np.concatenate([indices for indices, _ in vectors])
    width = int(indices.max(initial=-1)) + 1
    if n_features is None:
        n_features = width
    elif width > n_features:
        i = next(i for i, (indices, _) in enumerate(vectors) if len(indices) and indices[-1] >= n_features)
        raise DocumentError(
            f"expected at most {n_features} features, got feature number {vectors[i][0][-1] + 1} (from 1)",
            source=corpus.sources[i],
            line=corpus.lines[i],
        )
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
    data = np.concatenate([values for _, values in vectors])
    return as_csr(csr_array((data, indices, indptr), shape=(len(vectors), n_features)))
