"""The command as a process: start-up, pipes, interrupts, and what a terminal shows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_corpus import call, documents, json_lines

from pinakes.cli.main import VERBS

HEAVY = ("numpy", "numba", "scipy", "sklearn", "rich", "rdflib", "pyarrow")
COMMAND = [sys.executable, "-m", "pinakes"]
HELPS = [[], *([verb] for verb in VERBS), *(["taxonomy", verb] for verb in ("check", "show", "convert"))]


def run(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *args], capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("verb", HELPS, ids=" ".join)
def test_every_help_has_an_example(capsys, verb):
    assert call(*verb, "--help") == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"Usage: pinakes {' '.join(verb)}".rstrip())
    assert "Example" in out
    assert f"pinakes {' '.join(verb)}".rstrip() in out.split("Example")[1]
    assert err == ""
    assert max(map(len, out.splitlines())) <= 110


def test_help_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom pinakes.cli.main import main\n"
        "for verb in sys.argv[1:]:\n"
        "    try:\n        main([*verb.split(), '--help'])\n    except SystemExit:\n        pass\n"
        "print([name for name in sys.modules if name.split('.')[0] in " + repr(HEAVY) + "], file=sys.stderr)"
    )
    verbs = [" ".join(verb) for verb in HELPS]
    left = subprocess.run([sys.executable, "-c", code, *verbs], capture_output=True, text=True, timeout=60)
    assert left.stderr == "[]\n"
    times = []
    for _ in range(3):
        started = time.perf_counter()
        assert run("train", "--help").returncode == 0
        times.append(time.perf_counter() - started)
    assert min(times) < 2


def test_version_and_no_arguments(capsys):
    from pinakes import __version__

    assert call("--version") == 0
    assert capsys.readouterr() == (f"pinakes {__version__}\n", "")
    assert call() == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert all(f"  {verb} " in err for verb in VERBS)


def test_a_process_keeps_data_and_messages_apart(place):
    left = run("train", "docs.jsonl", "-t", "taxonomy.tsv", "-o", "m.pinakes", cwd=place)
    assert (left.returncode, left.stdout) == (0, "")
    assert left.stderr.startswith("m.pinakes: 60 documents")
    assert left.stderr.count("\n") == 1
    assert "\x1b" not in left.stderr
    assert "\r" not in left.stderr


def test_closed_and_full_pipes(place):
    rows = [row | {"id": f"ä{k}"} for k in range(40) for row in documents()]
    (place / "many.jsonl").write_text(json_lines(rows))
    args = [*COMMAND, "predict", "text.pinakes", "many.jsonl"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=place, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(60) == 1
    assert json.loads(first)["id"] == "ä0"
    assert err == b""
    if Path("/dev/full").exists():
        with open("/dev/full", "w") as full:
            left = subprocess.run(args, stdout=full, stderr=subprocess.PIPE, text=True, cwd=place, timeout=60)
        assert (left.returncode, left.stderr) == (1, "pinakes: cannot write the output: No space left on device\n")


def test_an_interrupt_from_outside(place):
    # the model never gets good enough: training would go on for very long
    # a shell that runs the tests in the background lets them ignore interrupts, which children inherit
    code = (
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import sys, time, pinakes.cli.console as console\nfrom pinakes.cli.main import main\n"
        "console.GapBar.__call__ = lambda self, progress: (print('scan', flush=True), time.sleep(0.05))\n"
        "main(sys.argv[1:])"
    )
    draw = documents(60)
    rows = [draw[i] | {"text": f"w{i % 7} w{i % 5} w{i % 3}"} for i in range(60)]
    (place / "x.jsonl").write_text(json_lines(rows))
    args = ["train", "x.jsonl", "-t", "taxonomy.tsv", "-o", "m.pinakes", "--C", "1e5"]
    args += ["--tol", "1e-15", "--max-iter", "100000000"]
    before = sorted(os.listdir(place))
    with subprocess.Popen(
        [sys.executable, "-c", code, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=place
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"scan\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == b"pinakes: interrupted; no file was changed\n"
    assert sorted(os.listdir(place)) == before


def on_terminal(args: list[str], place: Path, stdout_too: bool = False) -> tuple[int, str, str]:
    """Run a command with stderr (and stdout) on a pseudo-terminal; give exit code, stdout, and what the screen got."""
    pty = pytest.importorskip("pty")
    screen, inside = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    file = place / "stdout"  # a pipe could fill up while the screen is read
    with (
        open(file, "w") as out,
        subprocess.Popen(
            [*COMMAND, *args],
            stdout=inside if stdout_too else out,
            stderr=inside,
            stdin=subprocess.DEVNULL,
            cwd=place,
            env=environment,
        ) as process,
    ):
        os.close(inside)
        seen = b""
        while True:
            try:
                part = os.read(screen, 65536)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            seen += part
    os.close(screen)
    return process.returncode, file.read_text(), seen.decode()


def test_a_terminal_shows_progress(place):
    code, out, seen = on_terminal(["train", "docs.jsonl", "-t", "taxonomy.tsv", "-o", "m.pinakes"], place)
    assert (code, out) == (0, "")
    assert "training" in seen
    assert "gap" in seen
    assert seen.rstrip().splitlines()[-1].startswith("m.pinakes: 60 documents") or "m.pinakes: 60 documents" in seen


def test_answers_stay_on_stdout_while_a_terminal_shows_progress(place, pinakes):
    expected = pinakes("predict", "text.pinakes", "docs.jsonl").out
    code, out, seen = on_terminal(["predict", "text.pinakes", "docs.jsonl"], place)
    assert (code, out) == (0, expected)
    assert '"labels"' not in seen
    code, _, seen = on_terminal(["predict", "text.pinakes", "docs.jsonl"], place, stdout_too=True)
    assert code == 0
    assert seen.replace("\r\n", "\n") == expected
