"""From scores to probabilities over the classes, where a document has one label.

    p(k | x)  =  exp(b(x) F(x, k)) / sum over all classes y of exp(b(x) F(x, y))
    b(x)      =  b_0 + b_1 (largest score) + b_2 (its lead over the second)

and then the share of the best class is corrected to what such shares have been worth: a line through a few points,
found by isotonic regression. The others keep their proportions. Neither step changes the ranking.

All of it is set on documents that the model has not seen (held_out.py). With one number b_0 alone, 1 / T of a softmax,
answers for short or odd texts come out far too sure. b is found by minimising the mean surprise -log p(y | x), which is
convex in it. A few held-out documents that all come out right would make b infinite and every answer certain: so one
document more is supposed, of which nothing is known, and b_1 and b_2 are held near 0 as long as documents are few.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize, minimize_scalar

from pinakes.decisions.held_out import HeldOut
from pinakes.kernels import beliefs

Floats = npt.NDArray[np.float64]
MOST_SCORES = 8_000_000  # documents times classes that the slope is fitted on
FEWEST_DOCUMENTS = 200
COLDEST, WARMEST = 1e-3, 1e2  # temperatures
LEAST = 0.1  # b(x) never falls below this share of 1 / T
MOST_KNOTS, A_KNOT = 15, 50  # points of the correction, and the fewest documents behind one
PRIOR = 10.0  # documents that are supposed to be worth what they say, for every point


def identity_knots() -> Floats:
    """Give the correction that corrects nothing."""
    return np.array([[0.0, 1.0], [0.0, 1.0]])


@dataclass(frozen=True, eq=False)
class Calibration:
    """How sure the classes are, given their scores; one label a document.

    Attributes
    ----------
    slope : (float, float, float)
        b_0, b_1 and b_2; see the head of this file.
    least : float
        What b(x) is at least.
    knots : ndarray (2, n_knots)
        Shares of the best class, and what they are worth: both ascend from 0 to 1.
    """

    slope: tuple[float, float, float]
    least: float
    knots: Floats = field(default_factory=identity_knots)

    @classmethod
    def from_temperature(cls, temperature: float) -> Calibration:
        """Give the plain softmax of scores divided by a temperature."""
        return cls((1 / temperature, 0.0, 0.0), 1 / temperature)

    def probabilities(self, scores: npt.NDArray[Any]) -> Floats:
        """Give the probabilities of all classes, documents by classes, from their scores."""
        out = np.empty(scores.shape)
        beliefs.shares(scores, self.slope, self.least, self.knots, out)
        return out


def fit_calibration(held: HeldOut) -> tuple[Calibration, float]:
    """Fit a calibration to documents put aside; also gives the temperature of the best plain softmax."""
    n_fit = max(FEWEST_DOCUMENTS, MOST_SCORES // len(held.model.classes_))
    shares: list[Floats] = []
    right: list[npt.NDArray[np.bool_]] = []
    for part, scores in HeldOut(held.model, held.X[:n_fit], held.truth[:n_fit]).scores():
        shares.append(scores)
        right.append(held.truth[part])
    fitted = np.concatenate(shares)
    temperature = most_likely_temperature(fitted, held.truth[:n_fit])
    rough = fit_slope(fitted, held.truth[:n_fit], temperature)
    shares, right = [], []
    for part, scores in held.scores():
        p = rough.probabilities(scores)
        best = p.argmax(axis=1)
        shares.append(p[np.arange(len(p)), best])
        right.append(best == held.truth[part])
    knots = fit_knots(np.concatenate(shares), np.concatenate(right))
    return Calibration(rough.slope, rough.least, knots), temperature


def fit_slope(scores: npt.NDArray[Any], true: npt.NDArray[np.int64], temperature: float) -> Calibration:
    """Find b_0, b_1 and b_2, beginning at the plain softmax of that temperature."""
    largest, lead = _largest(scores)
    features = np.column_stack([np.ones(len(scores)), largest, lead])
    scale = np.maximum(np.abs(features).mean(axis=0), 1e-12)
    features = features / scale
    least = LEAST / temperature
    pull = np.empty(len(scores))

    def surprise(b: Floats) -> tuple[float, Floats]:
        raw = features @ b
        value = beliefs.surprise_of_shares(scores, largest, np.maximum(raw, least), true, 1 / (len(true) + 1), pull)
        held = np.array([0.0, b[1], b[2]]) * temperature  # near 0, in a measure free of the unit of scores
        value += 0.5 * (held @ held) / len(true)
        return float(value), (pull * (raw > least)) @ features + held * temperature / len(true)

    start = np.array([1 / temperature, 0.0, 0.0])
    found = minimize(surprise, start, jac=True, method="L-BFGS-B", options={"maxiter": 50, "ftol": 1e-8})
    best = found.x if np.isfinite(found.fun) and found.fun <= surprise(start)[0] else start
    b0, b1, b2 = (best / scale).tolist()
    return Calibration((b0, b1, b2), least)


def fit_knots(shares: Floats, right: npt.NDArray[np.bool_]) -> Floats:
    """Find how often classes with such shares are right: isotonic regression of a few groups of equal size."""
    n_groups = min(MOST_KNOTS, len(shares) // A_KNOT)
    if n_groups < 2:
        return identity_knots()
    from sklearn.isotonic import isotonic_regression

    order = np.argsort(shares, kind="stable")
    groups = np.array_split(order, n_groups)
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    given = np.array([shares[group].mean() for group in groups])
    hits = np.array([right[group].sum() for group in groups], dtype=np.float64)
    worth = isotonic_regression((hits + PRIOR * given) / (sizes + PRIOR), sample_weight=sizes)
    keep = np.concatenate([[True], np.diff(given) > 1e-9])
    inner = np.vstack([given[keep], np.clip(worth[keep], 0.0, 1.0)])
    inner = inner[:, (inner[0] > 0) & (inner[0] < 1)]
    return np.ascontiguousarray(np.hstack([[[0.0], [0.0]], inner, [[1.0], [1.0]]]))


def most_likely_temperature(scores: npt.NDArray[Any], true: npt.NDArray[np.int64]) -> float:
    """Give the temperature under which the softmax of `scores` makes the classes `true` most likely.

    One document more is supposed, of which nothing is known; see the head of this file.
    """
    largest = _largest(scores)[0]
    pull = np.empty(len(scores))

    def surprise(log_temperature: float) -> Any:
        slope = np.full(len(scores), np.exp(-log_temperature))
        return beliefs.surprise_of_shares(scores, largest, slope, true, 1 / (len(true) + 1), pull)

    bounds = (np.log(COLDEST), np.log(WARMEST))
    best = minimize_scalar(surprise, bounds=bounds, method="bounded", options={"xatol": 1e-2})
    return float(np.exp(best.x))


def _largest(scores: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """Give the largest score of each document, and its lead over the second."""
    largest, lead = np.empty(len(scores)), np.empty(len(scores))
    beliefs.largest_two(scores, largest, lead)
    return largest, lead
