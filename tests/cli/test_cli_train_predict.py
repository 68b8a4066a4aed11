"""train, evaluate, predict, info and demo end to end: every format of documents, taxonomies and answers."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import sys
from collections import Counter
from pathlib import Path

import pytest
from cli_corpus import TAXONOMY, WORDS, documents, json_lines

from pinakes import metrics
from pinakes.storage import load
from pinakes.taxonomy import Taxonomy

TRAIN = ("-t", "taxonomy.tsv", "-o", "m.pinakes")


def write_jsonl(rows):
    Path("x.jsonl").write_text(json_lines(rows))
    return "x.jsonl", ()


def write_gz(rows):
    Path("x.jsonl.gz").write_bytes(gzip.compress(json_lines(rows).encode()))
    return "x.jsonl.gz", ()


def write_xz(rows):
    Path("x.jsonl.xz").write_bytes(lzma.compress(json_lines(rows).encode()))
    return "x.jsonl.xz", ()


def write_csv(rows):
    with open("x.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["key", "body", "category"])
        out.writerows([row["id"], row["text"], row["labels"][0]] for row in rows)
    return "x.csv", ("--id-column", "key", "--text-column", "body", "--label-column", "category")


def write_annif_tsv(rows):
    Path("x.tsv").write_text("".join(f"{row['text']}\t<{row['labels'][0]}>\n" for row in rows))
    return "x.tsv", ("--docs-format", "annif-tsv")


def write_annif_jsonl(rows):
    rows = [
        {"document_id": row["id"], "text": row["text"], "subjects": [{"uri": row["labels"][0], "label": "?"}]}
        for row in rows
    ]
    return write_jsonl(rows)


def write_folder(rows):
    for row in rows:
        folder = Path("x") / row["labels"][0]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{row['id']}.txt").write_text(row["text"])
    return "x", ()


def write_libsvm(rows):
    vocabulary = sorted({word for row in rows for word in row["text"].split()})
    lines = []
    for row in rows:
        numbers = sorted({vocabulary.index(word) + 1 for word in row["text"].split()})
        lines.append(row["labels"][0] + "".join(f" {k}:1" for k in numbers))
    Path("x.svm").write_text("\n".join(lines) + "\n")
    return "x.svm", ()


WRITERS = [
    write_jsonl,
    write_gz,
    write_xz,
    write_csv,
    write_annif_tsv,
    write_annif_jsonl,
    write_folder,
    write_libsvm,
]


@pytest.mark.parametrize("write", WRITERS)
def test_every_format_of_documents(pinakes, write):
    rows = documents()
    file, options = write(rows)
    left = pinakes("train", file, *TRAIN, *options)
    assert left.code == 0
    assert left.out == ""
    assert left.err.startswith("m.pinakes: 60 documents, 4 categories, ")
    assert left.err.count("\n") == 1

    left = pinakes("evaluate", "m.pinakes", file, *options)
    assert (left.code, left.err) == (0, "")
    assert json.loads(left.out)["accuracy"] == 1.0

    left = pinakes("predict", "m.pinakes", file, "--top", "2", *options)
    assert (left.code, left.err) == (0, "")
    answers = [json.loads(line) for line in left.out.splitlines()]
    assert len(answers) == 60
    assert all(len(answer["labels"]) == 2 for answer in answers)
    truth = {row["text"]: row["labels"][0] for row in rows}
    if write not in (write_folder, write_annif_tsv, write_libsvm):
        assert [answer["id"] for answer in answers] == [row["id"] for row in rows]
        assert [answer["labels"][0]["label"] for answer in answers] == [row["labels"][0] for row in rows]
    assert sorted(answer["labels"][0]["label"] for answer in answers) == sorted(truth[row["text"]] for row in rows)


SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix x: <http://x.org/> .
x:animal a skos:Concept ; skos:prefLabel "Animals"@en, "Tiere"@de .
x:plant a skos:Concept ; skos:prefLabel "Plants"@en, "Pflanzen"@de .
x:cat a skos:Concept ; skos:prefLabel "Cats"@en, "Katzen"@de ; skos:broader x:animal .
x:tree a skos:Concept ; skos:prefLabel "Trees"@en, "Bäume"@de ; skos:broader x:plant .
"""


def test_a_skos_taxonomy_with_names_in_a_language(pinakes, place):
    pytest.importorskip("rdflib")
    (place / "t.ttl").write_text(SKOS)
    uri = {"animal/cat": "http://x.org/cat", "plant/tree": "http://x.org/tree"}
    rows = [row | {"labels": [uri[row["labels"][0]]]} for row in documents() if row["labels"][0] in uri]
    (place / "x.jsonl").write_text(json_lines(rows))
    left = pinakes("train", "x.jsonl", "-t", "t.ttl", "-o", "m.pinakes", "--language", "de")
    assert left.code == 0, left.err
    left = pinakes("predict", "m.pinakes", "x.jsonl", "--top", "1")
    answers = [json.loads(line)["labels"][0] for line in left.out.splitlines()]
    assert [answer["label"] for answer in answers] == [row["labels"][0] for row in rows]
    assert {tuple(answer["path"]) for answer in answers} == {("Tiere", "Katzen"), ("Pflanzen", "Bäume")}


def test_answers_are_those_of_the_library(pinakes, place):
    left = pinakes("predict", "text.pinakes", "docs.jsonl", "--top", "3")
    ranked = load(place / "text.pinakes").rank([row["text"] for row in documents()], top=3)
    for line, answers in zip(left.out.splitlines(), ranked, strict=True):
        shown = json.loads(line)["labels"]
        assert shown == [answer.to_dict() for answer in answers]
        assert list(shown[0]) == ["label", "name", "path", "score", "confidence"]
        assert [row["confidence"] for row in shown] == sorted((row["confidence"] for row in shown), reverse=True)


def test_more_answers_than_categories_gives_all_of_them(pinakes):
    left = pinakes("predict", "text.pinakes", "docs.jsonl", "--top", "99")
    rows = json.loads(left.out.splitlines()[0])["labels"]
    assert sorted(row["label"] for row in rows) == sorted(WORDS)
    assert sum(row["confidence"] for row in rows) == pytest.approx(1, abs=1e-5)


def test_csv_and_table_hold_the_same_as_json_lines(pinakes):
    lines = [json.loads(line) for line in pinakes("predict", "text.pinakes", "docs.jsonl").out.splitlines()]
    table = list(csv.DictReader(io.StringIO(pinakes("predict", "text.pinakes", "docs.jsonl", "--format", "csv").out)))
    expected = [(line["id"], str(k), row) for line in lines for k, row in enumerate(line["labels"], start=1)]
    assert len(table) == len(expected)
    for row, (id, rank, answer) in zip(table, expected, strict=True):
        assert (row["id"], row["rank"], row["label"], row["name"]) == (id, rank, answer["label"], answer["name"])
        assert row["path"] == " > ".join(answer["path"])
        assert float(row["confidence"]) == pytest.approx(answer["confidence"], abs=2e-6)
        assert float(row["score"]) == pytest.approx(answer["score"], abs=2e-6)
    left = pinakes("predict", "text.pinakes", "docs.jsonl", "--format", "table", "--top", "1")
    assert (left.code, left.err) == (0, "")
    assert "\x1b" not in left.out
    assert left.out.split()[:5] == ["id", "label", "path", "score", "confidence"]
    body = [line.split() for line in left.out.splitlines() if line.lstrip().startswith("d")]
    assert [cells[:2] for cells in body] == [[line["id"], line["labels"][0]["label"]] for line in lines]


def test_standard_input(pinakes, place, monkeypatch):
    text = (place / "docs.jsonl").read_bytes()
    expected = pinakes("predict", "text.pinakes", "docs.jsonl").out
    for args in (["predict", "text.pinakes", "-"], ["evaluate", "text.pinakes", "-"], ["train", "-", *TRAIN]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        left = pinakes(*args)
        assert left.code == 0
        if args[0] == "predict":
            assert left.out == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TAXONOMY.encode())))
    assert pinakes("train", "docs.jsonl", "-t", "-", "--taxonomy-format", "tsv", "-o", "n.pinakes").code == 0
    assert load("n.pinakes").model.taxonomy_ == load("m.pinakes").model.taxonomy_


def test_several_files_are_one_corpus(pinakes, place):
    rows = documents()
    (place / "a.jsonl").write_text(json_lines(rows[:30]))
    (place / "b.jsonl").write_text(json_lines(rows[30:]))
    assert pinakes("train", "a.jsonl", "b.jsonl", *TRAIN).code == 0
    once = pinakes("predict", "text.pinakes", "docs.jsonl")
    assert pinakes("predict", "m.pinakes", "a.jsonl", "b.jsonl").out == once.out


def test_several_labels(pinakes, place):
    rows = documents()
    rows[0]["labels"] = ["animal/cat", "plant/tree"]
    rows[1]["labels"] = ["plant/tree", "animal/dog"]  # the right one second
    (place / "x.jsonl").write_text(json_lines(rows))
    for verb in (["train", "x.jsonl", *TRAIN, "--method", "svm"], ["evaluate", "text.pinakes", "x.jsonl"]):
        left = pinakes(*verb)
        assert left.code == 1
        assert "x.jsonl:1: this method takes one label a document, got several in 2 of 60" in left.err
        assert ("--labels nearest" in left.err) == (verb[0] == "evaluate")
    assert pinakes("train", "x.jsonl", *TRAIN, "--labels", "first").code == 0
    first = json.loads(pinakes("evaluate", "text.pinakes", "x.jsonl", "--labels", "first").out)
    nearest = json.loads(pinakes("evaluate", "text.pinakes", "x.jsonl", "--labels", "nearest").out)
    assert first["accuracy"] == pytest.approx(59 / 60)
    assert nearest["accuracy"] == 1.0


def test_evaluate_agrees_with_the_metrics(pinakes, place):
    rows = documents()
    others = ["plant/tree", "animal/dog", "plant/tree", "plant/herb", "animal", "plant"]
    for row, other in zip(rows[:6], others, strict=True):
        row["labels"] = [other]
    (place / "x.jsonl").write_text(json_lines(rows))
    left = pinakes("evaluate", "text.pinakes", "x.jsonl")
    result = json.loads(left.out)
    assert (
        left.err
        == "pinakes: note: 2 of 60 documents have only labels without training documents; they count as mistakes\n"
    )
    classifier = load(place / "text.pinakes")
    answers = [str(k) for k in classifier.predict([row["text"] for row in rows])]
    truth = [row["labels"][0] for row in rows]
    taxonomy = Taxonomy.load(place / "taxonomy.tsv")
    assert result["n_documents"] == 60
    assert result["unseen_labels"] == 2
    assert result["accuracy"] == pytest.approx(sum(map(str.__eq__, truth, answers)) / 60)
    for name in ("parent_accuracy", "delta_loss", "hierarchical_f1"):
        assert result[name] == pytest.approx(metrics.METRICS[name](truth, answers, taxonomy))
    low, high = result["intervals"]["accuracy"]
    assert low <= result["accuracy"] <= high
    table = pinakes("evaluate", "text.pinakes", "x.jsonl", "--format", "table")
    for name, value in result.items():
        if name != "intervals":
            assert any(line.split()[:1] == [name] for line in table.out.splitlines())
            assert f"{value:.4f}" in table.out or f"{value:,}" in table.out


def test_skipping_says_what_and_why(pinakes, place):
    text = json_lines(documents()) + '{"text": "x", \n{"text": "y"}\n{"text": "z", "labels": ["a;b"]}\n' + "[]\n" * 4
    (place / "x.jsonl").write_text(text)
    left = pinakes("train", "x.jsonl", *TRAIN, "--on-error", "skip")
    lines = left.err.splitlines()
    assert left.code == 0
    assert all(line.startswith("pinakes: skipped x.jsonl:6") for line in lines[:5])
    assert "x.jsonl:61: expected one JSON object a line, got broken JSON" in lines[0]
    assert lines[5] == "pinakes: skipped 2 more (7 in all)"
    assert lines[6].startswith("m.pinakes: 60 documents")
    (place / "y.jsonl").write_text("".join(text.splitlines(keepends=True)[:63]))
    left = pinakes("evaluate", "text.pinakes", "y.jsonl", "--on-error", "skip")
    assert json.loads(left.out)["n_documents"] == 60
    assert left.err.splitlines()[1:] == [
        "pinakes: skipped y.jsonl:62: no label",
        "pinakes: skipped y.jsonl:63: the label 'a;b' is not in the taxonomy",
    ]
    left = pinakes("predict", "text.pinakes", "y.jsonl", "--on-error", "skip")
    assert len(left.out.splitlines()) == 62
    assert left.err.count("\n") == 1


def test_a_document_without_known_words_is_answered_with_low_confidence(pinakes, place):
    (place / "x.jsonl").write_text('{"id": "a", "text": "xyzzy"}\n{"id": "b", "text": ""}\n')
    left = pinakes("predict", "text.pinakes", "x.jsonl")
    assert (left.code, left.err) == (0, "")
    for line in left.out.splitlines():
        assert [row["confidence"] for row in json.loads(line)["labels"]] == pytest.approx([0.25] * 4, abs=1e-6)


def test_settings_reach_the_model(pinakes):
    options = (
        "--C 3 --loss zero-one --node-weight depth --tol 0.05 --max-iter 50 --ngrams 2 --min-df 3 --max-features 20"
    )
    assert pinakes("train", "docs.jsonl", *TRAIN, *options.split(), "--jobs", "1", "--seed", "5").code == 0
    info = json.loads(pinakes("info", "m.pinakes").out)
    wanted = {"C": 3.0, "loss": "zero-one", "node_weight": "depth", "tol": 0.05, "max_iter": 50}
    assert wanted.items() <= info["settings"].items()
    assert info["features"]["columns"] == 20
    assert (info["features"]["ngrams"], info["features"]["min_df"]) == ([1, 2], 3)
    assert pinakes("train", "docs.jsonl", *TRAIN, "--hashing", "64").code == 0
    assert json.loads(pinakes("info", "m.pinakes").out)["features"]["columns"] == 64
    assert pinakes("train", "docs.jsonl", *TRAIN, "--min-df", "0.1").code == 0
    assert json.loads(pinakes("info", "m.pinakes").out)["features"]["min_df"] == 0.1


def test_info(pinakes, place):
    left = pinakes("info", "text.pinakes")
    info = json.loads(left.out)
    assert (left.code, left.err) == (0, "")
    assert info["bytes"] == (place / "text.pinakes").stat().st_size
    assert info["documents"] == "text"
    assert info["taxonomy"] == {"nodes": 6, "leaves": 4, "roots": 2, "depth": 2, "shape": "tree"}
    assert info["classes"] == 4
    assert info["training"]["documents"] == 60
    table = pinakes("info", "text.pinakes", "--format", "table").out
    assert "taxonomy.nodes" in table
    assert json.loads(pinakes("info", "vectors.pinakes").out)["documents"] == "vectors"


def test_a_slow_solver_is_told_once(pinakes):
    left = pinakes("train", "docs.jsonl", *TRAIN, "--max-iter", "1", "--tol", "1e-6")
    assert left.code == 0
    warned, done = left.err.splitlines()
    assert warned.startswith("pinakes: warning: TaxonomySVC stopped after --max-iter=1 rounds")
    assert done.startswith("m.pinakes: 60 documents")


def test_features_numbered_from_zero(pinakes, place):
    (place / "z.svm").write_text("animal/cat 0:1\nplant/tree 1:1\n")
    left = pinakes("train", "z.svm", *TRAIN)
    assert left.code == 1
    assert left.err.startswith("pinakes: z.svm:1: feature numbers begin at 1, got 0;")
    assert left.err.endswith("set --zero-based\n")
    assert pinakes("train", "z.svm", *TRAIN, "--zero-based").code == 0
    assert json.loads(pinakes("evaluate", "m.pinakes", "z.svm", "--zero-based").out)["accuracy"] == 1.0


def test_a_library_model_without_features_can_be_asked(pinakes, place):
    from pinakes import TaxonomySVC, save

    taxonomy = Taxonomy.load(place / "taxonomy.tsv")
    save(TaxonomySVC(taxonomy).fit([[1.0, 0.0], [0.0, 1.0]], ["animal/cat", "plant/tree"]), place / "bare.pinakes")
    (place / "x.svm").write_text("1:1\n2:1\n")
    left = pinakes("predict", "bare.pinakes", "x.svm", "--top", "1")
    assert [json.loads(line)["labels"][0]["label"] for line in left.out.splitlines()] == ["animal/cat", "plant/tree"]


def test_demo(pinakes, place, monkeypatch):
    from pinakes import datasets

    taxonomy, train, test = datasets.load_wordnet_sample()
    frequent = {label for label, _ in Counter(labels[0] for labels in train.labels).most_common(12)}
    small = (
        taxonomy,
        train.take([i for i, labels in enumerate(train.labels) if labels[0] in frequent]),
        test.take(range(50)),
    )
    monkeypatch.setattr(datasets, "load_wordnet_sample", lambda: small)
    left = pinakes("demo", "a chair for cats", "--out", "demo.pinakes")
    assert (left.code, left.err) == (0, "")
    several = sum(len(labels) > 1 for labels in small[1].labels)
    assert several > 0
    assert f"{several} glosses are of several kinds" in left.out
    assert "Pinakes (learnt jointly)" in left.out
    assert "a chair for cats" in left.out
    assert "pinakes predict demo.pinakes" in left.out
    assert len(load(place / "demo.pinakes").rank(["a chair"], top=3)[0]) == 3
    left = pinakes("demo", "--out", "nowhere/demo.pinakes")
    assert (left.code, left.out) == (1, "")
    assert "does not exist; make it first" in left.err
