"""Dense documents: the same optimum, weights and answers as from the same documents in CSR."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pinakes import Taxonomy, TaxonomySVC, load, save
from pinakes.models import joint_machine

FEW = Taxonomy.from_paths(["a/b", "a/c", "d/e", "d/f", "g"])
MANY = Taxonomy.from_paths(f"{a}/{a}{b}/{a}{b}{c}" for a in "abcd" for b in "efgh" for c in "ijklmn")
LATTICE = Taxonomy.from_edges([("", "a"), ("", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("b", "e"), ("c", "f")])


def embeddings(taxonomy, n_samples, seed=0):
    """Draw documents around the sum of a random direction for each node above their label."""
    rng = np.random.default_rng(seed)
    labels = [taxonomy.ids[v] for v in taxonomy.leaves] + [taxonomy.ids[0]]
    y = rng.choice(labels, n_samples)
    direction = rng.normal(size=(len(taxonomy), 24))
    X = np.array([direction[taxonomy.ancestors.of(taxonomy.index(k))].sum(axis=0) for k in y])
    return (X + rng.normal(size=X.shape)) / 5, y


@pytest.mark.parametrize("taxonomy", [FEW, MANY, LATTICE], ids=["few", "many", "lattice"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_dense_and_sparse_documents_lead_to_the_same_optimum(taxonomy, fit_intercept, monkeypatch):
    X, y = embeddings(taxonomy, 200)
    settings = {"tol": 1e-6, "fit_intercept": fit_intercept, "C": 0.5}
    dense = TaxonomySVC(taxonomy, **settings).fit(X, y)
    assert isinstance(dense._scorer.rows, np.ndarray)
    monkeypatch.setattr(joint_machine, "DENSE_ABOVE", 2.0)
    rows = TaxonomySVC(taxonomy, **settings).fit(X, y)
    assert not isinstance(rows._scorer.rows, np.ndarray)
    np.testing.assert_allclose(dense.primal_objective_, rows.primal_objective_, rtol=2e-6)
    np.testing.assert_allclose(dense.weights_.toarray(), rows.weights_.toarray(), atol=5e-3)
    np.testing.assert_allclose(dense.decision_function(X), X @ dense.coef_.toarray().T + dense.intercept_, atol=1e-9)
    np.testing.assert_allclose(dense.decision_function(sparse.csr_array(X)), dense.decision_function(X), atol=1e-9)
    assert (dense.predict(X) == rows.predict(X)).all()
    node = taxonomy.ids[0]
    np.testing.assert_allclose(dense.rank(X, 1, below=node).scores, rows.rank(X, 1, below=node).scores, atol=5e-3)


def test_dense_documents_in_threads_storage_and_continuation(tmp_path):
    X, y = embeddings(MANY, 4000)
    X = X.astype(np.float32)
    one = TaxonomySVC(MANY, n_jobs=1).fit(X, y)
    two = TaxonomySVC(MANY, n_jobs=2).fit(X, y)
    assert (one.weights_ != two.weights_).nnz == 0
    assert one.stopped_ == "converged"
    save(one, tmp_path / "m.pinakes")
    again = load(tmp_path / "m.pinakes")
    assert (again.predict(X) == one.predict(X)).mean() > 0.999
    more = TaxonomySVC(MANY, keep_documents=True).fit(X[:3000], y[:3000]).partial_fit(X[3000:], y[3000:])
    assert more.primal_objective_ == pytest.approx(one.primal_objective_, rel=0.02)
