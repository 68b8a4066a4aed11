"""Calibration and coverage in model files: they come back bit by bit, old files have none, damage is told."""

from __future__ import annotations

import numpy as np
import pytest

from pinakes import StochasticPerceptron, TaxonomySVC, load, save
from pinakes.datasets import make_synthetic
from pinakes.decisions import Classifier
from pinakes.errors import ModelFileError
from pinakes.storage.bundle import read_bundle, write_bundle
from pinakes.storage.model import KIND, VERSION


@pytest.fixture(scope="module")
def data():
    return make_synthetic(n_children=2, depth=2, n_samples=300, random_state=0)


@pytest.fixture(scope="module", params=["one label", "label sets"])
def classifier(request, data):
    X, y, taxonomy = data
    if request.param == "one label":
        return Classifier(TaxonomySVC(taxonomy)).fit(X, y)
    return Classifier(StochasticPerceptron(taxonomy, max_iter=500)).fit(X, [[k] for k in y])


def test_what_was_calibrated_comes_back(classifier, data, tmp_path):
    X = data[0][:20]
    save(classifier, tmp_path / "m.pinakes")
    header, _ = read_bundle(tmp_path / "m.pinakes", kind=KIND, newest=VERSION)
    assert header["version"] == 3
    back = load(tmp_path / "m.pinakes")
    # dense documents are scored by matrix products, sparse rows after loading: the last digits differ
    np.testing.assert_allclose(back.probabilities(X), classifier.probabilities(X), rtol=1e-4, atol=1e-6)
    for name in ("node", "sets"):
        assert getattr(back.coverage, name).tobytes() == getattr(classifier.coverage, name).tobytes()
    for name in ("knots", "slope", "least", "coefficients"):
        if hasattr(classifier.calibration, name):
            np.testing.assert_array_equal(getattr(back.calibration, name), getattr(classifier.calibration, name))


def test_a_file_without_calibration_is_of_an_older_version(data, tmp_path):
    X, y, taxonomy = data
    plain = Classifier(TaxonomySVC(taxonomy).fit(X, y), temperature=0.3)
    save(plain, tmp_path / "m.pinakes")
    header, _ = read_bundle(tmp_path / "m.pinakes", kind=KIND, newest=VERSION)
    assert header["version"] == 1
    back = load(tmp_path / "m.pinakes")
    assert (back.calibration, back.coverage) == (None, None)
    sure = [[[answer.confidence for answer in few] for few in c.rank(X[:5])] for c in (plain, back)]
    np.testing.assert_allclose(*sure, rtol=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, t: h["calibration"].__setitem__("kind", "sets"), "is not one of this kind of labels"),
        (lambda h, t: h["calibration"].__setitem__("slope", [[1.0, 2.0, 1e20]]), "slope must be at most 1e.12"),
        (lambda h, t: h["calibration"].__setitem__("least", 0.0), "field 'calibration.least' must be above 0"),
        (lambda h, t: t["calibration.knots"].__setitem__((1, -1), 0.5), "must rise from 0 to 1"),
        (lambda h, t: t.__setitem__("coverage.sets", t["coverage.sets"][:-1]), "coverage has 60 and 59 documents"),
        (lambda h, t: t.__setitem__("coverage.node", t["coverage.node"][::-1] - 1), "must ascend from 0 to 1"),
        (lambda h, t: t.pop("coverage.node"), "tensor 'coverage.node' is missing"),
    ],
)
def test_damage_is_told(data, tmp_path, change, message):
    X, y, taxonomy = data
    save(Classifier(TaxonomySVC(taxonomy)).fit(X, y), tmp_path / "m.pinakes")
    header, tensors = read_bundle(tmp_path / "m.pinakes", kind=KIND, newest=VERSION)
    tensors = {name: np.array(values) for name, values in tensors.items()}
    change(header, tensors)
    write_bundle(tmp_path / "m.pinakes", {k: v for k, v in header.items() if k not in ("format", "checksum")}, tensors)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m.pinakes")
