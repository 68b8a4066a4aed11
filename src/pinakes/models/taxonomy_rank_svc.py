"""`TaxonomyRankSVC`: the hierarchical support vector machine for several labels a document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from pinakes.models import parameters
from pinakes.models.closed_outputs import writable_csr
from pinakes.models.joint_machine import JointMachine, solve_tiny_closely
from pinakes.models.label_set_model import LabelSetModel
from pinakes.models.labels import LabelMatrix
from pinakes.models.scoring import Scorer
from pinakes.models.weighting import sample_weights
from pinakes.solvers.ascent import AscentSolver, Progress, SolverResult
from pinakes.solvers.kernel_rows import DocumentKernel
from pinakes.solvers.pairs import Pairs, make_labels, split_pairs
from pinakes.solvers.papers import PaperResult, PaperSolver
from pinakes.solvers.problem import Problem

SLACKS = ("document", "pair")


class TaxonomyRankSVC(JointMachine, LabelSetModel):
    """Hierarchical support vector machine for label sets: ranks a document's labels before all other classes.

    Every class y is scored by summing over the nodes z on its way up, F(x, y) = sum of v_z <w_z, x>, and the w_z solve

        min 1/2 |w|^2 + C sum_i xi_i   s.t.  F(x_i, y) - F(x_i, ybar) >= 1 - xi_i / Delta(y, ybar),   xi >= 0
                                             for all labels y of document i and all other classes ybar

    so that the mean of xi bounds the mean of the largest loss Delta(y, ybar) over wrongly ordered pairs. With one label
    a document this is `TaxonomySVC`. Label sets are lists of labels or an indicator matrix, whose columns are the nodes
    of the taxonomy, or without one the classes 0, 1, …; odd ones are dealt with as `pinakes.models.label_set_model`
    says: a document without labels, or with all of them, has no pair to rank and only counts for the cut.

    Parameters
    ----------
    taxonomy : Taxonomy, path or None, default=None
        What relates the classes; labels are node ids. None: the classes are unrelated.
    C : float, default=1.0
        What a margin violation costs; the sum over documents counts, not the mean.
    loss : {"tree", "exact", "zero-one"}, NodeCosts or matrix, default="tree"
        Delta. A matrix has a row and a column for each of the classes, in sorted order.
    node_weight : {"normalized", "depth", "equal", "flat"} or mapping of id to v_z, default="normalized"
        How strongly a node is shared by what lies below it; see `pinakes.taxonomy.attributes.node_weights`.
        "flat" shares nothing.
    class_attributes : matrix (n_classes, n_attributes) or None, default=None
        What the classes have in common, instead of the taxonomy: Lambda, a row for each of the classes in sorted order.
    class_kernel : matrix (n_classes, n_classes), callable or None, default=None
        The same as similarities <Lambda(y), Lambda(y')>, or a function of two lists of labels that gives them.
    slack : {"document", "pair"}, default="document"
        Whether all pairs of a document share one slack, or each has its own: then the sum of losses of all wrongly
        ordered pairs is bounded, and documents with many labels count more. With thousands of classes "pair" is slow:
        nearly every pair of a label and another class is in the way at first.
    solver : {"ascent", "greedy", "joint", "exhaustive"}, default="ascent"
        The algorithm. All reach the same optimum. "ascent" is for work; "greedy" is Algorithm 1 of the 2007 paper, for
        small problems, and "joint" and "exhaustive" are its relatives from the papers before; see
        `pinakes.solvers.papers`.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        The kernel on documents, as in `TaxonomySVC`. Kernels that are not linear are for small problems.
    degree : int, default=3
        Of "poly".
    gamma : "scale" or float, default="scale"
        Of "poly" and "rbf"; "scale" stands for 1 / (n_features * variance of all values of X).
    coef0 : float, default=0.0
        Of "poly".
    cache_size : float, default=200
        MB for rows of the kernel matrix; not used by "ascent" with a linear kernel.
    cut : {"learned", "micro-f1", "macro-f1"}, int or float, default="learned"
        Where an answer ends: at a threshold learned as a linear function of the scores, at cut-offs with the best micro
        or macro F1 on held-out documents, after so many classes, or at a score.
    closed : bool, default=False
        Whether answers hold all ancestors too.
    implied : bool, default=True
        Whether a label that is an ancestor of another label of the same document is implied, and no label of its own.
    tol : float, default=0.01
        Stop when the duality gap is at most this share of the primal objective. "ascent" solves problems of at most a
        thousand documents times classes more closely.
    max_iter : int, default=1000
        Most rounds over all documents and classes. Where the solver is a paper's or the kernel is not linear, a round
        is as many steps as there are documents.
    max_seconds : float or None, default=None
        Stop learning after about so long, with what there is; None: no limit.
    n_jobs : int or None, default=None
        Threads; None: all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Fixes the order in which documents are visited; None stands for 0, so that runs repeat.

    Attributes
    ----------
    classes_ : ndarray
        The labels seen, sorted; of those given, without the ones that were always implied.
    columns_ : ndarray
        The labels behind the columns of an indicator matrix; elsewhere the same as `classes_`.
    taxonomy_ : Taxonomy
    nodes_ : ndarray
        The node of each class.
    form_ : {"single", "lists", "indicator"}
        How labels were given, and are answered.
    cut_ : Cut
        Where answers end.
    weights_ : sparse array (n_features_in_, n_attributes)
        v_z w_z of every attribute of `attributes_`; only with a linear kernel, as `coef_`.
    coef_ : sparse array (n_classes, n_features_in_)
        One weight vector a class: F(x, y) = <coef_[y], x>.
    attributes_ : ClassAttributes
        Which attributes each class has.
    pairs_ : Pairs
        The dual variables: alpha of each document, label and other class that have one, as arrays.
    dual_coef_ : sparse array (n_samples, n_classes)
        Their sums, what each document adds to each class: positive for its labels, negative for others.
    support_ : ndarray
        Which documents carry weight: the numbers of the rows that `dual_coef_` has entries in.
    support_vectors_, support_coef_ : sparse arrays
        These documents, and what each of them adds to each attribute; as in `TaxonomySVC`.
    primal_objective_, dual_objective_, gap_ : float
        Objectives at the end, and their difference relative to the primal one.
    n_iter_ : int
        Rounds made.
    stopped_ : {"converged", "max_iter", "max_seconds", "interrupted"}
        Why the solver stopped. Ctrl-C stops it too: what was learnt so far is kept, with a warning.
    history_ : tuple of Progress
        Objectives, gap and time after each round; of the first few rounds, and where time ran out, estimates.
    steps_ : Steps or None
        What happened at each step; None for "ascent" with a linear kernel.
    n_features_in_ : int

    References
    ----------
    L. Cai and T. Hofmann, Exploiting known taxonomies in learning overlapping concepts, IJCAI 2007.

    Examples
    --------
    >>> from pinakes import Taxonomy, TaxonomyRankSVC
    >>> t = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree", "plant/herb"])
    >>> X = [[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1], [1, 1, 0, 1]]
    >>> y = [["animal/cat"], ["animal/dog", "plant/herb"], ["plant/tree", "plant/herb"], ["animal/cat", "plant/tree"]]
    >>> m = TaxonomyRankSVC(t, C=10, cut=2).fit(X, y)
    >>> m.predict([[1, 0, 2, 0], [1, 1, 0, 2]])
    [['animal/dog', 'plant/herb'], ['animal/cat', 'plant/tree']]
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        C: float = 1.0,
        loss: Any = "tree",
        node_weight: Any = "normalized",
        class_attributes: Any = None,
        class_kernel: Any = None,
        slack: str = "document",
        solver: str = "ascent",
        kernel: Any = "linear",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        cache_size: float = 200,
        cut: Any = "learned",
        closed: bool = False,
        implied: bool = True,
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
        self.class_attributes = class_attributes
        self.class_kernel = class_kernel
        self.slack = slack
        self.solver = solver
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.cache_size = cache_size
        self.cut = cut
        self.closed = closed
        self.implied = implied
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        report: Callable[[Progress], None] | None = None,
    ) -> TaxonomyRankSVC:
        """Learn from documents `X` (CSR or dense, n_samples x n_features) and their label sets `y`.

        `sample_weight` multiplies C document by document; `report` is called after every round.
        """
        solver = self._make_solver(report)
        parameters.check_choice(self, "slack", SLACKS)
        dense = not sparse.issparse(X)
        X, labels = self._read_labels(y, X)
        weight = sample_weights(sample_weight, X)
        kernel = self._make_kernel(X, dense)
        self._set_outputs(self.taxonomy_, self.nodes_)
        self._learn(solver, kernel, X, labels, weight)
        self._fit_cut(X, labels, None if sample_weight is None else weight)
        return self

    @property
    def weights_(self) -> sparse.csr_array:
        """v_z w_z of every attribute (n_features_in_, n_attributes)."""
        check_is_fitted(self, "classes_")
        return self._all_weights()

    @property
    def coef_(self) -> sparse.csr_array:
        """One weight vector a class (n_classes, n_features_in_): the sum of its attributes'."""
        return sparse.csr_array(self.attributes_.matrix() @ self.weights_.T)

    def _learn(
        self,
        solver: AscentSolver | PaperSolver,
        kernel: DocumentKernel,
        X: Any,
        labels: LabelMatrix,
        weight: npt.NDArray[np.float64],
    ) -> None:
        """Solve the problem of these documents and take the result as the model; classes and attributes are set."""
        C = parameters.check_number(self, "C", above=0)
        for name in ("support_coef_", "support_vectors_"):  # of an earlier fit with another kernel
            self.__dict__.pop(name, None)
        n_samples, n_classes = labels.members.shape
        solve_tiny_closely(solver, n_samples * n_classes)
        n_labels = np.diff(labels.members.indptr)
        used = np.flatnonzero((weight > 0) & (n_labels > 0) & (n_labels < n_classes))  # others have no constraint
        part = slice(None) if len(used) == n_samples else used
        y = make_labels(sparse.csr_array(labels.members[part]), self._outputs, self.slack == "pair")
        problem = Problem(X[part], y, C * weight[part], self._outputs)
        result = self._solve(solver, kernel, problem, used) if len(used) else None
        self._set_pairs(result, used, (n_samples, n_classes))
        if isinstance(result, SolverResult):
            self._scorer = Scorer(result.rows, self._outputs)
            self.history_, self.steps_ = result.history, None
        else:
            self._set_support(X, self.dual_coef_[self.support_], kernel)
            self.history_ = (Progress(1, 0.0, 0.0, 0.0, 0.0),) if result is None else result.rounds
            self.steps_ = None if result is None else result.history
        self._set_course(self.history_[-1], "converged" if result is None else result.stopped)

    def _set_pairs(
        self, result: SolverResult | PaperResult | None, used: npt.NDArray[np.int64], shape: tuple[int, int]
    ) -> None:
        """Take over the dual variables; `used` are the documents that the solver had."""
        beta = sparse.coo_array((0, 0)) if result is None else result.beta.tocoo()
        label, other = split_pairs(beta.col, shape[1])
        alpha = beta.data * self._loss.pairs(self.nodes_[label], self.nodes_[other])
        document = used[beta.row]
        self.pairs_ = Pairs(document, label, other, alpha)
        both = np.concatenate([alpha, -alpha]), (np.tile(document, 2), np.concatenate([label, other]))
        self.dual_coef_ = sparse.csr_array(both, shape=shape)
        self.support_ = np.flatnonzero(np.diff(self.dual_coef_.indptr))

    def _scores(self, X: Any) -> npt.NDArray[np.float64]:
        dense = isinstance(self._scorer, Scorer) and isinstance(self._scorer.rows, np.ndarray)
        if dense != isinstance(X, np.ndarray):
            X = X.toarray() if dense else writable_csr(X)
        return np.asarray(self._scorer.scores(X, parameters.count_threads(self)), dtype=np.float64)

    def _documents(self, X: Any) -> Any:
        return self._laid_out(X)

    def _check_documents(self, X: Any) -> Any:
        try:
            return super()._check_documents(X)
        except ValueError as error:
            raise self._of_kernel_values(error) from None
