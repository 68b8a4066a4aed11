"""2003, Table 2: word senses of nouns in Senseval-2 (section 6.2).

    data       the official split: 3,512 contexts of 29 nouns to learn from, 1,754 to be tested on; 258 senses of
               WordNet 1.7 below the 26 files of its lexicographers
    systems    SVMs, flat or with the taxonomy (tax), with the 0-1 loss or that of the tree (Delta); naive Bayes and the
               multiclass perceptron. All choose among the senses of the lemma, and a phrase that is spelled out is its
               own answer
    settings   C, how much a file shares, smoothing and epochs are chosen by cross-validation within the training
               contexts; the test contexts are answered once, at the end
    measures   accuracy as Senseval-2 scored it (fine-grained): an answer is right if it is among the official ones. The
               56 test contexts whose official answers are no senses (proper names, or none fits) count as mistakes.
               Delta-loss and accuracy of the file are over the contexts that have an answer, against the nearest one

The paper takes its features from a companion paper; ours are in `word_senses`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pinakes import metrics
from pinakes.datasets.senseval import Context, Senseval, load_senseval
from pinakes.errors import InputError
from pinakes.reproduce.comparison import deal_folds
from pinakes.reproduce.contexts import Words, choices, senses_by_lemma, split_context
from pinakes.reproduce.experiment import Cell, Experiment, Report, Results, Settings, Table, Value
from pinakes.reproduce.sense_models import (
    Learnt,
    Lessons,
    learn_bayes,
    learn_perceptron,
    learn_svm,
    sense_files,
    tree_loss,
)
from pinakes.reproduce.word_senses import WEIGHTS, Groups, SenseFeatures, describe_context

FOLDER = "senseval2-nouns"
# accuracy in per cent, and Delta-loss
PAPER: dict[str, tuple[float, float | None]] = {
    "flat 0/1": (71.5, 0.1612),
    "tax 0/1": (71.5, 0.1622),
    "flat Δ": (71.0, 0.1648),
    "tax Δ": (71.9, 0.1604),
    "naive Bayes": (68.0, None),
    "perceptron": (70.4, None),
}
SVMS = ("flat 0/1", "tax 0/1", "flat Δ", "tax Δ")
GRID = {"C": (0.3, 0.8), "share": (0.1, 0.4), "smoothing": (0.03, 0.1, 0.3), "epochs": (3, 10, 30)}
QUICK = {"C": (0.3,), "share": (0.1,), "smoothing": (0.1,), "epochs": (3,)}
QUICK_LEMMAS = ("chair.n", "dyke.n", "grip.n", "stress.n")


def grid(system: str, values: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
    """Give the settings that a system chooses from."""
    names = {"naive Bayes": ["smoothing"], "perceptron": ["epochs"]}.get(system, ["C"])
    names += ["share"] if system.startswith("tax") else []
    return [dict(zip(names, chosen, strict=True)) for chosen in product(*(values[name] for name in names))]


class Part(NamedTuple):
    """Contexts to learn from and contexts to answer, as words, vectors and counts."""

    train: list[Context]
    test: list[Context]
    words: list[Words]  # of test
    X: Any
    counts: Any
    X_test: Any
    counts_test: Any


class Table2(Experiment):
    """See the head of this file."""

    name = "2003-table2"
    title = "2003, Table 2: word senses"
    paper = "Hofmann, Cai and Ciaramita 2003, section 6.2, Table 2"

    def constants(self, settings: Settings) -> dict[str, Any]:
        values = QUICK if settings.quick else GRID
        return {
            "folds": 2 if settings.quick else 4,
            "weights of features": ", ".join(f"{name} {weight:g}" for name, weight in WEIGHTS.items()),
        } | {f"{name} chosen from": list(chosen) for name, chosen in values.items()}

    def cells(self, settings: Settings) -> list[Cell]:
        return [{"seed": settings.seed, "system": system} for system in PAPER]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        system, seed = str(cell["system"]), int(cell["seed"])
        data = load_nouns(settings)
        settings_of = grid(system, QUICK if settings.quick else GRID)
        found = np.zeros(len(settings_of))
        n_folds = int(self.constants(settings)["folds"])
        for fold in range(n_folds):  # choose the settings, on training contexts only
            part = make_part(settings, seed, fold, n_folds)
            for k, chosen in enumerate(settings_of):
                answers = answer(learn(system, part, data, chosen), part, data)
                found[k] += sum(a in c.senses for a, c in zip(answers, part.test, strict=True))
        chosen = settings_of[int(found.argmax())]
        part = make_part(settings, seed, -1, n_folds)
        scores = score(answer(learn(system, part, data, chosen), part, data), part.test, data)
        return chosen | {
            "cv": 100 * float(found.max()) / len(data.train),
            "acc": 100 * float(scores["right"].mean()),
            "acc_answerable": 100 * float(scores["right"][scores["answerable"]].mean()),
            "delta": float(scores["delta"][scores["answerable"]].mean()),
            "file": 100 * float(scores["file"][scores["answerable"]].mean()),
            "right": "".join("x" if right else "." for right in scores["right"]),
        }

    def report(self, settings: Settings, results: Results) -> Report:
        rows: list[list[Value]] = []
        for system, (acc, delta) in PAPER.items():
            (found,) = results.where(system=system)
            measured = found.measures
            ours = float(measured["acc"])
            error = (ours * (100 - ours) / len(measured["right"])) ** 0.5  # of a share
            rows.append([system, ours, error, acc, ours - acc, measured["acc_answerable"], measured["delta"], delta])
            rows[-1] += [measured["file"], measured["cv"], _settings(measured)]
        columns = ["system", "acc (%)", "±", "paper", "diff.", "of answerable (%)", "Δ-loss", "paper's Δ"]
        columns += ["file (%)", "acc in cv (%)", "settings"]
        note = (
            "± is the standard error over the test contexts; cv is cross-validation within the training contexts, by "
            "which the settings were chosen."
        )
        return Report([Table("Table 2", columns, rows, frozenset({"diff."}), note)], findings=_findings(results))


def load_nouns(settings: Settings) -> Senseval:
    """Load the nouns of Senseval-2, once in a process; a quick run has a few of them."""
    return _load(settings.folder().resolve(), settings.quick)


@lru_cache(maxsize=2)
def _load(folder: Path, quick: bool) -> Senseval:
    if not (folder / FOLDER).is_dir():
        raise InputError(f"expected a folder {FOLDER} in it, got none", source=str(folder))
    data = load_senseval(folder / FOLDER)
    if not quick:
        return data
    return data._replace(
        train=[c for c in data.train if c.lemma in QUICK_LEMMAS], test=[c for c in data.test if c.lemma in QUICK_LEMMAS]
    )


@lru_cache(maxsize=8)
def make_part(settings: Settings, seed: int, fold: int, n_folds: int) -> Part:
    """Split the training contexts by fold, or, for fold -1, take the official split; features are learnt anew."""
    data = load_nouns(settings)
    train, test = data.train, data.test
    if fold >= 0:
        strata = [f"{c.lemma} {c.senses[0] if c.senses else ''}" for c in train]
        held = deal_folds(strata, n_folds, seed) == fold
        train, test = ([c for c, h in zip(data.train, held, strict=True) if h == side] for side in (False, True))
    described = _describe(settings)
    groups, groups_test = ([described[c.id][1] for c in part] for part in (train, test))
    words = [described[c.id][0] for c in test]
    features = SenseFeatures().fit(groups)
    X, counts = features.transform(groups), features.counts(groups)
    return Part(train, test, words, X, counts, features.transform(groups_test), features.counts(groups_test))


@lru_cache(maxsize=2)
def _describe(settings: Settings) -> dict[str, tuple[Words, Groups]]:
    """Give the words and the features of every context, by id."""
    data = load_nouns(settings)
    words = {c.id: split_context(c) for c in (*data.train, *data.test)}
    return {id: (w, describe_context(w)) for id, w in words.items()}


def learn(system: str, part: Part, data: Senseval, chosen: Mapping[str, float]) -> Learnt:
    """Learn one system with these settings."""
    lessons = Lessons.of([c.lemma for c in part.train], [c.senses for c in part.train])
    if system == "naive Bayes":
        return learn_bayes(part.counts, lessons, smoothing=chosen["smoothing"])
    if system == "perceptron":
        return learn_perceptron(part.X, lessons, epochs=int(chosen["epochs"]))
    share = chosen.get("share", 0.0)
    return learn_svm(part.X, lessons, data.taxonomy, C=chosen["C"], share=share, tree=system.endswith("Δ"))


def answer(learnt: Learnt, part: Part, data: Senseval) -> list[str]:
    """Answer the test contexts: the best of the senses that there are to choose from."""
    senses = senses_by_lemma(data.taxonomy, part.train)
    column = {str(sense): k for k, sense in enumerate(learnt.classes)}
    X = part.counts_test if learnt.on_counts else part.X_test
    scores = learnt.score(X, [c.lemma for c in part.test])
    answers = []
    for i, context in enumerate(part.test):
        open_ = choices(part.words[i], senses[context.lemma], column)
        answers.append(max(open_, key=lambda sense: scores[i, column[sense]] if sense in column else -np.inf))
    return answers


def score(answers: Sequence[str], contexts: Sequence[Context], data: Senseval) -> dict[str, npt.NDArray[Any]]:
    """Score answers: right or not, the loss against the nearest right sense, and whether the file is right."""
    files = sense_files(data.taxonomy)
    right = [a in c.senses for a, c in zip(answers, contexts, strict=True)]
    losses = [
        min((tree_loss(s, a, files) for s in c.senses), default=1.0) for a, c in zip(answers, contexts, strict=True)
    ]
    same = [files[a] in {files[s] for s in c.senses} for a, c in zip(answers, contexts, strict=True)]
    answerable = [bool(c.senses) for c in contexts]
    return {
        "right": np.array(right),
        "delta": np.array(losses),
        "file": np.array(same),
        "answerable": np.array(answerable),
    }


def _settings(measured: Mapping[str, Any]) -> str:
    """Name the settings that were chosen."""
    return ", ".join(f"{name} {measured[name]:g}" for name in GRID if name in measured)


def _findings(results: Results) -> list[str]:
    mean, loss = (
        {system: float(results.where(system=system).values(name)[0]) for system in PAPER} for name in ("acc", "delta")
    )
    best = max(SVMS, key=mean.__getitem__)
    findings = [
        f"The best of the four SVMs is {best} with {mean[best]:.1f} % (the paper's best: tax Δ, 71.9 %); tax Δ has "
        f"{mean['tax Δ']:.1f} % and a Δ-loss of {loss['tax Δ']:.4f}, flat 0/1 {mean['flat 0/1']:.1f} % and "
        f"{loss['flat 0/1']:.4f}.",
    ]
    rights = {}
    for system in PAPER:
        first = results.where(system=system)[0].measures["right"]
        rights[system] = np.array([mark == "x" for mark in first], dtype=np.float64)
    for other in ("flat 0/1", "naive Bayes", "perceptron"):
        p = metrics.paired_permutation_test(rights["tax Δ"], rights[other])
        findings.append(f"tax Δ against {other}: {mean['tax Δ'] - mean[other]:+.2f} points of accuracy, p = {p:.2g}.")
    return findings
