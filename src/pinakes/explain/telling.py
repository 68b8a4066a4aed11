"""The most telling words of each node: those with the largest weights v_z w_z, for it and against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pinakes.decisions import Classifier
from pinakes.errors import LabelError, ParameterError, closest
from pinakes.explain.views import AttributeView, ClassView, NodeView, view_of
from pinakes.explain.ways import Floats

SHOWN = 200  # nodes of which `str` and notebooks tell


class NodeWords(NamedTuple):
    """Words that speak for a node and against it, with their weights, the largest first.

    What a word adds to the score of every category below is its weight times its value in the document. `itself` are
    words for the category that the node is, apart from what lies below it; empty where nothing does, or it is none.
    """

    node: str
    name: str
    speak_for: tuple[tuple[str, float], ...]
    speak_against: tuple[tuple[str, float], ...]
    itself: tuple[tuple[str, float], ...] = ()


class TellingWords(Mapping[str, NodeWords]):
    """The most telling words of nodes by their ids, from top to bottom; each is looked up when it is asked for."""

    def __init__(
        self, weights: sparse.csc_array, columns: dict[str, tuple[int, float]], own: dict[str, int], **rest: Any
    ) -> None:
        self._weights, self._columns, self._own = weights, columns, own
        self._terms, self._taxonomy, self._n = rest["terms"], rest["taxonomy"], rest["n"]

    def __getitem__(self, node: str) -> NodeWords:
        if node not in self._columns:
            known = ", it lies above all categories or above none" if node in self._taxonomy else ""
            raise LabelError(f"no words tell of {node!r}{known}{closest(node, self._columns)}")
        column, factor = self._columns[node]
        words, values = self._column(column)
        values = values * factor
        best, worst = np.argsort(-values, kind="stable"), np.argsort(values, kind="stable")
        name = self._taxonomy.names[self._taxonomy.index(node)]
        itself: tuple[tuple[str, float], ...] = ()
        if node in self._own:
            own_words, own = self._column(self._own[node])
            itself = self._named(own_words, own, np.argsort(-own, kind="stable"), 1)
        return NodeWords(node, name, self._named(words, values, best, 1), self._named(words, values, worst, -1), itself)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<TellingWords of {len(self)} nodes>"

    def __str__(self) -> str:
        lines = []
        for node, _ in zip(self, range(SHOWN), strict=False):
            found = self[node]
            for sign, words in (("+", found.speak_for), ("-", found.speak_against)):
                told = ", ".join(f"{word} {weight:+.2f}" for word, weight in words)
                lines.append(f"{node} {found.name} {sign} {told}" if sign == "+" else f"    - {told}")
        more = len(self) - SHOWN
        return "\n".join([*lines, f"… and {more:,} more nodes"] if more > 0 else lines)

    def _repr_html_(self) -> str:
        from pinakes.explain.notebook import words_to_html

        return words_to_html([self[node] for node, _ in zip(self, range(SHOWN), strict=False)], len(self))

    def _column(self, column: int) -> tuple[Any, Floats]:
        at = slice(*self._weights.indptr[column : column + 2])
        words = self._weights.indices[at]
        real = words < len(self._terms)  # not the constant
        return words[real], self._weights.data[at][real].astype(np.float64)

    def _named(self, words: Any, values: Floats, order: Any, sign: int) -> tuple[tuple[str, float], ...]:
        few = [k for k in order[: self._n].tolist() if sign * values[k] > 0]
        return tuple((self._terms[words[k]], float(values[k])) for k in few)


def telling_words(
    model: Any, nodes: Sequence[str] | None = None, *, n_words: int = 10, feature_names: Sequence[str] | None = None
) -> TellingWords:
    """Give the most telling words of nodes: of those that are named, or of all that carry weight.

    Parameters
    ----------
    model : Classifier or fitted estimator
        Linear, and with words that have names: not hashed.
    nodes : sequence of str or None, default=None
        Ids of nodes; None: all.
    n_words : int, default=10
        How many words for, and how many against.
    feature_names : sequence of str or None, default=None
        What to call the features of a model that takes vectors; None: x0, x1, …
    """
    classifier = model if isinstance(model, Classifier) else Classifier(getattr(model, "best_estimator_", model))
    if not isinstance(n_words, int | np.integer) or isinstance(n_words, bool) or n_words < 1:
        raise ParameterError(f"`n_words` of telling_words must be a whole number >= 1, got {n_words!r}")
    view = view_of(classifier.model)
    taxonomy = view.taxonomy
    own: dict[str, int] = {}
    columns: dict[str, tuple[int, float]]
    if isinstance(view, AttributeView) and view.attributes.values is None:
        attributes = view.attributes
        inside = np.flatnonzero(attributes.node_attribute >= 0).tolist()
        shares = attributes.node_share
        columns = {taxonomy.ids[v]: (int(attributes.node_attribute[v]), float(shares[v])) for v in inside}
        for v, z in zip(attributes.class_node, attributes.own, strict=True):
            if attributes.node_attribute[v] != z:
                own[taxonomy.ids[v]] = int(z)
                columns.setdefault(taxonomy.ids[v], (int(z), 1.0))
        weights = sparse.csc_array(classifier.model.weights_)
    elif isinstance(view, NodeView):
        columns = {taxonomy.ids[v]: (k, 1.0) for k, v in enumerate(view.model.nodes_)}
        weights = sparse.csc_array(view.model.weights_)
    elif isinstance(view, ClassView) and view.model.coef_.shape[0] == len(view.classes):
        columns = {str(label): (k, 1.0) for k, label in enumerate(view.classes)}
        weights = sparse.csc_array(view.model.coef_.T)
    else:
        raise ParameterError(
            f"{type(classifier.model).__name__} has no weights by node and word here: its kernel is not linear, or "
            "what classes share was given as a matrix"
        )
    features = classifier.features
    if features is not None and features.hashing is not None:
        raise ParameterError(
            "hashed features have no names, so that no words can be told; train the model without --hashing"
        )
    if features is not None:
        terms = list(features.vocabulary_)
    else:
        width = classifier.model.n_features_in_
        terms = [f"x{j}" for j in range(width)] if feature_names is None else list(feature_names)
    found = TellingWords(weights, columns, own, terms=terms, taxonomy=taxonomy, n=int(n_words))
    if nodes is None:
        return found
    for node in nodes:
        found[node]  # says which is none
    part = {node: columns[node] for node in nodes}
    return TellingWords(weights, part, own, terms=terms, taxonomy=taxonomy, n=int(n_words))
