"""The bundled sample of WordNet: what its docstring and its drawing rule promise."""

from __future__ import annotations

import importlib.util
import lzma
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import LabelBinarizer, normalize

import pinakes.datasets
from pinakes.datasets import DESCRIPTIONS, Sample, load_wordnet_sample

DATA = Path(pinakes.datasets.__file__).with_name("data")
SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "make_wordnet_sample.py"


def unpacked(path: Path) -> str:
    return lzma.decompress(path.read_bytes()).decode()


@pytest.fixture(scope="module")
def sample() -> Sample:
    return load_wordnet_sample()


@pytest.fixture(scope="module")
def graph() -> nx.DiGraph:
    """The taxonomy file, read without Pinakes."""
    graph = nx.DiGraph()
    for line in unpacked(DATA / "taxonomy.tsv.xz").splitlines():
        parent, child, name = line.split("\t")
        graph.add_node(child, name=name)
        if parent:
            graph.add_edge(parent, child)
    return graph


def test_all_names_are_public() -> None:
    assert sorted(pinakes.datasets.__all__) == pinakes.datasets.__all__
    assert all(hasattr(pinakes.datasets, name) for name in pinakes.datasets.__all__)


def test_the_package_stays_small() -> None:
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 2**20
    licence = (DATA / "LICENSE-WordNet").read_text(encoding="utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved." in licence


def test_a_connected_lattice(sample: Sample, graph: nx.DiGraph) -> None:
    names = nx.get_node_attributes(graph, "name")
    assert dict(zip(sample.taxonomy.ids, sample.taxonomy.names, strict=True)) == names
    assert {(sample.taxonomy.ids[p], sample.taxonomy.ids[c]) for p, c in sample.taxonomy.edges()} == set(graph.edges)
    assert nx.is_directed_acyclic_graph(graph)
    assert [names[v] for v, above in graph.in_degree() if above == 0] == ["entity"]
    assert nx.transitive_reduction(graph).edges == graph.edges  # no edge that a longer way makes idle
    assert sum(above > 1 for _, above in graph.in_degree()) >= 10
    assert len(set(names.values())) == len(names)
    assert 300 <= len(names) <= 600


def test_fields(sample: Sample) -> None:
    wanted = {
        "animal",
        "plant",
        "food",
        "artifact",
        "substance",
        "person",
        "act",
        "dog",
        "bird",
        "tree",
        "herb",
    }
    wanted |= {"tool", "vehicle", "garment", "dish", "disease", "mineral", "worker", "musician", "building"}
    assert wanted <= set(sample.taxonomy.names)
    assert not any(word in name.split() for name in sample.taxonomy.names for word in ("genus", "family"))


def test_documents(sample: Sample, graph: nx.DiGraph) -> None:
    names = nx.get_node_attributes(graph, "name")
    train, test = sample.train, sample.test
    assert train.texts is not None
    assert test.texts is not None
    texts = train.texts + test.texts
    assert len(set(train.ids) | set(test.ids)) == len(texts) == len(set(texts))
    assert 0.13 < len(test) / len(texts) < 0.17
    assert not any("slur" in text for text in texts)
    whole = Counter(label for labels in train.labels + test.labels for label in labels)
    assert min(whole.values()) >= 8
    assert {names[v] for v in set(names) - set(whole)} == {"entity", "living thing", "act"}
    assert set(whole) == {label for labels in test.labels for label in labels}
    assert set(whole) == {label for labels in train.labels for label in labels}
    assert sum(graph.out_degree(label) > 0 for label in whole) >= 100  # inner nodes with documents
    several = [labels for labels in train.labels + test.labels if len(labels) > 1]
    assert len(several) >= 200
    for labels in several:  # no label lies above another one of the same document
        assert not any(nx.has_path(graph, a, b) for a in labels for b in labels if a != b)


def test_descriptions() -> None:
    assert 8 <= len(DESCRIPTIONS) <= 12
    assert len(set(DESCRIPTIONS)) == len(DESCRIPTIONS)


def test_nearest_centroids_find_their_way(sample: Sample) -> None:
    """Not a benchmark: it shows that labels follow from texts, and that the descriptions have answers."""
    vectors = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    X = vectors.fit_transform(sample.train.texts)
    coder = LabelBinarizer(sparse_output=True)
    members = coder.fit_transform([labels[0] for labels in sample.train.labels]).astype(np.int32)
    centroids = normalize(members.T @ X)

    def answer(texts: list[str] | None) -> list[str]:
        return list(coder.classes_[(vectors.transform(texts) @ centroids.T).argmax(axis=1)].ravel())

    found = answer(sample.test.texts)
    hits = [label in labels for label, labels in zip(found, sample.test.labels, strict=True)]
    assert sum(hits) / len(hits) > 0.4
    names = [sample.taxonomy.names[sample.taxonomy.index(label)] for label in answer(DESCRIPTIONS)]
    wanted = ["aircraft", "soup", "shop", "musician", "shrub", "bird of prey", "stringed instrument"]
    assert sum(a == b for a, b in zip(names, [*wanted, "card game", "alloy", "pain"], strict=True)) >= 8


@pytest.mark.corpus
@pytest.mark.skipif(not SCRIPT.exists(), reason="the script is not in the package")
def test_the_script_draws_the_same_sample(corpora: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("make_wordnet_sample", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main(corpora / "wordnet-nouns", tmp_path)
    for name in ("taxonomy.tsv.xz", "train.jsonl.xz", "test.jsonl.xz"):
        assert unpacked(tmp_path / name) == unpacked(DATA / name)
    assert "439 nodes" in capsys.readouterr().out
