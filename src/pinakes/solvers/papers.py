"""`greedy`, `joint`, `exhaustive`: the papers' own algorithms for the hierarchical SVM, with kernels on documents.

The problem is the dual that `ascent` solves too (2004 paper, Eq. 25; written in beta = alpha / Delta):

    max sum alpha_iy - 1/2 |w(alpha)|^2    s.t.  alpha >= 0,  sum_y alpha_iy / Delta(y_i, y) <= C_i
    <dPhi_i(y), dPhi_j(y')> = <Lambda(y_i) - Lambda(y), Lambda(y_j) - Lambda(y')> K(x_i, x_j)

    F_iy  = Delta(y_i, y) (1 - <w, dPhi_i(y)>)                                             (Eq. 28)
    psi_i = max_y F_iy - min over y with weight of F_iy;  y_i has the weight the others leave  (Eq. 33)

Algorithm 1 of the 2004 paper, with the numbers of its steps:

    5, 6, 7   take the document with the largest psi, and put its most violated class into its set S_i
    8a        `greedy`: solve the QP over S_i
    8b        `joint`: solve the QP over the sets of all documents
    9         classes without weight leave S_i
    4         scores, and so F, are kept for all documents and classes, and brought up to date by one row of the kernel
              matrix a step

`exhaustive` is Algorithm 1 of the 2003 paper: S_i holds all classes, always. It begins with the largest psi, as all
its later steps do, not with a document drawn at random. `sweeps` visits the documents in random order instead, each
with its most violated class as in `greedy`: what `ascent` does where the kernel is not linear.

Where slacks are squared (solvers/ascent.py) the same steps climb that dual; psi is then that of the derivatives
F_iy - s_i / (2 C_i), and the slack's own is 0 always.

The papers stop when the largest psi is at most epsilon. The gap is known at every step, as psi is, and sum_i C_i psi_i
bounds it; so all of these stop on the relative gap, as `ascent` does, and on epsilon too if asked.
Scores take n_samples x n_classes numbers, and the classes n_classes x n_classes: these algorithms are for small
problems.

Given label sets, these solve the problem of solvers/pairs.py, and `greedy` is Algorithm 1 of the 2007 paper: S_i then
holds pairs of a label and another class, and a document's most violated pair joins it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.errors import ParameterError
from pinakes.kernels import gram as kernels
from pinakes.kernels.outputs import Outputs
from pinakes.kernels.pairs import Labels
from pinakes.solvers.ascent import Clock, Progress, Stop, TimeIsUp
from pinakes.solvers.kernel_rows import KernelRows

logger = logging.getLogger(__name__)
Floats = npt.NDArray[np.float64]

ALGORITHMS = ("greedy", "joint", "exhaustive", "sweeps")
MOST_CLASSES = 4000
MOST_CELLS = 2**28  # of beta: 2 GB, and as much for scores
QP_SHARE = 0.1  # psi up to which a QP is solved, as a share of the psi that would do if all documents had it
ENOUGH = 0.05  # psi up to which 8b is solved, as a share of the one that was selected: more sets will come
MOST_INNER = 1000  # steps that one solution of 8b may take, for each document that takes part


@dataclass(frozen=True)
class Steps:
    """What happened at each step: arrays with one entry for each document (or, in `joint`, each selection).

    Objectives, gap and ratio are those after the step; `psi` is what the selected document had before it.
    """

    document: npt.NDArray[np.int64]
    psi: Floats
    p_obj: Floats
    d_obj: Floats
    gap: Floats  # relative to p_obj
    active_ratio: Floats  # Eq. 41
    seconds: Floats

    def __len__(self) -> int:
        return len(self.document)


@dataclass(frozen=True)
class PaperResult:
    """The dual variables, what happened step by step and round by round, and the last psi of each document."""

    beta: sparse.csr_array  # n_samples x n_classes: alpha / Delta; of pairs, a column y n_classes + ybar for each
    history: Steps
    rounds: tuple[Progress, ...]
    psi: Floats
    stopped: Stop

    @property
    def last(self) -> Progress:
        return self.rounds[-1]


class PaperSolver:
    """See the head of this file.

    Parameters
    ----------
    algorithm : {"greedy", "joint", "exhaustive", "sweeps"}
    tol : float
        Relative duality gap at which to stop.
    epsilon : float or None
        Stop also when psi of all documents is at most this, as the papers do.
    max_iter : int
        Most rounds. A round is as many steps as there are documents; a step of `joint` is one selection with the
        QP over all sets that follows it.
    max_seconds : float
        Stop after so long, with what there is.
    seed : int
        For the order of the documents in `sweeps`.
    report : callable taking a Progress, optional
        Called after every round.
    qp : {"pairs", "interior"}
        How one document's QP is solved: by moving weight between two classes at a time, or by an interior-point method
        over all selected classes, as in the papers; that costs their number cubed.
    """

    def __init__(
        self,
        algorithm: str = "greedy",
        tol: float = 1e-2,
        epsilon: float | None = None,
        max_iter: int = 1000,
        max_seconds: float = math.inf,
        seed: int = 0,
        report: Callable[[Progress], None] | None = None,
        qp: str = "pairs",
    ) -> None:
        if algorithm not in ALGORITHMS:
            raise ParameterError(f"`algorithm` must be one of {', '.join(map(repr, ALGORITHMS))}, got {algorithm!r}")
        if qp not in ("pairs", "interior"):
            raise ParameterError(f"`qp` must be 'pairs' or 'interior', got {qp!r}")
        self.qp = qp
        self.algorithm, self.tol, self.epsilon = algorithm, tol, epsilon
        self.max_iter, self.max_seconds, self.seed, self.report = max_iter, max_seconds, seed, report

    def solve(self, rows: KernelRows, y: npt.NDArray[np.int32] | Labels, C: Floats, outputs: Outputs) -> PaperResult:
        """Run until the gap is small enough, or steps or time run out, or an interrupt comes.

        `rows` are the documents as their kernel sees them, `y` their classes or label sets, and `C` their costs.
        """
        _check_size(y, len(outputs.own))
        if outputs.squared and self.qp == "interior":
            raise ParameterError("`qp`='interior' is for slacks that are not squared; use 'pairs'")
        state = _State(rows, y, C, outputs, self.algorithm == "exhaustive", Clock(self.max_seconds))
        state.interior = self.qp == "interior"
        rounds: list[Progress] = []
        stopped: Stop = "max_iter"
        try:
            if self._done(state):
                stopped = "converged"
            for n_steps, i in enumerate(self._selections(state) if stopped == "max_iter" else (), start=1):
                psi = float(state.dual.psi[i])
                self._step(state, i)
                state.record(i, psi)
                done = self._done(state)
                if done or n_steps % state.n_samples == 0:
                    rounds.append(state.progress())
                    logger.info("round %d: primal %.6g, gap %.3g", len(rounds), state.p_obj, state.gap)
                    if self.report:
                        self.report(rounds[-1])
                if done:
                    stopped = "converged"
                    break
        except TimeIsUp:
            stopped = "max_seconds"
        except KeyboardInterrupt:
            stopped = "interrupted"
        if not rounds or stopped in ("max_seconds", "interrupted"):
            last = state.progress()
            rounds = [*(r for r in rounds if r.n_iter < last.n_iter), last]
        return PaperResult(state.beta(), state.history(), tuple(rounds), state.dual.psi.copy(), stopped)

    def _selections(self, state: _State) -> Iterator[int]:
        """Give the document of each step (5.); in `sweeps` one with nothing to gain gives its turn to the worst."""
        rng = np.random.default_rng(self.seed)
        psi = state.dual.psi
        for _ in range(self.max_iter):
            for i in rng.permutation(state.n_samples):
                in_turn = self.algorithm == "sweeps" and psi[i] > self._precision(state)
                yield int(i) if in_turn else int(psi.argmax())

    def _step(self, state: _State, i: int) -> None:
        precision = self._precision(state)
        enough = max(precision, ENOUGH * float(state.dual.psi[i]))
        if self.algorithm != "exhaustive":
            state.select_worst(i)  # 6., 7.
        state.optimise(i, precision)  # 8a.
        if self.algorithm == "joint":
            state.optimise_all(enough, precision)  # 8b.
        if self.algorithm != "exhaustive":
            state.drop_zeros(i)  # 9.

    def _precision(self, state: _State) -> float:
        """Give the psi at which a document is done: if it were that of all, the rules for stopping were met by far."""
        return QP_SHARE * max(self.tol * state.p_obj / state.largest_budget(), self.epsilon or 0.0)

    def _done(self, state: _State) -> bool:
        state.sum_up()
        return state.gap <= self.tol or (self.epsilon is not None and bool(state.dual.psi.max() <= self.epsilon))


def _check_size(y: npt.NDArray[np.int32] | Labels, n_classes: int) -> None:
    cure = "use solver='ascent' with kernel='linear', which has no such limit"
    n_rows, row = (len(y.indices), "label") if isinstance(y, Labels) else (len(y), "document")
    if n_classes > MOST_CLASSES:
        raise ParameterError(
            f"the papers' solvers and kernels that are not linear take at most {MOST_CLASSES} classes, "
            f"got {n_classes}: {cure}"
        )
    if n_rows * n_classes > MOST_CELLS:
        raise ParameterError(
            "the papers' solvers and kernels that are not linear take at most "
            f"{MOST_CELLS:,} pairs of a {row} and a class, got {n_rows:,} x {n_classes:,}: {cure}"
        )


class _State:
    """The arrays that change while solving, and the steps that change them."""

    def __init__(
        self,
        rows: KernelRows,
        y: npt.NDArray[np.int32] | Labels,
        C: Floats,
        outputs: Outputs,
        all_selected: bool,
        clock: Clock,
    ) -> None:
        n_samples, n_classes = self.n_samples, self.n_classes = len(C), len(outputs.own)
        self.paired = isinstance(y, Labels)
        if not isinstance(y, Labels):
            y = Labels(np.arange(n_samples + 1), y.astype(np.int32), np.zeros(0), False)
        self.labels = y
        self.rows, self.C, self.clock = rows, np.ascontiguousarray(C, dtype=np.float64), clock
        self.total_C, self.squared = float(self.C.sum()), outputs.squared
        self.interior = False
        self.gram, self.delta = np.empty((n_classes, n_classes)), np.empty((n_classes, n_classes))
        kernels.class_tables(outputs, self.gram, self.delta)
        n_labels = np.diff(y.indptr)
        self.owner = np.repeat(np.arange(n_samples), n_labels)  # document of each row
        self.n_pairs = int((n_labels * (n_classes - n_labels)).sum())
        shape = (len(y.indices), n_classes)
        selected = np.full(shape, all_selected)
        for i in range(n_samples):
            selected[y.indptr[i] : y.indptr[i + 1], y.indices[y.indptr[i] : y.indptr[i + 1]]] = False
        sums = {name: np.zeros(n_samples) for name in ("slack", "psi", "psi_selected", "carried", "alpha", "spent")}
        count, scores = np.zeros(n_samples, dtype=np.int64), np.zeros((n_samples, n_classes))
        self.dual = kernels.Dual(scores=scores, beta=np.zeros(shape), selected=selected, count=count, **sums)
        kernels.start(y, self.C, self.squared, self.delta, self.dual)  # 2.
        self.records: list[tuple[Any, ...]] = []
        self.sum_up()

    def select_worst(self, i: int) -> None:
        """Put the class y != y_i with the largest F_iy into S_i; of label sets, the pair of a label and another class.

        Where each pair has a slack, the largest of those that have not used it up.
        """
        rows = slice(self.labels.indptr[i], self.labels.indptr[i + 1])
        own, scores = self.labels.indices[rows], self.dual.scores[i]
        F_i = self.delta[own] * (1.0 - scores[own][:, None] + scores)
        F_i[:, own] = -np.inf
        if self.labels.each:
            F_i[self.dual.beta[rows] >= self.C[i]] = -np.inf
        worst = int(F_i.argmax())
        if np.isfinite(F_i.flat[worst]):
            self.dual.selected[rows].flat[worst] = True

    def optimise(self, i: int, precision: float) -> None:
        """Solve the QP over S_i, and bring everything up to date."""
        self.clock.check()
        row = self.rows.row(i)  # the step itself is one call, which an interrupt cannot cut in two
        kernels.document_step(
            i, self.labels, self.C, self.squared, self.gram, self.delta, row, precision, self.interior, self.dual
        )

    def optimise_all(self, enough: float, precision: float) -> None:
        """Solve the QP over all sets S_i until psi is `enough`, by steps on the document with the largest."""
        for _ in range(MOST_INNER * int(self.dual.selected.any(axis=1).sum())):
            i = int(self.dual.psi_selected.argmax())
            if self.dual.psi_selected[i] <= enough:
                break
            self.optimise(i, precision)

    def drop_zeros(self, i: int) -> None:
        """Let what has no weight leave S_i."""
        rows = slice(self.labels.indptr[i], self.labels.indptr[i + 1])
        self.dual.selected[rows] &= self.dual.beta[rows] > 0
        kernels.measure(i, self.C[i], self.squared, self.labels, self.delta, self.dual)

    def sum_up(self) -> None:
        """Set objectives and gap from the sums over each document."""
        dual = self.dual
        alpha, norm2 = float(dual.alpha.sum()), float((dual.alpha - dual.carried).sum())
        cost, spent = self.C * dual.slack, np.zeros(self.n_samples)
        if self.squared:
            cost, spent = cost * dual.slack, dual.spent**2 / (4 * self.C)
        self.p_obj, self.d_obj = 0.5 * norm2 + float(cost.sum()), alpha - 0.5 * norm2 - float(spent.sum())
        gap = max(float((cost + spent - dual.carried).sum()), 0.0)
        self.gap = gap / self.p_obj if self.p_obj > 0 else 0.0

    def largest_budget(self) -> float:
        """Give what all beta may sum to: psi times it bounds the gap; of squared slacks, where p_obj is the optimum."""
        return 2 * math.sqrt(self.total_C * self.p_obj) if self.squared else self.total_C  # sum of 2 C_i xi_i

    def record(self, i: int, psi: float) -> None:
        self.sum_up()
        ratio = int(self.dual.count.sum()) / max(self.n_pairs, 1)  # Eq. 41
        self.records.append((i, psi, self.p_obj, self.d_obj, self.gap, ratio, self.clock.seconds()))

    def progress(self) -> Progress:
        self.sum_up()
        n_iter = max(1, -(-len(self.records) // self.n_samples))
        return Progress(n_iter, self.p_obj, self.p_obj * (1 - self.gap), self.gap, self.clock.seconds())

    def history(self) -> Steps:
        table = np.array(self.records, dtype=np.float64).reshape(-1, 7).T
        return Steps(table[0].astype(np.int64), *(np.ascontiguousarray(column) for column in table[1:]))

    def beta(self) -> sparse.csr_array:
        """Give beta = alpha / Delta as CSR, documents by classes, or by pairs."""
        if not self.paired:
            return sparse.csr_array(self.dual.beta)
        r, k = np.nonzero(self.dual.beta)
        pair = self.labels.indices[r].astype(np.int64) * self.n_classes + k
        shape = (self.n_samples, self.n_classes**2)
        return sparse.csr_array((self.dual.beta[r, k], (self.owner[r], pair)), shape=shape)
