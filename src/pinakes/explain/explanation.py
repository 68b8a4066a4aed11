"""Why a document got an answer: its score as a sum over nodes and words, or over nodes and support documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinakes.documents.spans import Located
from pinakes.explain.ways import Floats

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

WIDTH = 100  # of `str`


class Choice(NamedTuple):
    """A category: id, name, names on the way down to it, and how sure the model is (None: not asked)."""

    label: str
    name: str
    path: list[str]
    confidence: float | None = None


class NodePart(NamedTuple):
    """What one node adds to a score."""

    node: str
    name: str
    score: float


class WordPart(NamedTuple):
    """What one word, or run of words, adds to a score, and its value in the document's vector."""

    word: str
    value: float
    score: float


class DocumentPart(NamedTuple):
    """What one training document adds to a score; similarity is its kernel value with the document explained."""

    document: str
    title: str
    label: str
    similarity: float
    score: float


class Mark(NamedTuple):
    """What one word of the text adds to a score; None where the model does not know it."""

    start: int
    end: int
    score: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The score of one answer, split exactly: the parts of all nodes, or of all words and the bias, add up to it.

    `print` it, or show it in a notebook.

    Attributes
    ----------
    id : str
        Of the document.
    text : str or None
        The document, where it is a text.
    answer : Choice
        The category explained: label, name, path, confidence.
    against : Choice or None
        The category that it is compared with: all parts are then those of the difference of both scores.
    nodes : tuple of NodePart
        What each node on the way to the category adds, from top to bottom. Of a difference only nodes that not both
        categories lie below, those of `against` last; of a model with label sets the nodes that the best set with the
        category has and the best one without it has not, and the other way round.
    words : tuple of WordPart
        What each word adds, the largest part first; empty for a model with a kernel.
    documents : tuple of DocumentPart
        Training documents by what they add, the largest part first: for a model with a kernel all of them, which is its
        other way to add up, else as many as were asked for.
    parts : ndarray (n_words or n_documents, n_nodes)
        What each word (or support document) adds by each node.
    bias : ndarray (n_nodes,)
        What the bias adds by each node; zeros without one.

    Examples
    --------
    >>> from pinakes import Taxonomy, TaxonomySVC
    >>> from pinakes.decisions import Classifier
    >>> from pinakes.documents import TextFeatures
    >>> from pinakes.explain import explain
    >>> t = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> c = Classifier(TaxonomySVC(t), TextFeatures(min_df=1))
    >>> c = c.fit(["it purrs and eats", "it barks and eats", "it grows"], ["animal/cat", "animal/dog", "plant/tree"])
    >>> (why,) = explain(c, ["What purrs, and eats?"])
    >>> why.answer.label, [part.word for part in why.words[:2]]
    ('animal/cat', ['purrs', 'and'])
    >>> bool(abs(why.score - sum(part.score for part in why.nodes)) < 1e-12)
    True
    """

    id: str
    text: str | None
    answer: Choice
    against: Choice | None
    nodes: tuple[NodePart, ...]
    words: tuple[WordPart, ...]
    documents: tuple[DocumentPart, ...]
    parts: Floats
    bias: Floats
    located: Located | None
    word_of: tuple[int, ...]  # for each term of `located` its place in `words`, -1 if the model does not know it

    @cached_property
    def score(self) -> float:
        """The score of the answer, or by how much it is larger than that of `against`."""
        return float(self.parts.sum() + self.bias.sum())

    @property
    def marks(self) -> tuple[Mark, ...]:
        """What each word of the text adds, in the order of the text; together, all but the bias.

        A term that stands there several times, or is a run of words, is shared out evenly.
        """
        if self.located is None:
            return ()
        terms = self.located.terms
        times = np.bincount([at for at in self.word_of if at >= 0], minlength=len(self.words))
        scores: list[float | None] = [None] * len(self.located.words)
        for term, at in zip(terms, self.word_of, strict=True):
            if at >= 0:
                share = self.words[at].score / (times[at] * term.n_words)
                for k in range(term.first, term.first + term.n_words):
                    scores[k] = (scores[k] or 0.0) + float(share)
        return tuple(Mark(*place, score) for place, score in zip(self.located.words, scores, strict=True))

    @property
    def unknown(self) -> tuple[str, ...]:
        """The words of the text that the model does not know, in any run of words."""
        text = self.text or ""
        return tuple(dict.fromkeys(text[mark.start : mark.end] for mark in self.marks if mark.score is None))

    def to_dict(self) -> dict[str, Any]:
        """Give everything as numbers and texts, ready for JSON."""
        answer = self.answer
        out: dict[str, Any] = {
            "id": self.id,
            "label": answer.label,
            "name": answer.name,
            "path": answer.path,
            "score": _round(self.score),
            "confidence": None if answer.confidence is None else _round(answer.confidence),
        }
        if self.against is not None:
            out["against"] = {"label": self.against.label, "name": self.against.name, "path": self.against.path}
        parts = self.parts.round(6).tolist()
        out["nodes"] = [{"node": part.node, "name": part.name, "score": _round(part.score)} for part in self.nodes]
        out["bias"] = _round(float(self.bias.sum()))
        out["words"] = [
            {"word": part.word, "value": _round(part.value), "score": _round(part.score), "by_node": row}
            for part, row in zip(self.words, parts, strict=False)
        ]
        if self.located is not None:
            out["unknown"] = list(self.unknown)
        if self.documents:
            out["documents"] = [
                {
                    "document": part.document,
                    "title": part.title,
                    "label": part.label,
                    "similarity": _round(part.similarity),
                    "score": _round(part.score),
                }
                for part in self.documents
            ]
        return out

    def __repr__(self) -> str:
        than = "" if self.against is None else f" and not {self.against.label}"
        return f"<Explanation of {self.id}: {self.answer.label}{than}, {self.score:+.3f}>"

    def __str__(self) -> str:
        from io import StringIO

        from rich.console import Console

        out = StringIO()
        console = Console(file=out, width=WIDTH, color_system=None, markup=False, highlight=False, legacy_windows=False)
        console.print(self)
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from pinakes.explain.terminal import render

        colour = console.color_system is not None and not console.no_color
        yield render(self, colour=colour, width=options.max_width)

    def _repr_html_(self) -> str:
        from pinakes.explain.notebook import to_html

        return to_html(self)


def largest(parts: Floats) -> Iterator[int]:
    """Give the places of numbers, the largest in size first; of equals the first one."""
    return iter(np.argsort(-np.abs(parts), kind="stable").tolist())


def _round(value: float) -> float:
    return round(float(value), 6)
