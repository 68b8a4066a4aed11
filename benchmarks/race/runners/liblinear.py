"""LIBLINEAR: scikit-learn's `LinearSVC`, C = 1; options are its parameters, and `n_jobs` for label sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from benchmarks.race.runners.common import Runner, race


class Liblinear(Runner):
    packages = ("scikit-learn",)
    natural = 0.0

    def prepare(self) -> None:
        if self.task.several:  # a class of which no document is left has no problem to solve
            self.used = np.flatnonzero(np.bincount(self.task.Y.indices, minlength=len(self.task.classes)))
            self.Y = self.task.Y[:, self.used].astype(np.int32)

    def fit(self) -> None:
        options = dict(self.options)
        n_jobs = options.pop("n_jobs", None)
        model = LinearSVC(random_state=0, **options)
        if self.task.several:
            self.model = OneVsRestClassifier(model, n_jobs=n_jobs).fit(self.task.X, self.Y)
        else:
            self.model = model.fit(self.task.X, self.task.y)

    def predict(self, documents: Any) -> Any:
        return self.model.decision_function(documents) if self.task.several else self.model.predict(documents)

    def scores(self, documents: Any) -> Any:
        out = np.full((documents.shape[0], len(self.task.classes)), -np.inf, dtype=np.float32)
        out[:, self.used] = self.model.decision_function(documents)
        return out


if __name__ == "__main__":
    race(Liblinear)
