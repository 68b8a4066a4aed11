"""The 2005 paper's experiments: their parts against definitions and scikit-learn, and a quick run of each."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from pinakes import Taxonomy
from pinakes.cli.main import main
from pinakes.reproduce import feature_spaces as spaces
from pinakes.reproduce.feature_spaces import Collection

TREE = Taxonomy.from_paths(["a/b", "a/c", "d/e", "d/f"])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    n = 120
    leaf = rng.integers(0, 4, n)
    Y = np.zeros((n, len(TREE)))
    X = rng.poisson(0.5, (n, 25)).astype(float)
    for i, k in enumerate(leaf):
        node = TREE.index(["a/b", "a/c", "d/e", "d/f"][k])
        Y[i, TREE.ancestors.of(node)] = 1
        X[i, 4 * k : 4 * k + 4] += rng.poisson(1.0, 4)
    kept = np.arange(len(TREE))
    return Collection(sparse.csr_array(X), sparse.csr_array(Y), TREE, kept, TREE.leaves)


def test_splits_have_five_documents_of_each_leaf_and_share_none(data):
    for seed in range(5):
        split = spaces.draw_split(data, 24, seed)
        assert len(split.train) == 24
        assert len(np.intersect1d(split.train, split.test)) == 0
        assert len(split.train) + len(split.test) == 120
        assert data.Y[split.train][:, TREE.leaves].sum(axis=0).min() >= 5
    assert len(spaces.draw_split(data, 24, 0, 10).test) == 10


def test_cca_finds_the_canonical_correlations(data):
    """With hardly any ridge the coordinates correlate with some mix of labels as much as QR and SVD say is possible."""
    X, Y = data.X.toarray(), data.Y[:, TREE.leaves[:3]].toarray()
    centred = Y - Y.mean(axis=0)
    expected = np.linalg.svd(np.linalg.qr(X)[0].T @ np.linalg.qr(centred)[0], compute_uv=False)
    subset = Collection(data.X, data.Y, TREE, TREE.leaves[:3], TREE.leaves)
    W = spaces.fit_space("CCA", subset, np.arange(120), 3, 1e-9)
    Z = X @ W / np.sqrt(120)
    found = np.linalg.norm(np.linalg.qr(centred)[0].T @ Z, axis=0)
    np.testing.assert_allclose(np.sort(found)[::-1], expected, atol=0.02)  # labels have a little ridge too


@pytest.mark.parametrize("space", ["LSI", "CCA", "HLSI"])
def test_coordinates_are_orthogonal_and_of_one_length(data, space):
    train = np.arange(0, 120, 2)
    W = spaces.fit_space(space, data, train, 3, 5.0)
    Z = data.X[train] @ W
    np.testing.assert_allclose((Z**2).mean(axis=0), 1)
    if space != "CCA":
        np.testing.assert_allclose(Z.T @ Z / len(train), np.eye(3), atol=1e-8)


def test_scores_are_scikit_learn_s(data):
    train, test = np.arange(0, 120, 2), np.arange(1, 120, 2)
    F, F_test = data.X[train].toarray(), data.X[test].toarray()
    Y, Y_test = data.Y[train].toarray().astype(int), data.Y[test].toarray().astype(int)
    scores = spaces.classify(F, data.Y[train], F_test, data.Y[test])
    C = spaces.C / (F**2).sum(axis=1).mean()
    answers = np.column_stack(
        [LinearSVC(C=C, dual=False, tol=1e-3).fit(F, Y[:, k]).predict(F_test) for k in range(Y.shape[1])]
    )
    assert scores.micro == pytest.approx(f1_score(Y_test, answers, average="micro"), abs=0.01)
    assert scores.macro == pytest.approx(f1_score(Y_test, answers, average="macro", zero_division=0), abs=0.01)


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["2005-figure2", "2005-figure3", "2005-figure4", "2005-speed"])
def test_quick_runs_end_in_tables(name, corpora, tmp_path, capsys):
    main(["reproduce", "run", name, "--data", str(corpora), "--quick", "--out", str(tmp_path)])
    text = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert "rcv1" in text or "HLSI" in text
    assert "nan" not in text
