"""MinOver: a perceptron that always corrects the worst pair, for one label or several (2007 paper, Algorithm 2).

    repeat   (i, y, ybar) = argmin over documents i, y in Y_i, ybar not in Y_i of <w, dPhi_i(y, ybar)>
             stop if it is larger than the wanted margin
             alpha_{i,y,ybar} += Delta(y, ybar)

    w = sum of alpha dPhi,     dPhi_i(y, ybar) = Phi(x_i, y) - Phi(x_i, ybar) = (Lambda(y) - Lambda(ybar)) (x) x_i

so that w_z changes by Delta v_z x_i for the nodes z that only y has above itself, and by the opposite for those that
only ybar has. Where all pairs can be put in order, w / |w| tends to the direction of the largest margin (Krauth and
Mezard, 1987): any w' of length 1 with all margins >= kappa has <w, w'> >= kappa sum of alpha, and so

    min <w, dPhi> / |w|  <=  largest margin  <=  |w| / sum of alpha

which is told at every step, and closes as the steps go on.

Documents that contradict each other would be corrected in turn for ever, and nothing else would. So each document may
be given a word of its own, of the squared length `softness`, which no other has: then everything can be put in order,
and the largest margin is that of the support vector machine with squared slacks,

    min 1/2 |w|^2 + 1 / (2 softness) |slacks|^2     s.t.  <w, dPhi> >= 1 - slack

with slacks that are themselves linear in Lambda(y) - Lambda(ybar). These words are forgotten in the end.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.documents import as_csr
from pinakes.kernels import minover as kernels
from pinakes.kernels import rows as growing
from pinakes.kernels.outputs import Outputs

logger = logging.getLogger(__name__)
Stop = Literal["separated", "max_iter", "max_seconds", "interrupted"]

N_RIVALS = 4  # classes of a document whose scores are kept exactly
N_PARTS = 64  # of the classes, with a bound each
FIRST, MOST = 16, 4096  # steps between two looks at the clock: fewest and most
SECONDS = 0.2  # about so long between two looks


class MinOverProgress(NamedTuple):
    """How far it has come: steps, the smallest <w, dPhi>, |w|, the sum of alpha, and seconds."""

    n_iter: int
    worst: float
    norm: float
    sum_alpha: float
    seconds: float

    @property
    def margin(self) -> float:
        """The smallest margin of all pairs, for w of length 1; no w has a larger one than `bound`."""
        return self.worst / self.norm if self.norm > 0 else 0.0

    @property
    def bound(self) -> float:
        return self.norm / self.sum_alpha if self.sum_alpha > 0 else math.inf


@dataclass(frozen=True)
class MinOverResult:
    """Where a run ended.

    Attributes
    ----------
    rows : Rows
        v_z w_z, features by attributes.
    steps : ndarray of int32 (n_iter, 3)
        Document, label and rival of every step.
    worst : ndarray (n_iter,)
        <w, dPhi> of that pair before the step.
    history : tuple of MinOverProgress
        Now and then, and at the end.
    stopped : {"separated", "max_iter", "max_seconds", "interrupted"}
    n_looks : int
        How many times all classes of a document were scored.
    """

    rows: growing.Rows
    steps: npt.NDArray[np.int32]
    worst: npt.NDArray[np.float64]
    history: tuple[MinOverProgress, ...]
    stopped: Stop
    n_looks: int


class MinOverSolver:
    """See the head of this file.

    Parameters
    ----------
    margin : float
        Stop when every pair has <w, dPhi> larger than this.
    max_iter : int
        Most steps.
    max_seconds : float
        Stop after so long, with what there is.
    report : callable taking a MinOverProgress, optional
        Called now and then.
    softness : float
        Squared length of the word that each document has for itself.
    """

    def __init__(
        self,
        margin: float,
        max_iter: int,
        max_seconds: float = math.inf,
        report: Callable[[MinOverProgress], None] | None = None,
        softness: float = 0.0,
    ) -> None:
        self.margin, self.max_iter, self.max_seconds, self.report = margin, max_iter, max_seconds, report
        self.softness = softness

    def solve(self, X: sparse.csr_array, Y: sparse.csr_array, outputs: Outputs) -> MinOverResult:
        """Learn from documents and which classes are theirs; documents without a pair to order say nothing."""
        started = time.perf_counter()
        n_samples, n_classes = Y.shape
        n_features, n_padded = X.shape[1], len(outputs.v2)
        X = X.astype(np.float64)
        if self.softness > 0:
            own: Any = sparse.eye_array(n_samples, format="csr") * math.sqrt(self.softness)
            X = as_csr(sparse.hstack([X, own], format="csr"))
        n_blocks = n_padded // growing.BLOCK
        rows = growing.empty_rows(X.shape[1], n_padded, np.float64)
        documents = X.indptr, X.indices, X.data
        XT = sparse.csr_array(X.T)
        words = XT.indptr, XT.indices, XT.data
        books = _make_books(Y, outputs, min(N_RIVALS, max(1, n_classes - 1)))
        scratch = _make_scratch(n_samples, books.rest.shape[1], outputs)

        parts: list[kernels.Record] = []
        history: list[MinOverProgress] = []
        stopped: Stop = "max_iter"
        n_iter, size = 0, FIRST
        try:
            while n_iter < self.max_iter:
                before = time.perf_counter()
                record = _make_record(min(size, self.max_iter - n_iter))
                at = np.array([0, -1], dtype=np.int64)
                while True:
                    state = kernels.run(documents, words, rows, outputs, books, scratch, self.margin, record, at)
                    if state != kernels.NO_ROOM:
                        break
                    rows = growing.with_room(rows, 64 * n_blocks)
                made = int(at[0])
                n_iter += made
                parts.append(kernels.Record(*(a[:made] for a in record)))
                now = time.perf_counter()
                size = min(MOST, max(FIRST, 2 * size if now - before < SECONDS else size // 2))
                history.append(_progress(n_iter, books, now - started))
                if self.report:
                    self.report(history[-1])
                if state == kernels.SEPARATED:
                    stopped = "separated"
                    break
                if history[-1].seconds > self.max_seconds:
                    stopped = "max_seconds"
                    break
        except KeyboardInterrupt:
            stopped = "interrupted"
        logger.info("%d steps, %d looks, %s", n_iter, books.totals[kernels.N_LOOKS], stopped)
        steps = [np.column_stack([part.document, part.label, part.rival]) for part in parts]
        return MinOverResult(
            rows=_first_rows(rows, n_features, n_padded),
            steps=np.concatenate([np.zeros((0, 3), dtype=np.int32), *steps]),
            worst=np.concatenate([np.zeros(0), *(part.margin for part in parts)]),
            history=tuple(history),
            stopped=stopped,
            n_looks=int(books.totals[kernels.N_LOOKS]),
        )


def _progress(n_iter: int, books: kernels.Books, seconds: float) -> MinOverProgress:
    norm2, sum_alpha, _, worst = books.totals.tolist()
    return MinOverProgress(n_iter, worst, math.sqrt(max(norm2, 0.0)), sum_alpha, seconds)


def _make_books(Y: sparse.csr_array, outputs: Outputs, n_rivals: int) -> kernels.Books:
    n_samples, n_classes = Y.shape
    sizes = np.diff(Y.indptr)
    key = np.where((sizes > 0) & (sizes < n_classes), -np.inf, np.inf)
    starts = np.arange(0, n_samples, kernels.GROUP)
    # attributes are laid out so that children of one parent are side by side
    size = -(-n_classes // N_PARTS)
    n_parts = -(-n_classes // size)
    part = np.empty(n_classes, dtype=np.int32)
    part[np.argsort(outputs.own)] = np.arange(n_classes, dtype=np.int32) // size
    return kernels.Books(
        Y_indptr=Y.indptr.astype(np.int64),
        Y_indices=Y.indices.astype(np.int32),
        own=np.zeros(Y.nnz),
        rival=np.full((n_samples, n_rivals), -1, dtype=np.int32),
        against=np.full((n_samples, n_rivals), -np.inf),
        rest=np.full((n_samples, n_parts), np.inf),
        highest=np.full(n_samples, np.inf),
        part=part,
        key=key,
        least=np.minimum.reduceat(key, starts),
        totals=np.zeros(4),
    )


def _make_scratch(n_samples: int, n_parts: int, outputs: Outputs) -> kernels.Scratch:
    n_padded, n_classes = len(outputs.v2), len(outputs.own)
    return kernels.Scratch(
        scores=np.zeros(n_padded),
        several=np.zeros(len(outputs.multi)),
        other=np.zeros(1, dtype=np.int32),
        change=np.zeros(n_padded),
        mark=np.zeros(n_padded // growing.BLOCK, dtype=np.uint8),
        blocks=np.zeros(n_padded // growing.BLOCK, dtype=np.int32),
        values=np.zeros(n_padded),
        is_known=np.zeros(n_classes, dtype=bool),
        top=np.zeros(n_parts, dtype=np.int32),
        gains=np.zeros((n_parts, 3)),
        moved=np.zeros(n_parts, dtype=np.int32),
        known=np.zeros(n_parts, dtype=bool),
        product=np.zeros(n_samples),
        seen=np.zeros(n_samples, dtype=bool),
        touched=np.zeros(n_samples, dtype=np.int32),
        changed=np.zeros(-(-n_samples // kernels.GROUP), dtype=bool),
    )


def _first_rows(rows: growing.Rows, n_features: int, n_padded: int) -> growing.Rows:
    """Give the rows of the first features, for reading only."""
    if len(rows.start) == n_features:
        return growing.compact(rows)
    weights: sparse.csr_array = growing.rows_to_csr(rows, n_padded)[:n_features]
    return growing.rows_from_csr(weights, n_padded)


def _make_record(n_steps: int) -> kernels.Record:
    document, label, rival = (np.zeros(n_steps, dtype=np.int32) for _ in range(3))
    return kernels.Record(document, label, rival, np.zeros(n_steps))
