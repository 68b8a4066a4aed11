"""`pinakes info`: what is inside a model file."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from pinakes.cli.console import write_table
from pinakes.cli.options import Verb, example, output_format

TRAINING = {
    "primal_objective": "primal_objective_",
    "dual_objective": "dual_objective_",
    "gap": "gap_",
    "rounds": "n_iter_",
}


@click.command("info", cls=Verb, epilog=example("pinakes info model.pinakes --format table"))
@click.argument("model", metavar="MODEL")
@output_format(["json", "table"])
def command(model: str, output: str) -> None:
    """Show what is inside a model file: method, settings, taxonomy, features, and how training went."""
    from pinakes.cli.models import load_classifier

    result = describe(load_classifier(model), model)
    if output == "json":
        json.dump(result, sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
        return
    rows = []
    for part, values in result.items():
        if isinstance(values, dict):
            rows += [(f"{part}.{name}", value) for name, value in values.items()]
        else:
            rows.append((part, values))
    write_table(["", "value"], rows)


def describe(classifier: Any, path: str) -> dict[str, Any]:
    """Gather what people ask of a model file."""
    model = classifier.model
    taxonomy = model.taxonomy_
    settings = {name: v for name, v in model.get_params().items() if name not in ("taxonomy", "n_jobs", "random_state")}
    return {
        "file": path,
        "bytes": os.path.getsize(path),
        "method": type(model).__name__,
        "documents": classifier.kind,
        "settings": {
            name: v if v is None or isinstance(v, str | int | float) else type(v).__name__
            for name, v in settings.items()
        },
        "taxonomy": {
            "nodes": len(taxonomy),
            "leaves": len(taxonomy.leaves),
            "roots": len(taxonomy.roots),
            "depth": taxonomy.depth,
            "shape": "tree" if taxonomy.is_tree else "lattice",
        },
        "classes": len(model.classes_),
        "features": {
            "columns": model.n_features_in_,
            **({} if classifier.features is None else classifier.features.to_state()[0]),
        },
        "weights": int(model.weights_.nnz) if hasattr(model.weights_, "nnz") else int((model.weights_ != 0).sum()),
        "temperature": classifier.temperature,
        "calibration": describe_calibration(classifier),
        "training": {
            **{
                name: getattr(model, place)
                for name, place in TRAINING.items()
                if hasattr(model, place)  # a perceptron has no objective
            },
            **classifier.summary,
        },
    }


def describe_calibration(classifier: Any) -> dict[str, Any]:
    """Say how scores become probabilities, and how many documents coverage rests on."""
    calibration, coverage = classifier.calibration, classifier.coverage
    return {
        "kind": "none" if calibration is None else type(calibration).__name__,
        "documents": 0 if coverage is None else len(coverage.sets),
    }
