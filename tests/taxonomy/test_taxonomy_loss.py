"""Delta against its definition on sets, for every kind of loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.errors import LabelError, ParameterError
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy import loss as loss_module
from pinakes.taxonomy.loss import MatrixLoss, NodeCosts, NodeLoss, ZeroOneLoss, make_loss
from strategies import taxonomies

ANIMALS = Taxonomy.from_edges([("", "animal"), ("animal", "cat"), ("animal", "dog"), ("", "plant")])
positive = st.floats(0.01, 10)


def anc(t: Taxonomy, v: int) -> set[int]:
    return {v}.union(*(anc(t, int(p)) for p in t.parents.of(v)))


def table(loss: loss_module.Loss, n: int) -> np.ndarray:
    return np.array([loss.pairs(np.full(n, y), np.arange(n)) for y in range(n)])


@given(taxonomies())
def test_tree_loss_is_half_the_symmetric_difference(t):
    n = len(t)
    loss = make_loss("tree", t)
    expected = np.array([[len(anc(t, y) ^ anc(t, z)) / 2 for z in range(n)] for y in range(n)])
    found = table(loss, n)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found, found.T)
    assert (np.diag(found) == 0).all()
    assert (found[~np.eye(n, dtype=bool)] > 0).all()
    np.testing.assert_array_equal([loss.row(y, np.arange(n)) for y in range(n)], expected)


@given(taxonomies(), st.data())
def test_exact_loss_counts_nodes_that_are_no_classes_for_a_tenth(t, data):
    n = len(t)
    classes = data.draw(st.lists(st.sampled_from(range(n)), min_size=1, unique=True))
    loss = make_loss("exact", t, [t.ids[v] for v in classes])
    cost = [0.5 if v in classes else 0.05 for v in range(n)]
    expected = [[sum(cost[v] for v in anc(t, y) ^ anc(t, z)) for z in range(n)] for y in range(n)]
    np.testing.assert_allclose(table(loss, n), expected, atol=1e-12)
    leaves = {int(v) for v in t.leaves}
    np.testing.assert_array_equal(make_loss("exact", t).miss, [0.5 if v in leaves else 0.05 for v in range(n)])


@given(taxonomies(), st.data())
def test_node_costs_against_sums_over_sets(t, data):
    n = len(t)
    f, c, cbar = (data.draw(st.lists(positive, min_size=n, max_size=n)) for _ in range(3))
    costs = NodeCosts(f=dict(zip(t.ids, f, strict=True)), c=np.array(c), cbar=cbar)
    loss = make_loss(costs, t, classes=t.ids)
    assert isinstance(loss, NodeLoss)
    np.testing.assert_allclose(loss.miss, np.multiply(f, c))
    np.testing.assert_allclose(loss.false, np.multiply(f, cbar))
    expected = [
        [
            sum(f[v] * c[v] for v in anc(t, y) - anc(t, z)) + sum(f[v] * cbar[v] for v in anc(t, z) - anc(t, y))
            for z in range(n)
        ]
        for y in range(n)
    ]
    np.testing.assert_allclose(table(loss, n), expected, atol=1e-12)
    np.testing.assert_allclose([loss.row(y, np.arange(n)) for y in range(n)], expected, atol=1e-12)
    np.testing.assert_allclose(loss.unwanted(np.arange(n)), [sum(f[v] * cbar[v] for v in anc(t, y)) for y in range(n)])


def test_pairs_do_not_depend_on_how_they_are_cut(monkeypatch):
    rng = np.random.default_rng(0)
    t = Taxonomy.from_edges([("", "0"), *((str(rng.integers(v)), str(v)) for v in range(1, 200))])
    y, y_hat = rng.integers(200, size=(2, 999))
    whole = make_loss("tree", t).pairs(y, y_hat)
    monkeypatch.setattr(loss_module, "PAIRS_AT_ONCE", 7)
    np.testing.assert_array_equal(make_loss("tree", t).pairs(y, y_hat), whole)


@given(taxonomies())
def test_zero_one_is_one_off_the_diagonal(t):
    n = len(t)
    loss = make_loss("zero-one", t)
    assert isinstance(loss, ZeroOneLoss)
    np.testing.assert_array_equal(table(loss, n), 1 - np.eye(n))
    np.testing.assert_array_equal(loss.row(0, np.arange(n)), 1 - np.eye(n)[0])
    np.testing.assert_array_equal(loss.unwanted([0]), [1])


def test_a_matrix_is_read_by_node_and_by_class():
    matrix = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    loss = make_loss(matrix, ANIMALS, classes=["dog", "cat", "plant"])
    assert isinstance(loss, MatrixLoss)
    dog, cat, plant = map(ANIMALS.index, ("dog", "cat", "plant"))
    np.testing.assert_array_equal(loss.pairs([dog, cat, plant], [cat, plant, plant]), [1, 4, 0])
    np.testing.assert_array_equal(loss.row(plant, [dog, plant, cat]), [5, 0, 6])
    np.testing.assert_array_equal(loss.unwanted([dog, cat]), [5, 6])
    assert make_loss(loss, ANIMALS) is loss
    with pytest.raises(LabelError, match=r"loss matrix has no row for 'animal'.*covers 3 classes"):
        loss.pairs([ANIMALS.index("animal")], [cat])


def test_one_node_is_spread_over_many():
    loss = make_loss("tree", ANIMALS)
    np.testing.assert_array_equal(loss.pairs(0, [0, 2]), loss.pairs([0, 0], [0, 2]))
    assert loss.pairs([], []).shape == (0,)


def test_costs_may_vanish_where_other_nodes_tell_the_classes_apart():
    make_loss(NodeCosts(f={"animal": 0.0}), ANIMALS)
    make_loss(NodeCosts(cbar=0.0), ANIMALS)  # leaves only: missing the right one costs
    with pytest.raises(ParameterError, match=r"got 0 for answering 'cat' where 'animal' is right"):
        make_loss(NodeCosts(cbar=0.0), ANIMALS, classes=ANIMALS.ids)


@given(taxonomies(), st.data())
def test_costs_are_refused_exactly_where_a_mistake_is_free(t, data):
    n = len(t)
    cost = st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n)
    c, cbar = np.array(data.draw(cost)), np.array(data.draw(cost))
    classes = sorted(data.draw(st.sets(st.sampled_from(t.ids), min_size=1)))
    nodes = [t.index(k) for k in classes]
    free = any(
        y != z and not c[list(anc(t, y) - anc(t, z))].any() and not cbar[list(anc(t, z) - anc(t, y))].any()
        for y in nodes
        for z in nodes
    )
    if free:
        with pytest.raises(ParameterError, match="must make every mistake cost something"):
            make_loss(NodeCosts(c=c, cbar=cbar), t, classes)
    else:
        make_loss(NodeCosts(c=c, cbar=cbar), t, classes)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "trees",
            r"loss must be 'tree', 'exact', 'zero-one', NodeCosts or a square matrix, got 'trees' \(closest: 'tree'\)",
        ),
        (object(), r"loss must be 'tree'.*got object"),
        (np.zeros((2, 2)), r"one row and column for each of the 4 classes, got shape \(2, 2\)"),
        (np.ones((4, 4)), r"0 on its diagonal, got 1.0 in the row of 'animal' and the column of 'animal'"),
        (
            -1.0 + np.eye(4),
            r"> 0 off its diagonal, got -1.0 in the row of 'animal' and the column of 'plant'",
        ),
        (NodeCosts(c=-1.0), r"`c` of NodeCosts must be finite and >= 0, got -1.0 for node 'animal'"),
        (
            NodeCosts(cbar={"dog": np.inf}),
            r"`cbar` of NodeCosts must be finite and >= 0, got inf for node 'dog'",
        ),
        (NodeCosts(f=[1.0, 2.0]), r"`f` of NodeCosts must be .* each of the 4 nodes, got shape \(2,\)"),
        (NodeCosts(f={"dgo": 1.0}), r"'dgo' is not in the taxonomy of 4 nodes \(closest: 'dog'\)"),
    ],
)
def test_a_bad_loss_is_refused(spec, message):
    with pytest.raises((ParameterError, LabelError), match=message):
        make_loss(spec, ANIMALS)


def test_bad_questions_are_refused():
    loss = make_loss("tree", ANIMALS)
    with pytest.raises(ParameterError, match="node numbers from 0 to 3, got"):
        loss.pairs([4], [0])
    with pytest.raises(ParameterError, match="node numbers from 0 to 3, got"):
        loss.row(0, ["cat"])
    with pytest.raises(ParameterError, match="equally long, got 2 and 3"):
        loss.pairs([0, 1], [0, 1, 2])
    with pytest.raises(ParameterError, match="must be different, got one of them twice"):
        make_loss(np.zeros((2, 2)), ANIMALS, classes=["cat", "cat"])
