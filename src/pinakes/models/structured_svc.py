"""`StructuredSVC`: the structural support vector machine over closed sets of nodes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from pinakes.errors import ConvergenceWarning, ParameterError
from pinakes.kernels.structured import Costs
from pinakes.models import parameters
from pinakes.models.closed_outputs import ClosedOutputModel
from pinakes.solvers.ascent import Progress
from pinakes.solvers.structured import StructuredSolver
from pinakes.taxonomy.loss import MatrixLoss, NodeCosts, NodeLoss, make_loss

TINY, CLOSE = 1000, 1e-10  # so few documents times nodes are solved so closely, whatever `tol`: it costs nothing


class StructuredSVC(ClosedOutputModel):
    """Structural support vector machine over a tree: any number of labels a document, any depth.

    Answers are sets of nodes, closed upward. With Phi(x, z) = x (x) z, z_v = +1 inside and -1 outside, solves

        min 1/2 |w|^2 + C sum_i xi_i   s.t.  <w, Phi(x_i, y_i) - Phi(x_i, z)> >= Delta(y_i, z) - xi_i for all closed z

    to a duality gap, by cutting planes. It is what the perceptrons of 2013 relax (their LM-2): slower, and closer.

    Parameters
    ----------
    taxonomy : Taxonomy, path or None, default=None
        A tree, with any number of roots; labels are ids of any of its nodes. None: the labels are unrelated.
    C : float, default=1.0
        What a margin violation costs; the sum over documents counts, not the mean.
    loss : {"tree", "exact", "hamming", "zero-one"} or NodeCosts, default="tree"
        Delta. "tree": half of the nodes in which both sets differ, as elsewhere; NodeCosts: by node; "hamming": all of
        them; "zero-one": 1 for every other set.
    tol : float, default=0.01
        Stop when the duality gap is at most this share of the primal objective. Problems of at most a thousand
        documents times nodes are solved more closely, so that their answers do not depend on the order of documents.
    max_iter : int, default=1000
        Most sweeps over all documents.
    max_seconds : float or None, default=None
        Stop learning after about so long, with what there is; None: no limit.
    random_state : int, RandomState or None, default=None
        Fixes the order in which documents are visited; None stands for 0, so that runs repeat.

    Attributes
    ----------
    classes_ : ndarray
        The labels seen, sorted; for an indicator matrix, its columns.
    taxonomy_ : Taxonomy
    nodes_ : ndarray of int
        The nodes that answers are made of: those at or above a label that was seen.
    form_ : {"single", "lists", "indicator"}
        How labels were given, and are given back.
    weights_ : ndarray (n_features_in_, n_nodes)
        w_v of every node of `nodes_`.
    primal_objective_, dual_objective_, gap_ : float
        Objectives at the end, and their difference relative to the primal one.
    n_outputs_ : int
        Pairs (document, closed set) with weight in the dual.
    n_iter_ : int
        Sweeps made.
    stopped_ : {"converged", "max_iter", "max_seconds", "interrupted"}
        Why the solver stopped. Ctrl-C stops it too: what was learnt so far is kept, with a warning.
    history_ : tuple of Progress
        Objectives, gap and time after each sweep; estimates, but for the last.
    n_features_in_ : int

    References
    ----------
    I. Tsochantaridis, T. Joachims, T. Hofmann and Y. Altun, Large margin methods for structured and interdependent
    output variables, JMLR 2005. D. Liu, B. Tu, H. Qian and Z. Zhang, Large-scale hierarchical classification via
    stochastic perceptron, AAAI 2013, section 2.1.

    Examples
    --------
    >>> from pinakes import StructuredSVC, Taxonomy
    >>> t = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 0, 1]]
    >>> m = StructuredSVC(t, C=10).fit(X, [["animal/cat"], ["animal/dog"], ["plant/tree", "animal/cat"]])
    >>> m.predict(X)
    [['animal/cat'], ['animal/dog'], ['animal/cat', 'plant/tree']]
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        C: float = 1.0,
        loss: Any = "tree",
        tol: float = 1e-2,
        max_iter: int = 1000,
        max_seconds: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        report: Callable[[Progress], None] | None = None,
    ) -> StructuredSVC:
        """Learn from documents `X` and their labels: one each, a list each, or an indicator matrix.

        `sample_weight` multiplies C document by document; `classes` are the labels behind the columns of an indicator
        matrix, by default all nodes of the taxonomy; `report` is called after every sweep.
        """
        C = parameters.check_number(self, "C", above=0)
        random_state = check_random_state(0 if self.random_state is None else self.random_state)
        solver = StructuredSolver(
            tol=parameters.check_number(self, "tol", above=0),
            max_iter=parameters.check_integer(self, "max_iter", least=1),
            max_seconds=(
                math.inf if self.max_seconds is None else parameters.check_number(self, "max_seconds", above=0)
            ),
            seed=int(random_state.randint(2**31 - 1)),
            report=report,
        )
        X, _, Y = self._fit_labels(X, y, classes)
        n = X.shape[0]
        weight = np.ones(n) if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weight < 0).any():
            raise ParameterError(f"`sample_weight` must be >= 0, got {weight.min():g}")
        if n * len(self.nodes_) <= TINY:
            solver.tol = min(solver.tol, CLOSE)
        used = np.flatnonzero(weight > 0)
        part = slice(None) if len(used) == n else used
        result = solver.solve(X[part], Y[part], C * weight[part], self._parent, self._costs())
        self.weights_, self.n_outputs_, self.history_ = result.W, result.n_outputs, result.history
        last = result.last
        self.primal_objective_, self.dual_objective_ = last.p_obj, last.d_obj
        self.gap_, self.n_iter_ = last.gap, last.n_iter
        near = result.stopped == "max_iter" and self.gap_ <= self.tol
        self.stopped_ = "converged" if near else result.stopped
        if self.stopped_ != "converged":
            warnings.warn(self._stopped_early(), ConvergenceWarning, stacklevel=2)
        return self

    def _node_values(self, X: sparse.csr_array) -> npt.NDArray[np.float64]:
        return np.asarray(X @ self.weights_, dtype=np.float64)

    def _costs(self) -> Costs:
        nothing = np.zeros(len(self.nodes_))
        given = NodeCosts(c=1.0, cbar=1.0) if isinstance(self.loss, str) and self.loss == "hamming" else self.loss
        loss = make_loss(given, self.taxonomy_, self.taxonomy_.ids)
        if isinstance(loss, MatrixLoss):
            raise ParameterError(
                "`loss` of StructuredSVC must be 'tree', 'exact', 'hamming', 'zero-one' or NodeCosts, got a matrix"
            )
        if isinstance(loss, NodeLoss):
            return Costs(False, loss.miss[self.nodes_].astype(np.float64), loss.false[self.nodes_].astype(np.float64))
        return Costs(True, nothing, nothing)

    def _stopped_early(self) -> str:
        why, cure = {
            "max_iter": (f"after max_iter={self.max_iter} sweeps", "raise max_iter, or accept a larger tol"),
            "max_seconds": (f"after max_seconds={self.max_seconds}", "raise max_seconds, or accept a larger tol"),
            "interrupted": ("when it was interrupted", "fit again to go on"),
        }[self.stopped_]
        reached = f"at a relative gap of {self.gap_:.3g}, short of tol={self.tol:g}"
        return f"{type(self).__name__} stopped {why} {reached}: {cure}"
