"""Pinakes on label sets: `estimator` is its public name, other options are its parameters.

All labels count, as for the peers: `implied` is False unless it is given. Finding where answers end is a part of fit.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import pinakes
from benchmarks.race.runners.common import Runner, race
from pinakes import Taxonomy
from pinakes.errors import ConvergenceWarning
from pinakes.solvers.ascent import N_ROUGH

WARM_UP = (100, 3)  # classes, and documents of each


class OursOnSets(Runner):
    packages = ("pinakes", "numpy", "scipy", "scikit-learn", "numba")

    def prepare(self) -> None:
        self.taxonomy = Taxonomy.load(self.task.work / "taxonomy.tsv")
        self.settings = {"implied": False} | self.options
        self.estimator = getattr(pinakes, self.settings.pop("estimator"))
        names = self.task.classes
        self.labels = [[names[k] for k in few] for few in self.task.lists()]

    def warm_up(self) -> None:
        """Let Numba compile, or load from its cache, on a few documents."""
        Y = self.task.Y.tocsc()
        frequent = np.argsort(-np.diff(Y.indptr), kind="stable")[: WARM_UP[0]]
        some = np.unique(np.concatenate([Y.indices[Y.indptr[k] :][: WARM_UP[1]] for k in frequent]))
        model = self.estimator(self.taxonomy, **self.settings)
        model.fit(self.task.X[some], [self.labels[i] for i in some]).predict(self.task.X[some])

    def fit(self) -> None:
        self.reports: list[tuple[float, Any]] = []
        start = time.perf_counter()
        self.model = self.estimator(self.taxonomy, **self.settings)
        report = lambda progress: self.reports.append((time.perf_counter() - start, progress))  # noqa: E731
        self.model.fit(self.task.X, self.labels, report=report)

    def predict(self, documents: Any) -> Any:
        return self.model.predict(documents)

    def scores(self, documents: Any) -> Any:
        out = np.full((documents.shape[0], len(self.task.classes)), -np.inf, dtype=np.float32)
        out[:, np.searchsorted(self.task.classes, self.model.classes_)] = self.model.decision_function(documents)
        return out

    def own_sets(self, X: Any) -> Any:
        own = np.zeros((X.shape[0], len(self.task.classes)), dtype=bool)
        code = {label: k for k, label in enumerate(self.task.classes)}
        for i, few in enumerate(self.model.predict(X)):
            own[i, [code[label] for label in few if label in code]] = True
        return own

    def notes(self, X: Any) -> dict[str, Any]:
        notes: dict[str, Any] = {"rounds": int(self.model.n_iter_), "stopped": self.model.stopped_}
        if hasattr(self.model, "gap_"):
            notes["gap"] = float(self.model.gap_)
        notes["history"] = [
            {
                "seconds": round(seconds, 4),
                "gap": p.gap,
                "exact": p.n_iter > N_ROUGH,
                "p_obj": p.p_obj,
                "d_obj": p.d_obj,
            }
            for seconds, p in self.reports
            if hasattr(p, "gap")
        ]
        return notes


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)  # the table says how far it came
    race(OursOnSets)
