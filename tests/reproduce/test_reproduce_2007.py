"""The 2007 experiments: quickly, on a tiny collection made here and, where they are, on the public patents."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss

from pinakes.errors import InputError
from pinakes.metrics import paired_permutation_test
from pinakes.reproduce import load_experiment
from pinakes.reproduce import patents_2007 as patents
from pinakes.reproduce.comparison import p_value
from pinakes.reproduce.experiment import Result, Results, Settings
from pinakes.reproduce.runner import run

NAMES = ["2007-svm", "2007-minover", "2007-growth"]
WORDS = ["loom", "warp", "weft", "shuttle", "yarn", "spindle", "dye", "felt"]
WORDS += ["rope", "knit", "wall", "door", "road", "lock", "well", "bolt"]
GROUPS = [f"{s}{c}{a} {g}/00" for s in "DE" for c in ("01", "02") for a in "BC" for g in (1, 3)]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sixteen main groups in sections D and E, some documents in two of them."""
    folder = tmp_path_factory.mktemp("corpora")
    place = folder / "patents"
    place.mkdir()
    ways = [(w[0], w[:3], w[:4], w) for w in GROUPS]
    edges = {(a, b) for way in ways for a, b in itertools.pairwise(("", *way))}
    (place / "taxonomy.tsv").write_text("".join(f"{a}\t{b}\t{b}\n" for a, b in sorted(edges)))
    rng = np.random.default_rng(0)
    lines = []
    for i in range(160):
        labels = [GROUPS[i % 16], *([GROUPS[(i * 7 + 3) % 16]] if i % 3 == 0 else [])]
        words = [WORDS[GROUPS.index(label)] for label in labels] + rng.choice(WORDS, 1).tolist()
        lines.append(json.dumps({"id": str(i), "text": " ".join(words), "labels": list(dict.fromkeys(labels))}) + "\n")
    (place / "train.jsonl").write_text("".join(lines[:120]))
    (place / "test.jsonl").write_text("".join(lines[120:]))
    return folder


def check(name: str, data: Path, out: Path) -> dict:
    """Run an experiment quickly; its tables must be full of numbers, and a second run must find all of them."""
    settings = Settings(data, quick=True)
    outcome = run(load_experiment(name), settings, out)
    assert outcome.n_new == outcome.n_cells > 0
    for table in outcome.report.tables:
        assert table.rows
        for row in table.rows:
            assert len(row) == len(table.columns)
            assert all(np.isfinite(value) for value in row if isinstance(value, int | float))
    assert outcome.report.findings
    assert all(path.stat().st_size > 0 for path in outcome.files)
    assert run(load_experiment(name), settings, out).n_new == 0
    return json.loads((out / f"{name}.json").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_on_a_tiny_collection(name: str, tiny: Path, tmp_path: Path) -> None:
    kept = check(name, tiny, tmp_path)
    measures = {row[kept["tables"][0]["columns"].index("measure")] for row in kept["tables"][0]["rows"]}
    assert measures == set(patents.SHOWN.values())


@pytest.mark.corpus
@pytest.mark.parametrize("name", NAMES)
def test_on_the_public_patents(name: str, corpora: Path, tmp_path: Path) -> None:
    check(name, corpora, tmp_path)


def test_sections_have_their_documents_and_their_categories_only(tiny: Path) -> None:
    settings = Settings(tiny)
    whole, section = patents.load_labelled(settings), patents.load_labelled(settings, "E")
    assert len(whole.texts) == 160
    inside = [few for few in whole.labels if any(label[0] == "E" for label in few)]
    assert [set(few) for few in section.labels] == [{k for k in few if k[0] == "E"} for few in inside]
    assert [section.taxonomy.ids[v] for v in section.taxonomy.roots] == ["E01", "E02"]
    assert section.n_categories == 8
    assert patents.find_sections(settings) == ["all"]  # none has a thousand documents
    with pytest.raises(InputError, match="there is no document of section A in patents"):
        patents.load_labelled(settings, "A")


def test_a_folder_without_patents(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a folder patents in it, got none"):
        patents.load_labelled(Settings(tmp_path))


@pytest.mark.parametrize("most", [1, 3, 99])
def test_samples_have_enough_of_each_category_and_no_document_in_vain(most: int, tiny: Path) -> None:
    labels = patents.load_labelled(Settings(tiny)).labels
    rows = patents.sample_categories(labels, most, 0)
    assert len(set(rows.tolist())) == len(rows)
    drawn = {k: sum(k in labels[i] for i in rows) for k in GROUPS}
    assert drawn.keys() == set(GROUPS)
    assert all(n >= min(most, sum(k in few for few in labels)) for k, n in drawn.items())
    assert len(rows) <= 16 * most
    assert rows.tolist() != patents.sample_categories(labels, 1, 1).tolist()


class Fixed:
    """A model with given scores."""

    def __init__(self, scores, classes):
        self.scores, self.classes_ = scores, np.array(classes)

    def decision_function(self, X):
        return self.scores


def test_the_five_measures_by_their_definitions(tiny: Path) -> None:
    whole = patents.load_labelled(Settings(tiny))
    true = whole.labels[:30]
    scores = np.random.default_rng(0).standard_normal((30, 16))
    split = patents.Split(None, [], None, true)
    found = patents.five_measures(Fixed(scores, GROUPS), split, whole.taxonomy)
    Y = np.array([[k in few for k in GROUPS] for few in true])
    assert found["prec"].mean() == pytest.approx(label_ranking_average_precision_score(Y, scores))
    assert found["rloss"].mean() == pytest.approx(label_ranking_loss(Y, scores))
    best = [GROUPS[k] for k in scores.argmax(axis=1)]
    assert found["acc"].tolist() == [float(b in few) for b, few in zip(best, true, strict=True)]
    assert found["pacc"].tolist() == [
        float(any(b[:4] == k[:4] for k in few)) for b, few in zip(best, true, strict=True)
    ]

    def delta(a: str, b: str) -> int:  # half the path between two leaves of depth four
        return next(4 - k for k, n in ((4, 99), (3, 4), (2, 3), (1, 1), (0, 0)) if a[:n] == b[:n])

    for i, few in enumerate(true):
        wrong = [
            delta(a, b)
            for a in few
            for b in GROUPS
            if b not in few and scores[i, GROUPS.index(b)] >= scores[i, GROUPS.index(a)]
        ]
        assert found["xloss"][i] == max(wrong, default=0)


def test_gains_are_positive_where_the_hierarchy_helps_and_carry_the_test() -> None:
    rng = np.random.default_rng(3)
    found = {}
    for system, worse in (("flat", 0.1), ("hier", 0.0)):
        signs = {name: 1 if name in patents.LESS else -1 for name in patents.MEASURES}
        found[system] = {name: np.round(rng.random(150), 4) + sign * worse for name, sign in signs.items()}
    counts = patents.count_gains(found)
    for name in patents.MEASURES:
        pairs = counts[f"gains_{name}"]
        assert sum(n for _, n in pairs) == 150
        assert sum(g * n for g, n in pairs) > 0
        expected = paired_permutation_test(found["flat"][name], found["hier"][name])
        assert p_value([pairs]) == pytest.approx(expected, abs=0.01)
    results = Results([Result({"seed": 0}, patents.summarise(found))])
    for name in patents.MEASURES:
        assert patents.compare(results, name)[1] > 0
