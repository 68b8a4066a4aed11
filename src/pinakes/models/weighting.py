"""What a document counts: `sample_weight` and `class_weight` as one number for each, which multiplies C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_sample_weight

from pinakes.errors import LabelError, ParameterError, closest
from pinakes.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]


def sample_weights(sample_weight: Any, X: Any) -> Floats:
    """Check `sample_weight` against the documents; None: 1 for each."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weight: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weight < 0).any():
        raise ParameterError(f"`sample_weight` must be >= 0, got {weight.min():g}")
    return weight


def class_weights(
    class_weight: Any, classes: npt.NDArray[Any], codes: npt.NDArray[Any], weight: Floats, taxonomy: Taxonomy
) -> Floats:
    """Give what multiplies C for every class.

    "balanced" is all weight / (classes * weight of the class): every class counts the same in sum. A mapping names
    labels; those it does not name count 1.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        total = np.bincount(codes, weights=weight, minlength=len(classes))
        present = total > 0
        factor: Floats = np.divide(total.sum(), present.sum() * total, out=np.ones(len(classes)), where=present)
        return factor
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            f"`class_weight` must be None, 'balanced' or a mapping of labels to weights, got {class_weight!r}"
        )
    out = np.ones(len(classes))
    place = {label: k for k, label in enumerate(classes.tolist())}
    for label, value in class_weight.items():
        if not isinstance(value, int | float | np.number) or isinstance(value, bool) or not 0 <= value < np.inf:
            raise ParameterError(f"`class_weight` must be finite and >= 0, got {value!r} for {label!r}")
        if label in place:
            out[place[label]] = value
        elif str(label) not in taxonomy:  # a category that has no documents yet is no mistake
            known = [str(k) for k in classes]
            raise LabelError(
                f"`class_weight` names {label!r}, which is neither a label of the documents nor in the taxonomy"
                f"{closest(str(label), known)}"
            )
    return out
