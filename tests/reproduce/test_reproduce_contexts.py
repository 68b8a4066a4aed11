"""Contexts as words: sentences, phrases, kinds of words, and the features made of them."""

from __future__ import annotations

import numpy as np
import pytest

from pinakes.datasets.senseval import Context
from pinakes.reproduce.contexts import choices, phrase_senses, senses_by_lemma, singular, split_context, stem
from pinakes.reproduce.grammar import grammar, kind
from pinakes.reproduce.word_senses import WEIGHTS, SenseFeatures, describe_context
from pinakes.taxonomy import Taxonomy

ART, GALLERY, WORK = "art%1:06:00::", "art_gallery%1:06:00::", "work_of_art%1:06:00::"
ARTS, DEALER = "arts%1:09:00::", "art_dealer%1:18:00::"
SENSES = (ART, GALLERY, WORK, ARTS, DEALER)


def context(text: str, senses: tuple[str, ...] = (), lemma: str = "art.n") -> Context:
    before, _, rest = text.partition("<<")
    word, _, after = rest.partition(">>")
    return Context("1", lemma, before, word, after, senses)


def test_the_sentence_of_the_word() -> None:
    words = split_context(context("It rained. He saw the <<art>> of Rome! They left."))
    assert words.tokens[words.target] == "art"
    assert words.tokens[words.first : words.last] == ("He", "saw", "the", "art", "of", "Rome")
    alone = split_context(context("<<art>>"))
    assert (alone.tokens, alone.target, alone.first, alone.last) == (("art",), 0, 0, 1)


def test_marks_of_the_british_national_corpus() -> None:
    words = split_context(context("&bquo;Pop <<art>>&equo; &mdash; caf&eacute; 2,000"))
    assert words.tokens[:4] == ('"', "Pop", "art", '"')
    assert words.tokens[4] == "—"
    assert words.tokens[-1] == "2,000"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("in the <<art>> gallery", [GALLERY]),
        ("in the <<Art>> Galleries", [GALLERY]),
        ("works of <<art>>", [WORK]),
        ("a work of the <<art>>", []),
        ("the gallery of <<art>>", []),
        ("an art gallery has <<art>>", []),  # spelled, but not around this word
        ("a work of <<art>> gallery walls", [WORK]),  # both are spelled: the longer one
    ],
)
def test_phrases_are_found_where_they_are_spelled(text: str, found: list[str]) -> None:
    assert phrase_senses(split_context(context(text)), SENSES) == found


def test_what_there_is_to_choose_from() -> None:
    learnt = {ART, ARTS, GALLERY}
    assert choices(split_context(context("the <<art>> gallery")), SENSES, learnt) == [GALLERY]
    assert choices(split_context(context("an <<art>> dealer")), SENSES, learnt) == [DEALER]  # never learnt, but spelled
    assert choices(split_context(context("the <<art>> of war")), SENSES, learnt) == [ART, ARTS]
    assert choices(split_context(context("the <<art>> of war")), SENSES, {GALLERY}) == [GALLERY]
    assert choices(split_context(context("the <<art>> of war")), SENSES, set()) == [ART, ARTS]


def test_senses_of_a_lemma() -> None:
    """Senses spelled with the lemma, and others that it was given: a lap is a circuit."""
    edges = [("", "f"), *(("f", s) for s in (*SENSES, "party%1:14:00::", "lap%1:04:01::", "short_circuit%1:06:00::"))]
    train = [context("<<art>>"), context("<<circuit>>", ("lap%1:04:01::",), lemma="circuit.n")]
    found = senses_by_lemma(Taxonomy.from_edges(edges), train)
    assert found == {"art.n": tuple(sorted(SENSES)), "circuit.n": ("lap%1:04:01::", "short_circuit%1:06:00::")}


def test_endings() -> None:
    assert [stem(w) for w in ("walk", "walks", "walked", "walking")] == ["walk"] * 4
    assert [stem(w) for w in ("stop", "stopped", "stopping")] == ["stop"] * 3
    assert singular("AS") == "as"
    assert kind("whose") == "possessive"


def test_grammar() -> None:
    found = grammar(split_context(context("He admired a piece of modern <<art>> from the old cities of Italy.")))
    assert {"modifier modern", "1 modifiers", "begins of", "under piec", "under piec of"} <= set(found)
    assert {"takes from", "takes from the", "takes city", "takes from city", "verb before admir"} <= set(found)
    assert "begins the sentence" in grammar(split_context(context("<<Art>> lives.")))


TEXTS = [
    "He bought a <<bar>> of chocolate and some sweet cakes.",
    "She ate a <<bar>> of chocolate with her cakes.",
    "The <<bar>> was full of drinkers, beer and smoke.",
    "They drank beer and wine in a <<bar>> full of smoke.",
]


def test_groups_have_the_length_of_their_weights() -> None:
    groups = [describe_context(split_context(context(text))) for text in TEXTS]
    everything = SenseFeatures(n_topics=2).fit(groups).transform(groups)
    lengths = (everything.toarray() ** 2).sum(axis=1)
    np.testing.assert_allclose(lengths, 0.3**2 + sum(w * w for w in WEIGHTS.values()))
    for name, weight in WEIGHTS.items():
        alone = SenseFeatures({name: weight}, n_topics=2).fit(groups).transform(groups)
        np.testing.assert_allclose((alone.toarray() ** 2).sum(axis=1), 0.3**2 + weight**2, err_msg=name)


def test_topics_bring_contexts_of_one_kind_together() -> None:
    groups = [describe_context(split_context(context(text))) for text in TEXTS]
    Z = SenseFeatures({"topics": 1.0}, n_topics=2).fit(groups).transform(groups).toarray()
    K = Z @ Z.T
    assert min(K[0, 1], K[2, 3]) > max(K[0, 2], K[0, 3], K[1, 2], K[1, 3])


def test_new_words_are_left_out_and_counts_are_counts() -> None:
    groups = [describe_context(split_context(context(text))) for text in TEXTS]
    features = SenseFeatures(n_topics=2).fit(groups)
    new = [describe_context(split_context(context("Zebras <<zebra>> zebras zebras")))]
    assert features.transform(new).shape[1] == features.transform(groups).shape[1]
    assert np.isfinite(features.transform(new).toarray()).all()
    twice = describe_context(split_context(context("Smoke, smoke! A <<bar>>.")))
    column = features.vectorizers_["bag"].vocabulary_[stem("smoke")]
    start = sum(len(features.vectorizers_[name].vocabulary_) for name in ("head", "words", "collocations", "grammar"))
    assert features.counts([twice]).toarray()[0, start + column] == 2
