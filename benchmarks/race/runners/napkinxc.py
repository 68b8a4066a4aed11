"""napkinXC: probabilistic label trees; options are its parameters.

It writes its model into a folder while training, which counts, and loads it before predicting, which does not.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from napkinxc.models import PLT

from benchmarks.race.runners.common import Runner, race


class NapkinXC(Runner):
    packages = ("napkinxc",)

    def prepare(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.labels = self.task.lists() if self.task.several else self.task.y.tolist()

    def fit(self) -> None:
        self.model = PLT(self.folder.name, seed=0, **self.options)
        self.model.fit(self.task.X, self.labels)

    def batches(self, X: Any) -> Any:
        self.model.load()
        yield X

    def predict(self, documents: Any) -> Any:
        if self.task.several:
            return self.model.predict_proba(documents, top_k=min(self.best, len(self.task.classes)))
        return self.model.predict(documents, top_k=1)

    def codes(self, answers: Any) -> Any:
        return [labels[0] for labels in answers]

    def scores(self, documents: Any) -> Any:
        out = np.full((documents.shape[0], len(self.task.classes)), -np.inf, dtype=np.float32)
        for i, few in enumerate(self.model.predict_proba(documents, top_k=len(self.task.classes))):
            for label, probability in few:
                out[i, label] = probability
        return out


if __name__ == "__main__":
    race(NapkinXC)
