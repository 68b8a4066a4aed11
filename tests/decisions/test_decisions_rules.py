"""Decisions against brute force over all nodes, and coverage: nested in the level, and kept over random splits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import softmax

from pinakes import TaxonomySVC
from pinakes.datasets import make_synthetic
from pinakes.decisions import Calibration, Classifier, Coverage, SetCalibration
from pinakes.decisions.beliefs import Believer
from pinakes.decisions.coverage import conformal_quantile, node_needs, set_needs
from pinakes.decisions.rules import NOTHING, decide, expected_loss, least_loss, read_decision
from pinakes.errors import DocumentError, ParameterError
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.loss import NodeLoss, make_loss
from strategies import taxonomies

PLAIN = Calibration.from_temperature(1.0)


@st.composite
def cases(draw, trees=None):
    """Draw a taxonomy with classes on some nodes, and what is believed of a few documents."""
    trees = draw(st.booleans()) if trees is None else trees
    taxonomy = draw(taxonomies(max_nodes=10, trees=trees))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    nodes = rng.permutation(len(taxonomy))[: draw(st.integers(1, len(taxonomy)))].astype(np.int32)
    scores = (rng.normal(size=(5, len(nodes))) * 3).astype(draw(st.sampled_from([np.float64, np.float32])))
    believer = Believer(taxonomy, nodes, PLAIN)
    return believer, believer.beliefs(scores), rng


def brute_force(believer, beliefs, loss):
    """Give the expected loss of each answer, nothing first, by summing Delta over all classes."""
    taxonomy = believer.taxonomy
    n_nodes = len(taxonomy)
    up = [set(taxonomy.ancestors.of(v).tolist()) for v in range(n_nodes)]
    table = np.zeros((n_nodes + 1, len(believer.class_node)))
    for k, y in enumerate(believer.class_node):
        table[0, k] = sum(loss.miss[z] for z in up[y])
        for u in range(n_nodes):
            table[u + 1, k] = sum(loss.miss[z] for z in up[y] - up[u]) + sum(loss.false[z] for z in up[u] - up[y])
    return beliefs.classes @ table.T


@pytest.mark.kernel
@given(case=cases(), even=st.booleans())
@settings(max_examples=80)
def test_the_smallest_expected_loss_of_all_nodes(case, even):
    believer, beliefs, rng = case
    n_nodes = len(believer.taxonomy)
    half = np.full(n_nodes, 0.5)
    loss = NodeLoss(believer.taxonomy, *((half, half) if even else rng.random((2, n_nodes))))
    expected = brute_force(believer, beliefs, loss)
    answers = least_loss(believer, beliefs, loss)
    np.testing.assert_allclose(expected[np.arange(5), answers + 1], expected.min(axis=1), atol=1e-9)
    np.testing.assert_allclose(expected_loss(believer, beliefs, loss, answers), expected.min(axis=1), atol=1e-9)
    chosen = decide(read_decision("expected-loss"), believer, beliefs, loss, None)
    assert [few[0] if len(few) else NOTHING for few in chosen] == answers.tolist()


@given(case=cases())
@settings(max_examples=30)
def test_other_losses(case):
    believer, beliefs, rng = case
    ids = [believer.taxonomy.ids[v] for v in believer.class_node]
    zero_one = make_loss("zero-one", believer.taxonomy)
    answers = least_loss(believer, beliefs, zero_one)
    assert answers.tolist() == believer.class_node[beliefs.classes.argmax(axis=1)].tolist()
    losses = expected_loss(believer, beliefs, zero_one, answers)
    np.testing.assert_allclose(losses, 1 - beliefs.classes.max(axis=1))
    table = rng.uniform(0.1, 2, size=(len(ids), len(ids))) * (1 - np.eye(len(ids)))
    matrix = make_loss(table, believer.taxonomy, ids)
    losses = expected_loss(believer, beliefs, matrix, least_loss(believer, beliefs, matrix))
    np.testing.assert_allclose(losses, (beliefs.classes @ table).min(axis=1))


@given(case=cases(trees=True))
@settings(max_examples=40)
def test_with_even_costs_a_tree_is_followed_as_long_as_more_than_half_agrees(case):
    believer, beliefs, _ = case
    answers = least_loss(believer, beliefs, make_loss("tree", believer.taxonomy))
    for u, P in zip(answers, beliefs.nodes, strict=True):
        on = set(np.flatnonzero(P > 0.5).tolist())
        assert on == (set() if u == NOTHING else set(believer.taxonomy.ancestors.of(int(u)).tolist()))


@pytest.mark.kernel
@given(case=cases(), least=st.floats(0.05, 0.95))
@settings(max_examples=40)
def test_the_deepest_node_above_a_confidence(case, least):
    believer, beliefs, _ = case
    levels = believer.taxonomy.levels
    chosen = decide(
        read_decision(f"confidence:{least!r}"), believer, beliefs, make_loss("tree", believer.taxonomy), None
    )
    for few, P in zip(chosen, beliefs.nodes, strict=True):
        likely = np.flatnonzero(least <= P)
        assert len(few) == min(1, len(likely))
        if len(few):
            deepest = likely[levels[likely] == levels[likely].max()]
            assert few[0] in deepest
            assert P[few[0]] == P[deepest].max()


def test_abstaining():
    taxonomy = Taxonomy.from_paths(["a/x", "a/y", "b/z"])
    nodes = np.array([taxonomy.index(k) for k in ("a/x", "a/y", "b/z")], dtype=np.int32)
    believer = Believer(taxonomy, nodes, PLAIN)
    p = np.array([[0.9, 0.05, 0.05], [0.4, 0.3, 0.3], [0.4, 0.6, 0.0]])
    beliefs = believer.beliefs(np.log(np.maximum(p, 1e-9)))
    tree = make_loss("tree", taxonomy)

    def answers(name):
        return [few.tolist() for few in decide(read_decision(name), believer, beliefs, tree, None)]

    assert answers("best") == [[nodes[0]], [nodes[0]], [nodes[1]]]
    assert answers("abstain:0.5") == [[nodes[0]], [], [nodes[1]]]
    # 2nd: the leaf gains (0.7 - 0.5) + (0.4 - 0.5) > 0 over nothing
    assert answers("abstain") == [[nodes[0]], [nodes[0]], [nodes[1]]]
    flat = believer.beliefs(np.log([[0.34, 0.22, 0.44]]))
    assert [few.tolist() for few in decide(read_decision("abstain"), believer, flat, tree, None)] == [[]]


@pytest.mark.kernel
@given(case=cases(), levels=st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.99)))
@settings(max_examples=60)
def test_answers_are_nested_in_the_level_and_hold_what_they_should(case, levels):
    believer, beliefs, rng = case
    taxonomy, tree = believer.taxonomy, make_loss("tree", believer.taxonomy)
    true = rng.integers(len(believer.class_node), size=5)
    node = node_needs(believer, beliefs, believer.class_node[true])
    sets = set_needs(believer, beliefs, true)
    coverage = Coverage.of_needs(node, sets)
    low, high = sorted(levels)

    def held(name, level):
        chosen = decide(read_decision(f"{name}:{level:.17g}"), believer, beliefs, tree, coverage)
        if name == "coverage":
            return [set(taxonomy.descendants.of(int(few[0])).tolist()) if len(few) else None for few in chosen]
        return [set(few.tolist()) for few in chosen]

    for name, needs in (("coverage", node), ("sets", sets)):
        small, large = held(name, low), held(name, high)
        threshold = conformal_quantile(np.sort(needs), low)
        for i in range(5):
            assert large[i] is None or (small[i] is not None and small[i] <= large[i])
            inside = small[i] is None or int(believer.class_node[true[i]]) in small[i]
            assert inside == (needs[i] <= threshold)


def test_conformal_quantiles_are_those_of_the_definition():
    needs = np.sort(np.random.default_rng(0).random(99))
    for level in (0.5, 0.8, 0.9, 0.95):
        assert conformal_quantile(needs, level) == needs[int(np.ceil(100 * level)) - 1]
    assert conformal_quantile(needs, 0.995) == 1.0
    assert conformal_quantile(np.zeros(0), 0.5) == 1.0


def test_coverage_is_kept_over_random_splits():
    """However bad the model: half of the documents find the threshold, the other half is covered as promised."""
    rng = np.random.default_rng(7)
    taxonomy = Taxonomy.from_paths([f"{a}/{b}/{c}" for a in "ab" for b in "cde" for c in "fghi"])
    nodes = taxonomy.leaves
    truth = rng.normal(size=(2000, len(nodes))) * 2
    true = (softmax(truth, axis=1).cumsum(axis=1) > rng.random((2000, 1))).argmax(axis=1)
    believer = Believer(taxonomy, nodes.copy(), Calibration.from_temperature(0.3))  # far too sure
    beliefs = believer.beliefs(truth + rng.normal(size=truth.shape))
    node, sets = node_needs(believer, beliefs, nodes[true]), set_needs(believer, beliefs, true)
    for level in (0.8, 0.9, 0.95):
        covered = []
        for _ in range(60):
            order = rng.permutation(2000)
            aside, rest = order[:1000], order[1000:]
            coverage = Coverage.of_needs(node[aside], sets[aside])
            part = believer.beliefs(beliefs.scores[rest])
            chosen = decide(read_decision(f"coverage:{level}"), believer, part, make_loss("tree", taxonomy), coverage)
            up = taxonomy.ancestors
            hits = [len(u) == 0 or u[0] in up.of(int(nodes[y])) for u, y in zip(chosen, true[rest], strict=True)]
            many = sets[rest] <= coverage.set_threshold(level)
            covered.append((np.mean(hits), many.mean()))
        mean = np.mean(covered, axis=0)
        error = np.sqrt(level * (1 - level) * 2 / 1000)
        assert (mean >= level - error).all()
        assert mean[1] <= level + error
        assert (np.min(covered, axis=0) >= level - 4 * error).all()


def test_label_sets():
    taxonomy = Taxonomy.from_paths(["a/x", "a/y", "b/z"])
    nodes = np.array([taxonomy.index(k) for k in ("a/x", "a/y", "b/z")], dtype=np.int32)
    believer = Believer(taxonomy, nodes, SetCalibration.from_temperature(1.0, 2))
    scores = np.array([[2.0, 1.0, -3.0], [-1.0, -1.0, -2.0], [3.0, -3.0, 0.5]])
    beliefs = believer.beliefs(scores)
    tree = make_loss("tree", taxonomy)

    def answers(name, loss=tree, coverage=None):
        chosen = decide(read_decision(name), believer, beliefs, loss, coverage)
        return [[taxonomy.ids[v] for v in few] for few in chosen]

    assert answers("expected-loss") == [["a/x", "a/y"], [], ["a/x", "b/z"]]
    assert answers("confidence:0.9") == [[], [], ["a/x"]]
    assert answers("confidence:0.2") == [["a/x", "a/y"], ["a/x", "a/y"], ["a/x", "b/z"]]
    truth = sparse.csr_array(np.array([[1, 1, 0], [0, 0, 1], [1, 0, 1]], dtype=bool))
    needs = set_needs(believer, beliefs, truth)
    least = 1 / (1 + np.exp([-1.0, 2.0, -0.5]))
    np.testing.assert_allclose(needs, 1 - least)
    coverage = Coverage.of_needs(np.zeros(0), needs)
    # the 3rd smallest of 3: everything at least as likely as the least likely true label, b/z of the second
    covering = [["a/x", "a/y"], ["a/x", "a/y", "b/z"], ["a/x", "b/z"]]
    assert answers("coverage:0.7", coverage=coverage) == covering
    # a dear miss of b/z makes it worth while to send to b
    costs = NodeLoss(taxonomy, np.array([0.5, 0.5, 0.5, 0.5, 9.0]), np.full(5, 0.5))
    assert ["b/z" in few for few in answers("expected-loss", costs)] == [False, True, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("expected", r"must be best, expected-loss, .* got 'expected' \(closest: 'expected-loss'\)"),
        ("confidence", "'confidence' needs a number between 0 and 1: confidence:0.9, got 'confidence'"),
        ("coverage:90", "'coverage' needs a number between 0 and 1, as in coverage:0.9, got 'coverage:90'"),
        ("sets:x", "'sets' needs a number between 0 and 1"),
        ("best:0.5", "'best' takes no number, got 'best:0.5'"),
    ],
)
def test_decisions_that_are_none(text, message):
    with pytest.raises(ParameterError, match=message):
        read_decision(text)


@pytest.fixture(scope="module")
def fitted():
    X, y, taxonomy = make_synthetic(n_children=3, depth=2, n_samples=600, random_state=0)
    return Classifier(TaxonomySVC(taxonomy)).fit(X[:400], y[:400]), X, np.asarray(y)


def test_answers_of_a_classifier(fitted):
    classifier, X, _ = fitted
    taxonomy = classifier.model.taxonomy_
    assert [few[0].label for few in classifier.decide(X[:20], "best")] == classifier.predict(X[:20]).tolist()
    P, scores = classifier.probabilities(X[:20]), classifier.decision_function(X[:20])
    for i, few in enumerate(classifier.decide(X[:20], "confidence:0.6")):
        for answer in few:
            v = taxonomy.index(answer.label)
            assert answer.confidence == P[i, v] >= 0.6
            below = [
                j for j, k in enumerate(classifier.model.classes_) if taxonomy.index(k) in taxonomy.descendants.of(v)
            ]
            assert answer.score == pytest.approx(scores[i, below].max())
            assert answer.path[-1] == answer.name
    assert classifier.decide(X[:0]) == []
    with pytest.raises(ParameterError, match="`least` must be a number from 0 to below 1, got 2"):
        classifier.probabilities(X, least=2)


def test_calibrating_on_other_documents(fitted):
    classifier, X, y = fitted
    before = classifier.coverage
    again = Classifier(classifier.model, calibration=classifier.calibration).calibrate(X[400:], y[400:])
    assert len(again.coverage.node) == 200
    assert classifier.coverage is before
    hits = [
        not few or few[0].label == y[i] or y[i].startswith(few[0].label + ".")
        for i, few in enumerate(again.decide(X, "coverage:0.9"))
        if i >= 400
    ]
    assert np.mean(hits) >= 0.9
    with pytest.raises(ParameterError, match=r"needs documents that the model has not seen.*Classifier\.calibrate"):
        Classifier(classifier.model).decide(X, "coverage:0.9")
    with pytest.raises(DocumentError, match="needs a label for each of some documents, got 2 and 1"):
        again.calibrate(X[:2], y[:1])
    with pytest.raises(DocumentError, match="needs labels that the model knows, got 'mars'"):
        again.calibrate(X[:1], ["mars"])
