"""The data: each set as one pair of matrices, made once, the same for all.

A set is a folder with ``taxonomy.tsv``, ``train.jsonl.xz`` and ``test.jsonl.xz``. Features are scikit-learn's
``TfidfVectorizer(sublinear_tf=True, min_df=2)`` fitted on train, float32; rcv1, which has vectors, is taken as it is.
Training documents without features or labels are dropped. Test documents and their labels all stay.

One answer a document: a training document with several labels is trained on its first. Label sets: all labels count;
only where all documents carry all ancestors of their labels (rcv1), or on request, are these left out, in training and
in the truth.

The work folder of a set holds what runners read (``X_train.npz``, ``y_train.npy`` or ``Y_train.npz``, ``X_test.npz``,
``classes.json``, ``taxonomy.tsv``, and of label sets ``held_out.npy``) and what only the measures read
(``truth.json``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from pinakes.datasets import Sample, load_corpus
from pinakes.taxonomy import Taxonomy

FEATURES = {"sublinear_tf": True, "min_df": 2}
HELD_OUT = 0.2  # of the training documents of label sets, for the rule from scores to sets
PARTS = ("taxonomy.", "train.", "test.", "X.", "Y.", "rcv1.")


def prepare(folder: Path, work: Path, several: bool = False, drop: bool = False) -> dict[str, Any]:
    """Write the work folder of a set, unless it is there already; give its description.

    With `drop`, labels that are ancestors of another one of the same document are left out on every set.
    """
    mark = _fingerprint(folder, several, drop) if folder.is_dir() else ""
    described = work / "set.json"
    if described.exists() and (known := json.loads(described.read_text()))["fingerprint"] == mark:
        return known
    sample = load_corpus(folder)
    taxonomy, train, test = sample
    X_train, X_test = _features(sample)
    kept = [i for i, labels in enumerate(train.labels) if labels and X_train.indptr[i] < X_train.indptr[i + 1]]
    truth = [list(labels) for labels in test.labels]
    work.mkdir(parents=True, exist_ok=True)
    if several:
        whole = drop or all(len(close(taxonomy, labels)) == len(labels) for labels in train.labels)
        lists = [drop_implied(taxonomy, train.labels[i]) if whole else list(train.labels[i]) for i in kept]
        truth = [drop_implied(taxonomy, labels) for labels in truth] if whole else truth
        classes = np.unique([label for labels in lists for label in labels])
        columns = np.searchsorted(classes, [label for labels in lists for label in labels])
        indptr = np.concatenate([[0], np.cumsum([len(labels) for labels in lists])])
        ones = np.ones(len(columns), dtype=np.float32)
        Y = sparse.csr_matrix((ones, columns.astype(np.int32), indptr), shape=(len(kept), len(classes)))
        Y.sort_indices()
        sparse.save_npz(work / "Y_train.npz", Y, compressed=False)
        order = np.random.default_rng(0).permutation(len(kept))
        np.save(work / "held_out.npy", np.sort(order[: round(HELD_OUT * len(kept))]))
    else:
        classes, y = np.unique([train.labels[i][0] for i in kept], return_inverse=True)
        np.save(work / "y_train.npy", y.astype(np.int32))
    ways = [_way(taxonomy, label) for label in classes]

    sparse.save_npz(work / "X_train.npz", X_train[kept], compressed=False)
    sparse.save_npz(work / "X_test.npz", X_test, compressed=False)
    taxonomy.save(work / "taxonomy.tsv")
    (work / "classes.json").write_text(json.dumps({"classes": classes.tolist(), "ways": ways}))
    (work / "truth.json").write_text(json.dumps(truth))
    description: dict[str, Any] = {
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
    if several:
        description["labels_each"] = Y.nnz / Y.shape[0]
    described.write_text(json.dumps(description))
    return description


def read_truth(work: Path) -> tuple[Taxonomy, list[str], list[list[str]]]:
    """Read what answers are measured with: taxonomy, classes in the order of their codes, and true labels."""
    classes = json.loads((work / "classes.json").read_text())["classes"]
    return Taxonomy.load(work / "taxonomy.tsv"), classes, json.loads((work / "truth.json").read_text())


def read_held_out(work: Path) -> tuple[Any, Any]:
    """Read the label sets of training documents, as an indicator matrix, and which of them are held out."""
    return sparse.load_npz(work / "Y_train.npz").tocsr(), np.load(work / "held_out.npy")


def close(taxonomy: Taxonomy, labels: Sequence[str]) -> set[str]:
    """Give labels with all their ancestors."""
    return {taxonomy.ids[v] for label in labels for v in taxonomy.ancestors.of(taxonomy.index(label))}


def drop_implied(taxonomy: Taxonomy, labels: Sequence[str]) -> list[str]:
    """Leave out the labels that are ancestors of another one."""
    above = {a for label in labels for a in close(taxonomy, [label]) - {label}}
    return [label for label in labels if label not in above]


def _features(sample: Sample) -> tuple[Any, Any]:
    if sample.train.texts is None:
        return tuple(sparse.csr_matrix(part.X, dtype=np.float32) for part in (sample.train, sample.test))
    vectorizer = TfidfVectorizer(dtype=np.float32, **FEATURES)
    X_train = sparse.csr_matrix(vectorizer.fit_transform(sample.train.texts))
    return X_train, sparse.csr_matrix(vectorizer.transform(sample.test.texts))


def _way(taxonomy: Taxonomy, label: str) -> list[str]:
    """Give the nodes from a root down to the label, always through the first parent."""
    way = [taxonomy.index(label)]
    while len(above := taxonomy.parents.of(way[-1])):
        way.append(int(above[0]))
    return [taxonomy.ids[v] for v in reversed(way)]


def _fingerprint(folder: Path, several: bool, drop: bool) -> str:
    facts = (FEATURES, sklearn.__version__, *(["sets", HELD_OUT] if several else []), *(["drop"] if drop else []))
    total = hashlib.sha256(repr(facts).encode())
    for path in sorted(folder.iterdir()):
        if path.name.startswith(PARTS):
            total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()[:16]
