"""`HierarchyRidge`: least squares for all classes, smoothed along the taxonomy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pinakes.documents import as_csr
from pinakes.errors import ConvergenceWarning, ParameterError
from pinakes.models import parameters
from pinakes.models.labels import read_label_sets
from pinakes.solvers import hierarchy_ridge
from pinakes.solvers.hierarchy_graph import HierarchyGraph
from pinakes.solvers.hierarchy_ridge import RidgeProblem, RidgeResult

SOLVERS = ("auto", "primal", "dual", "free")
EXACT = 1500  # documents or features up to which "auto" takes an exact solver
CELLS = 1 << 25  # weights that are solved for at once


class HierarchyRidge(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Ridge regression on the labels that keeps documents of near categories near, for one label or several.

    Every class has a weight vector that solves

        min sum_i (<w, x_i> - y_i)^2 + xi w^T X^T L X w + beta |w|^2     y_i = 1 for documents with the label, else -1

    L is the Laplacian of the graph in which two documents are connected through every category that holds both. With
    xi = 0 this is ridge regression.

    Parameters
    ----------
    taxonomy : Taxonomy, path or None, default=None
        What relates the labels, which are node ids. None: the labels are unrelated.
    beta : float, default=1.0
        What the length of the weights costs, as `alpha` of scikit-learn's Ridge.
    xi : float, default=0.1
        What roughness along the taxonomy costs.
    fit_intercept : bool, default=True
        Whether classes get an intercept, which costs nothing. The paper has none.
    solver : {"auto", "primal", "dual", "free"}, default="auto"
        "primal" and "dual" are closed forms, with dense matrices of features or documents; "free" runs conjugate
        gradients for all classes at once and needs no matrix but X. "auto" is exact where there are few of either.
    tol : float, default=0.0001
        Of "free": the residual to stop at, relative to the right-hand side, for every class.
    max_iter : int, default=1000
        Of "free": most rounds, each of which passes over X twice.
    n_jobs : int or None, default=None
        Of "free": threads; None: all cores.

    Attributes
    ----------
    classes_ : ndarray
        The labels seen, sorted.
    coef_ : ndarray (n_classes, n_features_in_)
        With two classes and one label a document, one row, as in scikit-learn.
    intercept_ : ndarray (n_classes,)
    n_features_in_ : int
    taxonomy_ : Taxonomy
    several_ : bool
        Whether documents were given label sets: then `predict` gives label sets too.
    solver_ : {"primal", "dual", "free"}
        What was used.
    n_iter_ : int
        Rounds made by "free"; 1 elsewhere.

    References
    ----------
    Y. Huang, K. Yu, M. Schubert, S. Yu, V. Tresp and H.-P. Kriegel, Hierarchy regularized latent semantic
    indexing, 2005.

    Examples
    --------
    >>> from pinakes import HierarchyRidge, Taxonomy
    >>> t = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> X = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    >>> y = [["animal/cat"], ["animal/dog", "animal/cat"], ["plant/tree"], ["plant/tree"]]
    >>> HierarchyRidge(t, beta=0.1).fit(X, y).predict([[1, 1, 0, 0], [0, 0, 2, 0]])
    [['animal/cat'], ['plant/tree']]
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        beta: float = 1.0,
        xi: float = 0.1,
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.beta = beta
        self.xi = xi
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any) -> HierarchyRidge:
        """Learn from documents `X` (CSR or dense, n_samples x n_features) and their labels `y`.

        `y` holds a label or a collection of labels for each document, or is an indicator matrix with a column for each
        node of the taxonomy, in its order. Where a document stands in a category and not below it, say so with labels
        only: ancestors are not added.
        """
        beta, xi = parameters.check_number(self, "beta", above=0), parameters.check_number(self, "xi", least=0)
        solver = parameters.check_choice(self, "solver", SOLVERS)
        X = self._check_documents(X, reset=True)
        labels = read_label_sets(y, self.taxonomy, X.shape[0], self)
        if len(labels.classes) < 2:
            raise ParameterError(
                f"{type(self).__name__} needs at least 2 classes, got the 1 class {str(labels.classes[0])!r} only"
            )
        graph = HierarchyGraph(labels.taxonomy, labels.by_node)
        binary = labels.single and len(labels.classes) == 2
        n_samples, n_features = X.shape
        if solver == "auto":
            exact = "dual" if n_samples <= n_features else "primal"
            solver = exact if min(n_samples, n_features) <= EXACT else "free"
        at_once = max(1, CELLS // n_features) if solver == "free" else len(labels.classes)
        parts: list[RidgeResult] = []
        columns = np.arange(1, 2) if binary else np.arange(len(labels.classes))
        for start in range(0, len(columns), at_once):
            targets = labels.Y[:, columns[start : start + at_once]].toarray() * 2.0 - 1.0
            problem = RidgeProblem(X, targets, graph, xi, beta, bool(self.fit_intercept))
            parts.append(self._solve(problem, solver))
        self.coef_ = np.ascontiguousarray(np.hstack([part.W for part in parts]).T)
        self.intercept_ = np.concatenate([part.intercept for part in parts])
        self.n_iter_ = max(part.n_iter for part in parts)
        self.solver_ = solver
        self.classes_, self.taxonomy_, self.several_ = labels.classes, labels.taxonomy, not labels.single
        return self

    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """Give the scores of all classes; of two classes with one label a document the second's only."""
        check_is_fitted(self, "coef_")
        X = self._check_documents(X, reset=False)
        scores = np.asarray(X @ self.coef_.T + self.intercept_)
        return scores[:, 0] if not self.several_ and len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """Give the best class of each document; after training on label sets, the list of classes scored above 0."""
        scores = self.decision_function(X)
        if self.several_:
            return [self.classes_[row].tolist() for row in scores > 0]
        best = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def _solve(self, problem: RidgeProblem, solver: str) -> RidgeResult:
        if solver == "primal":
            return hierarchy_ridge.solve_primal(problem)
        if solver == "dual":
            return hierarchy_ridge.solve_dual(problem)
        tol, max_iter = (
            parameters.check_number(self, "tol", above=0),
            parameters.check_integer(self, "max_iter", least=1),
        )
        n_threads = parameters.count_threads(self)
        result = hierarchy_ridge.solve_free(problem, tol=tol, max_iter=max_iter, n_threads=n_threads)
        if result.residual > tol:
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={max_iter} rounds at a residual of "
                f"{result.residual:.3g}, short of tol={tol:g}: raise max_iter or beta, or accept a larger tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        return result

    def _check_documents(self, X: Any, *, reset: bool) -> sparse.csr_array:
        settings: dict[str, Any] = {"accept_sparse": "csr", "accept_large_sparse": True, "reset": reset}
        return as_csr(validate_data(self, X, dtype=np.float64, **settings))
