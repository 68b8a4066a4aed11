"""LIBLINEAR: scikit-learn's `LinearSVC`, C = 1; options are its parameters."""

from __future__ import annotations

from typing import Any

from sklearn.svm import LinearSVC

from benchmarks.race.runners.common import Runner, race


class Liblinear(Runner):
    packages = ("scikit-learn",)

    def fit(self) -> None:
        self.model = LinearSVC(random_state=0, **self.options).fit(self.task.X, self.task.y)

    def predict(self, documents: Any) -> Any:
        return self.model.predict(documents)


if __name__ == "__main__":
    race(Liblinear)
