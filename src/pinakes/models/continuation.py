"""Going on from what was learnt: other classes, more documents, another C.

Weights and dual variables belong together: u_z = v_z^2 s_z, where

    s_z = sum over documents i and classes y of alpha_iy ([z above y_i] - [z above y]) x_i

does not depend on the node weights v, and not on which classes there are beside y_i and y. So weights learnt for some
classes are carried over to more of them exactly: node by node s_z stays, and v_z^2 is what it is now. A node that was
above all classes, or above none, had s_z = 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.kernels.rows import Rows, rows_from_csr, squared_norm
from pinakes.models.parameters import same_setting
from pinakes.models.scoring import Scorer
from pinakes.solvers.ascent import DOUBLE_BELOW
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.attributes import ClassAttributes

if TYPE_CHECKING:
    from pinakes.models.taxonomy_svc import TaxonomySVC


class Beginning(NamedTuple):
    """Where a fit begins: weights v_z w_z (features by attributes) and the dual variables that belong to them.

    Documents without dual variables are new. What the weights hold beyond the dual variables stays as a constant.
    """

    weights: sparse.csr_array | Rows
    alpha: sparse.csr_array  # documents by classes
    scale: float = 1.0  # what both are to be multiplied by


class Seen(NamedTuple):
    """Documents that were kept: as the solver takes them, with labels, weights and dual variables."""

    X: Any  # CSR or a matrix
    y: npt.NDArray[Any]
    weight: npt.NDArray[np.float64]
    alpha: sparse.csr_array

    def more(self, X: Any, y: npt.NDArray[Any], weight: npt.NDArray[np.float64]) -> Seen:
        """Add new documents, whose dual variables are 0."""
        if isinstance(X, np.ndarray) and isinstance(self.X, np.ndarray):
            both: Any = np.vstack([self.X, X])
        else:
            both = sparse.csr_array(sparse.vstack([sparse.csr_array(self.X), sparse.csr_array(X)]))
        alpha = _wider(self.alpha, len(self.y) + len(y), self.alpha.shape[1])
        return Seen(both, np.concatenate([self.y, y]), np.concatenate([self.weight, weight]), alpha)


def carry_over(
    weights: sparse.csr_array,
    old: tuple[Taxonomy, ClassAttributes, npt.NDArray[Any]],
    new: tuple[Taxonomy, ClassAttributes, npt.NDArray[Any]],
) -> sparse.csr_array:
    """Give weights (features by attributes) for more classes; `old` and `new` are taxonomy, attributes and classes.

    Every old class is a new one, and the old taxonomy's relations between them are the new one's.
    """
    old_taxonomy, old_attributes, old_classes = old
    taxonomy, attributes, classes = new
    source = np.full(attributes.n_attributes, -1, dtype=np.int64)
    # nodes with the same classes below may have become two attributes: both have the same s
    for v, z in enumerate(attributes.node_attribute):
        node = taxonomy.ids[v]
        if z >= 0 and node in old_taxonomy:
            a = old_attributes.node_attribute[old_taxonomy.index(node)]
            if a >= 0 and (source[z] < 0 or old_attributes.v2[source[z]] == 0):
                source[z] = a
    source[attributes.own] = -1
    source[attributes.own[np.searchsorted(classes, old_classes)]] = old_attributes.own
    known = np.flatnonzero(source >= 0)
    v2 = old_attributes.v2[source[known]]
    factor = np.divide(attributes.v2[known], v2, out=np.zeros(len(known)), where=v2 > 0)
    shape = (old_attributes.n_attributes, attributes.n_attributes)
    moved = sparse.csr_array((factor.astype(weights.dtype), (source[known], known)), shape=shape)
    return sparse.csr_array(weights @ moved)


def widen_classes(
    alpha: sparse.csr_array, old_classes: npt.NDArray[Any], classes: npt.NDArray[Any]
) -> sparse.csr_array:
    """Give dual variables (documents by classes) columns for classes that have come in between."""
    columns = np.searchsorted(classes, old_classes)
    shape = (alpha.shape[0], len(classes))
    return sparse.csr_array((alpha.data, columns[alpha.indices], alpha.indptr), shape=shape)


def scale_up(
    weights: Rows, alpha: sparse.csr_array, v2: npt.NDArray[Any], most: float, spent: float | None = None
) -> Beginning:
    """Give the optimum of one problem as the beginning for one with a C `most` times as large.

    D(t alpha) = t sum alpha - t^2/2 |w|^2 is largest at t = sum alpha / |w|^2, and t alpha keeps its budgets as long as
    t <= most. Where slacks are squared there are no budgets, but D loses t^2/2 of the sum of s_i^2 / (2 C_i), which is
    `spent` with the C there was.
    """
    norm2, total = squared_norm(weights, v2), float(alpha.sum())
    if spent is not None:
        norm2, most = norm2 + spent / most, math.inf
    return Beginning(weights, alpha, min(total / norm2, most) if norm2 > 0 else 1.0)


def is_useful(model: TaxonomySVC, next_model: TaxonomySVC) -> bool:
    """Whether the end of one model's fit is a beginning for another's."""
    if not same_setting(model.loss, next_model.loss) or model.hinge != next_model.hinge:
        return False
    if next_model.tol < DOUBLE_BELOW <= model.tol:
        return False  # weights and dual variables agree less closely than is asked for
    # of a flat model nothing is known of what is shared
    return same_setting(model.node_weight, next_model.node_weight) or not same_setting(model.node_weight, "flat")


def begin_after(model: TaxonomySVC, next_model: TaxonomySVC) -> Beginning | None:
    """Give the end of one model's fit as the beginning of another's to the same documents; None: it is of no use."""
    if not is_useful(model, next_model):
        return None
    same = same_setting(model.node_weight, next_model.node_weight)
    alpha, v2 = model.dual_coef_, next_model._outputs.v2
    weights = model._scorer.rows if same and isinstance(model._scorer, Scorer) else None
    if not isinstance(weights, Rows):
        u = model._all_weights()
        if not same:
            u = carry_over(u, *((m.taxonomy_, m.attributes_, m.classes_) for m in (model, next_model)))
        weights = rows_from_csr(u, len(v2))
    spent = None
    if next_model._outputs.squared:
        s = np.asarray(model._dual[0].sum(axis=1))
        spent = float(s @ s) / (2 * model.C)  # as if all documents weighed the same: a beginning need not be the best
    return scale_up(weights, alpha, v2, next_model.C / model.C, spent)


def _wider(matrix: sparse.csr_array, n_rows: int, n_columns: int) -> sparse.csr_array:
    """Add empty rows."""
    indptr = np.concatenate([matrix.indptr, np.full(n_rows - matrix.shape[0], matrix.indptr[-1])])
    return sparse.csr_array((matrix.data, matrix.indices, indptr), shape=(n_rows, n_columns))
