"""`TaxonomySVC`: the hierarchical support vector machine for one label a document."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from pinakes.errors import LabelError, ParameterError
from pinakes.kernels.rows import Rows, rows_from_csr
from pinakes.models import parameters
from pinakes.models.classes import check_one_each, check_one_kind, check_targets, class_nodes, resolve_taxonomy
from pinakes.models.closed_outputs import writable_csr
from pinakes.models.continuation import Beginning, Seen, begin_after, carry_over, widen_classes
from pinakes.models.joint_machine import JointMachine, solve_tiny_closely
from pinakes.models.kernel_scoring import KernelScorer
from pinakes.models.scoring import Ranking, Scorer
from pinakes.models.weighting import class_weights, sample_weights
from pinakes.solvers.ascent import DOUBLE_BELOW, AscentSolver, Progress, SolverResult, Start
from pinakes.solvers.kernel_rows import DocumentKernel
from pinakes.solvers.papers import PaperSolver
from pinakes.solvers.problem import Problem, divisors
from pinakes.taxonomy import Taxonomy

MOST_SUBTREES = 8  # that are kept ready for scoring


def _goes_on(model: TaxonomySVC) -> bool:
    """Whether a model has `partial_fit`."""
    if model.solver == "ascent" and model._is_linear():
        return True
    raise AttributeError("`partial_fit` needs solver='ascent' and kernel='linear'; use `fit` on all documents")


class TaxonomySVC(JointMachine, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Hierarchical support vector machine: one label a document, classes in a taxonomy, learnt jointly.

    Every class y is scored by summing over the nodes z on its way up, F(x, y) = sum of v_z <w_z, x>, and the w_z solve

        min 1/2 |w|^2 + C sum_i xi_i   s.t.  F(x_i, y_i) - F(x_i, y) >= 1 - xi_i / Delta(y_i, y) for all y,  xi >= 0

    so that a rare class borrows from its ancestors, and a mistake counts by how far it leads astray. With
    `hinge="squared"` it is the sum of xi_i^2 that counts, and the root of Delta that divides xi_i.

    Parameters
    ----------
    taxonomy : Taxonomy, path or None, default=None
        What relates the classes; labels are node ids. None: the classes are unrelated, a flat multiclass SVM.
    C : float, default=0.5
        What a margin violation costs; the sum over documents counts, not the mean.
    loss : {"tree", "exact", "zero-one"}, NodeCosts or matrix, default="tree"
        Delta. "exact" is "tree" with a tenth of the cost for nodes that are no classes: exact hits count for more. A
        matrix has a row and a column for each of the classes, in sorted order.
    hinge : {"linear", "squared"}, default="linear"
        How margin violations add up. "linear" is the papers'; "squared" is often a little better: try C around 0.3.
    node_weight : {"normalized", "depth", "equal", "flat"} or mapping of id to v_z, default="normalized"
        How strongly a node is shared by what lies below it; see `pinakes.taxonomy.attributes.node_weights`.
        "flat" shares nothing.
    class_attributes : matrix (n_classes, n_attributes) or None, default=None
        What the classes have in common, instead of the taxonomy: Lambda, a row for each of the classes in sorted order.
    class_kernel : matrix (n_classes, n_classes), callable or None, default=None
        The same as similarities <Lambda(y), Lambda(y')>, or a function of two lists of labels that gives them. Must be
        positive semi-definite.
    class_weight : {"balanced"}, mapping of label to weight, or None, default=None
        Multiplies C for the documents of a class; a label that is not named counts 1. "balanced": every class counts
        the same in sum, n_samples / (n_classes * documents of the class).
    fit_intercept : bool, default=False
        Whether every class has a bias: a constant feature of the value `intercept_scaling`, learnt and regularised as
        all others are (as LIBLINEAR does), by taxonomy node too.
    intercept_scaling : float, default=1.0
        The larger it is, the less the bias is regularised.
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
    keep_documents : bool, default=False
        Whether `partial_fit` may change what it learnt from earlier documents. The estimator then holds all documents
        it has seen.
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
    intercept_ : ndarray (n_classes,)
        The bias of each class; 0 without `fit_intercept`. F(x, y) = <coef_[y], x> + intercept_[y].
    dual_coef_ : sparse array (n_samples, n_classes)
        alpha_iy, of the documents of the last `fit` or `partial_fit`, and with `keep_documents` of all.
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
        C: float = 0.5,
        loss: Any = "tree",
        hinge: str = "linear",
        node_weight: Any = "normalized",
        class_attributes: Any = None,
        class_kernel: Any = None,
        class_weight: Any = None,
        fit_intercept: bool = False,
        intercept_scaling: float = 1.0,
        solver: str = "ascent",
        kernel: Any = "linear",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        cache_size: float = 200,
        tol: float = 1e-2,
        max_iter: int = 1000,
        max_seconds: float | None = None,
        keep_documents: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.hinge = hinge
        self.node_weight = node_weight
        self.class_attributes = class_attributes
        self.class_kernel = class_kernel
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.cache_size = cache_size
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.keep_documents = keep_documents
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
        solver = self._make_solver(report)
        X, y, weight, dense = self._check_training(X, y, sample_weight)
        kernel = self._make_kernel(X, dense, self._constant())
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ParameterError(
                f"{type(self).__name__} needs at least 2 classes, got the 1 class {str(self.classes_[0])!r} only"
            )
        self._set_classes(resolve_taxonomy(self.taxonomy, self.classes_))
        self._learn(solver, kernel, X, codes, weight)
        self._seen = Seen(X, y, weight, self.dual_coef_) if self.keep_documents else None
        return self

    @available_if(_goes_on)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        report: Callable[[Progress], None] | None = None,
    ) -> TaxonomySVC:
        """Go on learning with more documents, at the cost of these alone; a first call is a `fit`.

        The problem is that of all documents ever seen. Its dual is climbed further: the variables of the new documents
        are found, those of earlier ones stay as they are, so that

            min 1/2 |w - w_old|^2 + sum over new documents of C_i xi_i

        With `keep_documents` the earlier ones move too, and the optimum for all documents is reached, at about the cost
        of a fit to all of them from a good beginning. A model from a file, and one that was fitted without
        `keep_documents`, goes on from its weights.

        `classes` are labels to know beyond those of `y`. Labels that come up later join then: what was learnt for the
        nodes above them is theirs at once. Needs the solver "ascent" and a linear kernel.
        """
        solver = self._make_solver(report)
        assert isinstance(solver, AscentSolver)
        if isinstance(self.class_weight, str):
            raise ParameterError(
                f"`class_weight`={self.class_weight!r} counts all documents, which `partial_fit` does not see; give a "
                "mapping of labels to weights"
            )
        before = dict(self.__dict__)
        try:
            return self._go_on(solver, X, y, classes, sample_weight)
        except Exception:
            self.__dict__ = before
            raise

    def _go_on(self, solver: AscentSolver, X: Any, y: Any, classes: Any, sample_weight: Any) -> TaxonomySVC:
        first = not hasattr(self, "classes_")
        if not first:
            self._check_settled()
        X, y, weight, dense = self._check_training(X, y, sample_weight, reset=first)
        known = [y, *([] if classes is None else [np.atleast_1d(classes)]), *([] if first else [self.classes_])]
        check_one_kind(known)
        labels = np.unique(np.concatenate(known))
        if len(labels) < 2:
            raise ParameterError(
                f"{type(self).__name__} needs at least 2 classes, got the 1 class {str(labels[0])!r} only; name those "
                "to come with `classes`"
            )
        n_new, begin, seen = len(y), None, None
        if first or self._seen is None or not self.keep_documents:
            empty = sparse.csr_array((n_new, len(labels)))
            seen = Seen(X, y, weight, empty)
        else:
            seen = self._seen.more(X, y, weight)
        if first:
            self.classes_ = labels
            self._set_classes(resolve_taxonomy(self.taxonomy, labels))
        else:
            weights, alpha = self._all_weights(), seen.alpha
            self._check_constant(X)
            if len(labels) > len(self.classes_):
                if self.attributes_.values is not None:
                    raise ParameterError(
                        "with `class_attributes` or `class_kernel` all classes must be known from the first call: name "
                        "them with `classes`"
                    )
                old = self.taxonomy_, self.attributes_, self.classes_
                taxonomy = self.taxonomy_ if self.taxonomy is not None else resolve_taxonomy(None, labels)
                self.classes_ = labels
                self._set_classes(taxonomy)
                weights = carry_over(weights, old, (self.taxonomy_, self.attributes_, labels))
                if alpha.shape[1] < len(labels):
                    alpha = widen_classes(alpha, old[2], labels)
            begin = Beginning(weights, alpha)
        self._learn(
            solver,
            self._make_kernel(X, dense, self._constant()),
            seen.X,
            np.searchsorted(labels, seen.y),
            seen.weight,
            begin,
        )
        self._seen = seen._replace(alpha=self.dual_coef_) if self.keep_documents else None
        return self

    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """Give the scores F(x, y) of all classes; with two classes only the difference, as scikit-learn does."""
        X = self._check_documents(X)
        scores = self._scorer.scores(X, parameters.count_threads(self))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any, below: str | None = None) -> npt.NDArray[Any]:
        """Give the best class of each document; with `below`, the best one at or below that node."""
        best = self.rank(X, 1, below=below).classes[:, 0]
        return self.classes_[best]

    def rank(self, X: Any, n_best: int = 5, temperature: float = 0.0, below: str | None = None) -> Ranking:
        """Give the `n_best` best classes of each document (positions in `classes_`) and their scores, best first.

        With a positive temperature also the shares of a softmax of all scores divided by it. With `below`, the id of a
        node, only classes at or below that node are scored, at the cost of these, and shares are among them.
        """
        parameters.check_ranking(n_best, temperature)
        X = self._check_documents(X)
        n_threads = parameters.count_threads(self)
        if below is None:
            return self._scorer.rank(X, n_best, n_threads, temperature)
        classes, scorer = self._below(below)
        found = scorer.rank(X, n_best, n_threads, temperature)
        return found._replace(classes=classes[found.classes].astype(np.int32))

    @property
    def weights_(self) -> sparse.csr_array:
        """v_z w_z of every attribute (n_features_in_, n_attributes)."""
        check_is_fitted(self, "classes_")
        weights = self._all_weights()
        return weights[: self.n_features_in_] if self._has_constant() else weights

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """The bias of each class (n_classes,)."""
        check_is_fitted(self, "classes_")
        if not self.fit_intercept:
            return np.zeros(len(self.classes_))
        if isinstance(self._scorer, KernelScorer):
            by_attribute = np.asarray(self.support_coef_.sum(axis=0), dtype=np.float64) * self.intercept_scaling**2
        else:
            by_attribute = self._all_weights()[[-1]].toarray()[0].astype(np.float64) * self.intercept_scaling
        return self.attributes_.path_sums(by_attribute)

    @property
    def coef_(self) -> sparse.csr_array:
        """One weight vector a class (n_classes, n_features_in_): the sum of its attributes'."""
        check_is_fitted(self, "classes_")
        return sparse.csr_array(self.attributes_.matrix() @ self.weights_.T)

    # -- what fit, load and predict share --------------------------------------------------------------------

    def _check_training(
        self, X: Any, y: Any, sample_weight: Any, reset: bool = True
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[np.float64], bool]:
        """Check documents to learn from; give them with their constant, and whether they were dense."""
        settings: dict[str, Any] = {"accept_sparse": "csr", "accept_large_sparse": True, "reset": reset}
        check_one_each(y, type(self).__name__)
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], **settings)
        dense = not sparse.issparse(X)
        X = self._laid_out(X)
        check_targets(y)
        weight = sample_weights(sample_weight, X)
        return self._with_constant(X), y, weight, dense

    def _learn(
        self,
        solver: AscentSolver | PaperSolver,
        kernel: DocumentKernel,
        X: sparse.csr_array,
        codes: npt.NDArray[Any],
        weight: npt.NDArray[np.float64],
        begin: Beginning | None = None,
    ) -> None:
        """Solve the problem of these documents and take the result as the model; classes and attributes are set."""
        C = parameters.check_number(self, "C", above=0)
        for name in ("dual_coef_", "support_coef_", "support_vectors_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._subtrees: dict[str, tuple[npt.NDArray[np.int64], Scorer | KernelScorer]] = {}
        solve_tiny_closely(solver, len(codes) * len(self.classes_))
        weight = weight * class_weights(self.class_weight, self.classes_, codes, weight, self.taxonomy_)[codes]
        used = np.flatnonzero(weight > 0)  # a document of no weight has no constraint
        if len(used) == 0:
            raise ParameterError(f"`class_weight` of {type(self).__name__} leaves no document with a weight above 0")
        part = slice(None) if len(used) == len(codes) else used
        problem = Problem(X[part], codes[part].astype(np.int32), C * weight[part], self._outputs)
        start = None
        if begin is not None and isinstance(solver, AscentSolver):
            start = self._start(begin, problem, used, solver.tol)
        result = self._solve(solver, kernel, problem, used, start)

        self._dual = result.beta, used, codes, self._nodes, self._loss, self._outputs.squared
        self.support_ = used[np.diff(result.beta.indptr) > 0]
        if isinstance(result, SolverResult):
            self._scorer = Scorer(result.rows, self._outputs)
            self.history_, self.steps_ = result.history, None
        else:
            alpha = self.dual_coef_[self.support_]
            place = np.arange(len(self.support_)), codes[self.support_]
            own: Any = sparse.csr_array((alpha.sum(axis=1), place), shape=alpha.shape)
            self._set_support(X, own - alpha, kernel)
            self.history_, self.steps_ = result.rounds, result.history
        self._set_course(result.last, result.stopped)

    @cached_property
    def dual_coef_(self) -> sparse.csr_array:
        """Alpha of every document and class, made when asked for."""
        check_is_fitted(self, "classes_")
        if not hasattr(self, "_dual"):
            raise AttributeError(
                "a model from a file has no `dual_coef_`: it belongs to the documents of the last `fit`"
            )
        betas, used, codes, nodes, loss, squared = self._dual
        beta = betas.tocoo()
        alpha = beta.data * divisors(loss, squared, nodes[codes[used[beta.row]]], nodes[beta.col])
        return sparse.csr_array((alpha, (used[beta.row], beta.col)), shape=(len(codes), len(nodes)))

    def _fit_known(
        self,
        X: sparse.csr_array,
        codes: npt.NDArray[Any],
        classes: npt.NDArray[Any],
        taxonomy: Taxonomy,
        weight: npt.NDArray[np.float64],
        *,
        previous: TaxonomySVC | None = None,
        report: Callable[[Progress], None] | None = None,
    ) -> None:
        """Fit to checked documents of known classes, from where a model of them with other settings ended."""
        solver = self._make_solver(report)
        self.classes_, self.n_features_in_ = classes, X.shape[1]
        self._set_classes(taxonomy)
        X = self._with_constant(self._laid_out(X))
        begin = None if previous is None else begin_after(previous, self)
        self._learn(solver, self._make_kernel(X, False, self._constant()), X, codes, weight, begin)
        self._seen = None

    def _start(self, begin: Beginning, problem: Problem, used: npt.NDArray[np.int64], tol: float) -> Start:
        """Lay out a beginning for the solver; where a budget has become smaller, all of it is scaled down to fit."""
        rows = begin.weights
        if not isinstance(rows, Rows):
            kind = np.float64 if tol < DOUBLE_BELOW else np.float32
            rows = rows_from_csr(rows.astype(kind, copy=False), len(self._outputs.v2))
        alpha = begin.alpha[used].tocoo()
        squared = problem.outputs.squared
        delta = divisors(self._loss, squared, self._nodes[problem.y[alpha.row]], self._nodes[alpha.col])
        beta = sparse.csr_array((begin.scale * alpha.data / delta, (alpha.row, alpha.col)), shape=alpha.shape)
        over = 1.0 if squared else float((np.asarray(beta.sum(axis=1)) / problem.C).max(initial=1.0))
        beta.data /= over
        return Start(rows, beta, begin.scale / over)

    def _set_classes(self, taxonomy: Taxonomy) -> None:
        """Set what follows from taxonomy and classes: attributes and loss, as objects and as arrays."""
        self.taxonomy_, self._nodes = taxonomy, class_nodes(taxonomy, self.classes_)
        self._set_outputs(taxonomy, self._nodes)

    def _set_weights(self, u: sparse.csr_array) -> None:
        super()._set_weights(u)
        self._subtrees, self._seen = {}, None
        self.n_features_in_ -= self._has_constant()

    def _below(self, node: str) -> tuple[npt.NDArray[np.int64], Scorer | KernelScorer]:
        """Give the classes at or below a node, and what scores them; the last few are kept."""
        if node not in self._subtrees:
            inside = self.taxonomy_.descendants.of(self.taxonomy_.index(str(node)))
            classes = np.flatnonzero(np.isin(self._nodes, inside))
            if len(classes) == 0:
                raise LabelError(f"no category that the model knows lies at or below {node!r}; choose a node above it")
            while len(self._subtrees) >= MOST_SUBTREES:
                self._subtrees.pop(next(iter(self._subtrees)))
            if isinstance(self._scorer, KernelScorer):
                self._subtrees[node] = classes, self._scorer.part(classes)
            else:
                self._subtrees[node] = classes, self._scorer.part(classes, self.attributes_)
        return self._subtrees[node]

    def _constant(self) -> float:
        """What the bias adds to every kernel value; where the kernel is linear, it is a feature instead."""
        if not self.fit_intercept or self._is_linear():
            return 0.0
        return parameters.check_number(self, "intercept_scaling", above=0) ** 2

    def _has_constant(self) -> bool:
        return bool(self.fit_intercept) and self._is_linear()

    def _with_constant(self, X: Any) -> Any:
        """Append the constant feature to documents, where there is a bias."""
        if not self._has_constant():
            return X
        scaling = parameters.check_number(self, "intercept_scaling", above=0)
        constant: Any = np.full((X.shape[0], 1), scaling, dtype=X.dtype)
        if isinstance(X, np.ndarray):
            return np.hstack([X, constant])
        constant = sparse.csr_array(constant)
        both: Any = sparse.hstack([X, constant], format="csr")
        return writable_csr(both)

    def _check_documents(self, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        settings: dict[str, Any] = {"accept_sparse": "csr", "accept_large_sparse": True, "reset": False}
        try:
            X = validate_data(self, X, dtype=[np.float64, np.float32], **settings)
        except ValueError as error:
            raise self._of_kernel_values(error) from None
        dense = isinstance(self._scorer, Scorer) and isinstance(self._scorer.rows, np.ndarray)
        X = self._with_constant(X if dense else writable_csr(X))
        self._check_constant(X)
        return X

    def _check_constant(self, X: Any) -> None:
        """Check that documents with their constant feature are as wide as those that the weights were learnt from."""
        if isinstance(self._scorer, Scorer) and X.shape[1] != self._scorer.n_features:
            raise ParameterError(
                f"`fit_intercept` of {type(self).__name__} was changed after the fit: "
                f"set it back to {not self.fit_intercept}, or fit again"
            )
