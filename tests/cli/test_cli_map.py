"""`pinakes map` end to end: pages and pictures from documents and from models, and mistakes told in one line."""

from __future__ import annotations

import json

import pytest
from cli_corpus import documents, json_lines


def test_page_and_picture_from_documents(pinakes, place):
    left = pinakes("map", "docs.jsonl", "-t", "taxonomy.tsv", "-o", "map.html")
    assert left.code == 0
    assert left.err == "map.html: 60 documents, 4 categories, 2 branches; HLSI and LSI\n"
    text = (place / "map.html").read_text(encoding="utf-8")
    assert "Animals > Cat" in text
    assert "<title>docs.jsonl</title>" in text
    assert pinakes("map", "docs.jsonl", "-t", "taxonomy.tsv", "-o", "map.html", "--method", "lsi").err.endswith(
        "; LSI\n"
    )


def test_picture_of_a_branch(pinakes, place):
    pytest.importorskip("matplotlib")
    left = pinakes("map", "docs.jsonl", "-t", "taxonomy.tsv", "-o", "m.png", "--branch", "animal", "--title", "Animals")
    assert left.code == 0
    assert left.err == "m.png: 30 documents, 2 categories, 2 branches; HLSI and LSI\n"
    assert (place / "m.png").read_bytes().startswith(b"\x89PNG")


def test_model_answers_for_documents_without_labels(pinakes, place):
    rows = [{"id": row["id"], "text": row["text"]} for row in documents(12)]
    (place / "new.jsonl").write_text(json_lines(rows))
    assert pinakes("map", "text.pinakes", "new.jsonl", "-o", "map.html").code == 0
    text = (place / "map.html").read_text(encoding="utf-8")
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert sorted(category[0] for category in data["categories"]) == ["Cat", "Dog", "Herb", "Tree"]
    assert data["titles"][0].startswith("d0: ")


def test_vectors_are_drawn_too(pinakes):
    left = pinakes("map", "vectors.svm", "-t", "taxonomy.tsv", "-o", "map.html")
    assert left.code == 0
    assert left.err.startswith("map.html: 20 documents")
    assert pinakes("map", "vectors.pinakes", "vectors.svm", "-o", "map.html").code == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["docs.jsonl", "-o", "m.html"], "say where the labels come from: --taxonomy FILE, or give a model first"),
        (
            ["docs.jsonl", "-t", "taxonomy.tsv", "-o", "m.gif"],
            "expected a name that ends in .html, .png, .svg, .pdf, got",
        ),
        (["text.pinakes", "-o", "m.html"], "expected documents to draw after the model, got none"),
        (["docs.jsonl", "-t", "taxonomy.tsv", "-o", "no/m.html"], "does not exist; make it first"),
        (["docs.jsonl", "-t", "taxonomy.tsv", "-o", "m.html", "--gamma", "-1"], "--gamma must be a number > 0 or 'cv'"),
        (["docs.jsonl", "-t", "taxonomy.tsv", "-o", "m.html", "--branch", "anmal"], "--branch 'anmal' is not in the"),
        (["bad.jsonl", "-t", "taxonomy.tsv", "-o", "m.html"], "bad.jsonl:1: the label 'worm' is not in the taxonomy"),
        (["two.jsonl", "-t", "taxonomy.tsv", "-o", "m.html"], "expected three documents or more to draw, got 2"),
    ],
)
def test_mistakes_are_told_in_one_line(pinakes, place, args, message):
    (place / "bad.jsonl").write_text(json_lines([{"id": 1, "text": "a b", "labels": ["worm"]}] * 3))
    (place / "two.jsonl").write_text(json_lines(documents(2)))
    left = pinakes("map", *args)
    assert left.code == 1
    assert message in left.err
    assert left.err.count("\n") == 1
    assert not (place / "m.html").exists()


def test_bad_documents_may_be_passed_over(pinakes, place):
    rows = [*documents(12), {"id": "x", "text": "a worm", "labels": ["worm"]}]
    (place / "some.jsonl").write_text(json_lines(rows))
    left = pinakes("map", "some.jsonl", "-t", "taxonomy.tsv", "-o", "map.html", "--on-error", "skip")
    assert left.code == 0
    assert "skipped some.jsonl:13" in left.err
    assert "map.html: 12 documents" in left.err
