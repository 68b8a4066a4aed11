"""`pinakes taxonomy`, from the command line's point of view."""

from __future__ import annotations

import io
import json
import sys

import pytest

from pinakes.cli.main import main
from pinakes.taxonomy import Taxonomy

GOOD = "\ta\tAnimals\na\tb\ta\na\tc\tCats\nb\td\nc\td\n"
BAD = "\ta\na\ta\na\tb\nb\tc\na\tc\na\tb\n"


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in a fresh folder and give exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> tuple[int, str, str]:
        code = 0
        try:
            main(["taxonomy", *args])
        except SystemExit as left:
            code = int(left.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    (tmp_path / "good.tsv").write_text(GOOD)
    (tmp_path / "bad.tsv").write_text(BAD)
    return call


def test_check_of_a_good_file_is_silent(run):
    assert run("check", "good.tsv") == (0, "", "good.tsv: 4 nodes, 0 errors, 0 warnings\n")


def test_check_of_a_bad_file(run):
    code, out, err = run("check", "bad.tsv")
    assert code == 1
    assert out.splitlines() == [
        "bad.tsv:2: error: 'a' is its own parent; remove this edge [self-loop]",
        "bad.tsv:6: warning: 'a' > 'b' is given again, first on line 3; remove one [duplicate-edge]",
        "bad.tsv:5: warning: 'a' > 'c' says nothing new: it follows from 'a' > … > 'b' > 'c' [redundant-edge]",
    ]
    assert err == "bad.tsv: 3 nodes, 1 error, 2 warnings\n"


def test_check_as_json_lines(run):
    code, out, _ = run("check", "bad.tsv", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert rows[0] == {
        "severity": "error",
        "kind": "self-loop",
        "message": "'a' is its own parent; remove this edge",
        "source": "bad.tsv",
        "line": 2,
        "count": 1,
    }
    assert len(rows) == 3


def test_check_against_labels(run, tmp_path):
    rows = [{"id": str(k), "text": "x", "labels": labels} for k, labels in enumerate([["d"], ["d", "Cats"], ["zz"]])]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = run("check", "good.tsv", "--labels", "docs.jsonl")
    assert code == 1
    assert "1 document has the label 'Cats', which is no category; it is the name of 'c'" in out
    assert "1 document has the label 'zz', which is no category [unknown-label]" in out
    assert err == "good.tsv: 4 nodes, 2 errors, 0 warnings\n"


def test_limit(run, tmp_path):
    (tmp_path / "t.tsv").write_text("\ta\n" * 10)
    _, out, err = run("check", "t.tsv", "--limit", "2")
    assert len(out.splitlines()) == 3
    assert err.endswith("1 node, 0 errors, 9 warnings\n")
    assert len(run("check", "t.tsv", "--limit", "0")[1].splitlines()) == 9


def test_show(run):
    code, out, err = run("show", "good.tsv")
    assert code == 0
    assert out.splitlines() == [
        "a  Animals  (3 below)",
        "├── b  a  (1 below)",
        "│   └── d  [2 parents]",
        "└── c  Cats  (1 below)",
        "    └── d  [2 parents]",
    ]
    assert err == "4 nodes, 1 root, 1 leaf, 3 levels, lattice (1 with several parents)\n"


def test_show_draws_what_is_below_once(run, tmp_path):
    edges = [(f"{k}{a}", f"{k + 1}{b}") for k in range(30) for a in "xy" for b in "xy"]
    Taxonomy.from_edges(edges).save(tmp_path / "ladder.tsv")
    _, out, _ = run("show", "ladder.tsv", "--max-lines", "0")
    assert len(out.splitlines()) == len(edges) + 2
    assert "1x  (58 below)  [2 parents]  see above" in out


def test_show_parts(run):
    assert run("show", "good.tsv", "--depth", "1")[1] == "a  Animals  (3 below)\n"
    assert run("show", "good.tsv", "--root", "c")[1] == "c  Cats  (1 below)\n└── d  [2 parents]\n"
    _, out, err = run("show", "good.tsv", "--max-lines", "2")
    assert len(out.splitlines()) == 2
    assert "stopped after 2 lines; use --root, --depth or --max-lines" in err
    assert "stopped" not in run("show", "good.tsv", "--max-lines", "5")[2]
    code, out, err = run("show", "good.tsv", "--root", "e")
    assert (code, out) == (1, "")
    assert err == "pinakes: 'e' is not in the taxonomy of 4 nodes\n"


@pytest.mark.parametrize("target", ["t.csv", "t.json", "t.ttl", "t.tsv.xz"])
def test_convert(run, tmp_path, target):
    code, out, err = run("convert", "good.tsv", target)
    assert (code, out, err) == (0, "", f"{target}: 4 nodes written\n")
    assert Taxonomy.load(tmp_path / target) == Taxonomy.load(tmp_path / "good.tsv")


def test_convert_refuses_and_fixes(run, tmp_path):
    code, _, err = run("convert", "bad.tsv", "t.tsv")
    assert code == 1
    assert err == "pinakes: bad.tsv:2: 'a' is its own parent; remove this edge\n"
    assert not (tmp_path / "t.tsv").exists()
    code, _, err = run("convert", "bad.tsv", "t.tsv", "--fix")
    assert code == 0
    assert [line.partition("[")[2] for line in err.splitlines()[:3]] == [
        "self-loop]",
        "duplicate-edge]",
        "redundant-edge]",
    ]
    assert err.startswith("dropped: bad.tsv:2: ")
    assert (tmp_path / "t.tsv").read_text() == "\ta\ta\na\tb\tb\nb\tc\tc\n"


def test_convert_with_a_language(run, tmp_path):
    run("convert", "good.tsv", "t.ttl", "--language", "en")
    assert '"Cats"@en' in (tmp_path / "t.ttl").read_text()
    run("convert", "t.ttl", "u.ttl", "--language", "en")
    assert '"Cats" .' in (tmp_path / "u.ttl").read_text()
    code, _, err = run("convert", "good.tsv", "t.csv", "--language", "en")
    assert code == 1
    assert "'language' is no option for writing csv" in err


def test_convert_between_streams(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a/b\na/c\n")))
    code, out, err = run("convert", "-", "-", "--to", "tsv")
    assert (code, out, err) == (0, "\ta\ta\na\ta/b\tb\na\ta/c\tc\n", "-: 3 nodes written\n")


def test_what_the_reader_noticed_is_said(run, tmp_path):
    (tmp_path / "t.obo").write_text("[Term]\nid: a\n[Term]\nid: b\nis_a: z\n")
    code, _, err = run("show", "t.obo")
    assert code == 0
    assert "t.obo:5: warning: 'b' is_a 'z', which is not in the file; this edge is left out [dropped-edge]" in err


def test_missing_file_is_one_line(run):
    code, out, err = run("check", "nowhere.tsv")
    assert (code, out) == (1, "")
    assert err == "pinakes: nowhere.tsv: there is no such taxonomy file; check the name\n"


@pytest.mark.parametrize("verb", ["check", "show", "convert"])
def test_help_ends_with_an_example(run, verb):
    code, out, _ = run(verb, "--help")
    assert code == 0
    assert f"Example: pinakes taxonomy {verb} " in out.splitlines()[-1]
