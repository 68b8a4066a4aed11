"""Pinakes: `TaxonomySVC`; options are its parameters.

Two are not: ``C=cv`` lets `TaxonomySVCCV` choose C, by the loss that is learnt with; and ``finish_by`` has training
end, all included, by that many seconds after its start: it is tried a few times with more or less time for the solver,
and the latest that was in time counts.
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
MOST_TRIES, NEAR = 5, 0.96  # to finish in time; in time and after this share of it is near enough
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
        self.low, self.high = 0.0, float("inf")  # in time with low seconds for the solver, late with high
        self.in_time: tuple[float, Any, Any] | None = None

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

    def again(self, seconds: float) -> float | None:
        if self.finish_by is None:
            return seconds
        given = self.settings["max_seconds"]
        if seconds > self.finish_by:
            self.high = min(self.high, given)
        else:
            self.low = max(self.low, given)
            if self.in_time is None or seconds > self.in_time[0]:
                self.in_time = seconds, self.model, self.reports
        best = self.in_time
        if self.tries == MOST_TRIES or (best and (best[0] >= NEAR * self.finish_by or best[1].stopped_ == "converged")):
            if best is not None:
                seconds, self.model, self.reports = best
            return seconds
        wanted = given + 0.985 * self.finish_by - seconds  # as if all but the solver took as long again
        between = wanted if self.low < wanted < self.high else (self.low + min(self.high, 2 * given)) / 2
        self.settings["max_seconds"] = max(LEAST_SECONDS, between)
        return None

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
        chosen = {"losses": [settings.pop("loss")], "node_weights": [settings.pop("node_weight", "normalized")]}
        return pinakes.TaxonomySVCCV(self.taxonomy, **chosen, **settings)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)  # a run may be told to stop early
    race(Ours)
