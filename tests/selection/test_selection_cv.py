"""TaxonomySVCCV against plain fits, scikit-learn's search, and its own promises."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from pinakes import Taxonomy, TaxonomySVC, TaxonomySVCCV, load, metrics, save
from pinakes.errors import ConvergenceWarning, ParameterError
from pinakes.selection import splits, taxonomy_svc_cv
from pinakes.selection.splits import choose_branches, make_splits
from pinakes.selection.taxonomy_svc_cv import Trial
from pinakes.taxonomy.loss import NodeCosts, make_loss

PATHS = [f"{a}/{a}{b}" for a in "abc" for b in "def"]


@pytest.fixture(scope="module")
def problem():
    """Nine classes, words of their own and of their parent, and many that say nothing."""
    rng = np.random.default_rng(0)
    taxonomy = Taxonomy.from_paths(PATHS)
    y = np.array([taxonomy.ids[v] for v in taxonomy.leaves] * 30)
    X = rng.normal(size=(len(y), 40))
    for i, label in enumerate(y):
        X[i, PATHS.index(label)] += 1.5
        X[i, 10 + "abc".index(label[0])] += 1.5
    return taxonomy, X / np.linalg.norm(X, axis=1, keepdims=True), y


def test_the_final_model_is_a_plain_fit_with_the_chosen_settings(problem):
    taxonomy, X, y = problem
    for cv in (3, 0.2):  # folds, and the quick way
        m = TaxonomySVCCV(taxonomy, cv=cv, tol=1e-6).fit(X, y)
        plain = TaxonomySVC(taxonomy, tol=1e-6, **m.best_params_).fit(X, y)
        assert m.best_estimator_.gap_ <= 1e-6
        assert m.best_estimator_.primal_objective_ == pytest.approx(plain.primal_objective_, rel=3e-6)
        assert (m.predict(X) == plain.predict(X)).mean() > 0.95  # ties at the margin apart
        np.testing.assert_allclose(m.decision_function(X), plain.decision_function(X), atol=0.02)
        assert (m.classes_[m.rank(X, 1).classes[:, 0]] == m.predict(X)).all()
        assert set(m.predict(X, below="a")) <= {"a/ad", "a/ae", "a/af"}


@pytest.mark.parametrize("loss", ["tree", "exact", NodeCosts(f={"a": 5.0}, cbar=2.0), 3 - 3 * np.eye(9)])
def test_trials_score_as_a_grid_search_with_the_same_splits(problem, loss):
    """A tight loose_tol: warm starts must not change the numbers. Delta is what is learnt with."""
    taxonomy, X, y = problem
    Cs, weights = [0.1, 1.0, 10.0], ["normalized", "flat"]
    splits = list(KFold(3, shuffle=True, random_state=1).split(X))
    settings = {"cv": splits, "loose_tol": 1e-5, "tol": 1e-5}
    ours = TaxonomySVCCV(taxonomy, Cs=Cs, node_weights=weights, losses=[loss], **settings).fit(X, y)
    theirs = GridSearchCV(
        TaxonomySVC(taxonomy, tol=1e-5, loss=loss),
        {"C": Cs, "node_weight": weights},
        scoring=metrics.scorer("delta_loss", taxonomy, make_loss(loss, taxonomy, sorted(set(y)))),
        cv=splits,
    ).fit(X, y)
    expected = {
        (p["C"], p["node_weight"]): s
        for p, s in zip(theirs.cv_results_["params"], theirs.cv_results_["mean_test_score"], strict=True)
    }
    assert len(ours.trials_) >= 4  # the path, and flat at its best C
    for trial in ours.trials_:
        wanted = expected[trial.params["C"], trial.params["node_weight"]]
        assert trial.score == pytest.approx(wanted, abs=0.015)  # a tie may fall the other way
    path = [expected[C, "normalized"] for C in Cs]
    assert ours.best_score_ >= max(path) - 0.015


def test_results_are_laid_out_as_scikit_learn_does(problem):
    taxonomy, X, y = problem
    seen, rounds = [], []
    m = TaxonomySVCCV(taxonomy, Cs=(10.0, 0.1, 1.0), scoring="accuracy", random_state=3)
    m.fit(X, y, report=rounds.append, report_trial=seen.append)
    results = m.cv_results_
    assert seen == list(m.trials_)
    assert len(rounds) > len(seen)
    assert results["param_C"][:3].tolist() == [0.1, 1.0, 10.0]
    scores = np.array([results[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_allclose(results["mean_test_score"], scores.mean(axis=0))
    best = int(np.argmin(results["rank_test_score"]))
    assert results["params"][best] == m.best_params_
    assert results["mean_test_score"][best] == m.best_score_ == results["mean_test_score"].max()
    assert 0 < m.best_score_ <= 1
    again = TaxonomySVCCV(taxonomy, Cs=(10.0, 0.1, 1.0), scoring="accuracy", random_state=3).fit(X, y)
    assert [t.scores for t in again.trials_] == [t.scores for t in m.trials_]


def test_losses_and_own_scorers_are_tried(problem):
    taxonomy, X, y = problem

    def far_is_bad(estimator, X, y):
        return -(metrics.delta_loss(y, estimator.predict(X), taxonomy) ** 2)

    m = TaxonomySVCCV(taxonomy, losses=["tree", "zero-one"], Cs=[1.0], scoring=far_is_bad, fit_intercept=True).fit(X, y)
    assert {t.params["loss"] for t in m.trials_} == {"tree", "zero-one"}
    assert m.best_estimator_.fit_intercept
    assert m.best_estimator_.intercept_.any()


@pytest.mark.parametrize("scoring", ["delta_loss", "average_precision", "hierarchical_f1"])
def test_integer_labels_are_looked_up_by_their_text(scoring):
    taxonomy = Taxonomy.from_edges([("", "10"), ("10", "7"), ("10", "2"), ("", "3")])
    X, y = np.vstack([np.eye(3)] * 4), np.array([7, 2, 3] * 4)
    m = TaxonomySVCCV(taxonomy, Cs=[10.0], scoring=scoring).fit(X, y)
    assert abs(m.best_score_) == (0 if scoring == "delta_loss" else 1)
    assert (m.predict(X) == y).all()
    two = TaxonomySVCCV(taxonomy, Cs=[10.0], scoring=scoring).fit(X[y > 2], y[y > 2])
    assert abs(two.best_score_) == (0 if scoring == "delta_loss" else 1)


def walk(problem, table, documents, noise=0.0):
    """Give the values of C that are tried once, and the one chosen, where C has the scores of this table."""
    taxonomy, X, y = problem
    X, y = (np.vstack([X] * 4), np.tile(y, 4)) if documents == "few" else (np.vstack([X] * 8), np.tile(y, 8))

    def scoring(estimator, X, y):
        return table[estimator.C] + noise * np.sin(1000 * X.sum() + estimator.C)

    m = TaxonomySVCCV(taxonomy, Cs=list(table), cv=0.5, node_weights=["normalized"], scoring=scoring, max_iter=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        m.fit(sparse.csr_array(X), y)
    return [t.params["C"] for t in m.trials_], m.best_params_["C"]


@pytest.mark.parametrize("documents", ["few", "plenty"])
def test_the_quick_search_walks_and_stops(problem, documents, monkeypatch):
    """From 0.2 upwards, or else downwards, as long as it helps."""
    monkeypatch.setattr(taxonomy_svc_cv, "PLENTY", 200)  # of the nine classes, 120 or 240 documents each
    values = [0.05, 0.1, 0.3, 1.0, 3.0, 10.0]
    assert walk(problem, dict(zip(values, [1, 2, 3, 5, 4, 9], strict=True)), documents) == ([0.3, 1.0, 3.0], 1.0)
    assert walk(problem, dict(zip(values, [9, 4, 3, 2, 1, 1], strict=True)), documents) == ([0.3, 1.0, 0.1, 0.05], 0.05)
    assert walk(problem, dict(zip(values, [9, 2, 3, 2, 9, 9], strict=True)), documents) == ([0.3, 1.0, 0.1], 0.3)


@pytest.mark.parametrize(("enough", "chosen"), [(1000, 3.0), (200, 1.0)])
def test_of_equal_values_the_larger_is_taken_where_documents_are_few(problem, enough, chosen, monkeypatch):
    """The same scores, a little lower for 3 by less than their standard error, of 240 documents of each class."""
    monkeypatch.setattr(taxonomy_svc_cv, "PLENTY", enough)
    table = {0.3: 1.0, 1.0: 5.0, 3.0: 5.0 - 2e-3, 10.0: 5.0 - 4e-3}
    assert walk(problem, table, "plenty", noise=1e-2) == ([0.3, 1.0, 3.0], chosen)


@pytest.mark.parametrize(("enough", "chosen"), [(1000, 0.3), (200, 0.1)])
def test_a_smaller_value_has_to_be_clearly_better_where_documents_are_few(problem, enough, chosen, monkeypatch):
    """Below 0.3, a little better by less than their standard error at 0.1, and clearly worse at 0.05."""
    monkeypatch.setattr(taxonomy_svc_cv, "PLENTY", enough)
    table = {0.05: 4.0, 0.1: 5.0 + 2e-3, 0.3: 5.0, 1.0: 3.0}
    assert walk(problem, table, "plenty", noise=0.1)[1] == chosen


@pytest.mark.parametrize("cv", [3, 0.2])
def test_every_trial_is_solved_to_the_same_gap(problem, cv):
    """Also the first, which begins from nothing, and those that cannot go on from another one."""
    taxonomy, X, y = problem
    losses, weights = ["tree", "zero-one"], ["normalized", "depth"]
    m = TaxonomySVCCV(taxonomy, losses=losses, node_weights=weights, cv=cv, loose_tol=0.03).fit(X, y)
    assert len(m.trials_) > 4
    assert all(0.003 < trial.gap <= 0.03 for trial in m.trials_)


def test_scores_that_cannot_be_told_apart():
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b = rng.normal(size=(2, 10))
        one, other = Trial({}, tuple(a), 0.0, 0.0), Trial({}, tuple(b), 0.0, 0.0)
        assert one.as_good_as(other) == (b.mean() - a.mean() <= stats.sem(b - a))
    one, two = Trial({}, (1.0,), 0.0, 0.0), Trial({}, (2.0,), 0.0, 0.0)
    assert two.as_good_as(one)
    assert one.as_good_as(one)
    assert not one.as_good_as(two)


@pytest.mark.parametrize("lattice", [False, True])
def test_branches_are_whole_and_small(lattice):
    """Every class chosen lies in a branch of at most 0.4 of the documents wanted, of which all classes are chosen."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        edges = [(str(rng.integers(max(0, k - 60), k)), str(k)) for k in range(1, 400)]
        if lattice:
            edges += [(str(rng.integers(0, k)), str(k)) for k in range(50, 400, 7)]
        taxonomy = Taxonomy.from_edges(edges)
        nodes = np.sort(rng.permutation(len(taxonomy))[:300])
        count = rng.integers(1, 9, 300)
        chosen = choose_branches(taxonomy, nodes, count, 0.3, seed)
        below = [np.flatnonzero(np.isin(nodes, taxonomy.descendants.of(v))) for v in range(len(taxonomy))]
        small = [v for v in range(len(taxonomy)) if count[below[v]].sum() <= 0.4 * 0.3 * count.sum()]
        whole = [v for v in small if np.isin(below[v], chosen).all()]
        for k in chosen:
            above = np.intersect1d(taxonomy.ancestors.of(nodes[k]), small)
            highest = [v for v in above if not np.isin(taxonomy.parents.of(v), small).any()]
            assert np.intersect1d(highest, whole).size
        assert 0.3 <= count[chosen].sum() / count.sum() <= 0.3 + 0.4 * 0.3


def test_of_many_documents_a_part_is_split_once(monkeypatch):
    rng = np.random.default_rng(0)
    taxonomy = Taxonomy.from_paths([f"{k // 10}/{k}" for k in range(200)])
    nodes = np.array([taxonomy.index(f"{k // 10}/{k}") for k in range(200)])
    codes = rng.integers(0, 200, 6000)
    (few,) = make_splits(None, codes, 0, taxonomy, nodes)
    kept = np.concatenate([few.learn, few.test])
    assert np.array_equal(np.sort(kept), np.flatnonzero(np.isin(codes, few.classes)))
    assert 0.3 <= len(kept) / 6000 < 0.42
    assert len(few.test) / len(kept) == pytest.approx(0.2, abs=0.01)
    monkeypatch.setattr(splits, "ENOUGH", 900)  # of however many
    (fewer,) = make_splits(None, codes, 0, taxonomy, nodes)
    assert 900 <= len(fewer.learn) + len(fewer.test) < 1.4 * 900
    (whole,) = make_splits(None, codes, 0, taxonomy, nodes, whole=True)
    (plenty,) = make_splits(None, codes // 2, 0, taxonomy, nodes[:100])
    for split, n_classes in ((whole, 200), (plenty, 100)):
        assert np.array_equal(split.classes, np.arange(n_classes))
        assert len(split.learn) == pytest.approx(1200, abs=20)
        assert np.array_equal(np.sort(np.concatenate([split.learn, split.test])), np.arange(6000))


@pytest.mark.parametrize("scoring", ["delta_loss", "average_precision"])
def test_trials_on_branches_and_a_model_of_all(scoring):
    """Many documents of many classes: trials see some classes, the model all; a loss matrix has to have all of them."""
    rng = np.random.default_rng(0)
    paths = [f"{k // 10}/{k}" for k in range(200)]
    codes = rng.permutation(np.arange(5000) % 200)
    place = np.column_stack([codes, 200 + codes // 10, rng.integers(220, 400, 5000)])
    X = sparse.csr_array((np.tile([1.0, 0.5, 1.0], 5000), place.ravel(), 3 * np.arange(5001)), shape=(5000, 400))
    y = np.array(paths)[codes]
    m = TaxonomySVCCV(Taxonomy.from_paths(paths), Cs=[0.2, 0.5], scoring=scoring, tol=0.05).fit(X, y)
    assert len(m.trials_[0].scores) == 10
    assert len(m.classes_) == len(m.best_estimator_.classes_) == 200
    assert (m.predict(X) == y).mean() > 0.95
    matrix = 1.0 - np.eye(200)
    m = TaxonomySVCCV(Taxonomy.from_paths(paths), Cs=[0.2], losses=[matrix], scoring=scoring, tol=0.05).fit(X, y)
    assert (m.predict(X) == y).mean() > 0.95


def test_it_can_be_saved_and_used_in_place_of_its_model(problem, tmp_path):
    taxonomy, X, y = problem
    m = TaxonomySVCCV(taxonomy, Cs=[1.0]).fit(X, y)
    save(m, tmp_path / "m.pinakes")
    assert (load(tmp_path / "m.pinakes").predict(X) == m.predict(X)).all()


def test_time_is_kept(problem):
    taxonomy, X, y = problem
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        m = TaxonomySVCCV(taxonomy, max_seconds=1e-6).fit(X, y)
    assert len(m.trials_) == 1
    assert m.best_estimator_.max_seconds == 1e-6


def test_an_interrupt_during_the_search_is_passed_on(problem):
    taxonomy, X, y = problem

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TaxonomySVCCV(taxonomy).fit(X, y, report=interrupt)


@pytest.mark.parametrize("cv", [2, 5, 0.2, 0.4, None])
def test_splits_keep_every_class_known(cv):
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.arange(50), rng.integers(0, 40, 300)])  # the last ten have one document each
    taxonomy = Taxonomy.flat([f"{k:02}" for k in range(50)])
    splits = make_splits(cv, codes, 1, taxonomy, np.array([taxonomy.index(f"{k:02}") for k in range(50)]))
    for train, test, classes in splits:
        assert np.array_equal(classes, np.arange(50))
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(codes)))
        assert set(codes[train]) == set(range(50))
        assert not set(codes[test]) & set(range(40, 50))
    if isinstance(cv, int):
        assert len(splits) == cv
        tested = np.concatenate([split.test for split in splits])
        assert len(tested) == len(set(tested)) == (codes < 40).sum()
    if isinstance(cv, float):
        assert len(splits[0][1]) / len(codes) == pytest.approx(cv, abs=0.04)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": []}, r"`Cs` of TaxonomySVCCV must be a list of values, got \[\]"),
        ({"Cs": [0.0]}, "`Cs` of TaxonomySVCCV must be numbers > 0, got 0.0"),
        ({"node_weights": "flat"}, "`node_weights` of TaxonomySVCCV must be a list of values, got 'flat'"),
        ({"scoring": "delta"}, "there is no metric 'delta'.*closest: 'delta_loss'"),
        ({"scoring": 3}, "`scoring` of TaxonomySVCCV must be the name of a metric or a function"),
        ({"cv": 1}, "`cv` must be a whole number >= 2, a share between 0 and 1, or a splitter, got 1"),
        ({"cv": 1.5}, "`cv` must be .*got 1.5"),
        ({"cv": object()}, "`cv` must be .*got <object"),
        ({"loose_tol": 0}, "`loose_tol` of TaxonomySVCCV must be a number > 0, got 0"),
        ({"node_weights": ["heavy"]}, "`node_weight` must be one of .*, got 'heavy'"),
    ],
)
def test_bad_settings_are_named(problem, options, message):
    taxonomy, X, y = problem
    with pytest.raises(ParameterError, match=message):
        TaxonomySVCCV(taxonomy, **options).fit(X, y)


def test_any_random_state_draws_the_splits(problem):
    taxonomy, X, y = problem

    def score(random_state):
        return TaxonomySVCCV(taxonomy, Cs=[0.5], cv=0.2, random_state=random_state).fit(X, y).best_score_

    drawn = [score(np.random.RandomState(k)) for k in range(4)]
    assert len(set(drawn)) > 1
    assert score(np.random.RandomState(1)) == drawn[1]


def test_nothing_to_test_on_is_said():
    with pytest.raises(ParameterError, match="every class has one document; choose settings by hand"):
        TaxonomySVCCV().fit(np.eye(3), ["a", "b", "c"])


# one choice only: with several, copies of a document in different folds are not the same as its weight
@parametrize_with_checks([TaxonomySVCCV(Cs=[1.0], node_weights=["normalized"], fit_intercept=True)])
def test_scikit_learn_rules(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)
