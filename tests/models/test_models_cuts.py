"""Cuts against brute force: every cut of a document, every cut-off of a class, and least squares written down."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import Ridge

from pinakes.models import cuts
from pinakes.models.cuts import Cut, best_cuts, best_f1_cutoffs, learn_threshold


@st.composite
def ranked(draw):
    """Draw scores, with ties or without, and label sets: empty ones, full ones and any other."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, q = draw(st.integers(1, 12)), draw(st.integers(1, 7))
    scores = rng.normal(size=(n, q))
    if draw(st.booleans()):
        scores = np.round(scores)
    Y = rng.random((n, q)) < rng.choice([0.0, 0.2, 0.5, 1.0], size=(n, 1))
    return scores, Y


def errors(scores, own, t):
    return int(((scores >= t) != own).sum())


@pytest.mark.kernel
@given(task=ranked())
@settings(max_examples=100)
def test_best_cuts_against_every_cut(task):
    scores, Y = task
    width = 0.7
    found = best_cuts(scores, sparse.csr_array(Y), width)
    for i, t in enumerate(found):
        levels = np.unique(scores[i])
        ends = [(a, b) for a, b in zip([levels[0] - width, *levels], [*levels, levels[-1] + width], strict=True)]
        middles = [a + (b - a) / 2 for a, b in ends]
        counts = [errors(scores[i], Y[i], m) for m in middles]
        best = max((b - a, a) for (a, b), c in zip(ends, counts, strict=True) if c == min(counts))
        assert errors(scores[i], Y[i], t) == min(counts)
        widths = [b - a for (a, b), m in zip(ends, middles, strict=True) if m == pytest.approx(t)]
        assert widths[0] == pytest.approx(best[0])


def test_of_equally_good_and_wide_intervals_the_highest_is_taken():
    scores = np.array([[3.0, 2.0, 1.0, 0.0]])
    wanted = sparse.csr_array(np.array([[False, True, False, True]]))  # cuts at 1.5, and beyond both ends, err twice
    assert best_cuts(scores, wanted, 1.0).tolist() == [3.5]
    assert best_cuts(scores, wanted, 0.5).tolist() == [1.5]


def test_an_interval_without_an_end_is_as_wide_as_others_are():
    scores = np.array([[4.0, 1.0], [2.0, 1.0], [5.0, 3.0]])
    Y = sparse.csr_array(np.array([[True, False], [False, False], [True, True]]))
    assert best_cuts(scores, Y).tolist() == [2.5, 2.0 + 1.5, 3.0 - 1.5]
    assert best_cuts(scores[1:], Y[1:]).tolist() == [2.5, 2.5]  # no interval has both ends: 1 wide


@pytest.mark.parametrize("shape", [(60, 5), (9, 30)])
def test_learned_threshold_against_ridge_regression_and_leaving_out_one(shape):
    rng = np.random.default_rng(shape[0])
    n, q = shape
    scores = rng.normal(size=shape)
    Y = sparse.csr_array(scores + rng.normal(size=shape) > 0.8)
    coef, offset = learn_threshold(scores, Y)
    target = best_cuts(scores, Y)
    centred = scores - scores.mean(axis=0)
    scale = (centred**2).sum() / min(n, q)
    error = {}
    for ridge in cuts.RIDGES * scale:  # leave each document out, in the coordinates of the whole: its mean stays
        aim = target - target.mean()
        H = centred @ np.linalg.solve(centred.T @ centred + ridge * np.eye(q), centred.T) + 1 / n
        error[ridge] = np.mean(((aim - H @ aim) / np.maximum(1 - np.diag(H), 1e-6)) ** 2)
    best = Ridge(alpha=min(error, key=error.get), solver="cholesky").fit(scores, target)
    np.testing.assert_allclose(coef, best.coef_, rtol=1e-5, atol=1e-8)
    assert offset == pytest.approx(best.intercept_)
    one = min(error, key=error.get)
    left = [
        target[i] - Ridge(alpha=one).fit(np.delete(scores, i, 0), np.delete(target, i)).predict(scores[i : i + 1])[0]
        for i in range(n)
    ]
    assert np.mean(np.square(left)) == pytest.approx(error[one], rel=1e-3)


def test_learned_threshold_finds_one_that_is_linear_in_the_scores():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4000, 6))
    coef = rng.normal(size=6) / 3
    Y = scores >= (scores @ coef + 0.2)[:, None]
    found, offset = learn_threshold(scores, sparse.csr_array(Y))
    cut = Cut(np.array([offset]), found)
    assert (cut.answers(scores) == Y).mean() > 0.95
    assert (Cut.at(0.2).answers(scores) == Y).mean() < 0.85


def test_scores_that_are_all_the_same_leave_a_constant():
    coef, offset = learn_threshold(np.ones((4, 3)), sparse.csr_array(np.eye(4, 3, dtype=bool)))
    assert (coef == 0).all()
    assert offset == pytest.approx(1.5)


@pytest.mark.kernel
@given(task=ranked(), parts=st.integers(1, 3))
@settings(max_examples=100)
def test_cutoffs_against_every_cutoff(task, parts):
    scores, Y = task
    q = scores.shape[1]
    pieces = np.array_split(np.arange(len(scores)), parts)

    def blocks():
        return ((scores[rows], sparse.csr_array(Y[rows])) for rows in pieces)

    def f1(t, columns):
        inside, own = (scores >= t)[:, columns], Y[:, columns]
        return 2 * (inside & own).sum() / (inside.sum() + own.sum())

    for_all, own = best_f1_cutoffs(blocks, q)
    everything = list(range(q))
    if not Y.any():
        assert for_all == np.inf
        return
    assert f1(for_all, everything) == pytest.approx(max(f1(t, everything) for t in np.unique(scores)))
    for k in range(q):
        if not Y[:, k].any():
            assert own[k] == for_all
        else:
            assert f1(own[k], [k]) == pytest.approx(max(f1(t, [k]) for t in np.unique(scores[:, k])))


def test_a_class_that_cannot_be_told_from_others_does_not_get_a_low_cutoff():
    scores = np.zeros((60, 2))
    scores[:, 0] = scores[:, 1] = np.arange(60.0)
    Y = np.zeros((60, 2), dtype=bool)
    Y[0, 0] = Y[40:, 1] = True  # the only document of the first class scores worst
    for_all, own = best_f1_cutoffs(lambda: iter([(scores, sparse.csr_array(Y))]), 2)
    assert for_all == 39.5
    assert own.tolist() == [39.5, 39.5]


def test_a_cutoff_lies_half_way_down_to_the_next_score():
    scores, Y = np.array([[3.0], [2.0], [0.0]]), np.array([[True], [True], [False]])
    assert best_f1_cutoffs(lambda: iter([(scores, sparse.csr_array(Y))]), 1)[0] == 1.0


def test_fixed_numbers_and_cutoffs():
    scores = np.array([[0.5, 2.0, 1.0], [1.0, 1.0, 1.0]])
    assert Cut.best(2).answers(scores).tolist() == [[False, True, True], [True, True, False]]
    assert Cut.best(5).answers(scores).all()
    assert Cut.at(1.5).answers(scores).tolist() == [[False, True, False], [False] * 3]
    assert Cut.at(1.5, never_empty=True).answers(scores).tolist() == [[False, True, False], [True, False, False]]
    assert Cut.at(np.array([0.5, 3.0, 0.0])).answers(scores)[0].tolist() == [True, False, True]
    assert Cut.best(1).margins(scores)[0].tolist() == [-1.0, 0.5, -0.5]
    assert Cut.best(3).margins(scores).min() == 0
