"""What a report says is what the metrics, scikit-learn and plain counting say on the same answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from pinakes import HardPerceptron, Taxonomy, TaxonomySVC, metrics
from pinakes.decisions import Classifier
from pinakes.documents import Corpus, Document
from pinakes.errors import InputError, ParameterError
from pinakes.reports import compare, evaluate, make_report
from pinakes.reports.confidence import Bins, NodeConfidences
from pinakes.reports.confusions import confused_pairs, short, worst_confusions
from pinakes.reports.counts import count, intervals, swap_test
from pinakes.reports.evaluation import Evaluation
from pinakes.reports.nodes import drawn_parent
from pinakes.reports.trust import back_off, reliability, risk_by_level, risk_coverage, wilson
from strategies import taxonomies

LATTICE = Taxonomy.from_edges(
    [("", "a"), ("", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "ab"), ("b", "ab"), ("a1", "a11"), ("", "c")]
)
TREE = Taxonomy.from_edges([("", "a"), ("", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2"), ("a1", "a11")])


def corpus_of(labels, n_features=4, seed=0):
    """Make documents that are noisy vectors, with these labels."""
    rng = np.random.default_rng(seed)
    rows = [(np.arange(n_features, dtype=np.int32), rng.normal(size=n_features).astype(np.float32)) for _ in labels]
    made = [Document(f"d{i}", None, tuple(few), row) for i, (few, row) in enumerate(zip(labels, rows, strict=True))]
    return Corpus.from_documents(made, n_features=n_features)


def fitted(taxonomy, seed=0, sets=False):
    """Fit a model on noise: it knows some categories, and is often wrong."""
    rng = np.random.default_rng(seed)
    known = [node for node in taxonomy.ids if node not in ("a2",)]
    X = rng.normal(size=(40, 4))
    if sets:
        labels = [sorted(set(rng.choice(known, size=rng.integers(1, 3)))) for _ in range(40)]
        return Classifier(HardPerceptron(taxonomy, max_iter=200)).fit(X, labels)
    labels = np.array([known[i % len(known)] for i in range(40)])
    X += 1.5 * np.eye(len(known))[np.arange(40) % len(known)][:, :4]
    return Classifier(TaxonomySVC(taxonomy)).fit(X, labels)


def labels_of(taxonomy, n=60, sets=False, seed=3):
    rng = np.random.default_rng(seed)
    most = 3 if sets else 1
    return [tuple(rng.choice(taxonomy.ids, size=rng.integers(1, most + 1), replace=False)) for _ in range(n)]


@pytest.fixture(scope="module", params=["one label", "label sets"])
def task(request):
    """A classifier and what it answers, on a lattice with one label and on a tree with label sets."""
    sets = request.param == "label sets"
    taxonomy = TREE if sets else LATTICE
    classifier = fitted(taxonomy, sets=sets)
    corpus = corpus_of(labels_of(taxonomy, sets=sets))
    return classifier, evaluate(classifier, corpus, confidences=True)


def test_measures_are_those_of_the_metrics(task):
    classifier, evaluation = task
    corpus = evaluation.corpus
    scores = classifier.decision_function(corpus)
    measure = metrics.evaluate_sets if classifier.has_sets else metrics.evaluate_labels
    expected = measure(corpus.labels, evaluation.answers, evaluation.taxonomy, scores, evaluation.classes)
    rows = {row["name"]: row for row in make_report(evaluation, classifier).data["measures"]}
    assert set(rows) == set(expected)
    for name, value in expected.items():
        assert rows[name]["value"] == pytest.approx(value, rel=1e-5), name
        assert rows[name]["low"] < rows[name]["high"], name


def test_intervals_agree_with_the_bootstrap_of_means(task):
    _, evaluation = task
    spread = intervals(evaluation.means, {})
    assert set(spread) >= {"one_accuracy", "lca_f1"}
    for name, each in evaluation.means.items():
        assert spread[name] == pytest.approx(metrics.bootstrap_interval(each)), name


def test_intervals_of_ratios_are_those_of_resampled_documents(task):
    """The measures of documents drawn one by one have the same spread as those from weighted counts."""
    _, evaluation = task
    spread = intervals({}, evaluation.counts)
    assert set(spread) == {"hierarchical_precision", "hierarchical_recall", "hierarchical_f1", "micro_f1", "macro_f1"}
    rng = np.random.default_rng(5)
    drawn = [rng.integers(len(evaluation), size=len(evaluation)) for _ in range(300)]
    for name, interval in spread.items():
        assert interval.estimate == pytest.approx(evaluation.measures[name])
        values = [
            metrics.METRICS[name](
                [evaluation.tested[i] for i in rows], [evaluation.answers[i] for i in rows], evaluation.taxonomy
            )
            for rows in drawn
        ]
        moved = evaluation.measures[name] - np.mean(values) if name == "macro_f1" else 0.0
        low, high = np.quantile(values, [0.025, 0.975]) + moved
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.035), name


def test_the_interval_of_macro_f1_holds_it_where_labels_are_rare():
    """Half of the labels of one document each: those drawn have fewer labels, and a lower mean before it is moved."""
    wide = Taxonomy.flat([f"k{i}" for i in range(120)])
    truth = [[f"k{i}"] for i in range(120)]
    answers = [f"k{i}" if i % 2 else f"k{(i + 2) % 120}" for i in range(120)]
    interval = intervals({}, evaluation_of(answers, truth, taxonomy=wide).counts)["macro_f1"]
    assert interval.low < interval.estimate < interval.high
    assert interval.estimate == pytest.approx(0.5)
    assert interval.high - interval.low < 0.3


def test_nodes_and_levels_are_those_of_scikit_learn(task):
    classifier, evaluation = task
    taxonomy = evaluation.taxonomy
    data = make_report(evaluation, classifier).data
    nodes = data["nodes"]

    def closed(labels):
        Y = np.zeros((len(labels), len(taxonomy)), dtype=int)
        for i, few in enumerate(labels):
            for label in [few] if isinstance(few, str) else few:
                Y[i, taxonomy.ancestors.of(taxonomy.index(label))] = 1
        return Y

    truth, answers = closed(evaluation.tested), closed(evaluation.answers)
    precision, recall, f1, support = precision_recall_fscore_support(truth, answers, zero_division=0)
    assert nodes["true"] == support.tolist()
    assert nodes["predicted"] == answers.sum(axis=0).tolist()
    hits = np.array(nodes["hits"])
    assert hits / np.maximum(nodes["predicted"], 1) == pytest.approx(precision)
    assert hits / np.maximum(nodes["true"], 1) == pytest.approx(recall)
    assert 2 * hits / np.maximum(1, np.array(nodes["true"]) + nodes["predicted"]) == pytest.approx(f1)
    by_level = metrics.hierarchical_f1(evaluation.tested, evaluation.answers, taxonomy, per_level=True)
    assert {row["level"]: row["f1"] for row in data["levels"]} == pytest.approx(by_level, abs=1e-6)
    for row in data["levels"]:
        here = (taxonomy.levels == row["level"]) & (support + answers.sum(axis=0) > 0)
        assert row["mean_f1"] == pytest.approx(f1[here].mean(), abs=1e-6)


def test_confidences_grow_towards_the_roots_and_sum_up(task):
    classifier, evaluation = task
    taxonomy = evaluation.taxonomy
    by_class, by_node = NodeConfidences(classifier)(classifier.decision_function(evaluation.corpus))
    for parent, child in taxonomy.edges():
        assert (by_node[:, parent] >= by_node[:, child] - 1e-12).all()
    top = classifier.rank(evaluation.corpus, top=1)
    sure = evaluation.confidences
    assert sure.best_confidence == pytest.approx([answers[0].confidence for answers in top])
    for v in range(len(taxonomy)):
        below = [k for k, label in enumerate(evaluation.classes) if v in taxonomy.ancestors.of(taxonomy.index(label))]
        some = by_class[:, below]
        expected = some.max(axis=1, initial=0) if classifier.has_sets else some.sum(axis=1)
        assert by_node[:, v] == pytest.approx(expected)
    for i, level in itertools.product(range(len(evaluation)), range(taxonomy.depth)):
        here = np.flatnonzero(taxonomy.levels == level + 1)
        assert sure.level_confidence[i, level] == pytest.approx(by_node[i, here].max())
        up = {v for label in evaluation.corpus.labels[i] for v in taxonomy.ancestors.of(taxonomy.index(label)).tolist()}
        assert sure.level_right[i, level] == (sure.level_node[i, level] in up)


def test_reliability_is_counted_claim_by_claim(task):
    classifier, evaluation = task
    taxonomy, labels = evaluation.taxonomy, evaluation.corpus.labels
    by_class, by_node = NodeConfidences(classifier)(classifier.decision_function(evaluation.corpus))
    claims = []
    for i, few in enumerate(labels):
        if classifier.has_sets:
            claims += [(p, evaluation.classes[k] in few) for k, p in enumerate(by_class[i]) if p >= 0.01]
        else:
            k = int(by_class[i].argmax())
            claims.append((by_class[i, k], evaluation.classes[k] in few))
    shown = reliability(evaluation.confidences.category)
    assert shown["n"] == len(claims)
    error = 0.0
    for row in shown["bins"]:
        inside = [(p, right) for p, right in claims if row["from"] <= p < row["to"] or (row["to"] == 1 and p == 1)]
        assert row["n"] == len(inside)
        assert row["confidence"] == pytest.approx(np.mean([p for p, _ in inside]))
        assert row["right"] == pytest.approx(np.mean([right for _, right in inside]))
        assert row["low"] <= row["right"] <= row["high"]
        error += len(inside) / len(claims) * abs(row["right"] - row["confidence"])
    assert shown["expected_calibration_error"] == pytest.approx(error)
    if not classifier.has_sets:
        parents = []
        for i, answer in enumerate(evaluation.answers):
            above = taxonomy.parents.of(taxonomy.index(answer)).tolist() or [taxonomy.index(answer)]
            best = max(above, key=lambda v: by_node[i, v])
            up = taxonomy.ancestors.of(taxonomy.index(labels[i][0]))
            parents.append((by_node[i, best], best in up))
        expected = Bins.of(np.array([p for p, _ in parents]), np.array([right for _, right in parents]))
        assert evaluation.confidences.parent.n.tolist() == expected.n.tolist()
        assert evaluation.confidences.parent.right.tolist() == expected.right.tolist()


def test_back_off_is_what_the_rule_says(task):
    """The rule, one document and threshold at a time."""
    classifier, evaluation = task
    taxonomy, labels, sure = evaluation.taxonomy, evaluation.corpus.labels, evaluation.confidences
    _, by_node = NodeConfidences(classifier)(classifier.decision_function(evaluation.corpus))
    shown = back_off(evaluation)
    for t in (0, 35, 60, 90, 100):
        kinds, costs = {"category_right": 0, "inner_right": 0, "wrong": 0, "silent": 0}, []
        for i, few in enumerate(labels):
            up = {v for label in few for v in taxonomy.ancestors.of(taxonomy.index(label)).tolist()}
            enough = [v for v in range(len(taxonomy)) if by_node[i, v] >= t / 100 - 1e-9]
            if sure.best_confidence[i] >= t / 100 - 1e-9:
                answer = int(sure.best[i])
                kinds["category_right" if taxonomy.ids[answer] in few else "wrong"] += 1
            elif enough:
                answer = max(enough, key=lambda v: (taxonomy.levels[v], by_node[i, v]))
                kinds["inner_right" if answer in up else "wrong"] += 1
            else:
                kinds["silent"] += 1
                costs.append(min(len(taxonomy.ancestors.of(taxonomy.index(label))) for label in few) / 2)
                continue
            costs.append(metrics.delta_loss([list(few)], [taxonomy.ids[answer]], taxonomy))
        for kind, n in kinds.items():
            assert shown[kind][t] == pytest.approx(n / len(labels)), (kind, t)
        assert shown["delta_loss"][t] == pytest.approx(np.mean(costs))
    if not classifier.has_sets:
        assert shown["category_right"][0] == pytest.approx(evaluation.measures["accuracy"])
        assert shown["delta_loss"][0] == pytest.approx(evaluation.measures["delta_loss"])


def test_a_single_root_says_nothing():
    taxonomy = Taxonomy.from_edges([("", "root"), ("root", "x"), ("root", "y")])
    classifier = Classifier(TaxonomySVC(taxonomy)).fit([[1.0, 0.0], [0.0, 1.0]], ["x", "y"])
    corpus = corpus_of([["x"], ["y"], ["x"]], n_features=2)
    shown = back_off(evaluate(classifier, corpus, confidences=True))
    assert shown["inner_right"] == [0.0] * 101
    assert shown["silent"][-1] == 1.0
    assert shown["delta_loss"][-1] == 0.5


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9, 1.0]), st.booleans()), min_size=1, max_size=30))
def test_risk_coverage_is_the_share_of_wrong_answers_among_the_surest(claims):
    confidence, right = np.array([p for p, _ in claims]), np.array([r for _, r in claims])
    shown = risk_coverage(confidence, right)
    expected = []
    for t in sorted(set(confidence.tolist()), reverse=True):
        kept = confidence >= t
        expected.append((kept.mean(), 1 - right[kept].mean()))
    assert pytest.approx(np.array(expected)) == np.array([shown["coverage"], shown["risk"]]).T
    assert 0 <= shown["area"] <= 1


def test_long_curves_are_thinned_and_keep_their_ends():
    rng = np.random.default_rng(0)
    shown = risk_coverage(rng.random(5000), rng.random(5000) < 0.7)
    assert len(shown["risk"]) <= 100
    assert shown["coverage"][-1] == 1
    assert shown["risk"][-1] == pytest.approx(0.3, abs=0.03)


def test_only_levels_that_documents_reach_have_a_curve():
    deep = Taxonomy.from_edges(
        [("", "a"), ("", "b"), ("a", "a1"), ("a", "a2"), ("a1", "a11"), ("b", "b1"), ("a1", "a12")]
    )
    classifier = fitted(deep)
    names = {}
    for label in ("a1", "a11"):
        evaluation = evaluate(classifier, corpus_of([[label]] * 20), confidences=True)
        names[label] = [curve["name"] for curve in risk_by_level(evaluation)]
    assert names == {"a1": ["category", "level 1", "level 2"], "a11": ["category", "level 1", "level 2"]}
    evaluation = evaluate(classifier, corpus_of([["a1"], ["b"]] * 10), confidences=True)
    assert [curve["name"] for curve in risk_by_level(evaluation)] == ["category", "level 1"]


def test_wilson_is_the_interval_of_the_books():
    low, high = wilson([8, 0, 0], [10, 10, 0])
    assert (low[0], high[0]) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert (low[1], high[1]) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert (low[2], high[2]) == (0, 1)


def test_confusions_are_all_mistakes_and_lie_as_far_apart_as_said(task):
    _, evaluation = task
    wrong, everything = 0, confused_pairs(evaluation)
    for i, (true, answer) in enumerate(zip(evaluation.tested, evaluation.answers, strict=True)):
        said = {answer} if isinstance(answer, str) else set(answer)
        pairs = [(y, p) for d, y, p in everything if d == i]
        assert (not pairs) == (said == set(true))
        wrong += bool(pairs)
        ids = evaluation.taxonomy.ids
        assert set(true) - said <= {ids[y] for y, _ in pairs}
        assert said - set(true) <= {ids[p] for _, p in pairs if p >= 0}
    assert wrong
    shown = worst_confusions(evaluation)
    total = sum(row["n"] for row in shown)
    assert total == len(everything)
    for row in shown:
        ids = evaluation.taxonomy.ids
        if row["answer"] >= 0:
            delta = metrics.delta_loss([ids[row["true"]]], [ids[row["answer"]]], evaluation.taxonomy)
            assert row["distance"] == pytest.approx(delta)
        sure = [d["confidence"] for d in row["documents"]]
        assert sure == sorted(sure, reverse=True)
        assert 1 <= len(sure) <= 3
    costs = [row["n"] * row["distance"] for row in shown]
    assert costs == sorted(costs, reverse=True)


@given(taxonomies())
def test_every_node_is_drawn_once_below_a_parent(taxonomy):
    for v, parent in enumerate(drawn_parent(taxonomy)):
        way = taxonomy.path(v)
        assert (taxonomy.ids[parent] == way[-2]) if len(way) > 1 else parent == -1


def test_texts_are_cut_at_words():
    assert short("a  b\nc", 10) == "a b c"
    assert short("one two three four", 12) == "one two…"
    assert short("x" * 50, 10) == "x" * 9 + "…"


def test_a_report_needs_confidences():
    classifier = fitted(LATTICE)
    evaluation = evaluate(classifier, corpus_of([["a1"]]))
    with pytest.raises(ParameterError, match="evaluate\\(…, confidences=True\\)"):
        make_report(evaluation, classifier)


# -- two models ----------------------------------------------------------------------------------------------


def evaluation_of(answers, labels, taxonomy=TREE, classes=None):
    corpus = corpus_of(labels)
    sets = not isinstance(answers[0], str)
    return Evaluation(corpus, taxonomy, classes or list(taxonomy.ids), sets, answers, {})


def brute_force(name, a, b):
    """Try all swaps of answers, one by one."""
    metric = metrics.METRICS[name]

    def difference(first, second):
        return metric(a.tested, first, a.taxonomy) - metric(a.tested, second, a.taxonomy)

    observed = abs(difference(a.answers, b.answers))
    differ = [i for i in range(len(a)) if a.answers[i] != b.answers[i]]
    extreme = 0
    for pattern in itertools.product([False, True], repeat=len(differ)):
        first, second = list(a.answers), list(b.answers)
        for i, swapped in zip(differ, pattern, strict=True):
            if swapped:
                first[i], second[i] = second[i], first[i]
        extreme += abs(difference(first, second)) >= observed - 1e-12
    return extreme / 2 ** len(differ)


@pytest.mark.parametrize("sets", [False, True])
def test_p_values_are_those_of_all_swaps(sets):
    truth = [["a1"], ["a2"], ["b1"], ["b2"], ["a11"], ["b1"], ["a1"], ["b2"]]
    first = ["a1", "a2", "b1", "b1", "a1", "b1", "a2", "b2"]
    second = ["b1", "a1", "b1", "b2", "b2", "a1", "a2", "b1"]
    if sets:
        truth = [[*few, "b1"] if i % 3 == 0 and "b1" not in few else few for i, few in enumerate(truth)]
        first, second = [[k] for k in first], [[k, "a2"] if k != "a2" else [] for k in second]
    a, b = evaluation_of(first, truth), evaluation_of(second, truth)
    result = compare(a, b)
    found = {row.name: row for row in result.measures}
    assert set(found) == set(a.measures)
    for name, row in found.items():
        assert row.p == pytest.approx(brute_force(name, a, b)), name
        assert row.difference == pytest.approx(a.measures[name] - b.measures[name])
        assert row.low - 1e-9 <= row.difference <= row.high + 1e-9
        flipped = {other.name: other for other in compare(b, a).measures}[name]
        assert (flipped.p, flipped.difference) == pytest.approx((row.p, -row.difference))


def test_intervals_of_differences_agree_with_the_bootstrap():
    rng = np.random.default_rng(1)
    truth = [[k] for k in rng.choice(TREE.ids, size=50)]
    a, b = (evaluation_of(rng.choice(TREE.ids, size=50).tolist(), truth) for _ in range(2))
    rows = {row.name: row for row in compare(a, b).measures}
    for name in ("accuracy", "delta_loss"):
        expected = metrics.bootstrap_interval(a.means[name], b.means[name])
        assert (rows[name].difference, rows[name].low, rows[name].high) == pytest.approx(expected)
    # micro-F1 of one answer each is accuracy: a ratio of sums and a mean must say the same
    assert rows["micro_f1"][1:6] == pytest.approx(rows["accuracy"][1:6])
    assert rows["micro_f1"].p == pytest.approx(rows["accuracy"].p, abs=0.03)


@pytest.mark.parametrize("name", ["macro_f1", "hierarchical_f1"])
def test_random_swaps_come_close_to_all_swaps(name, monkeypatch):
    rng = np.random.default_rng(2)
    truth = [[k] for k in rng.choice(TREE.ids, size=14)]
    a, b = (evaluation_of(rng.choice(TREE.ids, size=14).tolist(), truth) for _ in range(2))
    parts = [count(name, *side.labels, TREE) for side in (a, b)]
    exact = swap_test(*parts)
    monkeypatch.setattr("pinakes.reports.counts.EXACT_UP_TO", 3)
    assert 0.05 < exact < 0.95
    assert swap_test(*parts, n_permutations=4000) == pytest.approx(exact, abs=0.03)
    assert swap_test(parts[0], parts[0]) == 1


def test_the_documents_that_differ_most_come_first():
    truth = [["a11"], ["a1"], ["b1"], ["b2"]]
    a = evaluation_of(["a11", "a1", "b1", "b2"], truth)
    b = evaluation_of(["a1", "b1", "b1", "b1"], truth)
    documents = compare(a, b).documents
    assert [d["id"] for d in documents] == ["d1", "d3", "d0"]
    assert [d["difference"] for d in documents] == [-2.0, -1.0, -0.5]
    assert documents[0]["answer_a"] == ["a1"]
    assert documents[0]["answer_b"] == ["b1"]


def test_one_label_against_label_sets_is_measured_as_sets():
    truth = [["a1", "b1"], ["a2"]]
    result = compare(evaluation_of(["a1", "a2"], truth), evaluation_of([["a1", "b1"], ["a2"]], truth))
    rows = {row.name: row for row in result.measures}
    assert result.loss == "set_loss"
    assert "accuracy" not in rows
    assert (rows["micro_f1"].a, rows["micro_f1"].b) == pytest.approx((0.8, 1.0))


def test_categories_of_one_model_alone_are_noted():
    truth = [["a1"], ["a2"], ["b1"]]
    a = evaluation_of(["a1", "a2", "b1"], truth, classes=["a1", "a2", "b1"])
    b = evaluation_of(["a1", "a1", "b1"], truth, classes=["a1", "b1"])
    (note,) = compare(a, b, ("old", "new")).notes
    assert note.startswith("1 categories are known to old alone ('a2'); 1 documents have them")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Taxonomy.from_edges([("", "a"), ("a", "a1")]), "6 nodes only in the first \\('a11', 'a2', 'b', …\\)"),
        (
            Taxonomy(list(TREE.ids), [*TREE.edges().tolist(), (TREE.index("a"), TREE.index("b"))]),
            "1 nodes have other parents \\('b'\\)",
        ),
    ],
)
def test_different_taxonomies_are_refused(other, message):
    a, b = evaluation_of(["a1"], [["a1"]]), evaluation_of(["a1"], [["a1"]], taxonomy=other)
    if "nodes only" in message:
        message = message.replace("6 nodes", f"{len(TREE) - 2} nodes")
    with pytest.raises(InputError, match=f"must have the same taxonomy to be compared.*{message}"):
        compare(a, b)


def test_other_documents_are_refused():
    with pytest.raises(InputError, match="on the same documents, in the same order"):
        compare(evaluation_of(["a1"], [["a1"]]), evaluation_of(["a1"], [["a2"]]))
