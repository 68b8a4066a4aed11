"""Kept training documents in model files: they come back as they were, and what does not fit is refused."""

from __future__ import annotations

import numpy as np
import pytest

from pinakes import TaxonomySVC, load, save
from pinakes.decisions import Classifier, KeptDocuments
from pinakes.documents import TextFeatures
from pinakes.errors import ModelFileError, ParameterError
from pinakes.explain import explain
from pinakes.storage.bundle import read_bundle, write_bundle

TEXTS = ["it purrs", "it barks", "it grows\nand\tgrows " * 20] * 3
LABELS = ["cat", "dog", "tree"] * 3


def make():
    made = Classifier(TaxonomySVC(tol=1e-6), TextFeatures(min_df=1)).fit(TEXTS, LABELS)
    ids = [f"näin {i}" for i in range(9)]
    made.documents = KeptDocuments.of(made.model, made.vectors(TEXTS), LABELS, ids, TEXTS)
    return made


def test_documents_come_back(tmp_path):
    made, file = make(), tmp_path / "m.pinakes"
    save(made, file)
    again = load(file)
    assert isinstance(again, Classifier)
    kept, before = again.documents, made.documents
    assert (kept.ids, kept.titles) == (before.ids, before.titles)
    assert kept.titles[kept.classes.tolist().index(2)].startswith("it grows and grows it")
    longest = max(kept.titles, key=len)
    assert 70 < len(longest) <= 80
    assert longest.endswith("…")
    np.testing.assert_array_equal(kept.classes, before.classes)
    np.testing.assert_allclose(kept.X.toarray(), before.X.toarray())
    np.testing.assert_allclose(kept.alpha.toarray(), before.alpha.toarray(), rtol=1e-6)
    two = [explain(model, ["what purrs"], n_documents=9)[0].to_dict() for model in (made, again)]
    assert two[0]["documents"] == [
        {name: pytest.approx(v, abs=1e-5) if isinstance(v, float) else v for name, v in part.items()}
        for part in two[1]["documents"]
    ]
    made.documents = None
    save(made, tmp_path / "without.pinakes")
    assert load(tmp_path / "without.pinakes").documents is None
    grown = file.stat().st_size - (tmp_path / "without.pinakes").stat().st_size
    assert grown == pytest.approx(before.nbytes, rel=0.5, abs=1500), "the size that is told is about what it takes"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"documents.classes": np.full(9, 3, dtype=np.int32)}, "kept documents have labels that are no classes"),
        ({"documents.classes": np.zeros(2, dtype=np.int32)}, "'documents.ids_offsets' must be of shape 3"),
        ({"documents.X.indices": None}, "tensor 'documents.X.indices' is missing"),
        ({"documents.alpha.data": np.zeros(1, dtype=np.float32)}, "matrix 'documents.alpha' promises"),
        ({"documents.X.data": np.zeros(3)}, "'documents.X.data' must be of type float32, got float64"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, change, message):
    file = tmp_path / "m.pinakes"
    save(make(), file)
    header, tensors = read_bundle(file, kind="classifier", newest=9)
    n = len(tensors["documents.classes"])
    tensors = {name: values for name, values in (tensors | change).items() if values is not None}
    if change.get("documents.classes") is not None and len(change["documents.classes"]) == 9:
        tensors["documents.classes"] = tensors["documents.classes"][:n]
    write_bundle(file, header, tensors)
    with pytest.raises(ModelFileError, match=message):
        load(file)


def test_documents_of_another_fit_are_refused():
    made = make()
    with pytest.raises(ParameterError, match="must be the 9 documents that the model was fitted on, got 2 and 2"):
        KeptDocuments.of(made.model, made.vectors(TEXTS[:2]), LABELS[:2])
    with pytest.raises(ParameterError, match="TextFeatures has no dual variables, and so no documents to keep"):
        KeptDocuments.of(made.features, made.vectors(TEXTS), LABELS)
