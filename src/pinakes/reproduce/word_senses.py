"""What tells the senses of a word apart: the features of a context, in groups, each of unit length times its weight.

    head          the word itself as it is written: plural, capital letter, first in its sentence
    words         the three words on either side, with their positions
    collocations  runs of words around it: C(-2,-1), C(-1,1), C(1,2), C(-3,-1), C(-2,1), C(-1,2), C(1,3)
    grammar       determiner, modifiers, prepositions and verbs around it, found by word lists and endings
    bag           all content words of the context, stemmed, weighed by TF-IDF
    topics        the bag in a few dimensions (LSA of the training contexts)
    near          the ten words on either side, in the same dimensions

The first five are of the kind that systems of Senseval-2 used, without a parser or a tagger. Topics let contexts
without a word in common be near to each other; with 120 contexts a lemma to learn from, no other group is worth more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction import DictVectorizer
from sklearn.preprocessing import normalize

from pinakes.documents import as_csr
from pinakes.reproduce.contexts import Words, singular, stem
from pinakes.reproduce.grammar import FUNCTION_WORDS, grammar

POSITIONS = (-3, -2, -1, 1, 2, 3)
RUNS = ((-2, -1), (-1, 1), (1, 2), (-3, -1), (-2, 1), (-1, 2), (1, 3))
NEAR = 10
BIAS = 0.3
# chosen by cross-validation on the training contexts
WEIGHTS = {"head": 1.0, "words": 1.0, "collocations": 0.7, "grammar": 0.5, "bag": 0.5, "topics": 1.2, "near": 0.4}
N_TOPICS = 30

Groups = dict[str, dict[str, float]]


class SenseFeatures:
    """Turns contexts into vectors; document frequencies and topics are learnt from the training contexts.

    Parameters
    ----------
    weights : mapping of group to weight, default=WEIGHTS
        What each group counts; 0 leaves it out.
    n_topics : int, default=N_TOPICS
        Dimensions of topics.
    """

    def __init__(self, weights: Mapping[str, float] = WEIGHTS, n_topics: int = N_TOPICS) -> None:
        self.weights, self.n_topics = weights, n_topics

    def fit(self, groups: Sequence[Groups]) -> SenseFeatures:
        """Learn vocabularies, how rare words are, and topics from contexts as `describe_context` gives them."""
        self.vectorizers_ = {
            name: DictVectorizer(dtype=np.float64).fit([group[name] for group in groups])
            for name in groups[0]
            if name != "near"
        }
        self.vectorizers_["near"] = self.vectorizers_["bag"]  # one vocabulary, one meaning of rare
        counts = self.vectorizers_["bag"].transform([group["bag"] for group in groups])
        df = np.bincount(counts.indices, minlength=counts.shape[1])
        self.idf_ = np.log((1 + len(groups)) / (1 + df))
        self.common_ = np.flatnonzero(df >= 2)  # a word of one context is in no topic
        rank = min(self.n_topics, len(self.common_) - 1, len(groups))
        self.svd_ = TruncatedSVD(max(rank, 1), random_state=0).fit(self._bag(counts)[:, self.common_])
        return self

    def counts(self, groups: Sequence[Groups]) -> sparse.csr_array:
        """Give how often each feature stands in each context, for models that count."""
        names = [name for name in self.vectorizers_ if name != "near"]
        parts = [self.vectorizers_[name].transform([group[name] for group in groups]) for name in names]
        return as_csr(sparse.hstack(parts, format="csr"))

    def transform(self, groups: Sequence[Groups]) -> sparse.csr_array:
        """Give one vector a context: all groups side by side, and a constant."""
        blocks = []
        for name, vectorizer in self.vectorizers_.items():
            X = vectorizer.transform([group[name] for group in groups])
            X = self._bag(X) if name in ("bag", "near") else X
            if name == "near":
                blocks.append(self.weights.get(name, 0) * self._topics(X))
                continue
            if name == "bag":
                blocks.append(self.weights.get("topics", 0) * self._topics(X))
            blocks.append(self.weights.get(name, 0) * normalize(X))
        blocks.append(sparse.csr_array(np.full((len(groups), 1), BIAS)))
        X = as_csr(sparse.hstack(blocks, format="csr"))
        X.eliminate_zeros()
        return X

    def _bag(self, counts: Any) -> Any:
        """Weigh words by TF-IDF, unit length."""
        weighed = counts.copy()
        weighed.data = (1 + np.log(weighed.data)) * self.idf_[weighed.indices]
        return normalize(weighed)

    def _topics(self, X: Any) -> sparse.csr_array:
        """Give a bag in the dimensions of topics, unit length."""
        return sparse.csr_array(normalize(self.svd_.transform(X[:, self.common_])))


def describe_context(words: Words) -> Groups:
    """Give the features of each group by name, before they are weighed."""
    tokens, target, first, last = words
    small = [token.lower() for token in tokens]

    def at(k: int) -> str:
        """Give a word by its distance, within the sentence and the signs around it."""
        return small[target + k] if max(first - 1, 0) <= target + k < min(last + 1, len(small)) else "-"

    word = tokens[target]
    head = {
        f"word {word.lower()}",
        f"plural {singular(word) != word.lower()}",
        f"capital {word[0].isupper() and target > first}",
        f"capitals {word.isupper()}",
        f"first {target == first}",
    }
    runs = (f"{a} {b} " + " ".join(at(k) for k in range(a, b + 1) if k) for a, b in RUNS)
    around = chain(range(max(0, target - NEAR), target), range(target + 1, min(len(tokens), target + NEAR + 1)))
    return {
        "head": _ones(head),
        "words": _ones(f"{k} {at(k)}" for k in POSITIONS),
        "collocations": _ones(runs),
        "grammar": _ones(grammar(words)),
        "bag": _counts(token for k, token in enumerate(tokens) if k != target),
        "near": _ones(_counts(tokens[k] for k in around)),
    }


def _ones(features: Iterable[str]) -> dict[str, float]:
    return dict.fromkeys(features, 1.0)


def _counts(tokens: Iterable[str]) -> dict[str, float]:
    """Count the stems of the content words."""
    return dict(Counter(stem(t) for t in tokens if len(t) > 1 and t[0].isalpha() and t.lower() not in FUNCTION_WORDS))
