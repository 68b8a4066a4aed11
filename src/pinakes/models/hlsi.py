"""`HLSI`: latent semantic indexing that knows the taxonomy."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from pinakes.documents import as_csr
from pinakes.errors import ConvergenceWarning, DataWarning, DocumentError, ParameterError
from pinakes.models import parameters
from pinakes.models.labels import LabelSets, read_label_sets
from pinakes.solvers.hierarchy_graph import HierarchyGraph
from pinakes.solvers.hlsi import Components, solve_dual, solve_primal
from pinakes.solvers.hlsi_free import solve_free
from pinakes.taxonomy import Taxonomy

SOLVERS = ("auto", "primal", "dual", "free")
EXACT = 1500  # documents or features up to which "auto" takes an exact solver
GAMMAS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0)  # tried by gamma="cv"
LAPLACIANS = ("normalized", "paper")
FOLDS = 3
FEW = 30  # documents below which gamma="cv" takes the default


class HLSI(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Hierarchy-regularized latent semantic indexing: few features that keep documents of near categories near.

    The coordinates of a document x are <w_j, x>, where the w_j solve

        min gamma |w|^2 + w^T X^T L X w   s.t.  w^T X^T X w = 1,  X w orthogonal to those before

    L is the Laplacian of the graph in which two documents are connected through every category that holds both, the
    more so the fewer documents it holds. As gamma grows, this becomes plain LSI.

    Parameters
    ----------
    taxonomy : Taxonomy, path or None, default=None
        What relates the labels, which are node ids. None: the labels are unrelated.
    n_components : int, default=50
        How many coordinates. If X has a lower rank, there are as many as its rank, with a warning.
    gamma : float or "cv", default=0.2
        How much the features count against the taxonomy, in units of the mean squared length of a document: the paper's
        gamma is this times the mean of |x_i|^2 (see `gamma_`), so that the scale of X does not matter. 0.05 to 1 is
        useful as a rule, 2 and more with the paper's Laplacian; `float("inf")` is plain LSI. "cv" chooses by
        cross-validation: the value with which held-out documents are put into their nodes best (micro-F1 of least
        squares on the coordinates).
    laplacian : {"normalized", "paper"}, default="normalized"
        L. In the paper's a document costs the more the more categories it is in, so that the components are drawn to
        documents in few of them; "normalized" divides by their number, D^(-1/2) L D^(-1/2).
    whiten : bool, default=True
        Whether all coordinates get the mean square 1 over the training documents: the paper's mapping, times the square
        root of their number. Otherwise coordinate j is `singular_values_[j]` long over the training documents, as
        in scikit-learn's TruncatedSVD, which it equals if gamma is infinite.
    solver : {"auto", "primal", "dual", "free"}, default="auto"
        "primal" and "dual" are exact, with dense matrices of features or documents; "free" needs no matrix but X and
        iterates. "auto" is exact where there are few documents or features.
    tol : float, default=0.2
        Of "free": the largest residual |(I + X^T (L / gamma - I / sigma^2) X) w| / |w| of a component. The relative
        error of sigma^2 goes with its square.
    max_iter : int, default=100
        Of "free": most rounds, each of which passes over X three times.
    n_jobs : int or None, default=None
        Of "free": threads; None: all cores.
    random_state : int, RandomState or None, default=None
        Of "free", and of the folds of "cv"; None stands for 0, so that runs repeat.

    Attributes
    ----------
    components_ : ndarray (n_components_, n_features_in_)
        The w_j as rows, scaled as `whiten` says; the largest value of each in magnitude is positive.
    singular_values_ : ndarray (n_components_,)
        sigma_j, descending: what has become of the singular values of X.
    eigenvalues_ : ndarray (n_components_,)
        The paper's lambda_j = gamma / sigma_j^2, ascending.
    gamma_ : float
        gamma in the units of the paper.
    cv_scores_ : dict of float to float
        The micro-F1 of each gamma tried; only with gamma="cv".
    n_components_ : int
    n_features_in_ : int
    classes_ : ndarray
        The labels seen, sorted.
    taxonomy_ : Taxonomy
    solver_ : {"primal", "dual", "free"}
        What was used.
    n_iter_ : int
        Rounds made by "free"; 1 elsewhere.
    residual_ : float
        The residual at which "free" stopped.

    References
    ----------
    Y. Huang, K. Yu, M. Schubert, S. Yu, V. Tresp and H.-P. Kriegel, Hierarchy regularized latent semantic
    indexing, 2005.

    Examples
    --------
    >>> from pinakes import HLSI, Taxonomy
    >>> t = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> X = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    >>> y = [["animal/cat"], ["animal/dog", "animal/cat"], ["plant/tree"], ["plant/tree"]]
    >>> HLSI(t, n_components=2).fit(X, y).transform(X).round(1)
    array([[ 1.1,  1. ],
           [ 0.9,  0.9],
           [ 1.1, -1.1],
           [ 0.9, -0.9]])
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        n_components: int = 50,
        gamma: Any = 0.2,
        laplacian: str = "normalized",
        whiten: bool = True,
        solver: str = "auto",
        tol: float = 0.2,
        max_iter: int = 100,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.n_components = n_components
        self.gamma = gamma
        self.laplacian = laplacian
        self.whiten = whiten
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any) -> HLSI:
        """Learn from documents `X` (CSR or dense, n_samples x n_features) and their labels `y`.

        `y` holds a label or a collection of labels for each document, or is an indicator matrix with a column for each
        node of the taxonomy, in its order.
        """
        n_components = parameters.check_integer(self, "n_components", least=1)
        parameters.check_choice(self, "solver", SOLVERS)
        parameters.check_choice(self, "laplacian", LAPLACIANS)
        gamma = self._check_gamma()
        X = self._check_documents(X, reset=True)
        labels = read_label_sets(y, self.taxonomy, X.shape[0], self)
        unit = float(X.multiply(X).sum(dtype=np.float64)) / X.shape[0]
        if unit == 0.0:
            raise DocumentError(
                f"{type(self).__name__} needs a document with features, got zeros only in all {X.shape[0]} rows of X"
            )
        self.__dict__.pop("cv_scores_", None)
        if gamma is None:
            gamma = self._choose_gamma(X, labels, n_components)
        self.gamma_ = gamma * unit
        found = self._solve(X, self._graph(labels.taxonomy, labels.by_node), self.gamma_, n_components)
        if len(found.sigma) < n_components:
            warnings.warn(
                f"{type(self).__name__} gives {len(found.sigma)} components, not n_components={n_components}: the "
                f"documents span no more dimensions",
                DataWarning,
                stacklevel=2,
            )
        self.singular_values_ = found.sigma
        self.eigenvalues_ = np.full(len(found.sigma), math.inf) if math.isinf(gamma) else self.gamma_ / found.sigma**2
        scale: Any = math.sqrt(X.shape[0]) if self.whiten else found.sigma
        self.components_ = _signed(np.ascontiguousarray((found.W * scale).T.astype(X.dtype)))
        self.n_components_ = self._n_features_out = len(found.sigma)
        self.classes_, self.taxonomy_ = labels.classes, labels.taxonomy
        self.n_iter_, self.residual_ = found.n_iter, found.residual
        return self

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Give the coordinates of documents, known or new (n_samples, n_components_)."""
        check_is_fitted(self, "components_")
        X = self._check_documents(X, reset=False)
        return np.asarray(X @ self.components_.T.astype(X.dtype, copy=False))

    def similarity_graph(self, y: Any) -> HierarchyGraph:
        """Give the graph that labels `y` draw between their documents, to look at; nothing needs to be fitted."""
        labels = read_label_sets(y, self.taxonomy, None, self)
        return self._graph(labels.taxonomy, labels.by_node)

    # -- parts of fit ----------------------------------------------------------------------------------------

    def _graph(self, taxonomy: Taxonomy, labels: sparse.csr_array) -> HierarchyGraph:
        return HierarchyGraph(taxonomy, labels, normalized=self.laplacian == "normalized")

    def _check_gamma(self) -> float | None:
        if isinstance(self.gamma, str) and self.gamma == "cv":
            return None
        number = isinstance(self.gamma, int | float | np.number) and not isinstance(self.gamma, bool)
        if not number or not self.gamma > 0:
            raise ParameterError(f"`gamma` of {type(self).__name__} must be a number > 0 or 'cv', got {self.gamma!r}")
        return float(self.gamma)

    def _check_documents(self, X: Any, *, reset: bool) -> sparse.csr_array:
        settings: dict[str, Any] = {"accept_sparse": "csr", "accept_large_sparse": True, "reset": reset}
        return as_csr(validate_data(self, X, dtype=[np.float64, np.float32], **settings))

    def _solve(self, X: sparse.csr_array, graph: HierarchyGraph, gamma: float, n_components: int) -> Components:
        n_samples, n_features = X.shape
        solver = self.solver
        if solver == "auto":
            exact = "dual" if n_samples <= n_features else "primal"
            solver = exact if min(n_samples, n_features) <= EXACT else "free"
        self.solver_ = solver
        if solver == "primal":
            return solve_primal(X, graph, gamma, n_components)
        if solver == "dual":
            return solve_dual(X, graph, gamma, n_components)
        found = solve_free(
            X,
            graph,
            gamma,
            n_components,
            tol=parameters.check_number(self, "tol", above=0),
            max_iter=parameters.check_integer(self, "max_iter", least=1),
            random_state=check_random_state(0 if self.random_state is None else self.random_state),
            n_threads=parameters.count_threads(self),
        )
        if found.residual > self.tol and found.n_iter == self.max_iter:
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} rounds at a residual of "
                f"{found.residual:.3g}, short of tol={self.tol:g}: raise max_iter, or accept a larger tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found

    def _choose_gamma(self, X: sparse.csr_array, labels: LabelSets, n_components: int) -> float:
        """Give the gamma with which held-out documents are put into their nodes best."""
        n_samples = X.shape[0]
        if n_samples < FEW:
            self.cv_scores_ = {}
            return 0.2
        random_state = check_random_state(0 if self.random_state is None else self.random_state)
        folds = random_state.permutation(n_samples) % FOLDS
        H = HierarchyGraph(labels.taxonomy, labels.by_node).H
        hits = {gamma: np.zeros(3) for gamma in GAMMAS}
        for fold in range(FOLDS):
            train, test = folds != fold, folds == fold
            graph = self._graph(labels.taxonomy, labels.by_node[train])
            unit = float(X[train].multiply(X[train]).sum()) / int(train.sum())
            if unit == 0.0:
                continue
            for gamma in GAMMAS:
                found = self._solve(X[train], graph, gamma * unit, n_components)
                hits[gamma] += _least_squares(X[train] @ found.W, H[train], X[test] @ found.W, H[test])
        # micro-F1 = 2 tp / (2 tp + fp + fn)
        self.cv_scores_ = {gamma: float(2 * tp / max(2 * tp + fp + fn, 1)) for gamma, (tp, fp, fn) in hits.items()}
        return max(self.cv_scores_, key=self.cv_scores_.__getitem__)


def _least_squares(F: Any, H: sparse.csr_array, F_test: Any, H_test: sparse.csr_array) -> npt.NDArray[np.float64]:
    """Count true positives, false positives and false negatives of nodes told from coordinates by least squares."""
    # the columns of F are orthonormal: the coefficients are F^T H
    scores = F_test @ (H.T @ F).T > 0.5
    truth = H_test.toarray() > 0
    true_positives = float((scores & truth).sum())
    return np.array([true_positives, scores.sum() - true_positives, truth.sum() - true_positives])


def _signed(components: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make the value of each row that is largest in magnitude positive."""
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return np.asarray(components * signs[:, None])
