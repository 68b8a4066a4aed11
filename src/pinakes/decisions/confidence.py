"""How sure an answer is: a softmax of the scores, its temperature set on documents the model has not seen.

    confidence of class k for x  =  exp(F(x, k) / T) / sum over all classes y of exp(F(x, y) / T)

Scores of training documents are flattered, so T is fitted on held-out ones: a fifth of the documents is put aside, a
second model, solved more loosely, learns from the rest, and T is what makes the true classes of the fifth most likely.
One number for all classes: it does not change the ranking.

With label sets each category has a confidence of its own, 1 / (1 + exp(-s / T)), where s is its score or, where answers
end at a cut, how far it lies above that: above one half where the category is in the answer.

A few held-out documents that all come out right would make T -> 0 and every answer certain. So one document more is
supposed, of which nothing is known: for n documents the answer counts 1 - 1 / (n + 1), and all classes share the rest.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.base import clone

from pinakes.errors import ConvergenceWarning
from pinakes.models import TaxonomySVC
from pinakes.models.closed_outputs import ClosedOutputModel
from pinakes.models.label_set_model import LabelSetModel

HELD_OUT = 0.2
LOOSE = 0.1  # relative gap of the second model
MOST_SCORES = 8_000_000  # how many scores (documents times classes) the temperature is fitted on
FEWEST_DOCUMENTS = 200
COLDEST, WARMEST = 1e-3, 1e2


def fit_temperature(model: TaxonomySVC | ClosedOutputModel | LabelSetModel, X: sparse.csr_array, y: Any) -> float:
    """Find the temperature for `model`, fitted on `X` and `y`, with the help of a second one.

    1.0 where there are too few documents to put any aside.
    """
    sets = getattr(model, "form_", "single") != "single"
    if sets and isinstance(model, LabelSetModel):
        most = max(FEWEST_DOCUMENTS, MOST_SCORES // len(model.classes_))
        margins, truth = model.held_out_margins(X, y, most)
        return most_likely_scale(margins, truth) if len(truth) else 1.0
    labels: Any = np.asarray(y) if not sets else y
    kept, aside = _split_sets(len(y)) if sets else _split(labels)
    if len(aside) == 0:
        return 1.0
    second: Any = clone(model)
    if hasattr(model, "tol"):
        second.set_params(tol=max(float(model.tol), LOOSE))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the first model has said it
        second.fit(X[kept], [y[i] for i in kept] if sets else labels[kept])
    aside = aside[: max(FEWEST_DOCUMENTS, MOST_SCORES // len(second.classes_))]
    if sets:
        true = [set(map(str, y[i])) for i in aside]
        truth = np.array([[str(k) in few for k in second.classes_] for few in true])
        return most_likely_scale(second.decision_function(X[aside]), truth)
    scores = np.asarray(second.decision_function(X[aside]), dtype=np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    return most_likely_temperature(scores, np.searchsorted(second.classes_, labels[aside]))


def most_likely_temperature(scores: npt.NDArray[np.float64], true: npt.NDArray[np.int64]) -> float:
    """Give the temperature under which the softmax of `scores` makes the classes `true` most likely.

    One document more is supposed, of which nothing is known; see the head of this file.
    """
    unknown = 1 / (len(true) + 1)
    score = (1 - unknown) * scores[np.arange(len(true)), true] + unknown * scores.mean(axis=1)

    def surprise(log_temperature: float) -> Any:
        temperature = np.exp(log_temperature)
        return np.mean(logsumexp(scores / temperature, axis=1) - score / temperature)

    bounds = (np.log(COLDEST), np.log(WARMEST))
    best = minimize_scalar(surprise, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    return float(np.exp(best.x))


def most_likely_scale(scores: npt.NDArray[np.float64], truth: npt.NDArray[np.bool_]) -> float:
    """Give the temperature under which a logistic function of `scores` makes `truth` (same shape) most likely.

    Of one document more nothing is known; see the head of this file.
    """
    unknown = 1 / (len(truth) + 1)
    signs = np.where(truth, -1.0, 1.0)

    def surprise(log_temperature: float) -> Any:
        margin = scores / np.exp(log_temperature)
        wrong = np.logaddexp(0, signs * margin).mean()
        return (1 - unknown) * wrong + unknown * np.logaddexp(0, -signs * margin).mean()

    bounds = (np.log(COLDEST), np.log(WARMEST))
    best = minimize_scalar(surprise, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    return float(np.exp(best.x))


def _split_sets(n_documents: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Put a fifth of the documents aside."""
    order = np.random.default_rng(0).permutation(n_documents)
    aside = order[: int(HELD_OUT * len(order))]
    return np.setdiff1d(np.arange(len(order)), aside), aside


def _split(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Put a fifth of the documents aside, but never the first of its class: every class stays known."""
    order = np.random.default_rng(0).permutation(len(labels))
    _, first = np.unique(labels[order], return_index=True)
    later = np.ones(len(order), dtype=bool)
    later[first] = False
    aside = order[later][: int(HELD_OUT * len(labels))]
    return np.setdiff1d(np.arange(len(labels)), aside), aside
