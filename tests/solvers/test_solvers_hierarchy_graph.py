"""The similarity graph against the paper's definitions, walked through document by document."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from pinakes import HLSI, Taxonomy
from reference import hlsi as reference
from strategies import taxonomies


@st.composite
def labelled(draw, max_documents=8):
    """Draw a lattice and label sets over it."""
    taxonomy = draw(taxonomies())
    one = st.lists(st.sampled_from(taxonomy.ids), min_size=1, max_size=3)
    return taxonomy, draw(st.lists(one, min_size=1, max_size=max_documents))


@pytest.fixture
def figure_1():
    """A is in C3 and C4, B in C5, C in C3."""
    taxonomy = Taxonomy.from_edges([("", "C1"), ("C1", "C2"), ("C1", "C3"), ("C2", "C4"), ("C2", "C5")])
    return HLSI(taxonomy, laplacian="paper").similarity_graph([["C3", "C4"], ["C5"], ["C3"]])


def test_figure_1_has_the_edges_that_are_drawn(figure_1):
    third, half = pytest.approx(1 / 3), pytest.approx(1 / 2)
    assert figure_1.edges(0, 1) == {"C1": third, "C2": half}
    assert figure_1.edges(0, 2) == {"C1": third, "C3": half}
    assert figure_1.edges(1, 2) == {"C1": third}
    assert figure_1.edges(1, 1) == {}
    np.testing.assert_allclose(figure_1.degrees, [5 / 3, 7 / 6, 7 / 6])
    np.testing.assert_allclose(figure_1.transitions(), [[0, 1 / 2, 1 / 2], [5 / 7, 0, 2 / 7], [5 / 7, 2 / 7, 0]])
    assert figure_1.transition(1, 0) == {"C1": pytest.approx(2 / 7), "C2": pytest.approx(3 / 7)}


def test_figure_1_laplacian(figure_1):
    L = np.array([[10, -5, -5], [-5, 7, -2], [-5, -2, 7]]) / 6
    np.testing.assert_allclose(figure_1.laplacian(np.eye(3)), L, atol=1e-15)
    np.testing.assert_allclose(figure_1.laplacian(np.arange(3.0)), L @ np.arange(3.0), atol=1e-15)


@given(case=labelled())
@settings(max_examples=60)
def test_graph_is_what_the_paper_defines(case):
    taxonomy, sets = case
    graph = HLSI(taxonomy, laplacian="paper").similarity_graph(sets)
    h = reference.memberships(taxonomy, sets)
    W = reference.weights(h)
    n = len(sets)
    np.testing.assert_allclose(graph.weights(), W, atol=1e-12)
    np.testing.assert_allclose([[graph.weight(i, j) for j in range(n)] for i in range(n)], W, atol=1e-12)
    np.testing.assert_allclose(graph.degrees, W.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(graph.laplacian(np.eye(n)), reference.laplacian(h), atol=1e-12)


@given(case=labelled(), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_laplacian_measures_roughness_and_transitions_are_probabilities(case, seed):
    """Eq. 6 and 7: phi^T L phi is half the sum of w (phi_i - phi_j)^2 over ordered pairs, and never negative."""
    taxonomy, sets = case
    graph = HLSI(taxonomy, laplacian="paper").similarity_graph(sets)
    phi = np.random.default_rng(seed).normal(size=len(sets))
    rough = (graph.weights() * (phi[:, None] - phi) ** 2).sum() / 2
    assert phi @ graph.laplacian(phi) == pytest.approx(rough, abs=1e-10)
    np.testing.assert_allclose(graph.laplacian(np.ones(len(sets))), 0, atol=1e-12)
    sums = graph.transitions().sum(axis=1)
    np.testing.assert_allclose(sums, np.where(graph.degrees > 1e-9, 1.0, 0.0), atol=1e-9)
    if len(sets) > 1:
        through = sum(graph.transition(0, 1).values()) if graph.degrees[0] > 0 else 0.0
        assert through == pytest.approx(graph.transitions()[0, 1])


def test_labels_may_be_given_in_any_form():
    taxonomy = Taxonomy.from_paths(["a/b", "a/c", "d"])
    sets = [["a/b", "d"], ["a/c"], ["d"]]
    indicator = np.zeros((3, len(taxonomy)))
    for i, labels in enumerate(sets):
        indicator[i, [taxonomy.index(k) for k in labels]] = 1
    graphs = [
        HLSI(taxonomy, laplacian="paper").similarity_graph(y) for y in (sets, indicator, sparse.csc_array(indicator))
    ]
    closed = [["a/b", "a", "d"], ["a/c", "a"], ["d"]]
    for graph in [*graphs, HLSI(taxonomy, laplacian="paper").similarity_graph(closed)]:
        np.testing.assert_array_equal(graph.weights(), graphs[0].weights())
