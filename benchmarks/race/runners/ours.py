"""Pinakes: `TaxonomySVC`; options are its parameters.

Two are not: ``C=cv`` lets `TaxonomySVCCV` choose C, by Delta, or by accuracy where the loss is zero-one; and
``finish_by`` has training end, all included, by that many seconds after its start (it is tried again with less time
while it is late).
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import pinakes
from benchmarks.race.bandwidth import scan_bytes
from benchmarks.race.runners.common import Runner, race
from benchmarks.race.scan import time_scan
from pinakes import Taxonomy, TaxonomySVC
from pinakes.errors import ConvergenceWarning
from pinakes.solvers.ascent import N_ROUGH

WARM_UP = (100, 5)  # classes, and documents of each
MOST_TRIES = 4  # to finish in time
LEAST_SECONDS = 1e-3


class Ours(Runner):
    packages = ("pinakes", "numpy", "scipy", "scikit-learn", "numba")

    def prepare(self) -> None:
        self.taxonomy = Taxonomy.load(self.task.work / "taxonomy.tsv")
        self.labels = np.array(self.task.classes)[self.task.y]
        self.settings = dict(self.options)
        self.finish_by = self.settings.pop("finish_by", None)
        if self.finish_by is not None:
            self.settings["max_seconds"] = max(LEAST_SECONDS, self.finish_by)
        self.tries = 0

    def warm_up(self) -> None:
        """Let Numba compile, or load from its cache, on a few documents."""
        y = self.task.y
        frequent = np.argsort(-np.bincount(y), kind="stable")[: WARM_UP[0]]
        some = np.concatenate([np.flatnonzero(y == k)[: WARM_UP[1]] for k in frequent])
        model = self._make(max_seconds=None)
        model.fit(self.task.X[some], self.labels[some]).predict(self.task.X[some])

    def fit(self) -> None:
        self.tries += 1
        self.reports: list[tuple[float, Any]] = []
        start = time.perf_counter()
        self.model = self._make()
        if self.settings.get("C") == "cv":
            self.model.fit(self.task.X, self.labels)
        else:
            report = lambda progress: self.reports.append((time.perf_counter() - start, progress))  # noqa: E731
            self.model.fit(self.task.X, self.labels, report=report)

    def again(self, seconds: float) -> bool:
        if self.finish_by is None or seconds <= self.finish_by or self.tries == MOST_TRIES:
            return False
        late = seconds - self.finish_by
        self.settings["max_seconds"] = max(LEAST_SECONDS, self.settings["max_seconds"] - 1.1 * late)
        return True

    def predict(self, documents: Any) -> Any:
        return self.model.predict(documents)

    def codes(self, answers: Any) -> Any:
        return np.searchsorted(self.task.classes, answers)

    def notes(self, X: Any) -> dict[str, Any]:
        fitted = getattr(self.model, "best_estimator_", self.model)
        notes = {"gap": float(fitted.gap_), "rounds": int(fitted.n_iter_), "stopped": fitted.stopped_}
        notes["history"] = [
            {
                "seconds": round(seconds, 4),
                "gap": p.gap,
                "exact": getattr(p, "exact", p.n_iter > N_ROUGH),
                "p_obj": p.p_obj,
                "d_obj": p.d_obj,
            }
            for seconds, p in self.reports
        ]
        if self.settings.get("C") == "cv":
            notes["chosen"] = {name: str(value) for name, value in self.model.best_params_.items()}
        if self.finish_by is None:
            notes |= self._reading(fitted, X)
        return notes

    def _reading(self, fitted: Any, X: Any) -> dict[str, Any]:
        """Give the bytes that prediction and one full scan of the training documents read, and the scan's time."""
        rows = getattr(getattr(fitted, "_scorer", None), "rows", None)
        n_bytes = scan_bytes(X, rows)
        if n_bytes is None:
            return {}
        found: dict[str, Any] = {"predict_bytes": n_bytes}
        try:  # it looks behind the estimator, and may lag behind it
            seconds = time_scan(fitted, self.task.X, self.labels)
        except (AttributeError, TypeError) as error:
            return found | {"scan_error": str(error)}
        return found | {"scan_bytes": scan_bytes(self.task.X, rows), "scan_seconds": round(seconds, 4)}

    def _make(self, **changed: Any) -> Any:
        settings = self.settings | changed
        if settings.get("C") != "cv":
            return TaxonomySVC(self.taxonomy, **settings)
        del settings["C"]
        loss = settings.pop("loss", "tree")
        chosen = {"losses": [loss], "node_weights": [settings.pop("node_weight", "normalized")]}
        chosen["scoring"] = "accuracy" if loss == "zero-one" else "delta_loss"
        return pinakes.TaxonomySVCCV(self.taxonomy, **chosen | settings)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)  # a run may be told to stop early
    race(Ours)
