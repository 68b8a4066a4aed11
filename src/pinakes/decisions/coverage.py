"""Answers that hold the truth as often as was asked for: split conformal prediction along the taxonomy.

Two families of answers, both nested: to ask for more only adds to an answer.

    node    one node, and with it everything below it: the last one on the likeliest way down whose probability is
            greater than t. The greater t, the higher it stops; with t = 1 nothing is said, which holds everything.
    set     the best class, and all others whose probability is at least 1 - t. With label sets, all such nodes, which
            are closed upward, and the answer holds the truth if it holds all labels.

On n documents that the model has not seen, the least t is found at which the answer holds the truth. For an answer that
holds the truth of the next document with a probability of at least `level`, whatever the model is worth, take the
ceil((n + 1) level)-th smallest of them; where that is more than n, t = 1.

This is exact if the documents are exchangeable with those to come and were not used for training. `Classifier.fit`
takes those of the second model (held_out.py), which has learnt from a little less; `Classifier.calibrate` takes others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.decisions.beliefs import Beliefs, Believer
from pinakes.kernels import choices

Floats = npt.NDArray[np.float64]
EVERYTHING = 1.0


@dataclass(frozen=True, eq=False)
class Coverage:
    """What the documents put aside needed.

    Attributes
    ----------
    node : ndarray of float64 (n_documents,), ascending
        The least t at which the answer of one node holds the truth; empty for label sets.
    sets : ndarray of float64 (n_documents,), ascending
        The least t at which the answer of many classes, or of many nodes, does.
    """

    node: Floats
    sets: Floats

    @classmethod
    def of_needs(cls, node: Floats, sets: Floats) -> Coverage:
        """Make one from what single documents needed, in any order."""
        return cls(np.sort(node), np.sort(sets))

    def node_threshold(self, level: float) -> float:
        """Give t for answers of one node."""
        return conformal_quantile(self.node, level)

    def set_threshold(self, level: float) -> float:
        """Give t for answers of many classes or nodes."""
        return conformal_quantile(self.sets, level)


def conformal_quantile(needs: Floats, level: float) -> float:
    """Give the ceil((n + 1) level)-th smallest of n ascending needs, 1 if there are too few.

    >>> needs = np.array([0.1, 0.2, 0.3, 0.4])
    >>> conformal_quantile(needs, 0.6), conformal_quantile(needs, 0.9)
    (0.3, 1.0)
    """
    k = math.ceil((len(needs) + 1) * level - 1e-9)
    return float(needs[k - 1]) if 1 <= k <= len(needs) else EVERYTHING


def node_needs(believer: Believer, beliefs: Beliefs, true: npt.NDArray[np.int64]) -> Floats:
    """Give the least t at which the answer of one node holds the true node of each document."""
    taxonomy = believer.taxonomy
    out = np.empty(len(true))
    ways = taxonomy.roots, *taxonomy.children
    choices.where_ways_part(beliefs.classes, believer.below, *ways, true.astype(np.int64), *taxonomy.ancestors, out)
    return out


def set_needs(believer: Believer, beliefs: Beliefs, truth: npt.NDArray[np.int64] | sparse.csr_array) -> Floats:
    """Give the least t at which the answer of many holds the true class, or all true classes of a label set."""
    if not isinstance(truth, sparse.csr_array):
        share: Floats = 1.0 - beliefs.classes[np.arange(len(truth)), truth]
        return np.where(truth == beliefs.scores.argmax(axis=1), 0.0, share)
    out = np.zeros(truth.shape[0])
    for i in range(truth.shape[0]):
        few = truth.indices[truth.indptr[i] : truth.indptr[i + 1]]
        if len(few):
            out[i] = 1.0 - beliefs.classes[i, few].min()
    return out
