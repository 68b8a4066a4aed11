"""Every experiment runs: quickly, on a tiny collection of patents made here and, where they are, on public corpora."""

from __future__ import annotations

import itertools
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from pinakes.datasets import make_synthetic
from pinakes.errors import InputError
from pinakes.metrics import paired_permutation_test
from pinakes.reproduce import load_experiment
from pinakes.reproduce.comparison import (
    SYSTEMS,
    compare_row,
    count_gains,
    deal_folds,
    fit,
    four_measures,
    p_value,
    summarise,
)
from pinakes.reproduce.corpora_2013 import load_task
from pinakes.reproduce.experiment import Result, Results, Settings
from pinakes.reproduce.patents import choose_C, load_patents, make_split, sample_categories, take_section
from pinakes.reproduce.runner import run
from pinakes.reproduce.table1_2013 import PAPER as PAPER_2013

ON_PATENTS = ["2003-table1", "2004-tables23", "2004-figure3", "2004-figure4", "2004-speedup"]
ON_NEWS_AND_RCV1 = ["2013-table1", "2013-tables23", "2013-table4", "2013-curves"]
WORDS = ["loom", "warp", "weft", "shuttle", "yarn", "spindle", "dye", "felt"]
WORDS += ["rope", "knit", "wall", "door", "road", "lock", "well", "bolt"]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sixteen main groups in sections D and E, as ipc-titles has them."""
    folder = tmp_path_factory.mktemp("corpora")
    place = folder / "ipc-titles"
    place.mkdir()
    groups = [f"{s}{c}{a}{g}" for s in "DE" for c in ("01", "02") for a in "BC" for g in ("0001", "0003")]
    edges = {(w[:k0], w[:k1]) for w in groups for k0, k1 in itertools.pairwise((0, 1, 3, 4, 8))}
    (place / "taxonomy.tsv").write_text("".join(f"{a}\t{b}\t{b}\n" for a, b in sorted(edges)))
    rng = np.random.default_rng(0)
    lines = []
    for k, group in enumerate(groups):
        own = [WORDS[k], WORDS[k - k % 2], "section" + group[0]]
        for i in range(7):
            text = " ".join([*own[: 1 + i % 3], *rng.choice(WORDS, 2)])
            lines.append(json.dumps({"id": f"{group}-{i}", "text": text, "labels": [group]}) + "\n")
    (place / "train.jsonl").write_text("".join(lines[::2]))
    (place / "test.jsonl").write_text("".join(lines[1::2]))
    return folder


def check(name: str, data: Path | None, out: Path) -> None:
    """Run an experiment quickly; its tables must be full of numbers, and a second run must find all of them."""
    settings = Settings(data, quick=True)
    outcome = run(load_experiment(name), settings, out)
    assert outcome.n_new == outcome.n_cells > 0
    for table in outcome.report.tables:
        assert table.rows
        for row in table.rows:
            assert len(row) == len(table.columns)
            assert all(np.isfinite(value) for value in row if isinstance(value, int | float))
            assert sum(isinstance(value, int | float) for value in row) >= 3
    assert outcome.report.findings
    assert all(path.stat().st_size > 0 for path in outcome.files)
    before = json.loads((out / f"{name}.json").read_text())
    assert run(load_experiment(name), settings, out).n_new == 0
    assert json.loads((out / f"{name}.json").read_text()) == before


def test_synthetic_data(tmp_path: Path) -> None:
    check("2004-table1", None, tmp_path)
    kept = json.loads((tmp_path / "2004-table1.json").read_text())
    assert len(kept["tables"][0]["rows"]) == 24
    assert any("100.0 % of the training documents" in finding for finding in kept["findings"])


@pytest.mark.parametrize("name", ON_PATENTS)
def test_on_a_tiny_collection(name: str, tiny: Path, tmp_path: Path) -> None:
    check(name, tiny, tmp_path)


@pytest.mark.corpus
@pytest.mark.parametrize("name", ON_PATENTS)
def test_on_the_public_corpora(name: str, corpora: Path, tmp_path: Path) -> None:
    check(name, corpora, tmp_path)


@pytest.mark.corpus
@pytest.mark.parametrize("name", ON_NEWS_AND_RCV1)
def test_2013_on_the_public_corpora(name: str, corpora: Path, tmp_path: Path) -> None:
    check(name, corpora, tmp_path)


@pytest.mark.corpus
def test_subtrees_have_the_papers_labels(corpora: Path) -> None:
    for name, (_, _, _, n_labels, depth) in PAPER_2013.items():
        task = load_task(Settings(corpora, quick=True), name, 0)
        assert len(task.taxonomy) == n_labels
        assert task.taxonomy.depth - (task.top is not None) == depth
        assert all(task.top is None or task.top in few for few in task.labels)


def test_sections_and_samples(tiny: Path) -> None:
    patents = load_patents(Settings(tiny))
    assert (patents.corpus, len(patents.texts)) == ("ipc-titles", 112)
    section = take_section(patents, "E")
    assert set(section.y) == {label for label in patents.y if label[0] == "E"}
    assert [section.taxonomy.ids[v] for v in section.taxonomy.roots] == ["E01", "E02"]
    assert section.taxonomy.depth == 3
    for most in (1, 3, 99):
        drawn = sample_categories(section, most, 0)
        assert np.unique(drawn.y, return_counts=True)[1].tolist() == [min(most, 7)] * 8
        assert set(drawn.texts) <= set(section.texts)
    split = make_split(section, np.arange(len(section.y)) < 10)
    np.testing.assert_allclose(np.sqrt(split.X.multiply(split.X).sum(axis=1)), 1, rtol=1e-5)
    assert split.X_test.shape[0] == 10
    with pytest.raises(InputError, match="there is no document of section A in ipc-titles"):
        take_section(patents, "A")


def test_a_folder_without_patents(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a folder ipc-titles or wipo-alpha in it, got neither"):
        load_patents(Settings(tmp_path))


def test_folds_are_dealt_evenly() -> None:
    y = np.repeat(["a", "b", "c"], [9, 4, 2])
    for seed in range(5):
        fold = deal_folds(y, 3, seed)
        assert np.bincount(fold).tolist() == [5, 5, 5]
        assert np.bincount(fold[y == "a"]).tolist() == [3, 3, 3]
        assert np.bincount(fold[y == "c"], minlength=3).max() == 1
    assert (deal_folds(y, 3, 0) != deal_folds(y, 3, 1)).any()


def test_the_four_measures_by_their_definitions() -> None:
    X, y, taxonomy = make_synthetic(3, 2, 200, 8, random_state=0)
    seen = np.isin(y, y[:80])
    X, y = X[seen][:120], y[seen][:120]
    model = fit(taxonomy, X[:80], y[:80], SYSTEMS["hsvm"], C=1.0, tol=0.01)
    found = four_measures(model, X[80:], y[80:], taxonomy)
    scores = model.decision_function(X[80:])
    answers = model.predict(X[80:])
    own = [scores[i, list(model.classes_).index(k)] for i, k in enumerate(y[80:])]
    assert found["acc"].mean() == accuracy_score(y[80:], answers)
    np.testing.assert_allclose(found["prec"], [1 / (scores[i] >= own[i]).sum() for i in range(40)])
    parents = [(a.rsplit(".", 1)[0], b.rsplit(".", 1)[0]) for a, b in zip(y[80:], answers, strict=True)]
    assert found["pacc"].tolist() == [float(a == b) for a, b in parents]
    delta = [0 if a == b else 1 if p == q else 2 for a, b, (p, q) in zip(y[80:], answers, parents, strict=True)]
    assert found["delta"].tolist() == delta
    means = summarise({"hsvm": found})
    assert means["hsvm_acc"] == pytest.approx(100 * found["acc"].mean())
    assert means["hsvm_delta"] == pytest.approx(np.mean(delta))


def test_the_test_of_significance_is_that_of_the_documents() -> None:
    rng = np.random.default_rng(3)
    flat, joint = rng.integers(0, 4, 200).astype(float), rng.integers(0, 3, 200).astype(float)
    counts = [count_gains("delta", flat[part], joint[part]) for part in (slice(0, 120), slice(120, 200))]
    assert p_value(counts) == pytest.approx(paired_permutation_test(flat, joint), abs=0.01)
    assert sum(n for part in counts for _, n in part) == 200
    assert sum(g * n for part in counts for g, n in part) == pytest.approx((flat - joint).sum())


def test_a_gain_is_positive_where_the_hierarchy_helps() -> None:
    measures = {"flat_delta": 1.5, "hsvm_delta": 1.2, "flat_acc": 40.0, "hsvm_acc": 41.0}
    results = Results([Result({"seed": 0}, measures)])
    row, gain = compare_row(results, "delta", (1.24, 1.15))
    assert gain == pytest.approx(0.3)
    assert row[3:5] == [1.24, pytest.approx(0.26)]
    assert row[-1] == pytest.approx(0.09)
    assert compare_row(results, "acc", (40.5, 40.0))[0][-2:] == [1.0, -0.5]


def test_C_is_the_best_on_held_out_documents(tiny: Path) -> None:
    patents = take_section(load_patents(Settings(tiny)), "D")
    train = np.arange(len(patents.y)) % 4 > 0
    grid = [1e-6, 1.0]
    chosen = choose_C(patents, train, SYSTEMS, grid, 0.01, seed=0)
    rows = np.flatnonzero(train)
    inner = deal_folds(patents.y[rows], 3, 0)
    for system, options in SYSTEMS.items():
        loss = []
        for C in grid:
            total = 0.0
            for fold in range(3):
                held, kept = np.isin(np.arange(len(train)), rows[inner == fold]), None
                kept = train & ~held
                split = make_split(patents, held, kept)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = fit(patents.taxonomy, split.X, split.y, options, C=C, tol=0.01)
                total += four_measures(model, split.X_test, split.y_test, patents.taxonomy)["delta"].mean()
            loss.append(total)
        assert chosen[system] == grid[int(np.argmin(loss))]
