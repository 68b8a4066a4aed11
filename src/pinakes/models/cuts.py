"""From scores to label sets: where the answer ends.

A document's answer is every class k with F(x, k) >= t_k(x), where

    t_k(x) = offset_k + <coef, F(x)>

covers all the ways to cut but one, a fixed number of best classes:

- a cut-off that is given: coef = 0, one offset;
- "micro-f1": coef = 0, the one offset with the largest F1 over all pairs of document and label;
- "macro-f1": coef = 0, for every class the offset with the largest F1 of that class;
- "learned" (Elisseeff and Weston, A kernel method for multi-labelled classification, 2001): t is a linear function of
  all scores, by least squares to the cut that makes the fewest errors on each document.

Errors of a cut are labels left out and classes wrongly taken in. The cuts with the fewest errors form intervals between
neighbouring scores; the middle of the widest one is taken (of equals, the highest). An interval without an upper or
lower end counts as wide as the others are on average. The squares are ridge squares, of centred scores; how strong the
ridge is, is chosen by the error on each document when it is left out, which follows in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.errors import ParameterError
from pinakes.kernels import cuts as kernels

Floats = npt.NDArray[np.float64]
Blocks = Callable[[], Iterator[tuple[Floats, sparse.csr_array]]]  # scores of some documents, and which are right

TUNED = ("learned", "micro-f1", "macro-f1")
RIDGES = 10.0 ** np.arange(-6, 4)  # strengths that are tried, as shares of the mean square of all scores
POOR = 0.1  # F1 of a class on held-out documents below which its own cut-off is not trusted
WIDTH = 1.0  # of an interval without an end where no document has one with both


@dataclass(frozen=True)
class Cut:
    """Where answers end; see the head of this file.

    Attributes
    ----------
    offset : ndarray (1,) or (n_classes,)
    coef : ndarray (n_classes,) or (0,)
        Empty where the cut does not look at the scores.
    top : int
        If not 0, the answer is so many best classes, and nothing else counts.
    never_empty : bool
        Whether the best class is always in the answer.
    """

    offset: Floats
    coef: Floats
    top: int = 0
    never_empty: bool = False

    @classmethod
    def at(cls, offset: float | Floats, never_empty: bool = False) -> Cut:
        """Give a cut-off, or one for each class."""
        return cls(np.atleast_1d(np.asarray(offset, dtype=np.float64)), np.zeros(0), never_empty=never_empty)

    @classmethod
    def best(cls, top: int) -> Cut:
        """Give the cut after so many classes."""
        return cls(np.zeros(1), np.zeros(0), top=top)

    def margins(self, scores: Floats) -> Floats:
        """Give how far each score lies above the cut: a class is in the answer where this is >= 0.

        With a fixed number of classes, the distance from the middle between the last one in and the first one out.
        """
        if self.top:
            if self.top >= scores.shape[1]:
                margins: Floats = scores - scores.min(axis=1, keepdims=True)
                return margins
            ends = -np.partition(-scores, [self.top - 1, self.top], axis=1)[:, self.top - 1 : self.top + 1]
            margins = scores - ends.mean(axis=1, keepdims=True)
            return margins
        margins = scores - self.offset
        if len(self.coef):
            margins -= (scores @ self.coef)[:, None]
        return margins

    def answers(self, scores: Floats) -> npt.NDArray[np.bool_]:
        """Give which classes each document gets."""
        if self.top:
            order = np.argsort(-scores, axis=1, kind="stable")[:, : self.top]
            inside = np.zeros(scores.shape, dtype=bool)
            np.put_along_axis(inside, order, True, axis=1)
            return inside
        inside = self.margins(scores) >= 0
        if self.never_empty:
            empty = np.flatnonzero(~inside.any(axis=1))
            inside[empty, scores[empty].argmax(axis=1)] = True
        return inside


def check_cut(owner: Any) -> str | int | float:
    """Check the setting `cut` of an estimator."""
    cut: Any = owner.cut
    if isinstance(cut, str) and cut in TUNED:
        return cut
    if isinstance(cut, int | np.integer) and not isinstance(cut, bool) and cut >= 1:
        return int(cut)
    if isinstance(cut, float | np.floating) and np.isfinite(cut):
        return float(cut)
    raise ParameterError(
        f"`cut` of {type(owner).__name__} must be one of {', '.join(map(repr, TUNED))}, a whole number >= 1 (so many "
        f"labels each) or a number with a decimal point (the score to cut at), got {cut!r}"
    )


# -- the learned threshold -----------------------------------------------------------------------------------


def best_cuts(scores: Floats, members: sparse.csr_array, width: float | None = None) -> Floats:
    """Give the cut with the fewest errors for each document; `width` is that of an interval without an end.

    None: the mean width of the intervals that have both ends.
    """
    lower, upper = np.empty(len(scores)), np.empty(len(scores))
    indptr, indices = members.indptr.astype(np.int64), members.indices.astype(np.int32)
    kernels.best_intervals(scores, indptr, indices, -1.0 if width is None else width, lower, upper)
    if width is None:
        both = np.isfinite(lower) & np.isfinite(upper)
        width = float((upper - lower)[both].mean()) if both.any() else WIDTH
        width = width if width > 0 else WIDTH
        kernels.best_intervals(scores, indptr, indices, width, lower, upper)
    lower = np.where(np.isfinite(lower), lower, upper - width)
    upper = np.where(np.isfinite(upper), upper, lower + width)
    middle: Floats = lower + (upper - lower) / 2
    return middle


def learn_threshold(scores: Floats, members: sparse.csr_array) -> tuple[Floats, float]:
    """Fit t(x) = <coef, F(x)> + offset to the best cuts of these documents; give coef and offset."""
    target = best_cuts(scores, members)
    mean, level = scores.mean(axis=0), float(target.mean())
    centred, aim = scores - mean, target - level
    n, q = centred.shape
    # centred = U S V': values S^2 and U (documents) or V (classes), whichever is the smaller problem
    values, vectors = np.linalg.eigh(centred.T @ centred if q <= n else centred @ centred.T)
    largest = float(values[-1]) if len(values) else 0.0
    kept = values > 1e-12 * largest if largest > 0 else np.zeros(len(values), dtype=bool)
    if not kept.any():
        return np.zeros(q), level
    values, vectors = values[kept], vectors[:, kept]
    U = (centred @ vectors) / np.sqrt(values) if q <= n else vectors
    along = U.T @ aim
    scale = float(values.sum()) / min(n, q)
    best_error, best_ridge = np.inf, 0.0
    for ridge in RIDGES * scale:
        shrunk = values / (values + ridge)
        # what is left when document i is left out: its residual / (1 - its own share in its answer)
        residual = aim - U @ (shrunk * along)
        own = 1.0 / n + (U * U) @ shrunk
        error = float(np.mean((residual / np.maximum(1.0 - own, 1e-6)) ** 2))
        if error < best_error:
            best_error, best_ridge = error, ridge
    weights = np.sqrt(values) / (values + best_ridge) * along
    coef = vectors @ weights if q <= n else centred.T @ (U @ (weights / np.sqrt(values)))
    return np.asarray(coef), level - float(mean @ coef)


# -- cut-offs with the largest F1 ------------------------------------------------------------------------------


def best_f1_cutoffs(blocks: Blocks, n_classes: int) -> tuple[float, Floats]:
    """Give the cut-off with the largest F1 over all pairs, and for each class the one with its largest F1.

    `blocks` gives the scores of held-out documents, some at a time; it is called twice. A cut-off is worth a look only
    right at the score of a label: so these are kept, and the scores of all other pairs only counted. It is then moved
    down to half-way to the next score below. A class that no document has gets the cut-off for all; so does one that
    cannot be told from others, with an F1 below `POOR` at best, unless its own is higher: its cut-off would let in
    many for the sake of one (Yang, A study of thresholding strategies, 2001).
    """
    codes, scores = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for some, members in blocks():
        rows = np.repeat(np.arange(members.shape[0]), np.diff(members.indptr))
        codes.append(members.indices.astype(np.int64))
        scores.append(some[rows, members.indices])
    code, score = np.concatenate(codes), np.concatenate(scores)
    order = np.lexsort((score, code))
    true = score[order]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=n_classes))]).astype(np.int64)
    pooled = np.sort(true)
    tally, pool = _new_tally(len(true), n_classes), _new_tally(len(true), 1)
    ends = np.array([0, len(pooled)], dtype=np.int64)
    for some, _ in blocks():
        kernels.count_above(some, true, indptr, *tally)
        kernels.count_above(some.reshape(-1, 1), pooled, ends, *pool)
    for_all = np.array([np.inf])
    kernels.best_f1(pooled, ends, *pool, for_all, np.zeros(1))
    cutoffs, reached = np.full(n_classes, for_all[0]), np.zeros(n_classes)
    kernels.best_f1(true, indptr, *tally, cutoffs, reached)
    return float(for_all[0]), np.where(reached < POOR, np.maximum(cutoffs, for_all[0]), cutoffs)


def _new_tally(n_true: int, n_groups: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Give room for what `count_above` finds: how many scores lie between two true ones, and the largest of them."""
    return np.zeros(n_true + n_groups, dtype=np.int64), np.full(n_true + n_groups, -np.inf)
