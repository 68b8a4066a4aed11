"""From scores to probabilities of nodes, where a document has any number of labels.

Each node has a probability of its own: that one of the document's labels lies at or below it. It follows from the best
score among the classes there, and from the best score of all (a ranking knows no absolute scale),

    q(v | x) = 1 / (1 + exp(-(c_0 + c_1 best score below v + c_2 best score of all)))

with numbers c for every level of the taxonomy, c_1 >= 0, set on documents that the model has not seen. Then every node
is raised to the likeliest of its children: P(v) = max(q(v), P(children)), so that a parent is never less likely than
its child. Categories are not taken to exclude one another, nor to be independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from pinakes.decisions.held_out import HeldOut, nodes_of
from pinakes.kernels import beliefs
from pinakes.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
MOST_CELLS = 2_000_000  # documents times nodes that the numbers are fitted on
FEWEST_DOCUMENTS = 200
HOLD = 1.0  # how strongly a level is held near all levels together, in documents


@dataclass(frozen=True, eq=False)
class SetCalibration:
    """How sure the nodes are, given the scores of classes; any number of labels a document.

    Attributes
    ----------
    coefficients : ndarray (depth of the taxonomy, 3)
        c_0, c_1 and c_2 of every level; see the head of this file.
    """

    coefficients: Floats

    @classmethod
    def from_temperature(cls, temperature: float, depth: int) -> SetCalibration:
        """Give the plain logistic function of scores divided by a temperature."""
        return cls(np.tile([0.0, 1 / temperature, 0.0], (depth, 1)))

    def probabilities(self, scores: npt.NDArray[Any], nodes: npt.NDArray[np.int32], taxonomy: Taxonomy) -> Floats:
        """Give the probabilities of all nodes, documents by nodes, from scores of the classes at `nodes`."""
        best, top = best_below(scores, nodes, taxonomy)
        c = self.coefficients[taxonomy.levels - 1]
        with np.errstate(invalid="ignore"):
            q: Floats = expit(c[:, 0] + c[:, 1] * best + c[:, 2] * top[:, None])
        q[~np.isfinite(best)] = 0.0  # no class there
        beliefs.carry_up(q, *taxonomy.children)
        return q


def best_below(
    scores: npt.NDArray[Any], nodes: npt.NDArray[np.int32], taxonomy: Taxonomy
) -> tuple[Floats, npt.NDArray[np.float64]]:
    """Give the best score among the classes at or below each node (-inf without any), and the best score of all."""
    best = np.full((len(scores), len(taxonomy)), -np.inf)
    best[:, nodes] = scores
    beliefs.carry_up(best, *taxonomy.children)
    top = best.max(axis=1)
    return best, np.where(np.isfinite(top), top, 0.0)


def closed_truth(truth: sparse.csr_array, nodes: npt.NDArray[np.int32], taxonomy: Taxonomy) -> npt.NDArray[np.bool_]:
    """Give label sets as documents by nodes, with everything above each label."""
    out = np.zeros((truth.shape[0], len(taxonomy)), dtype=bool)
    for i in range(truth.shape[0]):
        for k in truth.indices[truth.indptr[i] : truth.indptr[i + 1]]:
            out[i, taxonomy.ancestors.of(int(nodes[k]))] = True
    return out


def fit_set_calibration(held: HeldOut) -> SetCalibration:
    """Fit the numbers of every level to documents put aside."""
    taxonomy, nodes = held.model.taxonomy_, nodes_of(held.model)
    n_fit = min(held.X.shape[0], max(FEWEST_DOCUMENTS, MOST_CELLS // len(taxonomy)))
    some = HeldOut(held.model, held.X[:n_fit], held.truth[:n_fit])
    parts = [best_below(scores, nodes, taxonomy) for _, scores in some.scores()]
    best, top = np.concatenate([b for b, _ in parts]), np.concatenate([t for _, t in parts])
    truth = closed_truth(some.truth, nodes, taxonomy)
    used = np.isfinite(best).any(axis=0)
    c = _fit(best[:, used], top, truth[:, used], None)
    rows = []
    for level in range(1, taxonomy.depth + 1):
        here = used & (taxonomy.levels == level)
        rows.append(_fit(best[:, here], top, truth[:, here], c) if here.any() else c)
    return SetCalibration(np.array(rows))


def _fit(best: Floats, top: Floats, truth: npt.NDArray[np.bool_], near: Floats | None) -> Floats:
    """Minimise the mean surprise of a logistic function, near `near`; one document more is supposed to know nothing."""
    finite = np.isfinite(best)
    scale = max(float(np.abs(best[finite]).mean()), 1e-12)
    a = np.where(finite, best, 0.0) / scale
    t = top[:, None] / scale
    unknown = 1 / (len(truth) + 1)
    wanted = np.where(truth, 1 - unknown, unknown)
    n_cells = max(1, int(finite.sum()))
    middle = np.array([0.0, 1.0, 0.0]) if near is None else near * np.array([1.0, scale, scale])

    def surprise(c: Floats) -> tuple[float, Floats]:
        z = c[0] + c[1] * a + c[2] * t
        value = np.sum(np.logaddexp(0, z) - wanted * z, where=finite)
        pull = np.where(finite, expit(z) - wanted, 0.0)
        away = c - middle
        value = (value + 0.5 * HOLD * (away @ away)) / n_cells
        slope = np.array([pull.sum(), (pull * a).sum(), (pull * t).sum()])
        return float(value), (slope + HOLD * away) / n_cells

    bounds = [(None, None), (1e-3, None), (None, None)]
    found = minimize(
        surprise, middle, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100, "ftol": 1e-9}
    )
    result: Floats = found.x / np.array([1.0, scale, scale])
    return result
