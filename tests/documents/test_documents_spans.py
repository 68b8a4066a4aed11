"""Places of terms: the terms are those that are counted, and each place holds what the term was made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.documents import TextFeatures
from pinakes.documents.spans import find_words, locate
from pinakes.documents.tokens import make_tokenizer

# signs whose small letter is longer, whose accent stands apart, that fall apart, or that vanish
ODD = st.text("İΣσςa éÉﬁßẞ b\u0301Ǆ_9.狗½", max_size=20)


@given(
    st.one_of(st.text(max_size=20), ODD),
    st.booleans(),
    st.sampled_from([None, "unicode", "ascii"]),
    st.sampled_from([r"\w+", r"(\w)\w*", r"a|(b)", r"[^ ]+"]),
)
def test_words_are_those_that_are_counted(text, lowercase, strip, pattern):
    found = find_words(text, pattern, lowercase, strip)
    assert [word for word, _, _ in found] == make_tokenizer(pattern, lowercase, strip, (1, 1))(text)
    end = 0
    for _, start, stop in found:
        assert 0 <= start <= stop <= len(text)
        assert stop >= end
        end = stop


@given(ODD)
def test_a_place_holds_what_the_word_was_made_of(text):
    lower = make_tokenizer(r"\w+", True, None, (1, 1))
    for word, start, stop in find_words(text, r"\w+", True, None):
        if "Σ" not in text:  # its small letter depends on what stands next to it
            assert lower(text[start:stop]) == [word]


@pytest.mark.parametrize(("low", "high"), [(1, 1), (1, 3), (2, 2)])
@given(st.text("ab .", max_size=15))
def test_runs_of_words_are_those_that_are_counted(low, high, text):
    features = TextFeatures(ngrams=(low, high), min_df=1).fit(["a b ab a b ba"])
    located = locate(features, text)
    assert sorted(term.term for term in located.terms) == sorted(features._tokenizer()(text))
    counts = np.bincount([t.column for t in located.terms if t.column >= 0], minlength=len(features.idf_))
    assert set(np.flatnonzero(counts)) == set(features.transform([text]).indices)
    for term in located.terms:
        words = located.words[term.first : term.first + term.n_words]
        assert " ".join(text[start:end] for start, end in words) == term.term


def test_hashed_words_have_their_bucket():
    features = TextFeatures(hashing=16).fit(["a cat and a dog"])
    located = locate(features, "A Cat")
    assert {term.column for term in located.terms} == set(features.transform(["a cat"]).indices)
