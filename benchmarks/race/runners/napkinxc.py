"""napkinXC: probabilistic label trees; options are its parameters.

It writes its model into a folder while training, which counts, and loads it before predicting, which does not.
"""

from __future__ import annotations

import tempfile
from typing import Any

from napkinxc.models import PLT

from benchmarks.race.runners.common import Runner, race


class NapkinXC(Runner):
    packages = ("napkinxc",)

    def prepare(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.labels = self.task.y.tolist()

    def fit(self) -> None:
        self.model = PLT(self.folder.name, seed=0, **self.options)
        self.model.fit(self.task.X, self.labels)

    def batches(self, X: Any) -> Any:
        self.model.load()
        yield X

    def predict(self, documents: Any) -> Any:
        return self.model.predict(documents, top_k=1)

    def codes(self, answers: Any) -> Any:
        return [labels[0] for labels in answers]


if __name__ == "__main__":
    race(NapkinXC)
