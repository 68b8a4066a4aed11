"""Text features against scikit-learn's, by the formula, and through the state that is stored."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from pinakes.documents import Corpus, TextFeatures
from pinakes.errors import DocumentError, ModelFileError, ParameterError

TEXTS = [
    "The cat sat on the mat; the cat_1 purred.",
    "A dog, a cat & a K\u212a dog's dog: 42 dogs!",
    "Ärger über Straßen — the ÄRGER!",
    "",
    "東京 the 東京 a\tb\x1cb\u00a0b",
    "e\u0301tude étude etude ETUDE",
]
alphabet = st.sampled_from(list("aAbBzZ019_ .,-'\n\täÄßİ東\u0301\u212a\x1c\u00a0"))
corpora_of_texts = st.lists(st.text(alphabet, max_size=30), min_size=1, max_size=8)

SETTINGS = [
    {},
    {"min_df": 1},
    {"ngrams": (1, 2), "min_df": 1},
    {"ngrams": (2, 3), "min_df": 1},
    {"min_df": 0.3, "max_df": 0.5},
    {"max_df": 2, "min_df": 1},
    {"sublinear_tf": False, "norm": "l1"},
    {"norm": None, "lowercase": False, "min_df": 1},
    {"strip_accents": "unicode", "min_df": 1},
    {"strip_accents": "ascii", "min_df": 1},
    {"token_pattern": r"(?u)\b\w\w+\b", "min_df": 1},
    {"token_pattern": r"(\w)\w*", "min_df": 1},
]


def peer(settings: dict) -> TfidfVectorizer:
    mine = TextFeatures(**settings).get_params()
    mine["ngram_range"] = mine.pop("ngrams")
    del mine["hashing"]
    return TfidfVectorizer(**mine, dtype=np.float32)


def check_form(X) -> None:
    assert (X.format, X.dtype, X.indices.dtype, X.indptr.dtype) == ("csr", np.float32, np.int32, np.int32)
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        assert (np.diff(X.indices[start:end]) > 0).all()


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_features_are_those_of_scikit_learn(settings: dict) -> None:
    features, other = TextFeatures(**settings), peer(settings)
    X, Y = features.fit_transform(iter(TEXTS)), other.fit_transform(TEXTS)
    check_form(X)
    assert features.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    np.testing.assert_allclose(X.toarray(), Y.toarray(), rtol=1e-5)
    np.testing.assert_allclose(features.idf_, other.idf_, rtol=1e-6)
    new = ["the cat and unknown words", "", *TEXTS[::-1]]
    np.testing.assert_allclose(features.transform(iter(new)).toarray(), other.transform(new).toarray(), rtol=1e-5)
    again = TextFeatures(**settings).fit(TEXTS).transform(TEXTS)
    np.testing.assert_array_equal(again.toarray(), X.toarray())


@given(texts=corpora_of_texts, new=corpora_of_texts, settings=st.sampled_from(SETTINGS[:4]))
def test_features_are_those_of_scikit_learn_on_any_text(texts: list, new: list, settings: dict) -> None:
    features, other = TextFeatures(**settings), peer(settings)
    try:
        Y = other.fit_transform(texts)
    except ValueError:
        with pytest.raises((DocumentError, ParameterError)):
            features.fit(texts)
        return
    np.testing.assert_allclose(features.fit_transform(texts).toarray(), Y.toarray(), rtol=1e-5)
    assert list(features.vocabulary_) == other.get_feature_names_out().tolist()
    np.testing.assert_allclose(features.transform(new).toarray(), other.transform(new).toarray(), rtol=1e-5)


def test_the_formula() -> None:
    X = TextFeatures(min_df=1, norm=None).fit_transform(["a a a b", "b c"]).toarray()
    assert X[0, 0] == pytest.approx((1 + math.log(3)) * (1 + math.log(3 / 2)))
    assert X[0, 1] == X[1, 1] == 1.0


def test_max_features_keeps_the_most_frequent_terms() -> None:
    texts = ["d d d d c c c", "b b a", "c a b"]
    features = TextFeatures(min_df=1, max_features=2).fit(texts)
    counts = CountVectorizer(token_pattern=r"\w+").fit(texts)
    totals = counts.transform(texts).sum(axis=0).A1
    best = sorted(np.argsort(-totals, kind="stable")[:2])
    assert list(features.vocabulary_) == [counts.get_feature_names_out()[j] for j in best] == ["c", "d"]
    assert features.transform(texts).shape == (3, 2)


def test_many_blocks_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = TextFeatures(min_df=1).fit_transform(TEXTS * 5)
    monkeypatch.setattr("pinakes.documents.tokens.BLOCK", 7)
    features = TextFeatures(min_df=1)
    X = features.fit_transform(TEXTS * 5)
    np.testing.assert_array_equal(X.toarray(), expected.toarray())
    np.testing.assert_array_equal(features.transform(TEXTS * 5).toarray(), expected.toarray())


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_hashing_is_that_of_scikit_learn(monkeypatch: pytest.MonkeyPatch, ngrams: tuple[int, int]) -> None:
    monkeypatch.setattr("pinakes.documents.tokens.CACHE", 4)
    features = TextFeatures(hashing=64, ngrams=ngrams, norm=None, sublinear_tf=False)
    X = features.fit_transform(TEXTS)
    check_form(X)
    settings = {"token_pattern": r"\w+", "alternate_sign": False, "norm": None, "ngram_range": ngrams}
    counts = HashingVectorizer(n_features=64, **settings).transform(TEXTS).toarray()
    df = (counts > 0).sum(axis=0)
    idf = 1 + np.log((1 + len(TEXTS)) / (1 + df))
    np.testing.assert_allclose(X.toarray(), counts * idf, rtol=1e-5)
    np.testing.assert_array_equal(features.transform(TEXTS).toarray(), X.toarray())
    assert features.get_feature_names_out()[[0, 63]].tolist() == ["bucket0", "bucket63"]


def test_it_is_a_scikit_learn_transformer() -> None:
    features = TextFeatures(min_df=1, ngrams=(1, 2))
    assert clone(features).get_params() == features.get_params()
    assert make_pipeline(features, MaxAbsScaler()).fit_transform(TEXTS).shape[0] == len(TEXTS)
    assert TextFeatures(hashing=8).fit(TEXTS).set_params(hashing=None).fit(TEXTS).vocabulary_


# -- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ngrams": (2, 1)}, r"`ngrams` of TextFeatures must be a pair .*, got \(2, 1\)"),
        ({"ngrams": 2}, "`ngrams` of TextFeatures must be a pair .*, got 2"),
        ({"ngrams": (0, 1)}, r"`ngrams` of TextFeatures must be .*, got \(0, 1\)"),
        ({"min_df": 0}, "`min_df` of TextFeatures must be a whole number >= 1 or a share .*, got 0"),
        ({"min_df": 1.5}, "`min_df` of TextFeatures must be .*, got 1.5"),
        ({"max_df": True}, "`max_df` of TextFeatures must be .*, got True"),
        ({"max_df": 1}, "`min_df` of TextFeatures must be at most `max_df`, got 2 documents where at most 1 of 6"),
        ({"max_features": 0}, "`max_features` of TextFeatures must be None or a whole number .*, got 0"),
        ({"hashing": 2.0}, "`hashing` of TextFeatures must be None or a whole number .*, got 2.0"),
        ({"hashing": 2**31}, "`hashing` of TextFeatures must be"),
        ({"lowercase": 1}, "`lowercase` of TextFeatures must be True or False, got 1"),
        ({"strip_accents": "yes"}, "`strip_accents` of TextFeatures must be one of .*, got 'yes'"),
        ({"norm": "max"}, "`norm` of TextFeatures must be one of .*, got 'max'"),
        ({"token_pattern": "("}, r"`token_pattern` of TextFeatures must be a regular expression, got '\(' "),
        ({"token_pattern": "(a)(b)"}, "`token_pattern` of TextFeatures must be .* at most one group"),
        ({"token_pattern": None}, "`token_pattern` of TextFeatures must be .*, got None"),
    ],
)
def test_settings_out_of_range(settings: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TextFeatures(**settings).fit(TEXTS)


@pytest.mark.parametrize(
    ("texts", "settings", "message"),
    [
        ([], {}, "texts must hold at least one document, got none"),
        (["", "…!"], {}, r"there are no words in the 2 documents: nothing matches token_pattern='\\\\w\+'"),
        (["a"], {"ngrams": (2, 2)}, "no document is as long as `ngrams`"),
        (
            ["a b", "c"],
            {},
            r"none of the 3 terms stands in 2 or more of the 2 documents \(min_df=2\); set min_df=1",
        ),
        (
            ["a", "a", "a b"],
            {"max_df": 2},
            r"none of the 2 terms stands in 2 to 2 of the 3 documents .* raise max_df",
        ),
        (["a", None], {}, r"texts must be strings, got NoneType as number 1 \(from 0\)"),
        ([b"a"], {}, "texts must be strings, got bytes as number 0"),
        ([3], {"lowercase": False, "token_pattern": "."}, "texts must be strings, got int"),
        ("a text", {}, r"texts must be a list of strings, got one str; put it into a list"),
    ],
)
def test_texts_that_cannot_be_used(texts, settings: dict, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        TextFeatures(**settings).fit(texts)


def test_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    features = TextFeatures().fit(TEXTS)
    monkeypatch.setattr("pinakes.documents.features.MAX_NONZEROS", 3)
    with pytest.raises(DocumentError, match=r"at most 3 nonzero values, got .*; transform fewer documents"):
        features.transform(TEXTS)


# -- state -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [*SETTINGS, {"hashing": 32}, {"min_df": np.int64(1)}], ids=str)
def test_state_comes_back_bit_by_bit(settings: dict) -> None:
    features = TextFeatures(**settings).fit(TEXTS)
    stored, tensors = features.to_state()
    again = TextFeatures.from_state(json.loads(json.dumps(stored)), {k: v.copy() for k, v in tensors.items()})
    assert again.get_params() == features.get_params()
    assert again.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()
    X, Y = features.transform(TEXTS), again.transform(TEXTS)
    assert X.data.tobytes() == Y.data.tobytes()
    assert X.indices.tobytes() == Y.indices.tobytes()
    assert all(tensor.ndim == 1 for tensor in tensors.values())


def damaged(**changes: object):
    """Give a function that applies changes to settings and tensors; None removes."""

    def apply(settings: dict, tensors: dict) -> None:
        for name, value in changes.items():
            target = tensors if name in ("idf", "vocabulary", "offsets", "more") else settings
            target.pop(name, None)
            if value is not None:
                target[name] = value

    return apply


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (damaged(norm="max"), "a setting out of range: `norm` of TextFeatures must be"),
        (damaged(ngrams="12"), "a setting out of range: `ngrams`"),
        (damaged(newer=1), r"must have the settings .*, got too many or too few: \['newer'\]"),
        (damaged(min_df=None), r"too many or too few: \['min_df'\]"),
        (
            damaged(idf=None),
            r"must have the arrays \['idf', 'offsets', 'vocabulary'\], got \['offsets', 'voc",
        ),
        (damaged(more=np.zeros(1)), r"got \['idf', 'more', "),
        (damaged(hashing=8), r"must have the arrays \['idf'\]"),
        (
            damaged(idf=np.ones(3)),
            "array `idf` of the text features must be one row of float32, got float64 of",
        ),
        (damaged(idf=np.ones((2, 1), np.float32)), r"got float32 of shape \(2, 1\)"),
        (damaged(idf=np.ones(3, np.float32)), "need one weight a term, got 3 for 2"),
        (damaged(idf=np.array([1, np.nan], np.float32)), "must be finite, got NaN or infinity in `idf`"),
        (damaged(offsets=np.array([0, 1, 3])), "must rise from 0 to the end of the vocabulary"),
        (damaged(offsets=np.array([0, 2, 2])), "must rise from 0"),
        (damaged(offsets=np.array([1, 2])), "must rise from 0"),
        (damaged(offsets=np.array([], dtype=np.int64)), "must rise from 0"),
        (damaged(vocabulary=np.array([97, 97], np.uint8)), "must be unique, got 1 of them twice"),
        (damaged(vocabulary=np.array([97, 0xE4], np.uint8)), "must be UTF-8, got bytes that are none"),
    ],
)
def test_damaged_state(change, message: str) -> None:
    settings, tensors = TextFeatures().fit(["a b", "a b"]).to_state()
    assert tensors["offsets"].tolist() == [0, 1, 2]
    change(settings, tensors)
    with pytest.raises(ModelFileError, match=message):
        TextFeatures.from_state(settings, tensors)


def test_terms_that_are_no_text() -> None:
    features = TextFeatures(min_df=1, token_pattern=".").fit(["\ud800"])
    with pytest.raises(DocumentError, match=r"terms must be whole characters to be stored"):
        features.to_state()


@pytest.mark.corpus
def test_news20_features_are_those_of_scikit_learn(corpora: Path) -> None:
    texts = Corpus.read(corpora / "news20" / "test.jsonl.xz").texts
    assert texts is not None
    texts = texts[:1500]
    features, other = TextFeatures(), peer({})
    X, Y = features.fit_transform(texts), other.fit_transform(texts)
    Y.sort_indices()
    assert list(features.vocabulary_) == other.get_feature_names_out().tolist()
    np.testing.assert_array_equal(X.indptr, Y.indptr)
    np.testing.assert_array_equal(X.indices, Y.indices)
    np.testing.assert_allclose(X.data, Y.data, rtol=1e-5)
