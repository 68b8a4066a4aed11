"""Models of label sets in files: settings, how labels were given, where answers end, and how the training went.

Taxonomy, classes, loss and weights are stored as those of a `TaxonomySVC` are; see `pinakes.storage.model`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.errors import ModelFileError, ParameterError
from pinakes.kernels.rows import rows_from_csr
from pinakes.models import CoupledSVC, MinOverPerceptron, TaxonomyRankSVC
from pinakes.models.cuts import Cut
from pinakes.models.label_set_model import LabelSetModel
from pinakes.models.scoring import Scorer
from pinakes.solvers.ascent import Progress
from pinakes.solvers.minover import MinOverProgress
from pinakes.storage.bundle import Tensors
from pinakes.storage.schema import Fields, take
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.loss import Loss

ESTIMATORS: dict[str, type[Any]] = {kind.__name__: kind for kind in (TaxonomyRankSVC, CoupledSVC, MinOverPerceptron)}
FORMS = ("single", "lists", "indicator")
NOT_STORED = ("taxonomy", "n_jobs", "random_state", "max_seconds")
APART = ("loss", "node_weight")  # may be objects, and are stored by what they say
COURSE = 5  # numbers of each entry of the history


def sets_state(model: LabelSetModel) -> tuple[dict[str, Any], Tensors]:
    """Give what is stored of a fitted model, beside its taxonomy, classes, loss and weights."""
    kernel = getattr(model, "kernel", "linear")
    if kernel != "linear":
        raise ParameterError(f"a model with the kernel {kernel!r} cannot be stored, only one that is linear")
    apart = [name for name in APART if name == "node_weight" or has_loss(model)]
    settings = {n: v for n, v in model.get_params(deep=False).items() if n not in (*NOT_STORED, *apart)}
    settings = {name: v.item() if isinstance(v, np.generic) else v for name, v in settings.items()}
    for name, value in settings.items():
        if not isinstance(value, str | int | float | bool | None):
            raise ParameterError(
                f"a model with `{name}` given as an object cannot be stored, only with a word or a number"
            )
    fitted: Any = model
    cut = model.cut_
    header = {
        "settings": settings,
        "form": model.form_,
        "top": cut.top,
        "never_empty": bool(cut.never_empty),
        "stopped": fitted.stopped_,
        "n_iter": int(fitted.n_iter_),
        "history": [list(map(float, _numbers(p))) for p in fitted.history_],
    }
    tensors = {"cut.offset": cut.offset.astype(np.float64), "cut.coef": cut.coef.astype(np.float64)}
    if isinstance(model, CoupledSVC):
        tensors["rarity"] = model.rarity_.astype(np.float64)
    if model.form_ == "indicator":
        place = {node: v for v, node in enumerate(model.taxonomy_.ids)}
        tensors["label.columns"] = np.array([place[str(label)] for label in model.columns_], dtype=np.int32)
    return header, tensors


def has_loss(model: LabelSetModel) -> bool:
    """Say whether the model's loss is one between classes."""
    return isinstance(getattr(model, "_loss", None), Loss)


def make_sets_model(kind: str, fields: Fields, taxonomy: Taxonomy, apart: dict[str, Any]) -> Any:
    """Make the estimator again, not yet fitted; `apart` are the settings that were stored by what they say."""
    settings = fields.mapping("settings")
    estimator = ESTIMATORS[kind]
    if estimator is CoupledSVC:
        settings = {"prior": 0.0} | settings  # older files have none
    known = set(estimator().get_params()) - {*NOT_STORED, *apart}
    if set(settings) != known:
        raise ModelFileError(f"{fields.path}: the settings are not those of {kind}; train the model again")
    return estimator(taxonomy, **settings, **apart)


def set_fitted(model: Any, fields: Fields, tensors: Tensors, taxonomy: Taxonomy, classes: npt.NDArray[Any]) -> None:
    """Set classes and where answers end, and all that follows from these; weights come later."""
    where, form = fields.path, fields.text("form", choices=FORMS)
    columns = None
    if form == "indicator":
        nodes = take(tensors, "label.columns", np.int32, [None], where)
        if not len(nodes) or nodes.min() < 0 or nodes.max() >= len(taxonomy):
            raise ModelFileError(f"{where}: the columns of labels must be nodes of the taxonomy; train the model again")
        columns = np.array([taxonomy.ids[v] for v in nodes])
        columns = columns.astype(classes.dtype) if classes.dtype.kind in "iu" else columns
        if not np.isin(classes, columns).all():
            raise ModelFileError(f"{where}: a class is not among the columns of labels; train the model again")
    model._set_classes(taxonomy, classes, form, columns)
    offset, coef = (take(tensors, f"cut.{name}", np.float64, [None], where) for name in ("offset", "coef"))
    n_classes = len(classes)
    if len(offset) not in (1, n_classes) or len(coef) not in (0, n_classes):
        raise ModelFileError(
            f"{where}: the cut has {len(offset)} offsets and {len(coef)} coefficients for {n_classes} classes; train "
            "the model again"
        )
    if np.isnan(offset).any() or not np.isfinite(coef).all():
        raise ModelFileError(f"{where}: the cut has values that are no numbers; train the model again")
    model.cut_ = Cut(
        offset.copy(), coef.copy(), fields.integer("top", minimum=0), never_empty=fields.boolean("never_empty")
    )
    if isinstance(model, CoupledSVC):
        model.rarity_ = np.zeros(n_classes)
        if model.prior > 0:
            model.rarity_ = take(tensors, "rarity", np.float64, [n_classes], where).copy()
            if not np.isfinite(model.rarity_).all():
                raise ModelFileError(f"{where}: the rarities have values that are no numbers; train the model again")
    model.stopped_ = fields.text("stopped")
    model.n_iter_ = fields.integer("n_iter", minimum=0)


def set_attributes(model: Any) -> None:
    """Set what classes share, from taxonomy and classes, as `fit` does."""
    if isinstance(model, CoupledSVC):
        model._set_attributes()
    elif isinstance(model, MinOverPerceptron):
        model._set_outputs()
    else:
        model._set_outputs(model.taxonomy_, model.nodes_)


def set_weights(model: Any, weights: sparse.csr_array) -> None:
    """Set the weights, features and a constant, if there is one, by attributes."""
    if hasattr(model, "_set_weights"):
        model._set_weights(weights)
    else:
        model._scorer = Scorer(rows_from_csr(weights, len(model._outputs.v2)), model._outputs)
    model.n_features_in_ = weights.shape[0] - bool(getattr(model, "fit_intercept", False))


def set_course(model: Any, fields: Fields) -> None:
    """Set how the training went."""
    empty = fields.values.get("history") == []
    rows = [] if empty else fields.numbers("history", width=COURSE)
    if isinstance(model, MinOverPerceptron):
        model.history_ = tuple(MinOverProgress(int(row[0]), *row[1:]) for row in rows)
        last = model.history_[-1] if rows else MinOverProgress(0, float("inf"), 0.0, 0.0, 0.0)
        model.margin_, model.margin_bound_ = last.margin, last.bound
        return
    model.history_ = tuple(Progress(int(row[0]), *row[1:]) for row in rows)
    if not rows:
        raise ModelFileError(f"{fields.path}: field 'model.history' must not be empty; train the model again")
    final = model.history_[-1]
    model.primal_objective_, model.dual_objective_, model.gap_ = final.p_obj, final.d_obj, final.gap


def _numbers(progress: Any) -> tuple[Any, ...]:
    return dataclasses.astuple(progress) if dataclasses.is_dataclass(progress) else tuple(progress)  # type: ignore[arg-type]
