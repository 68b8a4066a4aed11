"""`pinakes reproduce`: the list, a run, and what is said when something is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinakes.reproduce import EXPERIMENTS


def test_list(pinakes) -> None:
    left = pinakes("reproduce", "list")
    assert left.code == 0
    for name, entry in EXPERIMENTS.items():
        assert name in left.out
        assert entry.title in left.out


def test_run_shows_the_table_and_takes_up_what_is_there(pinakes) -> None:
    left = pinakes("reproduce", "run", "2004-table1", "--out", "results", "--quick")
    assert left.code == 0
    assert "flat paper" in left.out
    assert "68.9" in left.out
    assert "results: 6 cells measured, 0 known before; wrote 2004-table1.json" in left.err
    assert Path("results/2004-table1.md").exists()
    again = pinakes("reproduce", "run", "2004-table1", "--out", "results", "--quick")
    assert again.out == left.out
    assert "0 cells measured, 6 known before" in again.err


def test_an_interrupt_says_what_is_kept(pinakes, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pinakes.reproduce.table1_2004.Table1.measure", stop)
    left = pinakes("reproduce", "run", "2004-table1", "--out", "results", "--quick")
    assert left.code == 130
    assert "pinakes: interrupted; 0 of 6 cells are kept in results/2004-table1.cells.jsonl" in left.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["2004-tabel1", "--out", "r"], "there is no experiment '2004-tabel1' (closest: '2004-table1'"),
        (["2004-tables23", "--out", "r"], "this experiment needs corpora: say where they are with --data DIR"),
        (["2004-tables23", "--out", "r", "--data", "no"], "--data: there is no folder no"),
        (
            ["2004-tables23", "--out", "r", "--data", "."],
            "expected a folder ipc-titles or wipo-alpha in it, got neither",
        ),
        (["2004-table1", "--out", "docs.jsonl"], "--out must be a folder, got the file docs.jsonl"),
        (["2004-table1", "--out", "r", "--n-jobs", "0"], "--n-jobs"),
    ],
)
def test_mistakes(pinakes, args: list[str], message: str) -> None:
    left = pinakes("reproduce", "run", *args)
    assert left.code == 1
    assert message in left.err
    assert left.err.count("\n") == 1
    assert not Path("r").exists()
