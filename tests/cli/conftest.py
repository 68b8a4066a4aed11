"""Folders with a small corpus and models of it, and the command line run inside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_corpus import TAXONOMY, WORDS, Left, call, documents, json_lines


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents, a taxonomy, and two models: of texts and of vectors."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "docs.jsonl").write_text(json_lines(documents()))
    (folder / "taxonomy.tsv").write_text(TAXONOMY)
    labels = sorted(WORDS)
    rows = [f"{labels[i % 4]} {i % 4 + 1}:1 5:0.5" for i in range(20)]
    (folder / "vectors.svm").write_text("\n".join(rows) + "\n")
    for source, model in (("docs.jsonl", "text.pinakes"), ("vectors.svm", "vectors.pinakes")):
        args = ["train", str(folder / source), "-t", str(folder / "taxonomy.tsv"), "-o", str(folder / model)]
        assert call(*args) == 0
    return folder


@pytest.fixture
def place(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh folder, the current one, with copies of what is in `trained`."""
    for file in trained.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pinakes(capsys: pytest.CaptureFixture[str], place: Path) -> Callable[..., Left]:
    """Run a command in the folder `place` and give exit code, stdout and stderr."""
    capsys.readouterr()

    def run(*args: str) -> Left:
        code = call(*args)
        out, err = capsys.readouterr()
        return Left(code, out, err)

    return run
