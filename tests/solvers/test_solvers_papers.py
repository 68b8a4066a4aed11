"""The papers' algorithms against an independent QP solver, against each other, and against their own definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from pinakes import Taxonomy, TaxonomySVC
from pinakes.errors import ConvergenceWarning, DocumentError, ParameterError
from pinakes.kernels.gram import class_tables
from pinakes.models.classes import class_nodes
from pinakes.solvers import papers
from pinakes.solvers.kernel_rows import DocumentKernel, KernelRows, scale_gamma
from pinakes.solvers.papers import PaperSolver
from pinakes.solvers.problem import make_outputs
from pinakes.taxonomy.attributes import class_attributes
from pinakes.taxonomy.loss import make_loss
from reference.joint_svm import deltas, graph_of, lambdas
from reference.problems import LOSSES, WEIGHTS, optimum, random_problem

ALGORITHMS = ["greedy", "joint", "exhaustive", "sweeps"]
SOLVERS = ["greedy", "joint", "exhaustive", "ascent"]


def laplacian(A, B):
    return np.exp(-0.3 * cdist(A, B, "cityblock"))


# kernel settings, and the matrix they stand for by somebody else's definition
KERNELS = {
    "linear": ({}, lambda A, B: A @ B.T),
    "poly": ({"degree": 2, "gamma": 0.5, "coef0": 1.0}, lambda A, B: polynomial_kernel(A, B, 2, 0.5, 1.0)),
    "rbf": ({"gamma": 0.4}, lambda A, B: rbf_kernel(A, B, 0.4)),
    "precomputed": ({}, laplacian),
    "callable": ({}, laplacian),
}


def make_model(kernel, **settings):
    given, matrix = KERNELS[kernel]
    return TaxonomySVC(kernel=matrix if kernel == "callable" else kernel, **given, **settings)


def outputs_of(taxonomy, classes, loss, node_weight):
    nodes = class_nodes(taxonomy, np.array(classes))
    return make_outputs(class_attributes(taxonomy, nodes, node_weight), make_loss(loss, taxonomy, classes))


def solve(problem, algorithm, C=1.0, K=None, **settings):
    """Solve with the bare solver: the kernel matrix is given, linear by default."""
    taxonomy, classes, X, y, loss, node_weight = problem
    rows = KernelRows(DocumentKernel("precomputed"), X @ X.T if K is None else K)
    outputs = outputs_of(taxonomy, classes, loss, node_weight)
    codes = np.searchsorted(classes, y).astype(np.int32)
    return PaperSolver(algorithm, **settings).solve(rows, codes, np.full(len(y), C), outputs)


@pytest.fixture(scope="module")
def documents():
    """Words of three levels, enough for the algorithms to differ."""
    rng = np.random.default_rng(2)
    taxonomy = Taxonomy.from_paths(f"{a}/{a}{b}" for a in "abc" for b in "defg")
    labels = [taxonomy.ids[v] for v in taxonomy.leaves]
    y = np.array(labels * 4)
    centres = {node: rng.normal(size=8) for node in taxonomy.ids}
    X = np.array([sum(centres[taxonomy.ids[v]] for v in taxonomy.ancestors.of(taxonomy.index(k))) for k in y])
    X += rng.normal(size=X.shape)
    return taxonomy, X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("lattice", [False, True], ids=["tree", "lattice"])
def test_every_solver_and_kernel_reaches_the_optimum(solver, kernel, lattice):
    matrix = KERNELS[kernel][1]
    for seed in range(4):
        problem = random_problem(seed + 10 * lattice, lattice, LOSSES[seed % 4], WEIGHTS[(seed + lattice) % 5])
        taxonomy, classes, X, y, loss, node_weight = problem
        C = [0.1, 1.0, 10.0, 0.5][seed]
        m = make_model(
            kernel, taxonomy=taxonomy, C=C, loss=loss, node_weight=node_weight, solver=solver, tol=1e-6, max_iter=20_000
        )
        K = matrix(X, X)
        m.fit(K if kernel == "precomputed" else X, y)
        expected = optimum(taxonomy, classes, X, y, C, loss, node_weight, K)
        assert m.primal_objective_ == pytest.approx(expected, rel=1e-5, abs=1e-8)
        assert m.dual_objective_ == pytest.approx(expected, rel=1e-5, abs=1e-8)
        assert 0 <= m.gap_ <= 1e-6
        assert m.stopped_ == "converged"


@pytest.mark.kernel
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_dual_never_falls_and_psi_vanishes_at_the_optimum(algorithm):
    """Proposition 3, with F and psi recomputed from their definitions; the ratio is that of Eq. 41."""
    for seed in range(3):
        problem = random_problem(seed, seed == 1, "tree", "normalized")
        taxonomy, classes, X, y, loss, node_weight = problem
        result = solve(problem, algorithm, C=0.7, tol=1e-4)
        steps = result.history
        assert result.stopped == "converged"
        assert (np.diff(steps.d_obj) >= -1e-12 * np.abs(steps.d_obj[1:])).all()
        assert (steps.gap >= 0).all()
        assert len(steps.document) == len(steps) == len(steps.seconds)

        graph = graph_of(taxonomy)
        Lam, delta = lambdas(graph, classes, node_weight), deltas(graph, classes, loss)
        nodes = sorted(set().union(*Lam.values()), key=str)
        L = np.array([[Lam[k].get(z, 0.0) for z in nodes] for k in classes])
        codes, beta = np.searchsorted(classes, y), result.beta.toarray()
        alpha = beta * delta[codes]
        w = sum(np.outer(L[codes[i]] - L[k], X[i]) * alpha[i, k] for i in range(len(y)) for k in range(len(classes)))
        scores = X @ w.T @ L.T
        F = delta[codes] * (1 - scores[np.arange(len(y)), codes][:, None] + scores)
        dotted = beta.copy()
        dotted[np.arange(len(y)), codes] = 0.7 - beta.sum(axis=1)
        psi = F.max(axis=1) - np.where(dotted > 1e-12, F, np.inf).min(axis=1)
        np.testing.assert_allclose(result.psi, psi, atol=1e-9)
        norm2, slack = (w**2).sum(), F.max(axis=1).clip(0)
        assert steps.p_obj[-1] == pytest.approx(0.5 * norm2 + 0.7 * slack.sum(), rel=1e-9)
        assert steps.d_obj[-1] == pytest.approx(alpha.sum() - 0.5 * norm2, rel=1e-9)
        assert steps.active_ratio[-1] == (alpha > 0).sum() / (len(y) * (len(classes) - 1))
        by_psi = solve(problem, algorithm, C=0.7, tol=1e-300, epsilon=1e-6)
        assert by_psi.stopped == "converged"
        assert by_psi.psi.max() <= 1e-6
        if algorithm != "sweeps":  # the others take the largest psi
            assert by_psi.history.psi[-1] > 1e-6, "and not before"
        assert by_psi.last.d_obj == pytest.approx(optimum(taxonomy, classes, X, y, 0.7, loss, node_weight), rel=1e-5)


@pytest.mark.kernel
def test_class_tables_are_inner_products_and_losses():
    for seed, (loss, weight) in enumerate(zip(LOSSES, WEIGHTS, strict=False)):
        taxonomy, classes, _, _, loss, weight = random_problem(seed, True, loss, weight)
        graph = graph_of(taxonomy)
        Lam = lambdas(graph, classes, weight)
        gram, delta = np.empty((2, len(classes), len(classes)))
        class_tables(outputs_of(taxonomy, classes, loss, weight), gram, delta)
        np.testing.assert_allclose(delta, deltas(graph, classes, loss), atol=1e-12)
        # attributes of all classes cancel in every difference, and are left out
        apart = [
            [sum((Lam[a].get(z, 0) - Lam[b].get(z, 0)) ** 2 for z in {*Lam[a], *Lam[b]}) for b in Lam] for a in Lam
        ]
        np.testing.assert_allclose(np.diag(gram)[:, None] + np.diag(gram) - 2 * gram, apart, atol=1e-12)


def test_joint_needs_no_more_selections_than_greedy(documents):
    taxonomy, X, y = documents
    problem = (taxonomy, sorted(set(y)), X, y, "tree", "normalized")
    results = {name: solve(problem, name, C=3.0, tol=1e-4) for name in ALGORITHMS}
    steps = {name: len(result.history) for name, result in results.items()}
    assert steps["joint"] <= steps["greedy"]
    best = results["greedy"].last.d_obj
    for result in results.values():
        assert result.last.d_obj == pytest.approx(best, rel=2e-4)
        assert result.history.active_ratio[0] > 0
    # step 5: the document with the largest psi is first the one whose class has the largest Delta, or ties with it
    assert results["greedy"].history.psi[0] == pytest.approx(2.0)
    assert (np.diff(results["joint"].history.document) != 0).mean() > 0.9


def test_linear_kernel_gives_the_weights_of_ascent(documents):
    taxonomy, X, y = documents
    ours = TaxonomySVC(taxonomy, tol=1e-9).fit(X, y)
    for solver in ("greedy", "exhaustive"):
        m = TaxonomySVC(taxonomy, solver=solver, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(m.coef_.toarray(), ours.coef_.toarray(), atol=1e-4)
        np.testing.assert_allclose(m.decision_function(X), (X @ m.coef_.toarray().T), atol=1e-10)
        assert m.weights_.dtype == np.float64
        assert m.n_iter_ == -(-len(m.steps_) // len(y)) == m.history_[-1].n_iter
    assert ours.steps_ is None


@pytest.mark.parametrize("kernel", ["poly", "rbf", "precomputed", "callable"])
@pytest.mark.parametrize("lattice", [False, True], ids=["tree", "lattice"])
def test_scores_are_what_alpha_says(kernel, lattice):
    """Brute force: F(x, y) = sum of alpha_jy' <Lambda(y), Lambda(y_j) - Lambda(y')> K(x, x_j)."""
    for seed in range(3):
        taxonomy, classes, X, y, _, weight = random_problem(seed + 20, lattice, "tree", "normalized")
        test = np.random.default_rng(seed).normal(size=(7, X.shape[1]))
        K = KERNELS[kernel][1](test, X)
        if kernel == "precomputed":
            m = make_model(kernel, taxonomy=taxonomy, C=2.0).fit(KERNELS[kernel][1](X, X), y)
            test = K
        else:
            m = make_model(kernel, taxonomy=taxonomy, C=2.0).fit(X, y)
        Lam = lambdas(graph_of(taxonomy), classes, weight)
        gram = np.array([[sum(v * Lam[b].get(z, 0) for z, v in Lam[a].items()) for b in classes] for a in classes])
        codes, alpha = np.searchsorted(classes, y), m.dual_coef_.toarray()
        expected = sum(
            alpha[j, k] * np.outer(K[:, j], gram[codes[j]] - gram[k])
            for j in range(len(y))
            for k in range(len(classes))
        )
        expected = expected - expected[:, :1]  # what all classes share is left out
        scores = m.decision_function(test)
        if len(classes) == 2:
            np.testing.assert_allclose(scores, expected[:, 1], atol=1e-10)
        else:
            np.testing.assert_allclose(scores - scores[:, :1], expected, atol=1e-10)
            ranking = m.rank(test, 3, temperature=0.5)
            np.testing.assert_allclose(ranking.scores, -np.sort(-scores, axis=1)[:, :3])
            shares = np.exp(scores / 0.5) / np.exp(scores / 0.5).sum(axis=1, keepdims=True)
            np.testing.assert_allclose(ranking.confidences, -np.sort(-shares, axis=1)[:, :3])
        np.testing.assert_array_equal(m.predict(test), np.array(classes)[expected.round(9).argmax(axis=1)])
        np.testing.assert_array_equal(m.support_, np.flatnonzero(alpha.any(axis=1)))
        assert m.support_coef_.shape == (len(m.support_), m.attributes_.n_attributes)
        if kernel != "precomputed":
            np.testing.assert_array_equal(m.support_vectors_.toarray(), X[m.support_])


def test_batches_do_not_change_scores(documents, monkeypatch):
    taxonomy, X, y = documents
    m = TaxonomySVC(taxonomy, kernel="rbf").fit(X, y)
    scores, ranking = m.decision_function(X), m.rank(X, 3, temperature=1.0)
    monkeypatch.setattr("pinakes.models.kernel_scoring.MOST_VALUES", 200)
    np.testing.assert_allclose(m.decision_function(X), scores, atol=1e-12)
    for one, other in zip(m.rank(X, 3, temperature=1.0), ranking, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_documents_without_weight_are_as_if_absent(documents):
    taxonomy, X, y = documents
    weight = np.ones(len(y))
    weight[::5] = 0
    K = rbf_kernel(X, X, 1.0)
    m = TaxonomySVC(taxonomy, kernel="precomputed", tol=1e-8).fit(K, y, sample_weight=weight)
    kept = np.flatnonzero(weight)
    other = TaxonomySVC(taxonomy, kernel="rbf", gamma=1.0, tol=1e-8).fit(X[kept], y[kept])
    assert set(m.support_) <= set(kept)
    np.testing.assert_allclose(m.decision_function(K), other.decision_function(X), atol=1e-3)


@pytest.mark.kernel
@pytest.mark.parametrize("density", [0.1, 1.0], ids=["sparse", "dense"])
@pytest.mark.parametrize("kind", ["linear", "poly", "rbf", "callable"])
def test_kernel_rows_are_right_and_few(kind, density):
    given, matrix = KERNELS[kind]
    X = sparse.random_array((40, 30), density=density, format="csr", rng=np.random.default_rng(0))
    kernel = DocumentKernel(matrix if kind == "callable" else kind, **given, dense=True)
    rows = KernelRows(kernel, X, cache_size=40 * 8 * 5 / 1e6)
    expected = matrix(X.toarray(), X.toarray())
    order = np.random.default_rng(1).integers(0, 40, 200)
    for i in order:
        np.testing.assert_allclose(rows.row(i), expected[i], atol=1e-12)
        assert rows.nbytes <= 40 * 8 * 5
    assert 40 < rows.n_made <= 200
    made = rows.n_made
    for i in order[-1:].repeat(5):
        rows.row(i)
    assert rows.n_made == made, "what was used last is kept"
    np.testing.assert_allclose(kernel.between(X[:3], X), expected[:3], atol=1e-12)


def test_a_small_cache_only_costs_time(documents):
    taxonomy, X, y = documents
    roomy = TaxonomySVC(taxonomy, kernel="rbf", solver="greedy").fit(X, y)
    tight = TaxonomySVC(taxonomy, kernel="rbf", solver="greedy", cache_size=1e-6).fit(X, y)
    assert (roomy.dual_coef_ != tight.dual_coef_).nnz == 0


def test_scale_of_gamma_is_that_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(20, 7)) + 1
    assert scale_gamma(sparse.csr_array(X)) == pytest.approx(1 / (7 * X.var()))
    assert scale_gamma(sparse.csr_array((3, 2))) == 1.0


def test_functions_get_documents_as_they_were_given(documents):
    taxonomy, X, y = documents
    seen = set()

    def linear(A, B):
        seen.update({type(A), type(B)})
        return A @ B.T

    dense = TaxonomySVC(taxonomy, kernel=linear).fit(X, y)
    dense.predict(sparse.csr_array(X))
    assert seen == {np.ndarray}
    seen.clear()
    TaxonomySVC(taxonomy, kernel=linear).fit(sparse.csr_array(X), y).predict(X)
    assert seen == {sparse.csr_array}


def test_time_limit_interrupt_and_rounds(documents):
    taxonomy, X, y = documents
    for solver in SOLVERS:
        with pytest.warns(ConvergenceWarning, match="after max_seconds=1e-09"):
            m = TaxonomySVC(taxonomy, kernel="rbf", solver=solver, max_seconds=1e-9).fit(X, y)
        assert m.gap_ == 1.0
        assert m.predict(X[:1]).shape == (1,)
        with pytest.warns(ConvergenceWarning, match="after max_iter=2 rounds"):
            m = TaxonomySVC(taxonomy, C=100, kernel="rbf", solver=solver, max_iter=2, tol=1e-12).fit(X, y)
        assert len(m.steps_) == 2 * len(y)
        assert [p.n_iter for p in m.history_] == [1, 2]

        def interrupt(progress):
            raise KeyboardInterrupt

        with pytest.warns(ConvergenceWarning, match="when it was interrupted"):
            m = TaxonomySVC(taxonomy, kernel="rbf", solver=solver, tol=1e-9).fit(X, y, report=interrupt)
        assert m.stopped_ == "interrupted"
        assert [p.n_iter for p in m.history_] == [1]
        assert 0 < m.gap_ < 1


def test_another_fit_leaves_nothing_of_the_first(documents):
    taxonomy, X, y = documents
    m = TaxonomySVC(taxonomy, kernel="rbf").fit(X, y)
    assert not hasattr(m, "coef_")
    with pytest.raises(AttributeError, match=r"kernel='rbf' has no weights .*support_coef_.*or a linear kernel"):
        m.weights_  # noqa: B018
    m.set_params(kernel="linear").fit(X, y)
    assert m.coef_.shape == (12, 8)
    assert not hasattr(m, "support_coef_")


def test_mistakes_are_named(documents, monkeypatch):
    taxonomy, X, y = documents

    def fails(message, X=X, error=ParameterError, **settings):
        with pytest.raises(error, match=message):
            TaxonomySVC(taxonomy, **settings).fit(X, y)

    fails("`kernel` of TaxonomySVC must be one of 'linear', .* or a function .*, got 'sigmoid'", kernel="sigmoid")
    fails("`gamma` of TaxonomySVC must be 'scale' or a number > 0, got 'auto'", kernel="rbf", gamma="auto")
    fails("`gamma` of TaxonomySVC must be a number > 0, got 0", kernel="rbf", gamma=0)
    fails("`degree` of TaxonomySVC must be a whole number >= 1, got 2.5", kernel="poly", degree=2.5)
    fails("`coef0` of TaxonomySVC must be a number >= 0, got -1", kernel="poly", coef0=-1)
    fails("`cache_size` of TaxonomySVC must be a number > 0, got 0", kernel="rbf", cache_size=0)
    fails(r"X must be a square matrix .*got shape \(48, 8\)", kernel="precomputed", error=DocumentError)
    lopsided = X @ np.random.default_rng(0).normal(size=(8, 48))
    fails("X must be symmetric with kernel='precomputed'", kernel="precomputed", X=lopsided, error=DocumentError)
    fails(r"must give a matrix of shape \(1, 48\) .*, got shape \(48, 1\)", kernel=lambda A, B: B @ A.T)
    fails("must give finite numbers", kernel=lambda A, B: A @ B.T * np.nan)
    m = TaxonomySVC(taxonomy, kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(DocumentError, match=r"X has 8 features, .* expecting 48 .*each of the 48 documents"):
        m.predict(X)
    monkeypatch.setattr(papers, "MOST_CLASSES", 10)
    fails("at most 10 classes, got 12: use solver='ascent' with kernel='linear'", solver="greedy")
    monkeypatch.setattr(papers, "MOST_CLASSES", 4000)
    monkeypatch.setattr(papers, "MOST_CELLS", 500)
    fails("at most 500 pairs of a document and a class, got 48 x 12: use solver='ascent'", kernel="rbf")
    with pytest.raises(ParameterError, match=r"`algorithm` must be one of 'greedy', .*, got 'magic'"):
        PaperSolver("magic")
