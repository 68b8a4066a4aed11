"""`ascent`: block-coordinate ascent on the dual of the hierarchical SVM, with full scans kept rare.

The problem (2004 paper, Eq. 24 and 25; dPhi with the sign put right):

    min 1/2 |w|^2 + sum_i C_i xi_i    s.t.  <w, dPhi_i(y)> >= 1 - xi_i / Delta(y_i, y)  for y != y_i,   xi >= 0
    max sum alpha_iy - 1/2 |w(alpha)|^2    s.t.  alpha >= 0,  sum_y alpha_iy / Delta(y_i, y) <= C_i

with dPhi_i(y) = (Lambda(y_i) - Lambda(y)) (x) x_i. C sums over documents, it does not average. Written in beta =
alpha / Delta the duality gap is a sum over documents, each part of it >= 0:

    P - D = sum_i [ C_i xi_i - sum_y beta_iy F_iy ],     F_iy = Delta(y_i, y) (1 - <w, dPhi_i(y)>)

Where slacks are squared, it is the root of Delta that stands in the constraints (Tsochantaridis et al., JMLR 2005), so
that the mean of xi_i^2 bounds the mean loss, as the mean slack does above:

    min 1/2 |w|^2 + sum_i C_i xi_i^2  s.t.  <w, dPhi_i(y)> >= 1 - xi_i / sqrt(Delta(y_i, y))  for y != y_i,   xi >= 0
    max sum alpha_iy - 1/2 |w(alpha)|^2 - sum_i s_i^2 / (4 C_i)    s.t.  alpha >= 0,  s_i = sum_y beta_iy

    P - D = sum_i [ C_i (xi_i - s_i / (2 C_i))^2 + sum_y beta_iy (xi_i - F_iy) ],   beta = alpha / sqrt(Delta)

All else below is the same, with that root for Delta.

One round is
  1. a full scan (threads; the weights are only read): the exact gap, and for each document the few classes outside its
     active set that violate the margin most;
  2. stop if the gap is at most `tol` times the primal objective;
  3. put those classes into the active sets, drop the ones without weight;
  4. sweeps over the active sets in random order, each document's small QP solved exactly, documents that have stayed
     quiet visited more and more rarely, until the gap over the active sets is a fraction of the one the scan found.
While the gap is still large a full scan would look with stale weights for classes that will not matter. In the first
rounds, fewer of them where there is something to go on from, each document looks at all classes right before its step
instead, with the weights as they are now; the documents of each class are spread evenly over the round. In the very
first one a document takes in the classes with the smallest margins, whatever their Delta: as long as little is learnt
nearly every class violates its margin, and Delta would only name those that are farthest away. Where scores come from
matrix products, threads cannot share the steps, or documents have several labels, documents are scanned part by part,
and each part is stepped through.

A sweep takes its steps in small batches, so that threads can share them: the documents of a batch do not see each
other's steps, and then each thread changes the weights of its share of the features. Of dense documents the weights
are a dense matrix and scans are matrix products. Documents that are alike would step too far together, so batches are
no larger than 1 / (mean cosine of two documents), and become smaller if ever the dual objective falls. The result does
not depend on the number of threads.

Where documents have several labels, pairs of a label and another class take the place of classes; solvers/pairs.py has
that problem.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from threadpoolctl import threadpool_limits

from pinakes.kernels import ascent as kernels
from pinakes.kernels import rows as growing
from pinakes.kernels.pairs import Labels, PairRoom, make_pair_room, scan_pairs
from pinakes.kernels.sweep import sweep
from pinakes.kernels.threads import make_steps
from pinakes.solvers.problem import Problem, largest_delta
from pinakes.solvers.together import together

logger = logging.getLogger(__name__)
Weights = growing.Rows | npt.NDArray[Any]  # growing rows, or (n_padded, n_features) for dense documents
Stop = Literal["converged", "max_iter", "max_seconds", "interrupted"]

N_NEW = 8  # classes that one scan may add to a document's active set …
N_PAIRS = 16  # … or pairs, where documents have several labels …
N_EACH = 64  # … and where each pair has a slack: all that violate their margins will carry weight
N_ROUGH = 3  # in the first rounds documents look at all classes as they come …
N_AGAIN = 2  # … in fewer where there is something to go on from …
N_FIRST = 4  # … and take in so many …
N_PARTS = 64  # … in so many parts, growing from …
FIRST_PART = 64  # … so many documents in the very first round
INNER_SHARE = 0.25  # sweeps go on until the gap over active sets is this share of the last full one …
MISSED_SHARE = 0.12  # … to which the next scan adds about this share, for classes that were not in them …
MAX_SWEEPS = 12  # … or so many sweeps were made
FEW_OF_PAIRS = 16  # blocks of attributes up to which all are scored at each step, where documents have several labels
QUIET_SHARE = 0.5  # a document is quiet when its gap is below this share of the average one that is aimed at
QP_SHARE = 0.1  # psi of a document after its step, relative to its largest F, as a share of `tol`
N_BATCHES = 256  # a sweep has no fewer batches than this …
BATCH_SIZES = 8, 128  # … of so many documents; where fewer would do, one document at a time
SHARDS_EACH = 8  # shards of the features for each thread: the more, the less it waits for the others
AT_ONCE = 256  # dense documents that are scored by one matrix product
DOUBLE_BELOW = 1e-4  # weights are float64 when `tol` asks for more than float32 can show


@dataclass(frozen=True)
class Progress:
    """What a solver reports after each full scan; of the first rounds, estimates with the weights of many moments."""

    n_iter: int
    p_obj: float
    d_obj: float
    gap: float  # relative to p_obj
    seconds: float


@dataclass(frozen=True)
class SolverResult:
    """The weights, the dual variables, and how the run went."""

    rows: Weights  # n_features x n_attributes: v_z w_z
    beta: sparse.csr_array  # n_samples x n_classes: alpha / Delta; of pairs, a column y n_classes + ybar for each
    history: tuple[Progress, ...]
    stopped: Stop

    @property
    def last(self) -> Progress:
        return self.history[-1]


@dataclass(frozen=True)
class Start:
    """Where to begin: weights and dual variables that belong together, such as those of a smaller C."""

    rows: growing.Rows  # only read
    beta: sparse.csr_array | None = None  # None: the weights stay as a constant, and the documents are new
    scale: float = 1.0  # what the weights are to be multiplied by; `beta` is as it will be


class AscentSolver:
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
        Threads for the scans.
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

    def solve(self, problem: Problem, start: Start | None = None) -> SolverResult:
        """Run until the gap is small enough, or rounds or time run out, or an interrupt comes."""
        state = _State(problem, self.tol, start, Clock(self.max_seconds))
        history: list[Progress] = []
        stopped: Stop = "max_iter"
        try:
            with threadpool_limits(1, "blas"), ThreadPoolExecutor(self.n_threads) as threads:
                state.threads, state.n_threads = threads, self.n_threads
                for progress in self._rounds(state, start is None):
                    history.append(progress)
                    logger.info("round %d: primal %.6g, gap %.3g", progress.n_iter, progress.p_obj, progress.gap)
                    if self.report:
                        self.report(progress)
                    if state.exact and progress.gap <= self.tol:
                        stopped = "converged"
                        break
        except TimeIsUp:
            stopped = "max_seconds"
        except KeyboardInterrupt:
            stopped = "interrupted"
        if not history or stopped in ("max_seconds", "interrupted"):
            history.append(state.progress(len(history) + 1))
        rows = growing.compact(state.rows) if isinstance(state.rows, growing.Rows) else state.rows
        return SolverResult(rows, state.dual(), tuple(history), stopped)

    @staticmethod
    def _goal(gap: float, wanted: float) -> float:
        """Give the gap over active sets to sweep down to, where the last scan found `gap`."""
        last = 0.95 * wanted - MISSED_SHARE * gap  # so that the next scan is the last
        return max(INNER_SHARE * gap, last)

    def _rounds(self, state: _State, anew: bool) -> Iterator[Progress]:
        rng = np.random.default_rng(self.seed)
        n_rough = N_ROUGH if anew else N_AGAIN
        best = -math.inf
        for n_iter in range(1, self.max_iter + 1):
            if n_iter <= n_rough:
                state.go_through(_evenly(rng, state.first_class), very_first=anew and n_iter == 1)
            else:
                if n_iter > 1:
                    state.merge()  # 3.
                    state.sweeps(rng, self._goal(state.gap.sum(), self.tol * state.p_obj))  # 4.
                state.scan(state.by_class(np.arange(state.n_samples)))  # 1.
            progress = state.progress(n_iter)
            if state.exact and progress.d_obj < best:
                state.batch = max(1, state.batch // 4)
            best = max(best, progress.d_obj) if state.exact else best
            yield progress


def _most_new(problem: Problem) -> int:
    """Say how many classes or pairs one scan may add to a document's active set."""
    n_classes = len(problem.outputs.own)
    if not isinstance(problem.y, Labels):
        return min(N_NEW, n_classes - 1)
    n_labels = np.diff(problem.y.indptr)
    n_pairs = int((n_labels * (n_classes - n_labels)).max(initial=1))
    return max(1, min(N_EACH if problem.y.each else N_PAIRS, n_pairs))


def _largest_slack(problem: Problem) -> npt.NDArray[np.float64]:
    """Give the slack of each document where all weights are 0, or a little more: no Delta(y, .) is larger."""
    outputs, y = problem.outputs, problem.y
    if isinstance(y, Labels):
        others = len(outputs.own) - np.diff(y.indptr) if y.each else np.ones(len(y.indptr) - 1)
        gather = np.add if y.each else np.maximum
        return others * gather.reduceat(y.most[y.indices], y.indptr[:-1])
    return largest_delta(outputs)[y]


def _batch_size(X: sparse.csr_array | npt.NDArray[Any], x_norm2: npt.NDArray[np.float64]) -> int:
    """Say how many documents may take their steps without seeing each other's."""
    mean = np.asarray(X.mean(axis=0)).ravel().astype(np.float64)
    likeness = float(mean @ mean) / max(float(x_norm2.mean()), 1e-300)
    size = int(min(BATCH_SIZES[1], X.shape[0] / N_BATCHES, 1 / max(likeness, 1e-9)))
    return size if size >= BATCH_SIZES[0] else 1


def _evenly(rng: np.random.Generator, y: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Give a random order of the documents in which those of each class are spread evenly."""
    by_class = np.lexsort((rng.random(len(y)), y))
    count = np.bincount(y)
    place = np.arange(len(y)) - (np.cumsum(count) - count)[y[by_class]]  # of a document among those of its class
    at = (place + rng.random(len(y))) / count[y[by_class]]
    order: npt.NDArray[np.int64] = by_class[np.argsort(at)]
    return order


def _parts(order: npt.NDArray[np.int64], first: int) -> Iterator[npt.NDArray[np.int64]]:
    largest = max(FIRST_PART, -(-len(order) // N_PARTS))
    size, start = min(first, largest), 0
    while start < len(order):
        yield order[start : start + size]
        start += size
        size = min(2 * size, largest)


class TimeIsUp(Exception):
    """The time that was given is used up."""


class Clock:
    """Counts the seconds since it was made, and says when they are used up."""

    def __init__(self, max_seconds: float = math.inf) -> None:
        self.started, self.max_seconds = time.perf_counter(), max_seconds

    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def check(self) -> None:
        if self.seconds() > self.max_seconds:
            raise TimeIsUp


class _State:
    """The arrays that change while solving, and the steps that change them."""

    threads: ThreadPoolExecutor
    n_threads: int

    def __init__(self, problem: Problem, tol: float, start: Start | None, clock: Clock) -> None:
        n_samples = self.n_samples = len(problem.C)
        self.problem, self.clock, self.precision = problem, clock, QP_SHARE * min(tol, 0.01)
        self.n_padded = len(problem.outputs.v2)
        y = problem.y
        self.paired = isinstance(y, Labels)
        self.few = self.n_padded <= (FEW_OF_PAIRS if self.paired else growing.FEW_BLOCKS) * growing.BLOCK
        dtype = np.float64 if tol < DOUBLE_BELOW else np.float32
        X = problem.X
        self.rows: Weights
        self.documents: tuple[Any, ...]  # indptr, indices and data; of dense documents the matrix alone
        if isinstance(X, np.ndarray):
            self.documents = (np.ascontiguousarray(X, dtype=dtype),)
            self.rows = np.zeros((self.n_padded, X.shape[1]), dtype)
            if start is not None:
                self.rows[:] = start.scale * growing.rows_to_csr(start.rows, self.n_padded).toarray().T
            self.x_norm2 = np.einsum("ij,ij->i", X, X, dtype=np.float64)
        else:
            self.documents = X.indptr, X.indices, X.data
            if start is None:
                self.rows = growing.empty_rows(X.shape[1], self.n_padded, dtype)
            else:
                self.rows = growing.scaled(start.rows, start.scale)
            self.x_norm2 = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
        # documents that are scanned one after the other have the same class, or first label
        self.first_class = y.indices[y.indptr[:-1]] if isinstance(y, Labels) else y
        self.longest_path = int(np.diff(problem.outputs.path_indptr).max(initial=1))
        self.batch = _batch_size(problem.X, self.x_norm2)
        beta = start.beta if start is not None and start.beta is not None else sparse.csr_array((n_samples, 1))
        self.active_indptr = beta.indptr.astype(np.int64)
        self.active_count = np.diff(beta.indptr).astype(np.int32)
        code = np.int64 if self.paired else np.int32
        self.active, self.beta = beta.indices.astype(code), beta.data.astype(np.float64)
        self.new_classes = np.zeros((n_samples, _most_new(problem)), dtype=code)
        self.new_count = np.zeros(n_samples, dtype=np.int32)
        self.slack = _largest_slack(problem)  # of documents that were not looked at yet, without weights
        self.gap = self.cost()
        self.p_obj = 0.0
        self.next_visit, self.patience = np.zeros(n_samples, dtype=np.int64), np.zeros(n_samples, dtype=np.int64)
        self.now = 0
        self.exact = False  # whether slack and gap are those of the weights as they are

    def progress(self, n_iter: int) -> Progress:
        """Sum up slack and gap as they were last seen."""
        if isinstance(self.rows, growing.Rows):
            norm2 = growing.squared_norm(self.rows, self.problem.outputs.v2)
        else:
            carried = np.flatnonzero(self.problem.outputs.v2)
            squares = np.einsum("ij,ij->i", self.rows, self.rows, dtype=np.float64)
            norm2 = float((squares[carried] / self.problem.outputs.v2[carried]).sum())
        self.p_obj = 0.5 * norm2 + float(self.cost().sum())
        gap = max(float(self.gap.sum()), 0.0)
        relative = gap / self.p_obj if self.p_obj > 0 else 0.0
        return Progress(n_iter, self.p_obj, self.p_obj - gap, relative, self.clock.seconds())

    def cost(self) -> npt.NDArray[np.float64]:
        """What the slack of each document costs."""
        xi = self.slack * self.slack if self.problem.outputs.squared else self.slack
        return np.asarray(self.problem.C * xi)

    def go_through(self, order: npt.NDArray[np.int64], very_first: bool) -> None:
        """Let each document find violators and step, part by part; in the very first round parts begin small."""
        self.merge()
        self.exact = False
        look = 0 if self.paired or self.batch == 1 or isinstance(self.rows, np.ndarray) else N_FIRST
        for part in [order] if self.few else _parts(order, FIRST_PART if very_first else self.n_samples):
            if not self.few and look == 0:
                self.scan(self.by_class(part))
                kernels.insert_active(
                    part, self.active_indptr, self.active_count, self.active, self.beta,
                    self.new_count, self.new_classes, 2 * N_FIRST if self.paired else N_FIRST,
                )  # fmt: skip
                self.new_count[part] = 0
            self.now += 1
            self.sweep(part, 0.0, look, by_margin=very_first and not self.few)

    def by_class(self, part: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Sort documents by class, or first label."""
        return part[np.argsort(self.first_class[part], kind="stable")]

    def scan(self, order: npt.NDArray[np.int64]) -> None:
        """Look at all classes of some documents, in threads: sets slack, gap, new_classes and new_count."""
        self.clock.check()
        y, outputs = self.problem.y, self.problem.outputs
        look = scan_pairs if self.paired else kernels.scan
        matrix = self.rows.T if isinstance(self.rows, np.ndarray) else None
        n_pieces = 1 if self.n_threads == 1 else max(1, min(8 * self.n_threads, len(order) // 64))
        n_pieces = n_pieces if matrix is None else -(-len(order) // AT_ONCE)
        bounds = np.linspace(0, len(order), n_pieces + 1).astype(np.int64)

        def piece(k: int) -> None:
            room = self.room(self.new_classes.shape[1])
            scored = None if matrix is None else self.documents[0][order[bounds[k] : bounds[k + 1]]] @ matrix
            look(
                self.documents, y, self.problem.C, order, bounds[k], bounds[k + 1],
                self.rows, outputs, self.active_indptr, self.active_count, self.active, self.beta,
                self.slack, self.gap, self.new_classes, self.new_count, self.scratch(), room, scored,
            )  # fmt: skip

        list(self.threads.map(piece, range(n_pieces)))
        self.exact = len(order) == self.n_samples

    def scratch(self) -> kernels.Scratch:
        """Give a thread room to write to while it looks at a document."""
        # a start may have weights of another type than `tol` asks for
        n, dtype = self.n_padded, (self.rows if isinstance(self.rows, np.ndarray) else self.rows.data).dtype
        outputs = self.problem.outputs
        return kernels.Scratch(
            np.zeros(n, dtype), np.zeros(n, dtype), np.zeros(len(outputs.multi)),
            np.zeros(outputs.first_own + 2, dtype), np.zeros(n), np.zeros(n, np.uint8), np.zeros(n, np.int32),
        )  # fmt: skip

    def room(self, widest: int) -> kernels.ClassRoom | PairRoom:
        """Give a thread room for documents with at most `widest` active classes or pairs."""
        if not isinstance(self.problem.y, Labels):
            return kernels.make_class_room(widest)
        return make_pair_room(widest, len(self.problem.outputs.own), self.problem.y.each)

    def merge(self) -> None:
        """Rebuild the active sets from those with weight and those the scan found, with free places for more."""
        spare = self.new_classes.shape[1]
        indptr, count = np.zeros_like(self.active_indptr), np.zeros_like(self.active_count)
        room = len(self.active) + int(self.new_count.sum()) + spare * len(count)
        merged, weight = np.zeros(room, dtype=np.int32), np.zeros(room)
        kernels.merge_active(
            self.active_indptr, self.active_count, self.active, self.beta, self.new_count, self.new_classes, spare,
            indptr, count, merged, weight,
        )  # fmt: skip
        fresh = self.new_count > 0
        self.next_visit[fresh] = 0
        self.patience[fresh] = 0
        self.new_count[:] = 0
        self.active_indptr, self.active_count = indptr, count
        self.active, self.beta = merged[: indptr[-1]].copy(), weight[: indptr[-1]].copy()

    def sweeps(self, rng: np.random.Generator, goal: float) -> None:
        """Sweep over the active sets until the gap, as the documents met it, is at most `goal`."""
        self.exact = False
        for _ in range(MAX_SWEEPS):
            self.now += 1
            if self.sweep(rng.permutation(self.n_samples), QUIET_SHARE * goal / self.n_samples) <= goal:
                break

    def sweep(self, order: npt.NDArray[np.int64], quiet: float, look: int = 0, by_margin: bool = False) -> float:
        """Step through some documents; give the gap over active sets as the documents met it.

        Before its step a document takes up to `look` violators into its active set, the worst by margin alone if
        `by_margin`. Where attributes are few all classes are scored anyway, and as many as there is room for come in.
        """
        self.clock.check()
        outputs, n_threads = self.problem.outputs, self.n_threads if self.batch > 1 else 1
        n_shards = 1 if n_threads == 1 else SHARDS_EACH * n_threads
        order = order[self.next_visit[order] <= self.now]
        widest = int(np.diff(self.active_indptr).max(initial=1))
        n_blocks = self.n_padded // growing.BLOCK
        n_ways = 2 * widest if self.paired else widest + 1  # classes whose paths one step may change
        most = min(n_blocks, n_ways * self.longest_path)
        look = self.new_classes.shape[1] if self.few else look
        scratch, rooms = [self.scratch() for _ in range(n_threads)], [self.room(widest) for _ in range(n_threads)]
        changes = kernels.Changes(
            np.zeros(self.batch, np.int64),
            np.zeros((self.batch, most), np.int32),
            np.zeros((self.batch, most * growing.BLOCK), scratch[0].scores.dtype),
        )
        if isinstance(self.rows, growing.Rows) and len(self.rows.free) != n_shards:
            self.rows = growing.with_room(self.rows, 16 * n_blocks, n_shards, self.threads.map)
        taken, at, full, first = make_steps(1), np.zeros((n_shards, 2), np.int64), np.zeros(1, np.int64), 0

        def part(thread: int, steps: npt.NDArray[np.int64], first: int) -> int:
            reached: int = sweep(
                self.documents, self.x_norm2, self.problem.y, self.problem.C, order, self.batch, look, by_margin,
                self.rows, outputs, self.active_indptr, self.active_count, self.active, self.beta,
                self.next_visit, self.patience, self.now, quiet, self.precision, self.slack, self.gap, changes,
                rooms[thread], scratch[thread], thread, steps, taken, first, at, full,
            )  # fmt: skip
            return reached

        while (first := together(self.threads, part, n_threads, first)) < len(order):
            assert isinstance(self.rows, growing.Rows)
            self.rows = growing.with_room(self.rows, 16 * n_blocks, n_shards, self.threads.map)
        return float(self.gap[order].sum())

    def dual(self) -> sparse.csr_array:
        """Give beta = alpha / Delta as CSR, documents by classes, or by pairs."""
        owner = np.repeat(np.arange(self.n_samples), np.diff(self.active_indptr))
        place = np.arange(len(self.active)) - self.active_indptr[owner]
        used = (place < self.active_count[owner]) & (self.beta > 0)
        n_classes = len(self.problem.outputs.own)
        shape = (self.n_samples, n_classes**2 if self.paired else n_classes)
        return sparse.csr_array((self.beta[used], (owner[used], self.active[used])), shape=shape)
