"""From scores to answers: how sure the model is, and the classifier that takes documents and gives answers."""

from pinakes.decisions.classifier import Answer, Classifier
from pinakes.decisions.confidence import fit_temperature

__all__ = ["Answer", "Classifier", "fit_temperature"]
