"""TaxonomySVC against an independent QP solver, LIBLINEAR, scikit-learn's rules, and itself."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from pinakes import Taxonomy, TaxonomySVC
from pinakes.errors import ConvergenceWarning, LabelError, ParameterError
from reference.joint_svm import deltas, graph_of, lambdas
from reference.problems import LOSSES, WEIGHTS, optimum, random_problem


@pytest.mark.parametrize("lattice", [False, True], ids=["tree", "lattice"])
@pytest.mark.parametrize("node_weight", WEIGHTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_optimum_agrees_with_a_qp_solver(loss, node_weight, lattice):
    for seed in range(5):
        problem = random_problem(seed, lattice, loss, node_weight)
        taxonomy, classes, X, y, delta, weight = problem
        C = 10.0 ** (seed - 2)
        m = TaxonomySVC(taxonomy, C=C, loss=delta, node_weight=weight, tol=1e-7, max_iter=5000).fit(X, y)
        expected = optimum(taxonomy, classes, X, y, C, delta, weight)
        assert m.primal_objective_ == pytest.approx(expected, rel=1e-5, abs=1e-8)
        assert m.dual_objective_ == pytest.approx(expected, rel=1e-5, abs=1e-8)
        assert 0 <= m.gap_ <= 1e-7


@pytest.mark.kernel
@pytest.mark.parametrize("lattice", [False, True], ids=["tree", "lattice"])
def test_objectives_are_what_the_weights_say(lattice):
    """P and D recomputed from coef_ and dual_coef_ with dense algebra."""
    for seed in range(3):
        taxonomy, classes, X, y, loss, weight = random_problem(seed, lattice, "tree", "normalized")
        m = TaxonomySVC(taxonomy, C=0.7, tol=1e-6).fit(X, y)
        graph = graph_of(taxonomy)
        delta = deltas(graph, classes, loss)
        codes = np.searchsorted(classes, y)
        scores = X @ m.coef_.toarray().T
        np.testing.assert_allclose(
            m.decision_function(X) if len(classes) > 2 else scores[:, 1] - scores[:, 0],
            scores if len(classes) > 2 else m.decision_function(X),
            atol=1e-12,
        )
        margins = scores[np.arange(len(y)), codes][:, None] - scores
        slack = (delta[codes] * (1 - margins)).max(axis=1)
        Lam = lambdas(graph, classes, weight)
        nodes = sorted(set().union(*Lam.values()), key=str)
        L = np.array([[Lam[k].get(z, 0.0) for z in nodes] for k in classes])
        alpha = m.dual_coef_.toarray()
        w = sum(np.outer(L[codes[i]] - L[k], X[i]) * alpha[i, k] for i in range(len(y)) for k in range(len(classes)))
        assert m.primal_objective_ == pytest.approx(0.5 * (w**2).sum() + 0.7 * slack.clip(0).sum(), rel=1e-9)
        assert m.dual_objective_ == pytest.approx(alpha.sum() - 0.5 * (w**2).sum(), rel=1e-9)
        budget = np.divide(alpha, delta[codes], out=np.zeros_like(alpha), where=delta[codes] > 0).sum(axis=1)
        assert (alpha >= 0).all()
        assert (budget <= 0.7 * (1 + 1e-9)).all()
        # Proposition 1: the mean slack bounds the mean loss on the training documents
        predicted = np.searchsorted(classes, m.predict(X))
        assert delta[codes, predicted].sum() <= slack.clip(0).sum() + 1e-9


def test_flat_equals_crammer_singer_of_liblinear():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 8))
    y = (X @ rng.normal(size=(8, 5)) + rng.normal(size=(120, 5))).argmax(axis=1)
    ours = TaxonomySVC(C=0.5, tol=1e-8).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = LinearSVC(multi_class="crammer_singer", C=0.5, fit_intercept=False, tol=1e-8, max_iter=100_000).fit(
            X, y
        )
    scores = X @ theirs.coef_.T
    margins = 1 - scores[np.arange(120), y][:, None] + scores
    margins[np.arange(120), y] = 0
    assert ours.primal_objective_ == pytest.approx(
        0.5 * (theirs.coef_**2).sum() + 0.5 * margins.max(axis=1).sum(), rel=1e-5
    )
    np.testing.assert_allclose(ours.coef_.toarray(), theirs.coef_, atol=1e-4)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.98  # ties apart


def test_dual_never_falls_and_gap_is_never_negative():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 6)), rng.integers(0, 8, 200).astype(str)
    seen = []
    TaxonomySVC(C=1.0, tol=1e-5).fit(X, y, report=seen.append)
    duals = [p.d_obj for p in seen]
    assert len(seen) > 2
    assert all(b >= a - 1e-9 * abs(a) for a, b in pairwise(duals))
    assert all(p.gap >= 0 for p in seen)


@given(seed=st.integers(0, 10_000), lattice=st.booleans())
@settings(max_examples=25)
def test_optimum_ignores_order_of_documents_and_names_of_classes(seed, lattice):
    taxonomy, _, X, y, _, _ = random_problem(seed, lattice, "tree", "normalized")
    expected = TaxonomySVC(taxonomy, tol=1e-6).fit(X, y).primal_objective_
    order = np.random.default_rng(seed).permutation(len(y))
    shuffled = TaxonomySVC(taxonomy, tol=1e-6).fit(X[order], y[order])
    assert shuffled.primal_objective_ == pytest.approx(expected, rel=1e-5)
    rename = {node: f"{hash(node) % 97:02}-{node}" for node in taxonomy.ids}
    renamed = Taxonomy([rename[i] for i in taxonomy.ids], taxonomy.edges())
    again = TaxonomySVC(renamed, tol=1e-6).fit(X, [rename[k] for k in y])
    assert again.primal_objective_ == pytest.approx(expected, rel=1e-5)


def test_many_classes_grow_rows_and_agree_with_dense_weights(sparse_problem):
    """A taxonomy of more than four blocks of attributes goes through sparse rows; tol decides float32 or float64."""
    taxonomy, X, y = sparse_problem
    exact = TaxonomySVC(taxonomy, tol=1e-6).fit(X, y)
    quick = TaxonomySVC(taxonomy, tol=1e-2).fit(X, y)
    assert quick.weights_.dtype == np.float32
    assert exact.weights_.dtype == np.float64
    assert exact.primal_objective_ <= quick.primal_objective_ <= exact.primal_objective_ * 1.01 + 1e-6
    np.testing.assert_allclose(exact.decision_function(X), (X @ exact.coef_.T).toarray(), atol=1e-10)
    ranking = exact.rank(X, 3, temperature=0.5)
    scores = exact.decision_function(X)
    np.testing.assert_allclose(ranking.scores, np.sort(scores, axis=1)[:, ::-1][:, :3], atol=1e-12)
    assert (exact.classes_[ranking.classes[:, 0]] == exact.predict(X)).all()
    np.testing.assert_allclose(
        ranking.confidences, np.sort(softmax(scores / 0.5, axis=1), axis=1)[:, ::-1][:, :3], atol=1e-9
    )


def test_threads_and_seed_do_not_change_the_answer(sparse_problem):
    taxonomy, X, y = sparse_problem
    X, y = sparse.vstack([X] * 6, format="csr"), np.tile(y, 6)  # enough documents for steps in several threads
    one = TaxonomySVC(taxonomy, n_jobs=1, random_state=1).fit(X, y)
    for n_jobs in (2, 3, 2, 2):
        several = TaxonomySVC(taxonomy, n_jobs=n_jobs, random_state=1).fit(X, y)
        assert (one.weights_ != several.weights_).nnz == 0
    # no step was lost on the way: the weights are those of the dual variables
    alpha, attributes = one.dual_coef_, one.attributes_
    codes = np.searchsorted(one.classes_, y)
    own = sparse.csr_array((alpha.sum(axis=1), (np.arange(len(y)), codes)), shape=alpha.shape)
    expected = X.T @ ((own - alpha) @ attributes.matrix(attributes.v2))
    np.testing.assert_allclose(one.weights_.toarray(), expected.toarray(), atol=1e-5)
    other = TaxonomySVC(taxonomy, random_state=2, tol=1e-5).fit(X, y)
    assert other.primal_objective_ <= one.primal_objective_


@pytest.fixture(scope="module")
def sparse_problem():
    rng = np.random.default_rng(5)
    taxonomy = Taxonomy.from_paths(f"{a}/{a}{b}/{a}{b}{c}" for a in "abcd" for b in "efgh" for c in "ijklmn")
    labels = [taxonomy.ids[v] for v in taxonomy.leaves] + ["a", "b/bf"]  # inner nodes hold documents too
    y = np.array(labels * 4)
    words = {node: rng.integers(0, 300, 6) for node in taxonomy.ids}
    rows, columns = [], []
    for i, label in enumerate(y):
        up = taxonomy.ancestors.of(taxonomy.index(label))
        picked = np.concatenate([rng.choice(words[taxonomy.ids[v]], 3) for v in up] + [rng.integers(0, 300, 2)])
        rows += [i] * len(picked)
        columns += picked.tolist()
    X = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(y), 300))
    return taxonomy, sparse.csr_array(Normalizer().fit_transform(X)), y


def known_failures(estimator):
    near = "takes the exact optimum: weights and copies lead to it on different ways"
    failures = dict.fromkeys([f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")], near)
    if estimator.kernel == "precomputed":
        failures["check_classifiers_one_label_sample_weights"] = "its kernel matrix is not symmetric, which is refused"
    if estimator.solver == "ascent" and estimator.kernel == "linear":
        failures = {}
    if estimator.kernel != "rbf":
        failures["check_class_weight_classifiers"] = "wants one class for nearly all documents, which takes a bias"
    return failures


@parametrize_with_checks(
    [
        TaxonomySVC(),
        TaxonomySVC(solver="greedy", max_iter=20),
        TaxonomySVC(kernel="rbf", max_iter=20),
        TaxonomySVC(kernel="precomputed", max_iter=20),
    ],
    expected_failed_checks=known_failures,
)
def test_scikit_learn_rules(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one check draws documents 100 units from the origin
        check(estimator)


def test_works_in_pipeline_grid_search_and_clone(sparse_problem):
    taxonomy, X, y = sparse_problem
    search = GridSearchCV(
        make_pipeline(Normalizer(), TaxonomySVC(taxonomy)), {"taxonomysvc__C": [0.1, 1.0]}, cv=2, n_jobs=1
    ).fit(X, y)
    assert search.best_score_ > 0.5
    assert clone(search.best_estimator_[-1]).taxonomy is taxonomy


def test_integer_labels_are_looked_up_by_their_text():
    taxonomy = Taxonomy.from_edges([("", "10"), ("10", "1"), ("10", "2"), ("", "3")])
    m = TaxonomySVC(taxonomy, C=10).fit(np.eye(3), np.array([1, 2, 3]))
    assert m.predict(np.eye(3)).tolist() == [1, 2, 3]
    assert m.classes_.dtype.kind == "i"


def test_documents_without_features_are_answered():
    X = sparse.csr_array(np.array([[1.0, 0], [0, 1], [0, 0]]))
    m = TaxonomySVC(C=1.0).fit(X, ["a", "b", "b"])
    assert m.predict(sparse.csr_array((1, 2))).tolist() == ["a"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": -1.0}, "`C` of TaxonomySVC must be a number > 0, got -1.0"),
        ({"C": float("nan")}, "`C` of TaxonomySVC must be a number > 0, got nan"),
        ({"tol": 0}, "`tol` of TaxonomySVC must be a number > 0, got 0"),
        ({"max_iter": 0}, "`max_iter` of TaxonomySVC must be a whole number >= 1, got 0"),
        ({"n_jobs": 0}, "`n_jobs` of TaxonomySVC must be a whole number other than 0, got 0"),
        ({"solver": "magic"}, "`solver` of TaxonomySVC must be one of .*, got 'magic'"),
        ({"kernel": "magic"}, "`kernel` of TaxonomySVC must be one of .*, got 'magic'"),
        ({"node_weight": "heavy"}, "`node_weight` must be one of .*, got 'heavy'"),
        ({"node_weight": {"z": 1.0}}, "`node_weight` names 'z', which is not in the taxonomy"),
        ({"node_weight": {"a": -1.0}}, "`node_weight` must be finite and >= 0, got -1.0 for 'a'"),
        ({"taxonomy": 7}, "`taxonomy` must be a Taxonomy, a path or None, got int"),
        ({"loss": "treee"}, "loss must be 'tree', 'exact', 'zero-one', .*got 'treee'"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ParameterError, match=message):
        TaxonomySVC(**settings).fit(np.eye(2), ["a", "b"])


def test_bad_data_is_named():
    taxonomy = Taxonomy.from_edges([("", "animal"), ("animal", "cat"), ("animal", "dog")])
    with pytest.raises(LabelError, match=r"the label 'dgo' of the documents cannot be found .*closest: 'dog'"):
        TaxonomySVC(taxonomy).fit(np.eye(2), ["cat", "dgo"])
    with pytest.raises(ParameterError, match="at least 2 classes, got the 1 class"):
        TaxonomySVC(taxonomy).fit(np.eye(2), ["cat", "cat"])
    with pytest.raises(ParameterError, match="`sample_weight` must be >= 0, got -1"):
        TaxonomySVC(taxonomy).fit(np.eye(2), ["cat", "dog"], sample_weight=[1, -1])
    with pytest.raises(NotFittedError):
        TaxonomySVC(taxonomy).predict(np.eye(2))


def test_a_ranking_of_no_classes_is_refused():
    rng = np.random.default_rng(0)
    m = TaxonomySVC().fit(rng.normal(size=(60, 4)), rng.integers(0, 6, 60))
    for n_best in (0, -1, 2.0, True):
        with pytest.raises(ParameterError, match=f"`n_best` must be a whole number >= 1, got {n_best}"):
            m.rank(np.zeros((1, 4)), n_best)
    for temperature in (-1, np.nan, "hot"):
        with pytest.raises(ParameterError, match="`temperature` must be a number >= 0, got "):
            m.rank(np.zeros((1, 4)), 1, temperature)
    assert m.rank(np.zeros((1, 4)), np.int32(9)).classes.shape == (1, 6)


@pytest.mark.parametrize("kind", [sparse.csr_array, np.asarray])
def test_a_bias_cannot_come_or_go_after_the_fit(kind):
    rng = np.random.default_rng(0)
    X, y = kind(rng.normal(size=(60, 4))), rng.integers(0, 6, 60)
    for before in (False, True):
        m = TaxonomySVC(fit_intercept=before).fit(X, y).set_params(fit_intercept=not before)
        for use in (m.predict, m.decision_function, lambda X, m=m: m.partial_fit(X, y)):
            with pytest.raises(ParameterError, match=f"was changed after the fit.* set it back to {before}"):
                use(X)
        assert m.set_params(fit_intercept=before).predict(X).shape == (60,)


def test_what_is_not_there_is_said():
    with pytest.raises(NotFittedError):
        TaxonomySVC().coef_  # noqa: B018
    with pytest.raises(NotFittedError):
        TaxonomySVC().dual_coef_  # noqa: B018
    X, y = np.eye(4), ["a", "a", "b", "b"]
    with pytest.raises(ParameterError, match="`class_attributes` holds nothing but zeros"):
        TaxonomySVC(class_attributes=np.zeros((2, 3))).fit(X, y)
    with pytest.raises(ParameterError, match="`class_weight` of TaxonomySVC leaves no document with a weight above 0"):
        TaxonomySVC(class_weight={"a": 0, "b": 0}).fit(X, y)


def test_stopping_early_warns_with_what_to_do():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 6, 60)
    with pytest.warns(ConvergenceWarning, match=r"after max_iter=1 rounds .* raise max_iter, or accept a larger tol"):
        TaxonomySVC(max_iter=1, tol=1e-6).fit(X, y)


def test_time_limit_and_interrupt_keep_what_was_learnt(sparse_problem):
    taxonomy, X, y = sparse_problem
    with pytest.warns(ConvergenceWarning, match="after max_seconds=1e-06 .*raise max_seconds"):
        hurried = TaxonomySVC(taxonomy, max_seconds=1e-6).fit(X, y)
    assert hurried.stopped_ == "max_seconds"
    # nothing was looked at: all weights are 0, and every document has the slack of that
    costs = [
        max(hurried._loss.row(int(v), hurried._nodes)) for v in hurried._nodes[np.searchsorted(hurried.classes_, y)]
    ]
    assert hurried.primal_objective_ >= hurried.C * sum(costs) > 0
    assert (hurried.gap_, hurried.dual_objective_) == (1.0, 0.0)

    def interrupt(progress):
        if progress.n_iter == 3:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="when it was interrupted .*fit again"):
        stopped = TaxonomySVC(taxonomy, tol=1e-9).fit(X, y, report=interrupt)
    assert stopped.stopped_ == "interrupted"
    assert (stopped.predict(X) == y).mean() > 0.8
    assert TaxonomySVC(taxonomy).fit(X, y).stopped_ == "converged"
