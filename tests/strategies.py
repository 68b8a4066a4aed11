"""Hypothesis strategies that several test folders share: ``from strategies import taxonomies``."""

from __future__ import annotations

from hypothesis import strategies as st

from pinakes.taxonomy import Taxonomy

# any letter, sign or space but control characters and halves of surrogate pairs: no tab, no line feed
ODD = st.characters(exclude_categories=("Cs", "Cc"))
LIKELY = st.sampled_from(
    ["A", "A01", "a b", " ", "näin", "狗", "\u2028", '"', "a,b", "http://x.org/1", "é/ü", "%41", "child"]
)
NODE_IDS = st.one_of(LIKELY, st.text(ODD, min_size=1, max_size=6))


@st.composite
def edge_lists(draw: st.DrawFn, max_nodes: int = 12, trees: bool = False) -> tuple[list[str], list[tuple[int, int]]]:
    """Draw ids in any order and acyclic edges between their positions."""
    ids = draw(st.lists(NODE_IDS, min_size=1, max_size=max_nodes, unique=True))
    order = draw(st.permutations(range(len(ids))))
    edges = []
    for k in range(1, len(ids)):
        above = st.lists(st.integers(0, k - 1), max_size=1 if trees else 3, unique=True)
        edges += [(order[p], order[k]) for p in draw(above)]
    return ids, edges


@st.composite
def taxonomies(draw: st.DrawFn, max_nodes: int = 12, trees: bool = False) -> Taxonomy:
    """Draw a taxonomy with odd ids and some odd names: a lattice, or a forest with `trees`."""
    ids, edges = draw(edge_lists(max_nodes, trees))
    names = draw(st.dictionaries(st.sampled_from(ids), st.text(ODD, max_size=6), max_size=3))
    return Taxonomy(ids, edges, names)
