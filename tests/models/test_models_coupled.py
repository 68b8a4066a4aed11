"""`CoupledSVC` as people use it: labels in every form, answers, mistakes, and scikit-learn's rules."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import label_ranking_loss
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from pinakes import CoupledSVC, Taxonomy
from pinakes.errors import ConvergenceWarning, LabelError, ParameterError

TREE = Taxonomy.from_paths(["a/b/d", "a/b/e", "a/c", "f/g", "f/h"])
SETS = [["a/b/d"], ["a/b/e", "f/g"], ["a/c"], ["f/g"], ["f/h", "a/c"], [], ["a/b/d", "a/b", "f/h"], ["a/b"]]
X = np.random.default_rng(2).normal(size=(len(SETS), 12))


def test_separable_sets_are_learnt_by_heart():
    m = CoupledSVC(TREE, C=1000, cut=0.0, implied=False).fit(X, SETS)
    assert m.predict(X) == [sorted(s, key=TREE.index) for s in SETS]
    assert m.stopped_ == "converged"
    closed = CoupledSVC(TREE, C=1000, cut=0.0, closed=True).fit(X, SETS).predict(X)
    assert [set(s) for s in closed] == [
        {TREE.ids[u] for label in s for u in TREE.ancestors.of(TREE.index(label))} for s in SETS
    ]


def test_labels_in_every_form_give_one_model():
    indicator = np.array([[node in s for node in TREE.ids] for s in SETS]).astype(int)
    settings = {"taxonomy": TREE, "cut": 0.0, "implied": False}
    lists = CoupledSVC(**settings).fit(X, SETS)
    for y in (indicator, sparse.csr_array(indicator), [set(s) for s in SETS]):
        m = CoupledSVC(**settings).fit(X, y)
        assert m.classes_.tolist() == lists.classes_.tolist()
        np.testing.assert_array_equal(m.coef_.toarray(), lists.coef_.toarray())
    assert (CoupledSVC(**settings).fit(X, indicator).predict(X).sum(axis=1) <= len(TREE)).all()


def test_implied_labels_are_no_labels_of_their_own():
    bare = [["a/b/d", "f/h"] if len(s) == 3 else s for s in SETS]
    one, other = (CoupledSVC(TREE, cut=0.0).fit(X, y) for y in (SETS, bare))
    np.testing.assert_array_equal(one.coef_.toarray(), other.coef_.toarray())


@pytest.mark.parametrize("dense", [True, False])
def test_dense_and_sparse_documents_and_either_precision_agree(dense):
    sets = [s or ["a/c"] for s in SETS]
    documents = X if dense else np.where(np.abs(X) > 0.9, X, 0)
    expected = CoupledSVC(TREE, tol=1e-8).fit(sparse.csr_array(documents), sets)
    for given in (documents, sparse.csc_array(documents), documents.astype(np.float32)):
        found = CoupledSVC(TREE, tol=1e-8).fit(given, sets)
        np.testing.assert_allclose(found.decision_function(given), expected.decision_function(documents), atol=1e-4)
        np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-4)


def test_without_a_taxonomy_answers_are_those_of_one_vs_rest():
    documents, Y = make_multilabel_classification(300, 20, n_classes=5, random_state=1)
    peer = OneVsRestClassifier(LinearSVC(C=0.1, dual=True, tol=1e-8, max_iter=100_000)).fit(documents[:200], Y[:200])
    m = CoupledSVC(C=0.1, tol=1e-6, cut=0.0, prior=0).fit(documents[:200], Y[:200])
    expected = peer.decision_function(documents[200:])
    np.testing.assert_allclose(m.decision_function(documents[200:]), expected, atol=5e-3)
    sure = np.abs(expected) > 1e-2
    assert (m.predict(documents[200:]) == peer.predict(documents[200:]))[sure].all()


def test_beyond_the_margin_scores_are_lowered_by_rarity():
    sets = [s or ["a/c"] for s in SETS]
    weight = np.arange(1.0, len(sets) + 1)
    m = CoupledSVC(TREE, tol=1e-8, prior=0.3, cut=0.0).fit(X, sets, sample_weight=weight)
    plain = X @ m.coef_.toarray().T + m.intercept_
    beyond = np.interp(-plain, [0.9, 1.1], [0, 1])
    found = m.decision_function(X)
    np.testing.assert_allclose(found, plain - beyond * m.rarity_, atol=1e-5)
    assert (beyond > 0).any()
    for k in range(len(m.classes_)):  # the order of documents stays as it is
        assert (np.diff(found[np.argsort(plain[:, k]), k]) >= -1e-9).all()
    bare = CoupledSVC(TREE, tol=1e-8, prior=0, cut=0.0).fit(X, sets, sample_weight=weight)
    np.testing.assert_allclose(bare.decision_function(X), plain, atol=1e-5)
    share = [weight[[i for i, s in enumerate(sets) if k in _bare(s)]].sum() / weight.sum() for k in m.classes_]
    np.testing.assert_allclose(m.rarity_, -0.3 * np.log(share))


def _bare(labels):
    return [a for a in labels if not any(b.startswith(a + "/") for b in labels)]


def test_grid_search_finds_settings():
    documents, Y = make_multilabel_classification(200, 20, n_classes=4, random_state=0)
    search = GridSearchCV(CoupledSVC(cut=0.0), {"C": [1e-4, 1e-1]}, scoring="f1_micro", cv=3).fit(documents, Y)
    assert search.best_params_ == {"C": 1e-1}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "log"}, "`loss` of CoupledSVC must be one of 'squared_hinge', 'hinge', got 'log'"),
        ({"targets": "leaves"}, "`targets` of CoupledSVC must be one of 'categories', 'nodes', got 'leaves'"),
        ({"C": 0}, "`C` of CoupledSVC must be a number > 0, got 0"),
        ({"prior": -1}, "`prior` of CoupledSVC must be a number >= 0, got -1"),
        ({"intercept_scaling": -1}, "`intercept_scaling` of CoupledSVC must be a number > 0, got -1"),
        ({"tol": 0}, "`tol` of CoupledSVC must be a number > 0, got 0"),
        ({"max_iter": 0}, "`max_iter` of CoupledSVC must be a whole number >= 1, got 0"),
        ({"max_seconds": 0}, "`max_seconds` of CoupledSVC must be a number > 0, got 0"),
        ({"node_weight": "heavy"}, "`node_weight` must be one of normalized, depth, equal, flat or a mapping"),
        ({"n_jobs": 0}, "`n_jobs` of CoupledSVC must be a whole number other than 0, got 0"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(ParameterError, match=message.replace("(", r"\(")):
        CoupledSVC(TREE, **settings).fit(X, SETS)


def test_other_mistakes():
    with pytest.raises(LabelError, match="'a/b/f' of the documents cannot be found in the taxonomy"):
        CoupledSVC(TREE).fit(X, [["a/b/f"], *SETS[1:]])
    with pytest.raises(ParameterError, match="`sample_weight` must be >= 0, got -1"):
        CoupledSVC(TREE).fit(X, SETS, sample_weight=[-1.0] + [1.0] * (len(SETS) - 1))


@pytest.mark.corpus
def test_better_ranking_loss_than_one_vs_rest_on_rcv1(corpora):
    """Trained on 1,500 documents, tested on 1,500; average precision is about equal there."""
    from sklearn.metrics import label_ranking_average_precision_score as average_precision

    from pinakes.datasets import load_corpus

    sample = load_corpus(corpora / "rcv1")
    up = {
        c: {sample.taxonomy.ids[u] for u in sample.taxonomy.ancestors.of(sample.taxonomy.index(c))} - {c}
        for c in sample.taxonomy.ids
    }
    documents, sets = sample.train.X[:3000], []
    for s in sample.train.labels[:3000]:  # without what is implied
        sets.append([c for c in s if not any(c in up[other] for other in s)])
    m = CoupledSVC(sample.taxonomy, cut=0.0).fit(documents[:1500], sets[:1500])
    Y = np.array([[int(c in s) for c in m.classes_] for s in sets], dtype=np.int32)
    peer = OneVsRestClassifier(LinearSVC()).fit(documents[:1500], Y[:1500])
    ours, theirs = m.decision_function(documents[1500:]), peer.decision_function(documents[1500:])
    assert average_precision(Y[1500:], ours) > average_precision(Y[1500:], theirs) - 0.005
    assert label_ranking_loss(Y[1500:], ours) < 0.95 * label_ranking_loss(Y[1500:], theirs)


def not_so_closely(estimator):
    """Weights are as close as the root of the gap: scores agree to 1e-4, as LinearSVC's do, not to 1e-7."""
    names = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(names, "scores agree to 1e-4") if estimator.loss == "squared_hinge" else {}


@parametrize_with_checks(
    [CoupledSVC(n_jobs=1), CoupledSVC(loss="hinge", node_weight="flat", n_jobs=1)],
    expected_failed_checks=not_so_closely,
)
def test_scikit_learn_rules(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some checks have features of any scale
        check(estimator)


@pytest.mark.parametrize("cut", ["learned", "micro-f1", "macro-f1"])
def test_with_a_problem_for_every_node_the_cut_lets_ancestors_in(cut):
    """The cut is tuned on what the problems ask, ancestors included: else it would lie above the labels below them."""
    rng = np.random.default_rng(0)
    taxonomy = Taxonomy.from_edges([("", "a"), ("", "b"), ("a", "a1"), ("a", "a2")])
    sets = [[str(k)] for k in rng.choice(["a", "a1", "a2", "b"], size=400, p=[0.05, 0.45, 0.45, 0.05])]
    column = {"a": [0], "a1": [0, 1], "a2": [0, 2], "b": [3]}
    X = rng.random((400, 4)) * 0.8
    for row, few in zip(X, sets, strict=True):
        row[column[few[0]]] += [1.0, 0.7][: len(column[few[0]])]
    model = CoupledSVC(taxonomy, C=10, targets="nodes", cut=cut, closed=True).fit(X, sets)
    closed = [{k, "a"} if k.startswith("a") else {k} for (k,) in sets]
    assert np.mean([set(few) == right for few, right in zip(model.predict(X), closed, strict=True)]) > 0.9
