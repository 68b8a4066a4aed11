"""Training documents in model files: ids, titles, labels, vectors and dual variables, where a classifier keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pinakes.decisions import KeptDocuments
from pinakes.errors import ModelFileError
from pinakes.storage.bundle import Tensors
from pinakes.storage.schema import check_csr, pack_texts, take, unpack_texts

PREFIX = "documents."


def kept_state(kept: KeptDocuments) -> Tensors:
    """Give what is stored of them; dual variables in single precision, which is what weights mostly have."""
    out: Tensors = {"classes": kept.classes.astype(np.int32)}
    for name, texts in (("ids", kept.ids), ("titles", kept.titles)):
        out[name], out[f"{name}_offsets"] = pack_texts(texts)
    for name, matrix in (("X", kept.X), ("alpha", kept.alpha)):
        out |= {
            f"{name}.data": matrix.data.astype(np.float32),
            f"{name}.indices": matrix.indices.astype(np.int32),
            f"{name}.indptr": matrix.indptr.astype(np.int64),
        }
    return {PREFIX + name: values for name, values in out.items()}


def kept_from_state(tensors: Tensors, model: Any, where: str) -> KeptDocuments | None:
    """Read them, None if there are none; what does not fit the model is a ModelFileError."""
    if not any(name.startswith(PREFIX) for name in tensors):
        return None
    classes = take(tensors, f"{PREFIX}classes", np.int32, [None], where)
    n, n_classes = len(classes), len(model.classes_)
    if n and (classes.min() < 0 or classes.max() >= n_classes):
        raise ModelFileError(f"{where}: kept documents have labels that are no classes; train the model again")
    texts: list[list[str]] = []
    for name in ("ids", "titles"):
        buffer = take(tensors, PREFIX + name, np.uint8, [None], where)
        offsets = take(tensors, f"{PREFIX}{name}_offsets", np.int64, [n + 1], where)
        texts.append(unpack_texts(buffer, offsets, PREFIX + name, where))
    X, alpha = (
        _matrix(tensors, name, n, width, where) for name, width in (("X", model.n_features_in_), ("alpha", n_classes))
    )
    return KeptDocuments(texts[0], texts[1], classes, X, alpha)


def _matrix(tensors: Tensors, name: str, n_rows: int, n_columns: int, where: str) -> sparse.csr_array:
    data = take(tensors, f"{PREFIX}{name}.data", np.float32, [None], where)
    indices = take(tensors, f"{PREFIX}{name}.indices", np.int32, [None], where)
    indptr = take(tensors, f"{PREFIX}{name}.indptr", np.int64, [n_rows + 1], where)
    check_csr(indptr, indices, data, n_rows, n_columns, PREFIX + name, where)
    return sparse.csr_array((data, indices, indptr), shape=(n_rows, n_columns))
