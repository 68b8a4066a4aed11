"""The hierarchical SVM for several labels (2007 paper), which ranks a document's labels before all other classes.

    min 1/2 |w|^2 + sum_i C_i xi_i   s.t.  <w, Phi(x_i, y) - Phi(x_i, ybar)> >= 1 - xi_i / Delta(y, ybar),   xi >= 0
                                           for all documents i, y in Y_i and ybar not in Y_i
    max sum alpha_iyybar - 1/2 |w(alpha)|^2    s.t.  alpha >= 0,  sum over pairs of alpha_iyybar / Delta(y, ybar) <= C_i

Written in beta = alpha / Delta the duality gap is a sum over documents, each part of it >= 0:

    P - D = sum_i [ C_i xi_i - sum over pairs of beta F ],     F_iyybar = Delta(y, ybar) (1 - <w, dPhi_i(y, ybar)>)

F is the paper's G. With one label a document this is the program of solvers/ascent.py. The variant with a slack
xi_iyybar for each pair has 0 <= beta_iyybar <= C_i instead of the sum, and C_i max(0, F) in the gap for each pair.

A document has |Y_i| (q - |Y_i|) pairs, of which few carry weight. The solvers of solvers/ascent.py and
solvers/papers.py take pairs in place of classes: a label set comes to them as `Labels`, a pair as y n_classes + ybar.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.kernels.outputs import Outputs
from pinakes.kernels.pairs import Labels
from pinakes.solvers.problem import largest_delta


class Pairs(NamedTuple):
    """Dual variables of pairs: alpha[p] belongs to label[p] and other[p] of document[p]."""

    document: npt.NDArray[np.int64]
    label: npt.NDArray[np.int32]
    other: npt.NDArray[np.int32]
    alpha: npt.NDArray[np.float64]


def make_labels(members: sparse.csr_array, outputs: Outputs, each: bool = False) -> Labels:
    """Lay out label sets (documents by classes) for the kernels; `each`: with a slack for each pair."""
    members.sort_indices()
    return Labels(members.indptr.astype(np.int64), members.indices.astype(np.int32), largest_delta(outputs), each)


def split_pairs(codes: npt.NDArray[np.integer], n_classes: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Give the labels and the other classes behind pairs y n_classes + ybar."""
    label, other = np.divmod(np.asarray(codes, dtype=np.int64), n_classes)
    return label.astype(np.int32), other.astype(np.int32)
