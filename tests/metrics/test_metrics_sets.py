"""Metrics of labels and sets against their definitions, one line each, on random lattices."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from lattice_tasks import ANIMALS, anc, delta, parents, tasks
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer

from pinakes import metrics as m
from pinakes.errors import InputError, LabelError, ParameterError
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.loss import NodeCosts


def share(hits, total, other):
    return hits / total if total else float(other == 0)


@settings(max_examples=50)
@given(tasks())
def test_answers_against_definitions(task):
    t, true, _, answers, *_ = task
    pairs = list(zip(true, answers, strict=True))
    hit = [a in ys for ys, a in pairs]
    np.testing.assert_array_equal(m.accuracy(true, answers, t, per_document=True), hit)
    assert m.accuracy(true, answers) == pytest.approx(np.mean(hit))  # no taxonomy needed
    near = [any(y == a or parents(t, y) & parents(t, a) for y in ys) for ys, a in pairs]
    np.testing.assert_array_equal(m.parent_accuracy(true, answers, t, per_document=True), near)
    losses = [min((delta(t, y, a) for y in ys), default=len(anc(t, a)) / 2) for ys, a in pairs]
    np.testing.assert_allclose(m.delta_loss(true, answers, t, per_document=True), losses)
    nearest = m.nearest_true(true, answers, t)
    for ys, a, found, loss in zip(true, answers, nearest, losses, strict=True):
        assert (not ys and not found) or (found[0] in ys and delta(t, found[0], a) == loss)


@settings(max_examples=50)
@given(tasks())
def test_closed_sets_against_definitions(task):
    t, true, pred, *_ = task
    T, P = [anc(t, *k) for k in true], [anc(t, *k) for k in pred]
    both, n_true, n_pred = (
        [len(a & b) for a, b in zip(T, P, strict=True)],
        list(map(len, T)),
        list(map(len, P)),
    )
    for function, by_document, by_sum in (
        (
            m.hierarchical_precision,
            list(map(share, both, n_pred, n_true)),
            share(sum(both), sum(n_pred), sum(n_true)),
        ),
        (
            m.hierarchical_recall,
            list(map(share, both, n_true, n_pred)),
            share(sum(both), sum(n_true), sum(n_pred)),
        ),
        (
            m.hierarchical_f1,
            [share(2 * b, x + y, 0) for b, x, y in zip(both, n_true, n_pred, strict=True)],
            share(2 * sum(both), sum(n_true) + sum(n_pred), 0),
        ),
    ):
        np.testing.assert_allclose(function(true, pred, t, per_document=True), by_document)
        assert function(true, pred, t, average="macro") == pytest.approx(np.mean(by_document))
        assert function(true, pred, t) == pytest.approx(by_sum)
        levels = function(true, pred, t, per_level=True)
        for level in range(1, t.depth + 1):
            at = {i for i in t.ids if t.levels[t.index(i)] == level}
            b, x, y = (sum(len(k & at) for k in s) for s in ([p & q for p, q in zip(T, P, strict=True)], T, P))
            if x + y == 0:
                assert level not in levels
            elif function is m.hierarchical_f1:
                assert levels[level] == pytest.approx(2 * b / (x + y))
    assert m.micro_f1(true, pred, t, closed=True) == pytest.approx(m.hierarchical_f1(true, pred, t))
    np.testing.assert_allclose(
        m.set_loss(true, pred, t, per_document=True), [len(a ^ b) / 2 for a, b in zip(T, P, strict=True)]
    )
    unequal = [set(a) != set(b) for a, b in zip(true, pred, strict=True)]
    assert m.set_loss(true, pred, t, loss="zero-one") == pytest.approx(np.mean(unequal))
    costs = NodeCosts(f=2.0, c=3.0, cbar=0.25)
    assert m.set_loss(true, pred, t, loss=costs) == pytest.approx(
        np.mean([6 * len(a - b) + 0.5 * len(b - a) for a, b in zip(T, P, strict=True)])
    )


@settings(max_examples=50)
@given(tasks())
def test_one_label_makes_set_loss_delta_loss(task):
    truth = [ys[:1] or [task.t.ids[0]] for ys in task.true]
    assert m.set_loss(truth, task.answers, task.t) == pytest.approx(m.delta_loss(truth, task.answers, task.t))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@settings(max_examples=50)
@given(tasks(least_true=1))
def test_flat_f1_against_sklearn(task):
    t, true, pred, *_ = task
    assume(len(t) > 1)  # scikit-learn takes one column for two classes
    for closed in (False, True):
        T, P = ([sorted(anc(t, *k)) for k in s] if closed else s for s in (true, pred))
        binarizer = MultiLabelBinarizer(classes=t.ids).fit([t.ids])
        a, b = binarizer.transform(T), binarizer.transform(P)
        assert m.micro_f1(true, pred, t, closed=closed) == pytest.approx(f1_score(a, b, average="micro"))
        assert m.macro_f1(true, pred, t, closed=closed, over="all") == pytest.approx(f1_score(a, b, average="macro"))
        for over, where in (("present", a.any(axis=0) | b.any(axis=0)), ("true", a.any(axis=0))):
            expected = f1_score(a[:, where], b[:, where], average="macro") if where.sum() > 1 else None
            if expected is not None:
                assert m.macro_f1(true, pred, t, closed=closed, over=over) == pytest.approx(expected)
        assert m.macro_f1(a, b, labels=t.ids) == pytest.approx(m.macro_f1(T, P))
        assert m.macro_f1(a, b, labels=t.ids, over="all") == pytest.approx(f1_score(a, b, average="macro"))
    y = [ys[0] for ys in true]
    assert m.macro_f1(y, task.answers) == pytest.approx(f1_score(y, task.answers, average="macro"))


@settings(max_examples=50)
@given(tasks())
def test_lca_f1_of_single_labels_follows_the_distance_over_common_ancestors(task):
    t, answers = task.t, task.answers
    truth = [ys[0] if ys else t.ids[-1] for ys in task.true]
    up = nx.DiGraph((t.ids[c], t.ids[p]) for p, c in t.edges())
    up.add_nodes_from(t.ids)
    distance = dict(nx.all_pairs_shortest_path_length(up))
    for y, a, value in zip(truth, answers, m.lca_f1(truth, answers, t, per_document=True), strict=True):
        common = anc(t, y) & anc(t, a)
        cost = min((distance[y][z] + distance[a][z] for z in common), default=np.inf)
        assert value == pytest.approx(2 / (cost + 2))  # the ways meet in one node


@settings(max_examples=50)
@given(tasks(trees=True))
def test_lca_f1_of_sets_on_trees(task):
    t, true, pred, *_ = task

    def up(v):  # from v to its root
        return t.path(v)[::-1]

    def join(y, p):  # (how good, nodes from y, nodes from p)
        meet = next((v for v in up(y) if v in up(p)), None)
        if meet is None:
            return (np.inf, len(up(y)) + len(up(p)), 0), set(up(y)), set(up(p))
        a, b = up(y)[: up(y).index(meet) + 1], up(p)[: up(p).index(meet) + 1]
        return (len(a) + len(b) - 2, -len(up(meet)), t.index(meet)), set(a), set(b)

    values = m.lca_f1(true, pred, t, per_document=True)
    for ys, ps, value in zip(true, pred, values, strict=True):
        if not ys or not ps:
            assert value == (ys == ps)
            continue
        joins = [min(((*join(y, p), t.index(p)) for p in ps), key=lambda k: (k[0], k[3])) for y in ys]
        joins += [min(((*join(y, p), t.index(y)) for y in ys), key=lambda k: (k[0], k[3])) for p in ps]
        g_true, g_pred = (set().union(*(k[side] for k in joins)) for side in (1, 2))
        assert value == pytest.approx(2 * len(g_true & g_pred) / (len(g_true) + len(g_pred)))


def test_lca_f1_does_not_reward_a_long_common_way():
    deep = Taxonomy.from_edges([("", "a"), ("a", "b"), ("b", "c"), ("c", "x"), ("c", "y")])
    flat = Taxonomy.from_edges([("", "c"), ("c", "x"), ("c", "y")])
    assert m.lca_f1(["x"], ["y"], deep) == m.lca_f1(["x"], ["y"], flat) == 0.5
    assert m.hierarchical_f1(["x"], ["y"], deep) == 0.75


@settings(max_examples=50)
@given(tasks(least_true=1))
def test_all_forms_of_labels_say_the_same(task):
    t, true, pred, *_ = task
    binarizer = MultiLabelBinarizer(classes=t.ids).fit([t.ids])
    a, b = binarizer.transform(true), binarizer.transform(pred)
    number = [[t.index(k) for k in ys] for ys in true]
    expected = m.hierarchical_f1(true, pred, t)
    for y_true, y_pred, labels in (
        (a, b, None),
        (a, pred, t.ids),
        (sparse.csr_array(a), sparse.coo_array(b), t.ids),
        (a[:, ::-1], b[:, ::-1], t.ids[::-1]),
        (number, pred, None),
        ([set(ys) for ys in true], [tuple(ys) + tuple(ys) for ys in pred], None),
        (np.array([*true, None], dtype=object)[:-1], pred, None),
    ):
        assert m.hierarchical_f1(y_true, y_pred, t, labels) == pytest.approx(expected)
    one = [ys[0] for ys in true]
    nodes = np.array([t.index(y) for y in one])
    for y in (one, np.array(one), np.array(one, dtype=object), nodes, nodes.tolist(), [[y] for y in one]):
        assert m.accuracy(y, task.answers, t) == m.accuracy(one, task.answers)


def test_a_root_has_no_siblings():
    assert m.parent_accuracy(["animal", "cat", "plant"], ["plant", "dog", "plant"], ANIMALS) == pytest.approx(2 / 3)


def test_undefined_cases():
    nothing, cat = [[]], [["cat"]]
    for function in (
        m.hierarchical_precision,
        m.hierarchical_recall,
        m.hierarchical_f1,
        m.lca_f1,
        m.micro_f1,
    ):
        assert function(nothing, nothing, ANIMALS) == 1
        assert function(nothing, cat, ANIMALS) == function(cat, nothing, ANIMALS) == 0
    assert m.macro_f1(nothing, nothing) == 1
    assert m.macro_f1(nothing, cat, over="true") == 0
    assert m.accuracy(nothing, ["cat"]) == m.parent_accuracy(nothing, ["cat"], ANIMALS) == 0
    assert m.delta_loss(nothing, ["cat"], ANIMALS) == 1
    assert m.delta_loss(nothing, ["cat"], ANIMALS, loss="zero-one") == 1
    assert m.set_loss(nothing, nothing, ANIMALS) == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: m.accuracy([], []), InputError, "y_true holds no documents"),
        (lambda: m.accuracy("cat", ["cat"]), InputError, "y_true must hold one label or one list .* got str"),
        (lambda: m.accuracy(["a"], ["a", "b"]), InputError, "same documents, got 1 and 2"),
        (lambda: m.accuracy(["a", ["b"]], ["a", "b"]), InputError, r"got 'a' in \[0\] and \['b'\] in \[1\]"),
        (lambda: m.accuracy([None], ["a"]), InputError, "one label each, or one list"),
        (
            lambda: m.accuracy(["a", "b"], [["a"], ["a", "b"]]),
            InputError,
            r"y_pred must hold one label a document, got 2 in \[1\]; for label sets use hierarchical_f1",
        ),
        (
            lambda: m.delta_loss(["cat", "dgo"], ["cat", "dog"], ANIMALS),
            LabelError,
            r"y_true\[1\]: 'dgo' is not in the taxonomy of 4 nodes \(closest: 'dog'\)",
        ),
        (
            lambda: m.delta_loss(["cat"], [4], ANIMALS),
            LabelError,
            r"y_pred\[0\]: node numbers go from 0 to 3, got 4",
        ),
        (
            lambda: m.micro_f1(np.eye(2), np.eye(2)),
            InputError,
            r"2 columns: say which labels they are with labels",
        ),
        (lambda: m.micro_f1(np.eye(2), np.eye(2), labels=["a"]), InputError, "2 columns, but labels names 1"),
        (lambda: m.micro_f1(np.eye(2), np.eye(2), labels=["a", "a"]), InputError, "got one of them twice"),
        (
            lambda: m.micro_f1(np.zeros((0, 2)), np.eye(2), labels=["a", "b"]),
            InputError,
            "holds no documents",
        ),
        (lambda: m.micro_f1(["a"], ["a"], closed=True), ParameterError, "closed=True .* needs a taxonomy"),
        (
            lambda: m.macro_f1(["a"], ["a"], over="some"),
            ParameterError,
            "'present', 'true' or 'all', got 'some'",
        ),
        (lambda: m.macro_f1(["a"], ["a"], over="all"), ParameterError, "needs a taxonomy or labels"),
        (lambda: m.set_loss(["cat"], ["cat"], ANIMALS, loss=1 - np.eye(4)), ParameterError, "got a matrix"),
        (
            lambda: m.hierarchical_f1(["cat"], ["cat"], ANIMALS, average="mean"),
            ParameterError,
            "average must be 'micro' or 'macro', got 'mean'",
        ),
        (
            lambda: m.hierarchical_f1(["cat"], ["cat"], ANIMALS, per_level=True, per_document=True),
            ParameterError,
            "per_level gives micro values",
        ),
    ],
)
def test_mistakes_get_a_message(call, error, message):
    with pytest.raises(error, match=message):
        call()
