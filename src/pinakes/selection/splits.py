"""Which documents to learn from and which to test on, so that no class is ever unknown.

Where documents are many a small part of them tells which settings are best, if it is chosen well. With fewer documents
of each class the best C is another one, unless there are plenty; with fewer classes, whole branches of the taxonomy, it
stays where it is: most mistakes are made within a branch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import check_cv

from pinakes.errors import ParameterError
from pinakes.taxonomy import Taxonomy

Numbers = npt.NDArray[np.int64]
MANY = 5000  # with so many documents one part put aside is enough
HELD_OUT, N_FOLDS = 0.2, 3
PLENTY = 50  # documents of a class, on average, of which …
SOME_OF_PLENTY = 0.2  # … this share is enough to learn from
IN_BRANCHES = 0.3  # share of the documents that lie in the branches chosen …
ENOUGH = 30_000  # … and so many at the most
BRANCH = 0.4  # no branch has a larger share of the documents chosen than this


class Split(NamedTuple):
    """Documents to learn from, documents to test on, and the classes that they belong to, ascending."""

    learn: Numbers
    test: Numbers
    classes: Numbers


def make_splits(
    cv: Any, codes: Numbers, seed: int, taxonomy: Taxonomy, nodes: npt.NDArray[Any], *, whole: bool = False
) -> list[Split]:
    """Split documents of the classes `codes`, which are the nodes `nodes`; `whole`: no class may be left out.

    `cv` is a number of folds; a share of the documents that is put aside once; None for a part of the documents, split
    once, where there are many, and 3 folds elsewhere; or whatever scikit-learn takes. Folds are stratified, and the
    only document of a class is always learnt from.
    """
    problem = ParameterError(f"`cv` must be a whole number >= 2, a share between 0 and 1, or a splitter, got {cv!r}")
    classes = np.arange(len(nodes))
    some = np.arange(len(codes))
    if cv is None and len(codes) < MANY:
        cv = N_FOLDS
    elif cv is None and (whole or len(codes) >= PLENTY * len(nodes)):
        cv = 1 - SOME_OF_PLENTY
    elif cv is None:
        share = min(IN_BRANCHES, ENOUGH / len(codes))
        classes = choose_branches(taxonomy, nodes, np.bincount(codes, minlength=len(nodes)), share, seed)
        some = np.flatnonzero(np.isin(codes, classes))
        cv = HELD_OUT
    if isinstance(cv, bool) or (isinstance(cv, int | np.integer) and cv < 2):
        raise problem
    if isinstance(cv, float):
        if not 0 < cv < 1:
            raise problem
        aside = _share(codes[some], cv, seed)
        splits = [Split(some[~aside], some[aside], classes)]
    elif isinstance(cv, int | np.integer):
        folds = _folds(codes, int(cv), seed)
        splits = [Split(np.flatnonzero(folds != k), np.flatnonzero(folds == k), classes) for k in range(int(cv))]
        splits = [split for split in splits if len(split.test)]
    else:
        if not hasattr(cv, "split") and not isinstance(cv, Iterable):
            raise problem
        splitter = check_cv(cv, codes, classifier=True)
        pairs = splitter.split(np.zeros(len(codes)), codes)
        splits = [Split(np.asarray(learn), np.asarray(test), classes) for learn, test in pairs]
    if not splits or any(len(split.test) == 0 or len(split.learn) == 0 for split in splits):
        raise ParameterError(
            "nothing is left to test on: every class has one document; choose settings by hand with TaxonomySVC"
        )
    return splits


def divide(documents: Numbers, codes: Numbers, n_parts: int) -> list[Numbers]:
    """Divide documents into parts, those of each class evenly."""
    order = documents[np.argsort(codes[documents], kind="stable")]
    return [order[k::n_parts] for k in range(n_parts)]


def choose_branches(taxonomy: Taxonomy, nodes: npt.NDArray[Any], count: Numbers, share: float, seed: int) -> Numbers:
    """Give the classes of some branches that hold this share of the documents or a little more.

    A branch is all that lies at or below a node, as high up as it has no more than `BRANCH` of the documents that are
    wanted. `count` has the number of documents of each class.
    """
    owner, above = taxonomy.ancestors.spread(nodes)
    n_below = np.bincount(taxonomy.ancestors.indices[above], weights=count[owner], minlength=len(taxonomy))
    small = n_below <= BRANCH * share * count.sum()
    parents, children = taxonomy.edges().T
    below_small = np.bincount(children, weights=small[parents], minlength=len(taxonomy)) > 0
    heads = np.flatnonzero(small & ~below_small & (n_below > 0))
    place = np.full(len(taxonomy), -1)
    place[nodes] = np.arange(len(nodes))
    chosen = np.zeros(len(nodes), dtype=bool)
    for head in np.random.default_rng(seed).permutation(heads):
        inside = place[taxonomy.descendants.of(head)]
        chosen[inside[inside >= 0]] = True
        if count[chosen].sum() >= share * count.sum():
            break
    return np.flatnonzero(chosen)


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
