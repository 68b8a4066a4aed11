"""Models of label sets through model files: the same answers afterwards, and damage that is told."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from pinakes import CoupledSVC, MinOverPerceptron, Taxonomy, TaxonomyRankSVC, load, save
from pinakes.errors import ModelFileError, ParameterError
from pinakes.storage.bundle import read_bundle, write_bundle
from pinakes.storage.model import KIND, VERSION
from pinakes.taxonomy.loss import NodeCosts

LATTICE = Taxonomy.from_edges(
    [("", "a"), ("a", "a1"), ("a", "a2"), ("", "b"), ("b", "b1"), ("b", "a2"), ("a2", "deep"), ("", "never")]
)
RNG = np.random.default_rng(0)
LEAVES = ["a1", "deep", "b1", "a2"]
SETS = [sorted(RNG.choice(LEAVES, RNG.integers(1, 3), replace=False).tolist()) for _ in range(40)]
NOISE = RNG.standard_normal((40, 8))
DENSE = np.hstack([[[float(k in few) for k in LEAVES] for few in SETS], np.zeros((40, 4))]) + 0.2 * NOISE
X = sparse.csr_array(np.where(DENSE > 0.3, DENSE, 0.0))
LABELS = {
    "single": [few[0] for few in SETS],
    "lists": SETS,
    "indicator": np.array([[int(node in few) for node in LATTICE.ids] for few in SETS]),
}
ESTIMATORS = [TaxonomyRankSVC, CoupledSVC, MinOverPerceptron]


def fit(estimator, y, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator(LATTICE, **settings).fit(X, y)


def same(a, b):
    assert [list(map(str, np.atleast_1d(few))) for few in a] == [list(map(str, np.atleast_1d(few))) for few in b]


@pytest.mark.parametrize("form", list(LABELS))
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_a_model_comes_back_as_it_was(estimator, form, tmp_path):
    model = fit(estimator, LABELS[form], closed=form == "lists")
    save(model, tmp_path / "m.pinakes")
    again = load(tmp_path / "m.pinakes")
    assert type(again) is estimator
    same(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.rank(X, 2, 1.0).confidences, model.rank(X, 2, 1.0).confidences)
    assert again.history_ == model.history_
    assert (again.form_, again.n_iter_, again.stopped_) == (form, model.n_iter_, model.stopped_)
    assert again.taxonomy_ == LATTICE
    stored = set(model.get_params()) - {"taxonomy"}
    assert {name: getattr(again, name) for name in stored} == {name: getattr(model, name) for name in stored}


def test_a_model_of_dense_documents_answers_alike(tmp_path):
    model = TaxonomyRankSVC(LATTICE).fit(DENSE, SETS)
    save(model, tmp_path / "m.pinakes")
    np.testing.assert_allclose(
        load(tmp_path / "m.pinakes").decision_function(DENSE), model.decision_function(DENSE), 1e-5
    )


@pytest.mark.parametrize("cut", ["micro-f1", "macro-f1", 2, 0.25])
def test_every_cut_comes_back(cut, tmp_path):
    model = fit(TaxonomyRankSVC, SETS, cut=cut)
    save(model, tmp_path / "m.pinakes")
    again = load(tmp_path / "m.pinakes")
    assert again.cut == cut
    assert type(again.cut) is type(cut)
    same(again.predict(X), model.predict(X))


def test_losses_and_weights_of_nodes_come_back(tmp_path):
    weights = {node: 1.0 + k for k, node in enumerate(LATTICE.ids)}
    model = fit(TaxonomyRankSVC, SETS, loss=NodeCosts(c=2.0), node_weight=weights)
    save(model, tmp_path / "m.pinakes")
    again = load(tmp_path / "m.pinakes")
    assert again.node_weight == weights
    same(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again._loss.miss, model._loss.miss)


@pytest.mark.parametrize("targets", ["categories", "nodes"])
def test_coupled_problems_come_back(targets, tmp_path):
    model = fit(CoupledSVC, SETS, targets=targets, intercept_scaling=2.0, loss="hinge")
    save(model, tmp_path / "m.pinakes")
    again = load(tmp_path / "m.pinakes")
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_what_cannot_be_stored_is_said(tmp_path):
    curved = fit(TaxonomyRankSVC, SETS, kernel="rbf")
    with pytest.raises(ParameterError, match="a model with the kernel 'rbf' cannot be stored, only one that is linear"):
        save(curved, tmp_path / "m.pinakes")
    given = fit(TaxonomyRankSVC, SETS, class_attributes=np.eye(4))
    with pytest.raises(ParameterError, match="a model with `class_attributes` given as an object cannot be stored"):
        save(given, tmp_path / "m.pinakes")
    assert not (tmp_path / "m.pinakes").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, t: h["model"]["settings"].pop("slack"), "the settings are not those of TaxonomyRankSVC"),
        (lambda h, t: h["model"].__setitem__("form", "heap"), "field 'model.form' must be one of"),
        (lambda h, t: h["model"].__setitem__("top", -1), "field 'model.top' must be at least 0"),
        (lambda h, t: h["model"].pop("never_empty"), "field 'model.never_empty' is missing"),
        (lambda h, t: h["model"].__setitem__("history", []), "field 'model.history' must not be empty"),
        (lambda h, t: t.__setitem__("cut.coef", np.zeros(3)), "the cut has 1 offsets and 3 coefficients for 4 classes"),
        (lambda h, t: t.__setitem__("cut.offset", np.array([np.nan])), "the cut has values that are no numbers"),
        (lambda h, t: t.pop("cut.offset"), "tensor 'cut.offset' is missing"),
        (lambda h, t: t.__setitem__("classes", t["classes"] + 99), "the classes must be different nodes"),
        (lambda h, t: t.__setitem__("label.columns", t["label.columns"][:2]), "a class is not among the columns"),
        (lambda h, t: t.__setitem__("label.columns", t["label.columns"] - 9), "the columns of labels must be nodes"),
    ],
)
def test_damage_is_told(change, message, tmp_path):
    save(fit(TaxonomyRankSVC, LABELS["indicator"]), tmp_path / "m.pinakes")
    header, tensors = read_bundle(tmp_path / "m.pinakes", kind=KIND, newest=VERSION)
    change(header, tensors)
    write_bundle(tmp_path / "m.pinakes", header, tensors)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m.pinakes")
