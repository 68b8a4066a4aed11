"""From scores to answers: how sure the model is, and the classifier that takes documents and gives answers."""

from pinakes.decisions.classifier import Answer, Classifier
from pinakes.decisions.confidence import fit_temperature
from pinakes.decisions.kept import KeptDocuments

__all__ = ["Answer", "Classifier", "KeptDocuments", "fit_temperature"]
