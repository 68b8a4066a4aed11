"""What the estimators that learn joint weights over a taxonomy share: solvers, kernels, and classes as arrays."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state

from pinakes.errors import ConvergenceWarning, DocumentError, ParameterError
from pinakes.kernels.rows import rows_from_csr
from pinakes.models import parameters
from pinakes.models.class_similarity import given_matrix
from pinakes.models.closed_outputs import writable_csr
from pinakes.models.kernel_scoring import KernelScorer
from pinakes.models.scoring import Scorer
from pinakes.solvers.ascent import N_ROUGH, AscentSolver, Progress, SolverResult, Start, Stop
from pinakes.solvers.kernel_rows import KERNELS, DocumentKernel, KernelRows, scale_gamma
from pinakes.solvers.papers import PaperResult, PaperSolver
from pinakes.solvers.problem import Problem, make_outputs
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.attributes import ClassAttributes, class_attributes, given_attributes
from pinakes.taxonomy.loss import Loss, NodeLoss, make_loss

SOLVERS = ("ascent", "greedy", "joint", "exhaustive")
SETTLED = ("loss", "hinge", "node_weight", "class_attributes", "class_kernel")  # what weights depend on
DENSE_ABOVE = 0.5  # share of values that are not 0 above which documents are taken as a matrix
HINGES = ("linear", "squared")
TINY, CLOSE = 1000, 1e-10  # so few documents times classes are solved so closely, whatever `tol`: it costs nothing


class JointMachine:
    """A part of estimators with the parameters of `TaxonomySVC` that are named here."""

    loss: Any
    hinge: str = "linear"
    node_weight: Any
    class_attributes: Any
    class_kernel: Any
    solver: str
    kernel: Any
    gamma: Any
    tol: float
    max_iter: int
    max_seconds: float | None
    random_state: Any
    classes_: npt.NDArray[Any]
    n_features_in_: int
    support_: npt.NDArray[np.int64]
    _scorer: Scorer | KernelScorer

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

    def _make_kernel(self, X: Any, dense: bool, constant: float = 0.0) -> DocumentKernel:
        """Check the kernel's parameters against the training documents; `dense` says how these were given.

        `constant` is added to every kernel value.
        """
        if callable(self.kernel) or self.kernel == "linear":
            return DocumentKernel(self.kernel, dense=dense, constant=constant)
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise DocumentError(
                    f"X must be a square matrix of kernel values with kernel='precomputed', got shape {X.shape}"
                )
            largest = np.abs(X.data).max(initial=0.0)
            if abs(X - X.T).max() > 1e-5 * largest:
                raise DocumentError("X must be symmetric with kernel='precomputed', and K(x, x') is not K(x', x) in it")
            return DocumentKernel(self.kernel, constant=constant)
        if isinstance(self.gamma, str):
            if self.gamma != "scale":
                raise ParameterError(
                    f"`gamma` of {type(self).__name__} must be 'scale' or a number > 0, got {self.gamma!r}"
                )
            gamma = scale_gamma(X)
        else:
            gamma = parameters.check_number(self, "gamma", above=0)
        degree = parameters.check_integer(self, "degree", least=1)
        coef0 = parameters.check_number(self, "coef0", least=0)
        return DocumentKernel(self.kernel, degree, gamma, coef0, constant=constant)

    def _set_course(self, last: Progress, stopped: Stop) -> None:
        """Take over how the solver ended, and warn where that was too early."""
        self.primal_objective_, self.dual_objective_ = last.p_obj, last.d_obj
        self.gap_, self.n_iter_ = last.gap, last.n_iter
        near = stopped == "max_iter" and self.n_iter_ > N_ROUGH and self.gap_ <= self.tol
        self.stopped_ = "converged" if near else stopped
        if self.stopped_ != "converged":
            warnings.warn(self._stopped_early(), ConvergenceWarning, stacklevel=4)

    def _stopped_early(self) -> str:
        why, cure = {
            "max_iter": (f"after max_iter={self.max_iter} rounds", "raise max_iter, or accept a larger tol"),
            "max_seconds": (f"after max_seconds={self.max_seconds}", "raise max_seconds, or accept a larger tol"),
            "interrupted": ("when it was interrupted", "fit again for more"),
        }[self.stopped_]
        reached = f"at a relative gap of {self.gap_:.3g}, short of tol={self.tol:g}"
        return f"{type(self).__name__} stopped {why} {reached}: {cure}"

    def _set_outputs(self, taxonomy: Taxonomy, nodes: npt.NDArray[np.int32]) -> None:
        """Set attributes and loss of the classes at these nodes, as objects and as arrays."""
        self._loss: Loss = make_loss(self.loss, taxonomy, [taxonomy.ids[v] for v in nodes])
        if self.class_attributes is not None or self.class_kernel is not None:
            given = given_matrix(self.class_attributes, self.class_kernel, self.classes_)
            self.attributes_: ClassAttributes = given_attributes(given, nodes)
        elif self.node_weight == "flat" and not isinstance(self._loss, NodeLoss):
            bare = Taxonomy.flat(taxonomy.ids)  # nothing shared, and no loss that looks at the taxonomy
            self.attributes_ = class_attributes(bare, nodes, "equal")
        else:
            self.attributes_ = class_attributes(taxonomy, nodes, self.node_weight)
        squared = parameters.check_choice(self, "hinge", HINGES) == "squared"
        self._outputs = make_outputs(self.attributes_, self._loss, squared)
        self._settled = {name: getattr(self, name) for name in SETTLED}

    def _check_settled(self) -> None:
        """Check that what weights depend on is as it was when they were learnt."""
        for name, value in self._settled.items():
            if not parameters.same_setting(getattr(self, name), value):
                raise ParameterError(
                    f"`{name}` of {type(self).__name__} was changed after the fit, and the weights learnt do not fit "
                    "it: set it back, or fit again"
                )

    def _solve(
        self,
        solver: AscentSolver | PaperSolver,
        kernel: DocumentKernel,
        problem: Problem,
        used: npt.NDArray[np.int64],
        start: Start | None = None,
    ) -> SolverResult | PaperResult:
        """Solve a problem; `used` are the numbers of its documents, which are columns where they are kernel values."""
        if isinstance(solver, AscentSolver):
            return solver.solve(problem, start)
        documents: Any = problem.X
        if kernel.kind == "precomputed":
            documents = documents[:, used].toarray()
        rows = KernelRows(kernel, documents, parameters.check_number(self, "cache_size", above=0))
        return solver.solve(rows, problem.y, problem.C, problem.outputs)

    def _set_support(self, X: Any, dual: sparse.csr_array, kernel: DocumentKernel) -> None:
        """Take dual variables as the model: weights where the kernel is linear, support documents elsewhere.

        `dual` is what each support document adds to each class.
        """
        # w_z takes v_z times the sum of dual over the classes below; parts that cancel leave dust: keep it out
        coefficients = sparse.csr_array(dual @ self.attributes_.matrix(self.attributes_.v2))
        coefficients.data[np.abs(coefficients.data) < 1e-14 * np.abs(coefficients.data).max(initial=0.0)] = 0.0
        coefficients.eliminate_zeros()
        documents = X[self.support_]
        if self._is_linear():
            self._set_weights(writable_csr(sparse.csr_array(documents).astype(np.float64).T @ coefficients))
            return
        self.support_coef_ = coefficients
        if kernel.kind != "precomputed":
            self.support_vectors_ = documents
        support = self.support_ if kernel.kind == "precomputed" else documents
        self._scorer = KernelScorer(kernel, support, coefficients, self.attributes_)

    def _set_weights(self, u: sparse.csr_array) -> None:
        """Take weights v_z w_z (features by attributes) as if they had just been learnt."""
        self._scorer = Scorer(rows_from_csr(u, len(self._outputs.v2)), self._outputs)
        self.n_features_in_ = u.shape[0]

    def _all_weights(self) -> sparse.csr_array:
        """v_z w_z of every attribute, features by attributes."""
        if isinstance(self._scorer, KernelScorer):
            raise AttributeError(
                f"{type(self).__name__} with kernel={self.kernel!r} has no weights of features (`weights_`, `coef_`): "
                "use `support_coef_` and `support_vectors_`, or a linear kernel"
            )
        return self._scorer.weights(self.attributes_.n_attributes)

    def _laid_out(self, X: Any) -> Any:
        """Give documents as the solver takes them: CSR, or as a matrix where most values are not 0."""
        if not self._is_linear() or self.solver != "ascent" or density(X) < DENSE_ABOVE:
            return writable_csr(X)
        return np.ascontiguousarray(X if isinstance(X, np.ndarray) else X.toarray())

    def _of_kernel_values(self, error: ValueError) -> ValueError:
        """Say what the width of documents must be where they are kernel values; other errors stay."""
        if isinstance(self.kernel, str) and self.kernel == "precomputed" and "is expecting" in str(error):
            return DocumentError(
                f"{error}: with kernel='precomputed' X must have a kernel value with each of the "
                f"{self.n_features_in_} documents that the model was fitted on"
            )
        return error


def solve_tiny_closely(solver: AscentSolver | PaperSolver, size: int) -> None:
    """Let the answers of tiny problems (documents times classes) not depend on the order of documents."""
    if isinstance(solver, AscentSolver) and size <= TINY:
        solver.tol = min(solver.tol, CLOSE)


def density(X: Any) -> float:
    """Give the share of values that are not 0."""
    n_values = X.shape[0] * X.shape[1]
    n_entries = np.count_nonzero(X) if isinstance(X, np.ndarray) else X.nnz
    return float(n_entries / n_values) if n_values else 0.0
