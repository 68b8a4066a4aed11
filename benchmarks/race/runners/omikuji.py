"""omikuji: Parabel-like label trees; options are its hyper-parameters.

It reads its documents from a text file, and predicts one document a call. Writing and reading that file, and turning
test documents into lists of pairs, is not counted as its time.
"""

from __future__ import annotations

import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import omikuji
from omikuji import ffi, lib

from benchmarks.race.runners.common import Runner, race

BATCH = 100  # documents turned into lists of pairs at a time: lists are large


class Omikuji(Runner):
    packages = ("omikuji",)

    def prepare(self) -> None:
        X = self.task.X
        X.sort_indices()
        self.pool = omikuji._ThreadPoolHandle()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "train.txt"
            with path.open("w") as file:
                file.write(f"{X.shape[0]} {X.shape[1]} {len(self.task.classes)}\n")
                for labels, row in zip(self.task.lists(), pairs(X), strict=True):
                    file.write(
                        f"{','.join(map(str, labels))} " + " ".join(f"{j}:{value:.8g}" for j, value in row) + "\n"
                    )
            data = lib.load_omikuji_data_set(ffi.new("char[]", str(path).encode()), self.pool.ptr)
        if data == ffi.NULL:
            raise RuntimeError("omikuji could not read the documents written for it")
        self.data = ffi.gc(data, lib.free_omikuji_data_set)

    def fit(self) -> None:
        """Do what `Model.train_on_data` does after reading its file."""
        settings = omikuji.Model.default_hyper_param()
        for name, value in self.options.items():
            setattr(settings, name, value)
        model = lib.train_omikuji_model(self.data, settings, self.pool.ptr)
        if model == ffi.NULL:
            raise RuntimeError("omikuji could not train")
        self.model = omikuji.Model(model)

    def batches(self, X: Any) -> Any:
        X.sort_indices()
        rows = pairs(X)
        while batch := list(islice(rows, BATCH)):
            yield batch

    def predict(self, documents: Any) -> Any:
        if self.task.several:
            return [self.model.predict(row, top_k=self.best) for row in documents]
        return [self.model.predict(row)[0][0] for row in documents]

    def scores(self, documents: Any) -> Any:
        out = np.full((len(documents), len(self.task.classes)), -np.inf, dtype=np.float32)
        for i, row in enumerate(documents):
            for label, probability in self.model.predict(row, top_k=len(self.task.classes)):
                out[i, label] = probability
        return out


def pairs(X: Any) -> Any:
    """Give the rows of a CSR matrix, one by one, as lists of (feature, value)."""
    for i in range(X.shape[0]):
        row = slice(X.indptr[i], X.indptr[i + 1])
        yield list(zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True))


if __name__ == "__main__":
    race(Omikuji)
