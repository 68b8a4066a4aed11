"""Why a document gets its answer: scores split over nodes and words, telling words, training documents that weigh."""

from pinakes.explain.explainer import Explanations, explain
from pinakes.explain.explanation import Explanation
from pinakes.explain.telling import TellingWords, telling_words

__all__ = ["Explanation", "Explanations", "TellingWords", "explain", "telling_words"]
