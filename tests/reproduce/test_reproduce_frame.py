"""The frame of the reproductions: results are kept, runs are taken up, and what is written is what was measured."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from pinakes.errors import InputError, ParameterError
from pinakes.reproduce import EXPERIMENTS, load_experiment
from pinakes.reproduce.experiment import Experiment, Figure, Report, Result, Results, Settings, Table
from pinakes.reproduce.runner import Interrupted, _work, run
from pinakes.reproduce.store import Store, cell_key, run_mark
from pinakes.reproduce.writing import markdown, show


class Squares(Experiment):
    """Squares numbers; says what it was asked to do, and stops where it is told to."""

    name = "squares"
    title = "Squares"
    paper = "Euclid, Table 1"

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.stop_at = -1
        self.power = 2

    def constants(self, settings):
        return {"power": self.power}

    def cells(self, settings):
        return [{"n": n, "seed": settings.seed} for n in range(4)]

    def measure(self, settings, cell):
        if cell["n"] == self.stop_at:
            raise KeyboardInterrupt
        self.asked.append(cell["n"])
        return {"square": cell["n"] ** self.power}

    def report(self, settings, results):
        rows = [[r.cell["n"], float(r.measures["square"]), np.float64(r.measures["square"] - 1)] for r in results]
        table = Table("Table 1", ("n", "square", "diff."), rows, frozenset({"diff."}), "A note.")
        figure = Figure("line", "A line", lambda canvas: canvas.subplots().plot(results.values("square")))
        return Report([table], [figure], [f"The last is {rows[-1][1]:g}."])


def test_a_run_writes_tables_and_figures(tmp_path: Path) -> None:
    outcome = run(Squares(), Settings(), tmp_path / "new" / "folder")
    names = {path.name for path in outcome.files}
    assert names == {"squares.json", "squares.md", "squares-1.csv", "squares-line.png", "squares-line.svg"}
    assert all(path.stat().st_size > 0 for path in outcome.files)
    assert (outcome.n_new, outcome.n_cells) == (4, 4)
    folder = tmp_path / "new" / "folder"
    kept = json.loads((folder / "squares.json").read_text())
    assert kept["tables"][0]["rows"] == [[0, 0.0, -1.0], [1, 1.0, 0.0], [2, 4.0, 3.0], [3, 9.0, 8.0]]
    assert kept["command"] == "pinakes reproduce run squares --out DIR --seed 0"
    assert kept["seeds"] == [0]
    assert str(tmp_path) not in json.dumps(kept)
    with (folder / "squares-1.csv").open() as file:
        assert list(csv.reader(file))[-1] == ["3", "9.0", "8.0"]
    text = (folder / "squares.md").read_text()
    assert "| 3 | 9 | +8 |" in text
    assert "- The last is 9." in text
    assert "![A line](squares-line.png)" in text
    assert "![A line](elsewhere/squares-line.png)" in markdown(kept, "elsewhere/")


def test_an_interrupted_run_is_taken_up(tmp_path: Path) -> None:
    first = Squares()
    first.stop_at = 2
    with pytest.raises(Interrupted, match=r"2 of 4 cells are kept in .*squares\.cells\.jsonl"):
        run(first, Settings(), tmp_path)
    second = Squares()
    told: list[tuple[int, int]] = []
    outcome = run(second, Settings(), tmp_path, tell=lambda done, total, what: told.append((done, total)))
    assert second.asked == [2, 3]
    assert told == [(2, 4), (3, 4), (4, 4)]
    assert outcome.n_new == 2
    third = Squares()
    run(third, Settings(), tmp_path)
    assert third.asked == []


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_last_line_that_was_cut_is_measured_again(tmp_path: Path, cut: int) -> None:
    run(Squares(), Settings(), tmp_path)
    file = tmp_path / "squares.cells.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-cut])
    again = Squares()
    run(again, Settings(), tmp_path)
    assert again.asked == [3]
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["cell"]["n"] for line in lines] == [0, 1, 2, 3]


def test_a_damaged_line_elsewhere_is_told(tmp_path: Path) -> None:
    run(Squares(), Settings(), tmp_path)
    file = tmp_path / "squares.cells.jsonl"
    lines = file.read_text().splitlines()
    for wrong in ("{", "[1, 2]", '{"mark": "x"}'):
        file.write_text("\n".join([lines[0], wrong, *lines[2:]]) + "\n")
        with pytest.raises(InputError, match=r"squares\.cells\.jsonl:2: expected the result of one cell as JSON"):
            run(Squares(), Settings(), tmp_path)


def test_results_of_other_settings_are_not_mixed(tmp_path: Path) -> None:
    run(Squares(), Settings(), tmp_path)
    cubes = Squares()
    cubes.power = 3
    outcome = run(cubes, Settings(), tmp_path)
    assert cubes.asked == [0, 1, 2, 3]
    assert outcome.report.findings == ["The last is 27."]
    squares = Squares()  # the first results are still there
    assert run(squares, Settings(), tmp_path).report.findings == ["The last is 9."]
    assert squares.asked == []
    marks = {run_mark(Squares(), Settings(quick=quick, seed=seed)) for quick in (False, True) for seed in (0, 1)}
    assert len(marks) == 4


def test_several_processes_measure_the_same() -> None:
    quick = Settings(quick=True)
    experiment = load_experiment("2004-table1")
    cells = experiment.cells(quick)[2:4]  # the rows of depth 2: fast
    one, two = (
        {cell_key(cell): measures for cell, measures, _ in _work(experiment, quick, cells, n_jobs)} for n_jobs in (1, 2)
    )
    assert one == two
    assert len(one) == 2


@pytest.mark.parametrize(("n_jobs", "message"), [(0, "--n-jobs must be a whole number >= 1, got 0")])
def test_bad_settings(tmp_path: Path, n_jobs: int, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        run(Squares(), Settings(), tmp_path, n_jobs)
    (tmp_path / "file").write_text("")
    with pytest.raises(ParameterError, match="--out must be a folder, got the file"):
        run(Squares(), Settings(), tmp_path / "file")
    with pytest.raises(ParameterError, match="needs corpora: say where they are with --data DIR"):
        Settings().folder()


def test_without_matplotlib_there_are_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinakes.reproduce.figures.can_draw", lambda: False)
    assert {path.suffix for path in run(Squares(), Settings(), tmp_path).files} == {".json", ".md", ".csv"}


def test_means_are_those_of_each_seed() -> None:
    results = Results([Result({"seed": s, "fold": f}, {"a": 10 * s + f}) for s in (1, 2) for f in (0, 1, 2)])
    assert results.means("a").tolist() == [11.0, 21.0]
    assert results.where(fold=2).values("a").tolist() == [12.0, 22.0]
    assert len(results.where(seed=1, fold=1)) == 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.00004, "4e-05"),
        (12345.6, "12346"),
        (0.0, "0"),
        (float("nan"), "–"),
        (-3.14159, "-3.14"),
        (0.000999, "0.000999"),
    ],
)
def test_numbers_as_people_read_them(value: float, shown: str) -> None:
    assert show(value) == shown


def test_the_list_says_what_the_experiments_say() -> None:
    for name, entry in EXPERIMENTS.items():
        experiment = load_experiment(name)
        assert experiment.name == name
        assert experiment.title == entry.title
        assert experiment.paper
    with pytest.raises(ParameterError, match=r"there is no experiment '2004-table9' \(closest: '2004-table1'"):
        load_experiment("2004-table9")
    with pytest.raises(ParameterError, match="there is no experiment 'x'; known are 2003-table1, "):
        load_experiment("x")


def test_the_store_forgets_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "cells", "mark")
    store.add({"a": 1, "b": "x"}, {"v": 0.1}, 1.0)
    again = Store(tmp_path / "cells", "mark")
    assert {"b": "x", "a": 1} in again
    assert {"b": "x", "a": 2} not in again
    assert again.measures({"b": "x", "a": 1}) == {"v": 0.1}
