"""The systems of the 2003 paper's Table 2, each choosing among the senses of one lemma.

    SVM           one `TaxonomySVC` over all senses. A sense of another lemma can never be the answer, and so answering
                  it costs (next to) nothing: Delta(y, y') is FOREIGN there. The flat SVM then falls apart into one
                  SVM a lemma; with the taxonomy the lemmas are held together by the weights of the files that their
                  senses lie in, and what tells acts from artifacts is learnt from all nouns at once.
    naive Bayes   one multinomial model a lemma, on counts
    perceptron    one averaged multiclass perceptron a lemma, on the vectors of the SVM

A context with several right answers is learnt once for each, with the weight divided by their number.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pinakes.errors import ConvergenceWarning
from pinakes.models import TaxonomySVC
from pinakes.taxonomy import Taxonomy

FOREIGN = 1e-4
SAME_FILE, OTHER_FILE = 0.5, 1.0

Scores = npt.NDArray[np.float64]


class Lessons(NamedTuple):
    """What there is to learn from: a row for each right answer of a context."""

    rows: npt.NDArray[np.int64]  # the context's row in X
    lemmas: npt.NDArray[np.str_]
    y: npt.NDArray[np.str_]
    weight: npt.NDArray[np.float64]

    @classmethod
    def of(cls, lemmas: Sequence[str], senses: Sequence[Sequence[str]]) -> Lessons:
        """Give the lessons of contexts with these lemmas and right answers; those without answers teach nothing."""
        taken = [(i, lemmas[i], sense, 1 / len(right)) for i, right in enumerate(senses) for sense in right]
        rows, names, y, weight = zip(*taken, strict=True)
        return cls(np.array(rows), np.array(names), np.array(y), np.array(weight))

    def of_lemmas(self) -> list[tuple[str, npt.NDArray[np.int64]]]:
        """Give each lemma with the positions of its lessons."""
        return [(str(lemma), np.flatnonzero(self.lemmas == lemma)) for lemma in np.unique(self.lemmas)]


class Learnt(NamedTuple):
    """A system after learning: its senses, and the function that scores contexts on them."""

    classes: npt.NDArray[np.str_]
    score: Callable[[Any, Sequence[str]], Scores]
    on_counts: bool = False


def tree_loss(one: str, other: str, file_of: dict[str, str]) -> float:
    """Give Delta between two senses of a lemma: half the way between them in the tree, over its most.

    >>> files = {"bar%1:06:04::": "noun.artifact", "bar%1:06:05::": "noun.artifact", "bar%1:14:00::": "noun.group"}
    >>> [tree_loss("bar%1:06:04::", other, files) for other in files]
    [0.0, 0.5, 1.0]
    """
    if one == other:
        return 0.0
    return SAME_FILE if file_of[one] == file_of[other] else OTHER_FILE


def sense_files(taxonomy: Taxonomy) -> dict[str, str]:
    """Give the file of each sense: the node above it."""
    return {
        taxonomy.ids[v]: taxonomy.ids[taxonomy.parents.of(v)[0]]
        for v in range(len(taxonomy))
        if len(taxonomy.parents.of(v))
    }


def loss_table(classes: Sequence[str], lemma_of: dict[str, str], file_of: dict[str, str] | None) -> Scores:
    """Give Delta between the senses that are learnt: 0-1, or with files by the tree; FOREIGN across lemmas."""
    table = np.full((len(classes), len(classes)), FOREIGN)
    for a, one in enumerate(classes):
        for b, other in enumerate(classes):
            if lemma_of[one] == lemma_of[other]:
                table[a, b] = float(one != other) if file_of is None else tree_loss(one, other, file_of)
    return table


def learn_svm(X: Any, lessons: Lessons, taxonomy: Taxonomy, *, C: float, share: float, tree: bool) -> Learnt:
    """Learn a flat (`share` 0) or hierarchical SVM with the 0-1 loss or that of the tree.

    `share` is the part of |Lambda(y)|^2 = 1 that a sense has in common with all others of its file: v^2 of the files.
    """
    files = sense_files(taxonomy)
    classes = np.unique(lessons.y)
    lemma_of = {str(sense): str(lemma) for sense, lemma in zip(lessons.y, lessons.lemmas, strict=True)}
    weights = dict.fromkeys(files, (1 - share) ** 0.5) | dict.fromkeys(files.values(), share**0.5)
    table = loss_table([str(k) for k in classes], lemma_of, files if tree else None)
    model = TaxonomySVC(taxonomy, C=C, loss=table, node_weight=weights if share else "flat", n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        model.fit(X[lessons.rows], lessons.y, sample_weight=lessons.weight)
    return Learnt(classes, lambda X_new, lemmas: np.asarray(model.decision_function(X_new), dtype=np.float64))


def learn_bayes(counts: Any, lessons: Lessons, *, smoothing: float) -> Learnt:
    """Learn a multinomial naive Bayes for each lemma."""
    from sklearn.naive_bayes import MultinomialNB

    models = {
        lemma: MultinomialNB(alpha=smoothing).fit(counts[lessons.rows[part]], lessons.y[part], lessons.weight[part])
        for lemma, part in lessons.of_lemmas()
    }
    classes = np.unique(lessons.y)

    def score(X: Any, lemmas: Sequence[str]) -> Scores:
        return _by_lemma(
            lemmas,
            classes,
            lambda lemma, rows: (models[lemma].classes_, models[lemma].predict_joint_log_proba(X[rows])),
        )

    return Learnt(classes, score, on_counts=True)


def learn_perceptron(X: Any, lessons: Lessons, *, epochs: int, seed: int = 0) -> Learnt:
    """Learn an averaged multiclass perceptron for each lemma; see `perceptron`."""
    rng = np.random.default_rng(seed)
    models: dict[str, tuple[Any, Any, Any]] = {}
    for lemma, part in lessons.of_lemmas():
        known, y = np.unique(lessons.y[part], return_inverse=True)
        rows, position = np.unique(lessons.rows[part], return_inverse=True)
        right = np.zeros((len(rows), len(known)), dtype=bool)
        right[position, y] = True
        own = X[rows]
        models[lemma] = (known, own, perceptron((own @ own.T).toarray(), right, epochs, rng))
    classes = np.unique(lessons.y)

    def score(X_new: Any, lemmas: Sequence[str]) -> Scores:
        def one(lemma: str, rows: npt.NDArray[np.int64]) -> tuple[Any, Any]:
            known, own, coefficients = models[lemma]
            return known, (X_new[rows] @ own.T) @ coefficients

        return _by_lemma(lemmas, classes, one)

    return Learnt(classes, score)


def perceptron(K: Scores, right: npt.NDArray[np.bool_], epochs: int, rng: np.random.Generator) -> Scores:
    """Give the averaged coefficients of documents in classes, from inner products K and the right answers.

    A document whose best class is wrong is added to the best of its right classes and taken from that wrong one.
    """
    n = len(K)
    now, total = np.zeros(right.shape), np.zeros(right.shape)
    for _ in range(epochs):
        for i in rng.permutation(n):
            scores = K[i] @ now
            best = int(scores.argmax())
            if not right[i, best]:
                now[i, int(np.where(right[i], scores, -np.inf).argmax())] += 1
                now[i, best] -= 1
            total += now
    return total / (epochs * n)


def _by_lemma(
    lemmas: Sequence[str],
    classes: npt.NDArray[np.str_],
    score: Callable[[str, npt.NDArray[np.int64]], tuple[Any, Any]],
) -> Scores:
    """Score the contexts of each lemma on its senses; other senses are out of the question."""
    names = np.array(lemmas)
    scores = np.full((len(names), len(classes)), -np.inf)
    for lemma in np.unique(names):
        rows = np.flatnonzero(names == lemma)
        known, values = score(str(lemma), rows)
        scores[np.ix_(rows, np.searchsorted(classes, known))] = values
    return scores
