"""What holds for every metric, the whole evaluation, and scorers inside scikit-learn."""

from __future__ import annotations

import json
import lzma
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from lattice_tasks import ANIMALS, tasks
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

from pinakes import metrics as m
from pinakes.errors import ParameterError
from pinakes.taxonomy import Taxonomy

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"


def predictions(task, metric):
    return {"labels": task.answers, "sets": task.pred, "scores": task.scores}[metric.needs]


def truth(task, metric):
    """One true label for metrics of answers, so that a perfect answer exists."""
    return [ys[:1] for ys in task.true] if metric.needs == "labels" else task.true


@settings(max_examples=50)
@given(task=tasks(least_true=1))
def test_values_stay_in_range_and_do_not_depend_on_order(task):
    order = np.random.default_rng(0).permutation(len(task.true))
    for name, metric in m.METRICS.items():
        y, found = truth(task, metric), predictions(task, metric)
        value = metric(y, found, task.t, task.columns)
        assert isinstance(value, float)
        low, high = metric.range
        assert low <= value <= high, name
        shuffled = found[order] if metric.needs == "scores" else [found[i] for i in order]
        assert metric([y[i] for i in order], shuffled, task.t, task.columns) == pytest.approx(value), name
        if metric.has_documents:
            values = metric(y, found, task.t, task.columns, per_document=True)
            assert values.shape == (len(y),)
            assert ((low <= values) & (values <= high)).all(), name


@settings(max_examples=50)
@given(task=tasks(least_true=1))
def test_perfect_predictions_get_the_best_value(task):
    for name, metric in m.METRICS.items():
        y = truth(task, metric)
        found = [ys[0] for ys in y] if metric.needs == "labels" else y
        if metric.needs == "scores":
            found = np.array([[float(k in ys) for k in task.t.ids] for ys in y])
        assert metric(y, found, task.t) == metric.best, name


@pytest.mark.parametrize("metric", m.METRICS.values(), ids=list(m.METRICS))
def test_the_undefined_value_is_as_stated(metric):
    found = {"labels": ["cat"], "sets": [["cat"]], "scores": np.eye(4)[:1]}[metric.needs]
    value = metric([[]], found, ANIMALS)
    assert value == metric.undefined or (np.isnan(metric.undefined) and value == 1.0)  # 1/2 each for cat and animal


@pytest.mark.parametrize("metric", m.METRICS.values(), ids=list(m.METRICS))
def test_every_metric_is_documented(metric):
    section = re.search(rf"^### {metric.name}\n(.*?)(?=^##|\Z)", DOCS.read_text("utf-8"), re.M | re.S)
    assert section, f"docs/metrics.md has no section '### {metric.name}'"
    text = section.group(1)
    low, high = ("inf" if k == float("inf") else f"{k:g}" for k in metric.range)
    assert f"Range: {low} to {high}; " in text
    assert f"{'greater' if metric.greater_is_better else 'smaller'} is better." in text
    for part in ("Undefined: ", "Reference: "):
        assert part in text
    assert ("Per document: yes" in text) == metric.has_documents
    assert metric.function.__doc__


def test_public_names_are_all_there():
    assert sorted(m.__all__) == sorted(
        name
        for name in vars(m)
        if not name.startswith("_")
        and not hasattr(getattr(m, name), "__path__")
        and type(getattr(m, name)).__name__ != "module"
    )
    assert set(m.METRICS) <= set(m.__all__)


@settings(max_examples=50)
@given(tasks(least_true=1))
def test_evaluation_agrees_with_the_single_metrics(task):
    t, true, pred, answers, columns, scores = task
    values = m.evaluate_labels(true, answers, t, scores, columns)
    assert set(values) == set(m.METRICS) - {"set_loss"}
    assert values["delta_loss"] == pytest.approx(m.delta_loss(true, answers, t))
    assert values["accuracy"] == pytest.approx(m.accuracy(true, answers))
    nearest = m.nearest_true(true, answers, t)
    assert values["hierarchical_f1"] == pytest.approx(m.hierarchical_f1(nearest, answers, t))
    assert values["ranking_loss"] == pytest.approx(m.ranking_loss(true, scores, t, columns))
    several = m.evaluate_sets(true, pred, t, scores, columns)
    assert set(several) == {k for k, metric in m.METRICS.items() if metric.needs != "labels"}
    assert several["maximal_loss"] == values["maximal_loss"]
    assert several["lca_f1"] == pytest.approx(m.lca_f1(true, pred, t))
    json.dumps(values | several)
    assert "one_accuracy" not in m.evaluate_labels(true, answers, t)
    assert "set_loss" not in m.evaluate_sets(true, pred, t, loss=1 - np.eye(len(t)))


def test_an_unknown_metric_is_refused():
    with pytest.raises(ParameterError, match=r"there is no metric 'acuracy' \(closest: 'accuracy'"):
        m.scorer("acuracy", ANIMALS)


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    y = rng.choice(["cat", "dog", "plant"], size=90)
    centers = {"cat": (0, 0), "dog": (1, 1), "plant": (6, 0)}
    return rng.normal([centers[k] for k in y], 1.0), y


def test_scorers_work_in_a_grid_search(blobs):
    X, y = blobs
    search = GridSearchCV(
        LogisticRegression(),
        {"C": [0.01, 1.0]},
        scoring=m.scorer("delta_loss", ANIMALS),
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert -1.5 < search.best_score_ < 0
    scorers = m.make_scorers(ANIMALS)
    assert set(scorers) == set(m.METRICS)
    result = cross_validate(LogisticRegression(), X, y, scoring=scorers, cv=3, error_score="raise")
    assert (result["test_accuracy"] == result["test_one_accuracy"]).all()
    assert (result["test_ranking_loss"] < 0).all()


def test_scorers_can_be_sent_to_other_processes(blobs):
    X, y = blobs
    model = LogisticRegression().fit(X, y)
    scorer = m.scorer("maximal_loss", ANIMALS, loss="zero-one")
    again = pickle.loads(pickle.dumps(scorer))
    assert again(model, X, y) == scorer(model, X, y)
    assert scorer(model, X, y) == pytest.approx(m.accuracy(y, model.predict(X)) - 1)


def test_scorers_know_two_classes_indicators_and_estimators_without_scores(blobs):
    X, y = blobs
    two = y != "plant"
    model = LogisticRegression().fit(X[two], y[two])
    assert m.scorer("one_accuracy", ANIMALS)(model, X[two], y[two]) == model.score(X[two], y[two])
    binarizer = MultiLabelBinarizer()
    Y = binarizer.fit_transform([[k, "animal"] if k != "plant" else [k] for k in y])
    several = OneVsRestClassifier(LogisticRegression()).fit(X, Y)
    several.classes_ = binarizer.classes_
    predicted = several.predict(X)
    value = m.scorer("hierarchical_f1", ANIMALS)(several, X, Y)
    assert value == m.hierarchical_f1(binarizer.inverse_transform(Y), binarizer.inverse_transform(predicted), ANIMALS)
    with pytest.raises(ParameterError, match="NearestThing has neither decision_function nor predict_proba"):
        m.scorer("ranking_loss", ANIMALS)(NearestThing().fit(X, y), X, y)


class NearestThing(NearestCentroid):
    """Predicts, and can do nothing else."""

    decision_function = predict_proba = property()


@pytest.mark.corpus
def test_the_measures_of_peers_are_reproduced(corpora):
    """One-vs-rest on clinc150, as measured for the comparison with peers."""
    folder = corpora / "clinc150"
    lines = (folder / "taxonomy.tsv").read_text("utf-8").splitlines()
    t = Taxonomy.from_edges([tuple(line.split("\t")[:2]) for line in lines])
    docs = {}
    for part in ("train", "test"):
        with lzma.open(folder / f"{part}.jsonl.xz", "rt", encoding="utf-8") as file:
            docs[part] = [json.loads(line) for line in file]
    features = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
    X = features.fit_transform([d["text"] for d in docs["train"]])
    kept = np.flatnonzero(np.diff(X.indptr))
    model = LinearSVC().fit(X[kept], [docs["train"][i]["labels"][0] for i in kept])
    answers = model.predict(features.transform([d["text"] for d in docs["test"]]))
    values = m.evaluate_labels([d["labels"] for d in docs["test"]], answers, t)
    found = [values[k] for k in ("accuracy", "parent_accuracy", "delta_loss", "hierarchical_f1")]
    assert found == pytest.approx([0.9153, 0.9616, 0.1231, 0.9384], abs=1e-4)
