"""Classes as the kernels see them, against sums over ancestor sets, losses from the taxonomy, and sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from pinakes.kernels import outputs as kernels
from pinakes.kernels.ascent import find_violators
from pinakes.kernels.ranking import find_best
from pinakes.kernels.rows import BLOCK
from pinakes.solvers.problem import make_outputs
from pinakes.taxonomy.attributes import class_attributes
from pinakes.taxonomy.loss import make_loss
from strategies import taxonomies

pytestmark = pytest.mark.kernel


@njit
def score_all(outputs, scores):
    kernels.sum_down(outputs, scores, np.zeros(len(outputs.multi)))
    return np.array([kernels.class_score(outputs, scores, c) for c in range(len(outputs.own))])


@njit
def deltas(outputs, y):
    delta = np.zeros(len(outputs.v2))
    kernels.delta_row(outputs, y, delta)
    singly = np.array([kernels.delta_pair(outputs, y, c) for c in range(len(outputs.own))])
    return delta[outputs.own], singly


@njit
def find(outputs, scores, delta, base, threshold, most):
    worst, classes = np.zeros(most), np.zeros(most, dtype=np.int32)
    kernels.sum_down(outputs, scores, np.zeros(len(outputs.multi)))
    highest = np.zeros(outputs.first_own + 2)
    found = find_violators(outputs, scores, highest, delta, base, threshold, worst, classes)
    return worst[:found], classes[:found]


@njit
def rank(outputs, scores, most):
    values, classes = np.zeros(most, dtype=scores.dtype), np.zeros(most, dtype=np.int32)
    kernels.sum_down(outputs, scores, np.zeros(len(outputs.multi)))
    find_best(outputs, scores, np.zeros(outputs.first_own + 2, dtype=scores.dtype), classes, values)
    return values, classes


@st.composite
def problems(draw):
    """Draw a taxonomy of which some nodes are classes, and a score for every attribute alone."""
    taxonomy = draw(taxonomies(max_nodes=14, trees=draw(st.booleans())))
    nodes = draw(st.lists(st.integers(0, len(taxonomy) - 1), min_size=1, unique=True))
    attributes = class_attributes(taxonomy, nodes, draw(st.sampled_from(["normalized", "equal"])))
    loss = draw(st.sampled_from(["tree", "zero-one"]))
    outputs = make_outputs(attributes, make_loss(loss, taxonomy))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    alone = rng.integers(-8, 9, attributes.n_attributes) / 4  # sums of these are exact
    scores = np.zeros(len(outputs.v2))
    scores[: attributes.n_attributes] = alone
    return taxonomy, attributes, loss, outputs, alone, scores


@given(problem=problems())
@settings(max_examples=150, deadline=None)
def test_a_class_scores_what_all_above_it_score(problem):
    taxonomy, attributes, _, outputs, alone, scores = problem
    expected = []
    for node, own in zip(attributes.class_node, attributes.own, strict=True):
        above = attributes.node_attribute[taxonomy.ancestors.of(int(node))]
        expected.append(alone[np.unique([own, *above[above >= 0]])].sum())
    np.testing.assert_array_equal(score_all(outputs, scores), expected)


@given(problem=problems())
@settings(max_examples=100, deadline=None)
def test_the_row_of_delta_is_that_of_the_taxonomy(problem):
    taxonomy, attributes, loss, outputs, _, _ = problem
    nodes = attributes.class_node
    above = [set(taxonomy.ancestors.of(int(v)).tolist()) for v in nodes]
    for y in range(len(nodes)):
        row, singly = deltas(outputs, y)
        np.testing.assert_allclose(row, singly)
        if loss == "zero-one":
            np.testing.assert_allclose(row, nodes != nodes[y])
        else:
            np.testing.assert_allclose(row, [len(above[y] ^ other) / 2 for other in above])


@given(problem=problems(), by_margin=st.booleans(), most=st.integers(1, 4), threshold=st.sampled_from([1e-9, 1.0]))
@settings(max_examples=150, deadline=None)
def test_the_worst_violators_are_found(problem, by_margin, most, threshold):
    *_, outputs, _, scores = problem
    delta = None
    if not by_margin:
        delta = np.zeros(len(outputs.v2))
        delta[outputs.own] = np.random.default_rng(most).permutation(len(outputs.own)) / 4
    violation = 0.5 + score_all(outputs, scores.copy())
    violation = violation if delta is None else violation * delta[outputs.own]
    worst, classes = find(outputs, scores, delta, 0.5, threshold, most)
    np.testing.assert_array_equal(worst, np.sort(violation[violation > threshold])[::-1][:most])
    np.testing.assert_array_equal(violation[classes], worst)
    assert len(set(classes)) == len(classes)


@given(problem=problems(), most=st.integers(1, 5), dtype=st.sampled_from(["f4", "f8"]), equal=st.booleans())
@settings(max_examples=200, deadline=None)
def test_the_best_are_found_and_of_equals_the_lower_class_first(problem, most, dtype, equal):
    *_, outputs, _, scores = problem
    scores = np.zeros_like(scores, dtype) if equal else scores.astype(dtype)
    found = score_all(outputs, scores.copy())
    order = np.lexsort([np.arange(len(found)), -found])[:most]
    values, classes = rank(outputs, scores, len(order))
    np.testing.assert_array_equal(classes, order)
    np.testing.assert_array_equal(values, found[order])


@given(problem=problems())
@settings(max_examples=100, deadline=None)
def test_a_sum_goes_from_top_to_bottom_and_a_window_holds_what_is_above_its_block(problem):
    _, attributes, _, outputs, _, _ = problem
    n, first_own = attributes.n_attributes, outputs.first_own
    assert (attributes.up < np.arange(n)).all()
    np.testing.assert_array_equal(outputs.up[:n], np.where(attributes.up < 0, len(outputs.v2) - 1, attributes.up))
    for block, window in zip(outputs.up.reshape(-1, BLOCK), outputs.window.tolist(), strict=True):
        if window < first_own:
            assert set(block) <= set(range(window, window + kernels.WINDOW))
        elif window == first_own:
            assert set(block) == {len(outputs.v2) - 1}
        else:
            assert np.ptp(block.astype(np.int64)) >= kernels.WINDOW or block.max() >= first_own


@given(problem=problems())
@settings(max_examples=100, deadline=None)
def test_own_attributes_come_last_and_those_below_a_node_of_a_tree_side_by_side(problem):
    _, attributes, _, outputs, _, _ = problem
    shared = np.setdiff1d(np.arange(attributes.n_attributes), attributes.own)
    assert shared.max(initial=-1) < attributes.own.min()
    assert outputs.first_own == attributes.own.min()
    if len(outputs.multi) == 0:
        assert (np.diff(attributes.up[np.sort(attributes.own)]) >= 0).all()  # and so are those above them
        for z in range(attributes.n_attributes):
            below = np.sort(attributes.own[[z in attributes.paths.of(k) for k in range(attributes.n_classes)]])
            np.testing.assert_array_equal(np.diff(below), 1)
