"""Perceptrons and StructuredSVC through model files: the same answers afterwards, and damage that is told."""

from __future__ import annotations

import numpy as np
import pytest

from pinakes import HardPerceptron, StochasticPerceptron, StructuredSVC, Taxonomy, TaxonomySVC, load, save
from pinakes.errors import ModelFileError, ParameterError
from pinakes.storage.bundle import read_bundle, write_bundle
from pinakes.storage.model import KIND, VERSION
from pinakes.taxonomy.loss import NodeCosts

TREE = Taxonomy.from_edges([("", "a"), ("a", "a1"), ("a", "a2"), ("", "b"), ("", "never")])
X = np.array([[1.0, 0, 0, 0.2], [0, 1.0, 0, 0.1], [0, 0, 1.0, 0], [1.0, 0, 1.0, 0]])
LABELS = {
    "single": ["a1", "a2", "b", "a"],
    "lists": [["a1"], ["a2"], ["b"], ["a1", "b"]],
    "indicator": np.array([[1, 0, 1, 0, 0], [1, 0, 0, 1, 0], [0, 1, 0, 0, 0], [1, 1, 1, 0, 0]]),
}


@pytest.mark.parametrize("form", list(LABELS))
@pytest.mark.parametrize("estimator", [HardPerceptron, StochasticPerceptron, StructuredSVC])
def test_a_model_comes_back_as_it_was(estimator, form, tmp_path):
    classes = {"classes": TREE.ids} if form == "indicator" else {}
    model = estimator(TREE, max_iter=200).fit(X, LABELS[form], **classes)
    save(model, tmp_path / "m.pinakes")
    again = load(tmp_path / "m.pinakes")
    assert type(again) is estimator
    np.testing.assert_array_equal(np.array(again.predict(X), dtype=object), np.array(model.predict(X), dtype=object))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.history_ == model.history_
    assert (again.form_, again.n_iter_, again.stopped_) == (form, model.n_iter_, model.stopped_)
    assert again.max_iter == 200
    assert again.taxonomy_ == TREE


def test_what_cannot_be_stored_is_said(tmp_path):
    curved = StochasticPerceptron(TREE, kernel="rbf").fit(X, LABELS["lists"])
    with pytest.raises(ParameterError, match="a model with the kernel 'rbf' cannot be stored, only a linear one"):
        save(curved, tmp_path / "m.pinakes")
    costs = StructuredSVC(TREE, loss=NodeCosts(c=2.0)).fit(X, LABELS["lists"])
    with pytest.raises(ParameterError, match="a model with `loss` given as an object cannot be stored"):
        save(costs, tmp_path / "m.pinakes")


def test_a_taxonomy_svc_is_still_written_as_version_1(tmp_path):
    save(TaxonomySVC(TREE).fit(X, LABELS["single"]), tmp_path / "m.pinakes")
    header, _ = read_bundle(tmp_path / "m.pinakes", kind=KIND, newest=VERSION)
    assert header["version"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, t: h.__setitem__("estimator", "Oracle"), "field 'estimator' must be one of"),
        (lambda h, t: h["model"]["settings"].pop("kernel"), "the settings are not those of StochasticPerceptron"),
        (lambda h, t: h["model"].__setitem__("form", "heap"), "field 'model.form' must be one of"),
        (lambda h, t: h["model"].pop("ancestors"), "field 'model.ancestors' is missing"),
        (lambda h, t: t.__setitem__("nodes", np.array([1, 3], dtype=np.int32)), "not closed upward"),
        (lambda h, t: t.__setitem__("nodes", np.array([99], dtype=np.int32)), "must be nodes at or above a class"),
        (lambda h, t: t.__setitem__("nodes", np.array([], dtype=np.int32)), "must be nodes at or above a class"),
        (lambda h, t: t.__setitem__("classes", np.array([0, 0], dtype=np.int32)), "must be different nodes"),
        (lambda h, t: t.__setitem__("weights.data", t["weights.data"] * np.nan), "weights"),
        (lambda h, t: t.pop("weights.indptr"), "weights.indptr"),
    ],
)
def test_damage_is_told(change, message, tmp_path):
    path = tmp_path / "m.pinakes"
    save(StochasticPerceptron(TREE, max_iter=100).fit(X, LABELS["lists"]), path)
    header, tensors = read_bundle(path, kind=KIND, newest=VERSION)
    header, tensors = dict(header), dict(tensors)
    change(header, tensors)
    write_bundle(path, header, tensors)
    with pytest.raises(ModelFileError, match=message):
        load(path)
