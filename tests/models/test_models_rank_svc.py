"""TaxonomyRankSVC against TaxonomySVC, its own definition, and scikit-learn's rules."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from pinakes import Taxonomy, TaxonomyRankSVC, TaxonomySVC
from pinakes.errors import ConvergenceWarning, DocumentError, LabelError, ParameterError
from reference.joint_svm import deltas, graph_of, lambdas
from reference.problems import LOSSES, WEIGHTS, random_problem

EXACT = {"tol": 1e-8, "max_iter": 5000, "n_jobs": 1}


@pytest.fixture(scope="module")
def documents():
    """Sparse documents with one to three labels of a taxonomy that is wide enough for rows that grow."""
    rng = np.random.default_rng(5)
    taxonomy = Taxonomy.from_paths(f"{a}/{a}{b}/{a}{b}{c}" for a in "abcd" for b in "efgh" for c in "ijklm")
    labels = [taxonomy.ids[v] for v in taxonomy.leaves]
    words = {node: rng.choice(400, 6, replace=False) for node in taxonomy.ids}
    sets = [sorted(rng.choice(labels, rng.integers(1, 4), replace=False).tolist()) for _ in range(240)]
    X = sparse.lil_array((240, 400))
    for i, few in enumerate(sets):
        for label in few:
            for v in taxonomy.ancestors.of(taxonomy.index(label)):
                X[i, rng.choice(words[taxonomy.ids[v]], 3)] = 1.0
        X[i, rng.choice(400, 4)] = 1.0
    X = sparse.csr_array(X)
    return taxonomy, sparse.csr_array(X / np.sqrt(X.multiply(X).sum(axis=1))[:, None]), sets


@pytest.mark.parametrize("solver", ["ascent", "greedy"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_label_a_document_is_the_svm_for_one_label(solver, kernel):
    for seed, (loss, weight) in enumerate(zip(LOSSES, WEIGHTS, strict=False)):
        taxonomy, classes, X, y, loss, weight = random_problem(seed + 40, seed % 2 == 1, loss, weight)
        given = {"C": 0.8, "loss": loss, "node_weight": weight, "solver": solver, "kernel": kernel, **EXACT}
        one = TaxonomySVC(taxonomy, **given).fit(X, y)
        few = TaxonomyRankSVC(taxonomy, **given).fit(X, y)
        lists = TaxonomyRankSVC(taxonomy, cut=1, **given).fit(X, [[label] for label in y])
        for m in (few, lists):
            assert m.primal_objective_ == pytest.approx(one.primal_objective_, rel=1e-7)
        np.testing.assert_allclose(few.decision_function(X), one.decision_function(X), atol=1e-4)
        scores = lists.decision_function(X)
        scores = scores[:, 1] - scores[:, 0] if len(classes) == 2 else scores
        np.testing.assert_allclose(scores, few.decision_function(X), atol=1e-9)
        assert (few.predict(X) == one.predict(X)).mean() > 0.9  # ties apart
        assert lists.predict(X) == [[label] for label in few.predict(X)]


@pytest.mark.parametrize("slack", ["document", "pair"])
def test_objectives_are_what_weights_and_pairs_say(documents, slack):
    """P and D recomputed from coef_ and pairs_ with dense algebra; the weights are those of the pairs."""
    taxonomy, X, sets = documents
    m = TaxonomyRankSVC(taxonomy, C=0.7, slack=slack, tol=1e-5, cut=1, n_jobs=1).fit(X, sets)
    classes = m.classes_.tolist()
    graph = graph_of(taxonomy)
    delta, Lam = deltas(graph, classes, "tree"), lambdas(graph, classes, "normalized")
    nodes = sorted(set().union(*Lam.values()), key=str)
    L = np.array([[Lam[k].get(z, 0.0) for z in nodes] for k in classes])
    w = np.zeros((len(nodes), 400))
    for i, y, k, alpha in zip(*m.pairs_, strict=True):
        w += np.outer(L[y] - L[k], alpha * X[[i]].toarray()[0])
    scores = X @ (L @ w).T
    found = m.decision_function(X)
    np.testing.assert_allclose(found - found[:, :1], scores - scores[:, :1], atol=1e-9)
    np.testing.assert_allclose(found, (X @ m.coef_.T).toarray(), atol=1e-9)
    xi = 0.0
    for i, labels in enumerate(sets):
        own = [classes.index(k) for k in labels]
        F = delta[own] * (1 - scores[i, own][:, None] + scores[i])
        F = np.delete(F, own, axis=1).clip(0)
        xi += F.sum() if slack == "pair" else F.max()
    assert m.primal_objective_ == pytest.approx(0.5 * (w**2).sum() + 0.7 * xi, rel=1e-6)
    assert m.dual_objective_ == pytest.approx(m.pairs_.alpha.sum() - 0.5 * (w**2).sum(), rel=1e-8)
    net = np.zeros((240, len(classes)))
    np.add.at(net, (m.pairs_.document, m.pairs_.label), m.pairs_.alpha)
    np.add.at(net, (m.pairs_.document, m.pairs_.other), -m.pairs_.alpha)
    np.testing.assert_allclose(m.dual_coef_.toarray(), net, atol=1e-12)
    assert m.stopped_ == "converged"


def test_threads_do_not_change_the_answer(documents):
    taxonomy, X, sets = documents
    X, sets = sparse.csr_array(sparse.vstack([X] * 9)), sets * 9  # enough for batches
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, two = (TaxonomyRankSVC(taxonomy, cut=1, max_iter=4, n_jobs=n).fit(X, sets) for n in (1, 2))
    assert (one.weights_ != two.weights_).nnz == 0
    assert one.weights_.nnz > 0


def test_tol_decides_precision(documents):
    taxonomy, X, sets = documents
    quick = TaxonomyRankSVC(taxonomy, cut=1, n_jobs=1).fit(X, sets)
    close = TaxonomyRankSVC(taxonomy, cut=1, tol=1e-5, n_jobs=1).fit(X, sets)
    assert quick.weights_.dtype == np.float32
    assert close.weights_.dtype == np.float64
    assert close.primal_objective_ <= quick.primal_objective_ <= 1.011 * close.primal_objective_


def test_dual_never_falls(documents):
    taxonomy, X, sets = documents
    for slack in ("document", "pair"):
        seen = []
        TaxonomyRankSVC(taxonomy, slack=slack, tol=1e-6, cut=1, n_jobs=1).fit(X, sets, report=seen.append)
        exact = [p.d_obj for p in seen[3:]]
        assert len(exact) > 2
        assert all(b >= a - 1e-9 * abs(a) for a, b in pairwise(exact))
        assert all(p.gap >= 0 for p in seen)


def test_odd_label_sets_change_nothing(documents):
    """Documents without labels, with all of them, without weight, and labels given twice."""
    taxonomy, X, sets = documents
    X, sets = X[:60], sets[:60]
    plain = TaxonomyRankSVC(taxonomy, cut=1, **EXACT).fit(X, sets)
    classes = plain.classes_.tolist()
    odd = [*[[*labels, labels[0]] for labels in sets], [], classes, ["a/ae/aei"]]
    more = sparse.csr_array(sparse.vstack([X, X[:3]]))
    weight = np.ones(63)
    weight[62] = 0.0
    again = TaxonomyRankSVC(taxonomy, cut=1, **EXACT).fit(more, odd, sample_weight=weight)
    assert again.classes_.tolist() == classes
    assert again.primal_objective_ == pytest.approx(plain.primal_objective_, rel=1e-7)
    np.testing.assert_allclose(again.decision_function(X), plain.decision_function(X), atol=1e-3)
    assert again.support_.max() < 60
    doubled = TaxonomyRankSVC(taxonomy, cut=1, **EXACT).fit(X, sets, sample_weight=np.full(60, 2.0))
    assert doubled.primal_objective_ == pytest.approx(
        TaxonomyRankSVC(taxonomy, C=2.0, cut=1, **EXACT).fit(X, sets).primal_objective_, rel=1e-7
    )


def test_where_nothing_can_be_ranked_all_scores_are_0():
    m = TaxonomyRankSVC(cut=2).fit(np.eye(3), [["a", "b"], ["b", "a"], []])
    assert m.stopped_ == "converged"
    assert not m.decision_function(np.eye(3)).any()
    assert m.predict(np.eye(3)[:1]) == [["a", "b"]]


def test_ancestors_are_implied_unless_asked():
    taxonomy = Taxonomy.from_edges([("", "a"), ("", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1")])
    X = np.random.default_rng(0).normal(size=(8, 4))
    closed = [["a", "a1"], ["a", "a2"], ["b", "b1"], ["a", "b", "a1", "b1"], ["a"], ["b"], ["a2", "b1"], ["a1"]]
    least = [["a1"], ["a2"], ["b1"], ["a1", "b1"], ["a"], ["b"], ["a2", "b1"], ["a1"]]
    given = {"cut": 1, **EXACT}
    implied = TaxonomyRankSVC(taxonomy, **given).fit(X, closed)
    same = TaxonomyRankSVC(taxonomy, implied=False, **given).fit(X, least)
    np.testing.assert_array_equal(implied.coef_.toarray(), same.coef_.toarray())
    every = TaxonomyRankSVC(taxonomy, implied=False, **given).fit(X, closed)
    assert every.primal_objective_ != pytest.approx(same.primal_objective_, rel=1e-3)
    on = np.array([[node in labels for node in taxonomy.ids] for labels in closed]).astype(int)
    for Y in (on, sparse.csr_array(on)):
        m = TaxonomyRankSVC(taxonomy, **given).fit(X, Y)
        np.testing.assert_array_equal(m.coef_.toarray(), same.coef_.toarray())
        assert m.predict(X).shape == on.shape


def test_labels_come_first(documents):
    """What is learnt ranks, and the learned cut answers with sets."""
    taxonomy, X, sets = documents
    m = TaxonomyRankSVC(taxonomy, C=5.0, n_jobs=1).fit(X, sets)
    hits = [set(m.classes_[row[: len(s)]]) == set(s) for row, s in zip(m.rank(X, 3).classes, sets, strict=True)]
    assert np.mean(hits) > 0.95
    assert np.mean([set(a) == set(b) for a, b in zip(m.predict(X), sets, strict=True)]) > 0.5


def test_given_attributes_are_those_of_the_taxonomy(documents):
    taxonomy, X, sets = documents
    X, sets = X[:80], sets[:80]
    ours = TaxonomyRankSVC(taxonomy, node_weight="equal", loss="zero-one", cut=1, **EXACT).fit(X, sets)
    Lam = lambdas(graph_of(taxonomy), ours.classes_.tolist(), "equal")
    L = np.array([[Lam[k].get(z, 0.0) for z in taxonomy.ids] for k in ours.classes_])
    given = TaxonomyRankSVC(class_attributes=L, loss="zero-one", cut=1, **EXACT).fit(X, sets)
    assert given.primal_objective_ == pytest.approx(ours.primal_objective_, rel=1e-6)


def test_time_interrupt_and_rounds(documents):
    taxonomy, X, sets = documents
    for solver in ("ascent", "greedy"):
        given = {"taxonomy": taxonomy, "solver": solver, "cut": 1, "n_jobs": 1, "tol": 1e-9}
        with pytest.warns(ConvergenceWarning, match="TaxonomyRankSVC stopped after max_seconds=1e-09"):
            m = TaxonomyRankSVC(max_seconds=1e-9, **given).fit(X, sets)
        assert len(m.predict(X)) == 240
        with pytest.warns(ConvergenceWarning, match="after max_iter=2 rounds"):
            m = TaxonomyRankSVC(max_iter=2, **given).fit(X, sets)
        assert [p.n_iter for p in m.history_] == [1, 2]

        def interrupt(progress):
            raise KeyboardInterrupt

        with pytest.warns(ConvergenceWarning, match="when it was interrupted"):
            m = TaxonomyRankSVC(**given).fit(X, sets, report=interrupt)
        assert m.stopped_ == "interrupted"
        assert m.decision_function(X).any()
    assert m.steps_ is not None


def test_mistakes_are_named(documents):
    taxonomy, X, sets = documents

    def fails(message, error=ParameterError, X=X, y=sets, **settings):
        with pytest.raises(error, match=message):
            TaxonomyRankSVC(taxonomy, **settings).fit(X, y)

    fails("`slack` of TaxonomyRankSVC must be one of 'document', 'pair', got 'none'", slack="none")
    fails("`C` of TaxonomyRankSVC must be a number > 0, got -1", C=-1)
    fails("`solver` of TaxonomyRankSVC must be one of 'ascent', 'greedy', .*, got 'newton'", solver="newton")
    fails("`kernel` of TaxonomyRankSVC must be one of 'linear', .*, got 'sigmoid'", kernel="sigmoid")
    fails("the label 'x' .* cannot be found in the taxonomy", error=LabelError, y=[["x"], *sets[1:]])
    fails(r"X must be a square matrix .*got shape \(240, 400\)", error=DocumentError, kernel="precomputed")
    K = (X @ X.T).toarray()[:30, :30]
    m = TaxonomyRankSVC(taxonomy, kernel="precomputed", cut=1).fit(K, sets[:30])
    with pytest.raises(DocumentError, match=r"each of the 30 documents that the model was fitted on"):
        m.predict(K[:, :20])
    with pytest.raises(AttributeError, match="no weights of features"):
        m.coef_  # noqa: B018


@parametrize_with_checks([TaxonomyRankSVC(n_jobs=1), TaxonomyRankSVC(kernel="rbf", gamma=0.5, slack="pair", tol=1e-9)])
def test_scikit_learn_rules(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)
