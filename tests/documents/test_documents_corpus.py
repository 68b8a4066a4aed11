"""The corpus: what is read stands side by side, and one label a document is given or refused."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pinakes.documents
from pinakes.documents import Corpus, Document
from pinakes.errors import DocumentError, ParameterError


def corpus_of(tmp_path: Path, labels: list[list[str]]) -> Corpus:
    path = tmp_path / "a.jsonl"
    records = ({"id": f"d{k}", "text": "x", "labels": y} for k, y in enumerate(labels))
    path.write_text("\n".join(map(json.dumps, records)))
    return Corpus.read(path)


def test_texts_are_read_side_by_side(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [["a"], ["b", "c"], []])
    assert len(corpus) == 3
    assert corpus.ids == ["d0", "d1", "d2"]
    assert corpus.texts == ["x"] * 3
    assert corpus.X is None
    assert corpus.labels == [("a",), ("b", "c"), ()]
    assert corpus.lines == [1, 2, 3]
    assert set(corpus.sources) == {str(tmp_path / "a.jsonl")}


def test_vectors_are_read_as_a_matrix(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    dense = (rng.random((9, 7)) * (rng.random((9, 7)) < 0.4)).astype(np.float32)
    dense[:, 6] = dense[4] = 0
    rows = [" ".join(f"{j + 1}:{x!r}" for j, x in enumerate(row.tolist()) if x) for row in dense]
    path = tmp_path / "a.svm"
    path.write_text("\n".join(f"{i % 3} {row}" for i, row in enumerate(rows)))
    corpus = Corpus.read(path, n_features=7)
    assert corpus.texts is None
    assert corpus.X is not None
    assert (corpus.X.dtype, corpus.X.indices.dtype) == (np.float32, np.int32)
    np.testing.assert_array_equal(corpus.X.toarray(), dense)
    assert corpus.single_labels() == [str(i % 3) for i in range(9)]
    narrow = Corpus.read(path).X
    assert narrow is not None
    assert narrow.shape[1] == 1 + np.flatnonzero(dense.any(axis=0)).max()
    some = corpus.take([8, 0]).X
    assert some is not None
    np.testing.assert_array_equal(some.toarray(), dense[[8, 0]])
    with pytest.raises(DocumentError, match=r"a\.svm:\d: expected at most 2 features, got feature number"):
        Corpus.read(path, n_features=2)


def test_texts_and_vectors_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n")
    (tmp_path / "b.jsonl").write_text('{"text": "x"}\n')
    with pytest.raises(DocumentError, match=r"b\.jsonl:1: documents must all be texts or all be vectors, got both"):
        Corpus.read([tmp_path / "a.svm", tmp_path / "b.jsonl"])
    with pytest.raises(DocumentError, match=r"a\.svm:1: documents must all be"):
        Corpus.read([tmp_path / "b.jsonl", tmp_path / "a.svm"])


def test_several_labels_are_refused_or_the_first_taken(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [["a"], ["b", "c"], ["d", "a"]])
    with pytest.raises(DocumentError, match=r"a\.jsonl:2: .* several in 2 of 3, the first being 'd1' with 'b', 'c'"):
        corpus.single_labels()
    with pytest.raises(DocumentError, match=r"--labels first on the command line, several='first' in Python"):
        corpus.single_labels("error")
    assert corpus.single_labels("first") == ["a", "b", "d"]
    with pytest.raises(ParameterError, match=r"`several` of single_labels must be 'error' or 'first', got 'last'"):
        corpus.single_labels("last")  # type: ignore[arg-type]


def test_documents_without_labels(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [["a"], [], ["b"], []])
    with pytest.raises(DocumentError, match=r"a\.jsonl:2: every document needs a label, got none here and in 1 more"):
        corpus.single_labels("first")
    assert corpus.drop_unlabelled() == 2
    assert (corpus.ids, corpus.texts, corpus.lines) == (["d0", "d2"], ["x", "x"], [1, 3])
    assert corpus.single_labels() == ["a", "b"]
    assert corpus.drop_unlabelled() == 0


def test_skipped_lines_are_kept_for_the_report(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x"}\n{\n')
    corpus = Corpus.read(path, on_error="skip")
    assert [s.line for s in corpus.skipped] == [2]
    mine: list = []
    assert Corpus.read(path, on_error="skip", skipped=mine).skipped is mine
    assert len(mine) == 1


def test_documents_do_not_change_and_have_no_line_without_a_file() -> None:
    document = Document("a", "x", ("l", "m"))
    with pytest.raises(AttributeError):
        document.id = "b"  # type: ignore[misc]
    with pytest.raises(DocumentError, match=r"^this method takes one label"):
        Corpus.from_documents([document]).single_labels()


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "documents.md"
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted > 10
    assert result.failed == 0


def test_public_names() -> None:
    assert pinakes.documents.__all__ == sorted(pinakes.documents.__all__)
    for name in pinakes.documents.__all__:
        assert getattr(pinakes.documents, name).__doc__
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'"):
        pinakes.documents.nothing  # noqa: B018


def test_readers_load_nothing_heavy() -> None:
    heavy = {"sklearn", "scipy", "pyarrow", "numba"}
    code = f"import sys, pinakes.documents; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
