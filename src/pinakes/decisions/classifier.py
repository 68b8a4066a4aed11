"""Texts or vectors in, categories out, ranked or decided: features, model and how sure it may be as one thing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.decisions.beliefs import Beliefs, Believer
from pinakes.decisions.calibration import Calibration, fit_calibration
from pinakes.decisions.coverage import Coverage, node_needs, set_needs
from pinakes.decisions.held_out import (
    AT_ONCE,
    HeldOut,
    class_scores,
    has_sets,
    hold_out,
    members_of,
)
from pinakes.decisions.kept import KeptDocuments
from pinakes.decisions.rules import Decision, Nodes, decide, read_decision
from pinakes.decisions.set_calibration import SetCalibration, fit_set_calibration
from pinakes.documents import Corpus, TextFeatures
from pinakes.documents.matrix import as_csr
from pinakes.errors import ConvergenceWarning, DocumentError, ParameterError
from pinakes.kernels import choices
from pinakes.models import TaxonomySVC
from pinakes.models.closed_outputs import ClosedOutputModel
from pinakes.models.label_set_model import LabelSetModel
from pinakes.taxonomy.loss import Loss, LossSpec, make_loss

IN_CACHE = 1 << 18  # probabilities (documents times nodes) that are worked on at a time


@dataclass(frozen=True, slots=True)
class Answer:
    """One category, or one node of the taxonomy, proposed for a document.

    `confidence` is its probability; `score` that of the category, of an inner node the best one at or below it.
    """

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
        Of the softmax, or with label sets of the logistic function, that stands in where there is no calibration.
    summary : dict
        What was trained on what, for people to read.
    documents : KeptDocuments or None
        The training documents that carry weight, for explanations; None: not kept.
    calibration : Calibration, SetCalibration or None
        How scores become probabilities; set by `fit`.
    coverage : Coverage or None
        What documents that the model has not seen needed, for `coverage` and `sets`; set by `fit` and `calibrate`.

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
    documents: KeptDocuments | None = None
    calibration: Calibration | SetCalibration | None = None
    coverage: Coverage | None = None

    def fit(
        self,
        documents: Sequence[str] | Any,
        y: Sequence[str] | Sequence[Sequence[str]],
        *,
        report: Callable[[Any], None] | None = None,
        **options: Any,
    ) -> Classifier:
        """Learn features, weights and how sure to be from texts (or vectors) and a label, or a list of labels, each.

        For the last, a fifth of the documents is put aside and a second model learns from the rest. A model that looks
        for the best settings, such as a TaxonomySVCCV, leaves the best one in its place; `options` go to its `fit`.
        """
        X = as_csr(documents) if self.features is None else self.features.fit_transform(documents)
        single = all(isinstance(label, str | int | np.generic) for label in y)
        labels: Any = np.asarray(y) if single else y
        model: Any = self.model
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*when it was interrupted", ConvergenceWarning)
            if "report" in signature(model.fit).parameters:
                options["report"] = report
            model.fit(X, labels, **options)
        model = self.model = getattr(model, "best_estimator_", model)
        if getattr(model, "stopped_", "") == "interrupted":
            raise KeyboardInterrupt  # half of it is no classifier; `model` keeps what it has learnt
        self.temperature, self.calibration, self.coverage = 1.0, None, None
        held = hold_out(model, X, labels)
        if held is not None:
            if has_sets(model):
                self.calibration = fit_set_calibration(held)
            else:
                self.calibration, self.temperature = fit_calibration(held)
            self._set_coverage(held)
        return self

    def calibrate(self, documents: Corpus | Sequence[str] | Any, y: Any) -> Classifier:
        """Take documents that the model was not trained on, and their labels, as the measure of coverage.

        What is said of `coverage` and `sets` is then exact for documents like these; probabilities stay as they are.
        """
        X = self.vectors(documents)
        if X.shape[0] != len(y) or len(y) == 0:
            raise DocumentError(f"`calibrate` needs a label for each of some documents, got {X.shape[0]} and {len(y)}")
        self.calibration = self._calibration  # of a model that has none, the softmax that stands in
        if self.has_sets:
            self._set_coverage(HeldOut(self.model, X, members_of(self.model, y)))
            return self
        place = {str(k): j for j, k in enumerate(self.model.classes_)}
        unknown = next((label for label in y if str(label) not in place), None)
        if unknown is not None:
            raise DocumentError(f"`calibrate` needs labels that the model knows, got {str(unknown)!r}; leave it out")
        self._set_coverage(HeldOut(self.model, X, np.array([place[str(label)] for label in y])))
        return self

    def _set_coverage(self, held: HeldOut) -> None:
        believer = Believer.of(held.model, self._calibration)
        node, sets = [], []
        for part, scores in held.scores():
            beliefs = believer.beliefs(scores)
            sets.append(set_needs(believer, beliefs, held.truth[part]))
            if not believer.has_sets:
                node.append(node_needs(believer, beliefs, believer.class_node[held.truth[part]]))
        self.coverage = Coverage.of_needs(np.concatenate([np.zeros(0), *node]), np.concatenate(sets))

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
        if below is not None:
            return self._rank_below(X, top, below)
        believer = self.believer()
        out: list[list[Answer]] = []
        for scores in self._scores(X):
            p = believer.beliefs(scores).classes
            classes = np.empty((len(scores), min(top, scores.shape[1])), dtype=np.int64)
            choices.best_classes(scores, classes)
            out += self._answers(
                believer.class_node[classes], *(np.take_along_axis(a, classes, 1) for a in (scores, p))
            )
        return out

    def _rank_below(self, X: sparse.csr_array, top: int, below: str) -> list[list[Answer]]:
        if not isinstance(self.model, TaxonomySVC):
            raise ParameterError(f"{type(self.model).__name__} does not score a part of the taxonomy alone (`below`)")
        ranking = self.model.rank(X, top, self.temperature, below)
        assert ranking.confidences is not None
        nodes = self.believer().class_node[ranking.classes]
        return self._answers(nodes, ranking.scores, ranking.confidences)

    def _answers(self, nodes: Any, scores: Any, confidences: Any) -> list[list[Answer]]:
        """Put nodes, scores and confidences of each document into words."""
        every = [few for few in nodes if len(few)]
        known = {v: self._describe(int(v)) for v in np.unique(np.concatenate(every))} if every else {}
        return [
            [Answer(*known[v], float(score), float(sure)) for v, score, sure in zip(*row, strict=True)]
            for row in zip(nodes, scores, confidences, strict=True)
        ]

    def probabilities(self, documents: Corpus | Sequence[str] | Any, least: float = 0.0) -> Any:
        """Give the probability of every node, documents by nodes of the taxonomy (`model.taxonomy_.ids`).

        With one label a document, a node has the sum over the distinct categories at or below it; with label sets, the
        probability that one of the labels lies there. A parent is never less likely than its child. With `least`, a
        sparse array of the probabilities that are at least so large: for many documents and nodes.
        """
        if not 0 <= least < 1:
            raise ParameterError(f"`least` must be a number from 0 to below 1, got {least!r}")
        parts: list[Any] = []
        for beliefs in self.beliefs(documents):
            if least > 0:
                parts.append(sparse.csr_array(np.where(beliefs.nodes >= least, beliefs.nodes, 0.0)))
            else:
                parts.append(beliefs.nodes)
        if not parts:
            shape = (0, len(self.model.taxonomy_))
            return sparse.csr_array(shape) if least > 0 else np.zeros(shape)
        return sparse.vstack(parts, format="csr") if least > 0 else np.concatenate(parts)

    def beliefs(self, documents: Corpus | Sequence[str] | Any) -> Iterator[Beliefs]:
        """Give scores and probabilities of classes and nodes, some documents at a time."""
        believer = self.believer()
        for scores in self._scores(self.vectors(documents)):
            yield believer.beliefs(scores)

    def decide(
        self, documents: Corpus | Sequence[str] | Any, decision: str | Decision = "expected-loss", loss: LossSpec = None
    ) -> list[list[Answer]]:
        """Give the answer for each document by a decision, the likeliest node first; an empty list says nothing.

        Parameters
        ----------
        documents : texts, vectors or a Corpus
        decision : str
            "best", "expected-loss", "confidence:0.8", "abstain", "abstain:0.3", "coverage:0.9" or "sets:0.9"; see
            `pinakes.decisions.rules`.
        loss : {"tree", "exact", "zero-one"}, NodeCosts, matrix, Loss or None, default=None
            What "expected-loss" and "abstain" expect; None: the loss that the model was trained with, or "tree".
        """
        X = self.vectors(documents)
        believer = self.believer()
        out: list[list[Answer]] = []
        for nodes, beliefs in self._decided(X, read_decision(decision), believer, self._loss(loss)):
            sure = beliefs.of(nodes)
            order = [np.argsort(-few, kind="stable") for few in sure]
            nodes = [few[i] for few, i in zip(nodes, order, strict=True)]
            sure = [few[i] for few, i in zip(sure, order, strict=True)]
            out += self._answers(nodes, _best_scores(believer, beliefs, nodes), sure)
        return out

    def decided_nodes(self, X: sparse.csr_array, decision: str | Decision, loss: LossSpec = None) -> list[Nodes]:
        """Give the nodes that a decision answers with, in no order, for documents as vectors."""
        parts = self._decided(X, read_decision(decision), self.believer(), self._loss(loss))
        return [few for nodes, _ in parts for few in nodes]

    def _decided(
        self, X: sparse.csr_array, decision: Decision, believer: Believer, loss: Loss
    ) -> Iterator[tuple[list[Nodes], Beliefs]]:
        done = 0
        for scores in self._few_scores(X):
            beliefs = believer.beliefs(scores)
            if decision.name == "best" and believer.has_sets:
                index = self.model.taxonomy_.index
                sets = self.label_sets(X[done : done + len(scores)])
                nodes = [np.array([index(str(k)) for k in few], dtype=np.int64) for few in sets]
            else:
                nodes = decide(decision, believer, beliefs, loss, self.coverage)
            done += len(scores)
            yield nodes, beliefs

    def _scores(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Give scores of all classes, some documents at a time."""
        size = max(1, AT_ONCE // max(len(self.model.classes_), len(self.model.taxonomy_)))
        for start in range(0, X.shape[0], size):
            yield class_scores(self.model, X[start : start + size])

    def _few_scores(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Give them in smaller parts, whose probabilities stay in the cache."""
        size = max(1, IN_CACHE // len(self.model.taxonomy_))
        for scores in self._scores(X):
            for start in range(0, len(scores), size):
                yield scores[start : start + size]

    @property
    def _calibration(self) -> Calibration | SetCalibration:
        if self.calibration is not None:
            return self.calibration
        temperature = self.temperature if self.temperature > 0 else 1.0
        if self.has_sets:
            return SetCalibration.from_temperature(temperature, self.model.taxonomy_.depth)
        return Calibration.from_temperature(temperature)

    def believer(self) -> Believer:
        """Make what turns scores into probabilities, once for a fitted model and a calibration."""
        of = (self.model, self.model.classes_, self.calibration, self.temperature)
        kept = self.__dict__.get("_kept")
        if kept is None or any(a is not b for a, b in zip(kept[0], of, strict=True)):
            kept = self.__dict__["_kept"] = of, Believer.of(self.model, self._calibration)
        believer: Believer = kept[1]
        return believer

    def _loss(self, loss: LossSpec) -> Loss:
        if loss is None:
            loss = getattr(self.model, "_loss", None) or "tree"
        if isinstance(loss, Loss):
            return loss
        taxonomy = self.model.taxonomy_
        return make_loss(loss, taxonomy, None if isinstance(loss, str) else [str(k) for k in self.model.classes_])

    def predict(self, documents: Corpus | Sequence[str] | Any, below: str | None = None) -> Any:
        """Give the best category of each document, with `below` of those at or below that node; or its label set."""
        if below is not None and not isinstance(self.model, TaxonomySVC):
            raise ParameterError(f"{type(self.model).__name__} does not score a part of the taxonomy alone (`below`)")
        settings = {} if below is None else {"below": below}
        return self.model.predict(self.vectors(documents), **settings)

    @property
    def has_sets(self) -> bool:
        """Whether the model was trained on label sets, and so answers with sets."""
        return has_sets(self.model)

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
        return [
            sorted(few, key=lambda answer: (-answer.score, -len(answer.path))) for few in self.decide(documents, "best")
        ]

    def decision_function(self, documents: Corpus | Sequence[str] | Any) -> npt.NDArray[Any]:
        """Give the scores of all categories, documents by `classes_`; two columns where there are two."""
        return class_scores(self.model, self.vectors(documents))

    @property
    def kind(self) -> Literal["text", "vectors"]:
        return "vectors" if self.features is None else "text"

    def _describe(self, v: int) -> tuple[str, str, list[str]]:
        taxonomy = self.model.taxonomy_
        way = taxonomy.path(v)
        return taxonomy.ids[v], taxonomy.names[v], [taxonomy.names[taxonomy.index(u)] for u in way]


def _best_scores(believer: Believer, beliefs: Beliefs, nodes: list[Nodes]) -> list[list[float]]:
    """Give the score of each answer: its own where it is a class, else the best one at or below it."""
    taxonomy = believer.taxonomy
    place = np.full(len(taxonomy), -1)
    place[believer.class_node] = np.arange(len(believer.class_node))
    below: dict[int, npt.NDArray[np.int64]] = {}

    def classes(v: int) -> npt.NDArray[np.int64]:
        if v not in below:
            inside = place[v : v + 1] if place[v] >= 0 else place[taxonomy.descendants.of(v)]
            below[v] = inside[inside >= 0]
        return below[v]

    return [
        [float(row[classes(int(v))].max(initial=-np.inf)) for v in few]
        for few, row in zip(nodes, beliefs.scores, strict=True)
    ]
