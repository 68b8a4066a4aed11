"""How sure a classifier may be, in model files: calibration and coverage, and the checks on the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinakes.decisions import Calibration, Classifier, Coverage, SetCalibration
from pinakes.errors import ModelFileError
from pinakes.storage.bundle import Tensors
from pinakes.storage.schema import Fields, take

KINDS = ("shares", "sets")
FIRST = 3  # version of files with a calibration
STEEPEST = 1e12  # slope of anything


def calibration_state(classifier: Classifier) -> tuple[dict[str, Any] | None, Tensors]:
    """Give what is stored of calibration and coverage; None where there is no calibration."""
    calibration, coverage = classifier.calibration, classifier.coverage
    if calibration is None:
        return None, {}
    tensors: Tensors = {}
    header: dict[str, Any]
    if isinstance(calibration, SetCalibration):
        header = {"kind": "sets"}
        tensors["calibration.coefficients"] = calibration.coefficients
    else:
        header = {"kind": "shares", "slope": [list(calibration.slope)], "least": calibration.least}
        tensors["calibration.knots"] = calibration.knots
    header["coverage"] = coverage is not None
    if coverage is not None:
        tensors |= {"coverage.node": coverage.node, "coverage.sets": coverage.sets}
    return header, tensors


def calibration_from_state(
    fields: Fields, tensors: Tensors, depth: int, has_sets: bool
) -> tuple[Calibration | SetCalibration | None, Coverage | None]:
    """Make calibration and coverage again; what does not fit together is a ModelFileError."""
    if fields.integer("version") < FIRST:
        return None, None
    inner = fields.fields("calibration")
    kind = inner.text("kind", choices=KINDS)
    if (kind == "sets") != has_sets:
        raise ModelFileError(f"{fields.path}: the calibration is not one of this kind of labels; train the model again")
    calibration: Calibration | SetCalibration
    if kind == "sets":
        coefficients = take(tensors, "calibration.coefficients", np.float64, [depth, 3], fields.path)
        if not (np.abs(coefficients) <= STEEPEST).all() or (coefficients[:, 1] < 0).any():
            raise ModelFileError(f"{fields.path}: the calibration must be finite and rise with the score; train again")
        calibration = SetCalibration(coefficients)
    else:
        slope = inner.numbers("slope", width=3)[0]
        if max(map(abs, slope)) > STEEPEST:
            raise ModelFileError(f"{fields.path}: the calibration's slope must be at most {STEEPEST:g}, got {slope}")
        knots = take(tensors, "calibration.knots", np.float64, [2, None], fields.path)
        rising = knots.shape[1] > 1 and (np.diff(knots[0]) > 0).all() and (np.diff(knots[1]) >= 0).all()
        if not np.isfinite(knots).all() or not rising or (knots[:, 0] != 0).any() or (knots[:, -1] != 1).any():
            raise ModelFileError(
                f"{fields.path}: the calibration's points must rise from 0 to 1; train the model again"
            )
        least = inner.number("least", above=0, maximum=STEEPEST)
        calibration = Calibration((slope[0], slope[1], slope[2]), least, knots)
    if not inner.boolean("coverage"):
        return calibration, None
    node, sets = (take(tensors, f"coverage.{name}", np.float64, [None], fields.path) for name in ("node", "sets"))
    for needs in (node, sets):
        if not (np.isfinite(needs).all() and (np.diff(needs) >= 0).all() and (needs >= 0).all() and (needs <= 1).all()):
            raise ModelFileError(f"{fields.path}: what coverage needs must ascend from 0 to 1; train the model again")
    if len(node) != (0 if has_sets else len(sets)):
        raise ModelFileError(
            f"{fields.path}: coverage has {len(node)} and {len(sets)} documents; train the model again"
        )
    return calibration, Coverage(node, sets)
