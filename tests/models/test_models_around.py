"""Around TaxonomySVC: class weights, a bias, going on with more documents, and scoring a subtree."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

from pinakes import Taxonomy, TaxonomySVC, TaxonomySVCCV, datasets, load, metrics, save
from pinakes.documents import TextFeatures
from pinakes.errors import ConvergenceWarning, LabelError, ParameterError
from reference.problems import WEIGHTS, optimum, random_problem

EXACT = {"tol": 1e-8, "max_iter": 5000}


# -- class_weight ------------------------------------------------------------------------------------------


def test_class_weight_is_sample_weight_by_class():
    taxonomy, classes, X, y, loss, node_weight = random_problem(1, True, "tree", "normalized")
    by_class = {k: 0.5 + n for n, k in enumerate(classes[1:])}
    ours = TaxonomySVC(taxonomy, C=1.0, class_weight=by_class, **EXACT).fit(X, y)
    weight = np.array([by_class.get(k, 1.0) for k in y])
    same = TaxonomySVC(taxonomy, C=1.0, **EXACT).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_.toarray(), same.coef_.toarray(), atol=1e-6)
    assert ours.primal_objective_ == pytest.approx(
        optimum(taxonomy, classes, X, y, weight, loss, node_weight), rel=1e-5
    )


def test_balanced_is_what_scikit_learn_means_by_it():
    taxonomy, classes, X, y, loss, node_weight = random_problem(2, False, "tree", "normalized")
    factor = dict(zip(classes, compute_class_weight("balanced", classes=np.array(classes), y=y), strict=True))
    C = np.array([factor[k] for k in y])
    balanced = TaxonomySVC(taxonomy, C=1.0, class_weight="balanced", **EXACT).fit(X, y)
    assert balanced.primal_objective_ == pytest.approx(optimum(taxonomy, classes, X, y, C, loss, node_weight), rel=1e-5)
    # a document that counts twice is two documents, for the balance too
    twice = np.ones(len(y))
    twice[0] = 2.0
    weighted = TaxonomySVC(taxonomy, class_weight="balanced", **EXACT).fit(X, y, sample_weight=twice)
    repeated = TaxonomySVC(taxonomy, class_weight="balanced", **EXACT).fit(np.vstack([X, X[:1]]), [*y, y[0]])
    assert weighted.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=1e-6)


def test_bad_class_weights_are_named():
    taxonomy = Taxonomy.from_edges([("", "animal"), ("animal", "cat"), ("animal", "dog")])
    X, y = np.eye(2), ["cat", "dog"]
    TaxonomySVC(taxonomy, class_weight={"animal": 2.0}).fit(X, y)  # may get documents later
    with pytest.raises(LabelError, match=r"`class_weight` names 'dgo'.*closest: 'dog'"):
        TaxonomySVC(taxonomy, class_weight={"dgo": 2.0}).fit(X, y)
    for wrong in (-1.0, "much", float("nan")):
        with pytest.raises(ParameterError, match=r"`class_weight` must be finite and >= 0, got .* for 'dog'"):
            TaxonomySVC(taxonomy, class_weight={"dog": wrong}).fit(X, y)
    with pytest.raises(ParameterError, match=r"`class_weight` must be None, 'balanced' or a mapping.*got 'fair'"):
        TaxonomySVC(taxonomy, class_weight="fair").fit(X, y)


# -- bias ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"solver": "greedy"}, {"kernel": "rbf", "gamma": 0.3}], ids=str)
def test_bias_is_a_constant_feature_to_a_qp_solver(settings):
    for seed in range(4):
        taxonomy, classes, X, y, loss, node_weight = random_problem(seed, seed % 2 == 1, "tree", "normalized")
        X = X + 1.5  # not centred, so that the bias matters
        m = TaxonomySVC(taxonomy, C=1.0, fit_intercept=True, intercept_scaling=2.0, **settings, tol=1e-7, max_iter=5000)
        m.fit(X, y)
        K = X @ X.T
        if "kernel" in settings:
            K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
        assert m.primal_objective_ == pytest.approx(
            optimum(taxonomy, classes, X, y, 1.0, loss, node_weight, K + 4.0), rel=1e-5
        )
        if "kernel" not in settings:
            scores = X @ m.coef_.toarray().T + m.intercept_
            given = m.decision_function(X)
            np.testing.assert_allclose(scores if len(classes) > 2 else scores[:, 1] - scores[:, 0], given, atol=1e-9)
            assert m.weights_.shape[0] == m.n_features_in_ == X.shape[1]
        assert m.intercept_.shape == (len(classes),)


def test_bias_of_two_classes_equals_that_of_liblinear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) + 2.0
    y = (X[:, 0] + rng.normal(size=80) > 2.3).astype(int)
    ours = TaxonomySVC(fit_intercept=True, intercept_scaling=3.0, C=0.5, **EXACT).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # w1 = -w0 = w/2 and a margin of F1 - F0 >= 1: 1/4 |w|^2 + C sum xi = 1/2 (1/2 |w|^2 + 2 C sum xi)
        theirs = LinearSVC(loss="hinge", C=1.0, intercept_scaling=3.0, tol=1e-10, max_iter=1_000_000).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert ours.intercept_[1] - ours.intercept_[0] == pytest.approx(theirs.intercept_[0], abs=1e-3)


def test_bias_goes_into_the_file_and_comes_back(tmp_path):
    taxonomy, _, X, y, _, _ = random_problem(3, False, "tree", "normalized")
    m = TaxonomySVC(taxonomy, fit_intercept=True, intercept_scaling=2.0, class_weight={y[0]: 2.0}).fit(X + 1, y)
    save(m, tmp_path / "m.pinakes")
    again = load(tmp_path / "m.pinakes")
    assert (again.fit_intercept, again.intercept_scaling, again.class_weight) == (True, 2.0, {y[0]: 2.0})
    np.testing.assert_allclose(again.decision_function(X), m.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(again.intercept_, m.intercept_)
    assert again.n_features_in_ == X.shape[1]


def test_without_bias_intercepts_are_zero():
    m = TaxonomySVC().fit(np.eye(3), ["a", "b", "c"])
    np.testing.assert_array_equal(m.intercept_, [0, 0, 0])
    with pytest.raises(ParameterError, match="`intercept_scaling` of TaxonomySVC must be a number > 0, got 0"):
        TaxonomySVC(fit_intercept=True, intercept_scaling=0).fit(np.eye(3), ["a", "b", "c"])


# -- partial_fit -----------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), lattice=st.booleans(), node_weight=st.sampled_from(WEIGHTS))
@settings(max_examples=25)
def test_kept_documents_reach_the_optimum_of_all_whatever_the_order(seed, lattice, node_weight):
    """Batches with classes that the earlier ones did not have; the expected value is a QP solver's."""
    taxonomy, classes, X, y, loss, weight = random_problem(seed, lattice, "tree", node_weight)
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    order = np.argsort(y, kind="stable")
    first = int(np.flatnonzero(y[order] != y[order[0]])[0]) + 1  # two classes
    m = TaxonomySVC(taxonomy, C=1.0, node_weight=weight, loss=loss, keep_documents=True, **EXACT)
    m.partial_fit(X[order[:first]], y[order[:first]])
    for batch in np.array_split(order[first:], 3):
        if len(batch):
            m.partial_fit(X[batch], y[batch])
    assert m.classes_.tolist() == list(classes)
    assert m.dual_coef_.shape == (len(y), len(classes))
    expected = optimum(taxonomy, classes, X, y, 1.0, loss, weight)
    assert m.primal_objective_ == pytest.approx(expected, rel=1e-5, abs=1e-7)


@given(seed=st.integers(0, 10_000), lattice=st.booleans(), node_weight=st.sampled_from(WEIGHTS))
@settings(max_examples=25)
def test_weights_are_carried_over_to_more_classes_exactly(seed, lattice, node_weight):
    """Scores of the old classes by new weights differ from those by dual variables in nothing."""
    taxonomy, classes, X, y, _, weight = random_problem(seed, lattice, "tree", node_weight)
    few = np.isin(y, classes[:2])
    m = TaxonomySVC(taxonomy, node_weight=weight, **EXACT).fit(X[few], y[few])
    alpha, old = m.dual_coef_.toarray(), m.classes_
    m.partial_fit(np.zeros((1, X.shape[1])), y[:1], classes=classes)  # nothing to learn, only classes to know
    # w = sum of alpha (Lambda(y_i) - Lambda(y)) (x) x_i, and coef_ of class k is <Lambda(k), w>
    paths, v2 = m.attributes_.paths, m.attributes_.v2
    L = np.zeros((len(classes), len(v2)))
    for k in range(len(classes)):
        L[k, paths.of(k)] = np.sqrt(v2[paths.of(k)])
    place = np.searchsorted(classes, old)
    codes = np.searchsorted(old, y[few])
    w = sum(
        alpha[i, k] * np.outer(L[place[codes[i]]] - L[place[k]], X[few][i])
        for i in range(few.sum())
        for k in range(len(old))
    )
    np.testing.assert_allclose(m.coef_.toarray(), L @ w, atol=1e-9)


def test_without_kept_documents_the_old_weights_are_the_centre():
    """min 1/2 |w - w_old|^2 + C sum xi, solved by projected steps on its dual with dense algebra."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 5)), rng.integers(0, 3, 40)
    m = TaxonomySVC(C=0.3, **EXACT).fit(X[:20], y[:20])
    W_old = m.coef_.toarray()
    m.partial_fit(X[20:], y[20:])
    W, A = m.coef_.toarray(), m.dual_coef_.toarray()
    assert A.shape == (20, 3)
    np.testing.assert_allclose(W - W_old, (np.eye(3)[y[20:]] * A.sum(axis=1, keepdims=True) - A).T @ X[20:], atol=1e-9)

    def objective(W):
        scores = X[20:] @ W.T
        margins = 1 - scores[np.arange(20), y[20:]][:, None] + scores
        margins[np.arange(20), y[20:]] = 0
        return 0.5 * ((W - W_old) ** 2).sum() + 0.3 * margins.max(axis=1).sum()

    # D = sum alpha (1 - <w_old, dPhi>) - 1/2 |w - w_old|^2: equal at the optimum, and only there
    old = X[20:] @ W_old.T
    dual = (A * (1 - old[np.arange(20), y[20:]][:, None] + old)).sum() - 0.5 * ((W - W_old) ** 2).sum()
    assert objective(W) == pytest.approx(dual, rel=1e-6)
    for _ in range(20):
        assert objective(W) <= objective(W + 0.01 * rng.normal(size=W.shape)) + 1e-9


def test_a_first_partial_fit_is_a_fit_and_classes_may_be_named_before():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 4)), np.array(["a", "b", "c"] * 10)
    np.testing.assert_allclose(
        TaxonomySVC(**EXACT).partial_fit(X, y).coef_.toarray(),
        TaxonomySVC(**EXACT).fit(X, y).coef_.toarray(),
        atol=1e-6,
    )
    m = TaxonomySVC().partial_fit(X[y == "a"], y[y == "a"], classes=["a", "b", "c"])
    assert m.classes_.tolist() == ["a", "b", "c"]
    assert set(m.predict(X)) == {"a"} or m.coef_.nnz
    assert set(m.partial_fit(X, y).predict(X)) == {"a", "b", "c"}
    m.partial_fit(X[:2], ["d", "a"])  # unrelated classes: any label may come
    assert m.classes_.tolist() == ["a", "b", "c", "d"]


def test_what_partial_fit_refuses_leaves_the_model_as_it_was():
    taxonomy = Taxonomy.from_edges([("", "animal"), ("animal", "cat"), ("animal", "dog")])
    X, y = np.eye(2), ["cat", "dog"]
    m = TaxonomySVC(taxonomy).fit(X, y)
    before = m.decision_function(X)
    with pytest.raises(LabelError, match=r"the label 'dgo' of the documents cannot be found .*closest: 'dog'"):
        m.partial_fit(X, ["cat", "dgo"])
    with pytest.raises(ValueError, match="X has 3 features, but TaxonomySVC is expecting 2 features"):
        m.partial_fit(np.eye(3), ["cat", "dog", "dog"])
    assert m.classes_.tolist() == y
    np.testing.assert_allclose(m.decision_function(X), before, atol=1e-12)
    with pytest.raises(ParameterError, match="at least 2 classes, got the 1 class 'cat' only; name those to come"):
        TaxonomySVC(taxonomy).partial_fit(X, ["cat", "cat"])
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as refused:
        TaxonomySVC(taxonomy, kernel="rbf").partial_fit(X, y)
    assert "needs solver='ascent' and kernel='linear'" in str(refused.value.__cause__)
    numbers = TaxonomySVC().fit(np.eye(3), [8, 9, 10])
    for bad in ({"y": ["8", "9", "10"]}, {"y": [8, 9, 10], "classes": ["11"]}):
        with pytest.raises(LabelError, match="some labels are numbers and some are texts"):
            numbers.partial_fit(np.eye(3), **bad)
    assert numbers.score(np.eye(3), [8, 9, 10]) == 1
    with pytest.raises(ParameterError, match="`class_weight`='balanced' counts all documents"):
        TaxonomySVC(taxonomy, class_weight="balanced").partial_fit(X, y)


@pytest.mark.parametrize(("setting", "other"), [("loss", "zero-one"), ("node_weight", "flat")])
def test_settings_that_weights_depend_on_stay_as_they_are(setting, other):
    X, y = np.eye(3), ["a/b", "a/c", "d/e"]
    m = TaxonomySVC(Taxonomy.from_paths(y)).fit(X, y)
    before = m.decision_function(X)
    m.set_params(**{setting: other})
    with pytest.raises(ParameterError, match=f"`{setting}` of TaxonomySVC was changed after the fit.*fit again"):
        m.partial_fit(X, y)
    assert (m.decision_function(X) == before).all()
    m.fit(X, y).partial_fit(X, y)


@pytest.mark.parametrize("estimator", [TaxonomySVC, TaxonomySVCCV])
def test_labels_are_one_each(estimator):
    X = np.eye(4)
    with pytest.raises(LabelError, match=r"every document needs a label, got None in y\[2\]; drop"):
        estimator().fit(X, ["a", "b", None, "a"])
    for several in (["a", ["b", "c"], "a", "b"], [["a"], ["b"], [], ["a"]]):
        with pytest.raises(LabelError, match=rf"{estimator.__name__} learns one label a document, got \d in y\["):
            estimator().fit(X, several)


def test_a_smaller_C_keeps_the_budgets():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 4, 60)
    m = TaxonomySVC(C=3.0, keep_documents=True, **EXACT).fit(X[:40], y[:40])
    m.set_params(C=0.1).partial_fit(X[40:], y[40:])
    assert m.dual_coef_.toarray().sum(axis=1).max() <= 0.1 * (1 + 1e-9)
    assert m.primal_objective_ == pytest.approx(TaxonomySVC(C=0.1, **EXACT).fit(X, y).primal_objective_, rel=1e-6)


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_that_another_begins_from_stays_as_it_is(few, n_jobs, monkeypatch):
    monkeypatch.setattr("pinakes.models.joint_machine.DENSE_ABOVE", 2)
    taxonomy = Taxonomy.from_paths(f"{a}/{a}{b}" for a in "abcdefgh" for b in range(5 if few else 25))
    y = np.repeat([taxonomy.ids[v] for v in taxonomy.leaves], 2)
    X = sparse.csr_array(sparse.random(len(y), 300, density=0.01, random_state=np.random.default_rng(0)))
    first = TaxonomySVC(taxonomy, C=0.1, n_jobs=n_jobs, **EXACT).fit(X, y)
    weights, codes = first.weights_.copy(), np.searchsorted(first.classes_, y)
    for C in (1.0, 0.01):
        m = TaxonomySVC(taxonomy, C=C, n_jobs=n_jobs, **EXACT)
        m._fit_known(X, codes, first.classes_, first.taxonomy_, np.ones(len(y)), previous=first)
        cold = TaxonomySVC(taxonomy, C=C, n_jobs=n_jobs, **EXACT).fit(X, y)
        assert m.primal_objective_ == pytest.approx(cold.primal_objective_, rel=1e-6)
        assert (first.weights_ != weights).nnz == 0


def test_a_loaded_model_goes_on(tmp_path):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 4, 60)
    m = TaxonomySVC(**EXACT).fit(X[:40], y[:40])
    save(m, tmp_path / "m.pinakes")
    again = load(tmp_path / "m.pinakes")
    again.partial_fit(X[40:], y[40:])
    np.testing.assert_allclose(again.coef_.toarray(), m.partial_fit(X[40:], y[40:]).coef_.toarray(), atol=1e-6)


@pytest.mark.corpus
def test_five_batches_of_news20_come_near_to_one(corpora):
    taxonomy, train, test = datasets.load_corpus(corpora / "news20")
    features = TextFeatures()
    X, y = features.fit_transform(train.texts), np.array(train.single_labels("first"))
    X_test, true = features.transform(test.texts), test.single_labels("first")
    at_once = TaxonomySVC(taxonomy, C=0.3).fit(X, y)
    little_by_little = TaxonomySVC(taxonomy, C=0.3)
    for batch in np.array_split(np.random.default_rng(0).permutation(len(y)), 5):
        little_by_little.partial_fit(X[batch], y[batch])
    whole, parts = (metrics.delta_loss(true, m.predict(X_test), taxonomy) for m in (at_once, little_by_little))
    assert parts <= whole + 0.01  # 0.218 against 0.214


@parametrize_with_checks([TaxonomySVC(class_weight={}, fit_intercept=True, keep_documents=True)])
def test_scikit_learn_rules_with_everything_on(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


# -- below ---------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), lattice=st.booleans(), node_weight=st.sampled_from(WEIGHTS))
@settings(max_examples=40)
def test_a_subtree_is_the_filtered_ranking_of_all(seed, lattice, node_weight):
    taxonomy, classes, X, y, _, weight = random_problem(seed, lattice, "tree", node_weight)
    m = TaxonomySVC(taxonomy, node_weight=weight).fit(X, y)
    full = m.rank(X, len(classes))
    for v in range(len(taxonomy)):
        node = taxonomy.ids[v]
        inside = [k for k, label in enumerate(classes) if v in taxonomy.ancestors.of(taxonomy.index(label))]
        if not inside:
            with pytest.raises(LabelError, match=f"no category that the model knows lies at or below '{node}'"):
                m.rank(X, 1, below=node)
            continue
        part = m.rank(X, 3, temperature=0.7, below=node)
        for i in range(len(X)):
            kept = [(s, k) for s, k in zip(full.scores[i], full.classes[i], strict=True) if k in inside]
            np.testing.assert_allclose(part.scores[i], [s for s, _ in kept][:3], atol=1e-9)
            assert set(part.classes[i]) <= set(inside)
            shares = softmax(np.array([s for s, _ in kept]) / 0.7)
            np.testing.assert_allclose(part.confidences[i], shares[:3], atol=1e-9)
        assert set(m.predict(X, below=node)) <= {classes[k] for k in inside}


def test_a_subtree_with_bias_and_with_a_kernel():
    taxonomy = Taxonomy.from_paths([f"{a}/{a}{b}" for a in "abc" for b in "def"])
    labels = [taxonomy.ids[v] for v in taxonomy.leaves]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 12)) + 0.5, np.array(labels * 10)
    for options in ({"fit_intercept": True}, {"kernel": "rbf", "fit_intercept": True}):
        m = TaxonomySVC(taxonomy, **options).fit(sparse.csr_array(X), y)
        inside = [k for k, label in enumerate(m.classes_) if label.startswith("b/")]
        scores = m.decision_function(X)[:, inside]
        part = m.rank(X, 3, below="b")
        np.testing.assert_allclose(part.scores, np.sort(scores, axis=1)[:, ::-1], atol=1e-5)
        assert (m.predict(X, below="b") == m.classes_[inside][scores.argmax(axis=1)]).all()
    with pytest.raises(LabelError, match=r"'bb' is not in the taxonomy of 12 nodes"):
        m.predict(X, below="bb")


def test_the_subtree_of_an_older_fit_is_forgotten():
    taxonomy = Taxonomy.from_paths(["a/x", "a/y", "b/z"])
    X, y = np.eye(3), np.array(["a/x", "a/y", "b/z"])
    m = TaxonomySVC(taxonomy, C=10).fit(X, y)
    assert m.predict(X[:1], below="a").tolist() == ["a/x"]
    m.fit(X[[1, 0, 2]], y)
    assert m.predict(X[:1], below="a").tolist() == ["a/y"]
    assert clone(m).fit(X, y).predict(X[:1], below="a").tolist() == ["a/x"]
