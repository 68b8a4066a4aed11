"""The synthetic problem of the 2004 paper, section 6.3: categories are alike where they are near in the tree.

    w_z ~ N(0, sd^2 I), sd = 2^(depth - level of z) / 4    one random vector for each node, smaller further down
    F(x, y) = sum over z in anc(y) of <w_z, x>             a category's vector is the sum over its path
    x is accepted if its best score is above its second best by more than rho; its category is the best one

The paper says that documents are random and that variances fall from top to bottom, not how. Here documents
are of unit length, with a direction drawn evenly, and the standard deviation halves from level to level, down
to 1/4 at the leaves: it is there that rho is felt. All six rows of the paper's Table 1 are then met within a
few points (`pinakes reproduce run 2004-table1`); with the same deviation at the top of all trees instead, the
row of six children, depth 2 and rho 0.1 would be 10 points off.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pinakes.errors import ParameterError
from pinakes.taxonomy import Taxonomy

LEAF_SD = 0.25  # of the weights of the lowest level
MAX_DRAWS = 1000  # for each document that is wanted


def make_synthetic(
    n_children: int = 3,
    depth: int = 3,
    n_samples: int = 1000,
    n_features: int = 20,
    rho: float = 0.1,
    random_state: int | np.random.Generator | None = None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.str_], Taxonomy]:
    """Make documents whose categories, the leaves of a full tree, are told apart by some margin.

    Parameters
    ----------
    n_children : int, default=3
        Children of every inner node, and roots.
    depth : int, default=3
        Levels; there are ``n_children ** depth`` categories.
    n_samples, n_features : int, default=1000 and 20
        Documents, and numbers in each.
    rho : float, default=0.1
        How far the best category of a document must be ahead of the second best.
    random_state : int, Generator or None, default=None
        Seed, or source of randomness.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Documents of unit length.
    y : ndarray of str
        The category of each.
    taxonomy : Taxonomy
        The tree; node ``1.0.2`` is the third child of the first child of the second root.

    Examples
    --------
    >>> X, y, taxonomy = make_synthetic(n_children=2, depth=2, n_samples=5, random_state=0)
    >>> X.shape, taxonomy
    ((5, 20), Taxonomy(6 nodes, 4 leaves, tree, depth 2))
    """
    sizes = {"n_children": n_children, "depth": depth, "n_samples": n_samples, "n_features": n_features}
    for name, value in sizes.items():
        if value < 1:
            raise ParameterError(f"`{name}` of make_synthetic must be at least 1, got {value}")
    if not 0 <= rho < np.inf:
        raise ParameterError(f"`rho` of make_synthetic must be finite and at least 0, got {rho}")
    if n_children**depth < 2:
        raise ParameterError("make_synthetic needs two categories or more, got `n_children` 1; use at least 2")
    rng = np.random.default_rng(random_state)
    paths = [""]
    edges: list[tuple[str, str]] = []
    W = np.zeros((1, n_features))  # summed weights of the nodes of one level
    for level in range(1, depth + 1):
        below = [(path, f"{path}.{k}" if path else str(k)) for path in paths for k in range(n_children)]
        edges += below
        paths = [child for _, child in below]
        sd = LEAF_SD * 2.0 ** (depth - level)
        W = np.repeat(W, n_children, axis=0) + sd * rng.standard_normal((len(paths), n_features))
    X, best = _accept(W, n_samples, rho, rng)
    return X, np.array(paths)[best], Taxonomy.from_edges(edges)


def _accept(
    W: npt.NDArray[np.float64], n_samples: int, rho: float, rng: np.random.Generator
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Draw documents until enough are accepted; give them with their categories."""
    batch = max(256, min(4 * n_samples, 2**22 // len(W)))
    documents: list[npt.NDArray[np.float64]] = []
    categories: list[npt.NDArray[np.int64]] = []
    n_found = n_drawn = 0
    while n_found < n_samples:
        if n_drawn > MAX_DRAWS * n_samples + batch:
            raise ParameterError(
                f"`rho` of make_synthetic is too large: {n_found} of {n_drawn} documents have a margin above "
                f"{rho}; use a smaller one"
            )
        X = rng.standard_normal((batch, W.shape[1]))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        scores = X @ W.T
        two = np.partition(scores, -2, axis=1)[:, -2:]
        good = two[:, 1] - two[:, 0] > rho
        documents.append(X[good])
        categories.append(scores[good].argmax(axis=1))
        n_found += int(good.sum())
        n_drawn += batch
    return np.concatenate(documents)[:n_samples], np.concatenate(categories)[:n_samples]
