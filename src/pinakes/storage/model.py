"""Models as files: what goes into the bundle, and every check on the way back.

A file holds the taxonomy, the classes, the weights, the features with their vocabulary, the settings, and how the
training went. Weights are stored by taxonomy node, not by the internal numbering of attributes: column k of the weight
matrix belongs to taxonomy node ``columns[k]``, or, where that is negative, to class ``-columns[k] - 1`` alone. The dual
variables are stored only with the training documents, where these are kept (storage/kept.py).
"""

from __future__ import annotations

import datetime
from os import PathLike, fspath
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes import __version__
from pinakes.decisions import Classifier
from pinakes.decisions.held_out import has_sets
from pinakes.documents import TextFeatures
from pinakes.errors import InputError, ModelFileError, ParameterError
from pinakes.models import TaxonomySVC
from pinakes.models.closed_outputs import ClosedOutputModel
from pinakes.models.joint_machine import HINGES
from pinakes.models.label_set_model import LabelSetModel
from pinakes.solvers.ascent import Progress
from pinakes.storage import label_sets
from pinakes.storage.bundle import Tensors, read_bundle, read_header, write_bundle
from pinakes.storage.calibration import calibration_from_state, calibration_state
from pinakes.storage.closed_outputs import ESTIMATORS, closed_from_state, closed_state
from pinakes.storage.kept import kept_from_state, kept_state
from pinakes.storage.schema import Fields, check_csr, pack_texts, take, unpack_texts
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.attributes import NODE_WEIGHTS, ClassAttributes
from pinakes.taxonomy.loss import Loss, MatrixLoss, NodeLoss, make_loss

KIND = "classifier"
# 1: a TaxonomySVC, and still written for one; 2: any estimator, named in the header; 3: a calibrated classifier
VERSION = 3
COLDEST = 1e-6  # lowest temperature
KERNELS = ("linear",)  # models that are their weights
Path = str | PathLike[str]
Model = TaxonomySVC | ClosedOutputModel | LabelSetModel


def save(model: Classifier | Model, path: Path) -> None:
    """Write a fitted model to one file; an old file at `path` stays whole until the new one is complete.

    Examples
    --------
    >>> import os, tempfile
    >>> from pinakes import TaxonomySVC, load, save
    >>> m = TaxonomySVC().fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    >>> file = os.path.join(tempfile.mkdtemp(), "m.pinakes")
    >>> save(m, file)
    >>> load(file).predict([[0.0, 1.0]]).tolist()
    ['b']
    """
    model = getattr(model, "best_estimator_", model)  # of a TaxonomySVCCV
    classifier = model if isinstance(model, Classifier) else Classifier(model, temperature=0.0)
    if not isinstance(classifier.model, Model):
        raise ParameterError(
            f"`save` takes a fitted Classifier or TaxonomySVC, got {type(model).__name__}; of a Pipeline save "
            "Classifier(its TaxonomySVC, its TextFeatures)"
        )
    if not hasattr(classifier.model, "classes_"):
        raise ParameterError(f"`save` takes a fitted model: call `fit` of this {type(classifier.model).__name__} first")
    header: dict[str, Any] = {
        "kind": KIND,
        "version": 3 if classifier.calibration is not None else 1 if isinstance(classifier.model, TaxonomySVC) else 2,
        "pinakes": __version__,
        "written": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "wrapped": isinstance(model, Classifier),
        "temperature": classifier.temperature,
        "summary": classifier.summary,
        "features": None,
    }
    tensors: Tensors = {}
    if classifier.features is not None:
        header["features"], arrays = classifier.features.to_state()
        tensors |= {f"features.{name}": values for name, values in arrays.items()}
    if classifier.documents is not None:
        tensors |= kept_state(classifier.documents)
    if classifier.calibration is not None:
        header["calibration"], arrays = calibration_state(classifier)
        tensors |= arrays
    if isinstance(classifier.model, TaxonomySVC):
        header["model"], arrays = _svc_state(classifier.model)
    else:
        header["estimator"] = type(classifier.model).__name__
        if isinstance(classifier.model, LabelSetModel):
            header["model"], arrays = _sets_state(classifier.model)
        else:
            header["model"], arrays = _closed_state(classifier.model)
    write_bundle(path, header, tensors | arrays)


def load(path: Path) -> Classifier | Model:
    """Read a model from a file; what is damaged, inconsistent or too new is refused with a ModelFileError.

    Gives what was saved: a Classifier, or the bare estimator.
    """
    header, tensors = read_bundle(path, kind=KIND, newest=VERSION)
    fields = Fields(header, path)
    for name in ("pinakes", "written"):
        fields.text(name)
    wrapped = fields.boolean("wrapped")
    temperature = fields.number("temperature", minimum=COLDEST if wrapped else 0.0)
    summary = fields.mapping("summary")
    try:
        model: Model
        if "estimator" in fields:
            kind = fields.text("estimator", choices=[*ESTIMATORS, *label_sets.ESTIMATORS])
            if kind in label_sets.ESTIMATORS:
                model = _sets_from_state(kind, fields.fields("model"), tensors)
            else:
                model = _closed_from_state(kind, fields.fields("model"), tensors)
        else:
            model = _svc_from_state(fields.fields("model"), tensors)
        features = _read_features(fields, tensors)
        documents = kept_from_state(tensors, model, fspath(path))
        calibration, coverage = calibration_from_state(fields, tensors, model.taxonomy_.depth, has_sets(model))
    except ModelFileError as error:
        message = str(error)
        raise ModelFileError(message if message.startswith(fspath(path)) else f"{fspath(path)}: {message}") from None
    except InputError as error:
        raise ModelFileError(f"{fspath(path)}: the model is inconsistent: {error}; train it again") from None
    if features is not None and len(features.idf_) != model.n_features_in_:
        raise ModelFileError(
            f"{fspath(path)}: the features make {len(features.idf_)} columns and the weights have "
            f"{model.n_features_in_}; train the model again"
        )
    return Classifier(model, features, temperature, summary, documents, calibration, coverage) if wrapped else model


def origin(path: Path) -> dict[str, str]:
    """Say when a model file was written (`written`, ISO 8601 in UTC) and by which version (`pinakes`)."""
    fields = Fields(read_header(path, kind=KIND, newest=VERSION), path)
    return {name: fields.text(name) for name in ("written", "pinakes")}


def _read_features(fields: Fields, tensors: Tensors) -> TextFeatures | None:
    arrays = {name.removeprefix("features."): v for name, v in tensors.items() if name.startswith("features.")}
    if "features" in fields and fields.values["features"] is None and not arrays:
        return None
    return TextFeatures.from_state(fields.mapping("features"), arrays)


# -- TaxonomySVC -------------------------------------------------------------------------------------------


def _svc_state(model: TaxonomySVC) -> tuple[dict[str, Any], Tensors]:
    taxonomy, attributes = model.taxonomy_, model.attributes_
    if model.kernel not in KERNELS:
        raise ParameterError(f"a model with the kernel {model.kernel!r} cannot be stored, only one that is linear")
    if attributes.values is not None:
        raise ParameterError(
            "a model with `class_attributes` or `class_kernel` cannot be stored; store its `coef_` and `intercept_`"
        )
    stored = ("C", "tol", "max_iter", "solver", "kernel", "fit_intercept", "intercept_scaling")
    settings = {name: getattr(model, name) for name in stored}
    settings = {name: v.item() if isinstance(v, np.generic) else v for name, v in settings.items()}
    loss, tensors = _loss_state(model._loss)
    class_weight: Any = model.class_weight
    if class_weight is not None and not isinstance(class_weight, str):
        class_weight = {str(label): float(v) for label, v in dict(class_weight).items()}
    weights = model._all_weights()
    header = {
        **settings,
        "loss": loss,
        "node_weight": _node_weight_state(model.node_weight),
        "class_weight": class_weight,
        "labels": _kind_of_labels(model.classes_),
        "n_iter": model.n_iter_,
        "history": [[p.n_iter, p.p_obj, p.d_obj, p.gap, p.seconds] for p in model.history_],
    }
    if model.hinge != "linear":  # which is what a file says by not saying anything
        header["hinge"] = model.hinge
    return header, tensors | _taxonomy_state(taxonomy) | _weights_state(attributes, weights)


def _node_weight_state(node_weight: Any) -> Any:
    return node_weight if isinstance(node_weight, str) else {str(z): float(v) for z, v in dict(node_weight).items()}


def _weights_state(attributes: ClassAttributes, weights: sparse.csr_array) -> Tensors:
    return {
        "classes": attributes.class_node,
        "columns": _columns(attributes),
        "weights.data": weights.data,
        "weights.indices": weights.indices.astype(np.int32),
        "weights.indptr": weights.indptr.astype(np.int64),
    }


def _kind_of_labels(classes: npt.NDArray[Any]) -> str:
    kind = classes.dtype.kind
    if kind not in "iuUO":
        raise ParameterError(f"labels must be texts or whole numbers to be stored, got {classes.dtype}")
    if kind == "O" and not all(isinstance(label, str) for label in classes):
        raise ParameterError("labels must be texts or whole numbers to be stored, got other objects")
    return "integer" if kind in "iu" else "text"


def _taxonomy_state(taxonomy: Taxonomy) -> Tensors:
    ids, id_offsets = pack_texts(taxonomy.ids)
    names, name_offsets = pack_texts(taxonomy.names)
    return {
        "taxonomy.ids": ids,
        "taxonomy.id_offsets": id_offsets,
        "taxonomy.names": names,
        "taxonomy.name_offsets": name_offsets,
        "taxonomy.edges": taxonomy.edges(),
    }


def _closed_state(model: ClosedOutputModel) -> tuple[dict[str, Any], Tensors]:
    header, tensors = closed_state(model)
    header["labels"] = _kind_of_labels(model.classes_)
    return header, tensors | _taxonomy_state(model.taxonomy_) | {"classes": model._class_node.astype(np.int32)}


def _closed_from_state(kind: str, fields: Fields, tensors: Tensors) -> ClosedOutputModel:
    taxonomy = _read_taxonomy(tensors, fields.path)
    nodes = take(tensors, "classes", np.int32, [None], fields.path)
    if not len(nodes) or nodes.min() < 0 or nodes.max() >= len(taxonomy) or len(np.unique(nodes)) < len(nodes):
        raise ModelFileError(f"{fields.path}: the classes must be different nodes of the taxonomy")
    ascending = fields.text("form") != "indicator"  # whose columns stand in any order
    model = closed_from_state(kind, fields, tensors, taxonomy, _read_labels(fields, taxonomy, nodes, ascending))
    assert isinstance(model, ClosedOutputModel)
    return model


def _sets_state(model: Any) -> tuple[dict[str, Any], Tensors]:
    header, tensors = label_sets.sets_state(model)
    if model.attributes_.values is not None:
        raise ParameterError("a model with `class_attributes` or `class_kernel` cannot be stored; store its `coef_`")
    header |= {"labels": _kind_of_labels(model.classes_), "node_weight": _node_weight_state(model.node_weight)}
    if label_sets.has_loss(model):
        header["loss"], arrays = _loss_state(model._loss)
        tensors |= arrays
    weights = model._scorer.weights(model.attributes_.n_attributes)
    return header, tensors | _taxonomy_state(model.taxonomy_) | _weights_state(model.attributes_, weights)


def _sets_from_state(kind: str, fields: Fields, tensors: Tensors) -> LabelSetModel:
    taxonomy = _read_taxonomy(tensors, fields.path)
    nodes = take(tensors, "classes", np.int32, [None], fields.path)
    if not len(nodes) or nodes.min() < 0 or nodes.max() >= len(taxonomy) or len(np.unique(nodes)) < len(nodes):
        raise ModelFileError(f"{fields.path}: the classes must be different nodes of the taxonomy")
    apart = {"node_weight": _read_node_weight(fields)}
    if "loss" in fields:
        apart["loss"] = _read_loss(fields, tensors, taxonomy)
    model = label_sets.make_sets_model(kind, fields, taxonomy, apart)
    label_sets.set_fitted(model, fields, tensors, taxonomy, _read_labels(fields, taxonomy, nodes))
    label_sets.set_attributes(model)
    constant = bool(getattr(model, "fit_intercept", False))
    weights = _read_weights(tensors, model.attributes_, len(taxonomy), fields.path, constant)
    label_sets.set_weights(model, weights)
    label_sets.set_course(model, fields)
    assert isinstance(model, LabelSetModel)
    return model


def _columns(attributes: ClassAttributes) -> npt.NDArray[np.int32]:
    columns = np.full(attributes.n_attributes, np.iinfo(np.int32).min, dtype=np.int32)
    inside = np.flatnonzero(attributes.node_attribute >= 0)[::-1]  # of joined nodes the highest one stays
    columns[attributes.node_attribute[inside]] = inside
    columns[attributes.own] = -1 - np.arange(attributes.n_classes)
    return columns


def _loss_state(loss: Loss) -> tuple[str, Tensors]:
    if isinstance(loss, MatrixLoss):
        return "matrix", {"loss.matrix": loss.matrix, "loss.classes": loss.classes.astype(np.int64)}
    if not isinstance(loss, NodeLoss):
        return "zero-one", {}
    if (loss.miss == 0.5).all() and (loss.false == 0.5).all():
        return "tree", {}
    return "costs", {"loss.miss": loss.miss, "loss.false": loss.false}


def _svc_from_state(fields: Fields, tensors: Tensors) -> TaxonomySVC:
    where = fields.path
    taxonomy = _read_taxonomy(tensors, where)
    n_nodes = len(taxonomy)
    nodes = take(tensors, "classes", np.int32, [None], where)
    n_classes = len(nodes)
    if n_classes < 2 or nodes.min() < 0 or nodes.max() >= n_nodes or len(np.unique(nodes)) < n_classes:
        raise ModelFileError(f"{where}: the classes must be two or more different nodes of the taxonomy")
    model = TaxonomySVC(
        taxonomy,
        C=fields.number("C", above=0),
        loss=_read_loss(fields, tensors, taxonomy),
        node_weight=_read_node_weight(fields),
        **_read_weighting(fields, taxonomy),
        hinge=fields.text("hinge", choices=HINGES) if "hinge" in fields else "linear",
        tol=fields.number("tol", above=0),
        max_iter=fields.integer("max_iter", minimum=1),
        solver=fields.text("solver"),
        kernel=fields.text("kernel", choices=KERNELS),
    )
    model.classes_ = _read_labels(fields, taxonomy, nodes)
    model._set_classes(taxonomy)
    model._set_weights(_read_weights(tensors, model.attributes_, n_nodes, where, model._has_constant()))
    model.history_ = _read_history(fields)
    last = model.history_[-1]
    model.primal_objective_, model.dual_objective_, model.gap_ = last.p_obj, last.d_obj, last.gap
    model.n_iter_ = fields.integer("n_iter", minimum=last.n_iter, maximum=last.n_iter)
    return model


def _read_taxonomy(tensors: Tensors, where: str) -> Taxonomy:
    ids, names = (
        unpack_texts(
            take(tensors, f"taxonomy.{what}s", np.uint8, [None], where),
            take(tensors, f"taxonomy.{what}_offsets", np.int64, [None], where),
            f"taxonomy.{what}s",
            where,
        )
        for what in ("id", "name")
    )
    if len(ids) != len(names):
        raise ModelFileError(f"{where}: the taxonomy has {len(ids)} ids and {len(names)} names; train the model again")
    edges = take(tensors, "taxonomy.edges", np.int32, [None, 2], where)
    taxonomy = Taxonomy(ids, edges, dict(zip(ids, names, strict=True)))
    if list(taxonomy.ids) != ids:
        raise ModelFileError(f"{where}: the taxonomy's nodes are not ordered from top to bottom; train the model again")
    return taxonomy


def _read_labels(
    fields: Fields, taxonomy: Taxonomy, nodes: npt.NDArray[np.int32], ascending: bool = True
) -> npt.NDArray[Any]:
    texts = [taxonomy.ids[v] for v in nodes]
    if fields.text("labels", choices=["text", "integer"]) == "integer":
        try:
            labels = np.array([int(text) for text in texts], dtype=np.int64)
        except (ValueError, OverflowError):
            raise ModelFileError(f"{fields.path}: the classes must be whole numbers, and are not") from None
    else:
        labels = np.array(texts)
    if ascending and not (labels[1:] > labels[:-1]).all():
        raise ModelFileError(f"{fields.path}: the classes are not in ascending order; train the model again")
    return labels


def _read_loss(fields: Fields, tensors: Tensors, taxonomy: Taxonomy) -> Any:
    kind = fields.text("loss", choices=["tree", "zero-one", "costs", "matrix"])
    if kind == "costs":
        miss = take(tensors, "loss.miss", np.float64, [len(taxonomy)], fields.path)
        false = take(tensors, "loss.false", np.float64, [len(taxonomy)], fields.path)
        for costs in (miss, false):
            if not (np.isfinite(costs).all() and (costs >= 0).all()):
                raise ModelFileError(f"{fields.path}: costs of nodes must be finite and >= 0; train the model again")
        return NodeLoss(taxonomy, miss, false)
    if kind == "matrix":
        classes = take(tensors, "loss.classes", np.int64, [None], fields.path)
        matrix = take(tensors, "loss.matrix", np.float64, [len(classes), len(classes)], fields.path)
        if not len(classes) or classes.min() < 0 or classes.max() >= len(taxonomy):
            raise ModelFileError(
                f"{fields.path}: the loss matrix is of nodes that are not there; train the model again"
            )
        return make_loss(matrix, taxonomy, [taxonomy.ids[v] for v in classes])
    return kind


def _read_node_weight(fields: Fields) -> Any:
    if isinstance(fields.values.get("node_weight"), dict):
        weights = fields.fields("node_weight")
        return {node: weights.number(node, minimum=0) for node in weights.values}
    return fields.text("node_weight", choices=list(NODE_WEIGHTS))


def _read_weighting(fields: Fields, taxonomy: Taxonomy) -> dict[str, Any]:
    """Read class weights and bias; a file of before there were any has none of the three fields."""
    if not any(name in fields for name in ("class_weight", "fit_intercept", "intercept_scaling")):
        return {}
    return {
        "class_weight": _read_class_weight(fields, taxonomy),
        "fit_intercept": fields.boolean("fit_intercept"),
        "intercept_scaling": fields.number("intercept_scaling", above=0),
    }


def _read_class_weight(fields: Fields, taxonomy: Taxonomy) -> Any:
    if "class_weight" in fields and fields.values["class_weight"] is None:
        return None
    given = fields.values.get("class_weight")
    if isinstance(given, str):
        return fields.text("class_weight", choices=["balanced"])
    weights = fields.fields("class_weight")
    if not all(label in taxonomy for label in weights.values):
        raise ModelFileError(f"{fields.path}: class weights name a label that is not in the taxonomy")
    whole = fields.text("labels", choices=["text", "integer"]) == "integer"
    try:
        return {int(label) if whole else label: weights.number(label, minimum=0) for label in weights.values}
    except ValueError:
        raise ModelFileError(f"{fields.path}: class weights must name whole numbers, and do not") from None


def _read_weights(
    tensors: Tensors, attributes: ClassAttributes, n_nodes: int, where: str, has_constant: bool
) -> sparse.csr_array:
    """Read the weights and renumber their columns from nodes to attributes; the last row may be the constant's."""
    columns = take(tensors, "columns", np.int32, [None], where)
    if len(columns) and (columns.min() < -attributes.n_classes or columns.max() >= n_nodes):
        raise ModelFileError(f"{where}: the weights have columns for nodes that are not there; train the model again")
    attribute = np.where(
        columns < 0,
        attributes.own[np.where(columns < 0, -1 - columns, 0)],
        attributes.node_attribute[np.where(columns < 0, 0, columns)],
    )
    if (attribute < 0).any() or len(np.unique(attribute)) < len(attribute):
        raise ModelFileError(
            f"{where}: the weights have a column for a node above no class, or two for one; train the model again"
        )
    indptr = take(tensors, "weights.indptr", np.int64, [None], where)
    indices = take(tensors, "weights.indices", np.int32, [None], where)
    kind = np.float64 if tensors.get("weights.data", indptr).dtype == np.float64 else np.float32
    data = take(tensors, "weights.data", kind, [None], where)
    n_features = len(indptr) - 1
    if n_features < 1 + has_constant:
        raise ModelFileError(f"{where}: the weights are of no features; train the model again")
    check_csr(indptr, indices, data, n_features, len(columns), "weights", where)
    shape = (n_features, attributes.n_attributes)
    weights = sparse.csr_array((data.copy(), attribute[indices].astype(np.int32), indptr), shape=shape)
    weights.sort_indices()
    if not weights.has_canonical_format:
        raise ModelFileError(f"{where}: the weights have two values in one place; train the model again")
    return weights


def _read_history(fields: Fields) -> tuple[Progress, ...]:
    return tuple(Progress(int(row[0]), *row[1:]) for row in fields.numbers("history", width=5))
