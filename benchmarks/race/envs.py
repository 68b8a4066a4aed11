"""The environments: one a peer, made from its pinned requirements, so that none bends another's versions."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements"
VENVS = HERE / ".venvs"
PYTHONS = ("3.11", "3.12", "3.10", "3.13")  # in the order in which they are tried


class NotInstallable(Exception):
    """No Python here can install a peer; the message says what pip said last."""


def requirements_mark(env: str) -> str:
    """Give a short hash of an environment's requirements."""
    return hashlib.sha256((REQUIREMENTS / f"{env}.txt").read_bytes()).hexdigest()[:16]


def ensure(env: str, python: str | None = None) -> str:
    """Give the interpreter of an environment, making it if needed; `python` is tried instead of those found."""
    place = VENVS / env
    interpreter = place / "bin" / "python"
    done = place / "requirements.sha256"
    if done.exists() and done.read_text() == requirements_mark(env):
        return str(interpreter)
    said = "no Python found"
    for base in [python] if python else find_pythons():
        shutil.rmtree(place, ignore_errors=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
        steps = (
            [base, "-m", "venv", str(place)],
            # the requirements are complete: pip need not, and shall not, add to them
            [str(interpreter), *install, "--no-deps", "--requirement", str(REQUIREMENTS / f"{env}.txt")],
        )
        for step in steps:
            answer = subprocess.run(step, capture_output=True, text=True)
            if answer.returncode:
                lines = [line for line in answer.stderr.splitlines() if line.startswith("ERROR")] or [answer.stderr]
                said = lines[-1].strip()
                break
        else:
            done.write_text(requirements_mark(env))
            return str(interpreter)
    shutil.rmtree(place, ignore_errors=True)
    raise NotInstallable(f"{env} cannot be installed here: {said}")


def find_pythons() -> Iterator[str]:
    """Find interpreters: the running one, then those on PATH and under pyenv, in the order of `PYTHONS`."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    base = Path(sys.base_prefix) / "bin" / "python3"
    seen = set()
    found = [str(base)] if base.exists() else [sys.executable]
    for version in PYTHONS:
        found += filter(None, [shutil.which(f"python{version}")])
        found += [str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
    for path in found:
        version = _version(path)
        if version in PYTHONS and version not in seen:
            seen.add(version)
            yield path


def _version(python: str) -> str:
    """Ask an interpreter for its version; a pyenv shim without one behind it gives nothing."""
    ask = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        return subprocess.run(ask, capture_output=True, text=True, timeout=60).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
