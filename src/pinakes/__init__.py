"""Pinakes puts documents into a taxonomy."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0.dev0"

# name -> module; loaded on first use, so that `import pinakes` and `pinakes --help` answer at once
_LAZY = {
    "CoupledSVC": "pinakes.models",
    "HLSI": "pinakes.models",
    "HierarchyRidge": "pinakes.models",
    "HardPerceptron": "pinakes.models",
    "MinOverPerceptron": "pinakes.models",
    "StochasticPerceptron": "pinakes.models",
    "StructuredSVC": "pinakes.models",
    "Taxonomy": "pinakes.taxonomy",
    "TaxonomyRankSVC": "pinakes.models",
    "TaxonomySVC": "pinakes.models",
    "TaxonomySVCCV": "pinakes.selection",
    "datasets": "pinakes.datasets",
    "load": "pinakes.storage",
    "metrics": "pinakes.metrics",
    "save": "pinakes.storage",
}

__all__ = [  # noqa: RUF022 - in plain order
    "CoupledSVC",
    "HLSI",
    "HardPerceptron",
    "HierarchyRidge",
    "MinOverPerceptron",
    "StochasticPerceptron",
    "StructuredSVC",
    "Taxonomy",
    "TaxonomyRankSVC",
    "TaxonomySVC",
    "TaxonomySVCCV",
    "__version__",
    "datasets",
    "load",
    "metrics",
    "save",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'pinakes' has no attribute {name!r}")
    module = importlib.import_module(_LAZY[name])
    return module if _LAZY[name].endswith(f".{name}") else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
