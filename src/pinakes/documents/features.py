r"""Turns texts into TF-IDF features.

For document i and term j, with tf_ij how often j stands in i, df_j in how many of n documents it stands:

    x_ij = (1 + ln tf_ij) (1 + ln((1 + n) / (1 + df_j))),    then each row is divided by its length

which is scikit-learn's TfidfVectorizer with ``sublinear_tf=True``, computed faster (see `tokens`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pinakes.documents.matrix import MAX_NONZEROS
from pinakes.documents.tokens import (
    WORDS,
    Counts,
    FixedIndex,
    HashedIndex,
    count_terms,
    growing_index,
    make_tokenizer,
)
from pinakes.errors import DocumentError, ModelFileError, ParameterError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float32]


class TextFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Turns texts into TF-IDF features: a CSR array of float32, one row a text.

    Parameters
    ----------
    ngrams : (int, int), default=(1, 1)
        Shortest and longest run of words that is a feature: (1, 2) takes pairs of neighbours too.
    min_df : int or float, default=2
        Leave out terms in fewer documents than this (a share of them, if float). Not used with `hashing`.
    max_df : int or float, default=1.0
        Leave out terms in more documents than this (a share, if float). Not used with `hashing`.
    max_features : int, default=None
        Keep only this many terms, those that stand most often. Not used with `hashing`.
    sublinear_tf : bool, default=True
        Whether a term that stands tf times counts 1 + ln tf, not tf.
    lowercase : bool, default=True
        Whether capitals count as small letters.
    strip_accents : {"unicode", "ascii"}, default=None
        Take accents off letters; "ascii" then drops whatever is not ASCII.
    token_pattern : str, default=r"\w+"
        What a word is: runs of letters, digits and underscores. Unlike scikit-learn's default this keeps
        words of one letter, which did better on four of five corpora tried. Other patterns are slower.
    hashing : int, default=None
        Number of buckets. Words are then numbered by their hash and no vocabulary is kept: memory is bounded,
        but features have no names, and words that fall into one bucket are added up.
    norm : {"l2", "l1"}, default="l2"
        What the values of a document are divided by; None leaves them.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The column of each term; columns are in the order of the terms. Absent with `hashing`.
    idf_ : ndarray of float32
        The weight of each column.

    Examples
    --------
    >>> features = TextFeatures(min_df=1)
    >>> X = features.fit_transform(["a cat", "a dog"])
    >>> X.shape, features.get_feature_names_out().tolist()
    ((2, 3), ['a', 'cat', 'dog'])
    """

    def __init__(
        self,
        *,
        ngrams: tuple[int, int] = (1, 1),
        min_df: int | float = 2,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        sublinear_tf: bool = True,
        lowercase: bool = True,
        strip_accents: str | None = None,
        token_pattern: str = WORDS,
        hashing: int | None = None,
        norm: str | None = "l2",
    ) -> None:
        self.ngrams = ngrams
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.sublinear_tf = sublinear_tf
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.token_pattern = token_pattern
        self.hashing = hashing
        self.norm = norm

    def fit(self, texts: Iterable[str], y: object = None) -> TextFeatures:
        """Learn the vocabulary and the weights of its terms."""
        self._learn(texts)
        return self

    def fit_transform(self, texts: Iterable[str], y: object = None) -> csr_array[Any]:  # type: ignore[override]
        """Learn from the texts and give their features, going through them once."""
        return self._weigh(self._learn(texts))

    def transform(self, texts: Iterable[str]) -> csr_array[Any]:
        """Give the features of texts; words that were not learnt do not count."""
        check_is_fitted(self, "idf_")
        _check_texts(texts)
        n_terms = len(self.idf_)
        index: dict[str, int]
        index = FixedIndex(self.vocabulary_) if self.hashing is None else HashedIndex(n_terms)
        return self._weigh(count_terms(texts, self._tokenizer(), index.__getitem__, lambda: n_terms))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Give the name of each column: the term, or ``bucket0``, ``bucket1``, … with `hashing`."""
        check_is_fitted(self, "idf_")
        if self.hashing is not None:
            return np.array([f"bucket{j}" for j in range(len(self.idf_))], dtype=object)
        return np.array(list(self.vocabulary_), dtype=object)

    # -- learning ------------------------------------------------------------------------------------------

    def _learn(self, texts: Iterable[str]) -> Counts:
        check_parameters(self.get_params())
        _check_texts(texts)
        if self.hashing is not None:
            n_terms = self.hashing
            counts = count_terms(texts, self._tokenizer(), HashedIndex(n_terms).__getitem__, lambda: n_terms)
            _check_counts(counts, self.token_pattern)
            self.__dict__.pop("vocabulary_", None)
        else:
            words, index_of = growing_index()
            counts = count_terms(texts, self._tokenizer(), index_of, words.__len__)
            _check_counts(counts, self.token_pattern)
            counts, self.vocabulary_ = self._choose(counts, list(words))
            n_terms = len(self.vocabulary_)
        n_documents = len(counts.indptr) - 1
        df = np.bincount(counts.indices, minlength=n_terms)
        self.idf_: Floats = (1.0 + np.log((1 + n_documents) / (1 + df))).astype(np.float32)
        return counts

    def _choose(self, counts: Counts, terms: list[str]) -> tuple[Counts, dict[str, int]]:
        """Leave out rare and frequent terms, and put the others in alphabetical order."""
        n_documents = len(counts.indptr) - 1
        df = np.bincount(counts.indices, minlength=len(terms))
        low, high = _documents(self.min_df, n_documents), _documents(self.max_df, n_documents)
        if high < low:
            raise ParameterError(
                f"`min_df` of TextFeatures must be at most `max_df`, got {low:g} documents where at most {high:g} of "
                f"{n_documents} are allowed; lower min_df"
            )
        kept = np.flatnonzero((df >= low) & (df <= high))
        if len(kept) == 0:
            raise DocumentError(self._nothing_kept(df, low, high, n_documents))
        order = kept[np.argsort(np.array([terms[j] for j in kept], dtype=object), kind="stable")]
        if self.max_features is not None and len(order) > self.max_features:
            total = np.bincount(counts.indices, weights=counts.data, minlength=len(terms))[order]
            order = order[np.sort(np.argsort(-total, kind="stable")[: self.max_features])]
        column = np.full(len(terms), -1, dtype=np.int32)
        column[order] = np.arange(len(order), dtype=np.int32)
        return _renumber(counts, column, len(order)), {terms[j]: k for k, j in enumerate(order)}

    def _nothing_kept(self, df: npt.NDArray[Any], low: float, high: float, n_documents: int) -> str:
        if (df < low).all():
            return (
                f"none of the {len(df)} terms stands in {low:g} or more of the {n_documents} documents "
                f"(min_df={self.min_df}); set min_df=1 or give more documents"
            )
        return (
            f"none of the {len(df)} terms stands in {low:g} to {high:g} of the {n_documents} documents "
            f"(min_df={self.min_df}, max_df={self.max_df}); lower min_df or raise max_df"
        )

    # -- weighing ------------------------------------------------------------------------------------------

    def _tokenizer(self) -> Any:
        low, high = self.ngrams
        return make_tokenizer(self.token_pattern, self.lowercase, self.strip_accents, (low, high))

    def _weigh(self, counts: Counts) -> csr_array[Any]:
        from scipy.sparse import csr_array

        if len(counts.data) > MAX_NONZEROS:
            raise DocumentError(
                f"the features must have at most {MAX_NONZEROS:,} nonzero values, got {len(counts.data):,}; "
                "transform fewer documents at a time, or set max_features"
            )
        data = 1 + np.log(counts.data) if self.sublinear_tf else counts.data
        data = data * self.idf_[counts.indices]
        if self.norm is not None:
            _normalize(data, counts.indptr, self.norm)
        shape = (len(counts.indptr) - 1, len(self.idf_))
        X = csr_array((data, counts.indices, counts.indptr.astype(np.int32)), shape=shape)
        X.has_canonical_format = True
        return X

    # -- without pickle ------------------------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Give all there is as settings that fit into JSON, and arrays.

        The arrays are `idf` (float32) and, without `hashing`, the terms one after the other in UTF-8
        (`vocabulary`, uint8) with the places where they begin and end (`offsets`, int64).
        """
        check_is_fitted(self, "idf_")
        settings = {**self.get_params(), "ngrams": [int(n) for n in self.ngrams]}
        for name, value in settings.items():
            if isinstance(value, np.generic):
                settings[name] = value.item()
        tensors: dict[str, npt.NDArray[Any]] = {"idf": self.idf_}
        if self.hashing is None:
            try:
                terms = [term.encode() for term in self.vocabulary_]
            except UnicodeEncodeError as error:
                raise DocumentError(
                    f"terms must be whole characters to be stored, got half of one in {error.object!r}"
                ) from None
            tensors["vocabulary"] = np.frombuffer(b"".join(terms), dtype=np.uint8).copy()
            tensors["offsets"] = np.cumsum([0, *map(len, terms)], dtype=np.int64)
        return settings, tensors

    @classmethod
    def from_state(cls, settings: Mapping[str, Any], tensors: Mapping[str, npt.NDArray[Any]]) -> TextFeatures:
        """Make the transformer again that `to_state` took apart; everything is checked on the way."""
        known = set(cls._get_param_names())
        if set(settings) != known:
            odd = sorted(set(settings) ^ known)
            raise ModelFileError(
                f"the text features must have the settings {sorted(known)}, got too many or too few: {odd}"
            )
        values = dict(settings)
        if isinstance(values["ngrams"], list):
            values["ngrams"] = tuple(values["ngrams"])
        try:
            check_parameters(values)
        except ParameterError as error:
            raise ModelFileError(f"the text features have a setting out of range: {error}") from None
        features = cls(**values)
        names = {"idf"} if features.hashing is not None else {"idf", "vocabulary", "offsets"}
        if set(tensors) != names:
            raise ModelFileError(f"the text features must have the arrays {sorted(names)}, got {sorted(tensors)}")
        idf = _tensor(tensors, "idf", np.float32)
        if not np.isfinite(idf).all():
            raise ModelFileError("the weights of the text features must be finite, got NaN or infinity in `idf`")
        n_terms = features.hashing
        if n_terms is None:
            features.vocabulary_ = _read_terms(
                _tensor(tensors, "vocabulary", np.uint8), _tensor(tensors, "offsets", np.int64)
            )
            n_terms = len(features.vocabulary_)
        if len(idf) != n_terms:
            raise ModelFileError(f"the text features need one weight a term, got {len(idf)} for {n_terms}")
        features.idf_ = idf
        return features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _check_texts(texts: object) -> None:
    if isinstance(texts, str | bytes):
        raise DocumentError(
            f"texts must be a list of strings, got one {type(texts).__name__}; put it into a list: [text]"
        )


def _check_counts(counts: Counts, pattern: str) -> None:
    n_documents = len(counts.indptr) - 1
    if n_documents == 0:
        raise DocumentError("texts must hold at least one document, got none")
    if len(counts.indices) == 0:
        raise DocumentError(
            f"there are no words in the {n_documents} documents: nothing matches token_pattern={pattern!r}, "
            "or no document is as long as `ngrams`"
        )


def _documents(df: int | float, n_documents: int) -> float:
    return df * n_documents if isinstance(df, float | np.floating) else df


def _renumber(counts: Counts, column: npt.NDArray[np.int32], n_terms: int) -> Counts:
    """Give the counts with new columns, ascending within a row; column -1 is left out."""
    from scipy.sparse import csr_array

    indices = column[counts.indices]
    keep = indices >= 0
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(keep)])[counts.indptr]
    shape = (len(indptr) - 1, n_terms)
    matrix = csr_array((counts.data[keep], indices[keep], indptr), shape=shape)
    matrix.sort_indices()
    return Counts(matrix.data, matrix.indices.astype(np.int32, copy=False), indptr)


def _normalize(data: Floats, indptr: npt.NDArray[np.int64], norm: str) -> None:
    """Divide each row by its length, in place; changes `data`. Empty rows stay empty."""
    sizes = np.diff(indptr)
    starts = indptr[:-1][sizes > 0]
    if len(starts) == 0:
        return
    if norm == "l2":
        lengths = np.sqrt(np.add.reduceat(np.square(data, dtype=np.float64), starts))
    else:
        lengths = np.add.reduceat(np.abs(data, dtype=np.float64), starts)
    data /= np.repeat(lengths, sizes[sizes > 0]).astype(np.float32)


def _tensor(tensors: Mapping[str, npt.NDArray[Any]], name: str, dtype: type[np.generic]) -> npt.NDArray[Any]:
    tensor = tensors[name]
    if tensor.ndim != 1 or tensor.dtype != dtype:
        raise ModelFileError(
            f"the array `{name}` of the text features must be one row of {np.dtype(dtype)}, "
            f"got {tensor.dtype} of shape {tensor.shape}"
        )
    return tensor


def _read_terms(buffer: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> dict[str, int]:
    if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != len(buffer) or (np.diff(offsets) <= 0).any():
        raise ModelFileError(
            "the places of the terms of the text features must rise from 0 to the end of the vocabulary; "
            "the array `offsets` does not"
        )
    whole, ends = buffer.tobytes(), offsets.tolist()
    try:
        terms = [whole[start:end].decode() for start, end in pairwise(ends)]
    except UnicodeDecodeError:
        raise ModelFileError("the terms of the text features must be UTF-8, got bytes that are none") from None
    vocabulary = {term: j for j, term in enumerate(terms)}
    if len(vocabulary) < len(terms):
        raise ModelFileError(
            f"the terms of the text features must be unique, got {len(terms) - len(vocabulary)} of them twice"
        )
    return vocabulary


# -- settings ----------------------------------------------------------------------------------------------


def check_parameters(values: Mapping[str, Any]) -> None:
    """Refuse settings of TextFeatures that are out of range."""
    ngrams = values["ngrams"]
    pair = isinstance(ngrams, tuple | list) and len(ngrams) == 2 and all(map(_is_int, ngrams))
    good = pair and 1 <= ngrams[0] <= ngrams[1]
    _require(good, "ngrams", "a pair (shortest, longest) with 1 <= shortest <= longest", ngrams)
    for name in ("min_df", "max_df"):
        value = values[name]
        share = isinstance(value, float | np.floating) and 0.0 <= value <= 1.0
        good = bool(share or (_is_int(value) and value >= 1))
        _require(good, name, "a whole number >= 1 or a share from 0.0 to 1.0", value)
    for name in ("max_features", "hashing"):
        value = values[name]
        good = value is None or (_is_int(value) and 1 <= value <= MAX_NONZEROS)
        _require(good, name, "None or a whole number from 1 to 2**31 - 1", value)
    for name in ("sublinear_tf", "lowercase"):
        _require(isinstance(values[name], bool | np.bool_), name, "True or False", values[name])
    for name, choices in (("strip_accents", (None, "unicode", "ascii")), ("norm", (None, "l2", "l1"))):
        _require(values[name] in choices, name, f"one of {choices}", values[name])
    pattern = values["token_pattern"]
    try:
        groups = re.compile(pattern).groups if isinstance(pattern, str) else 2
    except re.error as error:
        raise ParameterError(
            f"`token_pattern` of TextFeatures must be a regular expression, got {pattern!r} ({error})"
        ) from None
    _require(groups <= 1, "token_pattern", "a regular expression with at most one group", pattern)


def _is_int(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _require(condition: bool, name: str, expected: str, got: object) -> None:
    if not condition:
        raise ParameterError(f"`{name}` of TextFeatures must be {expected}, got {got!r}")
