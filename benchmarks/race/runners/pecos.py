"""PECOS: XR-Linear on hierarchical k-means over PIFA label embeddings; options are those of `XLinearModel.train`.

Embedding and clustering the labels are part of its training.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from scipy import sparse

from benchmarks.race.runners.common import Runner, race


class Pecos(Runner):
    packages = ("libpecos",)

    def prepare(self) -> None:
        self.X = sparse.csr_matrix(self.task.X)
        self.X.sort_indices()
        if self.task.several:
            self.Y = sparse.csr_matrix(self.task.Y, dtype=np.float32)
            return
        y = self.task.y
        ones = np.ones(len(y), dtype=np.float32)
        self.Y = sparse.csr_matrix((ones, (np.arange(len(y)), y)), shape=(len(y), len(self.task.classes)))

    def fit(self) -> None:
        embedding = LabelEmbeddingFactory.create(self.Y, self.X, method="pifa")
        chain = Indexer.gen(embedding)
        self.model = XLinearModel.train(self.X, self.Y, C=chain, **self.options)

    def batches(self, X: Any) -> Any:
        X.sort_indices()
        yield X

    def predict(self, documents: Any) -> Any:
        return self.model.predict(documents, **({"only_topk": self.best} if self.task.several else {}))

    def codes(self, answers: Any) -> Any:
        bounds = pairwise(answers.indptr)
        return [answers.indices[first + np.argmax(answers.data[first:last])] for first, last in bounds]

    def scores(self, documents: Any) -> Any:
        found = self.model.predict(documents, only_topk=len(self.task.classes))
        out = np.full(found.shape, -np.inf, dtype=np.float32)
        out[np.repeat(np.arange(found.shape[0]), np.diff(found.indptr)), found.indices] = found.data
        return out


if __name__ == "__main__":
    race(Pecos)
