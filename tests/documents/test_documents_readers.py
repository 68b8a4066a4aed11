"""Every format: what the standard library writes is read back; formats are told from ending and content."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import string
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.documents import Document, read_documents
from pinakes.documents import readers as readers_module

# any text that UTF-8 can hold; labels without the separators of the formats
texts = st.text(st.characters(codec="utf-8"), max_size=40)
words = st.text(string.ascii_letters + "äß/:.-", min_size=1, max_size=8)
label_sets = st.lists(words, max_size=3, unique=True).map(tuple)
documents = st.lists(st.tuples(words, texts, label_sets), min_size=1, max_size=12)


def as_documents(rows: list[tuple[str, str, tuple[str, ...]]]) -> list[Document]:
    return [Document(id, text, labels) for id, text, labels in rows]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("documents")


# -- round trips -------------------------------------------------------------------------------------------


@given(rows=documents, escaped=st.booleans(), ending=st.sampled_from(["\n", "\r\n", "\n\n \n"]))
def test_json_lines_come_back(folder: Path, rows: list, escaped: bool, ending: str) -> None:
    lines = (json.dumps({"id": i, "text": t, "labels": y}, ensure_ascii=escaped) for i, t, y in rows)
    path = write(folder, "a.jsonl", ending.join(lines))
    assert list(read_documents(path)) == as_documents(rows)


@given(rows=documents, delimiter=st.sampled_from(",\t"), newline=st.sampled_from(["\n", "\r\n"]))
def test_tables_come_back(folder: Path, rows: list, delimiter: str, newline: str) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=newline, quoting=csv.QUOTE_ALL)
    writer.writerow(["id", "other", "labels", "text"])
    lines = []
    for id, text, labels in rows:
        lines.append(buffer.getvalue().count("\n") + 1)
        writer.writerow([id, "x", " | ".join(labels), text])
    path = write(folder, "a.csv" if delimiter == "," else "a.tsv", buffer.getvalue())
    read = list(read_documents(path))
    assert read == as_documents(rows)
    assert [document.line for document in read] == lines


@given(rows=documents)
def test_annif_tsv_comes_back(folder: Path, rows: list) -> None:
    rows = [(str(k), " ".join(text.split()), labels) for k, (_, text, labels) in enumerate(rows, 1)]
    lines = (f"{text}\t{' '.join(f'<{label}>' for label in labels)}\n" for _, text, labels in rows)
    path = write(folder, "a.tsv", "".join(lines))
    expected = [row for row in rows if row[1] or row[2]]  # nothing but a tab is a blank line
    if expected:
        assert list(read_documents(path, format="annif-tsv")) == as_documents(expected)


@given(rows=documents)
def test_parquet_comes_back(folder: Path, rows: list) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    ids, texts, labels = (list(column) for column in zip(*rows, strict=True))
    table = {"id": pa.array(ids), "text": pa.array(texts), "labels": pa.array(map(list, labels))}
    path = folder / "a.parquet"
    parquet.write_table(pa.table(table), path)
    assert list(read_documents(path)) == as_documents(rows)


values = st.floats(width=32, allow_nan=False, allow_infinity=False)
vectors = st.lists(st.tuples(label_sets, st.dictionaries(st.integers(0, 2**31 - 2), values, max_size=6)), min_size=1)


@given(rows=vectors, base=st.sampled_from([0, 1]))
def test_libsvm_comes_back(folder: Path, rows: list, base: int) -> None:
    rows = [(tuple(label.replace(":", "_") for label in labels), vector) for labels, vector in rows]
    lines = [
        f"{','.join(labels)} {' '.join(f'{j + base}:{x!r}' for j, x in vector.items())} # note\n"
        for labels, vector in rows
    ]
    path = write(folder, "a.svm", "# a comment\n" + "".join(lines))
    expected = [(tuple(dict.fromkeys(labels)), vector) for labels, vector in rows if labels or vector]
    if not expected:
        return
    for document, (labels, vector) in zip(read_documents(path, zero_based=base == 0), expected, strict=True):
        assert document.labels == labels
        assert document.text is None
        assert document.vector is not None
        indices, data = document.vector
        assert (indices.dtype, data.dtype) == (np.int32, np.float32)
        assert indices.tolist() == sorted(vector)
        assert data.tolist() == [vector[j] for j in sorted(vector)]


@given(rows=st.dictionaries(st.text(string.ascii_lowercase, min_size=1), texts, min_size=1, max_size=5))
def test_a_folder_of_texts_with_keys_comes_back(tmp_path_factory: pytest.TempPathFactory, rows: dict) -> None:
    root = tmp_path_factory.mktemp("folder")
    for name, text in rows.items():
        write(root, f"{name}.txt", text.removeprefix("\ufeff") + "\n")
        write(root, f"{name}.key", f"key of {name}\n\nanother\n")
    expected = [
        Document(f"{name}.txt", rows[name].removeprefix("\ufeff"), (f"key of {name}", "another"))
        for name in sorted(rows)
    ]
    read = list(read_documents(root))
    assert sorted(read, key=lambda d: d.id) == sorted(expected, key=lambda d: d.id)


# -- the formats in detail ---------------------------------------------------------------------------------


def test_json_keys_can_be_renamed_and_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", '{"no": 7, "body": "x", "topic": "a;b"}\n{"no": 8, "body": "y"}\n')
    read = list(read_documents(path, text="body", labels="topic", id="no", label_separator=";"))
    assert read == [Document("7", "x", ("a", "b")), Document("8", "y")]
    path = write(tmp_path, "b.jsonl", '\n{"text": "x", "label": 3}\n{"text": "y", "labels": null}\n')
    assert list(read_documents(path)) == [Document("2", "x", ("3",)), Document("3", "y")]
    path = write(tmp_path, "c.jsonl", '{"text": "x", "labels": "a|b"}\n{"text": "", "labels": ["a", "b", "a"]}')
    assert list(read_documents(path)) == [Document("1", "x", ("a|b",)), Document("2", "", ("a", "b"))]


def test_annif_json_lines(tmp_path: Path) -> None:
    records = [
        {"document_id": "d", "text": "x", "subjects": [{"uri": "u:1", "label": "one"}, "u:2"]},
        {"metadata": {"title": "t", "year": 1, "abstract": "a"}, "subjects": [{"notation": "N1"}]},
        {"text": "z", "subjects": [{"label": "three"}]},
    ]
    path = write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, records)))
    expected = [
        Document("d", "x", ("u:1", "u:2")),
        Document("2", "t\na", ("N1",)),
        Document("3", "z", ("three",)),
    ]
    assert list(read_documents(path)) == expected
    assert list(read_documents(path, format="annif-jsonl")) == expected


def test_annif_csv_and_named_columns(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'document_id,text,subject_uris\nd1,"a, b",<u:1> u:2\n')
    assert list(read_documents(path)) == [Document("d1", "a, b", ("u:1", "u:2"))]
    path = write(tmp_path, "b.csv", "title,code\nx,A;B;;A\n")
    read = list(read_documents(path, text="title", labels="code", label_separator=";"))
    assert read == [Document("2", "x", ("A", "B"))]
    long = "word " * 100_000
    path = write(tmp_path, "c.csv", f"text\n{long}\n")
    assert [d.text for d in read_documents(path)] == [long]


def test_folders(tmp_path: Path) -> None:
    for name in ("sport", "sport/ball", ".git"):
        (tmp_path / name).mkdir()
    write(tmp_path, "sport/b.txt", "b\n")
    write(tmp_path, "sport/49960", "no ending\n")
    write(tmp_path, "sport/ball/c.txt", "c\nd")
    write(tmp_path, "a.txt", "\ufeffa")
    write(tmp_path, "a.tsv", "<u:1>\tone\n<u:2>\ttwo\n")
    write(tmp_path, "e.json", '{"text": "e",\n "subjects": [{"uri": "u:3"}]}')
    write(tmp_path, "README.md", "not a document")
    write(tmp_path, ".hidden.txt", "not a document")
    write(tmp_path, ".git/x.txt", "not a document")
    assert list(read_documents(tmp_path)) == [
        Document("a.txt", "a", ("u:1", "u:2")),
        Document("e.json", "e", ("u:3",)),
        Document("sport/49960", "no ending", ("sport",)),
        Document("sport/b.txt", "b", ("sport",)),
        Document("sport/ball/c.txt", "c\nd", ("sport/ball",)),
    ]


def test_libsvm_details(tmp_path: Path) -> None:
    path = write(tmp_path, "a.svm", "1,2 qid:4 3:1.5 1:2\n4:1\n3\n")
    one, two, three = read_documents(path)
    assert [d.labels for d in (one, two, three)] == [("1", "2"), (), ("3",)]
    assert one.vector is not None
    assert one.vector[0].tolist() == [0, 2]
    assert one.vector[1].tolist() == [2.0, 1.5]
    path = write(tmp_path, "xmc.txt", "2 5 3\n0,2 0:1 4:1\n1 3:1\n")  # header: feature numbers from 0
    assert [d.vector[0].tolist() for d in read_documents(path) if d.vector] == [[0, 4], [3]]


def test_parquet_with_strings_and_renamed_columns(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"body": ["x", None, "z"], "topic": ["a|b", "c", None], "n": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "a.parquet")
    skipped: list = []
    options = {"text": "body", "labels": "topic", "id": "n", "label_separator": "|"}
    read = list(read_documents(tmp_path / "a.parquet", on_error="skip", skipped=skipped, **options))
    assert read == [Document("1", "x", ("a", "b")), Document("3", "z")]
    assert [(s.line, "must be a string, got null" in s.message) for s in skipped] == [(2, True)]


# -- where and how -----------------------------------------------------------------------------------------

LINES = '{"id": "a", "text": "ä"}\n{"id": "b", "text": "b"}\n'
READ = [Document("a", "ä"), Document("b", "b")]


def zstd(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    cut = len(data) // 2  # two frames
    return b"".join(zstandard.ZstdCompressor().compress(part) for part in (data[:cut], data[cut:]))


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.jsonl", bytes),
        ("a.jsonl.gz", gzip.compress),
        ("a.jsonl.xz", lzma.compress),
        ("a.jsonl.zst", zstd),
        ("no-ending", gzip.compress),
        ("wrong.jsonl.gz", bytes),
    ],
)
def test_compressed_files(tmp_path: Path, name: str, pack) -> None:
    path = write(tmp_path, name, pack(LINES.encode()))
    assert list(read_documents(path)) == READ
    assert list(read_documents([str(path), path])) == READ * 2


@pytest.mark.parametrize("buffer", ["peek", "no peek", "text"])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, buffer: str) -> None:
    raw: object = io.BytesIO(LINES.encode())
    stdin = io.TextIOWrapper(io.BufferedReader(raw) if buffer == "peek" else raw)  # type: ignore[type-var, arg-type]
    monkeypatch.setattr(sys, "stdin", io.StringIO(LINES) if buffer == "text" else stdin)
    read = list(read_documents("-"))
    assert read == READ
    assert read[1].source == "<stdin>"
    assert buffer == "text" or not stdin.buffer.closed
    if buffer != "text":
        stdin.detach()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32-le", "latin-1", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path, "a.jsonl", LINES.encode(encoding))
    assert list(read_documents(path, encoding="utf-8" if encoding == "utf-8-sig" else encoding)) == READ


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.txt", '\n {"text": "x"}\n', "jsonl"),
        ("a.txt", "id,text\n1,x\n", "csv"),
        ("a.txt", 'id\t"text"\n1\tx\n', "tsv"),
        ("a.tsv", "text\tlabels\nx\ta\n", "tsv"),
        ("a.tsv", "x\t<u:1> <u:2>\n", "annif-tsv"),
        ("a.tsv.gz", "x\thttp://a/b\n", "annif-tsv"),
        ("a.txt", "x, y\t<u:1>\n", "annif-tsv"),
        ("a.dat", "1,2 3:4.5 6:1\n", "libsvm"),
        ("a.dat", "3:4.5 # note\n", "libsvm"),
        ("A.CSV", "text\nx\n", "csv"),
    ],
)
def test_the_format_is_told(tmp_path: Path, monkeypatch, name: str, content: str, format: str) -> None:
    used = []
    for key, reader in readers_module.READERS.items():
        spy = lambda *a, key=key, reader=reader: used.append(key) or reader(*a)  # noqa: E731
        monkeypatch.setitem(readers_module.READERS, key, spy)
    assert len(list(read_documents(write(tmp_path, name, content)))) == 1
    assert used == [format]


def test_blocks_and_lines_agree_on_long_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines longer and shorter than a chunk, with and without a last line feed."""
    monkeypatch.setattr("pinakes.documents.sources.CHUNK", 64)
    rng = np.random.default_rng(0)
    texts = ["ä" * int(n) for n in rng.integers(0, 200, size=400)]
    content = "\n".join(json.dumps({"text": text}, ensure_ascii=False) for text in texts)
    for end in ("", "\n"):
        for pack in (bytes, gzip.compress):
            path = write(tmp_path, "a.jsonl", pack((content + end).encode()))
            read = list(read_documents(path))
            assert [d.text for d in read] == texts
            assert [d.line for d in read] == list(range(1, 401))


def test_reading_is_streamed(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", '{"text": "x"}\n' * 50_000 + "broken")
    assert next(read_documents(path)).text == "x"


@pytest.mark.corpus
def test_public_corpora(corpora: Path) -> None:
    tsv = list(read_documents(corpora / "skos" / "documents.tsv"))
    jsonl = list(read_documents(corpora / "skos" / "documents.jsonl"))
    assert tsv == jsonl
    assert len(tsv) == 6404
    assert tsv[0].labels == ("http://www.yso.fi/onto/yso/p2557",)
    path = corpora / "clinc150" / "train.jsonl.xz"
    with lzma.open(path, "rt", encoding="utf-8") as file:
        expected = [Document(d["id"], d["text"], tuple(d["labels"])) for d in map(json.loads, file)]
    assert list(read_documents(path)) == expected


def test_a_csv_with_semicolons_is_told_by_its_header(tmp_path):
    (tmp_path / "docs.csv").write_text('id;text;labels\n1;"a, b; c";cat\n')
    assert [(d.id, d.text, d.labels) for d in read_documents(tmp_path / "docs.csv")] == [("1", "a, b; c", ("cat",))]
