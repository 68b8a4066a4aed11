"""`CoupledSVC`: one binary support vector machine a category, with the weights of common ancestors shared."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pinakes.errors import ConvergenceWarning
from pinakes.kernels import ranking
from pinakes.kernels.rows import rows_from_csr
from pinakes.models import parameters
from pinakes.models.closed_outputs import writable_csr
from pinakes.models.label_set_model import LabelSetModel, closed_upward
from pinakes.models.scoring import NO_LOSS, Scorer
from pinakes.models.weighting import sample_weights
from pinakes.solvers.ascent import Progress, SolverResult
from pinakes.solvers.coupled import CoupledProblem, CoupledSolver
from pinakes.solvers.problem import make_outputs
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.attributes import ClassAttributes, class_attributes

LOSSES = ("squared_hinge", "hinge")
TARGETS = ("categories", "nodes")
DENSE_ABOVE = 0.5  # share of values that are not 0 above which documents are taken as a matrix
RAREST = 1e-9  # share of documents
TINY, CLOSE = 1000, 1e-10  # so few documents times classes are solved so closely, whatever `tol`: it costs nothing


class CoupledSVC(LabelSetModel):
    """Coupled binary support vector machines: any number of labels a document, classes in a taxonomy.

    Every class r asks whether a document belongs to it, y_ir = 1, or not, y_ir = -1. It is scored by summing over the
    nodes z on its way up, F(x, r) = sum of v_z <w_z, x>, and the w_z of all classes solve together

        min 1/2 |w|^2 + C sum_i sum_r L(1 - y_ir F(x_i, r))        L(t) = max(0, t)^2 or max(0, t)

    so that a rare class borrows from its ancestors. With `node_weight="flat"`, or without a taxonomy, these are the
    one-vs-rest SVMs of LIBLINEAR. A score above 0 says that the document belongs to the class.

    Most classes are beyond the margin, F < -1, where the SVM does not care how far; there frequency knows better which
    class is the less unlikely one. So `decision_function` and `rank` give scores that are lowered by

        prior * log(n / n_r) * h(F)        h(F) = 0 for F >= -0.9, 1 for F <= -1.1, and a straight line between them

    where n_r of n training documents have the label r. This orders what is far from being an answer, and so lowers the
    ranking loss where classes are many; the answers of `predict` stay as they are.

    Parameters
    ----------
    taxonomy : Taxonomy, path or None, default=None
        What relates the classes; labels are ids of any of its nodes. None: the classes are unrelated.
    C : float, default=1.0
        What a margin violation costs; the sum over documents and classes counts, not the mean.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        L.
    node_weight : {"normalized", "depth", "equal", "flat"} or mapping of id to v_z, default="normalized"
        How strongly a node is shared by what lies below it; see `pinakes.taxonomy.attributes.node_weights`.
        "flat" shares nothing.
    prior : float, default=0.1
        How much frequency counts beyond the margin; 0: scores are the plain F.
    targets : {"categories", "nodes"}, default="categories"
        What has a binary problem: every label that was seen, or every node at or above one, with label sets closed
        upward, so that a node's problem is whether a document belongs at or below it.
    fit_intercept : bool, default=True
        Whether every class has a bias: a constant feature of the value `intercept_scaling`, learnt and regularised as
        all others are (as LIBLINEAR does), by taxonomy node too.
    intercept_scaling : float, default=1.0
        The larger it is, the less the bias is regularised.
    cut : {"learned", "micro-f1", "macro-f1"}, int or float, default="learned"
        Where label sets end: a threshold learnt as a linear function of the scores, one cut-off or one for each class
        with the best F1, so many best classes, or that score (0.0: what the binary problems say).
    closed : bool, default=False
        Whether answers hold all ancestors of their labels too.
    implied : bool, default=True
        Whether a label above another label of the same document is implied by that, and none of its own.
    tol : float, default=0.01
        Stop when the duality gap is at most this share of the primal objective. Problems of at most a thousand
        documents times classes are solved more closely, so that their answers do not depend on the order of documents.
    max_iter : int, default=1000
        Most rounds over all documents and classes.
    max_seconds : float or None, default=None
        Stop learning after about so long, with what there is; None: no limit.
    n_jobs : int or None, default=None
        Threads; None: all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Fixes the order in which documents are visited; None stands for 0, so that runs repeat.

    Attributes
    ----------
    classes_ : ndarray
        The labels seen, sorted.
    columns_ : ndarray
        The labels behind the columns of an indicator matrix; elsewhere the same as `classes_`.
    taxonomy_ : Taxonomy
    nodes_ : ndarray of int
        The node of each class.
    columns_ : ndarray
        The labels behind the columns of an indicator matrix; else as `classes_`.
    form_ : {"single", "lists", "indicator"}
        How labels were given, and are given back.
    cut_ : Cut
        Where label sets end.
    weights_ : sparse array (n_features_in_, n_attributes)
        v_z w_z of every attribute of `attributes_`.
    attributes_ : ClassAttributes
        Which attributes each class has.
    coef_ : sparse array (n_classes, n_features_in_)
        One weight vector a class: the sum of its attributes'.
    intercept_ : ndarray (n_classes,)
        The bias of each class; 0 without `fit_intercept`. F(x, r) = <coef_[r], x> + intercept_[r].
    rarity_ : ndarray (n_classes,)
        What each class loses beyond the margin: prior * log(n / n_r), by weight.
    dual_coef_ : sparse array (n_samples, n_targets)
        y_ir alpha_ir; the first columns are those of `classes_`, others, where `targets` is "nodes", of nodes above.
        The weights are those of these, but for the bias, which is the mean over the last round where documents are
        many.
    primal_objective_, dual_objective_, gap_ : float
        Objectives at the end, and their difference relative to the primal one.
    n_iter_ : int
        Rounds made.
    stopped_ : {"converged", "max_iter", "max_seconds", "interrupted"}
        Why the solver stopped. Ctrl-C stops it too: what was learnt so far is kept, with a warning.
    history_ : tuple of Progress
        Objectives, gap and time after each round; estimates where the gap was not small yet.
    n_features_in_ : int

    References
    ----------
    L. Cai and T. Hofmann, Hierarchical document categorization with support vector machines, CIKM 2004, section 2.5.
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan, A dual coordinate descent method for
    large-scale linear SVM, ICML 2008.

    Examples
    --------
    >>> from pinakes import CoupledSVC, Taxonomy
    >>> t = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1]]
    >>> sets = [["animal/cat"], ["animal/dog"], ["plant/tree"], ["animal/cat", "plant/tree"]]
    >>> m = CoupledSVC(t, C=10, cut=0.0).fit(X, sets)
    >>> m.predict([[1, 2, 0], [0, 1, 2]])
    [['animal/cat'], ['animal/cat', 'plant/tree']]
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        node_weight: Any = "normalized",
        prior: float = 0.1,
        targets: str = "categories",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
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
        self.prior = prior
        self.targets = targets
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.cut = cut
        self.closed = closed
        self.implied = implied
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        report: Callable[[Progress], None] | None = None,
    ) -> CoupledSVC:
        """Learn from documents `X` and their labels `y`: one each, a list each, or an indicator matrix.

        A document without labels belongs to no class. `sample_weight` multiplies C document by document; `report` is
        called after every round.
        """
        solver = self._make_solver(report)
        C = parameters.check_number(self, "C", above=0)
        squared = parameters.check_choice(self, "loss", LOSSES) == "squared_hinge"
        X, labels = self._read_labels(y, X)
        weight = sample_weights(sample_weight, X)
        prior = parameters.check_number(self, "prior", least=0)
        share = (labels.members.T @ weight) / max(float(weight.sum()), RAREST)
        self.rarity_ = -prior * np.log(np.maximum(share, RAREST))
        self._set_attributes()
        Y = self._target_labels(labels.members)
        if Y.shape[0] * Y.shape[1] <= TINY:
            solver.tol = min(solver.tol, CLOSE)
        used = np.flatnonzero(weight > 0)  # a document of no weight has no say
        part = slice(None) if len(used) == len(weight) else used
        outputs = make_outputs(self._all_attributes, NO_LOSS)
        problem = CoupledProblem(
            self._with_constant(X)[part], Y[part], C * weight[part], outputs, squared, bool(self.fit_intercept)
        )
        self._take(solver.solve(problem), Y, used)
        right = sparse.csr_array(Y[:, : len(self.classes_)])  # of nodes, those above a label too
        self._fit_cut(X, labels, None if sample_weight is None else weight, right)
        return self

    @property
    def weights_(self) -> sparse.csr_array:
        """v_z w_z of every attribute (n_features_in_, n_attributes)."""
        return self._all_weights()[: self.n_features_in_]

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """The bias of each class (n_classes,)."""
        weights = self._all_weights()
        if weights.shape[0] == self.n_features_in_:
            return np.zeros(len(self.classes_))
        by_attribute = weights[[-1]].toarray()[0].astype(np.float64) * self.intercept_scaling
        return self.attributes_.path_sums(by_attribute)

    @property
    def coef_(self) -> sparse.csr_array:
        """One weight vector a class (n_classes, n_features_in_): the sum of its attributes'."""
        return sparse.csr_array(self.attributes_.matrix() @ self.weights_.T)

    # -- what fit, load and predict share --------------------------------------------------------------------

    def _make_solver(self, report: Callable[[Progress], None] | None) -> CoupledSolver:
        random_state = check_random_state(0 if self.random_state is None else self.random_state)
        limit = math.inf if self.max_seconds is None else parameters.check_number(self, "max_seconds", above=0)
        return CoupledSolver(
            tol=parameters.check_number(self, "tol", above=0),
            max_iter=parameters.check_integer(self, "max_iter", least=1),
            max_seconds=limit,
            n_threads=parameters.count_threads(self),
            seed=int(random_state.randint(2**31 - 1)),
            report=report,
        )

    def _set_attributes(self) -> None:
        """Set what follows from taxonomy and classes: the nodes that have a problem, and what these share."""
        nodes = self.nodes_.astype(np.int64)
        if parameters.check_choice(self, "targets", TARGETS) == "nodes":
            up = self.taxonomy_.ancestors
            above = np.unique(np.concatenate([up.of(int(v)) for v in nodes]))
            nodes = np.concatenate([nodes, np.setdiff1d(above, nodes)])
        self._targets = nodes
        taxonomy, node_weight = self.taxonomy_, self.node_weight
        if isinstance(node_weight, str) and node_weight == "flat":
            taxonomy, node_weight = Taxonomy.flat(taxonomy.ids), "equal"
            nodes = np.array([taxonomy.index(self.taxonomy_.ids[v]) for v in nodes])
        self._all_attributes = class_attributes(taxonomy, nodes.astype(np.int32), node_weight, differences=False)
        self.attributes_: ClassAttributes = self._all_attributes
        if len(nodes) > len(self.nodes_):
            self.attributes_ = self._all_attributes.restricted(np.arange(len(self.nodes_)))[0]

    def _target_labels(self, members: sparse.csr_array) -> sparse.csr_array:
        """Give which document belongs to which target: its labels, or for nodes everything above them too."""
        if self.targets == "categories":
            return members
        shape = (members.shape[0], len(self.taxonomy_))
        by_node = sparse.csr_array((members.data, self.nodes_[members.indices], members.indptr), shape=shape)
        Y = sparse.csr_array(closed_upward(by_node, self.taxonomy_)[:, self._targets])
        Y.sort_indices()
        return Y

    def _take(self, result: SolverResult, Y: sparse.csr_array, used: npt.NDArray[np.int64]) -> None:
        """Take the result as the model; `used` are the documents that the solver had."""
        scorer = Scorer(result.rows, make_outputs(self._all_attributes, NO_LOSS))
        some = np.arange(len(self.classes_))
        self._scorer = scorer if len(some) == len(self._targets) else scorer.part(some, self._all_attributes)
        alpha = result.beta.tocoo()
        dual = sparse.csr_array((alpha.data, (used[alpha.row], alpha.col)), shape=Y.shape)
        signs = sparse.csr_array((np.full(Y.nnz, 2.0), Y.indices, Y.indptr), shape=Y.shape)
        self.dual_coef_ = sparse.csr_array(dual.multiply(signs) - dual)
        self.history_ = result.history
        last = result.last
        self.primal_objective_, self.dual_objective_ = last.p_obj, last.d_obj
        self.gap_, self.n_iter_ = last.gap, last.n_iter
        near = result.stopped == "max_iter" and self.gap_ <= self.tol
        self.stopped_ = "converged" if near else result.stopped
        if self.stopped_ != "converged":
            warnings.warn(self._stopped_early(), ConvergenceWarning, stacklevel=3)

    def _stopped_early(self) -> str:
        why, cure = {
            "max_iter": (f"after max_iter={self.max_iter} rounds", "raise max_iter, or accept a larger tol"),
            "max_seconds": (f"after max_seconds={self.max_seconds}", "raise max_seconds, or accept a larger tol"),
            "interrupted": ("when it was interrupted", "fit again to go on"),
        }[self.stopped_]
        reached = f"at a relative gap of {self.gap_:.3g}, short of tol={self.tol:g}"
        return f"{type(self).__name__} stopped {why} {reached}: {cure}"

    def _all_weights(self) -> sparse.csr_array:
        """v_z w_z of every attribute, features and then the constant by attributes."""
        check_is_fitted(self, "classes_")
        return self._scorer.weights(self.attributes_.n_attributes)

    def _set_weights(self, u: sparse.csr_array) -> None:
        """Take weights as `_all_weights` gives them, as if they had just been learnt; attributes are set."""
        outputs = make_outputs(self.attributes_, NO_LOSS)
        self._scorer = Scorer(rows_from_csr(u, len(outputs.v2)), outputs)
        self.n_features_in_ = u.shape[0] - bool(self.fit_intercept)

    def _scores(self, X: Any) -> npt.NDArray[np.float64]:
        dense = isinstance(self._scorer.rows, np.ndarray)
        if dense != isinstance(X, np.ndarray):
            X = X.toarray() if dense else writable_csr(X)
        scores = self._scorer.scores(self._with_constant(X), parameters.count_threads(self))
        return np.asarray(scores, dtype=np.float64)

    def _ranked(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        ranking.lower_rare(scores, self.rarity_)
        return scores

    def _documents(self, X: Any) -> Any:
        """Give documents as CSR, or as a matrix where most values are not 0."""
        n_entries = np.count_nonzero(X) if isinstance(X, np.ndarray) else X.nnz
        if n_entries <= DENSE_ABOVE * X.shape[0] * X.shape[1]:
            return writable_csr(X)
        return np.ascontiguousarray(X if isinstance(X, np.ndarray) else X.toarray())

    def _with_constant(self, X: Any) -> Any:
        """Append the constant feature to documents, where there is a bias."""
        if not self.fit_intercept:
            return X
        scaling = parameters.check_number(self, "intercept_scaling", above=0)
        constant: Any = np.full((X.shape[0], 1), scaling, dtype=X.dtype)
        if isinstance(X, np.ndarray):
            return np.hstack([X, constant])
        return writable_csr(sparse.hstack([X, sparse.csr_array(constant)], format="csr"))
