"""The data: each set as one pair of matrices, made once, the same for all.

A set is a folder with ``taxonomy.tsv``, ``train.jsonl.xz`` and ``test.jsonl.xz``. Features are scikit-learn's
``TfidfVectorizer(sublinear_tf=True, min_df=2)`` fitted on train, float32. Training documents without features or
labels are dropped; one with several labels is trained on its first. Test documents and their labels all stay.

The work folder of a set holds what runners read (``X_train.npz``, ``y_train.npy``, ``X_test.npz``,
``classes.json``, ``taxonomy.tsv``) and what only `measures` reads (``truth.json``).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from pinakes.datasets import load_corpus
from pinakes.taxonomy import Taxonomy

FEATURES = {"sublinear_tf": True, "min_df": 2}


def prepare(folder: Path, work: Path) -> dict[str, Any]:
    """Write the work folder of a set, unless it is there already; give its description."""
    mark = _fingerprint(folder) if folder.is_dir() else ""
    described = work / "set.json"
    if described.exists() and (known := json.loads(described.read_text()))["fingerprint"] == mark:
        return known
    taxonomy, train, test = load_corpus(folder)
    vectorizer = TfidfVectorizer(dtype=np.float32, **FEATURES)
    X_train = sparse.csr_matrix(vectorizer.fit_transform(train.texts))
    X_test = sparse.csr_matrix(vectorizer.transform(test.texts))
    kept = [i for i, labels in enumerate(train.labels) if labels and X_train.indptr[i] < X_train.indptr[i + 1]]
    classes, y = np.unique([train.labels[i][0] for i in kept], return_inverse=True)
    ways = [_way(taxonomy, label) for label in classes]

    work.mkdir(parents=True, exist_ok=True)
    sparse.save_npz(work / "X_train.npz", X_train[kept], compressed=False)
    sparse.save_npz(work / "X_test.npz", X_test, compressed=False)
    np.save(work / "y_train.npy", y.astype(np.int32))
    taxonomy.save(work / "taxonomy.tsv")
    (work / "classes.json").write_text(json.dumps({"classes": classes.tolist(), "ways": ways}))
    (work / "truth.json").write_text(json.dumps([list(labels) for labels in test.labels]))
    described.write_text(
        json.dumps(
            description := {
                "name": folder.name,
                "fingerprint": mark,
                "train": len(kept),
                "dropped": len(train) - len(kept),
                "test": len(test),
                "features": X_train.shape[1],
                "nonzeros": int(X_train[kept].nnz),
                "classes": len(classes),
                "nodes": len(taxonomy),
            }
        )
    )
    return description


def read_truth(work: Path) -> tuple[Taxonomy, list[str], list[list[str]]]:
    """Read what answers are measured with: taxonomy, classes in the order of their codes, and true labels."""
    classes = json.loads((work / "classes.json").read_text())["classes"]
    return Taxonomy.load(work / "taxonomy.tsv"), classes, json.loads((work / "truth.json").read_text())


def _way(taxonomy: Taxonomy, label: str) -> list[str]:
    """Give the nodes from a root down to the label, always through the first parent."""
    way = [taxonomy.index(label)]
    while len(above := taxonomy.parents.of(way[-1])):
        way.append(int(above[0]))
    return [taxonomy.ids[v] for v in reversed(way)]


def _fingerprint(folder: Path) -> str:
    total = hashlib.sha256(repr((FEATURES, sklearn.__version__)).encode())
    for path in sorted(folder.iterdir()):
        if path.name.startswith(("taxonomy.", "train.", "test.")):
            total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()[:16]
