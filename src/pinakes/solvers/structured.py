"""The structural SVM over closed outputs, by cutting planes and block-coordinate ascent in the dual.

The problem that the perceptrons of 2013 relax (its section 2.1 with slack, and a loss for the margin):

    min 1/2 |w|^2 + sum_i C_i xi_i    s.t.  <w, dPhi_i(z)> >= Delta(y_i, z) - xi_i   for all closed z,   xi >= 0
    max sum alpha_iz Delta(y_i, z) - 1/2 |w(alpha)|^2    s.t.  alpha >= 0,  sum over z of alpha_iz <= C_i

with dPhi_i(z) = x_i (x) (y_i - z). C sums over documents. The outputs z are far too many to list: each document has a
working set, to which the most violated output is added (Tsochantaridis et al. 2005, with the margin rescaled; the
paper's LM-2), found by the same dynamic programming as the answers: Delta is a sum over nodes, or 1 for every z but y.
A sweep visits the documents in random order, adds what is violated most, and solves the small QP over the working set
exactly; documents that have stayed quiet are visited more and more rarely. The duality gap is a sum over documents,

    P - D = sum_i [ C_i xi_i - sum_z alpha_iz F_iz ],     F_iz = Delta(y_i, z) - <w, dPhi_i(z)>,

and is measured exactly by a scan whenever the sweeps have seen it small.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.kernels import structured as kernels
from pinakes.solvers.ascent import Clock, Progress, Stop, TimeIsUp

logger = logging.getLogger(__name__)

MOST_FIRST = 8  # outputs that a working set has room for, at first
QUIET_SHARE = 0.1  # a document is quiet when its gap is below this share of the average one that is aimed at
QP_SHARE = 0.1  # a document's QP is solved to this share of the gap that is aimed at
SCAN_EVERY = 10  # sweeps after which the gap is measured anyway


@dataclass(frozen=True)
class StructuredResult:
    """The weights, features by nodes, and how the run went."""

    W: npt.NDArray[np.float64]
    n_outputs: int  # with alpha > 0
    history: tuple[Progress, ...]
    stopped: Stop

    @property
    def last(self) -> Progress:
        return self.history[-1]


class StructuredSolver:
    """See the head of this file.

    Parameters
    ----------
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Most sweeps.
    max_seconds : float
        Stop after so long, with what there is.
    seed : int
        For the order of the documents.
    report : callable taking a Progress, optional
        Called after every sweep.
    """

    def __init__(
        self,
        tol: float = 1e-2,
        max_iter: int = 1000,
        max_seconds: float = math.inf,
        seed: int = 0,
        report: Callable[[Progress], None] | None = None,
    ) -> None:
        self.tol, self.max_iter, self.max_seconds, self.seed, self.report = tol, max_iter, max_seconds, seed, report

    def solve(
        self,
        X: sparse.csr_array,
        Y: sparse.csr_array,
        C: npt.NDArray[np.float64],
        parent: npt.NDArray[np.int32],
        costs: kernels.Costs,
    ) -> StructuredResult:
        """Run until the gap is small enough, or sweeps or time run out; Y holds the nodes of each document, closed."""
        state = _State(X, Y, C, parent, costs, self.tol, Clock(self.max_seconds))
        rng = np.random.default_rng(self.seed)
        history: list[Progress] = []
        stopped: Stop = "max_iter"
        scanned = 0
        try:
            for n_iter in range(1, self.max_iter + 1):
                state.sweep(rng.permutation(X.shape[0]), n_iter)
                progress = state.progress(n_iter)
                due = progress.gap <= self.tol or n_iter - scanned >= SCAN_EVERY or n_iter == self.max_iter
                if due:
                    state.scan()
                    scanned, progress = n_iter, state.progress(n_iter)
                history.append(progress)
                logger.info("sweep %d: primal %.6g, gap %.3g", n_iter, progress.p_obj, progress.gap)
                if self.report:
                    self.report(progress)
                if due and progress.gap <= self.tol:
                    stopped = "converged"
                    break
        except TimeIsUp:
            stopped = "max_seconds"
        except KeyboardInterrupt:
            stopped = "interrupted"
        if not history or stopped in ("max_seconds", "interrupted"):
            history.append(state.progress(len(history) + 1))
        return StructuredResult(state.W, int((state.work.alpha > 0).sum()), tuple(history), stopped)


class _State:
    """The arrays that change while solving, and the steps that change them."""

    def __init__(
        self,
        X: sparse.csr_array,
        Y: sparse.csr_array,
        C: npt.NDArray[np.float64],
        parent: npt.NDArray[np.int32],
        costs: kernels.Costs,
        tol: float,
        clock: Clock,
    ) -> None:
        n_samples, n_nodes = X.shape[0], len(parent)
        self.X, self.Y, self.C, self.parent, self.costs = X, Y, C, parent, costs
        self.tol, self.clock = tol, clock
        self.x_norm2 = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
        self.W = np.zeros((X.shape[1], n_nodes))
        self.work = kernels.Work(
            count=np.zeros(n_samples, dtype=np.int32),
            steps=np.zeros((n_samples, MOST_FIRST, n_nodes), dtype=np.int8),
            loss=np.zeros((n_samples, MOST_FIRST)),
            alpha=np.zeros((n_samples, MOST_FIRST)),
            slack=np.zeros(n_samples),
            gap=np.zeros(n_samples),
            next_visit=np.zeros(n_samples, dtype=np.int64),
            patience=np.zeros(n_samples, dtype=np.int64),
        )
        self.p_obj = 0.0

    def progress(self, n_iter: int) -> Progress:
        """Sum up slack and gap as they were last seen."""
        self.p_obj = 0.5 * float((self.W * self.W).sum()) + float(self.C @ self.work.slack)
        gap = max(float(self.work.gap.sum()), 0.0)
        relative = gap / self.p_obj if self.p_obj > 0 else 0.0
        return Progress(n_iter, self.p_obj, self.p_obj - gap, relative, self.clock.seconds())

    def sweep(self, order: npt.NDArray[np.int64], now: int) -> None:
        """Step through the documents that are due."""
        quiet = QUIET_SHARE * self.tol * self.p_obj / len(order)
        at = 0
        while True:
            at += self._visit(order[at:], True, now, quiet)
            if at == len(order):
                return
            self._widen()

    def scan(self) -> None:
        """Find the exact slack and gap of all documents; what is no longer quiet is visited again."""
        self._visit(np.arange(len(self.C)), False, 0, 0.0)
        loud = self.work.gap > QUIET_SHARE * self.tol * self.p_obj / len(self.C)
        self.work.next_visit[loud] = 0

    def _visit(self, order: npt.NDArray[np.int64], step: bool, now: int, quiet: float) -> int:
        self.clock.check()
        X, Y = self.X, self.Y
        done: int = kernels.visit(
            X.indptr, X.indices, X.data, self.x_norm2, Y.indptr, Y.indices, self.C, order, self.parent, self.costs,
            self.W, self.work, step, now, quiet, QP_SHARE * self.tol * self.p_obj / self.C.sum(),
        )  # fmt: skip
        return done

    def _widen(self) -> None:
        """Make room for twice as many outputs in every working set."""
        work = self.work
        self.work = work._replace(
            steps=np.concatenate([work.steps, np.zeros_like(work.steps)], axis=1),
            loss=np.concatenate([work.loss, np.zeros_like(work.loss)], axis=1),
            alpha=np.concatenate([work.alpha, np.zeros_like(work.alpha)], axis=1),
        )
