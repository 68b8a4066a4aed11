"""Labels to taxonomy nodes: which classes a model knows and where they stand."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from pinakes.errors import LabelError, ParameterError, closest
from pinakes.taxonomy import Taxonomy


def resolve_taxonomy(taxonomy: Any, classes: Iterable[Any]) -> Taxonomy:
    """Give the taxonomy behind an estimator's `taxonomy`: an object, a path, or None for unrelated classes."""
    if taxonomy is None:
        return Taxonomy.flat(str(k) for k in classes)
    if isinstance(taxonomy, Taxonomy):
        return taxonomy
    if isinstance(taxonomy, str | PathLike):
        return Taxonomy.load(taxonomy)
    raise ParameterError(f"`taxonomy` must be a Taxonomy, a path or None, got {type(taxonomy).__name__}")


def check_one_each(y: Any, owner: str) -> None:
    """Check that there is a label for each document, and only one, before NumPy makes an array of them."""
    if hasattr(y, "to_numpy"):  # a column of a data frame
        y = y.to_numpy()
    if not (isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.dtype.kind == "O" and y.ndim == 1)):
        return
    for i, label in enumerate(y):
        if label is None:
            raise LabelError(f"every document needs a label, got None in y[{i}]; drop the documents without one")
        if isinstance(label, list | tuple | set | frozenset) and len(label) != 1:
            raise LabelError(
                f"{owner} learns one label a document, got {len(label)} in y[{i}]; for label sets take TaxonomyRankSVC "
                "or CoupledSVC"
            )


def check_targets(y: npt.NDArray[Any]) -> None:
    """Check that labels are classes; that there are many for the documents is nothing unusual here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        check_classification_targets(y)


def check_one_kind(labels: Iterable[npt.NDArray[Any]]) -> None:
    """Check that labels from several places are all numbers, or all texts: NumPy would make texts of a mixture."""
    kinds = {"numbers" if part.dtype.kind in "biuf" else "texts" for part in labels if len(part)}
    if len(kinds) > 1:
        raise LabelError(
            "some labels are numbers and some are texts; give them as those of the first call, and `classes` likewise"
        )


def class_nodes(taxonomy: Taxonomy, classes: Iterable[Any]) -> npt.NDArray[np.int32]:
    """Give the node of each class; a label is looked up by its text."""
    names = [str(k) for k in classes]
    unknown = [name for name in names if name not in taxonomy]
    if unknown:
        more = f" and {len(unknown) - 1} more labels" if len(unknown) > 1 else ""
        raise LabelError(
            f"the label {unknown[0]!r}{more} of the documents cannot be found in the taxonomy of {len(taxonomy)} "
            f"nodes{closest(unknown[0], taxonomy.ids)}; add it there or drop those documents"
        )
    if len(set(names)) < len(names):
        raise LabelError("two labels have the same text, and so the same node of the taxonomy; make them different")
    return np.array([taxonomy.index(name) for name in names], dtype=np.int32)
