"""Texts or vectors in, ranked categories out: features, model and confidence as one thing that can be stored."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.decisions.confidence import fit_temperature
from pinakes.documents import Corpus, TextFeatures
from pinakes.documents.matrix import as_csr
from pinakes.errors import ConvergenceWarning, DocumentError, ParameterError
from pinakes.models import TaxonomySVC
from pinakes.models.closed_outputs import ClosedOutputModel
from pinakes.models.label_set_model import LabelSetModel


@dataclass(frozen=True, slots=True)
class Answer:
    """One category proposed for a document."""

    label: str
    name: str
    path: list[str]
    score: float
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "name": self.name,
            "path": self.path,
            "score": round(self.score, 6),
            "confidence": round(self.confidence, 6),
        }


@dataclass
class Classifier:
    """Features, a model and how sure it may be.

    Parameters
    ----------
    model : TaxonomySVC, TaxonomyRankSVC, CoupledSVC, a perceptron or StructuredSVC
        To be fitted, or fitted; but for the first, on one label a document or on label sets. To be fitted, it may be a
        TaxonomySVCCV.
    features : TextFeatures or None
        How texts become vectors; None where documents are vectors already.
    temperature : float
        Of the softmax behind confidences, or with label sets of the logistic function; set by `fit`.
    summary : dict
        What was trained on what, for people to read.

    Examples
    --------
    >>> from pinakes import Taxonomy
    >>> t = Taxonomy.from_paths(["animal/cat", "plant/tree"])
    >>> c = Classifier(TaxonomySVC(t), TextFeatures(min_df=1))
    >>> c = c.fit(["a purring cat", "an old oak"], ["animal/cat", "plant/tree"])
    >>> [answer.name for answer in c.rank(["this cat purrs"], top=1)[0]]
    ['cat']
    """

    model: TaxonomySVC | ClosedOutputModel | LabelSetModel
    features: TextFeatures | None = None
    temperature: float = 1.0
    summary: dict[str, Any] = field(default_factory=dict)

    def fit(
        self,
        documents: Sequence[str] | Any,
        y: Sequence[str] | Sequence[Sequence[str]],
        *,
        report: Callable[[Any], None] | None = None,
        **options: Any,
    ) -> Classifier:
        """Learn features, weights and temperature from texts (or vectors) and a label, or a list of labels, each.

        A model that looks for the best settings, such as a TaxonomySVCCV, leaves the best one in its place; `options`
        go to its `fit`.
        """
        X = as_csr(documents) if self.features is None else self.features.fit_transform(documents)
        single = all(isinstance(label, str | int | np.generic) for label in y)
        labels: Any = np.asarray(y) if single else y
        model: Any = self.model
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*when it was interrupted", ConvergenceWarning)
            model.fit(X, labels, report=report, **options)
        model = self.model = getattr(model, "best_estimator_", model)
        if model.stopped_ == "interrupted":
            raise KeyboardInterrupt  # half of it is no classifier; `model` keeps what it has learnt
        self.temperature = fit_temperature(self.model, X, labels)
        return self

    def vectors(self, documents: Corpus | Sequence[str] | Any) -> sparse.csr_array:
        """Give documents as the model takes them: texts through the features, vectors as they are."""
        given: Any = documents
        source: str | None = None
        if isinstance(documents, Corpus):
            given = documents.texts if documents.texts is not None else documents.X
            source = documents.sources[0] if len(documents) else None
        if isinstance(given, np.ndarray) and given.dtype.kind in "UO" and given.ndim == 1:
            given = given.tolist()
        if not sparse.issparse(given) and np.ndim(given) == 1:
            given = list(given)  # a list, a tuple, an array or a data frame's column
        is_text = isinstance(given, list) and all(isinstance(text, str) for text in given)
        if self.features is None:
            if isinstance(given, str) or (is_text and len(given)):
                message = "this model takes vectors, got texts; give LIBSVM vectors or an array"
                raise DocumentError(message, source=source)
            return as_csr(given)
        if isinstance(given, str):
            raise DocumentError("expected a list of texts, got one text; put it into a list: [text]")
        if not is_text:
            message = "this model takes texts, got vectors; give documents with a text each"
            raise DocumentError(message, source=source)
        return self.features.transform(given)

    def rank(
        self, documents: Corpus | Sequence[str] | Any, top: int = 5, below: str | None = None
    ) -> list[list[Answer]]:
        """Give the `top` best categories of each document, best first; with `below`, of those at or below that node.

        Confidences are then shares among these: how sure the answer is if the document belongs there.
        """
        if not isinstance(top, int | np.integer) or isinstance(top, bool) or top < 1:
            raise ParameterError(f"`top` must be a whole number >= 1, got {top!r}")
        X = self.vectors(documents)
        if X.shape[0] == 0:
            return []
        if below is None:
            ranking = self.model.rank(X, top, self.temperature)
        elif isinstance(self.model, TaxonomySVC):
            ranking = self.model.rank(X, top, self.temperature, below)
        else:
            raise ParameterError(f"{type(self.model).__name__} does not score a part of the taxonomy alone (`below`)")
        assert ranking.confidences is not None
        known = {k: self._describe(int(k)) for k in np.unique(ranking.classes)}
        return [
            [
                Answer(*known[k], float(score), float(sure))
                for k, score, sure in zip(classes, scores, confidences, strict=True)
            ]
            for classes, scores, confidences in zip(ranking.classes, ranking.scores, ranking.confidences, strict=True)
        ]

    def predict(self, documents: Corpus | Sequence[str] | Any, below: str | None = None) -> Any:
        """Give the best category of each document, with `below` of those at or below that node; or its label set."""
        if below is not None and not isinstance(self.model, TaxonomySVC):
            raise ParameterError(f"{type(self.model).__name__} does not score a part of the taxonomy alone (`below`)")
        settings = {} if below is None else {"below": below}
        return self.model.predict(self.vectors(documents), **settings)

    @property
    def has_sets(self) -> bool:
        """Whether the model was trained on label sets, and so answers with sets."""
        return getattr(self.model, "form_", "single") != "single"

    def label_sets(self, X: sparse.csr_array) -> list[list[Any]]:
        """Give the labels of each document, as vectors, of a model with label sets."""
        answers = self.model.predict(X)
        if isinstance(answers, list):
            return answers
        columns = getattr(self.model, "columns_", self.model.classes_)
        return [columns[row > 0].tolist() for row in answers]

    def sets(self, documents: Corpus | Sequence[str] | Any) -> list[list[Answer]]:
        """Give the label set of each document, of a model that was trained on label sets; the best label first.

        A node that is in the answer only because another one below it is has the score of the best category below it.
        """
        if not self.has_sets:
            raise ParameterError(
                "a label set was asked for, and the model was trained on one label a document; ask for the best ones "
                "(`rank`, --top), or train it on documents with several labels"
            )
        X = self.vectors(documents)
        if X.shape[0] == 0:
            return []
        taxonomy = self.model.taxonomy_
        ranking = self.model.rank(X, len(self.model.classes_), self.temperature)
        assert ranking.confidences is not None
        place = {str(label): k for k, label in enumerate(self.model.classes_)}
        below: dict[str, list[int]] = {}
        found = []
        for i, labels in enumerate(self.label_sets(X)):
            rank = np.argsort(ranking.classes[i])  # of each category
            answers = []
            for label in map(str, labels):
                if label not in below:
                    names = [taxonomy.ids[v] for v in taxonomy.descendants.of(taxonomy.index(label))]
                    below[label] = [place[label]] if label in place else [place[k] for k in names if k in place]
                first = min(rank[below[label]])
                way = taxonomy.path(label)
                path = [taxonomy.names[taxonomy.index(v)] for v in way]
                score, sure = float(ranking.scores[i, first]), float(ranking.confidences[i, first])
                answers.append((int(first), -len(way), Answer(label, path[-1], path, score, sure)))
            found.append([answer for *_, answer in sorted(answers, key=lambda entry: entry[:2])])
        return found

    def decision_function(self, documents: Corpus | Sequence[str] | Any) -> npt.NDArray[Any]:
        """Give the scores of all categories, documents by `classes_`; two columns where there are two."""
        scores = self.model.decision_function(self.vectors(documents))
        return np.column_stack([np.zeros_like(scores), scores]) if scores.ndim == 1 else scores

    @property
    def kind(self) -> Literal["text", "vectors"]:
        return "vectors" if self.features is None else "text"

    def _describe(self, k: int) -> tuple[str, str, list[str]]:
        taxonomy = self.model.taxonomy_
        label = str(self.model.classes_[k])
        way = taxonomy.path(label)
        return label, taxonomy.names[taxonomy.index(label)], [taxonomy.names[taxonomy.index(v)] for v in way]
