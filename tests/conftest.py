"""What all tests share: where public corpora lie, and profiles for Hypothesis."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("pinakes", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pinakes")

collect_ignore_glob = ["conftest.py", "*/conftest.py"]  # no doctests there, and one name for several files

HERE = Path(__file__).resolve()


def find_corpora() -> Path | None:
    """Give the folder of public corpora, or None where there is none."""
    for folder in (os.environ.get("PINAKES_DATA"), HERE.parents[2] / "shared" / "data"):
        if folder and (Path(folder) / "news20").is_dir():
            return Path(folder).resolve()
    return None


@pytest.fixture(scope="session")
def corpora() -> Path:
    folder = find_corpora()
    if folder is None:
        pytest.skip("no public corpora here: set PINAKES_DATA to their folder")
    return folder
