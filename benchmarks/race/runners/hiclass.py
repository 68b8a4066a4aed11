"""HiClass: a local `LinearSVC` at each parent node, along the first way from a root to the class.

A class that lies above another gets an end of its own below itself, so that documents may stay there. Options are
parameters of HiClass, and one that is not: with ``lookup=true`` the documents below a node are looked up in a table.
HiClass itself compares every step of every document's way, which is a string with all that lies above, with the
children of each node: hours where ways are long and nodes are many. Local classifiers and answers are the same.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from hiclass import LocalClassifierPerParentNode
from sklearn.svm import LinearSVC

from benchmarks.race.runners.common import Runner, race


class WithLookup(LocalClassifierPerParentNode):
    """HiClass, with a table of the documents below each node instead of a search for them."""

    def _get_successors(self, node: str, calibration: bool = False) -> tuple[Any, Any, None]:
        if not hasattr(self, "_below"):
            self._below = self._make_table()
        documents, level = self._below[node]
        return self.X_[documents], self.y_[documents, level], None

    def _make_table(self) -> dict[str, tuple[Any, int]]:
        """Give, for each parent node, the documents that go on below it and the level of the step they take there."""
        below: dict[str, list[int]] = defaultdict(list)
        levels = {}
        for i, way in enumerate(self.y_.tolist()):
            for level, (parent, child) in enumerate(zip([self.root_, *way[:-1]], way, strict=True)):
                if child.endswith(self.separator_) or not child:
                    break  # the way has ended; what follows is empty
                below[parent].append(i)
                levels[parent] = level
        return {node: (np.array(documents), levels[node]) for node, documents in below.items()}


class HiClass(Runner):
    packages = ("hiclass", "scikit-learn")

    def prepare(self) -> None:
        inner = {node for way in self.task.ways for node in way[:-1]}
        ways = [[*way, way[-1] + " itself"] if way[-1] in inner else way for way in self.task.ways]
        depth = max(map(len, ways))
        self.code = {way[-1]: k for k, way in enumerate(ways)}
        self.paths = np.array([way + [""] * (depth - len(way)) for way in ways])[self.task.y]

    def fit(self) -> None:
        options = dict(self.options)
        kind = WithLookup if options.pop("lookup", False) else LocalClassifierPerParentNode
        self.model = kind(local_classifier=LinearSVC(random_state=0), n_jobs=1, **options)
        self.model.fit(self.task.X, self.paths)

    def predict(self, documents: Any) -> Any:
        return self.model.predict(documents)

    def codes(self, answers: Any) -> Any:
        answers = np.asarray(answers).reshape(len(answers), -1)
        return [self.code[next(node for node in reversed(row) if node)] for row in answers.tolist()]


if __name__ == "__main__":
    race(HiClass)
