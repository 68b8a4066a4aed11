"""Word senses: the systems against their definitions, official scoring, and the experiment from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from pinakes.datasets.senseval import Context, Senseval
from pinakes.errors import InputError, ParameterError
from pinakes.models import TaxonomySVC
from pinakes.reproduce import load_experiment
from pinakes.reproduce.experiment import Settings
from pinakes.reproduce.runner import run
from pinakes.reproduce.sense_models import (
    FOREIGN,
    Lessons,
    learn_bayes,
    learn_perceptron,
    learn_svm,
    loss_table,
    perceptron,
    sense_files,
)
from pinakes.reproduce.table2_2003 import GRID, PAPER, QUICK, QUICK_LEMMAS, grid, score
from pinakes.taxonomy import Taxonomy

FILES = {"a%1": "act", "a%2": "act", "a%3": "group", "b%1": "act", "b%2": "group"}
TREE = Taxonomy.from_edges([("", "act"), ("", "group"), *((file, sense) for sense, file in FILES.items())])


@pytest.fixture
def nouns() -> tuple[sparse.csr_array, Lessons]:
    """Thirty contexts of two nouns; some have two right answers, one has none."""
    rng = np.random.default_rng(0)
    lemmas = ["a.n"] * 18 + ["b.n"] * 12
    senses = [(f"a%{1 + i % 3}",) for i in range(18)] + [(f"b%{1 + i % 2}",) for i in range(12)]
    senses[0], senses[1], senses[29] = ("a%1", "a%2"), (), ("b%1", "b%2")
    X = rng.random((30, 8)) + np.array([[len(s) and 0.5 * (int(s[0][-1]) == k % 4) for k in range(8)] for s in senses])
    return sparse.csr_array(X), Lessons.of(lemmas, senses)


def test_lessons() -> None:
    lessons = Lessons.of(["a.n", "b.n", "a.n"], [("a%1", "a%2"), (), ("a%1",)])
    assert lessons.rows.tolist() == [0, 0, 2]
    assert lessons.y.tolist() == ["a%1", "a%2", "a%1"]
    assert lessons.weight.tolist() == [0.5, 0.5, 1.0]
    assert [(lemma, part.tolist()) for lemma, part in lessons.of_lemmas()] == [("a.n", [0, 1, 2])]


def test_loss_within_a_lemma_only() -> None:
    lemma_of = {sense: sense[0] for sense in FILES}
    senses = list(FILES)
    plain = loss_table(senses, lemma_of, None)
    tree = loss_table(senses, lemma_of, sense_files(TREE))
    assert sense_files(TREE) == FILES
    for a, one in enumerate(senses):
        for b, other in enumerate(senses):
            if one[0] != other[0]:
                assert plain[a, b] == tree[a, b] == FOREIGN
            else:
                assert plain[a, b] == (one != other)
                assert tree[a, b] == (0 if one == other else 0.5 if FILES[one] == FILES[other] else 1)


def test_the_flat_svm_is_one_svm_a_lemma(nouns: tuple[sparse.csr_array, Lessons]) -> None:
    """Rivals of another lemma cost FOREIGN and no more: scores are those of SVMs that never saw them."""
    X, lessons = nouns
    learnt = learn_svm(X, lessons, TREE, C=2.0, share=0.0, tree=False)
    scores = learnt.score(X, [])
    for lemma, part in lessons.of_lemmas():
        own = TaxonomySVC(C=2.0, loss="zero-one").fit(X[lessons.rows[part]], lessons.y[part], lessons.weight[part])
        columns = np.searchsorted(learnt.classes, own.classes_)
        ours = scores[:, columns] - scores[:, columns[:1]]
        theirs = own.decision_function(X)
        theirs = np.column_stack([np.zeros(len(theirs)), theirs]) if theirs.ndim == 1 else theirs - theirs[:, :1]
        np.testing.assert_allclose(ours, theirs, atol=0.02, err_msg=lemma)


def test_files_carry_what_one_noun_knows_to_another() -> None:
    """b.n was never seen with the feature that tells acts from groups for a.n; with the taxonomy it is told by it."""
    X = sparse.csr_array(np.array([[1.0, 0, 1, 0], [0, 1.0, 1, 0], [0, 0, 1, 0.1], [0, 0, 1, -0.1]]))
    lessons = Lessons.of(["a.n", "a.n", "b.n", "b.n"], [("a%1",), ("a%3",), ("b%1",), ("b%2",)])
    new = sparse.csr_array(np.array([[1.0, 0, 1, 0], [0, 1.0, 1, 0]]))
    differences = []
    for share in (0.0, 0.5):
        learnt = learn_svm(X, lessons, TREE, C=10.0, share=share, tree=True)
        act, group = (int(np.flatnonzero(learnt.classes == k)[0]) for k in ("b%1", "b%2"))
        scores = learnt.score(new, ["b.n", "b.n"])
        differences.append(scores[:, act] - scores[:, group])
    np.testing.assert_allclose(differences[0], 0, atol=0.01)
    assert differences[1][0] > 0.1
    assert differences[1][1] < -0.1


def test_naive_bayes_by_its_definition() -> None:
    counts = sparse.csr_array(np.array([[2.0, 0, 1], [0, 3, 0], [1, 1, 0]]))
    lessons = Lessons.of(["a.n"] * 3, [("a%1",), ("a%2",), ("a%1", "a%2")])
    learnt = learn_bayes(counts, lessons, smoothing=0.5)
    scores = learnt.score(counts, ["a.n"] * 3)
    told = np.array([[2.5, 0.5, 1], [0.5, 3.5, 0]])  # counts by sense, the last context half and half
    p = (told + 0.5) / (told + 0.5).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scores, counts.toarray() @ np.log(p).T + np.log(0.5))


def test_the_perceptron_against_one_with_weights() -> None:
    """The same walk with explicit weight vectors instead of inner products."""
    rng = np.random.default_rng(1)
    X, right = rng.random((12, 5)), np.eye(3, dtype=bool)[rng.integers(3, size=12)]
    right[0] = [True, True, False]
    found = perceptron(X @ X.T, right, 4, np.random.default_rng(7))
    walk = np.random.default_rng(7)
    w, total, steps = np.zeros((3, 5)), np.zeros((3, 5)), 0
    for _ in range(4):
        for i in walk.permutation(12):
            scores = w @ X[i]
            best = int(scores.argmax())
            if not right[i, best]:
                good = max(np.flatnonzero(right[i]), key=lambda k: scores[k])
                w[good] += X[i]
                w[best] -= X[i]
            total += w
            steps += 1
    assert steps == 48
    np.testing.assert_allclose(found.T @ X, total / steps, atol=1e-12)


def test_other_lemmas_are_out_of_the_question(nouns: tuple[sparse.csr_array, Lessons]) -> None:
    X, lessons = nouns
    for learnt in (learn_bayes(X, lessons, smoothing=1.0), learn_perceptron(X, lessons, epochs=3)):
        scores = learnt.score(X[:2], ["a.n", "b.n"])
        assert np.isfinite(scores).tolist() == [[True, True, True, False, False], [False, False, False, True, True]]


def test_official_scoring() -> None:
    """One of several right answers is right; nothing is right where there is no sense to find."""
    contexts = [Context(str(i), "a.n", "", "a", "", senses) for i, senses in enumerate([("a%1", "a%3"), ("a%1",), ()])]
    found = score(["a%3", "a%2", "a%1"], contexts, Senseval(TREE, [], contexts))
    assert found["right"].tolist() == [True, False, False]
    assert found["answerable"].tolist() == [True, True, False]
    assert found["delta"].tolist() == [0.0, 0.5, 1.0]
    assert found["file"].tolist() == [True, True, False]


def test_grids() -> None:
    assert set(GRID) == set(QUICK)
    assert {system: len(grid(system, QUICK)) for system in PAPER} == dict.fromkeys(PAPER, 1)
    assert {tuple(g) for g in grid("tax Δ", GRID)} == {("C", "share")}
    assert [tuple(g) for g in grid("perceptron", {"epochs": (1,)})] == [("epochs",)]


def write_corpus(folder: Path) -> Path:
    """Four nouns with two senses each, told apart by their company."""
    place = folder / "senseval2-nouns"
    place.mkdir()
    company = {"06": ("wooden", "table"), "09": ("strange", "idea")}
    files = {"06": "noun.artifact", "09": "noun.cognition"}
    edges = [f"\t{file}\t{file}" for file in files.values()]
    lines: dict[str, list[str]] = {"train": [], "test": []}
    for lemma in QUICK_LEMMAS:
        word = lemma.removesuffix(".n")
        edges += [f"{files[key]}\t{word}%1:{key}:00::\t{word}" for key in files]
        for part, n in (("train", 8), ("test", 2)):
            for i in range(n):
                for key, (kind, thing) in company.items():
                    text = f"Story {i}. We saw a {kind} <<{word}>> by the {thing}."
                    line = {"id": f"{word}.{part}{key}{i}", "lemma": lemma, "text": text}
                    lines[part].append(json.dumps({**line, "labels": [f"{word}%1:{key}:00::"]}))
    (place / "taxonomy.tsv").write_text("\n".join(edges) + "\n")
    for part, texts in lines.items():
        (place / f"{part}.jsonl").write_text("\n".join(texts) + "\n")
    return folder


def test_the_experiment_from_end_to_end(tmp_path: Path) -> None:
    experiment = load_experiment("2003-table2")
    settings = Settings(write_corpus(tmp_path), quick=True)
    outcome = run(experiment, settings, tmp_path / "out")
    assert (outcome.n_new, outcome.n_cells) == (6, 6)
    (table,) = outcome.report.tables
    assert [row[0] for row in table.rows] == list(PAPER)
    column = list(table.columns).index
    for row in table.rows:  # an easy task: everything is right, nothing is lost
        assert (row[column("acc (%)")], row[column("Δ-loss")], row[column("acc in cv (%)")]) == (100, 0, 100), row[0]
        assert row[column("diff.")] == pytest.approx(100 - PAPER[str(row[0])][0])
    assert run(experiment, settings, tmp_path / "out").n_new == 0


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    experiment = load_experiment("2003-table2")
    with pytest.raises(ParameterError, match="needs corpora: say where they are with --data DIR"):
        run(experiment, Settings(quick=True), tmp_path / "out")
    with pytest.raises(InputError, match="expected a folder senseval2-nouns in it, got none"):
        run(experiment, Settings(tmp_path, quick=True), tmp_path / "out")


@pytest.mark.corpus
def test_a_quick_run_on_the_real_nouns(corpora: Path, tmp_path: Path) -> None:
    outcome = run(load_experiment("2003-table2"), Settings(corpora, quick=True), tmp_path)
    accuracy = {str(row[0]): float(row[1] or 0) for row in outcome.report.tables[0].rows}
    assert min(accuracy.values()) > 65  # the most frequent sense of these nouns: 62 %
