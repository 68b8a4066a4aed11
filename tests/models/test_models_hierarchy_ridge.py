"""HierarchyRidge against the paper's closed form, scikit-learn's Ridge, and scikit-learn's rules."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from pinakes import HierarchyRidge, Taxonomy
from pinakes.errors import ConvergenceWarning, ParameterError
from reference import hlsi as reference

TREE = Taxonomy.from_paths(["a/b/d", "a/b/e", "a/c", "f/g", "f/h"])
LATTICE = Taxonomy.from_edges([("", "r"), ("r", "a"), ("r", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("c", "e")])
SOLVERS = ["primal", "dual", "free"]


def draw(seed, taxonomy=TREE, n=40, d=15):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.5)
    sets = [rng.choice(taxonomy.ids, size=rng.integers(1, 4), replace=False).tolist() for _ in range(n)]
    classes = sorted({k for labels in sets for k in labels})
    Y = np.array([[1.0 if k in labels else -1.0 for k in classes] for labels in sets])
    return X, sets, classes, Y


@pytest.mark.parametrize("taxonomy", [TREE, LATTICE], ids=["tree", "lattice"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n", [12, 40])
def test_weights_are_eq_13(n, solver, taxonomy):
    X, sets, classes, Y = draw(n, taxonomy, n)
    m = HierarchyRidge(taxonomy, beta=0.3, xi=0.7, fit_intercept=False, solver=solver, tol=1e-12).fit(X, sets)
    L = reference.laplacian(reference.memberships(taxonomy, sets))
    expected = np.linalg.solve(X.T @ X + 0.7 * X.T @ L @ X + 0.3 * np.eye(15), X.T @ Y)
    assert m.classes_.tolist() == classes
    np.testing.assert_allclose(m.coef_, expected.T, atol=1e-8)
    np.testing.assert_array_equal(m.intercept_, 0)
    np.testing.assert_allclose(m.decision_function(sparse.csr_array(X)), X @ expected, atol=1e-8)
    assert m.predict(X) == [[k for k, s in zip(classes, row, strict=True) if s > 0] for row in X @ expected]


@pytest.mark.parametrize("solver", SOLVERS)
def test_intercept_is_free_and_its_gradient_is_zero(solver):
    """With an intercept b: the gradient of the objective in w and b, by its definition, is zero."""
    X, sets, _, Y = draw(3)
    m = HierarchyRidge(TREE, beta=0.3, xi=0.7, solver=solver, tol=1e-12).fit(X, sets)
    W, b = m.coef_.T, m.intercept_
    L = reference.laplacian(reference.memberships(TREE, sets))
    error = X @ W + b - Y
    np.testing.assert_allclose(error.sum(axis=0), 0, atol=1e-7)
    np.testing.assert_allclose(X.T @ error + 0.7 * X.T @ L @ X @ W + 0.3 * W, 0, atol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_xi_it_is_ridge(solver, fit_intercept):
    X, sets, _, Y = draw(1)
    ours = HierarchyRidge(TREE, beta=2.0, xi=0, fit_intercept=fit_intercept, solver=solver, tol=1e-12).fit(X, sets)
    theirs = Ridge(alpha=2.0, fit_intercept=fit_intercept).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
    y = np.array([labels[0] for labels in sets])
    theirs = RidgeClassifier(alpha=2.0, fit_intercept=fit_intercept).fit(X, y)
    one = HierarchyRidge(TREE, beta=2.0, xi=0, fit_intercept=fit_intercept, solver=solver, tol=1e-12).fit(X, y)
    assert (one.predict(X) == theirs.predict(X)).all()


def test_roughness_falls_as_xi_grows():
    X, sets, *_ = draw(2)
    L = reference.laplacian(reference.memberships(TREE, sets))

    def rough(xi):
        scores = X @ HierarchyRidge(TREE, xi=xi, beta=0.1).fit(X, sets).coef_.T
        return np.trace(scores.T @ L @ scores)

    assert rough(0) > rough(0.1) > rough(1) > rough(10)


def test_many_classes_are_solved_in_pieces(monkeypatch):
    X, sets, *_ = draw(4)
    whole = HierarchyRidge(TREE, solver="free", tol=1e-10).fit(X, sets)
    monkeypatch.setattr("pinakes.models.hierarchy_ridge.CELLS", 45)  # three classes at once
    np.testing.assert_allclose(
        HierarchyRidge(TREE, solver="free", tol=1e-10).fit(X, sets).coef_, whole.coef_, atol=1e-8
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_duplicates_empty_documents_and_a_lonely_class_are_no_trouble(solver):
    X, sets, *_ = draw(5)
    X = np.vstack([X, X, np.zeros((3, 15))])
    sets = sets + sets + [["f/h"], ["f/g", "a"], ["a/c"]]
    m = HierarchyRidge(TREE, solver=solver).fit(X, sets)
    assert np.isfinite(m.coef_).all()
    assert np.isfinite(m.decision_function(np.zeros((1, 15)))).all()
    lonely = HierarchyRidge(TREE, solver=solver).fit(X[:10], [["a/b/e"]] + [["f/g"]] * 9)
    assert np.isfinite(lonely.coef_).all()


@parametrize_with_checks([HierarchyRidge(), HierarchyRidge(solver="free")])
def test_scikit_learn_rules(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": 0}, "`beta` of HierarchyRidge must be a number > 0, got 0"),
        ({"xi": -0.1}, "`xi` of HierarchyRidge must be a number >= 0, got -0.1"),
        ({"solver": "lu"}, "`solver` of HierarchyRidge must be one of .*, got 'lu'"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ParameterError, match=message):
        HierarchyRidge(**settings).fit(np.eye(2), ["a", "b"])


def test_one_class_and_stopping_early_are_told():
    with pytest.raises(ParameterError, match="HierarchyRidge needs at least 2 classes, got the 1 class 'a' only"):
        HierarchyRidge().fit(np.eye(2), ["a", "a"])
    X, sets, *_ = draw(6)
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=1 rounds at a residual of .*raise max_iter or"):
        HierarchyRidge(TREE, solver="free", max_iter=1).fit(X, sets)
