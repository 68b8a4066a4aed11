"""Growing rows against a dense matrix."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy import sparse

from pinakes.kernels import rows as growing
from pinakes.kernels.layouts import score_attributes, score_blocks

pytestmark = pytest.mark.kernel


@njit
def add(rows, j, a, value, n_blocks):
    """Add to one weight, unless there is no room for it; gives whether there was."""
    if not growing.has_room(rows, j, n_blocks):
        return False
    p = growing.find_block(rows, j, a // growing.BLOCK, n_blocks)
    if p < 0:
        p = growing.make_block(rows, j, a // growing.BLOCK, n_blocks)
    rows.data[p * growing.BLOCK + a % growing.BLOCK] += value
    return True


@njit
def score(rows, j, x, scores, n_blocks):
    growing.add_row(rows, j, x, scores, n_blocks)


def grow(n_features, n_attributes, entries, dtype=np.float64, n_shards=1):
    """Write entries one by one, giving room as the solver does, and the same into a dense matrix."""
    n_blocks = -(-n_attributes // growing.BLOCK)
    rows = growing.empty_rows(n_features, n_attributes, dtype)
    dense = np.zeros((n_features, n_attributes), dtype=dtype)
    for j, a, value in entries:
        while not add(rows, j, a, value, n_blocks):
            with patch.multiple(growing, FREE_BYTES=0, PIECE=0):  # little room, so that rows move often
                rows = growing.with_room(rows, 4 * n_blocks, n_shards)
        dense[j, a] += value
    return rows, dense, n_blocks


@given(seed=st.integers(0, 1000), n_attributes=st.sampled_from([10, 64, 65, 700]), n_shards=st.integers(1, 3))
@settings(max_examples=20)
def test_rows_hold_what_was_written(seed, n_attributes, n_shards):
    rng = np.random.default_rng(seed)
    entries = [(rng.integers(3), rng.integers(n_attributes), rng.normal()) for _ in range(rng.integers(1, 120))]
    rows, dense, n_blocks = grow(3, n_attributes, entries, n_shards=n_shards)
    again = growing.rows_from_csr(growing.rows_to_csr(rows, n_attributes), n_attributes)
    v2 = rng.uniform(0.5, 2, n_blocks * growing.BLOCK)
    assert growing.squared_norm(rows, v2) == pytest.approx((dense**2 / v2[:n_attributes]).sum())
    for make in (lambda: rows, lambda: again, lambda: growing.compact(rows)):  # the last takes the rows apart
        kept = make()
        np.testing.assert_array_equal(growing.rows_to_csr(kept, n_attributes).toarray(), dense)
        for j in range(3):
            scores = np.zeros(n_blocks * growing.BLOCK)
            score(kept, j, 2.0, scores, n_blocks)
            np.testing.assert_allclose(scores[:n_attributes], 2 * dense[j])
    assert len(kept.tag) == kept.length.sum()


def test_a_row_is_searched_then_has_a_table_then_is_full():
    searched = growing.SEARCHED
    n_blocks = 4 * searched
    n_attributes = n_blocks * growing.BLOCK
    steps = [(0, b * growing.BLOCK, 1.0) for b in range(5 * searched // 2)]
    lengths = [int(grow(1, n_attributes, steps[:n])[0].length[0]) for n in (1, searched + 1, len(steps))]
    assert lengths == [1, searched + 1, n_blocks]
    assert grow(1, n_attributes, steps[:searched])[0].table_of[0] == -1
    assert grow(1, n_attributes, steps[: searched + 1])[0].table_of[0] == 0


@njit
def score_both_ways(X, i, rows, blocks, scores, few):
    score_attributes(X, i, rows, scores)
    score_blocks(X, i, rows, blocks, len(blocks), few)


@given(seed=st.integers(0, 1000), dtype=st.sampled_from([np.float32, np.float64]))
@settings(max_examples=30, deadline=None)
def test_documents_score_as_with_a_matrix(seed, dtype):
    rng = np.random.default_rng(seed)
    n_features, n_attributes = 12, 80 * growing.BLOCK
    fill = rng.choice([0.0, 0.02, 0.3, 1.0], n_features)  # rows that are empty, searched, with a table, and full
    u = rng.integers(-8, 9, (n_features, n_attributes)) * (rng.random((n_features, n_attributes)) < fill[:, None])
    u = sparse.csr_array(u.astype(dtype))
    X = sparse.random_array((5, n_features), density=0.6, rng=rng, data_sampler=lambda size: rng.integers(1, 5, size))
    X = sparse.csr_array(X).astype(dtype)
    rows = growing.rows_from_csr(u, n_attributes)
    blocks = rng.permutation(80)[:7].astype(np.int32)
    for i, expected in enumerate((X @ u).toarray()):
        scores, few = np.full((2, n_attributes), np.nan, dtype=dtype)
        score_both_ways((X.indptr, X.indices, X.data), i, rows, blocks, scores, few)
        np.testing.assert_array_equal(scores, expected)
        some = (growing.BLOCK * blocks[:, None] + np.arange(growing.BLOCK)).ravel()
        np.testing.assert_array_equal(few[some], expected[some])
