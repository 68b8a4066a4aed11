"""What the perceptrons and `StructuredSVC` share: answers that are sets of nodes, closed upward, on a tree.

The answer is the closed set z with the largest sum over nodes of z_v a_v, z_v = +1 inside and -1 outside, where
a_v = <w_v, x>; found by dynamic programming (kernels/closed.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pinakes.documents import as_csr
from pinakes.errors import DocumentError, ParameterError, TaxonomyError
from pinakes.kernels import closed
from pinakes.models.classes import class_nodes, resolve_taxonomy
from pinakes.models.labels import read_labels
from pinakes.models.parameters import check_ranking
from pinakes.models.scoring import Ranking
from pinakes.taxonomy import Taxonomy

AT_ONCE = 2**22  # scores (documents times nodes) at a time


class ClosedOutputModel(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of the estimators whose answers are closed sets of nodes; see the head of this file."""

    taxonomy: Any
    taxonomy_: Taxonomy
    classes_: npt.NDArray[Any]
    nodes_: npt.NDArray[np.int32]
    form_: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags

    # -- answers ---------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Give the labels of each document, in the form in which `fit` was given them.

        One label each: the best class. Lists or an indicator matrix: the best closed set, with all ancestors if the
        training labels had theirs, else its most specific nodes; it may be empty, and end at an inner node.
        """
        X = self._check_documents(X)
        if self.form_ == "single":
            return self.classes_[self._class_scores(self._node_values(X)).argmax(axis=1)]
        on = self._closed_sets(X)
        if not self._has_ancestors:
            parent = self._parent
            inner = np.zeros((len(on), len(parent) + 1), dtype=bool)
            for v in range(len(parent)):
                inner[:, parent[v]] |= on[:, v]
            on &= ~inner[:, :-1]
        if self.form_ == "indicator":
            place = np.full(len(self.taxonomy_), -1)
            place[self.nodes_] = np.arange(len(self.nodes_))
            columns = place[self._class_node]
            Y = np.zeros((len(on), len(self.classes_)), dtype=np.int64)
            Y[:, columns >= 0] = on[:, columns[columns >= 0]]
            return Y
        names = self._node_labels
        return [[names[v] for v in np.flatnonzero(row)] for row in on]

    def predict_nodes(self, X: Any) -> npt.NDArray[np.bool_]:
        """Give the best closed set of each document as an indicator matrix over `nodes_`."""
        return self._closed_sets(self._check_documents(X))

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Give a score for each class; with two classes and one label each only the difference, as scikit-learn does.

        One label each: the sum of a_v on the way down to the class. Label sets: how much better (halved) the best
        closed set with the class is than the best one without it: positive where the class is in the answer.
        """
        values = self._node_values(self._check_documents(X))
        if self.form_ != "single":
            closed.node_scores(values, self._parent)
            place = np.full(len(self.taxonomy_), -1)
            place[self.nodes_] = np.arange(len(self.nodes_))
            columns = place[self._class_node]
            scores = np.full((len(values), len(self.classes_)), -np.inf)
            scores[:, columns >= 0] = values[:, columns[columns >= 0]]
            return scores
        scores = self._class_scores(values)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def rank(self, X: Any, n_best: int = 5, temperature: float = 0.0) -> Ranking:
        """Give the `n_best` best classes of each document (positions in `classes_`) and their scores, best first.

        With a positive temperature also how sure each is: with one label a document the shares of a softmax of all
        scores divided by it, with label sets a logistic function of the score divided by it.
        """
        check_ranking(n_best, temperature)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        best = np.argsort(-scores, axis=1, kind="stable")[:, :n_best].astype(np.int32)
        values = np.take_along_axis(scores, best, axis=1)
        if temperature <= 0:
            return Ranking(best, values, None)
        with np.errstate(over="ignore"):
            if self.form_ != "single":
                return Ranking(best, values, 1.0 / (1.0 + np.exp(-values / temperature)))
            shares = np.exp((scores - values[:, :1]) / temperature)
            return Ranking(best, values, np.take_along_axis(shares, best, axis=1) / shares.sum(axis=1, keepdims=True))

    def _closed_sets(self, X: sparse.csr_array) -> npt.NDArray[np.bool_]:
        out = np.empty((X.shape[0], len(self._parent)), dtype=bool)
        size = max(1, AT_ONCE // len(self._parent))
        for first in range(0, X.shape[0], size):
            values = self._node_values(X[first : first + size])
            z = np.empty(values.shape, dtype=np.int8)
            closed.best_outputs(values, self._parent, z)
            out[first : first + size] = z > 0
        return out

    def _class_scores(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray((self._ways @ values.T).T)

    @abstractmethod
    def _node_values(self, X: sparse.csr_array) -> npt.NDArray[np.float64]:
        """Give a_v = <w_v, x> of every document and node, in an array of its own."""

    # -- what fit, load and predict share --------------------------------------------------------------------

    def _set_outputs(
        self, taxonomy: Taxonomy, classes: npt.NDArray[Any], form: str, used: npt.NDArray[Any] | None
    ) -> None:
        """Set the output space: the nodes at or above the classes `used` (positions; None: all)."""
        self.taxonomy_, self.classes_, self.form_ = taxonomy, classes, form
        self._class_node = class_nodes(taxonomy, classes)
        own = self._class_node if used is None else self._class_node[used]
        up = taxonomy.ancestors
        self.nodes_ = np.unique(np.concatenate([up.of(int(v)) for v in own])).astype(np.int32)
        several = self.nodes_[taxonomy.parents.sizes()[self.nodes_] > 1]
        if len(several):
            v = int(several[0])
            above = ", ".join(repr(taxonomy.ids[p]) for p in taxonomy.parents.of(v))
            raise TaxonomyError(
                f"{type(self).__name__} needs a tree, and {taxonomy.ids[v]!r} ({len(several)} nodes in all) has "
                f"several parents: {above}; use TaxonomySVC, which takes lattices, or keep one parent of each node"
            )
        place = np.full(len(taxonomy) + 1, len(self.nodes_), dtype=np.int32)
        place[self.nodes_] = np.arange(len(self.nodes_), dtype=np.int32)
        direct = taxonomy.parents
        self._parent = np.array(
            [place[direct.of(int(v))[0]] if len(direct.of(int(v))) else len(self.nodes_) for v in self.nodes_],
            dtype=np.int32,
        )
        # classes by nodes: everything at or above the class that is an output
        rows = [place[up.of(int(v))] for v in self._class_node]
        rows = [row[row < len(self.nodes_)] for row in rows]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        shape = (len(classes), len(self.nodes_))
        self._ways = sparse.csr_array((np.ones(indptr[-1]), np.concatenate(rows), indptr), shape=shape)
        known = {taxonomy.ids[v]: k for v, k in zip(self._class_node, classes.tolist(), strict=True)}
        integers = classes.dtype.kind in "iu"
        self._node_labels: list[Any] = []
        for v in self.nodes_:
            label = known.get(taxonomy.ids[v], taxonomy.ids[v])
            if integers and isinstance(label, str) and label.lstrip("-").isdigit():
                label = int(label)
            self._node_labels.append(label)

    def _close(self, members: sparse.csr_array) -> sparse.csr_array:
        """Give the nodes of each document from its classes, closed upward; documents by nodes."""
        Y = sparse.csr_array(members.astype(np.float64) @ self._ways)
        Y.sort_indices()
        return Y

    def _note_ancestors(self, members: sparse.csr_array, Y: sparse.csr_array) -> None:
        """Find out whether the label sets came with all ancestors of their labels, wherever a label lies below one."""
        deep = members.astype(np.int64).sum() < Y.nnz
        self._has_ancestors = not deep

    def _fit_labels(self, X: Any, y: Any, classes: Any) -> tuple[sparse.csr_array, bool, sparse.csr_array]:
        """Check documents and labels of `fit`, set the output space; give X, whether it was dense, and the nodes."""
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], accept_large_sparse=True)
        if y is None:
            raise ParameterError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give the labels of X"
            )
        dense = not sparse.issparse(X)
        taxonomy = None if self.taxonomy is None else resolve_taxonomy(self.taxonomy, ())
        labels = read_labels(y, classes if classes is not None or taxonomy is None else taxonomy.ids)
        X = writable_csr(X)
        if labels.members.shape[0] != X.shape[0]:
            raise DocumentError(
                f"X and y must hold the same documents, got {X.shape[0]} rows and labels for "
                f"{labels.members.shape[0]}: inconsistent numbers of samples"
            )
        if labels.form == "single" and len(labels.classes) < 2:
            raise ParameterError(
                f"{type(self).__name__} needs at least 2 classes, got the 1 class {str(labels.classes[0])!r} only"
            )
        used = np.unique(labels.members.indices)
        if taxonomy is None:
            taxonomy = resolve_taxonomy(None, labels.classes)
        self._set_outputs(taxonomy, labels.classes, labels.form, used)
        Y = self._close(labels.members)
        self._note_ancestors(labels.members, Y)
        return X, dense, Y

    def _check_documents(self, X: Any) -> sparse.csr_array:
        check_is_fitted(self, "classes_")
        settings: dict[str, Any] = {"accept_sparse": "csr", "accept_large_sparse": True, "reset": False}
        return writable_csr(validate_data(self, X, dtype=[np.float64, np.float32], **settings))


def writable_csr(X: Any) -> sparse.csr_array:
    """Give CSR in arrays that may be written to: kernels are compiled once, not once more for read-only arrays."""
    X = as_csr(X)
    data, indices, indptr = (a if a.flags.writeable else a.copy() for a in (X.data, X.indices, X.indptr))
    return sparse.csr_array((data, indices, indptr), shape=X.shape)
