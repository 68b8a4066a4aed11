"""`pinakes explain` end to end: texts, documents, nodes, training documents, and mistakes told in one line."""

from __future__ import annotations

import json

import pytest
from cli_corpus import call

TEXT = "A kitten: purr, whisker and BARK!"


def test_a_text_is_explained(pinakes):
    left = pinakes("explain", "text.pinakes", "--text", TEXT)
    assert left.code == 0
    assert left.err == ""
    head, path = left.out.splitlines()[:2]
    assert head.startswith("Cat  animal/cat  +")
    assert path == "Animals > Cat"
    assert "kitten[+" in left.out
    assert "BARK[-" in left.out
    assert "not known: A, and" in left.out
    assert "\x1b" not in left.out, "no colour where nobody looks"
    assert all(line == line.rstrip() for line in left.out.splitlines())


def test_parts_add_up_in_json(pinakes, place):
    answers = pinakes("predict", "text.pinakes", "docs.jsonl", "--top", "2").out.splitlines()
    left = pinakes("explain", "text.pinakes", "docs.jsonl", "--json")
    assert left.code == 0
    told = [json.loads(line) for line in left.out.splitlines()]
    assert len(told) == 60
    for why, line in zip(told, answers, strict=True):
        answer = json.loads(line)
        best = answer["labels"][0]
        assert {name: why[name] for name in ("id", "label", "path")} == {"id": answer["id"], **{
            name: best[name] for name in ("label", "path")
        }}  # fmt: skip
        assert why["score"] == pytest.approx(best["score"], abs=1e-5)
        assert why["confidence"] == pytest.approx(best["confidence"], abs=1e-5)
        assert sum(part["score"] for part in why["words"]) + why["bias"] == pytest.approx(why["score"], abs=1e-4)
    left = pinakes("explain", "text.pinakes", "docs.jsonl", "--json", "--against", "next")
    for line, answer in zip(left.out.splitlines(), answers, strict=True):
        first, second = json.loads(answer)["labels"]
        why = json.loads(line)
        assert why["against"]["label"] == second["label"]
        assert why["score"] == pytest.approx(first["score"] - second["score"], abs=1e-5)


def test_documents_stand_under_their_ids(pinakes, place):
    left = pinakes("explain", "text.pinakes", "docs.jsonl", "--label", "plant/tree", "--words", "2")
    assert left.code == 0
    assert left.out.startswith("d0 ──")
    assert "\n\nd59 ──" in left.out
    assert left.out.count("Tree  plant/tree  ") == 60
    assert "the other" in left.out


def test_vectors_are_explained_too(pinakes):
    left = pinakes("explain", "vectors.pinakes", "vectors.svm", "--against", "plant/herb")
    assert left.code == 0
    assert "x4" in left.out


def test_colour_is_for_terminals_that_want_it(pinakes, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    out = pinakes("explain", "text.pinakes", "--text", TEXT).out
    assert "mkitten\x1b[0m" in out
    assert "kitten[+" not in out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "kitten[+" in pinakes("explain", "text.pinakes", "--text", TEXT).out


def test_words_of_nodes(pinakes):
    left = pinakes("explain", "text.pinakes", "--node", "animal", "--words", "2")
    assert left.code == 0
    assert "animal/cat Cat" in left.out
    assert "plant" not in left.out
    told = [json.loads(line) for line in pinakes("explain", "text.pinakes", "--node", "all", "--json").out.splitlines()]
    assert [node["node"] for node in told][:2] == ["animal", "plant"]
    assert len(told) == 6
    assert all(weight > 0 for node in told for _, weight in node["speak_for"])


def test_training_documents_are_kept_if_asked_for(pinakes, place):
    args = ["docs.jsonl", "-t", "taxonomy.tsv", "-o", "kept.pinakes", "--keep-documents", "--bias"]
    left = pinakes("train", *args)
    assert left.code == 0
    assert " documents, 0.0 MB" in left.err
    n_kept = json.loads(pinakes("info", "kept.pinakes").out)["training"]["kept_documents"]
    assert f"keeps {n_kept} documents" in left.err
    assert (place / "kept.pinakes").stat().st_size > (place / "text.pinakes").stat().st_size
    left = pinakes("explain", "kept.pinakes", "docs.jsonl", "--documents", "100", "--json")
    rows = {row["id"]: row for row in map(json.loads, (place / "docs.jsonl").read_text().splitlines())}
    for why in map(json.loads, left.out.splitlines()):
        assert 0 < len(why["documents"]) <= n_kept
        assert sum(part["score"] for part in why["documents"]) + why["bias"] == pytest.approx(why["score"], abs=1e-3)
        for part in why["documents"]:
            assert part["title"] == rows[part["document"]]["text"]
            assert [part["label"]] == rows[part["document"]]["labels"]
    left = pinakes("explain", "kept.pinakes", "--text", TEXT, "--documents", "2")
    assert "training document" in left.out
    assert "all others" in left.out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "say what to explain: --text TEXT, DOCS or --node ID, got none"),
        (["docs.jsonl", "--text", "x"], "say what to explain: --text TEXT, DOCS or --node ID, one of them"),
        (["--text", "x", "--node", "animal"], "--node tells of words, not of documents: leave out --text"),
        (["--label", "animal/cat", "--node", "animal"], "leave out --label"),
        (
            ["--text", "x", "--label", "animal/cta"],
            "--label must be a category that the model knows, got 'animal/cta' (",
        ),
        (["--text", "x", "--against", "animal"], "--against must be a category that the model knows, got 'animal'"),
        (["--text", "x", "--documents", "3"], "which the model has not kept: train it with --keep-documents"),
        (["--node", "anmal"], "'anmal' is not in the taxonomy of 6 nodes (closest: 'animal'"),
        (["none.jsonl"], "none.jsonl"),
    ],
)
def test_mistakes_are_told_in_one_line(pinakes, args, message):
    left = pinakes("explain", "text.pinakes", *args)
    assert left.code == 1
    assert message in left.err
    assert left.err.count("\n") == 1
    assert left.out == ""


def test_hashed_words_and_bad_lines(pinakes, place):
    assert call("train", "docs.jsonl", "-t", "taxonomy.tsv", "-o", "hashed.pinakes", "--hashing", "64") == 0
    left = pinakes("explain", "hashed.pinakes", "--text", TEXT)
    assert left.code == 0
    assert "kitten" in left.out.split("word ")[1]
    assert "hashed features have no names" in pinakes("explain", "hashed.pinakes", "--node", "animal").err
    (place / "bad.jsonl").write_text('{"id": "one", "text": "purr"}\nnothing\n')
    left = pinakes("explain", "text.pinakes", "bad.jsonl", "--on-error", "skip")
    assert left.code == 0
    assert "skipped bad.jsonl:2" in left.err
    args = ["docs.jsonl", "-t", "taxonomy.tsv", "-o", "p.pinakes", "--method", "perceptron"]
    assert "--keep-documents does not go with --method perceptron" in pinakes("train", *args, "--keep-documents").err
    assert pinakes("train", *args).code == 0
    assert "Cat  animal/cat" in pinakes("explain", "p.pinakes", "--text", TEXT).out
