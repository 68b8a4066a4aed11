"""Every bad input by a minimal file: the message names file and line, what was expected, and what came."""

from __future__ import annotations

import gzip
import lzma
import re
from pathlib import Path

import pytest

from pinakes.documents import Document, read_documents
from pinakes.errors import DocumentError, MissingExtraError, ParameterError

GOOD = '{"id": "good", "text": "x"}\n'


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


BAD_LINES = [
    (
        "a.jsonl",
        GOOD + '{"text": "x"\n' + GOOD,
        2,
        "expected one JSON object a line, got broken JSON: .*column 13",
    ),
    ("a.jsonl", GOOD + '["text"]\n' + GOOD, 2, r"got a list: \['text'\]; write one document a line"),
    ("a.jsonl", GOOD + "17\n" + GOOD, 2, "expected one JSON object a line, got 17"),
    ("a.jsonl", GOOD + '{"text": "x"},\n' + GOOD, 2, "broken JSON: Extra data"),
    ("a.jsonl", GOOD + '{"text": "x"}, {"text": "y"}\n{"text": "z"\n' + GOOD, 2, "broken JSON: Extra data"),
    ("a.jsonl", GOOD + '{"text": 3}\n' + GOOD, 2, "the text under 'text' must be a string, got 3"),
    ("a.jsonl", GOOD + '{"text": null}\n' + GOOD, 2, "the text under 'text' must be a string, got null"),
    (
        "a.jsonl",
        GOOD + '{"txt": "x"}\n' + GOOD,
        2,
        "expected the text under the key 'text', got the keys 'txt'",
    ),
    ("a.jsonl", GOOD + "{}\n" + GOOD, 2, "got the keys none; name the key with the option `text`"),
    ("a.jsonl", GOOD + '{"text": "", "labels": [1.5]}\n', 2, "labels must be a string or a list .*, got 1.5"),
    ("a.jsonl", GOOD + '{"text": "", "labels": [""]}\n', 2, "a label must not be empty"),
    ("a.jsonl", GOOD + '{"text": "", "subjects": [{"x": 1}]}\n', 2, "a subject must have a 'uri'"),
    ("a.jsonl", GOOD + '{"text": "", "id": []}\n', 2, r"an id must be a string or a whole number, got \[\]"),
    ("a.jsonl", GOOD + '{"text": "\\ud800"}\n', 2, r"half a character stands alone: \\ud800 at 1"),
    ("a.jsonl", GOOD + "[" * 100_000 + "\n" + GOOD, 2, "nested too deeply"),
    ("a.jsonl", GOOD + '{"id": ' + "1" * 5000 + "}\n" + GOOD, 2, "got broken JSON: Exceeds the limit"),
    (
        "a.jsonl",
        GOOD.encode() + b'{"text": "\xe4"}\n',
        2,
        "expected utf-8 text, got the byte 0xe4 as byte 11 of",
    ),
    (
        "a.jsonl",
        GOOD.encode() + b'{"text": "\xe4"}\n',
        2,
        "encoding= in Python, --encoding on the command line",
    ),
    (
        "a.csv",
        'id,text\n1,"a\nb"\n2,c,d\n3,e\n',
        4,
        r"expected 2 columns as in the header, got 3: \['2', 'c'",
    ),
    ("a.csv", 'id,text\n1,a\n2,"b\nc\n', 3, "a quote that opens here is never closed"),
    ("a.csv", 'id,text\n1,"a"b\n2,c\n', 2, "expected a quoted field to end at a separator"),
    ("a.csv", "id,text\n1,a\rb\n2,c\n", 2, "a carriage return stands in a field without quotes"),
    (
        "a.tsv",
        "x\t<u:1>\nno tab\ny\t<u:2>\n",
        2,
        "expected a text, a tab and <uri> <uri> …, got no tab: 'no tab'",
    ),
    ("a.svm", "1 1:1\n2 1:nan\n", 2, "the value of feature 1 must be a finite float32, got 'nan'"),
    ("a.svm", "1 1:1\n2 1:1e39\n", 2, "must be a finite float32, got '1e39'"),
    ("a.svm", "1 1:1\n2 0:1\n", 2, "feature numbers begin at 1, got 0; .* set the option `zero_based`"),
    ("a.svm", "1 1:1\n2 1:1 1:2\n", 2, "a feature may stand once in a document, got 1 twice"),
    ("a.svm", "1 1:1\n2 a:1\n", 2, "expected index:value, a whole number and a number, got 'a:1'"),
    ("a.svm", "1 1:1\n2 1:b\n", 2, "got '1:b'"),
    ("a.svm", "1 1:1\n2 17\n", 2, "got '17'"),
    ("a.svm", "1 1:1\n2 4294967296:1\n", 2, "must be below 2\\*\\*31"),
]


@pytest.mark.parametrize(("name", "content", "line", "message"), BAD_LINES)
def test_a_bad_line_stops_or_is_skipped(
    tmp_path: Path, name: str, content: str | bytes, line: int, message: str
) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(DocumentError, match=message) as caught:
        list(read_documents(path))
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert (caught.value.source, caught.value.line) == (str(path), line)
    skipped: list = []
    kept = list(read_documents(path, on_error="skip", skipped=skipped))
    assert kept
    assert all(document.line != line for document in kept)
    assert (skipped[0].source, skipped[0].line) == (str(path), line)
    assert re.search(message, skipped[0].message)


def test_skipping_goes_on_with_the_right_numbers(tmp_path: Path) -> None:
    content = GOOD.encode() + b"\xff\n\n" + GOOD.encode() + b"{\n" + GOOD.encode()
    skipped: list = []
    read = list(read_documents(write(tmp_path, "a.jsonl", content), on_error="skip", skipped=skipped))
    assert [document.line for document in read] == [1, 4, 6]
    assert [line for _, line, _ in skipped] == [2, 5]


WHOLE_FILES = [
    ("a.jsonl", "", "^{path}: no documents in it$"),
    ("a.csv", "id,text\n", "^{path}: no documents in it$"),
    ("a.jsonl", "\n \n", "^{path}: no documents in it$"),
    (
        "a.csv",
        "id,txt\n1,x\n",
        "^{path}:1: expected a header with a column 'text', got .*'id', 'txt' .closest: 'txt'",
    ),
    ("a.csv", '"id\n', "^{path}:1: a quote that opens here"),
    ("a.tsv", "x\ty\n", "^{path}:1: expected a header with a column 'text', got the columns 'x', 'y'"),
    (
        "a.txt",
        "some words\n",
        "^{path}: cannot tell the format from 'some words'; name it with the option `format`",
    ),
    ("a.jsonl", "x".encode("utf-16"), "^{path}:1: expected utf-8 text.*perhaps utf-16"),
    (
        "a.jsonl.gz",
        gzip.compress(GOOD.encode() * 999)[:-20],
        "^{path}:.*damaged or cut off .*; fetch or compress",
    ),
    (
        "a.jsonl.xz",
        lzma.compress(GOOD.encode() * 999)[:-20],
        "^{path}:.*damaged or cut off .*; fetch or compress",
    ),
    ("a.jsonl.xz", b"\xfd7zXZ\x00" + b"garbage" * 9, "^{path}:.*damaged or cut off"),
    ("a.jsonl.gz", b"\x1f\x8b" + b"garbage" * 9, "^{path}:.*damaged or cut off"),
    ("a.parquet", "PAR1", "^{path}: expected a Parquet file, got: "),
]


@pytest.mark.parametrize(("name", "content", "message"), WHOLE_FILES)
@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_bad_file(tmp_path: Path, name: str, content: str | bytes, message: str, on_error) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = write(tmp_path, name, content)
    with pytest.raises(DocumentError) as caught:
        list(read_documents(path, on_error=on_error))
    if on_error == "stop" or "no documents: all" not in str(caught.value):
        assert re.search(message.format(path=re.escape(str(path))), str(caught.value))


def test_a_cut_off_zst(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.ZstdCompressor().compress(GOOD.encode() * 999)
    for content in (packed[:-5], packed[:10] + b"\xff" * 30):
        with pytest.raises(DocumentError, match=r"a\.jsonl\.zst:.*damaged or cut off"):
            list(read_documents(write(tmp_path, "a.jsonl.zst", content)))


def test_all_lines_bad_is_no_corpus(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", "{\n[]\n")
    with pytest.raises(DocumentError, match=r":1: no documents: all 2 lines were bad, the first because expected"):
        list(read_documents(path, on_error="skip"))


def test_an_empty_file_among_others_is_skipped_on_demand(tmp_path: Path) -> None:
    empty, full = write(tmp_path, "a.jsonl", ""), write(tmp_path, "b.jsonl", GOOD)
    skipped: list = []
    read = list(read_documents([empty, full], on_error="skip", skipped=skipped))
    assert read == [Document("good", "x")]
    assert skipped == [(str(empty), 0, "no documents in it")]


def test_paths_and_settings_are_checked_at_once(tmp_path: Path) -> None:
    good = write(tmp_path, "a.jsonl", GOOD)
    with pytest.raises(DocumentError, match=r"nowhere\.jsonl: there is no such file or folder$"):
        read_documents([good, tmp_path / "nowhere.jsonl"])
    with pytest.raises(DocumentError, match=r"there is no folder '.*none' either"):
        read_documents(tmp_path / "none" / "a.jsonl")
    with pytest.raises(ParameterError, match=r"`format` of read_documents must be one of jsonl, .*, got 'xml'"):
        read_documents(good, format="xml")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"`on_error` of read_documents must be 'stop' or 'skip', got 'ignore'"):
        read_documents(good, on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"`encoding` .* got 'utf-9'"):
        read_documents(good, encoding="utf-9")
    with pytest.raises(ParameterError, match=r"`encoding` .* got 'hex'"):
        read_documents(good, encoding="hex")
    with pytest.raises(ParameterError, match=r"`label_separator` of read_documents must not be empty"):
        read_documents(good, label_separator="")
    with pytest.raises(ParameterError, match=r"must name at least one file"):
        read_documents([])
    with pytest.raises(DocumentError, match=r"expected a folder, got a file"):
        list(read_documents(good, format="folder"))
    with pytest.raises(DocumentError, match=r"expected a file to be read as csv, got a folder"):
        list(read_documents(tmp_path, format="csv"))
    with pytest.raises(DocumentError, match=r"no documents in it"):
        list(read_documents(write_folder(tmp_path)))
    with pytest.raises(DocumentError, match=r"expected the id under the key 'no', got none"):
        list(read_documents(good, id="no"))
    with pytest.raises(DocumentError, match=r"column 'topic', got the columns 'text'; .* `labels`"):
        list(read_documents(write(tmp_path, "a.csv", "text\nx\n"), labels="topic"))


def write_folder(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


def test_wrong_wide_encodings(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", GOOD.encode("utf-16-le") + b"\x00\xd8\x20\x00")
    with pytest.raises(DocumentError, match=r"expected utf-16-le text, got bytes that are none .*--encoding"):
        list(read_documents(path, encoding="utf-16-le"))
    path = write(tmp_path, "b.jsonl", b'{"text": "\x80"}\n')
    with pytest.raises(DocumentError, match=r"expected ascii text, got the byte 0x80 as byte 11"):
        list(read_documents(path, encoding="ascii"))


def test_bad_files_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", b"ok\n\xff\n")
    write(tmp_path, "b.txt", "text")
    write(tmp_path, "b.key", b"\xff")
    write(tmp_path, "c.json", "{")
    write(tmp_path, "d.json", b"\xff")
    write(tmp_path, "e.txt", "good")
    with pytest.raises(DocumentError, match=r"a\.txt:2: expected utf-8 text"):
        list(read_documents(tmp_path))
    skipped: list = []
    assert list(read_documents(tmp_path, on_error="skip", skipped=skipped)) == [Document("e.txt", "good")]
    assert [Path(s.source).name for s in skipped] == ["a.txt", "b.key", "c.json", "d.json"]


def test_parquet_columns_that_are_not_there(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"txt": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(DocumentError, match=r"a\.parquet: expected a column 'text', got the columns 'txt' .*`text`"):
        list(read_documents(tmp_path / "a.parquet"))


@pytest.mark.parametrize(
    ("name", "content", "module"),
    [("a.parquet", b"PAR1", "pyarrow"), ("a.jsonl.zst", b"\x28\xb5\x2f\xfd0000", "zstandard")],
)
def test_missing_extras_say_how_to_install(tmp_path: Path, monkeypatch, name, content, module) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'pinakes\[formats\]'"):
        list(read_documents(write(tmp_path, name, content)))
