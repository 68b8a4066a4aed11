"""Which training documents an answer was learnt from: the dual variables tell.

With weights w = sum over documents i and classes k of alpha_ik (Phi(x_i, y_i) - Phi(x_i, k)), the score of y is

    F(x, y) = sum over i of <x, x_i> ( g(y_i) sum over k of alpha_ik  -  sum over k of alpha_ik g(k) ),
    g(k) = <Lambda(y), Lambda(k)>,

one number a training document. But for the bias they add up to the score, where the model was learnt from the
documents kept alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pinakes.decisions import Classifier
from pinakes.decisions.kept import KeptDocuments
from pinakes.errors import ParameterError
from pinakes.explain.ways import Floats


class Influence:
    """What training documents add to scores."""

    def __init__(self, kept: KeptDocuments, model: Any) -> None:
        self.kept, self.attributes = kept, model.attributes_
        self._total = np.asarray(kept.alpha.sum(axis=1)).ravel()
        self._members = self.attributes.matrix()

    @classmethod
    def of(cls, classifier: Classifier) -> Influence:
        """Find the documents that a classifier, or its model, has kept."""
        model: Any = classifier.model
        if not hasattr(model, "attributes_"):
            raise ParameterError(
                f"{type(model).__name__} does not tell which training documents weigh ; TaxonomySVC does"
            )
        if classifier.documents is not None:
            return cls(classifier.documents, model)
        seen = getattr(model, "_seen", None)
        if seen is None:
            raise ParameterError(
                "`n_documents` of explain needs the training documents, which the model has not kept: train it with "
                "--keep-documents, or in Python with TaxonomySVC(keep_documents=True)"
            )
        X = sparse.csr_array(seen.X)[:, : model.n_features_in_]  # without the constant
        return cls(KeptDocuments.of(model, X, seen.y), model)

    def on(self, x: sparse.csr_array, y: int, other: int | None) -> tuple[Floats, Floats]:
        """Give the similarity of all kept documents with one, and what they add to its score of class y.

        With `other`, to the difference of both scores.
        """
        row = self._members[[y]]
        if other is not None:
            row = row - self._members[[other]]
        # g = members @ (v^2 * row): what the weights that this score sums over have in common with every class
        g = self._members @ (self.attributes.v2 * row.toarray()[0])
        kept = self.kept
        similar = np.asarray((kept.X @ x.T).toarray(), dtype=np.float64).ravel()
        return similar, similar * (self._total * g[kept.classes] - kept.alpha @ g)
