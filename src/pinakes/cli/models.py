"""Loading a model for the verbs."""

from __future__ import annotations

from pinakes.decisions import Classifier
from pinakes.storage import load


def load_classifier(path: str, jobs: int | None = None) -> Classifier:
    """Load a model file; a bare estimator is put into a classifier that takes vectors."""
    model = load(path)
    classifier = model if isinstance(model, Classifier) else Classifier(model)
    classifier.model.n_jobs = jobs
    return classifier
