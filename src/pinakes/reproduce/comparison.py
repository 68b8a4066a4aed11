"""Flat against hierarchical, as the papers of 2003 and 2004 compare them: systems, the four measures, the table.

    flat    Lambda = identity, loss 0-1                               the multiclass SVM of Crammer and Singer
    hsvm    v_z = sqrt(1 / depth) (2004, Eq. 35), loss of the tree    the hierarchical SVM

Both get the same documents, the same C, and are solved to the same relative gap.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pinakes import metrics
from pinakes.errors import ConvergenceWarning
from pinakes.models import TaxonomySVC
from pinakes.reproduce.experiment import Results, Table, Value
from pinakes.taxonomy import Taxonomy

SYSTEMS: dict[str, dict[str, Any]] = {
    "flat": {"node_weight": "flat", "loss": "zero-one"},
    "hsvm": {"node_weight": "depth", "loss": "tree"},
}
MEASURES = ("acc", "prec", "delta", "pacc")
SHOWN = {"acc": "acc (%)", "prec": "prec (%)", "delta": "Δ-loss", "pacc": "pacc (%)"}
LOWER_IS_BETTER = {"delta"}


def deal_folds(y: npt.ArrayLike, n_folds: int, seed: int) -> npt.NDArray[np.int64]:
    """Give the fold of each document: the documents of a category, shuffled, are dealt out to the folds in turn.

    The turn goes on from one category to the next, so that all folds are equally large.
    """
    rng = np.random.default_rng(seed)
    labels = np.asarray(y)
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = (np.arange(len(labels)) + rng.integers(n_folds)) % n_folds
    return fold


def fit(taxonomy: Taxonomy, X: Any, y: Any, system: Mapping[str, Any], **settings: Any) -> TaxonomySVC:
    """Fit one system on one thread; a gap that is not reached is no warning here: it is among the measures."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)  # a category has few
        return TaxonomySVC(taxonomy, n_jobs=1, **system, **settings).fit(X, y)


def four_measures(model: TaxonomySVC, X: Any, y: Iterable[str], taxonomy: Taxonomy) -> dict[str, npt.NDArray[Any]]:
    """Give accuracy, precision, Delta-loss and parent accuracy of every document (2004, Eqs. 37 to 40)."""
    y = list(y)
    classes = [str(k) for k in model.classes_]
    scores = model.decision_function(X)
    answers = [classes[k] for k in scores.argmax(axis=1)]
    found = {
        "acc": metrics.accuracy(y, answers, taxonomy, per_document=True),
        "prec": metrics.rank_precision(y, scores, taxonomy, classes, per_document=True),
        "delta": metrics.delta_loss(y, answers, taxonomy, per_document=True),
        "pacc": metrics.parent_accuracy(y, answers, taxonomy, per_document=True),
    }
    return {name: np.asarray(values, dtype=np.float64) for name, values in found.items()}


def summarise(found: Mapping[str, Mapping[str, npt.NDArray[Any]]]) -> dict[str, Any]:
    """Sum up the measures of all systems: means, in per cent but for Delta, as ``SYSTEM_MEASURE``."""
    return {
        f"{system}_{name}": float(values.mean()) * (1 if name in LOWER_IS_BETTER else 100)
        for system, each in found.items()
        for name, values in each.items()
    }


def count_gains(name: str, flat: npt.NDArray[Any], joint: npt.NDArray[Any]) -> list[list[float]]:
    """Count by how much the second of two systems is better on the same documents: pairs (gain, documents).

    That is all a paired test needs to know, and small enough to be kept.
    """
    gains = (flat - joint) if name in LOWER_IS_BETTER else (joint - flat)
    return [[gain, n] for gain, n in sorted(Counter(np.round(gains, 9).tolist()).items())]


def p_value(counts: Iterable[list[list[float]]]) -> float:
    """Give the two-sided p-value of a paired permutation test, from the gains counted in all folds."""
    gains = np.concatenate([np.repeat([g for g, _ in part], [int(n) for _, n in part]) for part in counts])
    return metrics.paired_permutation_test(gains, np.zeros_like(gains))


def compare_row(
    results: Results, measure: str, paper: tuple[float, float], prefix: str = ""
) -> tuple[list[Value], float]:
    """Give, for one measure, what `COMPARED` names; and the gain of hsvm over flat."""
    row: list[Value] = [SHOWN[measure]]
    means = []
    for system, theirs in zip(SYSTEMS, paper, strict=True):
        values = results.means(f"{prefix}{system}_{measure}")
        means.append(float(values.mean()))
        row += [means[-1], float(values.std(ddof=1)) if len(values) > 1 else None, theirs, means[-1] - theirs]
    sign = -1 if measure in LOWER_IS_BETTER else 1
    gain = sign * (means[1] - means[0])
    return [*row, gain, sign * (paper[1] - paper[0])], gain


COMPARED = (
    "measure",
    *("flat", "flat ±", "flat paper", "flat diff."),
    *("hsvm", "hsvm ±", "hsvm paper", "hsvm diff."),
    *("gain", "paper's gain"),
)
SIGNED = frozenset({"flat diff.", "hsvm diff.", "gain", "paper's gain"})
NOTE = (
    "± is the standard deviation over seeds, diff. is what was measured less the paper's figure, and gain is how much "
    "better hsvm is than flat (for the loss, how much lower)."
)


def comparison_table(title: str, keys: Sequence[str], rows: Sequence[Sequence[Value]], note: str = NOTE) -> Table:
    """Put rows of keys and `compare_row` together."""
    return Table(title, [*keys, *COMPARED], rows, SIGNED, note)
