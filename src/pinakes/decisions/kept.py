"""Training documents that a classifier keeps, with their dual variables: what its answers were learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.documents.matrix import as_csr
from pinakes.errors import ParameterError

TITLE = 80  # letters kept of a text


@dataclass(frozen=True, eq=False)
class KeptDocuments:
    """The training documents that carry weight; all others could be left out and the model would be the same.

    Attributes
    ----------
    ids, titles : list of str
        What people know them by; a title is the beginning of the text.
    classes : int32 array
        Their labels, as positions in the model's `classes_`.
    X : CSR array (n_documents, n_features)
    alpha : CSR array (n_documents, n_classes)
        Their dual variables.
    """

    ids: list[str]
    titles: list[str]
    classes: npt.NDArray[np.int32]
    X: sparse.csr_array
    alpha: sparse.csr_array

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        y: Sequence[Any] | npt.NDArray[Any],
        ids: Sequence[str] | None = None,
        texts: Sequence[str] | None = None,
    ) -> KeptDocuments:
        """Take from the documents and labels that `model` was just fitted on those that carry weight.

        Ids are by default their numbers, from 0.
        """
        if not hasattr(model, "dual_coef_"):
            raise ParameterError(f"{type(model).__name__} has no dual variables, and so no documents to keep")
        X = as_csr(X)
        alpha = sparse.csr_array(model.dual_coef_)
        if not alpha.shape[0] == X.shape[0] == len(y):
            raise ParameterError(
                f"`X` and `y` must be the {alpha.shape[0]} documents that the model was fitted on, got {X.shape[0]} "
                f"and {len(y)}"
            )
        support = np.flatnonzero(np.diff(alpha.indptr))
        codes = np.searchsorted(model.classes_, np.asarray(y)[support]).astype(np.int32)
        return cls(
            [str(i) if ids is None else ids[i] for i in support.tolist()],
            ["" if texts is None else title(texts[i]) for i in support.tolist()],
            codes,
            sparse.csr_array(X[support]),
            sparse.csr_array(alpha[support]),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes that they take in memory and, uncompressed, in a model file."""
        arrays = [m for matrix in (self.X, self.alpha) for m in (matrix.data, matrix.indices, matrix.indptr)]
        return sum(a.nbytes for a in arrays) + sum(len(text.encode()) + 8 for text in (*self.ids, *self.titles))


def title(text: str) -> str:
    """Give the beginning of a text, on one line."""
    line = " ".join(text[: 4 * TITLE].split())
    return line if len(line) <= TITLE else line[: TITLE - 1].rstrip() + "…"
