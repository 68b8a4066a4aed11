"""A map of documents: where each one lies in the plane, which branch it belongs to, and what is written beside it.

The plane is spanned by two directions of HLSI (or of LSI, which is HLSI with an infinite gamma). The first direction is
nearly the same for all documents, since the Laplacian leaves constants alone and word vectors have no negative values.
So three are learnt, and those two are drawn that vary most around their mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pinakes.errors import DataWarning, LabelError, ParameterError, closest
from pinakes.models import HLSI
from pinakes.taxonomy import Taxonomy

METHODS = {"hlsi": "HLSI", "lsi": "LSI"}
MOST_BRANCHES = 12  # that get a colour of their own
LEARNT_FROM = 50_000  # documents at most
# Okabe and Ito's colours, which the colour-blind tell apart, and lighter and darker ones
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8B6914", "#7A4EA3", "#A8322D", "#4B6F44",
           "#2F4858", "#B59F00")  # fmt: skip
GREY = "#8A8A8A"


@dataclass(frozen=True)
class Branch:
    """Documents of one colour: a name, the colour, and the node (None for the rest)."""

    name: str
    colour: str
    node: int | None


@dataclass(frozen=True)
class View:
    """The documents under one mapping: coordinates (n_documents, 2) within -1..1, and those of the categories."""

    name: str
    points: npt.NDArray[np.float32]
    centroids: npt.NDArray[np.float32]


@dataclass(frozen=True)
class DocumentMap:
    """Everything that a picture or a page shows.

    Attributes
    ----------
    title : str
    views : list of View
        One for each mapping; the documents and categories are the same in all.
    branches : list of Branch
    branch_of : int array (n_documents,)
    titles : list of str
        What is shown of each document.
    categories : list of (name, path, branch, documents)
        The categories that have documents, largest first; `View.centroids` has a row for each.
    category_of : int array (n_documents,)
        The category that stands for the document: the first of its labels.
    more : int array (n_documents,)
        Labels beside it.
    """

    title: str
    views: list[View]
    branches: list[Branch]
    branch_of: npt.NDArray[np.int64]
    titles: list[str]
    categories: list[tuple[str, str, int, int]]
    category_of: npt.NDArray[np.int64]
    more: npt.NDArray[np.int64]


def make_map(
    X: Any,
    labels: Sequence[Sequence[str]],
    taxonomy: Taxonomy,
    titles: Sequence[str],
    *,
    methods: Sequence[str] = ("hlsi", "lsi"),
    gamma: Any = 0.2,
    branch: str | None = None,
    title: str = "Documents",
    random_state: int = 0,
) -> DocumentMap:
    """Put documents on a map.

    Parameters
    ----------
    X : sparse matrix of shape (n_documents, n_features)
    labels : sequence of sequences of str
        One or more labels a document.
    taxonomy : Taxonomy
    titles : sequence of str
        What is shown of each document.
    methods : sequence of {"hlsi", "lsi"}, default=("hlsi", "lsi")
        The mappings, the first one being shown first.
    gamma : float or "cv", default=0.2
        Of HLSI.
    branch : str or None, default=None
        The node whose documents are drawn, coloured by what lies directly below it; None: all of them.
    title : str, default="Documents"
    random_state : int, default=0
    """
    for method in methods:
        if method not in METHODS:
            raise ParameterError(f"`methods` of make_map must be of {', '.join(METHODS)}, got {method!r}")
    kept, top = _inside(labels, taxonomy, branch)
    labels = [labels[i] for i in kept]
    views = [_project(X[kept], labels, taxonomy, method, gamma, random_state) for method in methods]
    first = np.array([_first_inside(each, taxonomy, branch) for each in labels], dtype=np.int64)
    branches, branch_of = _colour(first, taxonomy, top)
    nodes, category_of, counts = np.unique(first, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    category_of = rank[category_of]
    categories = []
    for k in order:
        path = " > ".join(taxonomy.names[taxonomy.index(v)] for v in taxonomy.path(int(nodes[k])))
        own = int(branch_of[np.flatnonzero(category_of == rank[k])[0]])
        categories.append((taxonomy.names[nodes[k]], path, own, int(counts[k])))
    return DocumentMap(
        title,
        [View(name, Z, _centroids(Z, category_of, len(nodes))) for name, Z in views],
        branches,
        branch_of,
        [titles[i] for i in kept],
        categories,
        category_of,
        np.array([len(each) - 1 for each in labels]),
    )


def _inside(labels: Sequence[Sequence[str]], taxonomy: Taxonomy, branch: str | None) -> tuple[npt.NDArray[Any], Any]:
    """Give the documents to draw, and the nodes that colours begin from."""
    if branch is None:
        top = taxonomy.roots
        while len(top) == 1 and len(taxonomy.children.of(top[0])):  # a single root says nothing
            top = taxonomy.children.of(top[0])
        return np.arange(len(labels)), top
    if branch not in taxonomy:
        raise LabelError(
            f"--branch {branch!r} is not in the taxonomy of {len(taxonomy)} nodes{closest(branch, taxonomy.ids)}"
        )
    below = set(taxonomy.descendants.of(taxonomy.index(branch)).tolist())
    kept = [i for i, each in enumerate(labels) if any(taxonomy.index(k) in below for k in each)]
    if len(kept) < 2:
        raise ParameterError(f"--branch {branch!r} must hold two documents or more, got {len(kept)}")
    top = taxonomy.children.of(taxonomy.index(branch))
    return np.array(kept), top if len(top) else np.array([taxonomy.index(branch)])


def _first_inside(labels: Sequence[str], taxonomy: Taxonomy, branch: str | None) -> int:
    """Give the node that stands for a document: its first label (below the branch) that is above none of the others."""
    nodes = [taxonomy.index(k) for k in labels]
    if branch is not None:
        below = set(taxonomy.descendants.of(taxonomy.index(branch)).tolist())
        nodes = [v for v in nodes if v in below]
    above = {int(u) for v in nodes for u in taxonomy.ancestors.of(v) if u != v}
    return next(v for v in nodes if v not in above)


def _project(
    X: Any, labels: Sequence[Sequence[str]], taxonomy: Taxonomy, method: str, gamma: Any, random_state: int
) -> tuple[str, npt.NDArray[np.float32]]:
    rows = np.arange(X.shape[0])
    if len(rows) > LEARNT_FROM:
        rows = np.sort(np.random.default_rng(random_state).choice(rows, LEARNT_FROM, replace=False))
    model = HLSI(taxonomy, n_components=3, gamma=float("inf") if method == "lsi" else gamma, random_state=random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        Z = model.fit(X[rows], [labels[i] for i in rows]).transform(X)
    Z = np.asarray(Z, dtype=np.float64)
    Z = np.hstack([Z, np.zeros((len(Z), max(0, 2 - Z.shape[1])))])
    Z = Z[:, np.sort(np.argsort(-Z.var(axis=0), kind="stable")[:2])]
    # to -1..1 by what most documents need, so that a few far ones do not press all others together
    low, high = np.quantile(Z, [0.002, 0.998], axis=0)
    half = np.where(high > low, (high - low) / 2, 1.0)
    points = np.clip((Z - (high + low) / 2) / half, -1.15, 1.15) / 1.15
    return METHODS[method], points.astype(np.float32)


def _colour(
    first: npt.NDArray[np.int64], taxonomy: Taxonomy, top: npt.NDArray[Any]
) -> tuple[list[Branch], npt.NDArray[np.int64]]:
    """Give each document its branch: the node of `top` above it, the largest ones in colours of their own."""
    owner = np.full(len(taxonomy), -1, dtype=np.int64)
    for v in reversed(top):  # on a lattice the first one counts
        owner[taxonomy.descendants.of(int(v))] = v
    mine = owner[first]
    nodes, counts = np.unique(mine[mine >= 0], return_counts=True)
    largest = nodes[np.argsort(-counts, kind="stable")][:MOST_BRANCHES]
    branches = [Branch(taxonomy.names[v], COLOURS[k], int(v)) for k, v in enumerate(largest)]
    place = np.full(len(taxonomy) + 1, len(branches), dtype=np.int64)
    place[largest] = np.arange(len(largest))
    branch_of = place[mine]
    if (branch_of == len(branches)).any():
        branches.append(Branch("other", GREY, None))
    return branches, branch_of


def _centroids(Z: npt.NDArray[np.float32], category_of: npt.NDArray[Any], n: int) -> npt.NDArray[np.float32]:
    counts = np.bincount(category_of, minlength=n)
    sums = [np.bincount(category_of, weights=Z[:, k], minlength=n) for k in range(2)]
    return (np.column_stack(sums) / counts[:, None]).astype(np.float32)
