"""The benchmarks' own arithmetic and order of events; a small race is run from end to end."""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from scipy import sparse

sys.path.append(str(Path(__file__).resolve().parents[2]))  # the benchmarks are not installed

from benchmarks import growth
from benchmarks.race import __main__ as command
from benchmarks.race import bandwidth, envs, frontier, limits, plot, table
from benchmarks.race.runners.ours import Ours
from benchmarks.race.runs import Runs
from benchmarks.race.scan import time_scan
from benchmarks.race.systems import cut, find_system

from pinakes import Taxonomy, TaxonomySVC
from pinakes.errors import ParameterError

WORDS = {"cat": "purr whiskers", "dog": "bark tail", "oak": "acorn bark", "fern": "spore frond"}
TAXONOMY = "\tanimal\tanimal\nanimal\tcat\tcat\nanimal\tdog\tdog\n\tplant\tplant\nplant\toak\toak\nplant\tfern\tfern\n"


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "data" / "small"
    folder.mkdir(parents=True)
    (folder / "taxonomy.tsv").write_text(TAXONOMY)
    for part, n in (("train", 60), ("test", 12)):
        lines = [
            {"id": str(i), "text": f"{WORDS[label]} {'leaf' if i % 3 else 'paw'} word{i % 7}", "labels": [label]}
            for i, label in enumerate(list(WORDS) * (n // 4))
        ]
        (folder / f"{part}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_a_small_race_from_end_to_end(corpus, tmp_path, monkeypatch, capsys):
    """Ours and LIBLINEAR, which lives in our environment here; then resumed, then one row again."""
    monkeypatch.setattr(envs, "ensure", lambda env, python: sys.executable)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # for the processes it starts: compiling takes longer than the race
    monkeypatch.setattr(frontier, "APART", 1e9)  # no runs of one round, two rounds, …
    out = tmp_path / "out"
    line = ["race", "--data", str(corpus.parent), "--sets", "small", "--systems", "ours-tree:C=2,linearsvc,omikuji"]
    line += ["--work", str(tmp_path / "work"), "--out", str(out)]
    monkeypatch.setattr(bandwidth, "copy_rate", lambda n_threads=None: 1e9)
    monkeypatch.setattr(sys, "argv", line)
    command.main()
    report = json.loads((out / "race.json").read_text())["sets"]["small"]
    ours, peer, absent = (report["systems"][name] for name in ("ours-tree:C=2", "linearsvc", "omikuji"))
    assert ours["accuracy"] == peer["accuracy"] == 1.0
    assert ours["delta_loss"] == 0.0
    assert ours["to_gap_1"] <= ours["train_seconds"]
    assert "No module named 'omikuji'" in absent["missing"]
    assert ours["notes"]["stopped"] == "converged"
    text = (out / "race.md").read_text()
    assert "| Pinakes, tree loss, C=2 |" in text
    assert "The frontier of Pinakes, tree loss, C=2" in text
    assert "prediction reads" in text
    assert {path.name for path in out.iterdir()} == {"race.md", "race.json", "small.png", "small.svg"}

    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", [*line, "--rerun", "small/linearsvc"])
    command.main()
    said = capsys.readouterr().err
    assert "small: linearsvc #1" in said
    assert "small: ours-tree:C=2 #1" not in said
    monkeypatch.setattr(sys, "argv", [*line, "--rerun", "small/pecos"])
    with pytest.raises(SystemExit, match="race: --rerun: 'small/pecos' is neither a system that runs nor set/system"):
        command.main()
    monkeypatch.setattr(sys, "argv", [*line, "--max-minutes", "soon"])
    with pytest.raises(SystemExit, match="race: --max-minutes: expected a number or set=number, got 'soon'"):
        command.main()


def test_limits_end_a_process_and_say_why(tmp_path):
    def run(code, minutes=1.0, gigabytes=10.0):
        log = tmp_path / "log"
        return limits.run_limited([sys.executable, "-c", code], tmp_path, log, limits.Limits(minutes, gigabytes))

    assert run("raise SystemExit(7)") == 7
    with pytest.raises(limits.Unfinished, match=r"^not finished in 0.005 min$"):
        run("import time; time.sleep(60)", minutes=0.005)
    with pytest.raises(limits.Unfinished, match=r"^ended: it wanted more than 0.2 GB of memory$"):
        run("b = bytearray(3 * 10**8); import time; time.sleep(60)", gigabytes=0.2)
    minutes = limits.PerSet("--max-minutes", "8,cpc=5,cpc/linearsvc=2", 10)
    asked = [("ipc", "linearsvc"), ("cpc", "pecos"), ("cpc", "linearsvc:C=3")]
    assert [minutes.of(*one) for one in asked] == [8, 5, 2]
    assert limits.PerSet("--repeat", "small=3", 1).of("other") == 1
    variable = "import os; raise SystemExit(int(os.environ['N']))"
    log, enough = tmp_path / "log", limits.Limits(1.0, 10.0)
    assert limits.run_limited([sys.executable, "-c", variable], tmp_path, log, enough, {"N": "5"}) == 5


def test_the_command_is_shown_as_others_would_type_it():
    words = ["--resume", "--data", "here/there", "--sets", "a,b", "--out", "x", "--repeat", "1,a=3"]
    assert command._command(words) == "python -m benchmarks.race --data DIR --sets a,b --repeat 1,a=3"


def test_a_system_may_run_on_one_set_only(corpus, tmp_path, monkeypatch):
    """And each set has its number of repeats; runs beside much other work are named."""
    asked = []
    monkeypatch.setattr(Runs, "once", lambda runs, system, repeat: asked.append((runs.name, system.name, repeat)))
    monkeypatch.setattr(bandwidth, "copy_rate", lambda n_threads=None: 1e9)
    corpus.with_name("other").symlink_to(corpus)
    line = ["race", "--data", str(corpus.parent), "--sets", "small,other", "--repeat", "1,other=2", "--no-frontier"]
    line += ["--work", str(tmp_path / "work"), "--out", str(tmp_path / "out"), "--systems"]
    monkeypatch.setattr(sys, "argv", [*line, "pecos,other/omikuji"])
    command.main()
    assert asked == [("small", "pecos", 1), *(("other", name, k) for k in (1, 2) for name in ("pecos", "omikuji"))]
    monkeypatch.setattr(sys, "argv", [*line, "pecos,third/omikuji"])
    with pytest.raises(SystemExit, match="race: --systems: 'third' is not one of the sets small, other"):
        command.main()
    report = json.loads((tmp_path / "out" / "race.json").read_text())
    both = report["sets"]["other"]["systems"]
    both["pecos"]["other_work"], both["omikuji"]["other_work"] = 0.04, 0.5
    text = table.markdown(report)
    assert "took at most 4% of the machine, more beside omikuji (default) on other (50%). Times" in text


def row(ours=False, cut=None, train=1.0, delta=1.0, pacc=0.5, **more):
    return {
        "ours": ours, "cut": cut, "label": "x", "train_seconds": train, "delta_loss": delta, "parent_accuracy": pacc,
        **more,
    }  # fmt: skip


def test_the_frontier_compares_at_the_moment_a_peer_finishes():
    history = [{"seconds": seconds} for seconds in (1, 1.1, 4, 9, 10)]
    mine, peers = row(True, train=10, delta=0.5, pacc=0.9, notes={"history": history}), {
        "quick": row(train=3, delta=0.8, pacc=0.6), "slow": row(train=20, delta=0.5), "never": {"missing": "", **row()},
    }  # fmt: skip
    system = find_system("ours-tree")
    assert [early.options["finish_by"] for early in frontier.moments(system, mine, peers)] == [3]
    assert [early.options["max_iter"] for early in frontier.rounds(system, mine)] == [1, 3]
    early = cut(system, "quick", finish_by=3)
    assert (early.name, early.cut) == ("ours-tree@quick", ("ours-tree", "quick"))
    then = row(True, early.cut, train=2.9, delta=0.7, pacc=0.7)
    entries = frontier.compare({"ours-tree": mine, **peers, early.name: then})
    assert [(e["peer"], e["then"]["train_seconds"], e["in_time"], e["ahead"]) for e in entries] == [
        ("quick", 2.9, True, True),
        ("slow", 10, True, False),  # an equal delta is not lower
    ]
    assert [e["peer"] for e in frontier.compare({"ours-tree": mine, **peers})] == ["slow"]


def test_bytes_of_a_scan_are_those_of_the_rows_it_reads():
    rng = np.random.default_rng(0)
    taxonomy = Taxonomy.from_paths(f"{a}/{a}{b}" for a in "abcd" for b in range(25))
    y = np.array([taxonomy.ids[v] for v in taxonomy.leaves] * 3)
    X = sparse.random_array((len(y), 200), density=0.05, format="csr", rng=rng, dtype=np.float32)
    m = TaxonomySVC(taxonomy, tol=0.1).fit(X, y)
    rows = m._scorer.rows
    blocks = sum(int(rows.length[j]) for j in X.indices)
    assert bandwidth.scan_bytes(X, rows) == blocks * (8 * 4 + 4) + X.nnz * 8
    assert bandwidth.scan_bytes(X, object()) is None
    assert 0 <= time_scan(m, X, y) < 10
    assert bandwidth.copy_rate(repeat=1) > 1e8


def test_time_to_a_gap_counts_full_scans_only():
    history = [(1, 0.005, False), (2, 0.2, True), (3, 0.09, True), (4, 0.009, True)]
    runs = [{"notes": {"history": [dict(zip(("seconds", "gap", "exact"), h, strict=True)) for h in history]}}]
    assert [table._time_to(gap, runs) for gap in (0.5, 0.1, 0.01, 0.001)] == [2, 3, 4, None]


def test_labels_of_the_plot_do_not_meet_and_stay_inside(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr("matplotlib.pyplot.close", figures.append)
    measures = {"accuracy": 0.5, "hierarchical_f1": 0.5}
    systems = {
        f"s{k}": row(train=1 + k / 100, delta=1 + k / 1000, pacc=0.5, **measures)
        | {"label": f"a system with a long name and many options, number {k}"}
        for k in range(6)
    }
    report = {"sets": {"x": {"set": {"train": 1, "classes": 2}, "systems": systems}}}
    files = plot.draw(report, tmp_path)
    assert [path.name for path in files] == ["x.png", "x.svg"]
    assert all(path.stat().st_size > 1000 for path in files)
    (figure,) = figures
    figure.canvas.draw()
    for axis in figure.axes:
        boxes = [Text.get_window_extent(label) for label in axis.texts]  # without the lines to the dots
        assert len(boxes) == 6
        assert all(axis.bbox.x0 <= box.x0 and box.x1 <= axis.bbox.x1 for box in boxes)
        assert not any(Bbox.intersection(*two) for two in combinations(boxes, 2))


def test_samples_for_growth_are_nested_and_of_the_sizes_they_say():
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(16), rng.integers(0, 16, 400)])
    taxonomy = Taxonomy.flat(map(str, range(16)))
    corpus = growth.Corpus(np.arange(len(y)), y, np.arange(16).astype(str), taxonomy)
    found = list(growth.samples(corpus, 3))
    by_way = {way: [sample for name, sample in found if name == way] for way in growth.AIMS}
    assert [len(s.y) for s in by_way["documents"]] == [104, 208, 416]
    assert [len(np.unique(s.y)) for s in by_way["documents"]] == [16, 16, 16]
    assert len({len(s.y) for s in by_way["classes, fixed n"]}) == 1
    assert [len(np.unique(s.y)) for s in by_way["classes, fixed n"]] == [4, 8, 16]
    for small, large in zip(by_way["classes, all docs"], by_way["classes, all docs"][1:], strict=False):
        assert set(small.X) < set(large.X)
    points = [
        {"way": way, "n": len(s.y), "q": len(np.unique(s.y)), "seconds": len(s.y) ** 1.2 * len(np.unique(s.y)) ** 0.5}
        for way, s in found
    ]
    slopes = {line["way"]: line["all"] for line in growth.exponents(points)}
    assert slopes["documents"] == pytest.approx(1.2)
    assert slopes["classes, fixed n"] == pytest.approx(0.5)


def test_unknown_systems_are_named():
    with pytest.raises(ParameterError, match=r"--systems: 'peco' is not one of .*closest: 'pecos'"):
        find_system("peco")
    with pytest.raises(ParameterError, match="after 'pecos' expected option=value, got 'fast'"):
        find_system("pecos:fast")


def test_early_stops_are_as_late_as_they_may_be():
    """A solver whose clock is coarse, with one second spent outside of it: steps of a second, told to end by 4.5."""

    class Model:
        stopped_ = "max_seconds"

    runner = Ours(None, {})
    runner.finish_by, runner.settings = 4.5, {"max_seconds": 4.5}
    runner.tries, runner.low, runner.high, runner.in_time = 0, 0.0, float("inf"), None
    counted = None
    while counted is None:
        runner.tries += 1
        runner.model, runner.reports = Model(), runner.tries
        counted = runner.again(1 + np.ceil(runner.settings["max_seconds"]))
    assert counted == 4.0
    assert runner.tries <= 5


def test_plots_leave_out_what_has_a_twin_with_a_chosen_c():
    def part(**rows):
        return {name.replace("_cv", ":C=cv"): {"cut": cut} for name, cut in rows.items()}

    rows = part(tree=None, tree_cv=None, exact=None, exact_cv=None, flat=None, peer=None, **{"tree@1": ("tree", "1")})
    assert set(plot._shown(rows)) == {"tree", "tree:C=cv", "exact:C=cv", "flat", "peer", "tree@1"}
