"""`TaxonomySVC`: the hierarchical support vector machine for one label a document."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from pinakes.documents import as_csr
from pinakes.errors import ConvergenceWarning, DocumentError, ParameterError
from pinakes.kernels.rows import rows_from_csr, rows_to_csr
from pinakes.models import parameters
from pinakes.models.classes import class_nodes, resolve_taxonomy
from pinakes.models.kernel_scoring import KernelScorer
from pinakes.models.scoring import Ranking, Scorer
from pinakes.solvers.ascent import N_ROUGH, AscentSolver, Progress, SolverResult
from pinakes.solvers.kernel_rows import KERNELS, DocumentKernel, KernelRows, scale_gamma
from pinakes.solvers.papers import PaperResult, PaperSolver
from pinakes.solvers.problem import Problem, make_outputs
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.attributes import ClassAttributes, class_attributes
from pinakes.taxonomy.loss import Loss, NodeLoss, make_loss

SOLVERS = ("ascent", "greedy", "joint", "exhaustive")
TINY, CLOSE = 1000, 1e-10  # so few documents times classes are solved so closely, whatever `tol`: it costs nothing


class TaxonomySVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Hierarchical support vector machine: one label a document, classes in a taxonomy, learnt jointly.

    Every class y is scored by summing over the nodes z on its way up, F(x, y) = sum of v_z <w_z, x>, and the w_z solve

        min 1/2 |w|^2 + C sum_i xi_i   s.t.  F(x_i, y_i) - F(x_i, y) >= 1 - xi_i / Delta(y_i, y) for all y,  xi >= 0

    so that a rare class borrows from its ancestors, and a mistake counts by how far it leads astray.

    Parameters
    ----------
    taxonomy : Taxonomy, path or None, default=None
        What relates the classes; labels are node ids. None: the classes are unrelated, a flat multiclass SVM.
    C : float, default=1.0
        What a margin violation costs; the sum over documents counts, not the mean.
    loss : {"tree", "zero-one"}, NodeCosts or matrix, default="tree"
        Delta. A matrix has a row and a column for each of the classes, in sorted order.
    node_weight : {"normalized", "depth", "equal", "flat"} or mapping of id to v_z, default="normalized"
        How strongly a node is shared by what lies below it; see `pinakes.taxonomy.attributes.node_weights`.
        "flat" shares nothing.
    solver : {"ascent", "greedy", "joint", "exhaustive"}, default="ascent"
        The algorithm. All reach the same optimum. "ascent" is for work; the others are those of the papers, for small
        problems: "greedy" and "joint" are Algorithm 1 of 2004 with step 8a and 8b, "exhaustive" is that of 2003. See
        `pinakes.solvers.papers`.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        The kernel on documents: <x, x'>, (gamma <x, x'> + coef0)^degree, or exp(-gamma |x - x'|^2). With "precomputed",
        `X` is the square matrix of kernel values in `fit`, and has a row for each document and a column for each
        training document elsewhere. A function takes two matrices of documents (sparse if `fit` was given sparse
        ones) and gives the matrix of their kernel values. Kernels that are not linear are for small problems.
    degree : int, default=3
        Of "poly".
    gamma : "scale" or float, default="scale"
        Of "poly" and "rbf"; "scale" stands for 1 / (n_features * variance of all values of X).
    coef0 : float, default=0.0
        Of "poly".
    cache_size : float, default=200
        MB for rows of the kernel matrix; not used by "ascent" with a linear kernel.
    tol : float, default=0.01
        Stop when the duality gap is at most this share of the primal objective. "ascent" solves problems of at most a
        thousand documents times classes more closely, so that their answers do not depend on the order of documents.
    max_iter : int, default=1000
        Most rounds over all documents and classes. Where the solver is a paper's or the kernel is not linear, a round
        is as many steps as there are documents, each step on one document (in "joint", one selection).
    max_seconds : float or None, default=None
        Stop learning after about so long, with what there is; None: no limit.
    n_jobs : int or None, default=None
        Threads for full scans and prediction; None: all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Fixes the order in which documents are visited; None stands for 0, so that runs repeat.

    Attributes
    ----------
    classes_ : ndarray
        The labels seen, sorted.
    taxonomy_ : Taxonomy
    weights_ : sparse array (n_features_in_, n_attributes)
        v_z w_z of every attribute of `attributes_`; only with a linear kernel, as `coef_`.
    attributes_ : ClassAttributes
        Which attributes each class has.
    dual_coef_ : sparse array (n_samples, n_classes)
        alpha_iy.
    support_ : ndarray
        Which documents carry weight: the numbers of the rows that `dual_coef_` has entries in.
    support_vectors_ : sparse array (n_support, n_features_in_)
        These documents; only with a kernel that is neither linear nor precomputed.
    support_coef_ : sparse array (n_support, n_attributes)
        What each of them adds to each attribute of `attributes_`, per unit of kernel value; not with a linear kernel.
    primal_objective_, dual_objective_, gap_ : float
        Objectives at the end, and their difference relative to the primal one.
    n_iter_ : int
        Rounds made.
    stopped_ : {"converged", "max_iter", "max_seconds", "interrupted"}
        Why the solver stopped. Ctrl-C stops it too: what was learnt so far is kept, with a warning.
    history_ : tuple of Progress
        Objectives, gap and time after each round; of the first few rounds, and where time ran out, estimates.
    steps_ : Steps or None
        Objectives, gap, and the ratio of active variables (2004 paper, Eq. 41) after each step, as arrays; None for
        "ascent" with a linear kernel.
    n_features_in_ : int

    References
    ----------
    L. Cai and T. Hofmann, Hierarchical document categorization with support vector machines, CIKM 2004.
    T. Hofmann, L. Cai and M. Ciaramita, Learning with taxonomies: classifying documents and words, 2003.

    Examples
    --------
    >>> from pinakes import Taxonomy, TaxonomySVC
    >>> t = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree", "plant/herb"])
    >>> X = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    >>> m = TaxonomySVC(t, C=10).fit(X, ["animal/cat", "animal/dog", "plant/tree", "plant/herb"])
    >>> m.predict([[1, 2, 0, 0], [0, 0, 2, 0]]).tolist()
    ['animal/cat', 'plant/herb']
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        C: float = 1.0,
        loss: Any = "tree",
        node_weight: Any = "normalized",
        solver: str = "ascent",
        kernel: Any = "linear",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        cache_size: float = 200,
        tol: float = 1e-2,
        max_iter: int = 1000,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.node_weight = node_weight
        self.solver = solver
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.cache_size = cache_size
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        report: Callable[[Progress], None] | None = None,
    ) -> TaxonomySVC:
        """Learn from documents `X` (CSR or dense, n_samples x n_features) and their labels `y`.

        `sample_weight` multiplies C document by document; `report` is called after every round.
        """
        C = parameters.check_number(self, "C", above=0)
        solver = self._make_solver(report)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], accept_large_sparse=True)
        dense = not sparse.issparse(X)
        X = _as_csr(X)
        kernel = self._make_kernel(X, dense)
        check_classification_targets(y)
        weight = np.ones(len(y)) if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weight < 0).any():
            raise ParameterError(f"`sample_weight` must be >= 0, got {weight.min():g}")
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ParameterError(
                f"{type(self).__name__} needs at least 2 classes, got the 1 class {str(self.classes_[0])!r} only"
            )
        self._set_classes(resolve_taxonomy(self.taxonomy, self.classes_))

        for name in ("support_coef_", "support_vectors_"):  # of an earlier fit with another kernel
            self.__dict__.pop(name, None)
        if isinstance(solver, AscentSolver) and len(y) * len(self.classes_) <= TINY:
            solver.tol = min(solver.tol, CLOSE)
        used = np.flatnonzero(weight > 0)  # a document of no weight has no constraint
        part = slice(None) if len(used) == len(y) else used
        problem = Problem(X[part], codes[part].astype(np.int32), C * weight[part], self._outputs)
        result: SolverResult | PaperResult
        if isinstance(solver, PaperSolver):
            documents: Any = problem.X
            if kernel.kind == "precomputed":
                documents = documents[:, used].toarray()
            rows = KernelRows(kernel, documents, parameters.check_number(self, "cache_size", above=0))
            result = solver.solve(rows, problem.y, problem.C, self._outputs)
        else:
            result = solver.solve(problem)

        beta = result.beta.tocoo()
        delta = self._loss.pairs(self._nodes[problem.y[beta.row]], self._nodes[beta.col])
        shape = (len(y), len(self.classes_))
        self.dual_coef_ = sparse.csr_array((beta.data * delta, (used[beta.row], beta.col)), shape=shape)
        self.support_ = np.flatnonzero(np.diff(self.dual_coef_.indptr))
        if isinstance(result, SolverResult):
            self._scorer: Scorer | KernelScorer = Scorer(result.rows, self._outputs)
            self.history_, self.steps_ = result.history, None
        else:
            self._set_support(X, codes, kernel)
            self.history_, self.steps_ = result.rounds, result.history
        last = result.last
        self.primal_objective_, self.dual_objective_ = last.p_obj, last.d_obj
        self.gap_, self.n_iter_ = last.gap, last.n_iter
        near = result.stopped == "max_iter" and self.n_iter_ > N_ROUGH and self.gap_ <= self.tol
        self.stopped_ = "converged" if near else result.stopped
        if self.stopped_ != "converged":
            warnings.warn(self._stopped_early(), ConvergenceWarning, stacklevel=2)
        return self

    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """Give the scores F(x, y) of all classes; with two classes only the difference, as scikit-learn does."""
        X = self._check_documents(X)
        scores = self._scorer.scores(X, parameters.count_threads(self))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Give the best class of each document."""
        X = self._check_documents(X)
        return self.classes_[self._scorer.rank(X, 1, parameters.count_threads(self)).classes[:, 0]]

    def rank(self, X: Any, n_best: int = 5, temperature: float = 0.0) -> Ranking:
        """Give the `n_best` best classes of each document (positions in `classes_`) and their scores, best first.

        With a positive temperature also the shares of a softmax of all scores divided by it.
        """
        X = self._check_documents(X)
        return self._scorer.rank(X, n_best, parameters.count_threads(self), temperature)

    @property
    def weights_(self) -> sparse.csr_array:
        """v_z w_z of every attribute (n_features_in_, n_attributes)."""
        check_is_fitted(self, "classes_")
        if isinstance(self._scorer, KernelScorer):
            raise AttributeError(
                f"{type(self).__name__} with kernel={self.kernel!r} has no weights of features (`weights_`, `coef_`): "
                "use `support_coef_` and `support_vectors_`, or a linear kernel"
            )
        return rows_to_csr(self._scorer.rows, self.attributes_.n_attributes)

    @property
    def coef_(self) -> sparse.csr_array:
        """One weight vector a class (n_classes, n_features_in_): the sum of its attributes'."""
        weights, paths = self.weights_, self.attributes_.paths
        shape = (len(self.classes_), weights.shape[1])
        members = sparse.csr_array((np.ones(len(paths.indices)), paths.indices, paths.indptr), shape=shape)
        return sparse.csr_array(members @ weights.T)

    # -- what fit, load and predict share --------------------------------------------------------------------

    def _make_solver(self, report: Callable[[Progress], None] | None) -> AscentSolver | PaperSolver:
        algorithm = parameters.check_choice(self, "solver", SOLVERS)
        if not callable(self.kernel) and self.kernel not in KERNELS:
            raise ParameterError(
                f"`kernel` of {type(self).__name__} must be one of {', '.join(map(repr, KERNELS))} "
                f"or a function of two matrices of documents, got {self.kernel!r}"
            )
        random_state = check_random_state(0 if self.random_state is None else self.random_state)
        n_threads = parameters.count_threads(self)
        settings: dict[str, Any] = {
            "tol": parameters.check_number(self, "tol", above=0),
            "max_iter": parameters.check_integer(self, "max_iter", least=1),
            "max_seconds": math.inf,
            "seed": int(random_state.randint(2**31 - 1)),
            "report": report,
        }
        if self.max_seconds is not None:
            settings["max_seconds"] = parameters.check_number(self, "max_seconds", above=0)
        if algorithm == "ascent" and self._is_linear():
            return AscentSolver(n_threads=n_threads, **settings)
        return PaperSolver("sweeps" if algorithm == "ascent" else algorithm, **settings)

    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _make_kernel(self, X: sparse.csr_array, dense: bool) -> DocumentKernel:
        """Check the kernel's parameters against the training documents; `dense` says how these were given."""
        if callable(self.kernel) or self.kernel == "linear":
            return DocumentKernel(self.kernel, dense=dense)
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise DocumentError(
                    f"X must be a square matrix of kernel values with kernel='precomputed', got shape {X.shape}"
                )
            largest = np.abs(X.data).max(initial=0.0)
            if abs(X - X.T).max() > 1e-5 * largest:
                raise DocumentError("X must be symmetric with kernel='precomputed', and K(x, x') is not K(x', x) in it")
            return DocumentKernel(self.kernel)
        if isinstance(self.gamma, str):
            parameters.check_choice(self, "gamma", ["scale"])
            gamma = scale_gamma(X)
        else:
            gamma = parameters.check_number(self, "gamma", above=0)
        degree = parameters.check_integer(self, "degree", least=1)
        return DocumentKernel(self.kernel, degree, gamma, parameters.check_number(self, "coef0", least=0))

    def _stopped_early(self) -> str:
        why, cure = {
            "max_iter": (f"after max_iter={self.max_iter} rounds", "raise max_iter, or accept a larger tol"),
            "max_seconds": (f"after max_seconds={self.max_seconds}", "raise max_seconds, or accept a larger tol"),
            "interrupted": ("when it was interrupted", "fit again to go on"),
        }[self.stopped_]
        reached = f"at a relative gap of {self.gap_:.3g}, short of tol={self.tol:g}"
        return f"{type(self).__name__} stopped {why} {reached}: {cure}"

    def _set_classes(self, taxonomy: Taxonomy) -> None:
        """Set what follows from taxonomy and classes: attributes and loss, as objects and as arrays."""
        self.taxonomy_ = taxonomy
        self._nodes = class_nodes(taxonomy, self.classes_)
        self._loss: Loss = make_loss(self.loss, taxonomy, [taxonomy.ids[v] for v in self._nodes])
        if self.node_weight == "flat" and not isinstance(self._loss, NodeLoss):
            bare = Taxonomy.flat(taxonomy.ids)  # nothing shared, and no loss that looks at the taxonomy
            self.attributes_: ClassAttributes = class_attributes(bare, self._nodes, "equal")
        else:
            self.attributes_ = class_attributes(taxonomy, self._nodes, self.node_weight)
        self._outputs = make_outputs(self.attributes_, self._loss)

    def _set_support(self, X: sparse.csr_array, codes: npt.NDArray[np.int64], kernel: DocumentKernel) -> None:
        """Take the dual variables as the model: weights where the kernel is linear, support documents elsewhere."""
        support = self.support_
        alpha = self.dual_coef_[support]
        own: Any = sparse.csr_array((alpha.sum(axis=1), (np.arange(len(support)), codes[support])), shape=alpha.shape)
        paths, n_attributes = self.attributes_.paths, self.attributes_.n_attributes
        members = sparse.csr_array(
            (self.attributes_.v2[paths.indices], paths.indices, paths.indptr), shape=(len(self.classes_), n_attributes)
        )
        # w_z takes v_z (Lambda_z(y_i) - Lambda_z(y)) / v_z alpha_iy x_i; parts that cancel leave dust: keep it out
        coefficients = sparse.csr_array((own - alpha) @ members)
        coefficients.data[np.abs(coefficients.data) < 1e-14 * np.abs(coefficients.data).max(initial=0.0)] = 0.0
        coefficients.eliminate_zeros()
        if self._is_linear():
            self._set_weights(_as_csr(X[support].astype(np.float64).T @ coefficients))
            return
        self.support_coef_ = coefficients
        if kernel.kind != "precomputed":
            self.support_vectors_ = X[support]
        documents = support if kernel.kind == "precomputed" else self.support_vectors_
        self._scorer = KernelScorer(kernel, documents, coefficients, self.attributes_)

    def _set_weights(self, u: sparse.csr_array) -> None:
        """Take weights v_z w_z (features by attributes) as if they had just been learnt."""
        self._scorer = Scorer(rows_from_csr(u, len(self._outputs.v2)), self._outputs)
        self.n_features_in_ = u.shape[0]

    def _check_documents(self, X: Any) -> sparse.csr_array:
        check_is_fitted(self, "classes_")
        settings: dict[str, Any] = {"accept_sparse": "csr", "accept_large_sparse": True, "reset": False}
        try:
            X = validate_data(self, X, dtype=[np.float64, np.float32], **settings)
        except ValueError as error:
            if self.__sklearn_tags__().input_tags.pairwise and "is expecting" in str(error):
                raise DocumentError(
                    f"{error}: with kernel='precomputed' X must have a kernel value with each of the "
                    f"{self.n_features_in_} documents that the model was fitted on"
                ) from None
            raise
        return _as_csr(X)


def _as_csr(X: Any) -> sparse.csr_array:
    """Give CSR in arrays that may be written to: kernels are compiled once, not once more for read-only arrays."""
    X = as_csr(X)
    data, indices, indptr = (a if a.flags.writeable else a.copy() for a in (X.data, X.indices, X.indptr))
    return sparse.csr_array((data, indices, indptr), shape=X.shape)
