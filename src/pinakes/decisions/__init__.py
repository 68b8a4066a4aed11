"""From scores to answers: probabilities of every node, decisions on them, and the classifier around both."""

from pinakes.decisions.calibration import Calibration
from pinakes.decisions.classifier import Answer, Classifier
from pinakes.decisions.coverage import Coverage
from pinakes.decisions.kept import KeptDocuments
from pinakes.decisions.rules import Decision
from pinakes.decisions.set_calibration import SetCalibration

__all__ = ["Answer", "Calibration", "Classifier", "Coverage", "Decision", "KeptDocuments", "SetCalibration"]
