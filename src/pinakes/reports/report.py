"""Everything that a report shows, gathered as plain lists, numbers and texts."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from pinakes import __version__, metrics
from pinakes.decisions import Classifier
from pinakes.errors import ParameterError
from pinakes.reports.confidence import N_BINS
from pinakes.reports.confusions import short, worst_confusions
from pinakes.reports.counts import intervals
from pinakes.reports.evaluation import Evaluation
from pinakes.reports.nodes import drawn_parent, level_rows, node_counts
from pinakes.reports.trust import back_off, reliability, risk_by_level

LONGEST_NAME = 120
MOST_STEPS = 400  # points of a training curve
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
HIDDEN = ("taxonomy", "n_jobs", "verbose")  # settings that say nothing about the result


@dataclass(frozen=True)
class Report:
    """What a report shows; `data` is what the page is made from, and goes into JSON as it is."""

    title: str
    data: dict[str, Any]


def make_report(
    evaluation: Evaluation,
    classifier: Classifier,
    *,
    title: str = "",
    commands: Mapping[str, str] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Report:
    """Gather a report on one model.

    Parameters
    ----------
    evaluation : Evaluation
        With confidences: ``evaluate(classifier, corpus, confidences=True)``.
    classifier : Classifier
        The model, for its settings and how its training went.
    title : str, default=""
        What stands above the report.
    commands : mapping, optional
        What was run, by a word for it: "train", "evaluate".
    facts : mapping, optional
        More to say about the run, such as the name and the date of the model file.

    Examples
    --------
    >>> from pinakes import TaxonomySVC, Taxonomy
    >>> from pinakes.documents import Corpus, Document
    >>> t = Taxonomy.from_paths(["animal/cat", "plant/tree"])
    >>> c = Classifier(TaxonomySVC(t)).fit([[1.0, 0.0], [0.0, 1.0]], ["animal/cat", "plant/tree"])
    >>> vector = (np.array([0]), np.array([1.0]))
    >>> corpus = Corpus.from_documents([Document("d", None, ("animal/cat",), vector)], n_features=2)
    >>> from pinakes.reports import evaluate
    >>> make_report(evaluate(c, corpus, confidences=True), c).data["measures"][0]["name"]
    'accuracy'
    """
    if evaluation.confidences is None:
        raise ParameterError("a report needs to know how sure the model was: evaluate(…, confidences=True)")
    counts = node_counts(evaluation)
    data = {
        "sets": evaluation.has_sets,
        "measures": measure_rows(evaluation),
        "levels": level_rows(evaluation, counts),
        "nodes": _nodes(evaluation, counts),
        "confusions": worst_confusions(evaluation),
        "reliability": {
            "category": reliability(evaluation.confidences.category),
            "parent": reliability(evaluation.confidences.parent),
            "width": 1 / N_BINS,
        },
        "risk": risk_by_level(evaluation),
        "back_off": back_off(evaluation),
        "training": training_curve(classifier.model),
        "data": data_rows(evaluation, classifier),
        "commands": dict(commands or {}),
        "facts": [[str(name), str(value)] for name, value in {**(facts or {}), **_facts(classifier)}.items()],
    }
    return Report(title or "Report", _tidy(data))


def measure_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Give every measure with its 95 % interval over documents, where it has one."""
    found = intervals(evaluation.means, evaluation.counts)
    rows = []
    for name, value in evaluation.measures.items():
        metric, interval = metrics.METRICS[name], found.get(name)
        rows.append(
            {
                "name": name,
                "value": float(value),
                "low": None if interval is None else interval.low,
                "high": None if interval is None else interval.high,
                "more_is_better": metric.greater_is_better,
                "bounded": bool(np.isfinite(metric.range[1])),
            }
        )
    return rows


def training_curve(model: Any) -> dict[str, Any]:
    """Give the history of a fitted model: objectives and gap, or the margin of a perceptron."""
    history: Sequence[Any] = tuple(getattr(model, "history_", ()) or ())
    if len(history) > MOST_STEPS:
        history = [history[k] for k in np.unique(np.linspace(0, len(history) - 1, MOST_STEPS).astype(int))]
    if not history or not all(hasattr(step, "n_iter") for step in history):
        return {"names": [], "round": [], "seconds": [], "values": []}
    known = ("p_obj", "d_obj", "gap", "margin", "norm")
    names = [name for name in known if hasattr(history[0], name)]
    return {
        "names": names,
        "round": [int(step.n_iter) for step in history],
        "seconds": [float(getattr(step, "seconds", 0.0)) for step in history],
        "values": [[float(getattr(step, name)) for step in history] for name in names],
    }


def data_rows(evaluation: Evaluation, classifier: Classifier) -> list[list[str]]:
    """Describe documents and taxonomy: what, how many; texts for people."""
    corpus, taxonomy = evaluation.corpus, evaluation.taxonomy
    if corpus.texts is not None:
        what, sizes = "Words a document", [len(text.split()) for text in corpus.texts]
    else:
        assert corpus.X is not None
        what, sizes = "Features a document", np.diff(corpus.X.indptr).tolist()
    n_labels = np.array([len(labels) for labels in corpus.labels])
    seen = {label for labels in corpus.labels for label in labels}
    levels = taxonomy.levels[[taxonomy.index(label) for label in sorted(seen)]]
    rows = [
        ["Documents tested", f"{len(corpus):,}" + (f" ({len(corpus.skipped):,} skipped)" if corpus.skipped else "")],
        ["Categories in them", f"{len(seen):,}, at level {_span(levels)} of the taxonomy"],
        ["Labels a document", f"{n_labels.mean():.2f} on average, {n_labels.max()} at most"],
        [what, _quartiles(sizes)],
        ["Documents with only unseen labels", f"{evaluation.n_unseen:,}; they count as mistakes"],
        ["Categories that the model knows", f"{len(evaluation.classes):,}"],
        [
            "Taxonomy",
            f"{len(taxonomy):,} nodes, {len(taxonomy.leaves):,} leaves, "
            f"{len(taxonomy.roots):,} root{'' if len(taxonomy.roots) == 1 else 's'}, "
            f"{'a tree' if taxonomy.is_tree else 'a lattice'} of {taxonomy.depth} levels",
        ],
    ]
    told = {"documents": "Documents trained on", "features": "Features"}
    return rows + [[told[k], f"{v:,}"] for k, v in classifier.summary.items() if k in told and isinstance(v, int)]


def _span(levels: Any) -> str:
    low, high = int(levels.min()), int(levels.max())
    return f"{low}" if low == high else f"{low} to {high}"


def _quartiles(sizes: Sequence[int]) -> str:
    low, middle, high = np.quantile(sizes, [0.25, 0.5, 0.75])
    return f"{middle:,.0f} in the middle; half of them {low:,.0f} to {high:,.0f}; {max(sizes):,} at most"


def _nodes(evaluation: Evaluation, counts: dict[str, list[int]]) -> dict[str, Any]:
    taxonomy = evaluation.taxonomy
    several = np.flatnonzero(taxonomy.parents.sizes() > 1)
    known = set(evaluation.classes)
    return {
        "id": list(taxonomy.ids),
        "name": [
            "" if name == node else short(name, LONGEST_NAME)
            for node, name in zip(taxonomy.ids, taxonomy.names, strict=True)
        ],
        "parent": drawn_parent(taxonomy),
        "known": [int(node in known) for node in taxonomy.ids],
        "several": {str(v): taxonomy.parents.of(int(v)).tolist() for v in several},
        **counts,
    }


def _facts(classifier: Classifier) -> dict[str, Any]:
    model = classifier.model
    settings = {k: v for k, v in model.get_params(deep=False).items() if k not in HIDDEN and v is not None}
    shown = ", ".join(
        f"{name}={v if isinstance(v, str | int | float) else type(v).__name__}" for name, v in settings.items()
    )
    summary = {k: v for k, v in classifier.summary.items() if k in ("seed", "gap", "rounds", "seconds_training")}
    if "gap" in summary:
        summary["gap"] = f"{100 * summary['gap']:.4g} %"
    names = {
        "seed": "Seed of the training",
        "gap": "Gap reached",
        "rounds": "Rounds",
        "seconds_training": "Seconds of training",
    }
    return {
        "Method": type(model).__name__,
        "Settings": shown,
        **{names[k]: v for k, v in summary.items()},
        "Seed of the intervals": 0,
        "Versions": ", ".join(
            [f"Pinakes {__version__}", f"Python {platform.python_version()}"]
            + [f"{name} {version(name)}" for name in LIBRARIES]
        ),
        "System": f"{platform.system()} {platform.machine()}",
        "Report of": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _tidy(value: Any) -> Any:
    """Round numbers to six significant digits and replace what is not finite by None, all the way down."""
    if isinstance(value, dict):
        return {name: _tidy(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_tidy(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value
