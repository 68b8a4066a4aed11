"""Coupled binary SVMs: one problem a class, all with the weights of their common ancestors (2004 paper, section 2.5).

The problem (Eq. 22, and with the squared loss):

    min 1/2 |w|^2 + sum_i C_i sum_r L(1 - y_ir F(x_i, r)),    F(x, r) = sum over z in anc(r) of v_z <w_z, x>
    max sum alpha_ir - 1/2 |w(alpha)|^2 - sum D_i/2 alpha_ir^2    s.t.  0 <= alpha_ir <= U_i

with L(t) = max(0, t), D_i = 0, U_i = C_i (hinge) or L(t) = max(0, t)^2, D_i = 1 / (2 C_i), U_i = inf (squared hinge),
and w_z = v_z sum over i and r below z of y_ir alpha_ir x_i. C sums over documents and classes, as LIBLINEAR's does.
A bias is a constant feature of the documents. Where nothing is shared the classes fall apart into one-vs-rest SVMs.

Coordinate ascent, a document at a time: the scores of all classes are one pass over the weights of its words, and the
steps along all its pairs (i, r) are taken on these scores before the weights change, once. There are n_samples *
n_classes pairs; only those with alpha > 0 are kept. A round is
  1. a sweep over all classes of the documents that are due: steps along the pairs that carry weight or violate their
     margin;
  2. where attributes are many, sweeps over the pairs with weight alone, which read only the weights of these;
  3. when the gap that the documents met has become small, a scan for the exact one: stop at `tol` of the objective.
Documents that have stayed quiet are due more and more rarely. The duality gap is a sum over pairs, each part >= 0:

    P - D = sum_ir [ C_i xi_ir - alpha_ir (1 - y_ir F_ir) ]                                       (hinge)
    P - D = sum_ir [ C_i (xi_ir - alpha_ir / 2 C_i)^2 + alpha_ir (xi_ir - 1 + y_ir F_ir) ]        (squared hinge)

With a bias the primal objective is unsteady: the last few documents of a sweep shift the bias of a class a little, and
all others feel it. So the objective is measured with the mean of the bias over the sweep, which is what is kept at the
end; the dual objective is that of alpha.

Documents are dealt out to batches, once. Threads share the scoring of a batch and the change of the weights, where
these take long; in between one of them takes the steps, in order, and sets the scores right by the products of the
documents of the batch. So the steps are those of plain coordinate ascent, however many the threads.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from threadpoolctl import threadpool_limits

from pinakes.kernels import coupled as kernels
from pinakes.kernels import rows as growing
from pinakes.kernels.outputs import Outputs
from pinakes.solvers.ascent import DOUBLE_BELOW, Clock, Progress, SolverResult, Stop, TimeIsUp, Weights
from pinakes.solvers.together import together

logger = logging.getLogger(__name__)

BATCH = 16  # documents whose scores are read at once
AT_ONCE = 256  # documents that are scanned at once
N_LOOKS = 64  # looks at the clock, and at the bias, in a sweep …
LEAST = 4  # … between so many batches or more
FEW = 256  # with so few attributes all classes are scored in every sweep
INNER_SHARE = 0.25  # sweeps over pairs with weight go on until their gap is this share of the last full one …
MAX_SWEEPS = 5  # … or so many sweeps were made
QUIET_SHARE = 0.5  # a document is quiet when its gap is below this share of the average one that is aimed at …
NEAR = 10.0  # … and the gap of all is below so many times `tol`: before, the weights still move too much
LONG, BUSY = 32, 10_000  # words of a document, and blocks of weights that a batch reads, for threads to be worth it
SCAN_BELOW = 1.5  # the exact gap is measured when the one that documents met is below so many times `tol`


@dataclass(frozen=True)
class CoupledProblem:
    """Documents (CSR with int32 indices, or dense), their classes (CSR), costs C_i, and what relates the classes."""

    X: sparse.csr_array | npt.NDArray[Any]
    Y: sparse.csr_array
    C: npt.NDArray[np.float64]
    outputs: Outputs
    squared: bool
    constant: bool = False  # whether the last feature is one, for a bias


class CoupledSolver:
    """See the head of this file.

    Parameters
    ----------
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Most rounds.
    max_seconds : float
        Stop after so long, with what there is.
    n_threads : int
    seed : int
        For the order of the documents.
    report : callable taking a Progress, optional
        Called after every round.
    """

    def __init__(
        self,
        tol: float = 1e-2,
        max_iter: int = 1000,
        max_seconds: float = math.inf,
        n_threads: int = 1,
        seed: int = 0,
        report: Callable[[Progress], None] | None = None,
    ) -> None:
        self.tol, self.max_iter, self.max_seconds = tol, max_iter, max_seconds
        self.n_threads, self.seed, self.report = n_threads, seed, report

    def solve(self, problem: CoupledProblem) -> SolverResult:
        """Run until the gap is small enough, or rounds or time run out, or an interrupt comes."""
        rng = np.random.default_rng(self.seed)
        state = _State(problem, self.tol, rng, Clock(self.max_seconds))
        history: list[Progress] = []
        stopped: Stop = "max_iter"
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(self.n_threads) as threads:
            state.threads, state.n_threads = threads, self.n_threads
            try:
                for n_iter in range(1, self.max_iter + 1):
                    progress = self._round(state, n_iter)
                    history.append(progress)
                    logger.info("round %d: primal %.6g, gap %.3g", n_iter, progress.p_obj, progress.gap)
                    if self.report:
                        self.report(progress)
                    if state.exact and progress.gap <= self.tol:
                        stopped = "converged"
                        break
            except TimeIsUp:
                stopped = "max_seconds"
            except KeyboardInterrupt:
                stopped = "interrupted"
            if stopped in ("max_seconds", "interrupted"):
                history.append(state.exact_progress(len(history) + 1))
            state.take_mean_bias()
        rows = growing.compact(state.rows) if isinstance(state.rows, growing.Rows) else state.rows
        return SolverResult(rows, state.dual(), tuple(history), stopped)

    def _round(self, state: _State, n_iter: int) -> Progress:
        state.sweep(look=True)  # 1.
        progress = state.progress(n_iter)
        if not state.few:
            goal = max(INNER_SHARE * progress.gap, 0.25 * self.tol) * progress.p_obj
            for _ in range(MAX_SWEEPS):  # 2.
                if state.sweep(look=False) <= goal:
                    break
        if progress.gap <= SCAN_BELOW * self.tol or n_iter == self.max_iter:  # 3.
            progress = state.exact_progress(n_iter)
        return progress


class _State:
    """The arrays that change while solving, and the steps that change them."""

    threads: ThreadPoolExecutor
    n_threads: int

    def __init__(self, problem: CoupledProblem, tol: float, rng: np.random.Generator, clock: Clock) -> None:
        X, outputs = problem.X, problem.outputs
        n = self.n_samples = X.shape[0]
        self.problem, self.outputs, self.tol, self.rng, self.clock = problem, outputs, tol, rng, clock
        self.n_classes, self.n_padded = len(outputs.own), len(outputs.v2)
        self.few = self.n_padded <= FEW
        self.dtype = np.dtype(np.float64 if tol < DOUBLE_BELOW else np.float32)
        self.batches = np.full((-(-n // BATCH), BATCH), -1, dtype=np.int64)
        self.batches.ravel()[:n] = rng.permutation(n)
        self.grams = np.zeros((len(self.batches), BATCH, BATCH), dtype=self.dtype)
        self.rows: Weights
        documents: tuple[Any, ...]
        if isinstance(X, np.ndarray):
            documents = (np.ascontiguousarray(X, dtype=self.dtype),)
            self.rows = np.zeros((self.n_padded, X.shape[1]), dtype=self.dtype)
            x_norm2 = np.einsum("ij,ij->i", X, X, dtype=np.float64)
            for batch, gram in zip(self.batches, self.grams, strict=True):
                gram[:] = X[batch] @ X[batch].T
        else:
            documents = X.indptr, X.indices, X.data
            self.rows = growing.empty_rows(X.shape[1], self.n_padded, self.dtype)
            x_norm2 = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
            kernels.multiply_batches(X.indptr, X.indices, X.data, self.batches, X.shape[1], self.grams)
        n_words = X.shape[1] if isinstance(X, np.ndarray) else X.nnz / n
        self.busy = n_words >= LONG and BATCH * n_words * self.n_padded / growing.BLOCK >= BUSY
        Y = problem.Y
        self.task = kernels.Task(
            documents, x_norm2, Y.indptr.astype(np.int64), Y.indices.astype(np.int32), problem.C, problem.squared
        )
        self.lambda2 = np.add.reduceat(outputs.v2[outputs.path_indices], outputs.path_indptr[:-1])
        self.pairs = kernels.Pairs(
            start=np.zeros(n, dtype=np.int64),
            count=np.zeros(n, dtype=np.int32),
            capacity=np.zeros(n, dtype=np.int32),
            filled=np.zeros(1, dtype=np.int64),
            classes=np.zeros(0, dtype=np.int32),
            alpha=np.zeros(0),
        )
        self.seen = kernels.Seen(np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64))
        self.p_obj, self.relative_gap = 0.0, 1.0
        self.now = 0
        self.exact = False  # whether losses are those of the weights as they are
        self.biases: list[npt.NDArray[np.float64]] = []  # of all attributes, at some moments of the last sweep

    def progress(self, n_iter: int) -> Progress:
        """Sum up losses and gaps as the documents met them."""
        self.p_obj = 0.5 * self.squared_norm() + float(self.seen.loss.sum())
        return self._progress(n_iter, float(self.seen.gap.sum()))

    def exact_progress(self, n_iter: int) -> Progress:
        """Measure both objectives, the primal one with the mean bias of the last sweep."""
        alpha, C = self.dual(), self.problem.C
        d_obj = float(alpha.sum()) - 0.5 * self.squared_norm()
        if self.problem.squared:
            d_obj -= float(np.asarray(alpha.multiply(alpha).sum(axis=1)).ravel() @ (0.25 / C))
        now = self.take_mean_bias()
        self.scan()
        self.p_obj = 0.5 * self.squared_norm() + float(self.seen.loss.sum())
        if now is None:  # weights and alpha belong together: the sum shows gaps that a difference would not
            return self._progress(n_iter, float(self.seen.gap.sum()))
        self.set_bias(now)
        return self._progress(n_iter, self.p_obj - d_obj)

    def squared_norm(self) -> float:
        """Give |w|^2."""
        if isinstance(self.rows, growing.Rows):
            return float(growing.squared_norm(self.rows, self.outputs.v2))
        carried = np.flatnonzero(self.outputs.v2)
        squares = np.einsum("ij,ij->i", self.rows, self.rows, dtype=np.float64)
        return float((squares[carried] / self.outputs.v2[carried]).sum())

    def bias(self) -> npt.NDArray[np.float64]:
        """Give the weights of the last feature."""
        if not isinstance(self.rows, growing.Rows):
            return self.rows[:, -1].astype(np.float64)
        out = np.zeros(self.n_padded)
        out[self._bias_places()[0]] = self.rows.data[self._bias_places()[1]]
        return out

    def set_bias(self, values: npt.NDArray[np.float64]) -> None:
        """Set the weights of the last feature."""
        if not isinstance(self.rows, growing.Rows):
            self.rows[:, -1] = values
            return
        attributes, places = self._bias_places()
        self.rows.data[places] = values[attributes]

    def _bias_places(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Give the attributes for which the last feature has a place, and where in the pool that is."""
        assert isinstance(self.rows, growing.Rows)
        start, length, size = int(self.rows.start[-1]), int(self.rows.length[-1]), growing.BLOCK
        tags = self.rows.tag[start : start + length].astype(np.int64)
        return (tags[:, None] * size + np.arange(size)).ravel(), np.arange(start * size, (start + length) * size)

    def take_mean_bias(self) -> npt.NDArray[np.float64] | None:
        """Put the mean bias of the last sweep in the place of the one there is, and give that; None without a bias."""
        if not self.problem.constant or len(self.biases) < N_LOOKS // 2:
            return None
        now = self.bias()
        self.set_bias(np.mean(self.biases, axis=0))
        return now

    def _progress(self, n_iter: int, gap: float) -> Progress:
        gap = max(gap, 0.0)
        self.relative_gap = gap / self.p_obj if self.p_obj > 0 else 0.0
        return Progress(n_iter, self.p_obj, self.p_obj - gap, self.relative_gap, self.clock.seconds())

    def scan(self) -> None:
        """Find the exact loss and gap of all documents, in threads; those that are no longer quiet are due again."""
        matrix = self.rows.T if isinstance(self.rows, np.ndarray) else None

        def piece(first: int) -> None:
            last = min(first + AT_ONCE, self.n_samples)
            scored = None if matrix is None else self.task.X[0][first:last] @ matrix
            scores = np.zeros(self.n_padded, dtype=self.dtype)
            kernels.scan(
                self.task, first, last, self.rows, self.outputs, self.pairs, self.seen, scores, self.scratch(), scored
            )

        list(self.threads.map(piece, range(0, self.n_samples, AT_ONCE)))
        loud = self.seen.gap > self.quiet()
        self.seen.next_visit[loud] = 0
        self.seen.patience[loud] = 0
        self.exact = True

    def quiet(self) -> float:
        """Give the gap below which a document is quiet."""
        if self.relative_gap > NEAR * self.tol:
            return 0.0
        return float(QUIET_SHARE * self.tol * self.p_obj / self.n_samples)

    def scratch(self) -> kernels.Scratch:
        """Give a thread room to write to while it looks at a document."""
        q, n = self.n_classes, self.n_padded
        return kernels.Scratch(
            several=np.zeros(len(self.outputs.multi)),
            sign=np.full(q, -1.0),
            old=np.zeros(q),
            found=np.zeros(q, dtype=np.int32),
            score=np.zeros(q),
            alpha=np.zeros(q),
            moved=np.zeros(q, dtype=np.uint8),
            change=np.zeros(n),
            mark=np.zeros(n, dtype=np.uint8),
            blocks=np.zeros(n, dtype=np.int32),
        )

    def sweep(self, look: bool) -> float:
        """Step through the documents that are due, in random order of their batches; give the gap that they met."""
        self.exact = False
        self.now += 1
        quiet, n_blocks = self.quiet(), self.n_padded // growing.BLOCK
        n_threads = self.n_threads if self.busy else 1
        order = self.rng.permutation(len(self.batches))
        scratch = [self.scratch() for _ in range(n_threads)]
        scores = np.zeros((BATCH, self.n_padded), dtype=self.dtype)
        changes = kernels.Changes(
            np.zeros(BATCH, np.int64),
            np.zeros((BATCH, n_blocks), np.int32),
            np.zeros((BATCH, self.n_padded), self.dtype),
        )
        if isinstance(self.rows, growing.Rows) and len(self.rows.free) != n_threads:
            self.rows = growing.with_room(self.rows, 16 * n_blocks, n_threads)
        size = max(LEAST, -(-len(order) // N_LOOKS))
        self.biases = []
        for begin in range(0, len(order), size):
            self.clock.check()
            some = order[begin : begin + size]
            at, full, first = np.zeros((n_threads, 2), np.int64), np.zeros(1, np.int64), 0

            def part(thread: int, steps: npt.NDArray[np.int64], first: int) -> int:
                reached: int = kernels.sweep(
                    self.task, self.batches, self.grams, some, look, self.rows, self.outputs, self.lambda2, self.pairs,  # noqa: B023
                    self.seen, self.now, quiet, scores, changes, scratch[thread], thread, steps, first, at, full,  # noqa: B023
                )  # fmt: skip
                return reached

            while (first := together(self.threads, part, n_threads, first)) < len(some):
                if full[0]:
                    assert isinstance(self.rows, growing.Rows)
                    self.rows = growing.with_room(self.rows, 16 * n_blocks, n_threads)
                else:
                    self.pairs = _with_room(self.pairs, BATCH * self.n_classes)
            if self.problem.constant:
                self.biases.append(self.bias())
        return float(self.seen.gap.sum())

    def dual(self) -> sparse.csr_array:
        """Give alpha as CSR, documents by classes."""
        pairs = _with_room(self.pairs, 0)
        indptr = np.append(pairs.start, pairs.filled)
        shape = (self.n_samples, self.n_classes)
        out = sparse.csr_array((pairs.alpha, pairs.classes, indptr), shape=shape)
        out.sort_indices()
        return out


def _with_room(pairs: kernels.Pairs, room: int) -> kernels.Pairs:
    """Give the pairs side by side, document by document, with so many free places or more behind them."""
    count = pairs.count.astype(np.int64)
    start = np.cumsum(count) - count
    held = int(count.sum())
    from_ = np.repeat(pairs.start - start, count) + np.arange(held)
    size = held + (max(room, held // 2) if room else 0)
    classes, alpha = np.zeros(size, dtype=np.int32), np.zeros(size)
    classes[:held], alpha[:held] = pairs.classes[from_], pairs.alpha[from_]
    return pairs._replace(
        start=start, capacity=pairs.count.copy(), filled=np.array([held]), classes=classes, alpha=alpha
    )
