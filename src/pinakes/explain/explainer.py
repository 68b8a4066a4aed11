"""`explain`: documents in, for each of them the reasons of an answer out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from scipy import sparse

from pinakes.decisions import Answer, Classifier
from pinakes.documents import Corpus
from pinakes.documents.spans import Located, locate
from pinakes.errors import LabelError, ParameterError, closest
from pinakes.explain.explanation import Choice, DocumentPart, Explanation, NodePart, WordPart, largest
from pinakes.explain.influence import Influence
from pinakes.explain.views import AttributeView, Splits, View, view_of
from pinakes.explain.ways import Floats, Ints, Ways
from pinakes.models import TaxonomySVC
from pinakes.models.closed_outputs import ClosedOutputModel

FEW = 8  # labels that are looked for one by one
NEXT = "next"  # the best category but for the one explained


def explain(
    model: Any,
    documents: Any,
    *,
    label: Any = None,
    against: Any = None,
    n_documents: int | None = None,
    feature_names: Sequence[str] | None = None,
) -> Explanations:
    """Say why documents get their answers: the score of each answer, split exactly over nodes and words.

    Parameters
    ----------
    model : Classifier or fitted estimator
        An estimator takes documents as vectors.
    documents : Corpus, sequence of str, or matrix
        As `Classifier.rank` takes them.
    label : str, sequence of str, or None, default=None
        The category to explain, one for all or one for each; None: the best one of each document.
    against : str, sequence of str, "next", or None, default=None
        Why `label` and not this one: the difference of both scores is split. "next": the best one beside it.
    n_documents : int or None, default=None
        How many training documents to name, those that add most to the score or take most from it. None: of a model
        with a kernel all, else none. A linear model must have kept them: `TaxonomySVC(keep_documents=True)`, or
        `pinakes train --keep-documents`.
    feature_names : sequence of str or None, default=None
        What to call the features of vectors; None: x0, x1, …

    Returns
    -------
    explanations : Explanations
        A sequence of `Explanation`, one a document, each made when it is asked for.

    Notes
    -----
    With hashed features, a bucket is named by the words of the text that fall into it.
    """
    classifier = model if isinstance(model, Classifier) else Classifier(getattr(model, "best_estimator_", model))
    if n_documents is not None and (not isinstance(n_documents, int | np.integer) or n_documents < 0):
        raise ParameterError(f"`n_documents` of explain must be a whole number >= 0 or None, got {n_documents!r}")
    view = view_of(classifier.model)
    X = classifier.vectors(documents)
    wanted = getattr(classifier.model, "n_features_in_", X.shape[1])
    if X.shape[1] != wanted:
        raise ParameterError(f"documents must have the {wanted} features that the model knows, got {X.shape[1]}")
    texts, ids = _texts(documents, classifier)
    explained, compared = _given(label, view, X.shape[0], "label"), None
    if against is not None and not (isinstance(against, str) and against == NEXT and NEXT not in view.taxonomy):
        compared = _given(against, view, X.shape[0], "against")
    top = 2 if against is not None and compared is None else 1 if explained is None else 0
    ranked = _rank(classifier, X, top) if top else [[] for _ in range(X.shape[0])]
    if explained is None:
        explained = _numbers([answers[0].label for answers in ranked], view.classes)
    if against is not None and compared is None:
        names = [str(k) for k in view.classes[explained]]
        others = [next(a.label for a in few if a.label != name) for few, name in zip(ranked, names, strict=True)]
        compared = _numbers(others, view.classes)
    ways = view.ways(X, explained)
    if compared is not None:
        ways = ways.minus(view.ways(X, compared))
    splits = view.split(X, ways)
    if isinstance(view, AttributeView):
        view.lower(X, ways, splits, explained, 1)
        if compared is not None:
            view.lower(X, ways, splits, compared, -1)
    influence = None
    if n_documents and view.linear:
        influence = Influence.of(classifier)
    return Explanations(
        view, X, ways, splits, explained, compared, ranked, texts, ids, classifier.features, influence,
        n_documents, None if feature_names is None else list(feature_names),
    )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Explanations(Sequence[Explanation]):
    """The explanations of some documents: the numbers of all, and an `Explanation` of each when it is asked for."""

    _view: View
    _X: sparse.csr_array
    _ways: Ways
    _splits: Splits
    _explained: Ints
    _compared: Ints | None
    _ranked: list[list[Answer]]
    _texts: list[str] | None
    _ids: list[str]
    _features: Any
    _influence: Influence | None
    _n_documents: int | None
    _names: list[str] | None

    def __len__(self) -> int:
        return self._X.shape[0]

    @property
    def scores(self) -> Floats:
        """The scores that are explained, one a document."""
        return self._splits.scores(self._ways)

    @overload
    def __getitem__(self, i: int) -> Explanation: ...
    @overload
    def __getitem__(self, i: slice) -> list[Explanation]: ...
    def __getitem__(self, i: int | slice) -> Explanation | list[Explanation]:
        if isinstance(i, slice):
            return [self._one(k) for k in range(len(self))[i]]
        return self._one(range(len(self))[i])

    def __iter__(self) -> Iterator[Explanation]:
        return map(self._one, range(len(self)))

    def __repr__(self) -> str:
        return f"<Explanations of {len(self)} documents>"

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))

    def _repr_html_(self) -> str:
        few = "".join(one._repr_html_() for one in self[:5])
        return few if len(self) <= 5 else f"{few}<p>… and {len(self) - 5:,} more documents</p>"

    def _one(self, i: int) -> Explanation:
        splits, ways = self._splits, self._ways
        on, rows = slice(*ways.indptr[i : i + 2]), slice(*splits.indptr[i : i + 2])
        names, bias = ways.names[on], splits.bias[on]
        parts = splits.parts[splits.starts[i] : splits.starts[i + 1]].reshape(
            -1 if len(names) else rows.stop - rows.start, len(names)
        )
        sums = parts.sum(axis=1)
        order = np.argsort(-np.abs(sums), kind="stable")
        numbers, values, sums = splits.rows[rows][order], splits.values[rows][order], sums[order]
        parts = parts[order]
        by_node = (parts.sum(axis=0) + bias).tolist()
        nodes = tuple(NodePart(*self._node(int(z)), score) for z, score in zip(names, by_node, strict=True))
        text = None if self._texts is None else self._texts[i]
        words: tuple[WordPart, ...] = ()
        located: Located | None = None
        word_of: tuple[int, ...] = ()
        if self._view.linear:
            called, located, word_of = self._words(text, numbers)
            words = tuple(map(WordPart, called, values.tolist(), sums.tolist()))
            documents = self._documents(i)
        else:
            documents = tuple(
                DocumentPart(str(k), "", "", value, score)
                for k, value, score in zip(numbers.tolist(), values.tolist(), sums.tolist(), strict=True)
            )[: self._n_documents]
        return Explanation(
            self._ids[i], text, self._choice(i, self._explained),
            None if self._compared is None else self._choice(i, self._compared),
            nodes, words, documents, parts, bias, located, word_of,
        )  # fmt: skip

    def _words(self, text: str | None, columns: Ints) -> tuple[list[str], Located | None, tuple[int, ...]]:
        """Give the names of features, and where they stand in the text."""
        if text is None:
            names = self._names
            return [f"x{j}" if names is None else names[j] for j in columns.tolist()], None, ()
        located = locate(self._features, text)
        place = {j: at for at, j in enumerate(columns.tolist())}
        word_of = tuple(place.get(term.column, -1) for term in located.terms)
        called: list[dict[str, None]] = [{} for _ in place]
        for term, at in zip(located.terms, word_of, strict=True):
            if at >= 0:
                called[at][term.term] = None
        return [" | ".join(terms) for terms in called], located, word_of

    def _documents(self, i: int) -> tuple[DocumentPart, ...]:
        if self._influence is None or not self._n_documents:
            return ()
        compared = None if self._compared is None else int(self._compared[i])
        similar, parts = self._influence.on(self._X[[i]], int(self._explained[i]), compared)
        kept = self._influence.kept
        best = [k for k, _ in zip(largest(parts), range(self._n_documents), strict=False) if parts[k] != 0]
        return tuple(
            DocumentPart(
                kept.ids[k],
                kept.titles[k],
                str(self._view.classes[kept.classes[k]]),
                float(similar[k]),
                float(parts[k]),
            )
            for k in best
        )

    def _node(self, name: int) -> tuple[str, str]:
        taxonomy = self._view.taxonomy
        if name >= 2 * len(taxonomy):
            return (f"attribute {name - 2 * len(taxonomy)}",) * 2
        if name >= len(taxonomy):
            v = name - len(taxonomy)
            return taxonomy.ids[v], f"{taxonomy.names[v]} (itself)"
        return taxonomy.ids[name], taxonomy.names[name]

    def _choice(self, i: int, classes: Ints) -> Choice:
        taxonomy, label = self._view.taxonomy, str(self._view.classes[classes[i]])
        sure = next((answer.confidence for answer in self._ranked[i] if answer.label == label), None)
        path = [taxonomy.names[taxonomy.index(v)] for v in taxonomy.path(label)]
        return Choice(label, taxonomy.names[taxonomy.index(label)], path, sure)


def _texts(documents: Any, classifier: Classifier) -> tuple[list[str] | None, list[str]]:
    if isinstance(documents, Corpus):
        return documents.texts, documents.ids
    if classifier.features is None:
        return None, [str(i) for i in range(documents.shape[0] if hasattr(documents, "shape") else len(documents))]
    texts = [str(text) for text in documents]
    return texts, [str(i) for i in range(len(texts))]


def _given(labels: Any, view: View, n: int, name: str) -> Ints | None:
    """Give the classes that the user named, one for each document."""
    if labels is None:
        return None
    several = not isinstance(labels, str | int | np.generic)
    if several and len(labels) != n:
        raise ParameterError(
            f"`{name}` of explain must be one label, or one for each of the {n} documents, got {len(labels)}"
        )
    wanted = [str(one) for one in labels] if several else [str(labels)]
    found = _numbers(wanted, view.classes)
    if (found < 0).any():
        unknown = wanted[int(np.argmin(found))]
        known = [str(k) for k in view.classes]
        raise LabelError(
            f"`{name}` of explain must be a category that the model knows, got {unknown!r}{closest(unknown, known)}"
        )
    return found if several else np.repeat(found, n)


def _numbers(labels: list[str], classes: Any) -> Ints:
    """Give the number of the class of each label, -1 where there is none."""
    if len(labels) > FEW or classes.dtype.kind != "U":
        place = {str(k): c for c, k in enumerate(classes.tolist())}
        return np.array([place.get(label, -1) for label in labels], dtype=np.int64)
    found = [np.flatnonzero(classes == label) for label in labels]
    return np.array([at[0] if len(at) else -1 for at in found], dtype=np.int64)


def _rank(classifier: Classifier, X: sparse.csr_array, top: int) -> list[list[Answer]]:
    """Give the best categories of each document, which are vectors by now."""
    if isinstance(classifier.model, TaxonomySVC | ClosedOutputModel):
        return replace(classifier, features=None).rank(X, top)
    scores = np.asarray(classifier.model.decision_function(X))
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    best = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    classes = [str(k) for k in classifier.model.classes_]
    return [[Answer(classes[k], "", [], float(s[k]), np.nan) for k in row] for row, s in zip(best, scores, strict=True)]
