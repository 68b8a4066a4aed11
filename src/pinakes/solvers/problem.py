"""The learning problem in the form that solvers take: documents, costs, and the classes as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.kernels.outputs import LOSS_MATRIX, LOSS_NODES, WINDOW, Outputs
from pinakes.kernels.pairs import Labels
from pinakes.kernels.rows import BLOCK
from pinakes.taxonomy.attributes import ClassAttributes
from pinakes.taxonomy.loss import Loss, MatrixLoss, NodeLoss
from pinakes.taxonomy.taxonomy import Relation


@dataclass(frozen=True)
class Problem:
    """Documents (CSR with int32 indices, or dense), the class of each, its cost C_i, and what relates the classes.

    Where documents have several labels, `y` are their label sets, each of at least one.
    """

    X: sparse.csr_array | npt.NDArray[Any]
    y: npt.NDArray[np.int32] | Labels
    C: npt.NDArray[np.float64]
    outputs: Outputs


def make_outputs(attributes: ClassAttributes, loss: Loss, squared: bool = False) -> Outputs:
    """Lay out classes, attributes and Delta for the kernels; attributes are padded to whole blocks.

    `squared` says that slacks are squared, and the root of the loss stands in the constraints.
    """
    n_classes, n_attributes = attributes.n_classes, attributes.n_attributes
    first_own = int(attributes.own.min(initial=n_attributes))
    # at least one place stays empty, and the last shared attribute begins a whole window
    n_padded = -(-max(n_attributes + 1, first_own + WINDOW) // BLOCK) * BLOCK
    up, multi_paths = _ways_up(attributes, n_padded)

    def padded(values: npt.NDArray[Any], fill: float = 0.0) -> npt.NDArray[np.float64]:
        out = np.full(n_padded, fill)
        out[:n_attributes] = values
        return out

    class_of = np.full(n_padded, -1, dtype=np.int32)
    class_of[attributes.own] = np.arange(n_classes, dtype=np.int32)
    below_indptr, below = _runs_below(attributes, n_padded)
    miss = false = np.zeros(n_attributes)
    matrix = np.zeros((0, 0))
    if isinstance(loss, MatrixLoss):
        rows = loss.find(attributes.class_node.astype(np.int64))
        matrix = np.ascontiguousarray(loss.matrix[np.ix_(rows, rows)])
    elif isinstance(loss, NodeLoss) and attributes.values is not None:  # nodes are not attributes
        matrix = np.array([loss.row(int(v), attributes.class_node) for v in attributes.class_node])
    elif isinstance(loss, NodeLoss):
        miss, false = attributes.node_sums(loss.miss), attributes.node_sums(loss.false)
    else:  # zero-one: half for missing the right class's own attribute, half for the wrong one's
        miss = np.zeros(n_attributes)
        miss[attributes.own] = 0.5
        false = miss
    own_false = np.full(n_attributes, np.nan)
    own_false[attributes.own] = attributes.path_sums(false)
    class_miss = attributes.path_sums(miss)
    if attributes.values is not None:  # zero-one: own places are in no path
        own_false[attributes.own], class_miss, miss, false = 0.5, np.full(n_classes, 0.5), 0.0 * miss, 0.0 * false
    return Outputs(
        own=attributes.own,
        first_own=first_own,
        class_of=class_of,
        path_indptr=attributes.paths.indptr,
        path_indices=attributes.paths.indices,
        path_values=np.zeros(0) if attributes.values is None else attributes.values,
        weighted=attributes.values is not None,
        v2=padded(attributes.v2, fill=1.0),
        up=up,
        window=_windows(up, first_own),
        multi=attributes.multi,
        multi_indptr=multi_paths.indptr,
        multi_indices=multi_paths.indices,
        loss_kind=LOSS_MATRIX if matrix.size else LOSS_NODES,
        squared=squared,
        miss=class_miss,
        false=padded(own_false, fill=np.nan),
        both=padded(miss + false),
        matrix=np.sqrt(matrix) if squared else matrix,
        below_indptr=below_indptr,
        below=below,
    )


def divisors(loss: Loss, squared: bool, y: npt.NDArray[Any], y_hat: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Give what slacks are divided by in the constraints between nodes: Delta, or its root where they are squared."""
    delta = loss.pairs(y, y_hat)
    return np.sqrt(delta) if squared else delta


def largest_delta(outputs: Outputs) -> npt.NDArray[np.float64]:
    """Give for each class y a number that no Delta(y, .), as kernels know it, is above."""
    if outputs.loss_kind == LOSS_MATRIX:
        return np.asarray(outputs.matrix.max(axis=1))
    largest = np.asarray(outputs.miss + outputs.false[outputs.own].max())
    return np.sqrt(largest) if outputs.squared else largest


def _ways_up(attributes: ClassAttributes, n_padded: int) -> tuple[npt.NDArray[np.uint32], Relation]:
    """Give an attribute above each one, or the last, which is empty; and what else is above those in `multi`."""
    up = np.full(n_padded, n_padded - 1, dtype=np.uint32)
    up[np.flatnonzero(attributes.up >= 0)] = attributes.up[attributes.up >= 0]
    if attributes.values is not None:
        return up, attributes.multi_paths
    others: dict[int, list[int]] = {}
    for m in np.argsort(attributes.multi):  # from top to bottom
        z = a = int(attributes.multi[m])
        known = {z}
        while (a := int(up[a])) < n_padded - 1:
            known.update([a], others.get(a, []))
        others[z] = [a for a in attributes.multi_paths.of(m).tolist() if a not in known]
    listed = [others[z] for z in attributes.multi.tolist()]
    indptr = np.cumsum([0, *map(len, listed)], dtype=np.int64)
    return up, Relation(indptr, np.array([a for some in listed for a in some], dtype=np.int32))


def _windows(up: npt.NDArray[np.uint32], first_own: int) -> npt.NDArray[np.uint32]:
    """Say for each block where its `up` are; see `Outputs.window`."""
    low, high = (f(up.reshape(-1, BLOCK).astype(np.int64), axis=1) for f in (np.min, np.max))
    window = np.where((high < first_own) & (high < low + WINDOW), low, first_own + 1)
    return np.where(low == len(up) - 1, first_own, window).astype(np.uint32)


def _runs_below(attributes: ClassAttributes, n_padded: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Give the own attributes of the classes below each attribute, as few contiguous runs: CSR of (start, end)."""
    owner = np.repeat(np.arange(attributes.n_classes), attributes.paths.sizes())
    keys = np.sort(attributes.paths.indices.astype(np.int64) * n_padded + attributes.own[owner])
    first = np.diff(keys, prepend=-2) != 1  # a run ends where the next attribute, or its owner, is not the next one
    first[1:] |= (keys[1:] // n_padded) != (keys[:-1] // n_padded)
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:], len(keys)) - 1
    below = np.column_stack([keys[starts] % n_padded, keys[ends] % n_padded + 1]).astype(np.int32)
    indptr = np.zeros(n_padded + 1, dtype=np.int64)
    np.cumsum(np.bincount(keys[starts] // n_padded, minlength=n_padded), out=indptr[1:])
    return indptr, below.reshape(-1, 2)
