"""Corpora in one schema: a taxonomy, documents to learn from, and documents to be tested on.

A corpus is a folder with ``taxonomy.tsv``, ``train.jsonl`` and ``test.jsonl``, each plain or packed (``.xz``,
``.gz``). The sample of WordNet that comes with Pinakes is such a folder; rcv1, which has vectors instead of
texts, is read from the files it is kept in: ``X.npz``, ``Y.npz`` and ``rcv1.taxonomy``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from pinakes.documents import Corpus
from pinakes.errors import InputError, LabelError, ParameterError, closest
from pinakes.taxonomy import Taxonomy

PACKED = ("", ".xz", ".gz")
PARTS = ("taxonomy.tsv", "train.jsonl", "test.jsonl")
RCV1 = ("X.npz", "Y.npz", "rcv1.taxonomy")


class Sample(NamedTuple):
    """A taxonomy with documents to learn from and documents to be tested on."""

    taxonomy: Taxonomy
    train: Corpus
    test: Corpus


def load_wordnet_sample() -> Sample:
    """Load the sample of WordNet that comes with Pinakes: about 9,000 noun glosses in 436 kinds of thing.

    Each document is the gloss of a noun of WordNet 3.0, labelled with the kinds of thing it is: one for most,
    two for some. The kinds range over animals, plants, food, artifacts, substances, people, bodies and their
    ills, music, weather and acts; a third of them have kinds below them and documents of their own; some lie
    below two others (a house is a building and housing). Ids are WordNet's, names are plain words and unique.
    How it was drawn is told, and can be done again, in ``examples/make_wordnet_sample.py``. The glosses are
    under WordNet's licence, which lies beside them.

    Examples
    --------
    >>> sample = load_wordnet_sample()
    >>> sample.taxonomy
    Taxonomy(439 nodes, 281 leaves, lattice, depth 8)
    >>> len(sample.train), len(sample.test)
    (7639, 1342)
    """
    return _load_folder(Path(__file__).with_name("data"))


def load_corpus(folder: str | os.PathLike[str], *, test_share: float = 0.2, random_state: int | None = 0) -> Sample:
    """Load a corpus from a folder.

    Parameters
    ----------
    folder : path
        Holds ``taxonomy.tsv``, ``train.jsonl`` and ``test.jsonl``, each plain or packed (``.xz``, ``.gz``);
        or rcv1 as ``X.npz``, ``Y.npz`` and ``rcv1.taxonomy``.
    test_share : float, default=0.2
        For rcv1, which has no split of its own: the share of documents to be tested on. Of equal documents
        only the first is used, so that none is on both sides.
    random_state : int or None, default=0
        For rcv1: which random split.

    Returns
    -------
    Sample
        The taxonomy and two corpora; every label is in the taxonomy.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError("no such folder; give the folder of a corpus", source=str(place))
    if (place / RCV1[0]).exists():
        return _load_rcv1(place, test_share, random_state)
    return _load_folder(place)


def find_parts(place: Path) -> list[Path]:
    """Give the files of a corpus: taxonomy, training documents, test documents."""
    found = [next((p for end in PACKED if (p := place / (part + end)).is_file()), None) for part in PARTS]
    files = [path for path in found if path is not None]
    if len(files) < len(PARTS):
        missing = " and ".join(part for part, path in zip(PARTS, found, strict=True) if path is None)
        raise InputError(
            f"expected {', '.join(PARTS)} (plain, .xz or .gz), or {', '.join(RCV1)}; there is no {missing}",
            source=str(place),
        )
    return files


def _load_folder(place: Path) -> Sample:
    taxonomy_file, train_file, test_file = find_parts(place)
    taxonomy = Taxonomy.load(taxonomy_file)
    train, test = Corpus.read(train_file), Corpus.read(test_file)
    for corpus in (train, test):
        _check_labels(corpus, taxonomy)
    return Sample(taxonomy, train, test)


def _check_labels(corpus: Corpus, taxonomy: Taxonomy) -> None:
    for i, labels in enumerate(corpus.labels):
        for label in labels:
            if label not in taxonomy:
                raise LabelError(
                    f"label {label!r} is not in the taxonomy{closest(label, taxonomy.ids)}",
                    source=corpus.sources[i],
                    line=corpus.lines[i],
                )


def _load_rcv1(place: Path, test_share: float, random_state: int | None) -> Sample:
    from scipy.sparse import load_npz

    from pinakes.documents import as_csr

    if not 0 < test_share < 1:
        raise ParameterError(f"`test_share` of load_corpus must lie between 0 and 1, got {test_share}")
    missing = [name for name in RCV1 if not (place / name).is_file()]
    if missing:
        raise InputError(f"expected {', '.join(RCV1)}; there is no {' and '.join(missing)}", source=str(place))
    try:
        X = as_csr(load_npz(place / RCV1[0]))
        with np.load(place / RCV1[1]) as file:
            Y, codes = file["Y"], [str(code) for code in file["codes"]]
    except (ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise InputError(f"X.npz or Y.npz cannot be read ({error}); copy them again", source=str(place)) from None
    if X.shape[0] != len(Y) or Y.shape[1] != len(codes):
        raise InputError(
            f"X has {X.shape[0]} rows; Y has {Y.shape[0]} rows, {Y.shape[1]} columns and {len(codes)} codes; "
            "they must be of one collection",
            source=str(place),
        )
    whole = Taxonomy.load(place / RCV1[2])
    top = whole.ids[whole.roots[0]] if len(whole.roots) == 1 else ""  # "Root" is no topic
    edges = [(whole.ids[parent], whole.ids[child]) for parent, child in whole.edges()]
    taxonomy = Taxonomy.from_edges([("" if parent == top else parent, child) for parent, child in edges])
    kept = _first_of_equals(X)
    shuffled = np.random.default_rng(random_state).permutation(kept)
    n_test = min(max(1, round(test_share * len(kept))), len(kept) - 1)
    parts = [np.sort(shuffled[n_test:]), np.sort(shuffled[:n_test])]
    train, test = (
        Corpus(
            ids=[str(i) for i in rows],
            texts=None,
            X=X[rows],
            labels=[tuple(codes[k] for k in np.flatnonzero(Y[i])) for i in rows],
            sources=[str(place / RCV1[0])] * len(rows),
            lines=[0] * len(rows),
        )
        for rows in parts
    )
    for corpus in (train, test):
        _check_labels(corpus, taxonomy)
    return Sample(taxonomy, train, test)


def _first_of_equals(X: Any) -> list[int]:
    """Give the rows that no earlier row equals."""
    first: dict[tuple[bytes, bytes], int] = {}
    for i in range(X.shape[0]):
        row = slice(X.indptr[i], X.indptr[i + 1])
        first.setdefault((X.indices[row].tobytes(), X.data[row].tobytes()), i)
    return list(first.values())
