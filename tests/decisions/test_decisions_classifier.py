"""The classifier: documents in every form, rankings with confidences, and what is told of mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax

from pinakes.decisions import Classifier
from pinakes.documents import Corpus, TextFeatures
from pinakes.documents.document import Document
from pinakes.errors import ConvergenceWarning, DocumentError, ParameterError
from pinakes.models import TaxonomySVC
from pinakes.taxonomy import Taxonomy

LEAVES = ["animal/bird", "animal/cat", "animal/dog", "plant/herb", "plant/tree"]
TAXONOMY = Taxonomy.from_paths(LEAVES)


def vectors(n: int = 80, seed: int = 0) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % len(LEAVES)
    X = rng.random((n, 8)) * (rng.random((n, 8)) < 0.5)
    X[np.arange(n), y] += 1
    return sparse.csr_array(X), np.array(LEAVES)[y]


@pytest.fixture(scope="module")
def fitted() -> Classifier:
    return Classifier(TaxonomySVC(TAXONOMY)).fit(*vectors())


def test_confidence_without_calibration_is_a_softmax_of_all_scores(fitted):
    X, _ = vectors(seed=1)
    plain = Classifier(fitted.model, temperature=0.3)
    expected = softmax(fitted.decision_function(X).astype(np.float64) / 0.3, axis=1)
    for row, answers in zip(expected, plain.rank(X, top=5), strict=True):
        by_label = {answer.label: answer.confidence for answer in answers}
        np.testing.assert_allclose([by_label[label] for label in LEAVES], row, rtol=1e-5, atol=1e-10)


@pytest.mark.parametrize("top", [1, 2, 3, 5, 50])
def test_confidences_fall_along_the_ranking_and_are_shares_of_one(fitted, top):
    X, _ = vectors(seed=2)
    scores = fitted.decision_function(X)
    best = fitted.predict(X)
    for i, answers in enumerate(fitted.rank(X, top=top)):
        assert len(answers) == min(top, 5)
        sure = [answer.confidence for answer in answers]
        assert sure == sorted(sure, reverse=True)
        assert sure[0] > 0
        assert sum(sure) <= 1 + 1e-9
        assert answers[0].label == best[i]
        assert [answer.score for answer in answers] == sorted(scores[i].tolist(), reverse=True)[:top]
        assert answers[0].path == answers[0].label.split("/")
        assert answers[0].name == answers[0].label.split("/")[1]


def test_the_second_model_does_not_warn():
    X, y = vectors()
    model = TaxonomySVC(TAXONOMY, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=1") as warned:
        Classifier(model).fit(X, y)
    assert len(warned) == 1


def test_two_classes():
    X, y = vectors()
    few = np.isin(y, ["animal/cat", "plant/tree"])
    classifier = Classifier(TaxonomySVC(TAXONOMY)).fit(X[few], y[few])
    scores = classifier.decision_function(X)
    assert scores.shape == (80, 2)
    assert (classifier.model.classes_[scores.argmax(axis=1)] == classifier.predict(X)).all()
    for answers in classifier.rank(X, top=2):
        assert sum(answer.confidence for answer in answers) == pytest.approx(1)


def test_texts_in_every_form():
    texts = ["purring cat", "barking dog", "old oak", "purring kitten", "dog on a leash", "oak leaf"]
    labels = ["animal/cat", "animal/dog", "plant/tree"] * 2
    classifier = Classifier(TaxonomySVC(TAXONOMY), TextFeatures(min_df=1)).fit(texts, labels)
    corpus = Corpus.from_documents(Document(str(i), text) for i, text in enumerate(texts))
    for given_texts in (texts, tuple(texts), np.array(texts), np.array(texts, dtype=object), corpus):
        assert classifier.predict(given_texts).tolist() == labels
    assert classifier.kind == "text"
    nothing = classifier.rank(["zzz"], top=3)[0]
    assert [answer.confidence for answer in nothing] == pytest.approx([1 / 3] * 3)
    assert classifier.rank([], top=3) == []
    with pytest.raises(DocumentError, match=r"expected a list of texts, got one text; put it into a list: \[text\]"):
        classifier.rank("a purring cat")
    for wrong in (vectors()[0], [1, 2], [["a"]]):
        with pytest.raises(DocumentError, match="this model takes texts, got vectors"):
            classifier.rank(wrong)


def test_vectors_in_every_form(fitted):
    X, _ = vectors()
    expected = fitted.predict(X).tolist()
    for given_vectors in (X, X.toarray(), X.tocsc(), X.toarray().tolist(), X.astype(np.float32)):
        assert fitted.predict(given_vectors).tolist() == expected
    assert fitted.kind == "vectors"
    for wrong in ("a text", ["a text"], np.array(["a", "b"])):
        with pytest.raises(DocumentError, match="this model takes vectors, got texts"):
            fitted.rank(wrong)
    corpus = Corpus.from_documents([Document("a", "a text", source="x.jsonl", line=1)])
    with pytest.raises(DocumentError, match=r"^x\.jsonl: this model takes vectors, got texts"):
        fitted.rank(corpus)


@pytest.mark.parametrize("top", [0, -1, 1.5, True, "3"])
def test_how_many_answers(fitted, top):
    with pytest.raises(ParameterError, match="`top` must be a whole number >= 1"):
        fitted.rank(vectors()[0], top=top)


def test_texts_may_come_in_any_sequence():
    classifier = Classifier(TaxonomySVC(), TextFeatures(min_df=1)).fit(["a cat", "a dog"], ["cat", "dog"])
    for texts in (["my cat"], ("my cat",), np.array(["my cat"]), np.array(["my cat"], dtype=object)):
        assert classifier.predict(texts).tolist() == ["cat"]
