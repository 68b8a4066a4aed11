"""Ranking metrics against their definitions and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from lattice_tasks import ANIMALS, delta, parents, tasks
from scipy import sparse
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss
from sklearn.preprocessing import MultiLabelBinarizer

from pinakes import metrics as m
from pinakes.errors import InputError, ParameterError
from pinakes.metrics.labels import Scores

RANKINGS = (
    m.one_accuracy,
    m.parent_one_accuracy,
    m.rank_precision,
    m.average_precision,
    m.ranking_loss,
    m.maximal_loss,
)


def by_definition(task, i):
    """The six ranking metrics of document i; labels without a column stand below all others."""
    t, ys = task.t, task.true[i]
    score = dict(zip(task.columns, task.scores[i], strict=True))
    top = max(task.columns, key=lambda k: (score[k], -task.columns.index(k)))

    def above(y):  # labels not below y
        return [k for k in task.columns if y in score and score[k] >= score[y]]

    wrong = [k for k in task.columns if k not in ys]
    misordered = [(y, k) for y in ys for k in wrong if y not in score or score[k] >= score[y]]
    precisions = [len(set(above(y)) & set(ys)) / len(above(y)) if y in score else 0.0 for y in ys]
    return (
        top in ys,
        any(y == top or parents(t, y) & parents(t, top) for y in ys),
        max((1 / (1 + len(set(above(y)) - set(ys))) for y in ys if y in score), default=0.0),
        np.mean(precisions) if ys else 1.0,
        len(misordered) / max(len(ys) * len(wrong), 1),
        max((delta(t, y, k) for y, k in misordered), default=0.0),
    )


@settings(max_examples=50)
@given(tasks())
def test_rankings_against_definitions(task):
    expected = [by_definition(task, i) for i in range(len(task.true))]
    for function, values in zip(RANKINGS, zip(*expected, strict=True), strict=True):
        arguments = (task.true, task.scores, task.t, task.columns)
        np.testing.assert_allclose(function(*arguments, per_document=True), values, err_msg=function.__name__)
        assert function(*arguments) == pytest.approx(np.mean(values))


@settings(max_examples=50)
@given(tasks())
def test_rankings_against_sklearn(task):
    known = [[y for y in ys if y in task.columns] for ys in task.true]
    indicator = MultiLabelBinarizer(classes=task.columns).fit([task.columns]).transform(known)
    finite = np.maximum(task.scores, -5.0)  # scikit-learn takes no infinities
    for labels in (known, indicator, sparse.csr_matrix(indicator)):
        loss = m.ranking_loss(labels, task.scores, labels=task.columns)
        precision = m.average_precision(labels, task.scores, labels=task.columns)
        if len(task.columns) > 1:
            assert loss == pytest.approx(label_ranking_loss(indicator, finite))
            assert precision == pytest.approx(label_ranking_average_precision_score(indicator, finite))


@settings(max_examples=50)
@given(tasks(least_true=1))
def test_ignoring_unseen_labels_leaves_out_documents_without_others(task):
    kept = [i for i, ys in enumerate(task.true) if set(ys) & set(task.columns)]
    known = [[y for y in task.true[i] if y in task.columns] for i in kept]
    for function in (m.rank_precision, m.average_precision, m.ranking_loss, m.maximal_loss):
        arguments = (task.true, task.scores, task.t, task.columns)
        if not kept:
            with pytest.raises(InputError, match="no true label has a column in scores"):
                function(*arguments, unseen="ignore")
            continue
        expected = function(known, task.scores[kept], task.t, task.columns)
        assert function(*arguments, unseen="ignore") == pytest.approx(expected)
        values = function(*arguments, unseen="ignore", per_document=True)
        np.testing.assert_array_equal(np.flatnonzero(~np.isnan(values)), kept)


@settings(max_examples=50)
@given(tasks())
def test_sparse_scores_rank_what_they_do_not_store_last(task):
    row, column = np.nonzero(task.scores > -np.inf)
    some = sparse.csr_array((task.scores[row, column], (row, column)), task.scores.shape)
    for function in RANKINGS:
        arguments = (task.t, task.columns)
        expected = function(task.true, task.scores, *arguments)
        assert function(task.true, some, *arguments) == pytest.approx(expected)


def test_scores_are_streamed_without_changing_the_values(monkeypatch):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 4)).astype(np.float32)
    true = [list(rng.choice(ANIMALS.ids, size=rng.integers(1, 4), replace=False)) for _ in range(40)]
    whole = [function(true, scores, ANIMALS) for function in RANKINGS]
    monkeypatch.setattr(Scores, "CELLS", 9)
    assert [function(true, scores, ANIMALS) for function in RANKINGS] == pytest.approx(whole)


def test_maximal_loss_follows_the_loss():
    scores = [[0.0, 2.0, 1.0, 3.0]]  # animal, plant, cat, dog
    assert ANIMALS.ids == ("animal", "plant", "cat", "dog")
    assert m.maximal_loss(["cat"], scores, ANIMALS) == 1.5
    assert m.maximal_loss(["cat"], scores, ANIMALS, loss="zero-one") == 1
    assert m.maximal_loss(["cat"], scores, ANIMALS, loss=np.arange(16.0).reshape(4, 4) * (1 - np.eye(4))) == 11


def test_constant_scores_earn_nothing():
    scores = np.zeros((1, 4))
    assert m.ranking_loss(["cat"], scores, ANIMALS) == 1
    assert m.rank_precision(["cat"], scores, ANIMALS) == m.average_precision(["cat"], scores, ANIMALS) == 0.25


@pytest.mark.parametrize(
    ("scores", "options", "error", "message"),
    [
        ([1.0, 2.0], {}, InputError, r"scores must be a matrix of documents by labels, got shape \(2,\)"),
        (np.zeros((1, 4)), {}, InputError, "a row for each of the 2 documents in y_true, got 1"),
        (np.zeros((2, 3)), {}, InputError, "scores has 3 columns: say which labels they are"),
        ([[0, 0, 0, 0], [0, 0, np.nan, 0]], {}, InputError, "scores must be numbers, got NaN in row 1"),
        (
            np.zeros((2, 4)),
            {"unseen": "drop"},
            ParameterError,
            "unseen must be 'miss' or 'ignore', got 'drop'",
        ),
    ],
)
def test_mistakes_get_a_message(scores, options, error, message):
    with pytest.raises(error, match=message):
        m.average_precision(["cat", "dog"], scores, ANIMALS, **options)
