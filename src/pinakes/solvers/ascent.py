"""`ascent`: block-coordinate ascent on the dual of the hierarchical SVM, with full scans kept rare.

The problem (2004 paper, Eq. 24 and 25; dPhi with the sign put right):

    min 1/2 |w|^2 + sum_i C_i xi_i    s.t.  <w, dPhi_i(y)> >= 1 - xi_i / Delta(y_i, y)  for y != y_i,   xi >= 0
    max sum alpha_iy - 1/2 |w(alpha)|^2    s.t.  alpha >= 0,  sum_y alpha_iy / Delta(y_i, y) <= C_i

with dPhi_i(y) = (Lambda(y_i) - Lambda(y)) (x) x_i. C sums over documents, it does not average. Written in beta =
alpha / Delta the duality gap is a sum over documents, each part of it >= 0:

    P - D = sum_i [ C_i xi_i - sum_y beta_iy F_iy ],     F_iy = Delta(y_i, y) (1 - <w, dPhi_i(y)>)

One round is
  1. a full scan (threads; the weights are only read): the exact gap, and for each document the few classes outside its
     active set that violate the margin most;
  2. stop if the gap is at most `tol` times the primal objective;
  3. put those classes into the active sets, drop the ones without weight;
  4. sweeps over the active sets in random order, each document's small QP solved exactly, documents that have stayed
     quiet visited more and more rarely, until the gap over the active sets is a fraction of the one the scan found.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.kernels import ascent as kernels
from pinakes.kernels import rows as growing
from pinakes.solvers.problem import Problem

logger = logging.getLogger(__name__)

N_NEW = 4  # classes that one scan may add to a document's active set
INNER_SHARE = 0.25  # sweeps go on until the gap over active sets is this share of the last full one …
MAX_SWEEPS = 12  # … or so many sweeps were made
QUIET_SHARE = 0.1  # a document is quiet when its gap is below this share of the average one allowed by `tol`
QP_SHARE = 0.1  # psi of a document after its step, relative to its largest F, as a share of `tol`
DOUBLE_BELOW = 1e-4  # weights are float64 when `tol` asks for more than float32 can show


@dataclass(frozen=True)
class Progress:
    """What a solver reports after each full scan."""

    n_iter: int
    p_obj: float
    d_obj: float
    gap: float  # relative to p_obj
    seconds: float


@dataclass(frozen=True)
class SolverResult:
    """The weights, the dual variables, and how the run went."""

    rows: growing.Rows  # n_features x n_attributes: v_z w_z
    beta: sparse.csr_array  # n_samples x n_classes: alpha / Delta
    history: tuple[Progress, ...]
    converged: bool

    @property
    def last(self) -> Progress:
        return self.history[-1]


class AscentSolver:
    """See the head of this file.

    Parameters
    ----------
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Most full scans.
    n_threads : int
        Threads for the full scans.
    seed : int
        For the order of the documents.
    report : callable taking a Progress, optional
        Called after every full scan.
    """

    def __init__(
        self,
        tol: float = 1e-2,
        max_iter: int = 1000,
        n_threads: int = 1,
        seed: int = 0,
        report: Callable[[Progress], None] | None = None,
    ) -> None:
        self.tol, self.max_iter, self.n_threads, self.seed, self.report = (
            tol,
            max_iter,
            n_threads,
            seed,
            report,
        )

    def solve(self, problem: Problem) -> SolverResult:
        """Run until the gap is small enough or `max_iter` scans were made."""
        started = time.perf_counter()
        rng = np.random.default_rng(self.seed)
        state = _State.start(problem, self.tol)
        history: list[Progress] = []
        converged = False
        with ThreadPoolExecutor(self.n_threads) as threads:
            for n_iter in range(1, self.max_iter + 1):
                # 1. full scan
                gap, p_obj = state.scan(threads, self.n_threads)
                relative = gap / p_obj if p_obj > 0 else 0.0
                history.append(Progress(n_iter, p_obj, p_obj - gap, relative, time.perf_counter() - started))
                logger.info("scan %d: primal %.6g, gap %.3g", n_iter, p_obj, relative)
                if self.report:
                    self.report(history[-1])
                # 2. stop on the gap
                converged = relative <= self.tol
                if converged or n_iter == self.max_iter:
                    break
                # 3. new classes in, idle ones out
                state.merge(spare=N_NEW)
                # 4. sweeps over active sets
                state.sweeps(rng, max(INNER_SHARE * gap, 0.5 * self.tol * p_obj), look=n_iter == 1)
        return SolverResult(growing.compact(state.rows), state.dual(), tuple(history), converged)


class _State:
    """The arrays that change while solving."""

    def __init__(self, problem: Problem, rows: growing.Rows, precision: float) -> None:
        n_samples = len(problem.y)
        self.problem, self.rows, self.precision = problem, rows, precision
        self.x_norm2 = np.asarray(problem.X.multiply(problem.X).sum(axis=1), dtype=np.float64).ravel()
        self.by_class = np.argsort(problem.y, kind="stable")
        self.active_indptr = np.zeros(n_samples + 1, dtype=np.int64)
        self.active_count = np.zeros(n_samples, dtype=np.int32)
        self.active = np.empty(0, dtype=np.int32)
        self.beta = np.empty(0, dtype=np.float64)
        self.new_classes = np.zeros((n_samples, N_NEW), dtype=np.int32)
        self.new_count = np.zeros(n_samples, dtype=np.int32)
        self.slack = np.zeros(n_samples)
        self.gap = np.zeros(n_samples)
        self.next_visit = np.zeros(n_samples, dtype=np.int64)
        self.patience = np.zeros(n_samples, dtype=np.int64)
        self.now = 0
        self.longest = int(np.diff(problem.X.indptr).max(initial=1))

    @classmethod
    def start(cls, problem: Problem, tol: float) -> _State:
        n_features, n_padded = problem.X.shape[1], len(problem.outputs.v2)
        rows = growing.empty_rows(n_features, n_padded, np.float64 if tol < DOUBLE_BELOW else np.float32)
        return cls(problem, rows, QP_SHARE * min(tol, 0.01))

    @property
    def n_padded(self) -> int:
        return len(self.problem.outputs.v2)

    def scan(self, threads: ThreadPoolExecutor, n_threads: int) -> tuple[float, float]:
        """Look at all classes of all documents; give the gap and the primal objective."""
        X, y, outputs = self.problem.X, self.problem.y, self.problem.outputs
        pieces = np.linspace(0, len(y), 8 * n_threads + 1 if n_threads > 1 else 2).astype(np.int64)

        def piece(k: int) -> None:
            kernels.scan(
                X.indptr, X.indices, X.data, y, self.problem.C, self.by_class, pieces[k], pieces[k + 1],
                self.rows, outputs, self.active_indptr, self.active_count, self.active, self.beta,
                self.slack, self.gap, self.new_classes, self.new_count,
                np.zeros(self.n_padded, dtype=self.rows.data.dtype),
                np.zeros(self.n_padded, dtype=self.rows.data.dtype),
                np.zeros(len(outputs.multi)),
            )  # fmt: skip

        list(threads.map(piece, range(len(pieces) - 1)))
        norm2 = growing.squared_norm(self.rows, outputs.v2)
        p_obj = 0.5 * norm2 + float(self.problem.C @ self.slack)
        return max(float(self.gap.sum()), 0.0), p_obj

    def merge(self, spare: int) -> None:
        """Rebuild the active sets from those with weight and those the scan found, with `spare` free places each."""
        indptr, count = np.zeros_like(self.active_indptr), np.zeros_like(self.active_count)
        room = len(self.active) + int(self.new_count.sum()) + spare * len(count)
        merged, weight = np.zeros(room, dtype=np.int32), np.zeros(room)
        kernels.merge_active(
            self.active_indptr, self.active_count, self.active, self.beta, self.new_count, self.new_classes, spare,
            indptr, count, merged, weight,
        )  # fmt: skip
        self.active_indptr, self.active_count = indptr, count
        self.active, self.beta = merged[: indptr[-1]].copy(), weight[: indptr[-1]].copy()
        fresh = self.new_count > 0
        self.next_visit[fresh] = 0
        self.patience[fresh] = 0

    def sweeps(self, rng: np.random.Generator, goal: float, look: bool) -> None:
        """Sweep until the gap, as the documents met it, is at most `goal`; `look`: the first one sees all classes."""
        n_samples = len(self.problem.y)
        few = self.n_padded <= growing.FEW_BLOCKS * growing.BLOCK
        for k in range(MAX_SWEEPS):
            self.now += 1
            left = self.sweep(rng.permutation(n_samples), QUIET_SHARE * goal / n_samples, few or (look and k == 0))
            if left <= goal:
                break

    def sweep(self, order: npt.NDArray[np.int64], quiet: float, look: bool) -> float:
        """Make one sweep; give the gap over active sets as the documents met it."""
        X, outputs = self.problem.X, self.problem.outputs
        totals = np.zeros(3)
        at = 0
        while True:
            at = kernels.sweep(
                X.indptr, X.indices, X.data, self.x_norm2, self.problem.y, self.problem.C, order, at, look,
                self.rows, outputs, self.active_indptr, self.active_count, self.active, self.beta,
                self.next_visit, self.patience, self.now, quiet, self.precision, totals,
                np.zeros(self.n_padded, dtype=self.rows.data.dtype),
                np.zeros(self.n_padded, dtype=self.rows.data.dtype),
                np.zeros(len(outputs.multi)),
            )  # fmt: skip
            if at == len(order):
                return float(totals[1])
            blocks = self.n_padded // growing.BLOCK
            self.rows = growing.with_room(self.rows, 4 * self.longest * blocks, 4 * self.longest)

    def dual(self) -> sparse.csr_array:
        """Give beta = alpha / Delta as CSR, documents by classes."""
        shape = (len(self.problem.y), len(self.problem.outputs.own))
        self.new_count[:] = 0
        self.merge(spare=0)
        return sparse.csr_array((self.beta, self.active, self.active_indptr), shape=shape)
