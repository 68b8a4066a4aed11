"""The large-margin perceptrons of 2013: hard (Algorithm 1), stochastic (2) and kernel stochastic (3).

The problem, over outputs z that are sign vectors closed upward (kernels/closed.py), with dPhi_i(z) = x_i (x) (y_i - z):

    max over |w| <= 1 of  min over i, z != y_i of  <w, dPhi_i(z)>

Each of T iterations finds v_t(i) = min over z != y_i of <w_t, dPhi_i(z)> for all documents, picks one, makes a step:

    wbar_{t+1} = wbar_t + dPhi_{i_t}(z_{i_t}) / sqrt(T),      w_t = wbar_t / max(1, |wbar_t|)

"hard" picks the least v_t(i), and stops when it is positive: all documents are separated. "stochastic" draws from
p_t = u_t / |u_t|, with u_{t+1} = u_t (1 - eta v_t + eta^2 v_t^2): documents that keep a small margin are drawn more and
more often. The weights u are kept in logarithms. Scores of all documents follow each step by one row of the kernel
matrix, with a linear kernel too (Algorithm 3, of which Algorithm 2 is this case), so that an iteration costs one row
and one dynamic programme a document; |wbar_t|^2 is the paper's alpha_t. Steps are counted with weight 1 here: what is
kept is sqrt(T) wbar, and beta_t = max(sqrt(T), |sqrt(T) wbar|).

The mean of all w_t follows without keeping them: step r is in every later one, so its weight in the mean is what is
left of the sum of 1 / (T beta_t) after r. The "late" mean gives w_t the weight t: it forgets how the run began.

Two accelerations (section 3.6): the documents are cut into subsets, and runs on them follow one another, each starting
from the weights the last one left, all of them several times over if there are steps for it; and the documents of an
iteration are shared among threads. The result does not depend on the number of threads.
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

from pinakes.kernels import perceptron as kernels
from pinakes.kernels.closed import BLOCK
from pinakes.solvers.expansion import Expansion, Floats, Ints, LinearRows

logger = logging.getLogger(__name__)
Stop = Literal["separated", "max_iter", "max_seconds", "interrupted"]

AT_ONCE = 256  # steps between two looks at the clock
MOST_STEPS = 2**22  # entries of steps kept at once
THREADS_ABOVE = 400_000  # documents times nodes from which a second thread pays
SUBSET = 512  # documents of a subset, if not said otherwise
PASSES = 4  # steps for each document, if not said otherwise
FEWEST_STEPS = 4000


@dataclass(frozen=True)
class MarginProgress:
    """How far a perceptron has come: iterations, least margin v_t and |wbar_t| on the documents at hand, seconds."""

    n_iter: int
    margin: float
    norm: float
    seconds: float


@dataclass(frozen=True)
class PerceptronResult:
    """Where a run ended: T |wbar|^2, the sum of 1 / beta_t (of t / beta_t for the late mean), and how it went."""

    norm2: float
    n_iter: int
    gone: float
    history: tuple[MarginProgress, ...]
    stopped: Stop

    def weights(self, expansion: Expansion, iterate: str) -> npt.NDArray[Any]:
        """Give w_T, or the mean of all w_t; where all documents have been separated, w_t as it is."""
        if iterate == "last" or self.stopped == "separated":
            length = max(math.sqrt(max(self.n_iter, 1)), math.sqrt(max(self.norm2, 0.0)))
            return expansion.final(1.0 / length, average=False)
        T = max(self.n_iter, 1)
        return expansion.final(self.gone, average=True) / (0.5 * T * (T + 1) if iterate == "late" else T)


def theorem_steps(hard: bool, epsilon: float, R: float, n_samples: int) -> int:
    """Give T for a margin within `epsilon` of the best, |Phi| <= R (Theorems 1 and 2).

    Lemma 1 asks for a bound on dPhi, which is 2 R, and its regret 2 R sqrt(T) is (1 + (2 R)^2) / 2 sqrt(T) at a step
    of 1 / sqrt(T): the larger of both stands here.
    """
    regret = max(2.0 * R, 0.5 * (1.0 + 4.0 * R * R))
    if not hard:
        regret += (8.0 * R * R + 6.0 * R + 1.0) * math.sqrt(math.log(max(n_samples, 2)))
    return math.ceil((regret / epsilon) ** 2)


class PerceptronSolver:
    """See the head of this file.

    Parameters
    ----------
    hard : bool
        Algorithm 1; else 2 and 3.
    max_iter : int
        T.
    eta : float or None
        The learning rate of u; None: min(1 / (2 R), eta_scale sqrt(log n / T)) of each run on a subset.
    eta_scale : float
        The paper's constant c.
    n_subsets : int
        Runs follow one another on so many subsets.
    iterate : {"late", "mean", "last"}
        Which iterates are wanted in the end.
    max_seconds : float
        Stop after so long, with what there is.
    n_threads : int
        Threads for large subsets.
    seed : int
        For the subsets and the draws.
    report : callable taking a MarginProgress, optional
        Called now and then.
    """

    def __init__(
        self,
        hard: bool,
        max_iter: int,
        eta: float | None = None,
        eta_scale: float = 1.0,
        n_subsets: int = 1,
        iterate: str = "last",
        max_seconds: float = math.inf,
        n_threads: int = 1,
        seed: int = 0,
        report: Callable[[MarginProgress], None] | None = None,
    ) -> None:
        self.hard, self.max_iter, self.eta, self.eta_scale = hard, max_iter, eta, eta_scale
        self.n_subsets, self.max_seconds, self.n_threads = n_subsets, max_seconds, n_threads
        self.seed, self.report, self.iterate = seed, report, iterate

    def solve(
        self,
        expansion: Expansion,
        Y: sparse.csr_array,
        parent: npt.NDArray[np.int32],
        before: PerceptronResult | None = None,
    ) -> PerceptronResult:
        """Run on the documents that `expansion` has taken; Y holds the nodes of each, closed upward. Changes it."""
        started = time.perf_counter()
        rng = np.random.default_rng(self.seed)
        n_before = before.n_iter if before else 0
        state = _State(self, expansion, Y, parent, math.sqrt(n_before + self.max_iter))
        if before:
            state.norm2, state.gone, state.n_iter = before.norm2, before.gone, n_before
        history: list[MarginProgress] = []
        stopped: Stop = "max_iter"
        try:
            with ThreadPoolExecutor(self.n_threads) as threads:
                state.threads = threads
                for part, n_steps in self._visits(Y.shape[0], rng):
                    for margin in state.visit(part, n_steps, rng):
                        norm = math.sqrt(max(state.norm2, 0.0)) / state.root_T
                        history.append(MarginProgress(state.n_iter, margin, norm, time.perf_counter() - started))
                        if self.report:
                            self.report(history[-1])
                        if history[-1].seconds > self.max_seconds:
                            raise TimeoutError
                    if state.separated:
                        stopped = "separated"
                        break
        except TimeoutError:
            stopped = "max_seconds"
        except KeyboardInterrupt:
            stopped = "interrupted"
        logger.info("%d iterations, |wbar| %.4g, %s", state.n_iter, math.sqrt(max(state.norm2, 0)), stopped)
        return PerceptronResult(state.norm2, state.n_iter, state.gone, tuple(history), stopped)

    def _visits(self, n_samples: int, rng: np.random.Generator) -> Iterator[tuple[Ints, int]]:
        """Give subsets and the steps to make on each: each document is in one of a pass; T / n passes, at least one."""
        if self.n_subsets == 1:
            yield np.arange(n_samples), self.max_iter
            return
        n_passes = max(1, round(self.max_iter / n_samples))
        n_visits = n_passes * self.n_subsets
        ends = np.linspace(0, self.max_iter, n_visits + 1).astype(np.int64)
        for k, n_steps in enumerate(np.diff(ends).tolist()):
            if k % self.n_subsets == 0:
                parts = np.array_split(rng.permutation(n_samples), self.n_subsets)
            yield parts[k % self.n_subsets], n_steps


class _State:
    """What lasts from one subset to the next, and the run on one of them."""

    threads: ThreadPoolExecutor

    def __init__(
        self,
        solver: PerceptronSolver,
        expansion: Expansion,
        Y: sparse.csr_array,
        parent: npt.NDArray[np.int32],
        root_T: float,
    ) -> None:
        self.solver, self.expansion, self.Y, self.parent, self.root_T = solver, expansion, Y, parent, root_T
        self.is_leaf = ~np.isin(np.arange(len(parent)), parent)
        self.norm2, self.gone, self.n_iter = 0.0, 0.0, 0
        self.separated = False

    def visit(self, part: Ints, n_steps: int, rng: np.random.Generator) -> Iterator[float]:
        """Make steps on one subset; gives the least margin of it now and then."""
        rows = self.expansion.part(part)
        run = self._begin(part)
        eta = self._eta(run, n_steps)
        largest = 2.0 + 2.0 * eta * self._longest(run)  # more than the root of what u grows by in a step
        rescale_every = max(1, min(64, int(500.0 / math.log(largest * largest))))
        at_once = max(1, min(AT_ONCE, MOST_STEPS // len(self.parent)))
        for done in range(0, n_steps, at_once):
            n = min(at_once, n_steps - done)
            record = _Record.of(n, len(self.parent))
            settings = (self.solver.hard, self.root_T, eta, rescale_every, rng.random(n), done)
            if isinstance(rows, LinearRows) and not self._in_threads(run):
                made = kernels.run_linear(run, *rows.arrays, *settings, *record.arrays)
            else:
                made = self._run(run, rows, settings, record)
            late = self.n_iter + 1.0 + np.arange(made) if self.solver.iterate == "late" else 1.0
            gone = self.gone + np.cumsum(late / record.betas[:made])
            self.expansion.add(part[record.picked[:made]], record.steps[:made], gone)
            self.gone = float(gone[-1]) if made else self.gone
            self.norm2 = float(run.totals[kernels.NORM2])
            self.n_iter += made
            self.separated = made < n
            yield float(record.margins[min(made, n - 1)])
            if self.separated:
                return

    def _begin(self, part: Ints) -> kernels.Run:
        n, n_nodes = len(part), len(self.parent)
        n_padded = -(-n // BLOCK) * BLOCK
        A = np.zeros((n_padded, n_nodes))
        A[:n] = self.expansion.scores(part)
        Y = self.Y[part]
        return kernels.Run(
            A=np.ascontiguousarray(A.reshape(-1, BLOCK, n_nodes).transpose(0, 2, 1)),
            Y_indptr=Y.indptr.astype(np.int32),
            Y_indices=Y.indices.astype(np.int32),
            parent=self.parent,
            is_leaf=self.is_leaf,
            kernel=np.zeros(n_padded),
            norms=np.array(self.expansion.norms(part)),
            step=np.zeros(n_nodes, dtype=np.int8),
            margin=np.zeros(n_padded),
            u=np.ones(n_padded),
            log_u=np.zeros(n_padded),
            base=np.zeros(n_padded),
            sums=np.zeros(n_padded // BLOCK),
            totals=np.array([self.norm2]),
        )

    def _longest(self, run: kernels.Run) -> float:
        """Give R: the largest |Phi(x, y)|."""
        return math.sqrt(float(run.norms.max(initial=0.0)) * len(self.parent))

    def _eta(self, run: kernels.Run, n_steps: int) -> float:
        if self.solver.hard:
            return 0.0
        if self.solver.eta is not None:
            return self.solver.eta
        slow = self.solver.eta_scale * math.sqrt(math.log(max(len(run.norms), 2)) / max(n_steps, 1))
        R = self._longest(run)
        return min(1.0 / (2.0 * R), slow) if R > 0 else slow

    def _in_threads(self, run: kernels.Run) -> bool:
        return self.solver.n_threads > 1 and run.A.size >= THREADS_ABOVE

    def _run(self, run: kernels.Run, rows: Any, settings: tuple[Any, ...], record: _Record) -> int:
        """Do what `run_linear` does, with any kernel, and in threads where it pays."""
        hard, root_T, eta, rescale_every, uniforms, done = settings
        n_samples, n_blocks = len(run.norms), len(run.sums)
        n_pieces = self.solver.n_threads if self._in_threads(run) else 1
        bounds = np.linspace(0, n_blocks, n_pieces + 1).astype(np.int64).tolist()
        for t in range(len(record.picked)):
            i = -1
            if not hard:
                if (done + t) % rescale_every == 0:
                    kernels.rescale(run)
                i = int(kernels.draw(run, uniforms[t]))
            beta = max(root_T, math.sqrt(max(run.totals[kernels.NORM2], 0.0)))
            scan = [(run, bounds[k], bounds[k + 1], eta / beta) for k in range(n_pieces)]
            if n_pieces == 1:
                kernels.scan(*scan[0])
            else:
                list(self.threads.map(lambda piece: kernels.scan(*piece), scan))
            weakest = int(np.argmin(run.margin[:n_samples]))
            record.betas[t], record.margins[t] = beta, run.margin[weakest] / beta
            if hard:
                i = weakest
                if run.margin[i] > 0:
                    return t
            kernels.choose_step(run, i)
            if isinstance(rows, LinearRows):
                rows.fill(i, run.kernel)
            else:
                run.kernel[:n_samples] = rows.row(i)
            record.picked[t], record.steps[t] = i, run.step
        return len(record.picked)


@dataclass(frozen=True)
class _Record:
    """The steps of a stretch: which document, c_t, beta_t and the least margin v_t."""

    picked: Ints
    steps: npt.NDArray[np.int8]
    betas: Floats
    margins: Floats

    @classmethod
    def of(cls, n: int, n_nodes: int) -> _Record:
        return cls(np.zeros(n, dtype=np.int64), np.zeros((n, n_nodes), dtype=np.int8), np.zeros(n), np.zeros(n))

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self.picked, self.steps, self.betas, self.margins
