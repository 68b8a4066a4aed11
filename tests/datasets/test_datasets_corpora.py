"""Corpora in one schema: folders as they should be, folders as they are, and rcv1."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from pinakes.datasets import load_corpus
from pinakes.errors import InputError, LabelError, ParameterError

TAXONOMY = "\tanimal\tanimal\nanimal\tcat\tcat\nanimal\tdog\tdog\n"
LINES = [("1", "it purrs", ["cat"]), ("2", "it barks", ["dog"]), ("3", "it does both", ["cat", "dog"])]


def write(folder: Path, packed: bool, labels: list[str] | None = None) -> Path:
    def put(name: str, text: str) -> None:
        if packed:
            (folder / f"{name}.xz").write_bytes(lzma.compress(text.encode()))
        else:
            (folder / name).write_text(text, encoding="utf-8")

    rows = [{"id": id, "text": text, "labels": labels or own} for id, text, own in LINES]
    put("taxonomy.tsv", TAXONOMY)
    put("train.jsonl", "".join(json.dumps(row) + "\n" for row in rows[:2]))
    put("test.jsonl", "".join(json.dumps(row) + "\n" for row in rows[2:]))
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder(tmp_path: Path, packed: bool) -> None:
    taxonomy, train, test = load_corpus(write(tmp_path, packed))
    assert taxonomy.ids == ("animal", "cat", "dog")
    assert (train.ids, train.texts, train.labels) == (
        ["1", "2"],
        ["it purrs", "it barks"],
        [("cat",), ("dog",)],
    )
    assert (test.ids, test.labels) == (["3"], [("cat", "dog")])


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such folder"):
        load_corpus(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"there is no taxonomy\.tsv and train\.jsonl and test\.jsonl"):
        load_corpus(tmp_path)
    write(tmp_path, packed=True)
    (tmp_path / "test.jsonl.xz").unlink()
    with pytest.raises(InputError, match=r"expected taxonomy\.tsv, .* there is no test\.jsonl$"):
        load_corpus(tmp_path)


def test_a_label_outside_the_taxonomy(tmp_path: Path) -> None:
    write(tmp_path, packed=False, labels=["dogg"])
    with pytest.raises(LabelError, match=r"train\.jsonl:1: label 'dogg' is not in the taxonomy \(closest: 'dog'\)"):
        load_corpus(tmp_path)


@pytest.fixture
def rcv1(tmp_path: Path) -> Path:
    """Twelve vectors in three topics; the last two equal the first."""
    X = csr_array(np.vstack([np.eye(10), np.eye(10)[[0, 0]]]).astype(np.float32))
    Y = np.zeros((12, 3), dtype=np.int8)
    Y[:, 0] = 1
    Y[::2, 1] = 1
    save_npz(tmp_path / "X.npz", X)
    np.savez(tmp_path / "Y.npz", Y=Y, codes=np.array(["A", "A1", "B"]))
    (tmp_path / "rcv1.taxonomy").write_text("Root\tA\tB\nA\tA1\n")
    return tmp_path


def test_rcv1(rcv1: Path) -> None:
    taxonomy, train, test = load_corpus(rcv1, test_share=0.3)
    assert set(taxonomy.ids) == {"A", "B", "A1"}
    assert [taxonomy.ids[v] for v in taxonomy.roots] == ["A", "B"]
    assert (len(train), len(test)) == (7, 3)
    assert {int(i) for i in train.ids + test.ids} == set(range(10))  # without the repeated ones
    for corpus in (train, test):
        assert corpus.texts is None
        assert corpus.X is not None
        assert corpus.X.argmax(axis=1).tolist() == [int(i) for i in corpus.ids]
        assert corpus.labels == [("A", "A1") if int(i) % 2 == 0 else ("A",) for i in corpus.ids]
    assert load_corpus(rcv1, test_share=0.3).test.ids == test.ids
    assert {tuple(load_corpus(rcv1, random_state=seed).test.ids) for seed in range(9)} != {tuple(test.ids)}


def test_rcv1_that_does_not_fit(rcv1: Path) -> None:
    with pytest.raises(ParameterError, match="`test_share` of load_corpus must lie between 0 and 1, got 1"):
        load_corpus(rcv1, test_share=1)
    np.savez(rcv1 / "Y.npz", Y=np.zeros((3, 2)), codes=np.array(["A", "B"]))
    with pytest.raises(InputError, match="X has 12 rows; Y has 3 rows, 2 columns and 2 codes"):
        load_corpus(rcv1)
    np.savez(rcv1 / "Y.npz", other=np.zeros(3))
    with pytest.raises(InputError, match="cannot be read"):
        load_corpus(rcv1)
    (rcv1 / "Y.npz").unlink()
    with pytest.raises(InputError, match=r"expected X\.npz, Y\.npz, rcv1\.taxonomy; there is no Y\.npz"):
        load_corpus(rcv1)


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("clinc150", (160, 18_000, 4_500)),
        ("senseval2-nouns", (284, 3_512, 1_754)),
        ("go-oxidoreductase", (622, 562, 140)),
        ("patents", (1_196, 18_892, 4_722)),
        ("rcv1", (103, 11_521, 2_880)),
    ],
)
def test_public_corpora(corpora: Path, name: str, sizes: tuple[int, int, int]) -> None:
    """The counts are those of the corpora's own descriptions; rcv1 has 599 repeated rows of 15,000."""
    taxonomy, train, test = load_corpus(corpora / name)
    assert (len(taxonomy), len(train), len(test)) == sizes
