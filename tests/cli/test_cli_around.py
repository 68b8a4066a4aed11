"""The command line around learning: settings it chooses, class weights, a bias, and parts of the taxonomy."""

from __future__ import annotations

import json

import pytest
from cli_corpus import WORDS

from pinakes import load

TRAIN = ("--taxonomy", "taxonomy.tsv", "--out", "m.pinakes")


def test_auto_tries_and_tells(pinakes):
    left = pinakes("train", "docs.jsonl", *TRAIN, "--C", "auto", "--node-weight", "auto")
    assert (left.code, left.out) == (0, "")
    table = [line.split() for line in left.err.splitlines() if line.strip()]
    assert table[0] == ["C", "node_weight", "delta_loss", "seconds", "chosen"]
    assert sum(row[-1:] == ["*"] for row in table) == 1
    tried = json.loads(pinakes("info", "m.pinakes").out)["training"]["search"]
    assert [row["C"] for row in tried[:5]] == [0.1, 0.2, 0.5, 1.0, 2.0]
    assert {row["node_weight"] for row in tried} == {"normalized", "flat"}
    chosen = next(row for row in tried if row["chosen"])
    assert chosen["delta_loss"] == min(row["delta_loss"] for row in tried)
    model = load("m.pinakes").model
    assert (model.C, model.node_weight) == (chosen["C"], chosen["node_weight"])
    assert json.loads(pinakes("evaluate", "m.pinakes", "docs.jsonl").out)["accuracy"] == 1.0


def test_auto_looks_for_what_it_is_told(pinakes):
    left = pinakes("train", "docs.jsonl", *TRAIN, "--C", "auto", "--scoring", "accuracy", "--loss", "zero-one")
    assert left.code == 0
    assert left.err.split()[:3] == ["C", "node_weight", "accuracy"]
    assert load("m.pinakes").model.loss == "zero-one"
    left = pinakes("train", "docs.jsonl", *TRAIN, "--C", "auto", "--scoring", "acuracy")
    assert left.code == 1
    assert "there is no metric 'acuracy' (closest: 'accuracy'" in left.err
    left = pinakes("train", "docs.jsonl", *TRAIN, "--scoring", "accuracy")
    assert left.code == 1
    assert left.err.startswith("pinakes: --scoring is for --C auto and --node-weight auto;")
    left = pinakes("train", "docs.jsonl", *TRAIN, "--C", "automatic")
    assert left.code == 1
    assert "expected a number or auto, got 'automatic'" in left.err


def test_balance_and_bias_reach_the_model(pinakes):
    assert pinakes("train", "docs.jsonl", *TRAIN, "--balanced", "--bias").code == 0
    model = load("m.pinakes").model
    assert (model.class_weight, model.fit_intercept) == ("balanced", True)
    assert json.loads(pinakes("evaluate", "m.pinakes", "docs.jsonl").out)["accuracy"] == 1.0


def test_below_ranks_a_part_of_the_taxonomy(pinakes):
    whole = pinakes("predict", "text.pinakes", "docs.jsonl", "--top", "9")
    part = pinakes("predict", "text.pinakes", "docs.jsonl", "--top", "9", "--below", "animal")
    assert (part.code, part.err) == (0, "")
    inside = {label for label in WORDS if label.startswith("animal/")}
    for all_of, some in zip(whole.out.splitlines(), part.out.splitlines(), strict=True):
        wanted = [row for row in json.loads(all_of)["labels"] if row["label"] in inside]
        got = json.loads(some)["labels"]
        assert [row["label"] for row in got] == [row["label"] for row in wanted]
        assert [row["score"] for row in got] == pytest.approx([row["score"] for row in wanted], abs=2e-6)
        assert sum(row["confidence"] for row in got) == pytest.approx(1, abs=1e-5)
    left = pinakes("predict", "text.pinakes", "docs.jsonl", "--below", "animals")
    assert left.code == 1
    assert "'animals' is not in the taxonomy of 6 nodes (closest: 'animal'" in left.err
