"""The patents of the papers of 2003 and 2004, section by section: WIPO-alpha, or ipc-titles in its place.

WIPO-alpha is taken where a copy of it lies in the folder ``wipo-alpha``; otherwise ipc-titles, the titles of the IPC's
subgroups, each to be put into its main group. Its own split is not used: the papers cross-validate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pinakes.datasets import load_corpus, load_wipo_alpha
from pinakes.errors import InputError
from pinakes.reproduce.comparison import deal_folds, fit, four_measures
from pinakes.reproduce.experiment import Settings
from pinakes.taxonomy import Taxonomy

SECTIONS = "ABCDEFGH"
FEW = 1000  # training documents up to which all thirds are held out in turn


class Patents(NamedTuple):
    """Texts with their main groups, and the taxonomy of these."""

    corpus: str
    texts: list[str]
    y: npt.NDArray[np.str_]
    taxonomy: Taxonomy

    def take(self, rows: npt.NDArray[Any]) -> Patents:
        """Give some of the documents, by position."""
        return self._replace(texts=[self.texts[i] for i in rows], y=self.y[rows])


class Split(NamedTuple):
    """Documents to learn from and to be tested on, as unit vectors."""

    X: Any
    y: npt.NDArray[np.str_]
    X_test: Any
    y_test: npt.NDArray[np.str_]


def load_patents(settings: Settings) -> Patents:
    """Load the whole collection; once in a process."""
    return _load(settings.folder().resolve())


@lru_cache(maxsize=2)
def _load(folder: Path) -> Patents:
    if (folder / "wipo-alpha").is_dir():
        taxonomy, corpus = load_wipo_alpha(folder / "wipo-alpha")
        return Patents("WIPO-alpha", corpus.texts or [], np.array(corpus.single_labels()), taxonomy)
    if not (folder / "ipc-titles").is_dir():
        raise InputError("expected a folder ipc-titles or wipo-alpha in it, got neither", source=str(folder))
    taxonomy, train, test = load_corpus(folder / "ipc-titles")
    labels = [*train.single_labels(), *test.single_labels()]
    return Patents("ipc-titles", [*(train.texts or []), *(test.texts or [])], np.array(labels), taxonomy)


def describe_patents(settings: Settings) -> dict[str, Any]:
    """Say which collection was used, for the constants of an experiment."""
    patents = load_patents(settings)
    return {"corpus": patents.corpus, "documents": len(patents.texts)}


def take_section(patents: Patents, section: str) -> Patents:
    """Give the documents of one section, and what lies below it: classes are the roots, as the papers count depth."""
    rows = np.flatnonzero(np.char.startswith(patents.y, section))
    if not len(rows):
        raise InputError(f"there is no document of section {section} in {patents.corpus}")
    ids = patents.taxonomy.ids
    edges = [(ids[above], ids[below]) for above, below in patents.taxonomy.edges() if ids[below].startswith(section)]
    tree = Taxonomy.from_edges(("" if above == section else above, below) for above, below in edges)
    return patents.take(rows)._replace(taxonomy=tree)


def sample_categories(patents: Patents, most: int, seed: int) -> Patents:
    """Draw at most so many documents of each category."""
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(patents.y))
    left: dict[str, int] = {}
    kept = []
    for i in shuffled:
        label = str(patents.y[i])
        if left.setdefault(label, most):
            left[label] -= 1
            kept.append(int(i))
    return patents.take(np.sort(np.array(kept, dtype=np.int64)))


def make_split(patents: Patents, test: npt.NDArray[np.bool_], train: npt.NDArray[np.bool_] | None = None) -> Split:
    """Split documents; words are weighed by TF-IDF as learnt from the training part. `train` defaults to the rest."""
    from pinakes.documents import TextFeatures

    rows = np.flatnonzero(~test if train is None else train)
    features = TextFeatures(min_df=1)
    X = features.fit_transform([patents.texts[i] for i in rows])
    X_test = features.transform([patents.texts[i] for i in np.flatnonzero(test)])
    return Split(X, patents.y[rows], X_test, patents.y[test])


def choose_C(
    patents: Patents,
    train: npt.NDArray[np.bool_],
    systems: Mapping[str, Mapping[str, Any]],
    grid: Sequence[float],
    tol: float,
    seed: int,
) -> dict[str, float]:
    """Give each system the C with the lowest Delta-loss on a third of the training documents, held out.

    Where there are few documents all three thirds are held out in turn. Of equals the smaller C is taken.
    """
    rows = np.flatnonzero(train)
    inner = deal_folds(patents.y[rows], 3, seed)
    losses = {system: np.zeros(len(grid)) for system in systems}
    for fold in range(3 if len(rows) <= FEW else 1):
        held, kept = np.zeros(len(train), dtype=bool), np.zeros(len(train), dtype=bool)
        held[rows[inner == fold]], kept[rows[inner != fold]] = True, True
        split = make_split(patents, held, kept)
        for system, options in systems.items():
            for k, C in enumerate(grid):
                model = fit(patents.taxonomy, split.X, split.y, options, C=C, tol=tol)
                losses[system][k] += four_measures(model, split.X_test, split.y_test, patents.taxonomy)["delta"].mean()
    return {system: float(grid[int(loss.argmin())]) for system, loss in losses.items()}
