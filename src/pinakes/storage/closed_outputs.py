"""Perceptrons and `StructuredSVC` in model files: settings, outputs and weights, and the checks on the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pinakes.errors import ModelFileError, ParameterError
from pinakes.models import HardPerceptron, StochasticPerceptron, StructuredSVC
from pinakes.models.closed_outputs import ClosedOutputModel
from pinakes.solvers.ascent import Progress
from pinakes.solvers.perceptron import MarginProgress
from pinakes.storage.bundle import Tensors
from pinakes.storage.schema import Fields, check_csr, take
from pinakes.taxonomy import Taxonomy

ESTIMATORS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (HardPerceptron, StochasticPerceptron, StructuredSVC)
}
FORMS = ("single", "lists", "indicator")
NOT_STORED = ("taxonomy", "n_jobs", "random_state", "max_seconds")


def closed_state(model: ClosedOutputModel) -> tuple[dict[str, Any], Tensors]:
    """Give what is stored of a fitted model, beside its taxonomy and classes."""
    if not hasattr(model, "weights_"):
        raise ParameterError(
            f"a model with the kernel {getattr(model, 'kernel', None)!r} cannot be stored, only a linear one"
        )
    settings = {name: v for name, v in model.get_params(deep=False).items() if name not in NOT_STORED}
    settings = {name: v.item() if isinstance(v, np.generic) else v for name, v in settings.items()}
    odd = [name for name, v in settings.items() if not isinstance(v, str | int | float | bool | None)]
    if odd:
        raise ParameterError(
            f"a model with `{odd[0]}` given as an object cannot be stored, only with a word or a number"
        )
    weights = sparse.csr_array(model.weights_)
    fitted: Any = model
    if isinstance(model, StructuredSVC):
        history = [[p.n_iter, p.p_obj, p.d_obj, p.gap, p.seconds] for p in model.history_]
    else:
        history = [[p.n_iter, p.margin, p.norm, p.seconds] for p in fitted.history_]
    header = {
        "settings": settings,
        "form": model.form_,
        "ancestors": bool(model._has_ancestors),
        "stopped": fitted.stopped_,
        "n_iter": int(fitted.n_iter_),
        "history": history,
    }
    return header, {
        "nodes": model.nodes_.astype(np.int32),
        "weights.data": weights.data,
        "weights.indices": weights.indices.astype(np.int32),
        "weights.indptr": weights.indptr.astype(np.int64),
    }


def closed_from_state(kind: str, fields: Fields, tensors: Tensors, taxonomy: Taxonomy, classes: Any) -> Any:
    """Make the model again; what does not fit together is a ModelFileError."""
    where = fields.path
    settings = fields.mapping("settings")
    estimator = ESTIMATORS[kind]
    known = set(estimator().get_params()) - set(NOT_STORED)
    if set(settings) != known:
        raise ModelFileError(f"{where}: the settings are not those of {kind}; train the model again")
    model = estimator(taxonomy, **settings)
    form = fields.text("form", choices=FORMS)
    nodes = take(tensors, "nodes", np.int32, [None], where)
    model._set_outputs(taxonomy, classes, form, None)
    if len(nodes) == 0 or not np.isin(nodes, model.nodes_).all() or (np.diff(nodes) <= 0).any():
        raise ModelFileError(
            f"{where}: the nodes of the answers must be nodes at or above a class; train the model again"
        )
    used = np.flatnonzero(np.isin(model._class_node, nodes))
    if len(used) == 0:
        raise ModelFileError(f"{where}: no class is among the nodes of the answers; train the model again")
    model._set_outputs(taxonomy, classes, form, used)
    if not np.array_equal(model.nodes_, nodes):
        raise ModelFileError(f"{where}: the nodes of the answers are not closed upward; train the model again")
    model._has_ancestors = fields.boolean("ancestors")
    indptr = take(tensors, "weights.indptr", np.int64, [None], where)
    indices = take(tensors, "weights.indices", np.int32, [None], where)
    dtype = np.float64 if tensors.get("weights.data", indptr).dtype == np.float64 else np.float32
    data = take(tensors, "weights.data", dtype, [None], where)
    n_features = len(indptr) - 1
    if n_features < 1:
        raise ModelFileError(f"{where}: the weights are of no features; train the model again")
    check_csr(indptr, indices, data, n_features, len(nodes), "weights", where)
    model.weights_ = sparse.csr_array((data, indices, indptr), shape=(n_features, len(nodes))).toarray()
    model.n_features_in_ = n_features
    model.stopped_ = fields.text("stopped")
    model.n_iter_ = fields.integer("n_iter", minimum=0)
    if kind == "StructuredSVC":
        rows = fields.numbers("history", width=5)
        model.history_ = tuple(Progress(int(row[0]), *row[1:]) for row in rows)
        last = model.history_[-1]
        model.primal_objective_, model.dual_objective_, model.gap_ = last.p_obj, last.d_obj, last.gap
    else:
        rows = fields.numbers("history", width=4)
        model.history_ = tuple(MarginProgress(int(row[0]), *row[1:]) for row in rows)
        model._kernel = None
    return model
