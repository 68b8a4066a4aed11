"""Best and second best closed outputs against all of them, on random trees with up to twelve nodes, ties included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinakes.kernels import closed
from reference.closed_sets import all_closed, random_tree


def scratch(n_nodes):
    return [np.empty(n_nodes + 1) for _ in range(3)] + [np.empty(n_nodes + 1, dtype=np.int64)]


@st.composite
def tasks(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    parent = random_tree(rng, draw(st.integers(1, 12)))
    a = rng.normal(size=len(parent))
    if draw(st.booleans()):
        a = np.round(a)  # many ties
    return parent, a, rng


@pytest.mark.kernel
@given(task=tasks())
@settings(max_examples=60)
def test_best_and_second_best_against_all_closed_outputs(task):
    parent, a, rng = task
    outputs = all_closed(parent)
    values = np.sort(outputs @ a)[::-1]
    off, on, drop, weak = scratch(len(parent))
    first, second = np.empty(len(parent), dtype=np.int8), np.empty(len(parent), dtype=np.int8)
    closed.best_output(a, parent, off, on, drop, weak, first)
    closed.other_output(a, first, parent, off, on, drop, weak, second)
    listed = {tuple(z) for z in outputs}
    assert tuple(first) in listed
    assert tuple(second) in listed
    assert tuple(first) != tuple(second)
    assert first @ a == pytest.approx(values[0], abs=1e-9)
    assert second @ a == pytest.approx(values[1], abs=1e-9)

    y = outputs[rng.integers(len(outputs))].astype(np.int8)
    z = np.empty(len(parent), dtype=np.int8)
    closed.other_output(a, y, parent, off, on, drop, weak, z)
    rest = outputs[(outputs != y).any(axis=1)]
    assert (z != y).any()
    assert z @ a == pytest.approx((rest @ a).max(), abs=1e-9)

    scores = a[None].copy()
    closed.node_scores(scores, parent)
    for v in range(len(parent)):
        inside = outputs[:, v] > 0
        expected = 0.5 * ((outputs[inside] @ a).max() - (outputs[~inside] @ a).max())
        assert scores[0, v] == pytest.approx(expected, abs=1e-9)


@pytest.mark.kernel
@given(task=tasks())
@settings(max_examples=30)
def test_margins_of_a_block_against_all_closed_outputs(task):
    parent, _, rng = task
    n_nodes, n = len(parent), 5
    outputs = all_closed(parent)
    A = np.zeros((n_nodes, closed.BLOCK))
    A[:, :n] = np.round(rng.normal(size=(n_nodes, n)), int(rng.integers(0, 3)))
    Y = outputs[rng.integers(len(outputs), size=n)]
    Y[0] = outputs[np.argmax(outputs @ A[:, 0])]  # one that is the best itself
    indptr = np.concatenate([[0], np.cumsum((Y > 0).sum(axis=1))]).astype(np.int32)
    indices = np.concatenate([np.flatnonzero(y > 0) for y in Y]).astype(np.int32)
    is_leaf = ~np.isin(np.arange(n_nodes), parent)
    work = [np.empty((n_nodes + 1, closed.BLOCK)) for _ in range(3)]
    margin = np.zeros(closed.BLOCK)
    closed.block_margins(A, n, indptr, indices, parent, is_leaf, *work, margin)
    for d in range(n):
        rest = outputs[(outputs != Y[d]).any(axis=1)]
        assert margin[d] == pytest.approx(Y[d] @ A[:, d] - (rest @ A[:, d]).max(), abs=1e-9)


@pytest.mark.kernel
def test_a_taxonomy_of_several_roots_may_answer_nothing():
    parent = np.array([4, 4, 0, 0], dtype=np.int32)
    z = np.zeros((2, 4), dtype=np.int8)
    closed.best_outputs(np.array([[-1.0, -2.0, 0.5, 0.4], [-1.0, 2.0, 0.7, 0.4]]), parent, z)
    assert z.tolist() == [[-1, -1, -1, -1], [1, 1, 1, 1]]
