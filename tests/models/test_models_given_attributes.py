"""Classes described by a matrix of attributes or of similarities, against the QP solver and against taxonomies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pinakes import TaxonomySVC, save
from pinakes.errors import ParameterError
from reference.joint_svm import deltas, graph_of, lambdas, solve_joint_svm
from reference.problems import random_problem

SOLVERS = ["ascent", "greedy", "joint", "exhaustive"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", ["zero-one", "tree", "matrix"])
@pytest.mark.parametrize("seed", range(3))
def test_a_random_matrix_of_attributes_leads_to_the_optimum_of_the_qp(solver, loss, seed):
    taxonomy, classes, X, y, loss, _ = random_problem(seed, True, loss, "equal")
    rng = np.random.default_rng(seed)
    given = rng.normal(size=(len(classes), 4)) * (rng.random((len(classes), 4)) < 0.7)
    table = {k: dict(enumerate(row)) for k, row in enumerate(given)}
    delta = deltas(graph_of(taxonomy), classes, loss)
    best = solve_joint_svm(X @ X.T, np.searchsorted(classes, y), np.full(len(y), 2.0), table, delta)[0]
    settings = {"C": 2.0, "loss": loss, "solver": solver, "tol": 1e-6, "max_iter": 5000}
    model = TaxonomySVC(taxonomy, class_attributes=given, **settings).fit(sparse.csr_array(X), y)
    assert model.primal_objective_ == pytest.approx(best, rel=1e-5, abs=1e-9)
    alike = TaxonomySVC(taxonomy, class_kernel=given @ given.T, **settings).fit(X, y)
    assert alike.primal_objective_ == pytest.approx(best, rel=1e-5, abs=1e-9)
    if len(classes) > 2:
        np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T, atol=1e-8)


@pytest.mark.parametrize("lattice", [False, True])
def test_the_attributes_of_a_taxonomy_given_as_a_matrix_make_the_same_model(lattice):
    taxonomy, classes, X, y, _, _ = random_problem(11, lattice, "tree", "equal")
    nodes = lambdas(graph_of(taxonomy), classes, "normalized")
    columns = sorted(set().union(*nodes.values()), key=str)
    given = np.array([[nodes[k].get(z, 0.0) for z in columns] for k in classes])
    by_taxonomy = TaxonomySVC(taxonomy, tol=1e-8, fit_intercept=True).fit(X, y)
    by_matrix = TaxonomySVC(taxonomy, tol=1e-8, fit_intercept=True, class_attributes=sparse.csr_array(given)).fit(X, y)
    np.testing.assert_allclose(by_matrix.primal_objective_, by_taxonomy.primal_objective_, rtol=1e-6)
    shift = by_matrix.coef_.toarray() - by_taxonomy.coef_.toarray()  # what all classes have in common may differ
    np.testing.assert_allclose(shift, np.tile(shift[0], (len(classes), 1)), atol=1e-4)
    assert (by_matrix.predict(X) == by_taxonomy.predict(X)).all()


def test_a_function_gives_the_similarities_and_a_subtree_can_be_scored():
    taxonomy, classes, X, y, _, _ = random_problem(3, False, "tree", "equal")

    def same_first_letters(a, b):
        return np.array([[1.0 if k == m else 0.5 for m in b] for k in a])

    model = TaxonomySVC(taxonomy, class_kernel=same_first_letters).fit(X, y)
    node = classes[0]
    inside = [k for k in classes if taxonomy.index(node) in taxonomy.ancestors.of(taxonomy.index(k))]
    assert set(model.predict(X, below=node)) <= set(inside)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"class_attributes": np.eye(2)}, r"`class_attributes` must have a row for each of the 3 classes.*\(2, 2\)"),
        ({"class_kernel": np.ones((3, 2))}, r"and as many columns.*\(3, 2\)"),
        ({"class_kernel": np.diag([1.0, 1.0, -1.0])}, "positive semi-definite, and has the eigenvalue -1"),
        ({"class_kernel": np.triu(np.ones((3, 3)))}, "must be symmetric"),
        ({"class_attributes": np.full((3, 1), np.nan)}, "finite"),
        ({"class_attributes": np.eye(3), "class_kernel": np.eye(3)}, "not both"),
    ],
)
def test_matrices_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ParameterError, match=message):
        TaxonomySVC(**settings).fit(np.eye(3), ["a", "b", "c"])


def test_such_a_model_says_what_it_cannot_do(tmp_path):
    model = TaxonomySVC(class_attributes=np.eye(2)).fit(np.eye(2), ["a", "b"])
    with pytest.raises(ParameterError, match="cannot be stored; store its `coef_`"):
        save(model, tmp_path / "m.pinakes")
    with pytest.raises(ParameterError, match="all classes must be known from the first call"):
        model.partial_fit(np.eye(2), ["a", "c"])
