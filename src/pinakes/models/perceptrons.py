"""`HardPerceptron` and `StochasticPerceptron`: large margins over closed sets of nodes, at the cost of a perceptron."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from pinakes.errors import ConvergenceWarning, DocumentError, ParameterError
from pinakes.models import parameters
from pinakes.models.classes import resolve_taxonomy
from pinakes.models.closed_outputs import ClosedOutputModel, writable_csr
from pinakes.models.labels import LabelMatrix, read_labels
from pinakes.solvers import perceptron as solver
from pinakes.solvers.expansion import Expansion, KernelExpansion, LinearExpansion
from pinakes.solvers.kernel_rows import KERNELS, DocumentKernel, scale_gamma

Report = Callable[[solver.MarginProgress], None]
MOST_VALUES = 2**22  # kernel values at a time


def _takes_streams(model: Any) -> bool:
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        raise AttributeError("partial_fit of StochasticPerceptron does not go with kernel='precomputed'")
    return True


class _Perceptron(ClosedOutputModel):
    """What both perceptrons share."""

    max_iter: Any
    epsilon: float
    iterate: str
    max_seconds: float | None
    n_jobs: int | None
    random_state: Any
    kernel: Any = "linear"
    _hard: bool

    def _node_values(self, X: sparse.csr_array) -> npt.NDArray[np.float64]:
        if self._kernel is None:
            return np.asarray(X @ self.weights_, dtype=np.float64)
        out = np.empty((X.shape[0], len(self.nodes_)))
        size = max(1, MOST_VALUES // max(len(self.support_), 1))
        for first in range(0, X.shape[0], size):
            part = X[first : first + size]
            if self._kernel.kind == "precomputed":
                K: Any = part[:, self.support_].toarray()
            else:
                K = self._kernel.between(part, self.support_vectors_)
            out[first : first + size] = K @ self.support_coef_
        return out

    def _learn(self, X: Any, Y: sparse.csr_array, settings: dict[str, Any], before: Any, report: Report | None) -> Any:
        """Run the solver on documents that the expansion takes in; set weights and what is known of the run."""
        R = math.sqrt(float(self._expansion.norms(np.arange(X.shape[0])).max(initial=0.0)) * len(self.nodes_))
        max_iter = self._count_steps(X.shape[0], R)
        if before is None and settings.pop("start", "zero") == "mean":
            before = self._begin(Y, max_iter)
        random_state = check_random_state(0 if self.random_state is None else self.random_state)
        seconds = math.inf if self.max_seconds is None else parameters.check_number(self, "max_seconds", above=0)
        run = solver.PerceptronSolver(
            self._hard,
            max_iter,
            iterate=self.iterate,
            max_seconds=seconds,
            n_threads=parameters.count_threads(self),
            seed=int(random_state.randint(2**31 - 1)),
            report=report,
            **settings,
        )
        result = run.solve(self._expansion, Y, self._parent, before)
        self._result = result
        self.n_iter_, self.stopped_, self.history_ = result.n_iter, result.stopped, result.history
        final = result.weights(self._expansion, self.iterate)
        if isinstance(self._expansion, LinearExpansion):
            self.weights_ = final
        else:
            self.support_ = np.flatnonzero((final != 0).any(axis=1))
            self.support_coef_ = final[self.support_]
            if self._kernel is not None and self._kernel.kind != "precomputed":
                self.support_vectors_ = self._expansion.X[self.support_]
        if result.stopped in ("max_seconds", "interrupted"):
            why = "when it was interrupted" if result.stopped == "interrupted" else f"after {self.max_seconds} s"
            warnings.warn(
                f"{type(self).__name__} stopped {why}, with {result.n_iter:,} of {max_iter:,} iterations made: "
                "raise max_seconds, or set max_iter to what there is time for",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _averages(self) -> bool:
        return parameters.check_choice(self, "iterate", ["late", "mean", "last"]) != "last"

    def _begin(self, Y: sparse.csr_array, max_iter: int) -> solver.PerceptronResult:
        """Start from the mean of Phi(x_i, y_i - mean y), of length 1."""
        dense = 2.0 * Y.toarray()
        self._expansion.begin(dense - dense.mean(axis=0))
        self._expansion.scale(math.sqrt(max_iter))
        return solver.PerceptronResult(float(max_iter), 0, 0.0, (), "max_iter")

    def _count_steps(self, n_samples: int, R: float) -> int:
        if isinstance(self.max_iter, str):
            choice = parameters.check_choice(self, "max_iter", ["auto", "theorem"])
            if choice == "theorem":
                epsilon = parameters.check_number(self, "epsilon", above=0)
                return solver.theorem_steps(self._hard, epsilon, R, n_samples)
            return max(solver.FEWEST_STEPS, n_samples * (1 if self._hard else solver.PASSES))
        return parameters.check_integer(self, "max_iter", least=1)


class HardPerceptron(_Perceptron):
    """The hard perceptron over a tree: any number of labels a document, the worst margin mended first.

    Answers are sets of nodes, closed upward. Looks for the w of length 1 with the largest least margin over all
    documents i and closed sets z other than theirs,

        max min <w, Phi(x_i, y_i) - Phi(x_i, z)>,   Phi(x, z) = x (x) z,   z_v = +1 or -1

    by adding the most violated difference, again and again (2013 paper, Algorithm 1). On documents that can be
    separated it comes within `epsilon` of the best margin; on others `StochasticPerceptron` does better.

    Parameters
    ----------
    taxonomy : Taxonomy, path or None, default=None
        A tree, with any number of roots; labels are ids of any of its nodes. None: the labels are unrelated.
    max_iter : int, "auto" or "theorem", default="auto"
        Most steps T; "auto": as many as there are documents, at least 4,000. "theorem": as many as Theorem 1 asks for.
    epsilon : float, default=0.1
        How far the margin may be from the best, for "theorem".
    iterate : {"late", "mean", "last"}, default="mean"
        What to use in the end: the mean of all w_t, as the theorem does; a mean in which w_t has the weight t; or the
        last one. Where all documents have been separated, the last one is used in any case.
    max_seconds : float or None, default=None
        Stop learning after about so long, with what there is; None: no limit.
    n_jobs : int or None, default=None
        Threads; None: all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Not used: there is nothing random in it.

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
    n_iter_ : int
        Steps made.
    stopped_ : {"separated", "max_iter", "max_seconds", "interrupted"}
        Why it stopped.
    history_ : tuple of MarginProgress
        Least margin and |wbar| now and then.
    n_features_in_ : int

    References
    ----------
    D. Liu, B. Tu, H. Qian and Z. Zhang, Large-scale hierarchical classification via stochastic perceptron, AAAI 2013.

    Examples
    --------
    >>> from pinakes import HardPerceptron, Taxonomy
    >>> t = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 0, 1]]
    >>> m = HardPerceptron(t).fit(X, [["animal/cat"], ["animal/dog"], ["plant/tree", "animal/cat"]])
    >>> m.predict(X)
    [['animal/cat'], ['animal/dog'], ['animal/cat', 'plant/tree']]
    """

    _hard = True

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        max_iter: Any = "auto",
        epsilon: float = 0.1,
        iterate: str = "mean",
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.max_iter = max_iter
        self.epsilon = epsilon
        self.iterate = iterate
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, classes: Any = None, report: Report | None = None) -> HardPerceptron:
        """Learn from documents `X` and their labels: one each, a list each, or an indicator matrix.

        `classes` are the labels behind the columns of an indicator matrix, by default all nodes of the taxonomy;
        `report` is called now and then.
        """
        X, _, Y = self._fit_labels(X, y, classes)
        self._kernel = None
        self._expansion: Expansion = LinearExpansion(X.shape[1], len(self.nodes_), self._averages())
        self._expansion.take(X)
        self._learn(X, Y, {}, None, report)
        del self._expansion
        return self


class StochasticPerceptron(_Perceptron):
    """The stochastic perceptron over a tree, with kernels: any number of labels a document, a model within seconds.

    Answers are sets of nodes, closed upward; the problem is that of `HardPerceptron`. Steps are made on documents drawn
    at random, those that keep a small margin more and more often (2013 paper, Algorithms 2 and 3).

    Parameters
    ----------
    taxonomy : Taxonomy, path or None, default=None
        A tree, with any number of roots; labels are ids of any of its nodes. None: the labels are unrelated.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        The kernel on documents: <x, x'>, (gamma <x, x'> + coef0)^degree, or exp(-gamma |x - x'|^2). With "precomputed",
        `X` is the square matrix of kernel values in `fit`, and has a row for each document and a column for each
        training document elsewhere. A function takes two matrices of documents (sparse if `fit` was given sparse
        ones) and gives the matrix of their kernel values.
    degree : int, default=3
        Of "poly".
    gamma : "scale" or float, default="scale"
        Of "poly" and "rbf"; "scale" stands for 1 / (n_features * variance of all values of X).
    coef0 : float, default=0.0
        Of "poly".
    max_iter : int, "auto" or "theorem", default="auto"
        Steps T; "auto": four times as many as there are documents, at least 4,000. "theorem": as many as Theorem 2 asks
        for, which is far more than documents of texts need.
    epsilon : float, default=0.1
        How far the margin may be from the best, for "theorem".
    eta : "auto" or float, default="auto"
        How fast the draws turn to documents of small margin; "auto" is min(1 / (2 R), eta_scale sqrt(log n / T)), with
        R = max |x| sqrt(number of nodes).
    eta_scale : float, default=1.0
        The constant c in it.
    n_subsets : int or "auto", default="auto"
        Cut the documents into so many subsets and run on one after the other, each run starting from where the last
        one ended; 1 is the plain algorithm, "auto" makes subsets of about 512 documents.
    start : {"zero", "mean"}, default="zero"
        Where to start: at w = 0, or at the mean of Phi(x_i, y_i) over documents, centred. With a kernel that is not
        linear, "mean" makes every document a support document.
    iterate : {"late", "mean", "last"}, default="late"
        What to use in the end: a mean of all w_t in which w_t has the weight t; the plain mean, as the theorem does; or
        the last one, as the paper's experiments do.
    cache_size : float, default=200
        MB for rows of the kernel matrix; not used by a linear kernel.
    max_seconds : float or None, default=None
        Stop learning after about so long, with what there is; None: no limit.
    n_jobs : int or None, default=None
        Threads for subsets that are large; None: all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Fixes subsets and draws; None stands for 0, so that runs repeat.

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
        w_v of every node of `nodes_`; only with a linear kernel.
    support_ : ndarray
        Which documents carry weight; not with a linear kernel, as the next two.
    support_vectors_ : sparse array (n_support, n_features_in_)
        These documents; not with a precomputed kernel.
    support_coef_ : ndarray (n_support, n_nodes)
        What each of them adds to each node's a_v, per unit of kernel value.
    n_iter_ : int
        Steps made.
    stopped_ : {"max_iter", "max_seconds", "interrupted"}
        Why it stopped.
    history_ : tuple of MarginProgress
        Least margin of the subset at hand, and |wbar|, now and then.
    n_features_in_ : int

    References
    ----------
    D. Liu, B. Tu, H. Qian and Z. Zhang, Large-scale hierarchical classification via stochastic perceptron, AAAI 2013.

    Examples
    --------
    >>> from pinakes import StochasticPerceptron, Taxonomy
    >>> t = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 0, 1]]
    >>> m = StochasticPerceptron(t).fit(X, [["animal/cat"], ["animal/dog"], ["plant/tree", "animal/cat"]])
    >>> m.predict(X)
    [['animal/cat'], ['animal/dog'], ['animal/cat', 'plant/tree']]
    """

    _hard = False

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        kernel: Any = "linear",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        max_iter: Any = "auto",
        epsilon: float = 0.1,
        eta: Any = "auto",
        eta_scale: float = 1.0,
        n_subsets: Any = "auto",
        start: str = "zero",
        iterate: str = "late",
        cache_size: float = 200,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.max_iter = max_iter
        self.epsilon = epsilon
        self.eta = eta
        self.eta_scale = eta_scale
        self.n_subsets = n_subsets
        self.start = start
        self.iterate = iterate
        self.cache_size = cache_size
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def fit(self, X: Any, y: Any, *, classes: Any = None, report: Report | None = None) -> StochasticPerceptron:
        """Learn from documents `X` and their labels: one each, a list each, or an indicator matrix.

        `classes` are the labels behind the columns of an indicator matrix, by default all nodes of the taxonomy;
        `report` is called now and then.
        """
        X, dense, Y = self._fit_labels(X, y, classes)
        self._make_expansion(X, dense)
        self._take(X)
        return self._run(X, Y, None, report)

    @available_if(_takes_streams)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> StochasticPerceptron:
        """Go on learning from more documents, starting from the weights there are.

        The first call fixes what answers are made of: the labels in `classes`; without it all nodes of the taxonomy,
        and without a taxonomy the labels of these documents. Each call makes as many steps as `max_iter` says for it.
        """
        if not hasattr(self, "_expansion"):
            return self._first(X, y, classes)
        X = writable_csr(validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False))
        labels = read_labels(y, self.classes_ if self.form_ == "indicator" else None)
        if labels.members.shape[0] != X.shape[0]:
            raise DocumentError(f"X and y must hold the same documents, got {X.shape[0]} and {labels.members.shape[0]}")
        place = {str(k): c for c, k in enumerate(self.classes_)}
        unknown = [str(k) for k in labels.classes if str(k) not in place]
        if unknown:
            raise ParameterError(
                f"partial_fit met the label {unknown[0]!r}, which the first call did not name in `classes`; name all "
                "labels there"
            )
        self._take(X)
        return self._run(X, self._close(_renumbered(labels, self.classes_)), self._result, None)

    # -- what fit and partial_fit share ----------------------------------------------------------------------

    def _first(self, X: Any, y: Any, classes: Any) -> StochasticPerceptron:
        dense = not sparse.issparse(X)
        X = writable_csr(validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32]))
        taxonomy = None if self.taxonomy is None else resolve_taxonomy(self.taxonomy, ())
        labels = read_labels(y, classes if classes is not None or taxonomy is None else taxonomy.ids)
        if labels.members.shape[0] != X.shape[0]:
            raise DocumentError(f"X and y must hold the same documents, got {X.shape[0]} and {labels.members.shape[0]}")
        known = labels.classes
        if labels.form != "indicator":
            known = np.unique(classes if classes is not None else labels.classes if taxonomy is None else taxonomy.ids)
        self._set_outputs(taxonomy or resolve_taxonomy(None, known), known, labels.form, None)
        place = {str(k): c for c, k in enumerate(known)}
        missing = [str(k) for k in labels.classes if str(k) not in place]
        if missing:
            raise ParameterError(f"partial_fit met the label {missing[0]!r}, which `classes` does not name")
        Y = self._close(_renumbered(labels, known))
        self._note_ancestors(labels.members, Y)
        self._make_expansion(X, dense)
        self._take(X)
        return self._run(X, Y, None, None)

    def _run(
        self, X: sparse.csr_array, Y: sparse.csr_array, before: Any, report: Report | None
    ) -> StochasticPerceptron:
        settings: dict[str, Any] = {
            "start": parameters.check_choice(self, "start", ["zero", "mean"]),
            "eta_scale": parameters.check_number(self, "eta_scale", above=0),
            "n_subsets": self._count_subsets(X.shape[0]),
        }
        if isinstance(self.eta, str):
            parameters.check_choice(self, "eta", ["auto"])
        else:
            settings["eta"] = parameters.check_number(self, "eta", above=0)
        if before is not None:
            settings.pop("start")
        self._learn(X, Y, settings, before, report)
        return self

    def _count_subsets(self, n_samples: int) -> int:
        if isinstance(self.n_subsets, str):
            parameters.check_choice(self, "n_subsets", ["auto"])
            return max(1, n_samples // solver.SUBSET)
        return min(parameters.check_integer(self, "n_subsets", least=1), n_samples)

    def _take(self, X: sparse.csr_array) -> None:
        precomputed = self._kernel is not None and self._kernel.kind == "precomputed"
        documents: Any = X.toarray() if precomputed else X
        self._expansion.take(documents)

    def _make_expansion(self, X: sparse.csr_array, dense: bool) -> None:
        for name in ("weights_", "support_", "support_vectors_", "support_coef_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._kernel = self._make_kernel(X, dense)
        if self._kernel is None:
            self._expansion: Expansion = LinearExpansion(X.shape[1], len(self.nodes_), self._averages())
        else:
            cache_size = parameters.check_number(self, "cache_size", above=0)
            self._expansion = KernelExpansion(self._kernel, len(self.nodes_), self._averages(), cache_size)

    def _make_kernel(self, X: sparse.csr_array, dense: bool) -> DocumentKernel | None:
        if callable(self.kernel):
            return DocumentKernel(self.kernel, dense=dense)
        if self.kernel not in KERNELS:
            raise ParameterError(
                f"`kernel` of {type(self).__name__} must be one of {', '.join(map(repr, KERNELS))} "
                f"or a function of two matrices of documents, got {self.kernel!r}"
            )
        if self.kernel == "linear":
            return None
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise DocumentError(
                    f"X must be a square matrix of kernel values with kernel='precomputed', got shape {X.shape}"
                )
            if abs(X - X.T).max() > 1e-5 * np.abs(X.data).max(initial=0.0):
                raise DocumentError("X must be symmetric with kernel='precomputed', and K(x, x') is not K(x', x) in it")
            return DocumentKernel(self.kernel)
        if isinstance(self.gamma, str):
            parameters.check_choice(self, "gamma", ["scale"])
            gamma = scale_gamma(X)
        else:
            gamma = parameters.check_number(self, "gamma", above=0)
        degree = parameters.check_integer(self, "degree", least=1)
        return DocumentKernel(self.kernel, degree, gamma, parameters.check_number(self, "coef0", least=0))


def _renumbered(labels: LabelMatrix, classes: npt.NDArray[Any]) -> sparse.csr_array:
    """Give the members with the columns of `classes`, which has all of their labels."""
    place = {str(k): c for c, k in enumerate(classes)}
    columns = np.array([place[str(k)] for k in labels.classes], dtype=np.int32)
    shape = (labels.members.shape[0], len(classes))
    return sparse.csr_array(
        (labels.members.data.astype(np.float64), columns[labels.members.indices], labels.members.indptr), shape=shape
    )
