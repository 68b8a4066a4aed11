"""Which documents to learn from and which to test on, so that no class is ever unknown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import check_cv

from pinakes.errors import ParameterError

Numbers = npt.NDArray[np.int64]
MANY = 5000  # with so many documents one part put aside is enough
HELD_OUT, N_FOLDS = 0.2, 3


def make_splits(cv: Any, codes: Numbers, seed: int) -> list[tuple[Numbers, Numbers]]:
    """Give pairs (documents to learn from, documents to test on).

    `cv` is a number of folds; a share of the documents that is put aside once; None for a fifth put aside once where
    there are many documents, and 3 folds elsewhere; or whatever scikit-learn takes. Folds are stratified, and the only
    document of a class is always learnt from.
    """
    if cv is None:
        cv = HELD_OUT if len(codes) >= MANY else N_FOLDS
    if isinstance(cv, bool) or (isinstance(cv, int | np.integer) and cv < 2):
        raise ParameterError(f"`cv` must be a whole number >= 2, a share between 0 and 1, or a splitter, got {cv!r}")
    if isinstance(cv, float):
        if not 0 < cv < 1:
            raise ParameterError(
                f"`cv` must be a whole number >= 2, a share between 0 and 1, or a splitter, got {cv!r}"
            )
        aside = _share(codes, cv, seed)
        splits = [(np.flatnonzero(~aside), np.flatnonzero(aside))]
    elif isinstance(cv, int | np.integer):
        folds = _folds(codes, int(cv), seed)
        splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(int(cv))]
        splits = [pair for pair in splits if len(pair[1])]
    else:
        if not hasattr(cv, "split") and not isinstance(cv, Iterable):
            raise ParameterError(
                f"`cv` must be a whole number >= 2, a share between 0 and 1, or a splitter, got {cv!r}"
            )
        splitter = check_cv(cv, codes, classifier=True)
        splits = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(np.zeros(len(codes)), codes)]
    if not splits or any(len(test) == 0 or len(train) == 0 for train, test in splits):
        raise ParameterError(
            "nothing is left to test on: every class has one document; choose settings by hand with TaxonomySVC"
        )
    return splits


def _by_class(codes: Numbers, seed: int) -> Numbers:
    """Give the documents class by class, in random order within each, without those that are alone in theirs."""
    order = np.random.default_rng(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    return order[np.bincount(codes)[codes[order]] > 1]


def _folds(codes: Numbers, n_folds: int, seed: int) -> Numbers:
    """Deal the documents out to folds, class by class; -1 for the only document of its class."""
    order = _by_class(codes, seed)
    folds = np.full(len(codes), -1, dtype=np.int64)
    folds[order] = np.arange(len(order)) % n_folds
    return folds


def _share(codes: Numbers, share: float, seed: int) -> npt.NDArray[np.bool_]:
    """Put every so-manieth document aside, class by class, but never all of a class."""
    order = _by_class(codes, seed)
    aside = np.zeros(len(codes), dtype=bool)
    aside[order] = np.diff(np.floor(share * np.arange(len(order) + 1))) > 0
    _, first = np.unique(codes[order], return_index=True)
    left = np.bincount(codes, weights=~aside)
    kept = order[first]
    aside[kept[left[codes[kept]] == 0]] = False
    return aside
