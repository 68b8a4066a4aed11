"""Random lattices with true and predicted labels, and the set operations that metrics are defined by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from pinakes.taxonomy import Taxonomy
from strategies import taxonomies

ANIMALS = Taxonomy.from_edges([("", "animal"), ("animal", "cat"), ("animal", "dog"), ("", "plant")])


class Task(NamedTuple):
    t: Taxonomy
    true: list[list[str]]
    pred: list[list[str]]
    answers: list[str]
    columns: list[str]
    scores: np.ndarray


@st.composite
def tasks(draw: st.DrawFn, trees: bool = False, least_true: int = 0) -> Task:
    """Some documents on a random lattice; scores have ties, and not every label has a column."""
    t = draw(taxonomies(max_nodes=9, trees=trees))
    n = draw(st.integers(1, 6))
    sets = st.sets(st.sampled_from(t.ids), max_size=4).map(sorted)
    true = draw(
        st.lists(
            st.sets(st.sampled_from(t.ids), min_size=least_true, max_size=4).map(sorted),
            min_size=n,
            max_size=n,
        )
    )
    pred = draw(st.lists(sets, min_size=n, max_size=n))
    answers = draw(st.lists(st.sampled_from(t.ids), min_size=n, max_size=n))
    columns = draw(st.lists(st.sampled_from(t.ids), min_size=1, unique=True))
    cells = n * len(columns)
    scores = draw(st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0]), min_size=cells, max_size=cells))
    return Task(t, true, pred, answers, columns, np.array(scores).reshape(n, -1))


def anc(t: Taxonomy, *ids: str) -> set[str]:
    """All labels with everything above them, from the direct parents only."""
    found = set(ids)
    for i in ids:
        found |= anc(t, *(t.ids[p] for p in t.parents.of(t.index(i))))
    return found


def delta(t: Taxonomy, y: str, y_hat: str) -> float:
    return len(anc(t, y) ^ anc(t, y_hat)) / 2


def parents(t: Taxonomy, i: str) -> set[str]:
    return {t.ids[p] for p in t.parents.of(t.index(i))}
