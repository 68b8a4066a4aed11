"""Contexts of ambiguous words: files as they should be, and files as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pinakes.datasets import load_senseval
from pinakes.errors import DocumentError

GOOD = {"id": "bar.1", "lemma": "bar.n", "text": "a <<bar>> of gold", "labels": ["bar%1:06:00::"]}


def write(folder: Path, **changes: Any) -> Path:
    (folder / "taxonomy.tsv").write_text("\tnoun.artifact\tnoun.artifact\nnoun.artifact\tbar%1:06:00::\tbar\n")
    (folder / "train.jsonl").write_text(json.dumps(GOOD) + "\n" + json.dumps({**GOOD, **changes}) + "\n")
    (folder / "test.jsonl").write_text(json.dumps({**GOOD, "labels": []}) + "\n")
    return folder


def test_a_context(tmp_path: Path) -> None:
    taxonomy, train, test = load_senseval(write(tmp_path, id="bar.2", text="<<Bars>>"))
    assert len(taxonomy) == 2
    assert [(c.id, c.lemma, c.before, c.word, c.after) for c in train] == [
        ("bar.1", "bar.n", "a ", "bar", " of gold"),
        ("bar.2", "bar.n", "", "Bars", ""),
    ]
    assert [c.senses for c in (*train, *test)] == [("bar%1:06:00::",), ("bar%1:06:00::",), ()]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": "a bar"}, r"train\.jsonl:2: the ambiguous word must stand once as <<word>>, got 0 of '<<'"),
        ({"text": "a <<bar>> and a <<bar>>"}, r"must stand once as <<word>>, got 2 of '<<' and 2 of '>>'"),
        ({"text": ">>bar<<"}, r"must stand once as <<word>>"),
        ({"text": "a << >>"}, r"train\.jsonl:2: there must be a word between << and >>, got none"),
        ({"lemma": ["bar.n", "rod.n"]}, r"train\.jsonl:2: a context needs its one lemma .* got 2 lemmas"),
        ({"lemma": None}, r"train\.jsonl:2: a context needs its one lemma under the key 'lemma', got none"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        load_senseval(write(tmp_path, **changes))


@pytest.mark.corpus
def test_the_official_counts(corpora: Path) -> None:
    """As the corpus describes itself, and as Senseval-2 counted its nouns."""
    taxonomy, train, test = load_senseval(corpora / "senseval2-nouns")
    assert (len(train), len(test), len({c.lemma for c in train})) == (3512, 1754, 29)
    assert {c.lemma for c in test} == {c.lemma for c in train}
    assert all(c.id.startswith(c.lemma.removesuffix(".n") + ".") for c in (*train, *test))
    assert sum(not c.senses for c in test) == 56
    assert len(taxonomy) == 284
