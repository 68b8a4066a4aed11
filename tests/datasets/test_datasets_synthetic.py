"""The synthetic problem of the 2004 paper."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinakes.datasets import make_synthetic
from pinakes.datasets.synthetic import _accept
from pinakes.errors import ParameterError


@settings(max_examples=25)
@given(n_children=st.integers(2, 4), depth=st.integers(1, 3), seed=st.integers(0, 99))
def test_shape(n_children: int, depth: int, seed: int) -> None:
    X, y, taxonomy = make_synthetic(n_children, depth, n_samples=50, n_features=6, rho=0.01, random_state=seed)
    assert X.shape == (50, 6)
    np.testing.assert_allclose((X**2).sum(axis=1), 1)
    leaves = {taxonomy.ids[v] for v in taxonomy.leaves}
    assert len(leaves) == n_children**depth
    assert set(y) <= leaves
    assert taxonomy.is_tree
    assert set(taxonomy.levels[taxonomy.leaves]) == {depth}
    assert set(taxonomy.children.sizes().tolist()) == ({0, n_children} if depth > 1 else {0})
    assert len(taxonomy.roots) == n_children
    again = make_synthetic(n_children, depth, n_samples=50, n_features=6, rho=0.01, random_state=seed)
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(y, again[1])


def test_accepted_documents_have_the_margin() -> None:
    rng = np.random.default_rng(0)
    W = rng.standard_normal((5, 8))
    X, best = _accept(W, 300, 0.4, rng)
    for x, k in zip(X, best, strict=True):
        scores = sorted(((float(w @ x), j) for j, w in enumerate(W)), reverse=True)
        assert scores[0][1] == k
        assert scores[0][0] - scores[1][0] > 0.4


def test_near_categories_are_alike() -> None:
    """The means of sibling categories are nearer than those of others: the point of the problem."""
    X, y, _ = make_synthetic(n_samples=8000, rho=0.0, random_state=1)
    means = {label: X[y == label].mean(axis=0) for label in np.unique(y) if (y == label).sum() > 50}
    siblings, others = [], []
    for a in means:
        for b in means:
            if a < b:
                (siblings if a[:3] == b[:3] else others).append(np.linalg.norm(means[a] - means[b]))
    assert np.mean(siblings) < 0.8 * np.mean(others)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_children": 0}, "`n_children` of make_synthetic must be at least 1, got 0"),
        ({"n_children": 1}, "two categories or more"),
        ({"depth": 0}, "`depth` of make_synthetic must be at least 1"),
        ({"n_samples": 0}, "`n_samples` of make_synthetic must be at least 1"),
        ({"n_features": -2}, "`n_features` of make_synthetic must be at least 1, got -2"),
        ({"rho": -0.1}, "`rho` of make_synthetic must be finite and at least 0, got -0.1"),
        ({"rho": float("nan")}, "`rho` of make_synthetic must be finite"),
        ({"rho": 99.0, "n_samples": 5}, r"too large: 0 of \d+ documents have a margin above 99.0"),
    ],
)
def test_settings_out_of_range(options: dict[str, float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make_synthetic(**options)
