"""The similarity graph that a taxonomy draws between documents (2005 paper, section 2.2), never formed.

H (documents x nodes) says which nodes hold a document: its labels and everything above them. |c_k|, the sum of column
k, counts the documents of node k. Two documents are connected through every node they share,

    w([i, k, j]) = 1 / |c_k|                 Eq. 1        d(i) = sum over j != i of w([i, j])        Eq. 3
    w([i, j])    = sum over shared k         Eq. 2        p(j | i) = w([i, j]) / d(i)                Eq. 5

and with W = H diag(1/|c|) H^T the Laplacian (Eq. 8) is

    L = diag(number of nodes of document i) - H diag(1/|c|) H^T

The diagonal of W cancels in it, so that it does not matter whether documents are neighbours of themselves. L v costs
nnz(H); L is positive semidefinite and L 1 = 0. Documents in few nodes are cheap in it: a function that is large on
them only costs little, however rough. Normalized, D^(-1/2) L D^(-1/2) with D the number of nodes, costs do not depend
on how many nodes a document has. In the paper the root holds all documents; where a taxonomy has several roots, one is
put above them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.taxonomy import Taxonomy

Array = npt.NDArray[Any]


class HierarchyGraph:
    """The similarity graph of some documents.

    Parameters
    ----------
    taxonomy : Taxonomy
    labels : sparse array (n_documents, n_nodes)
        Nonzero where a document carries the label of a node; ancestors may be there or not.
    normalized : bool, default=False
        Whether `laplacian` is the normalized one.

    Attributes
    ----------
    H : CSR array of float64 (n_documents, n_nodes), or one column more for a root above several roots
        1 where a node holds a document.
    sizes : ndarray of float64
        |c_k|; 0 for nodes without documents.

    Examples
    --------
    The paper's Figure 1: A is in C3 and C4, B in C5, C in C3; C4 and C5 are below C2, C2 and C3 below C1.

    >>> t = Taxonomy.from_edges([("", "C1"), ("C1", "C2"), ("C1", "C3"), ("C2", "C4"), ("C2", "C5")])
    >>> labels = sparse.csr_array([[0, 0, 1, 1, 0], [0, 0, 0, 0, 1], [0, 0, 1, 0, 0]])
    >>> graph = HierarchyGraph(t, labels)
    >>> graph.edges(0, 1), round(graph.weight(1, 2), 3)
    ({'C1': 0.3333333333333333, 'C2': 0.5}, 0.333)
    """

    def __init__(self, taxonomy: Taxonomy, labels: sparse.csr_array, normalized: bool = False) -> None:
        self.normalized = normalized
        n_nodes = len(taxonomy)
        up = taxonomy.ancestors
        above = sparse.csr_array((np.ones(len(up.indices)), up.indices, up.indptr), shape=(n_nodes, n_nodes))
        H = sparse.csr_array(sparse.csr_array(labels).astype(bool).astype(np.float64) @ above)
        H.sort_indices()
        H.data[:] = 1.0
        self.ids = taxonomy.ids
        if len(taxonomy.roots) > 1:
            H = sparse.csr_array(sparse.hstack([H, sparse.csr_array(np.ones((H.shape[0], 1)))]))
            self.ids = (*taxonomy.ids, "")
        self.H: sparse.csr_array = H
        self.sizes: npt.NDArray[np.float64] = np.bincount(H.indices, minlength=H.shape[1]).astype(np.float64)

    def __len__(self) -> int:
        return int(self.H.shape[0])

    @cached_property
    def n_nodes(self) -> npt.NDArray[np.float64]:
        """The number of nodes that hold each document: its degree, were it a neighbour of itself."""
        return np.diff(self.H.indptr).astype(np.float64)

    @cached_property
    def degrees(self) -> npt.NDArray[np.float64]:
        """d(i) of Eq. 3, for every document."""
        return np.asarray(self.H @ (1.0 - self._inverse_sizes)).ravel()

    @cached_property
    def _inverse_sizes(self) -> npt.NDArray[np.float64]:
        return 1.0 / np.maximum(self.sizes, 1.0)

    @cached_property
    def _scaled(self) -> sparse.csr_array:
        """H diag(1/|c|)^(1/2)."""
        scaled = self.H.copy()
        scaled.data = np.sqrt(self._inverse_sizes)[scaled.indices]
        return scaled

    @cached_property
    def _scaled_t(self) -> sparse.csr_array:
        return sparse.csr_array(self._scaled.T)

    @cached_property
    def _single(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Both of these in float32, for products in that precision."""
        return self._scaled.astype(np.float32), self._scaled_t.astype(np.float32)

    def laplacian(self, V: Array) -> Array:
        """Give L V for a vector or a matrix with a row for each document, in its precision."""
        scaled, scaled_t = self._single if V.dtype == np.float32 else (self._scaled, self._scaled_t)
        count = self.n_nodes.astype(V.dtype)
        count = count if V.ndim == 1 else count[:, None]
        if self.normalized:
            root = np.sqrt(np.maximum(count, 1))
            return np.asarray(V - (scaled @ (scaled_t @ (V / root))) / root)
        return np.asarray(count * V - scaled @ (scaled_t @ V))

    def node_sums(self, random: Array | None = None) -> Array:
        """Give H diag(1/|c|)^(1/2), the nodes as unit vectors of documents; mixed by a random matrix where given."""
        used = self._scaled[:, np.flatnonzero(self.sizes)]
        return np.asarray(used.toarray() if random is None else used @ random)

    # -- to look at ----------------------------------------------------------------------------------------

    def edges(self, i: int, j: int) -> dict[str, float]:
        """Give the edges between two documents: the nodes they share, with their weights (Eq. 1)."""
        if i == j:
            return {}
        shared = np.intersect1d(self._nodes(i), self._nodes(j), assume_unique=True)
        return {self.ids[k]: float(self._inverse_sizes[k]) for k in shared}

    def weight(self, i: int, j: int) -> float:
        """Give w([i, j]) (Eq. 2)."""
        return sum(self.edges(i, j).values())

    def weights(self) -> npt.NDArray[np.float64]:
        """Give all w([i, j]) as a dense matrix with a zero diagonal; for few documents."""
        W = (self._scaled @ self._scaled_t).toarray()
        np.fill_diagonal(W, 0.0)
        return np.asarray(W)

    def transitions(self) -> npt.NDArray[np.float64]:
        """Give p(j | i) (Eq. 5): where a reader goes from document i. A row of zeros for a document on its own."""
        d = self.degrees[:, None]
        return np.divide(self.weights(), d, out=np.zeros((len(self), len(self))), where=d > 1e-12)

    def transition(self, i: int, j: int) -> dict[str, float]:
        """Give p(j, k | i) by node k (Eq. 4)."""
        return {k: w / float(self.degrees[i]) for k, w in self.edges(i, j).items()}

    def _nodes(self, i: int) -> Array:
        return self.H.indices[self.H.indptr[i] : self.H.indptr[i + 1]]
