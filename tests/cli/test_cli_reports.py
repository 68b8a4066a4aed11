"""`pinakes evaluate --report` and `pinakes compare` end to end, and mistakes told in one line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from cli_corpus import TAXONOMY, WORDS, documents, json_lines

from pinakes import metrics
from pinakes.storage import load, origin
from pinakes.taxonomy import Taxonomy


def some_wrong(n=40):
    """Make documents of which every fifth has the label of another category."""
    rows = documents(n)
    names = sorted(WORDS)
    for i in range(0, n, 5):
        rows[i]["labels"] = [names[(names.index(rows[i]["labels"][0]) + 2) % 4]]
    return rows


@pytest.fixture
def other(pinakes, place):
    """Another model of the same taxonomy, from few documents of three categories, and documents to test on."""
    (place / "few.jsonl").write_text(json_lines([row for row in documents(12) if row["labels"] != ["plant/tree"]]))
    (place / "test.jsonl").write_text(json_lines(some_wrong()))
    left = pinakes("train", "few.jsonl", "-t", "taxonomy.tsv", "-o", "few.pinakes", "--min-df", "1")
    assert left.code == 0, left.err


def data_of(path):
    return json.loads(Path(path).read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0])


def test_a_report_beside_the_numbers(pinakes, place):
    (place / "test.jsonl").write_text(json_lines(some_wrong()))
    plain = pinakes("evaluate", "text.pinakes", "test.jsonl")
    left = pinakes("evaluate", "text.pinakes", "test.jsonl", "--report", "r.html", "--title", "Pets & plants")
    assert left.code == 0, left.err
    assert left.out == plain.out
    assert left.err.startswith("r.html: 40 documents, 6 nodes, ")
    text = Path("r.html").read_text(encoding="utf-8")
    assert "<title>Pets &amp; plants</title>" in text
    values = json.loads(left.out)
    assert f'<td class="n">{values["accuracy"]:.4f}</td>' in text
    assert set(values["intervals"]) == set(values) - {"n_documents", "unseen_labels", "intervals"}
    assert "pinakes evaluate text.pinakes test.jsonl --report r.html --title &#x27;Pets &amp; plants&#x27;" in text
    assert "pinakes train " in text
    assert origin("text.pinakes")["written"] in text
    nodes = data_of("r.html")["nodes"]
    assert sum(nodes["own"]) == 40
    assert nodes["name"][nodes["id"].index("animal/cat")] == "Cat"
    assert len(data_of("r.html")["training"]["round"]) == len(load("text.pinakes").model.history_)


def test_the_default_title_names_model_and_documents(pinakes):
    assert pinakes("evaluate", "vectors.pinakes", "vectors.svm", "--report", "r.html").code == 0
    assert "<title>vectors.pinakes on vectors.svm</title>" in Path("r.html").read_text(encoding="utf-8")


def test_a_report_on_label_sets(pinakes, place):
    rows = documents(40)
    for i, row in enumerate(rows):
        row["labels"] = [*row["labels"], "animal/cat"] if i % 4 else row["labels"]
    (place / "sets.jsonl").write_text(json_lines(rows))
    train = ("train", "sets.jsonl", "-t", "taxonomy.tsv", "-o", "sets.pinakes", "--method", "perceptron")
    assert pinakes(*train, "--max-iter", "300").code == 0
    left = pinakes("evaluate", "sets.pinakes", "sets.jsonl", "--report", "sets.html")
    assert left.code == 0, left.err
    data = data_of("sets.html")
    assert data["training"]["names"] == ["margin", "norm"]
    assert data["reliability"]["category"]["n"] > 40
    left = pinakes("compare", "sets.pinakes", "text.pinakes", "sets.jsonl", "--labels", "first")
    assert left.code == 0, left.err
    assert "set_loss" in json.loads(left.out)["measures"]


def test_the_seed_and_the_command_are_kept_with_the_model(pinakes):
    command = ("train", "docs.jsonl", "-t", "taxonomy.tsv", "-o", "new.pinakes", "--seed", "7")
    assert pinakes(*command).code == 0
    summary = load("new.pinakes").summary
    assert summary["seed"] == 7
    assert summary["command"] == f"pinakes {' '.join(command)}"


def test_two_models_on_the_same_documents(pinakes, other):
    left = pinakes("compare", "text.pinakes", "few.pinakes", "test.jsonl", "--show", "2")
    assert left.code == 0, left.err
    assert left.err == (
        "pinakes: note: 1 categories are known to text.pinakes alone ('plant/tree'); 10 documents have them, and count "
        "as mistakes of the other\n"
    )
    result = json.loads(left.out)
    one, two = (json.loads(pinakes("evaluate", model, "test.jsonl").out) for model in ("text.pinakes", "few.pinakes"))
    assert set(result["measures"]) == set(one["intervals"])
    for name, row in result["measures"].items():
        assert (row["a"], row["b"]) == (one[name], two[name])
        assert row["difference"] == pytest.approx(one[name] - two[name], abs=2e-6)
        assert 0 < row["p"] <= 1
    accuracy = result["measures"]["accuracy"]
    assert accuracy["better"] == "a"
    taxonomy = Taxonomy.load("taxonomy.tsv")
    rows = some_wrong()
    answers = [load(model).predict([row["text"] for row in rows]) for model in ("text.pinakes", "few.pinakes")]
    right = [metrics.accuracy([row["labels"] for row in rows], list(k), taxonomy, per_document=True) for k in answers]
    assert accuracy["p"] == pytest.approx(metrics.paired_permutation_test(*right), abs=1e-6)
    assert result["measures"]["delta_loss"]["better"] == "a"
    assert result["differ"] == (answers[0] != answers[1]).sum()
    assert len(result["documents"]) == 2


def test_differences_as_files_and_tables(pinakes, other):
    left = pinakes("compare", "text.pinakes", "few.pinakes", "test.jsonl", "-o", "d.csv", "--format", "table")
    assert left.code == 0, left.err
    assert "A - B" in left.out
    assert "documents have different answers" in left.out
    with open("d.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert f"d.csv: {len(rows)} of 40 documents have different answers" in left.err
    sizes = [abs(float(row["difference"])) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert pinakes("compare", "text.pinakes", "few.pinakes", "test.jsonl", "-o", "d.jsonl", "--show", "0").code == 0
    lines = [json.loads(line) for line in Path("d.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["id"] for line in lines] == [row["id"] for row in rows]
    assert {" ".join(line["answer_a"]) for line in lines} == {row["answer_a"] for row in rows}
    for line in lines:
        assert line["difference"] == line["delta_loss_a"] - line["delta_loss_b"]


def test_a_model_against_itself_is_no_different(pinakes):
    result = json.loads(pinakes("compare", "text.pinakes", "text.pinakes", "docs.jsonl").out)
    assert {row["p"] for row in result["measures"].values()} == {1.0}
    assert {row["better"] for row in result["measures"].values()} == {""}
    assert result["differ"] == 0
    assert "0 of 60 documents have different answers" in (
        pinakes("compare", "text.pinakes", "text.pinakes", "docs.jsonl", "--format", "table").out
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("evaluate text.pinakes docs.jsonl --report r.pdf", "expected a name that ends in .html, got 'r.pdf'"),
        ("evaluate text.pinakes docs.jsonl --report no/r.html", "does not exist; make it first"),
        ("compare text.pinakes text.pinakes docs.jsonl -o d.txt", "ends in .csv or .jsonl, got 'd.txt'"),
        ("compare text.pinakes no.pinakes docs.jsonl", "no.pinakes: no such model file"),
        ("compare text.pinakes vectors.pinakes docs.jsonl", "vectors.pinakes takes vectors of 5 features"),
        (
            "compare text.pinakes else.pinakes docs.jsonl",
            "the same taxonomy to be compared, got two that differ: 1 nodes only in else.pinakes ('animal/cow'); train "
            "both with one taxonomy",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(pinakes, place, args, message):
    if "else.pinakes" in args:
        (place / "else.tsv").write_text(TAXONOMY + "animal\tanimal/cow\tCow\n")
        assert pinakes("train", "docs.jsonl", "-t", "else.tsv", "-o", "else.pinakes").code == 0
    left = pinakes(*args.split())
    assert left.code == 1
    assert message in left.err
    assert left.err.count("\n") == 1
    assert left.out == ""
    assert not any((place / name).exists() for name in ("r.pdf", "d.txt", "r.html"))
