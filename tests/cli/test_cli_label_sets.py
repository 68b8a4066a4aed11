"""`--method perceptron` end to end: label sets in train, predict, evaluate and info, and what it refuses."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from cli_corpus import TAXONOMY, WORDS, documents, json_lines

from pinakes import metrics
from pinakes.storage import load
from pinakes.taxonomy import Taxonomy

TRAIN = ("-t", "taxonomy.tsv", "-o", "m.pinakes", "--method", "perceptron")


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
def trained_on_sets(pinakes):
    Path("sets.jsonl").write_text(json_lines(sets()))
    Path("new.jsonl").write_text(json_lines(sets(40, seed=2)))
    left = pinakes("train", "sets.jsonl", *TRAIN)
    assert left.code == 0, left.err
    assert "120 documents, 4 categories" in left.err
    assert "4,000 steps" in left.err


def test_label_sets_go_through_all_verbs(pinakes, trained_on_sets):
    left = pinakes("predict", "m.pinakes", "new.jsonl", "--top", "4")
    assert left.code == 0, left.err
    lines = [json.loads(line) for line in left.out.splitlines()]
    assert [line["id"] for line in lines] == [row["id"] for row in sets(40, seed=2)]
    chosen = [[a["label"] for a in line["labels"] if a["score"] > 0] for line in lines]
    for line in lines:
        values = [a["score"] for a in line["labels"]]
        assert values == sorted(values, reverse=True)
        assert all(0 <= a["confidence"] <= 1 for a in line["labels"])
        assert set(line["labels"][0]) == {"label", "name", "path", "score", "confidence"}
    left = pinakes("evaluate", "m.pinakes", "new.jsonl")
    assert left.code == 0, left.err
    values = json.loads(left.out)
    assert values["n_documents"] == 40
    assert values["hierarchical_f1"] > 0.8
    assert values["intervals"]["set_loss"][0] <= values["set_loss"] <= values["intervals"]["set_loss"][1]
    Path("t.tsv").write_text(TAXONOMY)
    taxonomy = Taxonomy.load("t.tsv")
    truth = [row["labels"] for row in sets(40, seed=2)]
    answers = load("m.pinakes").predict([str(row["text"]) for row in sets(40, seed=2)])
    assert values["micro_f1"] == pytest.approx(metrics.micro_f1(truth, answers, taxonomy), abs=1e-6)
    known = [[k for k in few if k in WORDS] for few in answers]
    assert [sorted(few) for few in chosen] == [sorted(few) for few in known]
    info = json.loads(pinakes("info", "m.pinakes").out)
    assert info["method"] == "StochasticPerceptron"
    assert info["training"]["rounds"] == 4000
    assert "gap" not in info["training"]


def test_one_label_each_is_one_answer_each(pinakes):
    Path("one.jsonl").write_text(json_lines(documents()))
    assert pinakes("train", "one.jsonl", *TRAIN, "--max-iter", "500").code == 0
    values = json.loads(pinakes("evaluate", "m.pinakes", "one.jsonl").out)
    assert values["accuracy"] == 1.0
    assert load("m.pinakes").model.n_iter_ == 500


def test_first_labels_only(pinakes):
    Path("sets.jsonl").write_text(json_lines(sets()))
    assert pinakes("train", "sets.jsonl", *TRAIN, "--labels", "first").code == 0
    assert load("m.pinakes").model.form_ == "single"


def test_a_time_budget_ends_training_with_a_model(pinakes):
    Path("sets.jsonl").write_text(json_lines(sets()))
    left = pinakes("train", "sets.jsonl", *TRAIN, "--max-seconds", "0.000001", "--max-iter", "1000000")
    assert left.code == 0, left.err
    assert "stopped after 1e-06 s, with 256 of 1,000,000 iterations made: raise --max-seconds" in left.err
    assert pinakes("predict", "m.pinakes", "sets.jsonl").code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tol", "0.1"], "--tol does not go with --method perceptron: that method has no such setting"),
        (["--C", "1"], "--C does not go with --method perceptron"),
        (["--max-iter", "0"], "--max-iter must be a whole number >= 1, got 0"),
        (["--max-seconds", "-1"], "--max-seconds must be a number > 0, got -1.0"),
    ],
)
def test_what_is_refused(pinakes, options, message):
    left = pinakes("train", "docs.jsonl", *TRAIN, *options)
    assert left.code == 1
    assert message in left.err
    assert not Path("m.pinakes").exists()


def test_a_method_of_one_label_still_refuses_sets(pinakes):
    Path("sets.jsonl").write_text(json_lines(sets()))
    left = pinakes("train", "sets.jsonl", "-t", "taxonomy.tsv", "-o", "m.pinakes", "--method", "svm")
    assert left.code == 1
    assert "this method takes one label a document" in left.err


def test_a_lattice_is_refused(pinakes):
    Path("taxonomy.tsv").write_text(TAXONOMY + "plant\tanimal/cat\tCat\n")
    left = pinakes("train", "docs.jsonl", *TRAIN)
    assert left.code == 1
    assert "StochasticPerceptron needs a tree, and 'animal/cat'" in left.err
