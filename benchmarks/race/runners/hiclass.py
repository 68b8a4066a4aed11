"""HiClass: a local `LinearSVC` at each parent node, along the first way from a root to the class.

A class that lies above another gets an end of its own below itself, so that documents may stay there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hiclass import LocalClassifierPerParentNode
from sklearn.svm import LinearSVC

from benchmarks.race.runners.common import Runner, race


class HiClass(Runner):
    packages = ("hiclass", "scikit-learn")

    def prepare(self) -> None:
        inner = {node for way in self.task.ways for node in way[:-1]}
        ways = [[*way, way[-1] + " itself"] if way[-1] in inner else way for way in self.task.ways]
        depth = max(map(len, ways))
        self.code = {way[-1]: k for k, way in enumerate(ways)}
        self.paths = np.array([way + [""] * (depth - len(way)) for way in ways])[self.task.y]

    def fit(self) -> None:
        local = LinearSVC(random_state=0)
        self.model = LocalClassifierPerParentNode(local_classifier=local, n_jobs=1, **self.options)
        self.model.fit(self.task.X, self.paths)

    def predict(self, documents: Any) -> Any:
        return self.model.predict(documents)

    def codes(self, answers: Any) -> Any:
        answers = np.asarray(answers).reshape(len(answers), -1)
        return [self.code[next(node for node in reversed(row) if node)] for row in answers.tolist()]


if __name__ == "__main__":
    race(HiClass)
