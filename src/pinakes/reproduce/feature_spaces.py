"""The feature spaces of the 2005 paper's section 4, and the classifiers on top of them.

    LSI     the left singular vectors of the training documents
    CCA     canonical correlations between words and categories, with a ridge; no more dimensions than categories
    HLSI    hierarchy-regularized LSI, with the paper's Laplacian
    HLSI-n  the same with the normalized Laplacian
    all     the words themselves

Mappings are learnt from the training documents and scaled as the paper has them: |X w| = 1, here times the square root
of their number. For every category, inner or leaf, a linear SVM says yes or no. Its C is 1 over the mean squared length
of a training document, as by default in SVMlight, so that the scale of a space does not matter; its loss is the squared
hinge, where SVMlight has the hinge. All of them are one `CoupledSVC` in which nothing is shared.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from pinakes.datasets import load_corpus
from pinakes.documents import TextFeatures
from pinakes.models import HLSI, CoupledSVC
from pinakes.models.labels import read_label_sets
from pinakes.solvers.hierarchy_graph import HierarchyGraph
from pinakes.taxonomy import Taxonomy

Array = npt.NDArray[Any]
SETS = {"rcv1": 20, "go-function": 300}  # set -> documents that a category must have
LEAF_LEAST = 5  # training documents that a leaf must have
C = 1.0  # over the mean squared length of a training document
TOL = 1e-3  # relative duality gap of the classifiers


class Collection(NamedTuple):
    """Documents, which categories hold them (ancestors included), and the categories that are large enough."""

    X: sparse.csr_array
    Y: sparse.csr_array
    taxonomy: Taxonomy
    kept: Array
    leaves: Array


class Split(NamedTuple):
    """Positions of training and test documents."""

    train: Array
    test: Array


@lru_cache(maxsize=2)
def read_collection(folder: Path, name: str) -> Collection:
    """Read a set; equal documents count once. Words must stand in five documents, and are weighted by TF-IDF."""
    taxonomy, train, test = load_corpus(folder / name)
    labels = train.labels + test.labels
    X: Any
    if train.X is not None and test.X is not None:
        X = sparse.csr_array(sparse.vstack([train.X, test.X]))
        X = X[:, np.bincount(X.indices, minlength=X.shape[1]) >= 5]
    else:
        X = TextFeatures(min_df=5).fit_transform((train.texts or []) + (test.texts or []))
    graph = HierarchyGraph(taxonomy, read_label_sets(labels, taxonomy, X.shape[0], None).by_node)
    Y = graph.H[:, : len(taxonomy)]
    kept = np.flatnonzero(graph.sizes[: len(taxonomy)] >= SETS[name])
    inner = {int(v) for u in kept.tolist() for v in taxonomy.ancestors.of(u) if v != u}
    leaves = np.array([v for v in kept if int(v) not in inner])
    large = np.zeros(len(taxonomy))
    large[kept] = 1.0
    Y = sparse.csr_array(Y.multiply(large))  # the graph too is that of the categories that are large enough
    Y.eliminate_zeros()
    some = np.flatnonzero(Y.sum(axis=1))
    return Collection(sparse.csr_array(X[some]), sparse.csr_array(Y[some]), taxonomy, kept, leaves)


def draw_split(data: Collection, n_train: int, seed: int, n_test: int | None = None) -> Split:
    """Draw training documents at random, at least five of each leaf among them (section 4.3); the rest is for tests."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(data.X.shape[0])
    Y = data.Y[order]
    chosen: dict[int, None] = {}
    for v in data.leaves:
        chosen |= dict.fromkeys(np.flatnonzero(Y[:, [int(v)]].toarray())[:LEAF_LEAST].tolist())
    for i in range(len(order)):
        if len(chosen) >= n_train:
            break
        chosen.setdefault(i)
    train = np.zeros(len(order), dtype=bool)
    train[list(chosen)[:n_train]] = True
    return Split(order[train], order[~train][:n_test])


def fit_space(space: str, data: Collection, train: Array, n_components: int, gamma: float) -> Array:
    """Learn a mapping: a matrix (n_features, n_components), the columns in the order of their importance."""
    X, Y = data.X[train].astype(np.float64), data.Y[train]
    if space == "CCA":
        return _canonical(X, Y[:, data.kept], n_components, gamma)
    model = HLSI(
        data.taxonomy,
        n_components=n_components,
        gamma=float("inf") if space == "LSI" else gamma,
        laplacian="normalized" if space == "HLSI-n" else "paper",
        solver="dual",
    )
    return np.asarray(model.fit(X, Y).components_.T)


def _canonical(X: Any, Y: sparse.csr_array, n_components: int, gamma: float) -> Array:
    """Solve X^T Y (Y^T Y + I)^-1 Y^T X w = rho^2 (X^T X + kappa I) w, kappa being gamma times the mean of |x|^2."""
    n = X.shape[0]
    s2, U = linalg.eigh((X @ X.T).toarray())
    inside = s2 > s2[-1] * n * np.finfo(np.float64).eps
    s2, U = s2[inside], U[:, inside]
    kappa = gamma * float(s2.sum()) / n
    shrunk = np.sqrt(s2 / (s2 + kappa))
    targets = Y.toarray().astype(np.float64)
    targets -= targets.mean(axis=0)
    root = linalg.cholesky(targets.T @ targets + np.eye(targets.shape[1]), lower=True)
    between = shrunk[:, None] * (U.T @ linalg.solve_triangular(root, targets.T, lower=True).T)
    left = linalg.svd(between, full_matrices=False)[0][:, :n_components]
    W = X.T @ (U @ (left / np.sqrt(s2 * (s2 + kappa))[:, None]))
    return np.asarray(W * (np.sqrt(n) / np.linalg.norm(X @ W, axis=0)))


class Scores(NamedTuple):
    """F1 over all decisions, the mean F1 of categories, and the seconds that training all classifiers took."""

    micro: float
    macro: float
    seconds: float


def classify(F: Any, Y: sparse.csr_array, F_test: Any, Y_test: sparse.csr_array) -> Scores:
    """Train a linear SVM for each category and measure its answers; a category without a test document has F1 0."""
    squares: Any = F.power(2) if sparse.issparse(F) else F * F  # type: ignore[attr-defined]
    length = float(squares.sum()) / F.shape[0]
    targets, truth = Y.toarray().astype(bool), Y_test.toarray().astype(bool)
    machines = CoupledSVC(C=C / length, node_weight="flat", implied=False, cut=0.0, tol=TOL, n_jobs=1)
    started = time.perf_counter()
    machines.fit(F, targets.astype(np.int64))
    seconds = time.perf_counter() - started
    answers = machines.decision_function(F_test) > 0
    hits = np.stack([(answers & truth).sum(axis=0), (answers & ~truth).sum(axis=0), (~answers & truth).sum(axis=0)])
    return Scores(_f1(hits.sum(axis=1)), float(np.mean([_f1(row) for row in hits.T])), seconds)


def _f1(hits: Array) -> float:
    true_positives, false_positives, false_negatives = hits
    return float(2 * true_positives / max(2 * true_positives + false_positives + false_negatives, 1.0))


def classify_space(data: Collection, split: Split, W: Array | None, dimensions: Sequence[int]) -> dict[str, float]:
    """Measure the classifiers on the first dimensions of a space, for several numbers of them; None: all words."""
    train, test = data.X[split.train].astype(np.float64), data.X[split.test].astype(np.float64)
    Y, Y_test = data.Y[split.train][:, data.kept], data.Y[split.test][:, data.kept]
    if W is None:
        scores = classify(train, Y, test, Y_test)
        return {"micro": scores.micro, "macro": scores.macro, "seconds": scores.seconds}
    F, F_test = train @ W, test @ W
    found: dict[str, float] = {}
    for m in dimensions:
        scores = classify(np.ascontiguousarray(F[:, :m]), Y, F_test[:, :m], Y_test)
        found |= {f"micro_{m}": scores.micro, f"macro_{m}": scores.macro, f"seconds_{m}": scores.seconds}
    return found
