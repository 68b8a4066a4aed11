"""The race on label sets: its rule from scores to sets against brute force, and a small race from end to end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss

sys.path.append(str(Path(__file__).resolve().parents[2]))  # the benchmarks are not installed

from benchmarks.race import __main__ as command
from benchmarks.race import bandwidth, data, envs, plot, table
from benchmarks.race.kinds import SEVERAL
from benchmarks.race.measures_sets import best_cut, keep_best, measure_sets, take_above
from benchmarks.race.runners.common import Task, score_all
from benchmarks.race.runners.ours_sets import OursOnSets
from benchmarks.race.systems import find_system

from pinakes import Taxonomy, metrics
from pinakes.errors import ParameterError

LATTICE = Taxonomy.from_edges(
    [("", "a"), ("", "b"), ("a", "c"), ("a", "d"), ("b", "d"), ("b", "e"), ("d", "f"), ("d", "g"), ("e", "h")]
)
CLASSES = ["c", "d", "f", "g", "h"]
WORDS = {"cat": "purr whiskers", "dog": "bark tail", "oak": "acorn bark", "fern": "spore frond"}
TAXONOMY = "\tanimal\tanimal\nanimal\tcat\tcat\nanimal\tdog\tdog\n\tplant\tplant\nplant\toak\toak\nplant\tfern\tfern\n"


def random_task(seed, n=40):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-3, 4, (n, len(CLASSES))).astype(np.float32)  # with many ties
    truth = [rng.choice(CLASSES, rng.integers(1, 4), replace=False).tolist() for _ in range(n)]
    return scores, truth


@pytest.mark.parametrize("seed", range(8))
def test_the_cut_is_the_best_of_all(seed):
    scores, truth = random_task(seed)
    found = best_cut(scores, truth, CLASSES, LATTICE)

    def f1(cut):
        sets = [[CLASSES[k] for k in np.flatnonzero(row)] for row in take_above(scores, cut)]
        return metrics.hierarchical_f1(truth, sets, LATTICE)

    assert f1(found) == pytest.approx(max(f1(cut) for cut in (-3, -2, -1, 0, 1, 2, 3, np.inf)))


def test_the_best_labels_stay_and_the_others_are_tied_last():
    scores, _ = random_task(0)
    kept = keep_best(scores, 2)
    assert (np.isfinite(kept).sum(axis=1) == 2).all()
    np.testing.assert_array_equal(np.sort(kept, axis=1)[:, -2:], np.sort(scores, axis=1)[:, -2:])
    assert keep_best(scores, 5) is scores


def test_rankings_are_scikit_learn_s():
    rng = np.random.default_rng(1)
    scores = rng.standard_normal((30, len(CLASSES))).astype(np.float32)
    _, truth = random_task(1, 30)
    own = np.packbits(scores > 0, axis=1)
    values = measure_sets({"scores": scores, "held_out": scores, "own": own}, 0.5, truth, truth, CLASSES, LATTICE)
    Y = np.array([[k in few for k in CLASSES] for few in truth]).astype(int)
    assert values["ranking_loss"] == pytest.approx(label_ranking_loss(Y, scores), abs=1e-5)
    assert values["average_precision"] == pytest.approx(label_ranking_average_precision_score(Y, scores), abs=1e-5)
    assert values["ranking_loss_20"] == values["ranking_loss"]
    answers = [[CLASSES[k] for k in np.flatnonzero(row > 0)] for row in scores]
    assert values["own_micro_f1"] == pytest.approx(metrics.micro_f1(truth, answers, LATTICE), abs=1e-5)


def test_implied_labels_are_dropped_where_all_are_there():
    assert data.close(LATTICE, ["f"]) == {"a", "b", "d", "f"}
    assert data.drop_implied(LATTICE, ["a", "b", "d", "f", "h"]) == ["f", "h"]


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "data" / "small"
    folder.mkdir(parents=True)
    (folder / "taxonomy.tsv").write_text(TAXONOMY)
    names = list(WORDS)
    for part, n in (("train", 80), ("test", 12)):
        lines = []
        for i in range(n):
            labels = [names[i % 4]] if i % 3 else [names[i % 4], names[(i + 1) % 4]]
            text = " ".join(WORDS[label] for label in labels) + f" word{i % 7}"
            lines.append({"id": str(i), "text": text, "labels": labels})
        (folder / f"{part}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_a_small_race_on_label_sets(corpus, tmp_path, monkeypatch):
    """LIBLINEAR, which lives in our environment here, and a peer that does not; ours on the same files."""
    monkeypatch.setattr(envs, "ensure", lambda env, python: sys.executable)
    monkeypatch.setattr(bandwidth, "copy_rate", lambda n_threads=None: 1e9)
    out, work = tmp_path / "out", tmp_path / "work" / "sets" / "small"
    line = ["race", "--several", "--data", str(corpus.parent), "--sets", "small", "--systems", "linearsvc,pecos"]
    monkeypatch.setattr(sys, "argv", [*line, "--work", str(tmp_path / "work"), "--out", str(out)])
    command.main()
    report = json.loads((out / "race-sets.json").read_text())["sets"]["small"]
    assert report["set"]["labels_each"] == pytest.approx((80 + 27) / 80)
    peer, absent = (report["systems"][name] for name in ("linearsvc", "pecos"))
    assert "No module named 'pecos'" in absent["missing"]
    text = (out / "race-sets.md").read_text()
    assert "# The race on label sets" in text
    assert "| LinearSVC one-vs-rest |" in text
    assert "1.34 labels a document" in text
    assert {path.name for path in out.iterdir()} == {"race-sets.md", "race-sets.json", "small.png", "small.svg"}

    Y, aside = data.read_held_out(work)
    assert len(aside) == 16
    runner = OursOnSets(Task(work), {"estimator": "TaxonomyRankSVC", "cut": 1.0})
    runner.prepare()
    runner.warm_up()
    runner.fit()
    X_test = sparse.load_npz(work / "X_test.npz").tocsr()
    found = score_all(runner, X_test)
    assert found["scores"].shape == (12, 4)
    assert found["held_out"].shape == (16, 4)
    taxonomy, classes, truth = data.read_truth(work)
    held_out = [[classes[k] for k in Y[[i]].indices] for i in aside]
    ours = measure_sets(found, runner.natural, held_out, truth, classes, taxonomy)
    for row in (ours, peer):
        assert row["one_accuracy"] == 1.0
        assert row["ranking_loss"] == 0.0
        assert row["hierarchical_f1"] > 0.9
    notes = runner.notes(X_test)
    assert notes["stopped"] == "converged"
    facts = {"seconds": {"train": 1.0, "predict": 1.0, "train_cpu": 1.0, "prepare": 0.0, "warm_up": 0.0}}
    facts |= {"memory": {"peak": 2e9, "loaded": 1e9}, "measures": ours, "versions": {}, "options": {}, "date": ""}
    row = table.summarise([facts | {"notes": notes, "other_work": 0.0}])
    assert row["hierarchical_f1"] == ours["hierarchical_f1"]
    whole = json.loads((out / "race-sets.json").read_text())
    who = {"label": "Pinakes, TaxonomyRankSVC", "ours": True, "threads": "all", "cut": None}
    whole["sets"]["small"]["systems"]["rank"] = who | row
    text = table.markdown(whole)
    assert "| Pinakes, TaxonomyRankSVC | 1.00 |" in text
    assert "Best of the peers, and best of ours:" in text
    assert len(plot.draw(whole, out)) == 2


def test_ours_of_one_race_are_not_in_the_other():
    assert find_system("coupled-flat", SEVERAL).options == {"estimator": "CoupledSVC", "node_weight": "flat"}
    with pytest.raises(ParameterError, match=r"--systems: 'ours-tree' is not one of rank, rank-flat, coupled"):
        find_system("ours-tree", SEVERAL)
    with pytest.raises(ParameterError, match=r"--systems: 'rank' is not one of ours-tree"):
        find_system("rank")
