"""Tests of significance against exact enumeration and against SciPy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pinakes.errors import InputError, ParameterError
from pinakes.metrics import bootstrap_interval, paired_permutation_test
from pinakes.metrics import significance as module

values = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0])


@given(st.lists(st.tuples(values, values), min_size=1, max_size=9))
def test_few_documents_are_enumerated(pairs):
    a, b = np.array(pairs).T
    d = a - b
    means = [abs(np.mean(np.multiply(signs, d))) for signs in product((-1, 1), repeat=len(d))]
    expected = np.mean(np.array(means) >= abs(d.mean()) - 1e-9)
    assert paired_permutation_test(a, b) == pytest.approx(expected)
    assert paired_permutation_test(b, a) == pytest.approx(expected)


def test_the_estimate_comes_near_the_exact_value(monkeypatch):
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 12))
    a += 0.15
    exact = paired_permutation_test(a, b)
    monkeypatch.setattr(module, "EXACT_UP_TO", 0)
    monkeypatch.setattr(module, "CELLS", 1000)
    assert paired_permutation_test(a, b, 50_000) == pytest.approx(exact, abs=0.01)


def test_many_documents_against_scipy():
    rng = np.random.default_rng(2)
    a = rng.random(60)
    b = a + rng.normal(0.03, 0.1, 60)
    theirs = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        rng=rng,
        n_resamples=9999,
    )
    assert paired_permutation_test(a, b) == pytest.approx(theirs.pvalue, abs=0.02)
    assert paired_permutation_test(a, b) == paired_permutation_test(a, b, random_state=0)


def test_documents_on_which_both_agree_change_nothing():
    a, b = [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]
    assert paired_permutation_test(a + [0.5] * 50, b + [0.5] * 50) == paired_permutation_test(a, b) == 0.25
    assert paired_permutation_test(a, a) == 1.0


def test_the_estimate_is_never_zero():
    assert paired_permutation_test(np.ones(500), np.zeros(500), 99) == 0.01


def test_bootstrap_against_the_normal_interval():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.5, 0.2, (2, 4000))
    for given_b, d in ((None, a), (b, a - b)):
        estimate, low, high = bootstrap_interval(a, given_b)
        half = 1.96 * d.std() / np.sqrt(len(d))
        assert estimate == pytest.approx(d.mean())
        assert low == pytest.approx(estimate - half, abs=half / 5)
        assert high == pytest.approx(estimate + half, abs=half / 5)
        wider = bootstrap_interval(a, given_b, level=0.99)
        assert wider.low < low < high < wider.high
    assert bootstrap_interval(a) == bootstrap_interval(a, random_state=0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: paired_permutation_test([1, 2], [1]), InputError, "same documents, got 2 and 1 values"),
        (
            lambda: paired_permutation_test([], []),
            InputError,
            r"`a` must hold one value a document, got shape \(0,\)",
        ),
        (lambda: paired_permutation_test([1], [np.nan]), InputError, "`b` must hold finite values, got nan"),
        (
            lambda: paired_permutation_test([1], [1], 0),
            ParameterError,
            "n_permutations must be at least 1, got 0",
        ),
        (lambda: bootstrap_interval([1], level=95), ParameterError, "level must lie between 0 and 1, got 95"),
        (
            lambda: bootstrap_interval([1], n_resamples=0),
            ParameterError,
            "n_resamples must be at least 1, got 0",
        ),
    ],
)
def test_mistakes_get_a_message(call, error, message):
    with pytest.raises(error, match=message):
        call()
