"""The 2007 paper's comparison on patents with several categories each: data, systems and the five measures.

    flat    Lambda = identity, loss 0-1
    hier    v_z = sqrt(1 / depth), loss of the tree, halved

The paper has WIPO-alpha with primary and secondary categories together; here it is the corpus `patents`. A section is
the documents with a category in it, their other categories left out, and what lies below the section: its classes are
the roots. Words are weighed by TF-IDF as learnt from the training part, and documents are of unit length.

The text of the paper that this was written from has lost all its numerals: what it says in words is compared, its
figures cannot be.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pinakes import metrics
from pinakes.datasets import load_corpus
from pinakes.errors import ConvergenceWarning, InputError
from pinakes.models import MinOverPerceptron, TaxonomyRankSVC
from pinakes.reproduce.comparison import deal_folds
from pinakes.reproduce.experiment import Results, Settings, Value
from pinakes.taxonomy import Taxonomy

CORPUS = "patents"
WHOLE = "all"
ENOUGH = 1000  # documents that a section must have
SECTIONS = "ABCDEFGH"
SYSTEMS: dict[str, dict[str, Any]] = {
    "flat": {"node_weight": "flat", "loss": "zero-one"},
    "hier": {"node_weight": "depth", "loss": "tree"},
}
MEASURES = ("acc", "prec", "xloss", "rloss", "pacc")
SHOWN = {"acc": "acc (%)", "prec": "prec (%)", "xloss": "x-loss", "rloss": "rloss (%)", "pacc": "pacc (%)"}
NAMES = {
    "acc": "one-accuracy",
    "prec": "average precision",
    "xloss": "maximal loss",
    "rloss": "ranking loss",
    "pacc": "parent one-accuracy",
}
LESS = ("xloss", "rloss")
PER_CENT = {name: 1.0 if name == "xloss" else 100.0 for name in MEASURES}
Floats = npt.NDArray[np.float64]


class LabelledPatents(NamedTuple):
    """Texts with their categories, and the taxonomy of these."""

    texts: list[str]
    labels: list[list[str]]
    taxonomy: Taxonomy

    def take(self, rows: Sequence[int] | npt.NDArray[Any]) -> LabelledPatents:
        """Give some of the documents, by position."""
        return self._replace(texts=[self.texts[i] for i in rows], labels=[self.labels[i] for i in rows])

    @property
    def n_categories(self) -> int:
        return len({label for few in self.labels for label in few})


class Split(NamedTuple):
    """Documents to learn from and to be tested on, as unit vectors."""

    X: Any
    labels: list[list[str]]
    X_test: Any
    labels_test: list[list[str]]


def load_labelled(settings: Settings, section: str = WHOLE) -> LabelledPatents:
    """Load all patents, or those of one section."""
    whole = _load(settings.folder().resolve())
    return whole if section == WHOLE else take_section(whole, section)


@lru_cache(maxsize=2)
def _load(folder: Path) -> LabelledPatents:
    if not (folder / CORPUS).is_dir():
        raise InputError(f"expected a folder {CORPUS} in it, got none", source=str(folder))
    taxonomy, train, test = load_corpus(folder / CORPUS)
    texts = [*(train.texts or []), *(test.texts or [])]
    return LabelledPatents(texts, [list(few) for few in (*train.labels, *test.labels)], taxonomy)


def find_sections(settings: Settings) -> list[str]:
    """Give all patents together and the sections that have enough documents; for a quick run at most two of these."""
    patents = load_labelled(settings)
    sizes = {s: sum(any(label[0] == s for label in few) for few in patents.labels) for s in SECTIONS}
    if settings.quick:
        return sorted(filter(sizes.get, sizes), key=lambda s: sizes[s])[:2]
    return [WHOLE, *(section for section, n in sizes.items() if n >= ENOUGH)]


def take_section(patents: LabelledPatents, section: str) -> LabelledPatents:
    """Give the documents with a category in this section, these categories, and the taxonomy below the section."""
    rows = [i for i, few in enumerate(patents.labels) if any(label[0] == section for label in few)]
    if not rows:
        raise InputError(f"there is no document of section {section} in {CORPUS}")
    ids = patents.taxonomy.ids
    edges = [(ids[above], ids[below]) for above, below in patents.taxonomy.edges() if ids[below].startswith(section)]
    tree = Taxonomy.from_edges(("" if above == section else above, below) for above, below in edges)
    inside = [[label for label in few if label[0] == section] for few in patents.labels]
    return patents._replace(labels=inside, taxonomy=tree).take(rows)


def sample_categories(labels: Sequence[Sequence[str]], most: int, seed: int) -> npt.NDArray[np.int64]:
    """Draw documents in random order, each that has a category of which fewer than `most` are drawn so far."""
    drawn: dict[str, int] = {}
    kept = []
    for i in np.random.default_rng(seed).permutation(len(labels)):
        if any(drawn.get(label, 0) < most for label in labels[i]):
            kept.append(int(i))
            for label in labels[i]:
                drawn[label] = drawn.get(label, 0) + 1
    return np.sort(np.array(kept, dtype=np.int64))


def fold_of(patents: LabelledPatents, n_folds: int, seed: int) -> npt.NDArray[np.int64]:
    """Give the fold of each document, the documents of a first category dealt out in turn."""
    return deal_folds([few[0] for few in patents.labels], n_folds, seed)


def make_split(patents: LabelledPatents, train: npt.NDArray[Any], test: npt.NDArray[Any]) -> Split:
    """Split documents by position."""
    from pinakes.documents import TextFeatures

    features = TextFeatures(min_df=1)
    learnt, tested = patents.take(train), patents.take(test)
    X = features.fit_transform(learnt.texts)
    return Split(X, learnt.labels, features.transform(tested.texts), tested.labels)


def fit_svm(taxonomy: Taxonomy, split: Split, system: str, C: float, tol: float) -> Any:
    """Fit one of the SVMs on one thread; only its scores are asked for, so its answers are cut at the best label."""
    return _fit(TaxonomyRankSVC(taxonomy, C=C, tol=tol, cut=1, n_jobs=1, **SYSTEMS[system]), split)


def fit_minover(taxonomy: Taxonomy, split: Split, system: str, softness: float, max_iter: int) -> Any:
    """Fit one of the perceptrons: v_z = 1 for the hierarchical one. Softness 0 is the paper's."""
    node_weight = "flat" if system == "flat" else "equal"
    settings = {"node_weight": node_weight, "loss": SYSTEMS[system]["loss"], "max_iter": max_iter}
    return _fit(MinOverPerceptron(taxonomy, softness=softness, cut=1, **settings), split)


def _fit(model: Any, split: Split) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # how far it came is among the measures
        return model.fit(split.X, split.labels)


def five_measures(model: Any, split: Split, taxonomy: Taxonomy) -> dict[str, Floats]:
    """Give the five measures of every test document."""
    classes = [str(k) for k in model.classes_]
    scores, true = model.decision_function(split.X_test), split.labels_test
    found = {
        "acc": metrics.one_accuracy(true, scores, taxonomy, classes, per_document=True),
        "prec": metrics.average_precision(true, scores, taxonomy, classes, per_document=True),
        "xloss": metrics.maximal_loss(true, scores, taxonomy, classes, per_document=True),
        "rloss": metrics.ranking_loss(true, scores, taxonomy, classes, per_document=True),
        "pacc": metrics.parent_one_accuracy(true, scores, taxonomy, classes, per_document=True),
    }
    return {name: np.asarray(values, dtype=np.float64) for name, values in found.items()}


def choose_C(
    patents: LabelledPatents, train: npt.NDArray[np.int64], grid: Sequence[float], tol: float, seed: int
) -> dict[str, float]:
    """Give each system the C with the lowest maximal loss on a third of its training documents, held out."""
    inner = fold_of(patents.take(train), 3, seed)
    split = make_split(patents, train[inner != 0], train[inner == 0])
    chosen = {}
    for system in SYSTEMS:
        losses = []
        for C in grid:
            model = fit_svm(patents.taxonomy, split, system, C, tol)
            losses.append(five_measures(model, split, patents.taxonomy)["xloss"].mean())
        chosen[system] = float(grid[int(np.argmin(losses))])
    return chosen


def summarise(found: Mapping[str, Mapping[str, Floats]]) -> dict[str, Any]:
    """Sum up the measures of both systems: means, in per cent but for the maximal loss, as ``SYSTEM_MEASURE``."""
    return {
        f"{system}_{name}": float(values.mean()) * PER_CENT[name]
        for system, each in found.items()
        for name, values in each.items()
    }


def count_gains(found: Mapping[str, Mapping[str, Floats]]) -> dict[str, list[list[float]]]:
    """Count, for each measure, by how much hier is better on the same documents: pairs (gain, documents).

    Gains are rounded to four places: that is all a paired test needs to know, and small enough to be kept.
    """
    counted = {}
    for name in MEASURES:
        gains = (found["hier"][name] - found["flat"][name]) * (-1 if name in LESS else 1)
        values, counts = np.unique(np.round(gains, 4) + 0.0, return_counts=True)
        counted[f"gains_{name}"] = [[float(g), int(n)] for g, n in zip(values, counts, strict=True)]
    return counted


def compare(results: Results, measure: str, prefix: str = "") -> tuple[list[Value], float]:
    """Give flat, its deviation, hier, its deviation and the gain of one measure; and the gain."""
    row: list[Value] = [SHOWN[measure]]
    means = []
    for system in SYSTEMS:
        values = results.means(f"{prefix}{system}_{measure}")
        means.append(float(values.mean()))
        row += [means[-1], float(values.std(ddof=1)) if len(values) > 1 else None]
    gain = (means[1] - means[0]) * (-1 if measure in LESS else 1)
    return [*row, gain], gain


COMPARED = ("measure", "flat", "flat ±", "hier", "hier ±", "gain")
NOTE = (
    "± is the standard deviation over seeds, gain is how much better hier is than flat (for the losses, how much "
    "lower). A category without training documents is ranked last."
)
