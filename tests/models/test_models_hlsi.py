"""HLSI against the paper's equations in dense algebra, TruncatedSVD, scikit-learn's rules, and hard cases."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from pinakes import HLSI, Taxonomy
from pinakes.errors import ConvergenceWarning, DataWarning, DocumentError, LabelError, ParameterError
from reference import hlsi as reference

TREE = Taxonomy.from_paths(["a/b/d", "a/b/e", "a/c", "f/g", "f/h"])
LATTICE = Taxonomy.from_edges([("", "r"), ("r", "a"), ("r", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("c", "e")])


def draw(seed, taxonomy=TREE, n=40, d=25, density=0.4):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < density)
    ids = np.array(taxonomy.ids)
    sets = [rng.choice(ids, size=rng.integers(1, 4), replace=False).tolist() for _ in range(n)]
    return X, sets


def fitted(X, y, taxonomy=TREE, solver="dual", m=5, gamma=2.0, **more):
    model = HLSI(taxonomy, n_components=m, gamma=gamma, solver=solver, tol=1e-9, max_iter=500, **more)
    return model.fit(sparse.csr_array(X), y)


def laplacian(taxonomy, sets, kind="normalized"):
    """The paper's, or divided by the square roots of the numbers of nodes of both documents."""
    h = reference.memberships(taxonomy, sets)
    L = reference.laplacian(h)
    root = np.sqrt([len(held) for held in h])
    return L if kind == "paper" else L / np.outer(root, root)


@pytest.mark.parametrize("taxonomy", [TREE, LATTICE], ids=["tree", "lattice"])
@pytest.mark.parametrize("shape", [(40, 25), (25, 40)])
@pytest.mark.parametrize("kind", ["normalized", "paper"])
@pytest.mark.parametrize("solver", ["primal", "dual", "free"])
def test_every_solver_solves_the_paper_s_problem(solver, kind, shape, taxonomy):
    for seed in range(3):
        X, sets = draw(seed, taxonomy, *shape)
        model = fitted(X, sets, taxonomy, solver, laplacian=kind)
        L = laplacian(taxonomy, sets, kind)
        assert model.gamma_ == pytest.approx(2.0 * (X**2).sum(axis=1).mean())
        phi, eigenvalues, _ = reference.project(X, L, model.gamma_)
        np.testing.assert_allclose(model.eigenvalues_, eigenvalues[:5], rtol=1e-8)
        Z = model.transform(X)
        assert subspace_angles(Z, phi[:, :5]).max() < 1e-6
        np.testing.assert_allclose(np.abs(Z / np.sqrt(len(X))), np.abs(phi[:, :5]), atol=1e-6)
        # the constraint, and the cost that the eigenvalue stands for
        np.testing.assert_allclose(Z.T @ Z / len(X), np.eye(5), atol=1e-8)
        w = model.components_ / np.sqrt(len(X))
        cost = model.gamma_ * (w**2).sum(axis=1) + np.einsum("ji,ik,jk->j", w @ X.T, L, w @ X.T)
        np.testing.assert_allclose(cost, model.eigenvalues_, rtol=1e-8)


def test_infinite_gamma_is_truncated_svd_signs_and_all():
    X, sets = draw(1)
    theirs = TruncatedSVD(6, algorithm="arpack", random_state=0).fit(X)
    for solver in ("primal", "dual", "free"):
        for gamma in (float("inf"), 1e9):
            ours = fitted(X, sets, solver=solver, m=6, gamma=gamma, whiten=False)
            np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=1e-6)
            np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-5)
    assert np.isinf(fitted(X, sets, gamma=float("inf")).eigenvalues_).all()


def test_whitened_or_as_long_as_sigma():
    X, sets = draw(2)
    white, plain = fitted(X, sets), fitted(X, sets, whiten=False)
    np.testing.assert_allclose((white.transform(X) ** 2).mean(axis=0), 1)
    np.testing.assert_allclose(np.linalg.norm(plain.transform(X), axis=0), plain.singular_values_)
    assert (np.diff(plain.singular_values_) <= 0).all()
    np.testing.assert_allclose(plain.eigenvalues_, plain.gamma_ / plain.singular_values_**2)


@given(seed=st.integers(0, 10_000), scale=st.floats(0.01, 100))
@settings(max_examples=15)
def test_the_scale_of_the_documents_and_their_order_do_not_matter(seed, scale):
    X, sets = draw(seed)
    one = fitted(X, sets, m=3)
    order = np.random.default_rng(seed).permutation(len(X))
    other = fitted(scale * X[order], [sets[i] for i in order], m=3)
    np.testing.assert_allclose(other.transform(scale * X), one.transform(X), atol=1e-6)


def test_taxonomy_brings_documents_of_one_branch_together():
    """Two branches whose words overlap: the first direction after the mean tells them apart, which LSI's does not."""
    rng = np.random.default_rng(0)
    n = 200
    y = np.repeat(["a/b", "a/c", "d/e", "d/f"], n // 4)
    X = rng.poisson(1.0, (n, 40)).astype(float)
    X[:, 0] += 8 * rng.random(n)  # loud, and says nothing
    X[y >= "d", 1] += 2.0
    taxonomy = Taxonomy.from_paths(set(y))
    branch = np.where(y >= "d", 1.0, -1.0)

    def seen(gamma):
        Z = HLSI(taxonomy, n_components=2, gamma=gamma).fit(X, y).transform(X)
        return abs(np.corrcoef(Z[:, 1], branch)[0, 1])

    assert seen(0.5) > 0.7
    assert seen(float("inf")) < 0.3


def test_new_documents_and_float32_and_dense_and_sparse_agree():
    X, sets = draw(3)
    model = fitted(X, sets)
    np.testing.assert_allclose(model.transform(X[:7]), model.transform(X)[:7])
    np.testing.assert_allclose(model.transform(sparse.csr_array(X)), model.transform(X))
    single = fitted(X.astype(np.float32), sets)
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.transform(X.astype(np.float32)), model.transform(X), atol=1e-3)


def test_free_solver_in_float32_with_more_nodes_than_it_starts_from():
    rng = np.random.default_rng(0)
    taxonomy = Taxonomy.from_paths(f"{a}/{b}" for a in "abcdef" for b in range(9))
    leaves = [taxonomy.ids[v] for v in taxonomy.leaves]
    X = sparse.random_array((600, 300), density=0.05, rng=rng, dtype=np.float32)
    y = [leaves[i] for i in rng.integers(0, len(leaves), 600)]
    settings = {"n_components": 8, "n_jobs": 2, "gamma": 3.0}
    exact = HLSI(taxonomy, solver="primal", **settings).fit(X, y)
    free = HLSI(taxonomy, solver="free", tol=1e-3, **settings).fit(X, y)
    assert free.n_iter_ > 1
    assert free.residual_ <= 1e-3
    np.testing.assert_allclose(free.singular_values_, exact.singular_values_, rtol=1e-4)
    assert subspace_angles(free.components_.T, exact.components_.T).max() < 0.02
    again = HLSI(taxonomy, solver="free", tol=1e-3, **{**settings, "n_jobs": 1}).fit(X, y)
    np.testing.assert_allclose(again.components_, free.components_, atol=1e-4)


def test_auto_is_exact_for_few_and_free_for_many():
    X, sets = draw(0)
    assert fitted(X, sets, solver="auto").solver_ == "primal"
    assert fitted(X[:20], sets[:20], solver="auto").solver_ == "dual"
    big = sparse.random_array((1600, 1600), density=0.01, rng=np.random.default_rng(0))
    assert HLSI(n_components=3).fit(big, np.arange(1600) % 5).solver_ == "free"


# -- numerical care --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["primal", "dual", "free"])
@pytest.mark.parametrize("case", ["duplicates", "empty documents", "lonely class", "rank", "unused words", "one class"])
def test_hard_documents_have_a_defined_result(case, solver):
    X, sets = draw(7, n=30, d=20)
    if case == "duplicates":
        X, sets = np.vstack([X, X, X[:1].repeat(20, axis=0)]), sets + sets + sets[:1] * 20
    elif case == "empty documents":
        X[::3] = 0
    elif case == "lonely class":
        sets = [["a/b/e"]] + [["f/g"]] * 29
    elif case == "rank":
        X = X[:, :4] @ np.random.default_rng(0).random((4, 20))
    elif case == "unused words":
        X[:, ::2] = 0
    elif case == "one class":
        sets = [["a/b/d"]] * 30
    model = fitted(X, sets, solver=solver, m=4)
    Z = model.transform(X)
    assert np.isfinite(Z).all()
    np.testing.assert_allclose(Z.T @ Z / len(X), np.eye(4), atol=1e-6)
    L = laplacian(TREE, sets)
    np.testing.assert_allclose(model.eigenvalues_, reference.project(X, L, model.gamma_)[1][:4], rtol=1e-6)
    if case == "empty documents":
        assert not Z[::3].any()


@pytest.mark.parametrize("solver", ["primal", "dual", "free"])
def test_more_components_than_rank_gives_the_rank_and_says_so(solver):
    X, sets = draw(7, n=30, d=20)
    X = X[:, :4] @ np.random.default_rng(0).random((4, 20))
    with pytest.warns(DataWarning, match="gives 4 components, not n_components=9: the documents span no more"):
        model = fitted(X, sets, solver=solver, m=9)
    assert model.components_.shape == (4, 20)
    assert model.transform(X).shape == (30, 4)
    assert model.get_feature_names_out().tolist() == ["hlsi0", "hlsi1", "hlsi2", "hlsi3"]
    assert np.isfinite(model.components_).all()


@pytest.mark.parametrize("solver", ["primal", "dual", "free"])
def test_one_document_and_tiny_and_huge_gamma(solver):
    one = fitted(np.array([[0.0, 3.0]]), [["a"]], solver=solver, m=1)
    np.testing.assert_allclose(one.transform([[5.0, 3.0]]), [[1.0]])
    X, sets = draw(4)
    for gamma in (1e-6, 1e12):
        assert np.isfinite(fitted(X, sets, solver=solver, m=3, gamma=gamma).transform(X)).all()


def test_no_words_at_all_is_refused():
    with pytest.raises(DocumentError, match="HLSI needs a document with features, got zeros only in all 3 rows of X"):
        HLSI(TREE).fit(np.zeros((3, 4)), [["a"], ["f"], ["a"]])


# -- gamma="cv" --------------------------------------------------------------------------------------------------


def test_gamma_is_chosen_by_what_held_out_documents_say():
    rng = np.random.default_rng(0)
    y = np.repeat(["a/b/d", "a/b/e", "f/g", "f/h"], 60)
    X = rng.poisson(0.3, (240, 80)).astype(float)
    for k, label in enumerate(np.unique(y)):
        X[y == label, 5 * k : 5 * k + 5] += rng.poisson(1.0, (60, 5))
    model = HLSI(TREE, n_components=4, gamma="cv").fit(X, y)
    scores = model.cv_scores_
    best = max(scores, key=scores.get)
    assert model.gamma_ == pytest.approx(best * (X**2).sum(axis=1).mean())
    assert scores[best] > 0.6
    assert set(scores) == {0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0}
    assert clone(model).gamma == "cv"
    assert HLSI(TREE, n_components=2, gamma="cv").fit(X[:20], y[:20]).cv_scores_ == {}
    assert not hasattr(model.set_params(gamma=2.0).fit(X, y), "cv_scores_")


# -- scikit-learn, and mistakes ----------------------------------------------------------------------------------


@parametrize_with_checks([HLSI(n_components=2), HLSI(n_components=2, solver="free"), HLSI(n_components=1, gamma="cv")])
def test_scikit_learn_rules(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        check(estimator)


def test_works_in_a_pipeline():
    X, _ = draw(5, n=60)
    y = np.where(X[:, 0] > X[:, 1], "a/c", "f/g")
    score = make_pipeline(HLSI(TREE, n_components=3, gamma=0.2), LogisticRegression()).fit(X, y).score(X, y)
    assert score > 0.8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "`n_components` of HLSI must be a whole number >= 1, got 0"),
        ({"gamma": -1.0}, "`gamma` of HLSI must be a number > 0 or 'cv', got -1.0"),
        ({"gamma": float("nan")}, "`gamma` of HLSI must be a number > 0 or 'cv', got nan"),
        ({"gamma": "auto"}, "`gamma` of HLSI must be a number > 0 or 'cv', got 'auto'"),
        ({"laplacian": "l"}, "`laplacian` of HLSI must be one of 'normalized', 'paper', got 'l'"),
        ({"solver": "svd"}, "`solver` of HLSI must be one of 'auto', 'primal', 'dual', 'free', got 'svd'"),
        ({"solver": "free", "tol": 0}, "`tol` of HLSI must be a number > 0, got 0"),
        ({"taxonomy": 3}, "`taxonomy` must be a Taxonomy, a path or None, got int"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ParameterError, match=message):
        HLSI(**settings).fit(np.eye(3), ["a", "b", "c"])


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (
            [["a"], [], ["f"]],
            DocumentError,
            r"every document needs a label, got none in row 1 \(counted from 0\); drop",
        ),
        (["a", "f"], DocumentError, "X and y must hold the same documents, got 3 and 2"),
        (["a", "f", "zz"], LabelError, "the label 'zz' of the documents cannot be found in the taxonomy"),
        (["a", ["f"], "a"], LabelError, r"one label a document, as in \[0\], got \['f'\] in \[1\]"),
        ([["a"], "f", ["a"]], LabelError, r"one list of labels a document, got 'f' in \[1\]"),
        (np.eye(3), LabelError, "has 3 columns where 8 were expected: one for each node"),
        (np.full((3, 8), 0.5), LabelError, "must hold 0 and 1"),
    ],
)
def test_bad_labels_are_named(y, error, message):
    with pytest.raises(error, match=message):
        HLSI(TREE, n_components=1).fit(np.eye(3), y)


def test_stopping_early_warns_and_unfitted_is_refused():
    X, sets = draw(0, n=200, d=150, density=0.05)
    with pytest.warns(
        ConvergenceWarning, match=r"HLSI stopped after max_iter=1 rounds at a residual of .*raise max_iter"
    ):
        HLSI(TREE, n_components=2, solver="free", tol=1e-9, max_iter=1).fit(X, sets)
    with pytest.raises(NotFittedError):
        HLSI(TREE).transform(X)
