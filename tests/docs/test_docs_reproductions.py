"""The page of results is what the kept results make of it."""

from __future__ import annotations

import json

import pages


def test_the_page_is_made_from_the_kept_results() -> None:
    script = pages.script("make_reproductions")
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run python docs/make_reproductions.py"


def test_kept_results_are_full_runs_with_an_account_and_their_figures() -> None:
    kept = pages.DOCS / "reproduce"
    results = sorted(kept.glob("*.json"))
    assert results
    for file in results:
        whole = json.loads(file.read_text(encoding="utf-8"))
        assert not whole["quick"], file.name
        assert (kept / f"{whole['name']}.txt").read_text(encoding="utf-8").strip(), file.name
        for figure in whole["figures"]:
            assert (kept / figure["file"]).exists(), figure["file"]
            assert (kept / figure["file"]).with_suffix(".svg").exists(), figure["file"]
