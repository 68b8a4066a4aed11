"""Model files: what is saved comes back bit by bit, and what does not fit together is refused."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from pinakes.decisions import Classifier
from pinakes.documents import TextFeatures
from pinakes.errors import ModelFileError, ParameterError, TaxonomyError
from pinakes.models import TaxonomySVC
from pinakes.storage import load, save
from pinakes.storage.bundle import read_bundle, write_bundle
from pinakes.storage.model import KIND, VERSION
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy import taxonomy as taxonomy_module
from pinakes.taxonomy.loss import NodeCosts

MODELS = Path(__file__).parents[1] / "data" / "models"
TREE = Taxonomy.from_paths(["a/b/1", "a/b/2", "a/c", "d/e", "d/f/3", "g"])
LATTICE = Taxonomy.from_edges(
    [("", "a"), ("", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("c", "e"), ("d", "e"), ("c", "f"), ("b", "g")],
    {"e": "Ärger", "g": "g: 狗"},
)
TREE_CLASSES = ["a/b/1", "a/b/2", "a/c", "d/e", "d/f/3", "g"]
LATTICE_CLASSES = ["a", "c", "d", "e", "f", "g"]  # some of them above others


@pytest.fixture(autouse=True)
def _unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # hundreds of files that need not last


def vectors(classes: list[Any], n: int = 60) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(3)
    y = np.arange(n) % len(classes)
    X = rng.random((n, 10)) * (rng.random((n, 10)) < 0.5)
    X[np.arange(n), y] += 1
    return sparse.csr_array(X), np.array(classes)[y]


def costs(n: int) -> np.ndarray:
    table = np.random.default_rng(1).random((n, n)) + 0.5
    np.fill_diagonal(table, 0)
    return table


def again(model: Any, folder: Path) -> Any:
    save(model, folder / "m.pinakes")
    return load(folder / "m.pinakes")


CASES: dict[str, dict[str, Any]] = {
    "tree loss": {},
    "zero-one": {"loss": "zero-one"},
    "costs": {"loss": NodeCosts(f=2.0, c=0.3, cbar=0.7)},
    "costs by node": {"loss": NodeCosts(f={"g": 5.0})},
    "matrix": {"loss": costs(6)},
    "depth": {"node_weight": "depth"},
    "equal": {"node_weight": "equal"},
    "flat": {"node_weight": "flat"},
    "flat zero-one": {"node_weight": "flat", "loss": "zero-one"},
    "float64": {"tol": 1e-6, "C": np.float32(0.5), "max_iter": np.int64(5000)},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("shape", ["tree", "lattice", "none"])
def test_a_model_comes_back_bit_by_bit(tmp_path, case, shape):
    taxonomy, classes = {"tree": (TREE, TREE_CLASSES), "lattice": (LATTICE, LATTICE_CLASSES)}.get(
        shape, (None, LATTICE_CLASSES)
    )
    X, y = vectors(classes)
    model = TaxonomySVC(taxonomy, **CASES[case]).fit(X, y)
    back = again(model, tmp_path)
    assert isinstance(back, TaxonomySVC)
    scores, scores_back = model.decision_function(X), back.decision_function(X)
    assert scores.dtype == scores_back.dtype
    assert scores.tobytes() == scores_back.tobytes()
    assert back.predict(X).tolist() == model.predict(X).tolist()
    assert back.classes_.tolist() == model.classes_.tolist()
    assert back.taxonomy_ == model.taxonomy_
    assert back.taxonomy_.ids == model.taxonomy_.ids
    assert back.history_ == model.history_
    assert (back.gap_, back.n_iter_, back.n_features_in_) == (model.gap_, model.n_iter_, model.n_features_in_)
    assert back.primal_objective_ == model.primal_objective_
    assert abs(back.weights_ - model.weights_).max() == 0
    nodes = np.array([model.taxonomy_.index(k) for k in classes])
    first, second = np.repeat(nodes, len(nodes)), np.tile(nodes, len(nodes))
    np.testing.assert_array_equal(back._loss.pairs(first, second), model._loss.pairs(first, second))
    again(back, tmp_path)  # and a second time
    assert load(tmp_path / "m.pinakes").decision_function(X).tobytes() == scores.tobytes()


def test_a_loaded_model_can_be_trained_again(tmp_path):
    X, y = vectors(LATTICE_CLASSES)
    for settings_of in (CASES["costs"], CASES["matrix"], {"node_weight": {"a": 0.5, "e": 1.0, "c": 2}}):
        model = TaxonomySVC(LATTICE, **settings_of).fit(X, y)
        back = again(model, tmp_path)
        assert back.fit(X, y).decision_function(X).tobytes() == model.decision_function(X).tobytes()


def test_node_weights_of_ones_own(tmp_path):
    X, y = vectors(LATTICE_CLASSES)
    weights = {node: np.float32(0.1 + k) for k, node in enumerate(LATTICE.ids)}
    model = TaxonomySVC(LATTICE, node_weight=weights).fit(X, y)
    back = again(model, tmp_path)
    assert back.node_weight == {node: float(v) for node, v in weights.items()}
    assert back.decision_function(X).tobytes() == model.decision_function(X).tobytes()


@pytest.mark.parametrize("labels", [[10, 2, 33, -4, 0, 7], np.array([10, 2, 33, 4, 0, 7], dtype=np.uint8), "object"])
def test_labels_of_other_kinds(tmp_path, labels):
    classes = np.array(LATTICE_CLASSES, dtype=object) if isinstance(labels, str) else labels
    X, y = vectors(list(classes))
    y = y.astype(object) if isinstance(labels, str) else y
    model = TaxonomySVC().fit(X, y)
    back = again(model, tmp_path)
    assert back.predict(X).tolist() == model.predict(X).tolist()
    assert back.decision_function(X).tobytes() == model.decision_function(X).tobytes()


def test_what_cannot_be_saved(tmp_path):
    X, y = vectors([True, False])
    with pytest.raises(ParameterError, match="labels must be texts or whole numbers to be stored, got bool"):
        save(TaxonomySVC().fit(X, y), tmp_path / "m")
    with pytest.raises(ParameterError, match="`save` takes a fitted Classifier or TaxonomySVC, got str"):
        save("model", tmp_path / "m")  # type: ignore[arg-type]
    for unfitted in (TaxonomySVC(), Classifier(TaxonomySVC())):
        with pytest.raises(ParameterError, match="`save` takes a fitted model: call `fit` of this TaxonomySVC first"):
            save(unfitted, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "features", [{}, {"hashing": 50}, {"ngrams": (1, 2), "norm": "l1"}, {"strip_accents": "ascii"}]
)
def test_a_classifier_comes_back_bit_by_bit(tmp_path, features):
    texts = ["Übel purring cat", "barking dog", "old oak", "purring kitten, cat", "dog on a leash", "oak leaf"] * 3
    labels = ["a/b/1", "a/c", "g"] * 6
    classifier = Classifier(TaxonomySVC(TREE), TextFeatures(min_df=1, **features)).fit(texts, labels)
    classifier.summary = {"documents": 18, "note": "ä"}
    back = again(classifier, tmp_path)
    assert isinstance(back, Classifier)
    assert back.features.get_params() == classifier.features.get_params()
    assert (back.temperature, back.summary) == (classifier.temperature, classifier.summary)
    new = [*texts, "a cat and a dog", "zzz", ""]
    assert back.rank(new, top=3) == classifier.rank(new, top=3)
    assert back.decision_function(new).tobytes() == classifier.decision_function(new).tobytes()


def test_a_classifier_of_vectors_comes_back(tmp_path):
    X, y = vectors(TREE_CLASSES)
    classifier = Classifier(TaxonomySVC(TREE)).fit(X, y)
    back = again(classifier, tmp_path)
    assert back.features is None
    assert back.rank(X, top=9) == classifier.rank(X, top=9)


def test_models_of_all_versions_still_answer():
    sys.path.insert(0, str(MODELS))
    try:
        from make import DOCUMENTS, EDGES, NAMES  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(MODELS))
    files = sorted(MODELS.glob("*.pinakes"))
    assert files
    for file in files:
        classifier = load(file)
        assert isinstance(classifier, Classifier)
        assert classifier.predict(list(DOCUMENTS)).tolist() == list(DOCUMENTS.values())
        assert classifier.model.taxonomy_ == Taxonomy.from_edges(EDGES, NAMES)
        best = classifier.rank(["cats: a cat that purrs"], top=1)[0][0]
        assert (best.label, best.name) == ("cat", "Cats")
        assert best.confidence > 0.25


# -- damage ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Headers and tensors of valid files: texts, costs by node, a matrix, weights of one's own."""
    folder = tmp_path_factory.mktemp("valid")
    texts = ["purring cat", "barking dog", "old oak", "purring kitten", "dog on a leash", "oak leaf"] * 2
    text = Classifier(TaxonomySVC(TREE), TextFeatures(min_df=1)).fit(texts, ["a/b/1", "a/c", "g"] * 4)
    X, y = vectors(LATTICE_CLASSES)
    models = {
        "text": text,
        "costs": TaxonomySVC(LATTICE, loss=NodeCosts(f=2.0)).fit(X, y),
        "matrix": TaxonomySVC(LATTICE, loss=costs(6)).fit(X, y),
        "mapping": TaxonomySVC(LATTICE, node_weight=dict.fromkeys(LATTICE.ids, 1.0)).fit(X, y),
        "numbers": TaxonomySVC().fit(X, np.arange(60) % 3),
    }
    found = {}
    for name, model in models.items():
        save(model, folder / name)
        found[name] = read_bundle(folder / name, kind=KIND, newest=VERSION)
    return found


def refuse(path: Path, header: dict[str, Any], tensors: dict[str, np.ndarray], message: str = "") -> None:
    write_bundle(path, header, tensors)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def change(values: np.ndarray, place: Any, to: Any) -> np.ndarray:
    out = values.copy()
    out[place] = to
    return out


TENSOR_DAMAGE: list[tuple[str, str, Any, str]] = [
    ("text", "taxonomy.ids", lambda t: t[:-1], "offsets that do not fit"),
    ("text", "taxonomy.ids", lambda t: change(t, 0, 0xFF), "is not UTF-8"),
    ("text", "taxonomy.ids", lambda t: np.frombuffer(t.tobytes().replace(b"a/c", b"d/e"), np.uint8), "twice"),
    ("text", "taxonomy.id_offsets", lambda t: t[:-1], "offsets that do not fit"),
    ("text", "taxonomy.id_offsets", lambda t: t[::-1].copy(), "offsets that do not fit"),
    ("text", "taxonomy.id_offsets", lambda t: t[:0], "offsets that do not fit"),
    ("text", "taxonomy.name_offsets", lambda t: np.delete(t, 1), "ids and"),
    ("text", "taxonomy.edges", lambda t: change(t, (0, 0), 99), "edges must be pairs of positions"),
    ("text", "taxonomy.edges", lambda t: change(t, (0, 0), -1), "edges must be pairs of positions"),
    ("text", "taxonomy.edges", lambda t: np.concatenate([t, t[:1, ::-1]]), "cannot have a cycle"),
    ("text", "taxonomy.edges", lambda t: change(t, 0, (3, 3)), "cannot have a cycle"),
    ("text", "taxonomy.edges", lambda t: t.reshape(-1), "must be of shape anyx2"),
    ("text", "classes", lambda t: change(t, 0, 99), "two or more different nodes"),
    ("text", "classes", lambda t: change(t, 0, -1), "two or more different nodes"),
    ("text", "classes", lambda t: change(t, 0, t[1]), "two or more different nodes"),
    ("text", "classes", lambda t: t[:1], "two or more different nodes"),
    ("text", "classes", lambda t: t[:0], "two or more different nodes"),
    ("text", "classes", lambda t: t[::-1].copy(), "not in ascending order"),
    ("numbers", "classes", lambda t: t[::-1].copy(), "not in ascending order"),
    ("text", "columns", lambda t: change(t, 0, 99), "columns for nodes that are not there"),
    ("text", "columns", lambda t: change(t, 0, -99), "columns for nodes that are not there"),
    ("text", "columns", lambda t: change(t, 0, t[1]), "two for one"),
    ("text", "columns", lambda t: t[:-1], "expected 0 to"),
    ("text", "columns", lambda t: t[:0], "expected 0 to"),
    ("text", "weights.data", lambda t: change(t, 0, np.nan), "not finite"),
    ("text", "weights.data", lambda t: change(t, 0, np.inf), "not finite"),
    ("text", "weights.data", lambda t: t[:-1], "entries and has"),
    ("text", "weights.indices", lambda t: change(t, 0, 99), "expected 0 to"),
    ("text", "weights.indices", lambda t: change(t, 0, -1), "expected 0 to"),
    ("text", "weights.indices", lambda t: change(t, slice(None), t[0]), "two values in one place"),
    ("text", "weights.indptr", lambda t: change(t, 0, 1), "do not rise from 0"),
    ("text", "weights.indptr", lambda t: t[::-1].copy(), "do not rise from 0"),
    ("text", "weights.indptr", lambda t: np.append(t, t[-1]), "the features make"),
    ("text", "weights.indptr", lambda t: t[:0], "of no features"),
    ("text", "features.idf", lambda t: t[:-1], "one weight a term"),
    ("text", "features.idf", lambda t: change(t, 0, np.nan), "NaN or infinity"),
    ("text", "features.offsets", lambda t: t[:-1], "places of the terms"),
    ("text", "features.vocabulary", lambda t: change(t, 0, 0xFF), "UTF-8"),
    ("costs", "loss.miss", lambda t: t[:-1], "must be of shape"),
    ("costs", "loss.false", lambda t: change(t, 0, -1.0), "finite and >= 0"),
    ("costs", "loss.miss", lambda t: change(t, 0, np.nan), "finite and >= 0"),
    ("matrix", "loss.matrix", lambda t: t[:, :-1], "must be of shape"),
    ("matrix", "loss.matrix", lambda t: change(t, (0, 1), np.nan), "finite and > 0"),
    ("matrix", "loss.matrix", lambda t: change(t, (0, 1), 0.0), "finite and > 0"),
    ("matrix", "loss.matrix", lambda t: change(t, (0, 0), 1.0), "0 on its diagonal"),
    ("matrix", "loss.classes", lambda t: change(t, 0, 99), "nodes that are not there"),
    ("matrix", "loss.classes", lambda t: change(t, 0, t[1]), "one of them twice"),
]


@pytest.mark.parametrize(("which", "name", "damage", "message"), TENSOR_DAMAGE)
def test_one_tensor_that_does_not_fit(parts, tmp_path, which, name, damage, message):
    header, tensors = parts[which]
    refuse(tmp_path / "m", header, tensors | {name: damage(tensors[name])}, message)


@pytest.mark.parametrize("which", ["text", "costs", "matrix", "mapping"])
def test_any_tensor_that_is_missing_or_of_another_type_or_shape(parts, tmp_path, which):
    header, tensors = parts[which]
    for name, values in tensors.items():
        refuse(tmp_path / "m", header, {k: v for k, v in tensors.items() if k != name})
        refuse(tmp_path / "m", header, tensors | {name: values.astype(np.float16)})
        refuse(tmp_path / "m", header, tensors | {name: values.reshape(1, *values.shape)})
        refuse(tmp_path / "m", header, tensors | {name: np.array(1, dtype=values.dtype)})
        refuse(tmp_path / "m", header, tensors | {name: values[:0]} if name != "taxonomy.edges" else {})


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give the way to every field of a header."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from paths_of(item, (*path, key))


def put(header: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    out = copy.deepcopy(header)
    at: Any = out
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return out


def drop(header: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    out = copy.deepcopy(header)
    at: Any = out
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return out


FREE = ("summary",)  # for people to read: any object will do
OPTIONAL = {("features", name) for name in ("max_features", "hashing", "strip_accents", "norm")}


@pytest.mark.parametrize("which", ["text", "costs", "matrix", "mapping", "numbers"])
def test_any_field_that_is_missing_or_of_another_type(parts, tmp_path, which):
    header, tensors = parts[which]
    for path in paths_of(header):
        if path[0] == "format" or (path[0] == "summary" and len(path) > 1):
            continue
        if path[:2] == ("model", "history") and len(path) > 2 and path[2] > 0:
            continue  # all rows are alike
        now: Any = header
        for key in path:
            now = now[key]
        in_list = len(path) > 2 and path[1] in ("node_weight", "history")
        if path[0] not in ("kind", "version") and not (in_list and len(path) == 3):
            refuse(tmp_path / "m", drop(header, path), tensors)
        wrong: list[Any] = [{"x": 1}, [["x"]], [], True, "\x00nonsense", -1, 1e300, float("nan"), None]
        for value in wrong:
            if value == now or type(value) is type(now) is bool or (value is None and path in OPTIONAL):
                continue
            if path[0] in ("kind", "version") and not isinstance(value, str if path[0] == "kind" else int):
                continue  # cannot be written
            if _is_allowed(path, value):
                continue
            try:
                refuse(tmp_path / "m", put(header, path, value), tensors)
            except BaseException as error:
                raise AssertionError(f"{'.'.join(map(str, path))} = {value!r}") from error


def _is_allowed(path: tuple[Any, ...], value: Any) -> bool:
    """Whether a value is right though it is another one: texts for people, numbers within their range."""
    if path[0] in FREE:
        return isinstance(value, dict)
    if path[0] in ("pinakes", "written") or path == ("model", "solver"):
        return isinstance(value, str)
    number = isinstance(value, float | int) and not isinstance(value, bool)
    if path[0] == "temperature" or path in [("model", name) for name in ("C", "tol", "intercept_scaling")]:
        return number and value > 0
    if path[:2] == ("calibration", "slope") and len(path) == 4:
        return number and abs(value) <= 1e12
    if path == ("calibration", "least"):
        return number and 0 < value <= 1e12
    if path[:2] == ("model", "history") and len(path) == 4:
        return number and abs(value) < 1e301
    if path[:2] == ("model", "node_weight") and len(path) == 3:
        return number and value >= 0
    return path == ("features", "token_pattern") and isinstance(value, str)


def loads_or_is_refused(file: Path) -> None:
    """Load a file; what loads must also answer, and what does not must say which file it is."""
    try:
        model: Any = load(file)
    except ModelFileError as error:
        named = str(error).startswith(f"{file}: ")
    else:
        named = True
        bare = model.model if isinstance(model, Classifier) else model
        given = np.ones((2, bare.n_features_in_))
        asked = model if bare is model or model.features is None else bare
        assert len(asked.predict(given)) == 2
        if isinstance(model, Classifier) and model.features is not None:
            assert len(model.rank(["a cat", "zzz"])) == 2
    assert named


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.data(),
    value=st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(10**400), 10**400)
        | st.integers(-3, 3)
        | st.floats()
        | st.text(max_size=8)
        | st.sampled_from(["tree", "costs", "matrix", "flat", "text", "integer", "l1"]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=6,
    ),
)
def test_any_header_loads_or_is_refused(parts, tmp_path, data, value):
    which = data.draw(st.sampled_from(sorted(parts)))
    header, tensors = parts[which]
    path = data.draw(st.sampled_from([path for path in paths_of(header) if path[0] not in ("kind", "version")]))
    changed = drop(header, path) if data.draw(st.booleans()) else put(header, path, value)
    file = tmp_path / "m"
    write_bundle(file, changed, tensors)
    loads_or_is_refused(file)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_tensor_loads_or_is_refused(parts, tmp_path, data):
    which = data.draw(st.sampled_from(sorted(parts)))
    header, tensors = parts[which]
    name = data.draw(st.sampled_from(sorted(tensors)))
    values = tensors[name].copy()
    if values.size and data.draw(st.booleans()):
        place = data.draw(st.integers(0, values.size - 1))
        numbers = st.sampled_from([0, 1, 2, 3, 5, 8, 100, 127]) if values.dtype.kind == "u" else st.integers(-9, 99)
        values.reshape(-1)[place] = data.draw(numbers)
    else:
        values = values[data.draw(st.permutations(range(len(values))))]
    file = tmp_path / "m"
    write_bundle(file, header, tensors | {name: values})
    loads_or_is_refused(file)


def test_a_lattice_too_dense_for_memory(monkeypatch):
    rows = [[f"{level}{k}" for k in range(3)] for level in "abc"]
    edges = [(above, below) for k in (0, 1) for above in rows[k] for below in rows[k + 1]]
    assert len(Taxonomy.from_edges(edges).ancestors.indices) == 3 + 12 + 21
    monkeypatch.setattr(taxonomy_module, "MOST_ANCESTORS", 20)  # the levels alone sum to 18
    with pytest.raises(TaxonomyError, match=r"must be at most 20 together, got \d+ or more for 9 nodes"):
        Taxonomy.from_edges(edges).ancestors  # noqa: B018


def test_a_taxonomy_too_deep_for_memory(parts, tmp_path):
    header, tensors = parts["numbers"]
    n_nodes = 30_000
    ids = [str(k).encode() for k in range(n_nodes)]
    packed = np.frombuffer(b"".join(ids), dtype=np.uint8)
    offsets = np.cumsum([0, *map(len, ids)], dtype=np.int64)
    chain = np.column_stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)]).astype(np.int32)
    changed = {"taxonomy.ids": packed, "taxonomy.names": packed, "taxonomy.edges": chain}
    changed |= {"taxonomy.id_offsets": offsets, "taxonomy.name_offsets": offsets}
    refuse(tmp_path / "m", header, tensors | changed, "must be at most 200,000,000 together, got 450,015,000 or more")
