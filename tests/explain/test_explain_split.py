"""Parts add up to scores, and each part is what the definition says: compared with the dual, and with brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from pinakes import (
    CoupledSVC,
    HardPerceptron,
    HierarchyRidge,
    StochasticPerceptron,
    StructuredSVC,
    Taxonomy,
    TaxonomySVC,
)
from pinakes.decisions import Classifier
from pinakes.documents import TextFeatures
from pinakes.errors import LabelError, ParameterError
from pinakes.explain import explain
from strategies import taxonomies

TREE = Taxonomy.from_paths(["a/b/c", "a/b/d", "a/e", "f/g", "f/h/i/j"])
LEAVES = ["a/b/c", "a/b/d", "a/e", "f/g", "f/h/i/j"]


def documents(n=40, n_features=12, seed=0):
    draw = np.random.default_rng(seed)
    return draw.normal(size=(n, n_features)) * (draw.random((n, n_features)) < 0.4)


def scores(model, X):
    found = np.asarray(model.decision_function(X), dtype=np.float64)
    return np.column_stack([np.zeros(len(found)), found]) if found.ndim == 1 else found


def check_sums(why, score, tol=1e-9):
    """All three ways to add up give the score."""
    assert why.score == pytest.approx(score, rel=tol, abs=tol)
    assert sum(part.score for part in why.nodes) == pytest.approx(score, rel=tol, abs=tol)
    rows = why.words or why.documents
    assert sum(part.score for part in rows) + why.bias.sum() == pytest.approx(score, rel=tol, abs=tol)
    np.testing.assert_allclose([part.score for part in rows], why.parts.sum(axis=1), atol=1e-9)
    by_node = why.parts.sum(axis=0) + why.bias
    np.testing.assert_allclose([part.score for part in why.nodes], by_node, atol=1e-9)


# -- TaxonomySVC ---------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(taxonomies(max_nodes=9), st.data())
def test_parts_follow_from_the_dual(taxonomy, data):
    """With v = 1, node z adds sum of alpha_iy ([z above y_i] - [z above y]) <x_i, x>, on lattices too."""
    n_classes = data.draw(st.integers(2, 5))
    some = st.lists(st.sampled_from(taxonomy.ids), min_size=2, max_size=n_classes, unique=True)
    if len(taxonomy) < 2:
        return
    labels = data.draw(some)
    X = documents(10, 6, data.draw(st.integers(0, 99)))
    y = np.array([labels[i % len(labels)] for i in range(10)], dtype=object)
    model = TaxonomySVC(taxonomy, node_weight="equal", n_jobs=1).fit(X, y)
    alpha = model.dual_coef_.toarray()
    above = {k: set(taxonomy.ancestors.of(taxonomy.index(k)).tolist()) for k in labels}
    F = scores(model, X)
    for i, why in enumerate(explain(model, X[:4])):
        label = why.answer.label
        k = model.classes_.tolist().index(label)
        expected = F[i] if len(labels) > 2 else F[i] - F[i]
        if len(labels) > 2:
            check_sums(why, expected[k], 1e-6)
        for part in why.nodes:
            if part.name.endswith("(itself)") and part.node == label:
                continue  # the terminal node, which the taxonomy has not
            z = taxonomy.index(part.node)
            total = sum(
                alpha[j, c] * ((z in above[y[j]]) - (z in above[other])) * (X[j] @ X[i])
                for j in range(10)
                for c, other in enumerate(model.classes_)
            )
            assert part.score == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("node_weight", ["normalized", "depth", "flat"])
@pytest.mark.parametrize("dense", [False, True])
def test_every_score_of_an_svm_is_split(fit_intercept, node_weight, dense):
    X = documents() + (1.0 if dense else 0.0)  # most values are then not 0
    labels = [*LEAVES, "a"]  # an inner node is a category too
    y = np.array([labels[i % 6] for i in range(len(X))])
    settings = {"fit_intercept": fit_intercept, "intercept_scaling": 2.0, "node_weight": node_weight, "tol": 1e-6}
    model = TaxonomySVC(TREE, keep_documents=True, **settings).fit(X, y)
    given = X if dense else sparse.csr_array(X)
    F = scores(model, given)
    for k, label in enumerate(model.classes_):
        found = explain(model, given[:5], label=label, n_documents=100)
        np.testing.assert_allclose(found.scores, F[:5, k], atol=1e-5)
        for i, why in enumerate(found):
            check_sums(why, F[i, k], 1e-5)
            assert why.answer.label == label
            assert why.bias.any() == fit_intercept
            # the training documents add up too, but for the bias
            assert sum(p.score for p in why.documents) + why.bias.sum() == pytest.approx(F[i, k], abs=1e-4)
            parts = [abs(p.score) for p in why.documents]
            assert parts == sorted(parts, reverse=True)


def test_one_training_document_weighs_what_is_missing_without_it():
    X = documents(20)
    y = np.array([LEAVES[i % 5] for i in range(20)])
    model = TaxonomySVC(TREE, keep_documents=True).fit(X, y)
    why = explain(model, X[[3]], n_documents=20)[0]
    k = model.classes_.tolist().index(why.answer.label)
    members = model.attributes_.matrix()
    G = (members.multiply(model.attributes_.v2) @ members.T).toarray()  # <Lambda(y), Lambda(y')>
    alpha = model.dual_coef_.toarray()
    for part in why.documents:
        j = int(part.document)
        own = model.classes_.tolist().index(y[j])
        assert part.label == y[j]
        assert part.similarity == pytest.approx(X[j] @ X[3])
        weight = sum(alpha[j, c] * (G[k, own] - G[k, c]) for c in range(5))
        assert part.score == pytest.approx(weight * (X[j] @ X[3]), abs=1e-8)


def test_a_difference_is_the_difference_of_scores():
    X = documents()
    y = np.array([LEAVES[i % 5] for i in range(40)])
    model = TaxonomySVC(TREE, fit_intercept=True, keep_documents=True).fit(X, y)
    F = scores(model, X)
    two = explain(model, X, label="a/b/c", against="a/b/d", n_documents=40)
    for i, why in enumerate(two):
        check_sums(why, F[i, 0] - F[i, 1], 1e-5)
        assert [part.node for part in why.nodes] == ["a/b/c", "a/b/d"], "what both lie below says nothing"
        assert sum(p.score for p in why.documents) + why.bias.sum() == pytest.approx(F[i, 0] - F[i, 1], abs=1e-4)
    for i, why in enumerate(explain(model, X, against="next")):
        best, second = np.sort(F[i])[::-1][:2]
        check_sums(why, best - second, 1e-5)
        assert why.against is not None
        assert F[i, model.classes_.tolist().index(why.against.label)] == pytest.approx(second)
    same = explain(model, X[:1], label="a/e", against="a/e")[0]
    assert same.nodes == ()
    assert same.score == 0.0


def test_given_attributes_have_no_names():
    X, y = documents(), np.array(list("abcd") * 10)
    model = TaxonomySVC(class_attributes=[[1, 0.5], [1, -1], [0, 2], [0, 1]]).fit(X, y)
    why = explain(model, X[:1], label="b")[0]
    check_sums(why, scores(model, X)[0, 1], 1e-6)
    assert [part.node for part in why.nodes] == ["attribute 0", "attribute 1"]


class Foreign:
    """A model of several labels with nothing but the names that all estimators with weights by attribute have."""

    def __init__(self, svm):
        self.classes_, self.taxonomy_, self.attributes_ = svm.classes_, svm.taxonomy_, svm.attributes_
        self.weights_, self.n_features_in_ = svm.weights_, svm.n_features_in_
        self.intercept_ = np.arange(5.0)

    def decision_function(self, X):
        return X @ (self.attributes_.matrix() @ self.weights_.T).toarray().T + self.intercept_


def test_other_models_with_weights_by_attribute():
    X = documents()
    model = Foreign(TaxonomySVC(TREE).fit(X, np.array(LEAVES * 8)))
    F = model.decision_function(X)
    for i, why in enumerate(explain(model, X)):
        check_sums(why, F[i].max(), 1e-6)
    check_sums(explain(model, X[:1], label="a/e", against="f/g")[0], F[0, 2] - F[0, 3], 1e-6)


# -- other estimators ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [HardPerceptron(TREE), StochasticPerceptron(TREE), StructuredSVC(TREE)], ids=repr)
def test_models_over_nodes_with_one_label(model):
    X = documents()
    model.fit(X, np.array(LEAVES * 8))
    F = scores(model, X)
    for k, label in enumerate(LEAVES):
        for i, why in enumerate(explain(model, X[:4], label=label)):
            check_sums(why, F[i, k])
            assert [part.node for part in why.nodes] == TREE.path(label)


@pytest.mark.parametrize(
    "model",
    [HardPerceptron(TREE), StochasticPerceptron(TREE), StructuredSVC(TREE), StochasticPerceptron(TREE, kernel="rbf")],
    ids=repr,
)
def test_models_over_nodes_with_label_sets(model):
    X = documents()
    model.fit(X, [[LEAVES[i % 5], *(["a"] if i % 3 else [LEAVES[(i + 1) % 5]])] for i in range(40)])
    F = scores(model, X)
    for k, label in enumerate(model.classes_):
        for i, why in enumerate(explain(model, X[:4], label=label)):
            check_sums(why, F[i, k])
    for i, why in enumerate(explain(model, X[:4])):
        check_sums(why, F[i].max())
    for i, why in enumerate(explain(model, X[:4], label="a/e", against="a")):
        names = model.classes_.tolist()
        check_sums(why, F[i, names.index("a/e")] - F[i, names.index("a")])


@pytest.mark.parametrize("targets", ["categories", "nodes"])
def test_coupled_machines_beyond_their_margin(targets):
    """What a rare class loses beyond the margin counts as bias, of one answer and of a difference."""
    X = documents()
    sets = [[LEAVES[i % 5], *(["a"] if i % 7 == 0 else [])] for i in range(40)]
    model = CoupledSVC(TREE, C=10, prior=0.5, cut=0.0, implied=False, targets=targets).fit(X, sets)
    F = scores(model, X)
    assert (F < -1).any()
    names = model.classes_.tolist()
    for label, against in ((a, b) for a in names for b in [None, *names] if a != b):
        for i, why in enumerate(explain(model, X[:4], label=label, against=against)):
            other = 0.0 if against is None else F[i, names.index(against)]
            check_sums(why, F[i, names.index(label)] - other, 1e-6)


def test_a_label_that_no_document_had():
    X = documents()
    Y = np.zeros((40, len(TREE)), dtype=int)
    Y[np.arange(40), [TREE.index(LEAVES[i % 4]) for i in range(40)]] = 1
    model = StochasticPerceptron(TREE).fit(X, Y)
    with pytest.raises(LabelError, match="'f/h/i/j' was no document's label in training"):
        explain(model, X[:1], label="f/h/i/j")


def linear(A, B):
    return np.asarray(A @ B.T)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed", linear])
@pytest.mark.parametrize("estimator", [TaxonomySVC, StochasticPerceptron])
def test_kernel_models_are_split_over_support_documents(kernel, estimator):
    X = documents()
    given = X @ X.T if kernel == "precomputed" else X
    settings = {"fit_intercept": True} if estimator is TaxonomySVC else {}
    model = estimator(TREE, kernel=kernel, gamma=0.5, **settings).fit(given, np.array(LEAVES * 8))
    F = scores(model, given)
    for i, why in enumerate(explain(model, given[:5])):
        check_sums(why, F[i].max(), 1e-8)
        assert not why.words
        assert {int(part.document) for part in why.documents} <= set(model.support_.tolist())
        if kernel is linear:
            assert [p.similarity for p in why.documents] == pytest.approx(
                [X[int(p.document)] @ X[i] for p in why.documents]
            )
    assert len(explain(model, given[:1], n_documents=2)[0].documents) == 2


@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_weight_vector_a_class(n_classes):
    X = documents()
    model = HierarchyRidge(TREE).fit(X, np.array(LEAVES[:n_classes] * (40 // n_classes)))
    F = np.asarray(model.decision_function(X))
    for i, why in enumerate(explain(model, X)):
        check_sums(why, abs(F[i]) if n_classes == 2 else F[i].max(), 1e-8)
        assert why.answer.label == model.predict(X)[i]


# -- mistakes ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    texts = ["it purrs", "it barks", "it grows"] * 4
    labels = ["a/b/c", "a/b/d", "f/g"] * 4
    return Classifier(TaxonomySVC(TREE), TextFeatures(min_df=1)).fit(texts, labels)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"label": "a/b/x"},
            LabelError,
            r"`label` of explain must be a category that the model knows, got 'a/b/x' \(closest: ",
        ),
        ({"against": "a"}, LabelError, "`against` of explain must be a category that the model knows, got 'a'"),
        (
            {"label": ["a/b/c"] * 3},
            ParameterError,
            "`label` of explain must be one label, or one for each of the 1 documents, got 3",
        ),
        ({"n_documents": -1}, ParameterError, "`n_documents` of explain must be a whole number >= 0 or None, got -1"),
        ({"n_documents": 3}, ParameterError, "needs the training documents, which the model has not kept"),
    ],
)
def test_mistakes_are_told(small, options, error, message):
    with pytest.raises(error, match=message):
        explain(small, ["it purrs"], **options)


def test_models_that_cannot_be_explained(small):
    with pytest.raises(ParameterError, match="takes a fitted model, got TaxonomySVC that is none; call fit first"):
        explain(TaxonomySVC(), [[1.0]])
    model = StochasticPerceptron(TREE).fit(documents(), np.array(LEAVES * 8))
    with pytest.raises(ParameterError, match="StochasticPerceptron does not tell which training documents weigh"):
        explain(model, documents(1), n_documents=1)
    with pytest.raises(ParameterError, match="documents must have the 12 features that the model knows, got 3"):
        explain(model, documents(1)[:, :3])
    assert list(explain(small, [])) == []
