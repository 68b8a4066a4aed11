"""Whatever is handed in: one line that says what is wrong, exit 1, and no file that was not there before."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path

import pytest
from cli_corpus import TAXONOMY, documents, json_lines

from pinakes.storage import bundle

GOOD = json_lines(documents())
OLD = b"an older model, not to be touched"
TRAIN = ("-t", "taxonomy.tsv", "-o", "m.pinakes")


@pytest.fixture
def refused(pinakes, place):
    """Run a command that must fail: one line, exit 1, no data, every file as before; give the line."""

    def run(*args: str) -> str:
        (place / "m.pinakes").write_bytes(OLD)
        before = {file: file.read_bytes() for file in sorted(place.rglob("*")) if file.is_file()}
        left = pinakes(*args)
        after = {file: file.read_bytes() for file in sorted(place.rglob("*")) if file.is_file()}
        assert left.code == 1, left
        assert left.out == ""
        assert left.err.startswith("pinakes: ")
        assert left.err.count("\n") == 1
        assert left.err.endswith("\n")
        assert after == before
        return left.err.removeprefix("pinakes: ").rstrip("\n")

    return run


def line(text: str, labels: str = '["animal/cat"]') -> str:
    return f'{{"text": "{text}", "labels": {labels}}}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "x.jsonl: no documents in it"),
        ("\n \n", "x.jsonl: no documents in it"),
        (GOOD.encode() + line("näin").encode("latin-1"), "x.jsonl:61: expected utf-8 text, got the byte 0xe4"),
        (GOOD + '{"text": "x", \n', "x.jsonl:61: expected one JSON object a line, got broken JSON"),
        (GOOD + "[1]\n", "x.jsonl:61: expected one JSON object a line, got a list: [1]"),
        (GOOD + '{"labels": ["animal/cat"]}\n', "name the key with --text-column"),
        (
            GOOD + line("x", '["animal/cta"]'),
            "x.jsonl:61: the label 'animal/cta' is not in the taxonomy of 6 nodes (closest: 'animal/cat'",
        ),
        (GOOD + line("x", "[]"), "x.jsonl:61: expected a document with labels, got none; name their key"),
        (GOOD + '{"text": "x"}\n', "x.jsonl:61: expected a document with labels, got none"),
        (line("a b") + line("c d", '["plant"]'), "none of the 4 terms stands in 2 or more of the 2 documents"),
        (line("a b") + line("c d", '["plant"]'), "set --min-df=1"),
        (line("") + line("- !", '["plant"]'), "there are no words in the 2 documents"),
        (line("a b") + line("a c"), "expected documents of two categories or more, got 'animal/cat' only"),
    ],
)
def test_documents_to_train_on(refused, place, content, message):
    data = content if isinstance(content, bytes) else content.encode()
    (place / "x.jsonl").write_bytes(data)
    assert message in refused("train", "x.jsonl", *TRAIN)


def test_documents_to_evaluate_and_predict(refused, place):
    (place / "empty.jsonl").write_text("")
    (place / "x.jsonl").write_text('{"text": "purr"}\n')
    (place / "y.jsonl").write_text('{"text": "purr", "labels": ["cat"]}\n')
    (place / "cut.jsonl").write_text(GOOD + "{")
    assert refused("predict", "text.pinakes", "empty.jsonl") == "empty.jsonl: no documents in it"
    assert refused("evaluate", "text.pinakes", "empty.jsonl") == "empty.jsonl: no documents in it"
    assert refused("evaluate", "text.pinakes", "x.jsonl").startswith("x.jsonl:1: expected a document with labels")
    assert "x.jsonl" not in refused("evaluate", "text.pinakes", "x.jsonl", "--on-error", "skip")
    assert refused("evaluate", "text.pinakes", "y.jsonl").startswith("y.jsonl:1: the label 'cat' is not in the")
    assert refused("predict", "text.pinakes", "cut.jsonl").startswith("cut.jsonl:61: expected one JSON object")


def test_all_documents_skipped(refused, place):
    (place / "x.jsonl").write_text('{"text": "purr", "labels": ["cat"]}\n' * 3)
    message = refused("train", "x.jsonl", *TRAIN, "--on-error", "skip")
    assert message == "no document is left of 3: none has a label that the taxonomy knows; is it the right one?"
    (place / "y.jsonl").write_text("{\n{\n")
    assert refused("predict", "text.pinakes", "y.jsonl", "--on-error", "skip").startswith(
        "y.jsonl:1: no documents: all 2 lines were bad"
    )


def test_files_that_are_not_there(refused):
    assert refused("train", "no.jsonl", *TRAIN) == "no.jsonl: there is no such file or folder"
    assert (
        refused("train", "docs.jsonl", "-t", "no.tsv", "-o", "m.pinakes")
        == "no.tsv: there is no such taxonomy file; check the name"
    )
    assert refused("predict", "no.pinakes", "docs.jsonl").startswith("no.pinakes: no such model file;")
    assert refused("predict", "text.pinakes", "no.jsonl") == "no.jsonl: there is no such file or folder"
    assert refused("evaluate", "text.pinakes", "no.jsonl") == "no.jsonl: there is no such file or folder"
    assert refused("info", "no.pinakes").startswith("no.pinakes: no such model file;")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "t.tsv: expected at least one category, got none"),
        (b"\ta\na\tb\nb\tc\nc\tb\n", "t.tsv:3: 2 nodes in a cycle: b > c > b (lines 3, 4)"),
        (b"\ta\na\ta\n", "t.tsv:2: 'a' is its own parent"),
        (b"\t\xff\n", "t.tsv:1: expected text in UTF-8"),
    ],
)
def test_taxonomies(refused, place, content, message):
    (place / "t.tsv").write_bytes(content)
    assert message in refused("train", "docs.jsonl", "-t", "t.tsv", "-o", "m.pinakes")


def test_a_taxonomy_too_deep_for_memory(refused, place):
    chain = "\tn0\n" + "".join(f"n{k}\tn{k + 1}\n" for k in range(25_000))
    (place / "t.tsv").write_text(chain)
    (place / "x.jsonl").write_text(line("a b", '["n9"]') + line("a c", '["n8"]'))
    message = refused("train", "x.jsonl", "-t", "t.tsv", "-o", "m.pinakes", "--min-df", "1")
    assert "the ancestors of all nodes must be at most 200,000,000 together" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--C nan", "--C must be a number > 0, got nan"),
        ("--C -1", "--C must be a number > 0, got -1.0"),
        ("--C 0", "--C must be a number > 0, got 0.0"),
        ("--C inf", "--C must be a number > 0, got inf"),
        ("--C much", "Invalid value for '--C': expected a number or auto, got 'much'; see pinakes train --help"),
        ("--tol 0", "--tol must be a number > 0, got 0.0"),
        ("--tol nan", "--tol must be a number > 0, got nan"),
        ("--max-iter 0", "--max-iter must be a whole number >= 1, got 0"),
        ("--max-iter 1.5", "Invalid value for '--max-iter'"),
        ("--jobs 0", "--jobs must be a whole number other than 0, got 0"),
        ("--seed -1", "Invalid value for '--seed'"),
        ("--seed 4294967296", "Invalid value for '--seed'"),
        ("--min-df -1", "--min-df must be a whole number >= 1 or a share from 0.0 to 1.0, got -1.0"),
        ("--min-df nan", "--min-df must be a whole number"),
        ("--min-df 100", "--min-df must be at most"),
        ("--max-features 0", "--max-features must be None or a whole number"),
        ("--hashing 0", "--hashing must be None or a whole number"),
        ("--ngrams 9", "Invalid value for '--ngrams'"),
        ("--loss square", "Invalid value for '--loss'"),
        ("--method forest", "Invalid value for '--method'"),
        ("--encoding klingon", "--encoding must be one that Python knows, such as 'utf-8', got 'klingon'"),
        ("--docs-format xml", "--docs-format must be one of jsonl, annif-jsonl, csv"),
        ("--taxonomy-format xml", "format must be one of tsv, csv, json"),
        ("--language de", "'language' is no option for reading tsv"),
        ("--text-column body", "docs.jsonl:1: expected the text under the key 'body'"),
        ("--hashing 64 --min-df 2", "--min-df does not go with --hashing"),
        ("--hashing 64 --max-features 9", "--max-features does not go with --hashing"),
    ],
)
def test_settings(refused, options, message):
    assert message in refused("train", "docs.jsonl", *TRAIN, *options.split())


def test_settings_of_texts_for_vectors(refused):
    for option in (["--ngrams", "2"], ["--min-df", "1"], ["--hashing", "64"], ["--max-features", "2"]):
        message = refused("train", "vectors.svm", *TRAIN, *option)
        assert message.startswith(f"{option[0]} does not go with documents that are vectors")


def test_standard_input_for_two_things(refused):
    for args in (["train", "-", "-t", "-", "-o", "m.pinakes"], ["predict", "text.pinakes", "-", "-"]):
        assert refused(*args).startswith("- (standard input) can be read once")


def test_texts_for_vectors_and_the_other_way_round(refused, place):
    for verb in ("predict", "evaluate"):
        assert refused(verb, "text.pinakes", "vectors.svm").startswith("vectors.svm: this model takes texts, got vect")
        assert refused(verb, "vectors.pinakes", "docs.jsonl").startswith("docs.jsonl: this model takes vectors, got te")
    (place / "wide.svm").write_text("animal/cat 1:1\nanimal/cat 9:1\n")
    for verb in ("predict", "evaluate"):
        assert refused(verb, "vectors.pinakes", "wide.svm").startswith(
            "wide.svm:2: expected at most 5 features, got feature number 9"
        )
    assert "documents must all be texts or all be vectors" in refused("train", "docs.jsonl", "vectors.svm", *TRAIN)


def test_files_that_are_no_models(refused, place):
    whole = (place / "text.pinakes").read_bytes()
    header, tensors = bundle.read_bundle(place / "text.pinakes", kind="classifier", newest=3)
    bundle.write_bundle(place / "future.pinakes", header | {"version": 4}, tensors)
    swapped = tensors | {"columns": tensors["classes"], "classes": tensors["columns"]}
    bundle.write_bundle(place / "swapped.pinakes", header, swapped)
    bundle.write_bundle(place / "other.pinakes", {"kind": "other", "version": 1}, {})
    for name, data in {
        "half": whole[: len(whole) // 2],
        "tail": whole[:-1],
        "longer": whole + b"x",
        "bit": whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
        "words": b"once upon a time\n" * 9,
        "pickle": pickle.dumps({"model": 1}),
        "none": b"",
    }.items():
        (place / f"{name}.pinakes").write_bytes(data)
    for name, message in {
        "half": "the file is cut short",
        "tail": "the file is cut short",
        "longer": "bytes too many at its end",
        "bit": "the file is damaged (its checksum is wrong)",
        "words": "got a text file",
        "pickle": "got a pickle, which is never opened",
        "none": "it is empty",
        "future": "the file comes from the future: it has version 4, this pinakes reads up to 3",
        "swapped": "the classes must be two or more different nodes",
        "other": "expected a file of kind 'classifier', got 'other'",
    }.items():
        for args in (["info"], ["predict", "docs.jsonl"], ["evaluate", "docs.jsonl"]):
            said = refused(args[0], f"{name}.pinakes", *args[1:])
            assert said.startswith(f"{name}.pinakes: ")
            assert message in said
    assert refused("info", ".").startswith(".: expected a model file, got a folder")


def test_places_that_cannot_be_written(refused, place, monkeypatch):
    def train(out: str) -> str:
        return refused("train", "docs.jsonl", "-t", "taxonomy.tsv", "-o", out)

    assert train("no/m.pinakes").endswith("does not exist; make it first")
    assert train(".") == ".: expected the name of a file to write, got a folder"
    assert train("") == "--out: expected the name of a file to write, got nothing"
    assert train("docs.jsonl") == "docs.jsonl: is one of the files to read; choose another name for the file to write"
    os.link("taxonomy.tsv", "same.tsv")
    assert train("same.tsv").startswith("same.tsv: is one of the files to read")
    os.mkfifo("pipe")
    assert train("pipe").startswith("pipe: expected the name of a file to write, got something")
    Path("pipe").unlink()
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert train("m.pinakes") == "m.pinakes: cannot be written (read-only); choose another place"


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_disk_that_fails(refused, monkeypatch, call, code):
    real = getattr(os, call)

    def fail(*args, **kwargs):
        if call == "open" and ".pinakes-" not in str(args[0]):
            return real(*args, **kwargs)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(bundle.os, call, fail)
    assert refused("train", "docs.jsonl", *TRAIN) == f"m.pinakes: {os.strerror(code)}"


def test_interrupted_while_training(pinakes, place, monkeypatch):
    from pinakes.cli import console

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    (place / "m.pinakes").write_bytes(OLD)
    monkeypatch.setattr(console.GapBar, "__call__", interrupt)
    before = sorted(os.listdir(place))
    left = pinakes("train", "docs.jsonl", *TRAIN)
    assert left == (130, "", "pinakes: interrupted; no file was changed\n")
    assert sorted(os.listdir(place)) == before
    assert (place / "m.pinakes").read_bytes() == OLD


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["trian"], "there is no command 'trian' (closest: 'train'); see pinakes --help"),
        (["train"], "Missing argument 'DOCS...'; see pinakes train --help"),
        (["train", "docs.jsonl"], "Missing option '--taxonomy' / '-t'; see pinakes train --help"),
        (["train", "docs.jsonl", *TRAIN, "--c", "1"], "No such option '--c'"),
        (["predict", "text.pinakes"], "Missing argument 'DOCS...'; see pinakes predict --help"),
        (["info", "text.pinakes", "more"], "Got unexpected extra argument (more); see pinakes info --help"),
        (["taxonomy", "chekc"], "No such command 'chekc'"),
        (["train", "docs.jsonl", *TRAIN, "--C", "1", "--C", "2"], "--C is given 2 times; give it once"),
        (["train", "docs.jsonl", *TRAIN, "--out", "n.pinakes"], "--out is given 2 times; give it once"),
    ],
)
def test_commands_that_are_none(pinakes, place, args, message):
    before = sorted(os.listdir(place))
    left = pinakes(*args)
    assert (left.code, left.out) == (2, "")
    assert left.err.startswith(f"pinakes: {message}")
    assert left.err.count("\n") == 1
    assert sorted(os.listdir(place)) == before


def test_signs_that_a_terminal_would_obey_are_not_passed_on(refused, place):
    (place / "x.jsonl").write_text(GOOD + line("x", '["\\u001b[31mred\\u202e"]'))
    message = refused("train", "x.jsonl", *TRAIN)
    assert "\x1b" not in message
    assert "\u202e" not in message
    assert TAXONOMY.count("\n") == 6


def test_labels_joined_by_another_separator(refused, place):
    (place / "x.csv").write_text("text,labels\na b,animal/cat;plant\n")
    assert "give --label-separator ';'" in refused("train", "x.csv", "-t", "taxonomy.tsv", "-o", "m.pinakes")


def test_a_file_that_is_no_model_is_not_overwritten(refused, place):
    (place / "precious.csv").write_text("a,b\n")
    message = refused("train", "docs.jsonl", "-t", "taxonomy.tsv", "-o", "precious.csv")
    assert "is there already and is no model file" in message
    assert (place / "precious.csv").read_text() == "a,b\n"
