"""omikuji: Parabel-like label trees; options are its hyper-parameters.

It reads its documents from a text file, and predicts one document a call. Writing and reading that file, and turning
test documents into lists of pairs, is not counted as its time.
"""

from __future__ import annotations

import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import omikuji
from omikuji import ffi, lib

from benchmarks.race.runners.common import Runner, race

BATCH = 100  # documents turned into lists of pairs at a time: lists are large


class Omikuji(Runner):
    packages = ("omikuji",)

    def prepare(self) -> None:
        X, y = self.task.X, self.task.y
        X.sort_indices()
        self.pool = omikuji._ThreadPoolHandle()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "train.txt"
            with path.open("w") as file:
                file.write(f"{X.shape[0]} {X.shape[1]} {len(self.task.classes)}\n")
                for label, row in zip(y.tolist(), pairs(X), strict=True):
                    file.write(f"{label} " + " ".join(f"{j}:{value:.8g}" for j, value in row) + "\n")
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
        return [self.model.predict(row)[0][0] for row in documents]


def pairs(X: Any) -> Any:
    """Give the rows of a CSR matrix, one by one, as lists of (feature, value)."""
    for i in range(X.shape[0]):
        row = slice(X.indptr[i], X.indptr[i + 1])
        yield list(zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True))


if __name__ == "__main__":
    race(Omikuji)
