"""Several labels a document on the command line: noticed by `train`, answered by `predict`, measured by `evaluate`."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path

import pytest
from cli_corpus import TAXONOMY, WORDS, documents, json_lines

from pinakes import metrics
from pinakes.storage import load
from pinakes.taxonomy import Taxonomy

TRAIN = ("-t", "taxonomy.tsv", "-o", "m.pinakes")
QUICK = ("--cut", "micro-f1")


def sets(n=120, seed=1):
    """Make documents of one or two categories."""
    draw = random.Random(seed)
    rows = []
    for i in range(n):
        labels = draw.sample(sorted(WORDS), draw.choice([1, 1, 2]))
        words = [word for label in labels for word in draw.choices(WORDS[label], k=4)]
        rows.append({"id": f"s{i}", "text": " ".join(words), "labels": labels})
    return rows


@pytest.fixture
def corpus(place):
    Path("sets.jsonl").write_text(json_lines(sets()))
    Path("new.jsonl").write_text(json_lines(sets(40, seed=2)))
    Path("one.jsonl").write_text(json_lines(documents()))


def test_label_sets_are_noticed_and_go_through_all_verbs(pinakes, corpus):
    left = pinakes("train", "sets.jsonl", *TRAIN)
    assert left.code == 0, left.err
    n_labels = sum(len(row["labels"]) for row in sets())
    assert f"120 documents, 4 categories, 16 features; {n_labels / 120:.2f} labels a document; gap" in left.err
    assert json.loads(pinakes("info", "m.pinakes").out)["method"] == "CoupledSVC"

    truth = [row["labels"] for row in sets(40, seed=2)]
    answers = load("m.pinakes").predict([row["text"] for row in sets(40, seed=2)])
    left = pinakes("predict", "m.pinakes", "new.jsonl", "--sets")
    assert left.code == 0, left.err
    lines = [json.loads(line) for line in left.out.splitlines()]
    assert [sorted(a["label"] for a in line["labels"]) for line in lines] == [sorted(few) for few in answers]
    ranked = [json.loads(line) for line in pinakes("predict", "m.pinakes", "new.jsonl", "--top", "4").out.splitlines()]
    for line, whole in zip(lines, ranked, strict=True):  # the answer is the head of the ranking
        head = whole["labels"][: len(line["labels"])]
        assert [(a["label"], a["score"]) for a in line["labels"]] == [(a["label"], a["score"]) for a in head]

    values = json.loads(pinakes("evaluate", "m.pinakes", "new.jsonl").out)
    taxonomy = Taxonomy.load("taxonomy.tsv")
    assert values["micro_f1"] == pytest.approx(metrics.micro_f1(truth, answers, taxonomy), abs=1e-6)
    assert values["hierarchical_f1"] > 0.8
    assert values["ranking_loss"] < 0.1
    for name in ("set_loss", "average_precision", "ranking_loss"):
        low, high = values["intervals"][name]
        assert low <= values[name] <= high


def test_one_label_each_is_still_the_svm(pinakes, corpus):
    assert pinakes("train", "one.jsonl", *TRAIN).code == 0
    assert json.loads(pinakes("info", "m.pinakes").out)["method"] == "TaxonomySVC"
    assert pinakes("train", "sets.jsonl", *TRAIN, "--labels", "first").code == 0
    assert json.loads(pinakes("info", "m.pinakes").out)["method"] == "TaxonomySVC"
    left = pinakes("predict", "m.pinakes", "new.jsonl", "--sets")
    assert left.code == 1
    assert "a label set was asked for, and the model was trained on one label a document" in left.err


@pytest.mark.parametrize(
    ("method", "estimator"), [("coupled", "CoupledSVC"), ("minover", "MinOverPerceptron"), ("rank", "TaxonomyRankSVC")]
)
def test_every_method_takes_label_sets(pinakes, corpus, method, estimator):
    left = pinakes("train", "sets.jsonl", *TRAIN, "--method", method, *QUICK, "--closed")
    assert left.code == 0, left.err
    assert json.loads(pinakes("info", "m.pinakes").out)["method"] == estimator
    out = pinakes("predict", "m.pinakes", "new.jsonl", "--sets", "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(out)))
    found = {}
    for row in rows:
        found.setdefault(row["id"], set()).add(row["label"])
    for labels in found.values():  # closed upward
        assert {label.split("/")[0] for label in labels} <= labels
    values = json.loads(pinakes("evaluate", "m.pinakes", "new.jsonl").out)
    assert values["hierarchical_f1"] > 0.8


def test_an_ancestor_is_implied_unless_every_label_counts(pinakes, place):
    rows = [row | {"labels": [*row["labels"], row["labels"][0].split("/")[0]]} for row in sets()]
    Path("sets.jsonl").write_text(json_lines(rows))
    assert pinakes("train", "sets.jsonl", *TRAIN, *QUICK).code == 0
    assert load("m.pinakes").model.classes_.tolist() == sorted(WORDS)
    assert pinakes("train", "sets.jsonl", *TRAIN, *QUICK, "--every-label").code == 0
    assert load("m.pinakes").model.classes_.tolist() == sorted([*WORDS, "animal", "plant"])


def test_several_parents_are_no_trouble(pinakes, corpus):
    Path("taxonomy.tsv").write_text(TAXONOMY + "plant\tanimal/cat\tCat\n")
    left = pinakes("train", "sets.jsonl", *TRAIN, *QUICK)
    assert left.code == 0, left.err
    assert json.loads(pinakes("evaluate", "m.pinakes", "new.jsonl").out)["hierarchical_f1"] > 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "svm"], "sets.jsonl:5: this method takes one label a document, got several in 33 of 120"),
        (["--labels", "error"], "this method takes one label a document, got several in"),
        (["--scoring", "accuracy"], "--scoring does not go with --method coupled: that method has no such setting"),
        (["--C", "auto"], "--C auto is for --method svm; give a value"),
        (["--node-weight", "auto"], "--node-weight auto is for --method svm; give a value"),
        (["--C", "-1"], "--C must be a number > 0, got -1.0"),
        (["--cut", "best"], "--cut must be one of 'learned', 'micro-f1', 'macro-f1', a whole number >= 1"),
        (["--cut", "0"], "--cut must be one of 'learned', 'micro-f1', 'macro-f1', a whole number >= 1"),
        (["--method", "coupled", "--loss", "tree"], "--loss does not go with --method coupled"),
        (["--method", "minover", "--C", "1"], "--C does not go with --method minover"),
        (["--method", "perceptron", "--cut", "2"], "--cut does not go with --method perceptron"),
        (["--method", "svm", "--labels", "first", "--closed"], "--closed does not go with --method svm"),
    ],
)
def test_what_is_refused(pinakes, corpus, options, message):
    left = pinakes("train", "sets.jsonl", *TRAIN, *options)
    assert left.code == 1
    assert message in left.err
    assert not Path("m.pinakes").exists()


def test_sets_and_a_number_of_labels_do_not_go_together(pinakes, corpus):
    assert pinakes("train", "sets.jsonl", *TRAIN, "--cut", "2").code == 0
    left = pinakes("predict", "m.pinakes", "new.jsonl", "--sets", "--top", "3")
    assert left.code == 1
    assert "--top does not go with --sets: the answer is a set of its own size" in left.err
    lines = [json.loads(line) for line in pinakes("predict", "m.pinakes", "new.jsonl", "--sets").out.splitlines()]
    assert {len(line["labels"]) for line in lines} == {2}
