"""A fitted model as explanations need it: which ways answers take, and the parts along them.

Every view gives `ways(X, classes)` and `split(X, ways)`. The rows of a split are words where the model is linear, and
support documents where it has another kernel. What a bias adds stands apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.errors import ParameterError
from pinakes.explain.ways import Floats, Ints, Ways, attribute_ways, class_ways, node_ways, set_ways
from pinakes.kernels.parts import split_scores
from pinakes.kernels.ranking import lower_rare
from pinakes.kernels.rows import Rows, rows_from_csr
from pinakes.models.closed_outputs import ClosedOutputModel
from pinakes.models.kernel_scoring import KernelScorer
from pinakes.models.scoring import Scorer
from pinakes.solvers.kernel_rows import DocumentKernel
from pinakes.taxonomy import Taxonomy


class Splits(NamedTuple):
    """The parts of some scores: of answer i, rows indptr[i]..indptr[i + 1] - 1, each over all parts of its way."""

    indptr: Ints
    rows: npt.NDArray[Any]  # features, or numbers of training documents
    values: npt.NDArray[Any]  # of the features, or kernel values
    parts: Floats  # answer by answer, rows by way
    starts: Ints  # where each answer's parts begin
    bias: Floats  # along all ways

    def scores(self, ways: Ways) -> Floats:
        """Give what the parts of each answer add up to."""
        total = np.concatenate([[0.0], np.cumsum(self.parts)])[self.starts]
        bias = np.concatenate([[0.0], np.cumsum(self.bias)])[ways.indptr]
        return np.asarray(np.diff(total) + np.diff(bias))


class View(ABC):
    """See the head of this file."""

    linear: bool
    taxonomy: Taxonomy
    classes: npt.NDArray[Any]

    @abstractmethod
    def ways(self, X: sparse.csr_array, classes: Ints) -> Ways:
        """Give the way of one class for each document."""

    @abstractmethod
    def split(self, X: sparse.csr_array, ways: Ways) -> Splits:
        """Split the scores of documents along the way of each."""


def view_of(model: Any) -> View:
    """Give the view of a fitted model; one that is no sum over words or support documents is refused."""
    if not hasattr(model, "classes_"):
        raise ParameterError(f"`explain` takes a fitted model, got {type(model).__name__} that is none; call fit first")
    if isinstance(model, ClosedOutputModel):
        return NodeView(model) if hasattr(model, "weights_") else NodeKernelView(model)
    if hasattr(model, "attributes_"):
        scorer = getattr(model, "_scorer", None)
        return KernelView(model, scorer) if isinstance(scorer, KernelScorer) else AttributeView(model, scorer)
    if hasattr(model, "coef_") and hasattr(model, "taxonomy_"):
        return ClassView(model)
    raise ParameterError(
        f"`explain` takes a model whose scores are sums over words or support documents, got {type(model).__name__}"
    )


class LinearView(View):
    """A model with a weight for every feature in every column: `weights` are growing rows, or features by columns."""

    linear = True
    weights: Rows | npt.NDArray[Any]
    constant = 0.0  # the value of a constant feature behind all others, where the model has one

    def split(self, X: sparse.csr_array, ways: Ways) -> Splits:
        sizes = np.diff(ways.indptr)
        indptr = X.indptr.astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(np.diff(indptr) * sizes)])
        parts = np.empty(starts[-1])
        split_scores(indptr, X.indices, X.data, self.weights, *ways[:3], parts)
        return Splits(indptr, X.indices, X.data, parts, starts, self.bias(X, ways))

    def bias(self, X: sparse.csr_array, ways: Ways) -> Floats:
        """Give what the bias adds along the ways."""
        out = np.zeros(len(ways.columns))
        if self.constant:
            one = sparse.csr_array(
                (np.full(1, self.constant), np.full(1, X.shape[1], dtype=np.int32), np.array([0, 1])),
                shape=(1, X.shape[1] + 1),
            )
            whole = np.array([0, len(out)])
            split_scores(one.indptr.astype(np.int64), one.indices, one.data, self.weights, whole, *ways[1:3], out)
        return out


class AttributeView(LinearView):
    """A linear model whose weights are by attribute of its classes."""

    def __init__(self, model: Any, scorer: Any) -> None:
        self.taxonomy, self.classes, self.attributes = model.taxonomy_, model.classes_, model.attributes_
        self.intercept: Floats | None = None
        self.rarity: Floats | None = getattr(model, "rarity_", None)
        if isinstance(scorer, Scorer):
            self.weights = scorer.rows.T if isinstance(scorer.rows, np.ndarray) else scorer.rows
            if getattr(model, "fit_intercept", False):
                self.constant = float(model.intercept_scaling)
        else:
            u = sparse.csr_array(model.weights_)
            self.weights = rows_from_csr(u, self.attributes.n_attributes)
            self.intercept = getattr(model, "intercept_", None)

    def ways(self, X: sparse.csr_array, classes: Ints) -> Ways:
        return attribute_ways(self.attributes, self.taxonomy, classes)

    def lower(self, X: sparse.csr_array, ways: Ways, splits: Splits, classes: Ints, sign: int) -> None:
        """Take from the bias what the score of one class a document loses beyond the margin; see CoupledSVC."""
        if self.rarity is None:
            return
        whole = self.ways(X, classes)
        scores = self.split(X, whole).scores(whole)[None]
        lowered = scores.copy()
        lower_rare(lowered, self.rarity[classes])
        owner = np.repeat(np.arange(X.shape[0]), np.diff(ways.indptr))
        own = np.flatnonzero((ways.columns == self.attributes.own[classes][owner]) & (ways.factors * sign > 0))
        at = ways.indptr[1:] - 1  # the end of the way, where the class has no place of its own
        at[owner[own]] = own
        some = np.diff(ways.indptr) > 0
        splits.bias[at[some]] += sign * (lowered - scores)[0, some]

    def bias(self, X: sparse.csr_array, ways: Ways) -> Floats:
        out = super().bias(X, ways)
        if self.intercept is not None:  # by class: it goes to the place that this class has alone
            own = np.zeros(self.attributes.n_attributes)
            own[self.attributes.own] = np.broadcast_to(self.intercept, (len(self.classes),))
            alone = np.zeros(len(own), dtype=bool)
            alone[self.attributes.own] = True
            at = np.flatnonzero(alone[ways.columns])
            out[at] = ways.factors[at] * own[ways.columns[at]]
        return out


class NodeView(LinearView):
    """A linear perceptron or StructuredSVC: weights by node, features by nodes."""

    def __init__(self, model: Any) -> None:
        self.model, self.taxonomy, self.classes = model, model.taxonomy_, model.classes_
        self.weights = model.weights_

    def ways(self, X: sparse.csr_array, classes: Ints) -> Ways:
        if self.model.form_ == "single":
            return node_ways(self.model, classes)
        return set_ways(self.model, self.model._node_values(X), classes)


class ClassView(LinearView):
    """A model with one weight vector a class, and a bias."""

    def __init__(self, model: Any) -> None:
        self.model, self.taxonomy, self.classes = model, model.taxonomy_, model.classes_
        self.weights = model.coef_.T

    def ways(self, X: sparse.csr_array, classes: Ints) -> Ways:
        return class_ways(self.model, classes)

    def bias(self, X: sparse.csr_array, ways: Ways) -> Floats:
        return np.asarray(self.model.intercept_[ways.columns] * ways.factors)


class SupportView(View):
    """A model that is a sum over support documents: `coefficients` are these by columns."""

    linear = False
    kernel: DocumentKernel
    support: Ints  # numbers in the training set
    vectors: sparse.csr_array | None  # None where kernel values are given
    coefficients: sparse.csc_array

    def split(self, X: sparse.csr_array, ways: Ways) -> Splits:
        rows, values, parts, biases = [], [], [], []
        for i in range(X.shape[0]):
            if self.vectors is None:
                K = X[[i]][:, self.support].toarray()[0].astype(np.float64)
            else:
                K = self.kernel.between(X[[i]], self.vectors)[0] - self.kernel.constant
            at = slice(ways.indptr[i], ways.indptr[i + 1])
            coefficients = self.coefficients[:, ways.columns[at]].toarray() * ways.factors[at]
            used = np.flatnonzero((coefficients != 0).any(axis=1))
            rows.append(self.support[used])
            values.append(K[used])
            parts.append((K[used, None] * coefficients[used]).ravel())
            biases.append(self.kernel.constant * coefficients.sum(axis=0))
        sizes, widths = np.array([len(row) for row in rows], dtype=np.int64), np.diff(ways.indptr)
        return Splits(
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([np.empty(0, dtype=np.int64), *rows]),
            np.concatenate([np.empty(0), *values]),
            np.concatenate([np.empty(0), *parts]),
            np.concatenate([[0], np.cumsum(sizes * widths)]),
            np.concatenate([np.empty(0), *biases]),
        )


class KernelView(SupportView):
    """A TaxonomySVC with a kernel."""

    def __init__(self, model: Any, scorer: KernelScorer) -> None:
        self.taxonomy, self.classes, self.attributes = model.taxonomy_, model.classes_, model.attributes_
        self.kernel, self.support = scorer.kernel, model.support_
        self.vectors = None if isinstance(scorer.support, np.ndarray) else scorer.support
        self.coefficients = sparse.csc_array(scorer.coefficients)

    def ways(self, X: sparse.csr_array, classes: Ints) -> Ways:
        return attribute_ways(self.attributes, self.taxonomy, classes)


class NodeKernelView(SupportView):
    """A perceptron with a kernel."""

    def __init__(self, model: Any) -> None:
        self.model, self.taxonomy, self.classes = model, model.taxonomy_, model.classes_
        self.kernel, self.support = model._kernel, model.support_
        self.vectors = None if self.kernel.kind == "precomputed" else model.support_vectors_
        self.coefficients = sparse.csc_array(model.support_coef_)

    def ways(self, X: sparse.csr_array, classes: Ints) -> Ways:
        if self.model.form_ == "single":
            return node_ways(self.model, classes)
        return set_ways(self.model, self.model._node_values(X), classes)
