"""`--decision` end to end: what predict writes, what evaluate measures, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli_corpus import documents, json_lines

from pinakes import metrics
from pinakes.storage import load


def answers(left):
    assert left.code == 0, left.err
    return {line["id"]: line["labels"] for line in map(json.loads, left.out.splitlines())}


def test_predict_stops_where_it_is_unsure(pinakes):
    rows = [
        {"id": "sure", "text": "purr whisker kitten meow"},
        {"id": "branch", "text": "purr kitten bark puppy"},
        {"id": "strange", "text": "zzz"},
    ]
    Path("new.jsonl").write_text(json_lines(rows))
    found = answers(pinakes("predict", "text.pinakes", "new.jsonl", "--decision", "expected-loss"))
    assert [a["label"] for a in found["sure"]] == ["animal/cat"]
    assert found["strange"] == []
    model = load("text.pinakes")
    for name, few in found.items():
        for answer in few:
            P = model.probabilities([next(row["text"] for row in rows if row["id"] == name)])
            assert answer["confidence"] == pytest.approx(P[0, model.model.taxonomy_.index(answer["label"])], abs=1e-6)
    deep = answers(pinakes("predict", "text.pinakes", "new.jsonl", "--decision", "confidence:0.5"))
    assert set(deep["sure"][0]) == {"label", "name", "path", "score", "confidence"}
    many = answers(pinakes("predict", "text.pinakes", "new.jsonl", "--decision", "sets:0.99"))
    assert len(many["strange"]) == 4
    silent = ("predict", "text.pinakes", "new.jsonl", "--decision", "coverage:0.99")
    assert answers(pinakes(*silent))["strange"] == []
    assert "strange,,,,,," in pinakes(*silent, "--format", "csv").out.splitlines()
    assert re.search(r"^ *strange +– +nothing said *$", pinakes(*silent, "--format", "table").out, re.MULTILINE)


@pytest.mark.parametrize(
    "decision", ["expected-loss", "confidence:0.6", "abstain", "abstain:0.9", "coverage:0.8", "sets:0.8"]
)
def test_evaluate_measures_what_is_decided(pinakes, decision):
    left = pinakes("evaluate", "text.pinakes", "docs.jsonl", "--decision", decision)
    assert left.code == 0, left.err
    values = json.loads(left.out)
    model = load("text.pinakes")
    given = [[a.label for a in few] for few in model.decide([str(row["text"]) for row in documents()], decision)]
    truth = [row["labels"] for row in documents()]
    expected = metrics.set_loss(truth, given, model.model.taxonomy_)
    name = "set_loss" if decision.startswith("sets") else "delta_loss"
    assert values[name] == pytest.approx(expected, abs=1e-6)
    assert values["intervals"][name][0] <= values[name] <= values["intervals"][name][1]
    assert values["decision"] == decision
    assert values["answered"] == pytest.approx(sum(map(bool, given)) / len(given), abs=1e-6)
    held = [
        not few or any(t == k or t.startswith(f"{k}/") for k in few) for (t,), few in zip(truth, given, strict=True)
    ]
    assert values["coverage"] == pytest.approx(sum(held) / len(held), abs=1e-6)
    assert pinakes("evaluate", "text.pinakes", "docs.jsonl", "--decision", decision, "--format", "table").code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--decision", "confidence:2"], "'confidence' needs a number between 0 and 1, as in confidence:0.9"),
        (["--decision", "expected"], "got 'expected' (closest: 'expected-loss')"),
        (["--decision", "coverage"], "'coverage' needs a number between 0 and 1: coverage:0.9"),
        (["--decision", "abstain", "--top", "3"], "--top does not go with --decision abstain"),
        (["--decision", "abstain", "--below", "animal"], "--below does not go with --decision abstain"),
    ],
)
def test_what_is_refused(pinakes, options, message):
    left = pinakes("predict", "text.pinakes", "docs.jsonl", *options)
    assert left.code == 1
    assert message in left.err
    assert left.err.count("\n") == 1
