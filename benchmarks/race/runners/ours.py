"""Pinakes: `TaxonomySVC`; options are its parameters."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.race.bandwidth import scan_bytes
from benchmarks.race.runners.common import Runner, race
from pinakes import Taxonomy, TaxonomySVC
from pinakes.errors import ConvergenceWarning

WARM_UP = 500  # documents


class Ours(Runner):
    packages = ("pinakes", "numpy", "scipy", "scikit-learn", "numba")

    def prepare(self) -> None:
        self.taxonomy = Taxonomy.load(self.task.work / "taxonomy.tsv")
        self.labels = np.array(self.task.classes)[self.task.y]

    def warm_up(self) -> None:
        """Let Numba compile, or load from its cache, on a few documents."""
        some = np.linspace(0, len(self.labels) - 1, min(WARM_UP, len(self.labels))).astype(int)
        model = self._make()
        model.fit(self.task.X[some], self.labels[some]).predict(self.task.X[some])

    def fit(self) -> None:
        self.model = self._make().fit(self.task.X, self.labels)

    def predict(self, documents: Any) -> Any:
        return self.model.predict(documents)

    def codes(self, answers: Any) -> Any:
        return np.searchsorted(self.task.classes, answers)

    def notes(self, X: Any) -> dict[str, Any]:
        notes = {"gap": float(self.model.gap_), "full_scans": int(self.model.n_iter_)}
        bytes_a_row = row_bytes(self.model)
        return notes if bytes_a_row is None else {**notes, "predict_bytes": scan_bytes(X, bytes_a_row)}

    def _make(self) -> TaxonomySVC:
        return TaxonomySVC(self.taxonomy, **self.options)


def row_bytes(model: TaxonomySVC) -> Any:
    """Give the bytes that reading the weights of each feature moves, or None where the layout is not known here."""
    rows = getattr(getattr(model, "_scorer", None), "rows", None)
    if rows is None or not all(hasattr(rows, name) for name in ("length", "tag", "data")):
        return None
    block = len(rows.data) // max(len(rows.tag), 1)
    return rows.length.astype(np.int64) * (block * rows.data.itemsize + rows.tag.itemsize)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)  # a run may be told to stop early
    race(Ours)
