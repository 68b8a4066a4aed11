"""The package as a whole: its public names, what importing costs, and docstrings that agree with signatures."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pinakes

SOURCE = Path(pinakes.__file__).parent

# what users may rely on; names come in here as their estimators do
DESIGNED = {
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
    "datasets",
    "load",
    "metrics",
    "save",
}
PRESENT = {
    "CoupledSVC",
    "HLSI",
    "HardPerceptron",
    "HierarchyRidge",
    "StochasticPerceptron",
    "StructuredSVC",
    "Taxonomy",
    "TaxonomyRankSVC",
    "TaxonomySVC",
    "TaxonomySVCCV",
    "datasets",
    "load",
    "metrics",
    "save",
}


def estimators() -> list[type]:
    from pinakes.documents import TextFeatures
    from pinakes.models import (
        HLSI,
        CoupledSVC,
        HardPerceptron,
        HierarchyRidge,
        MinOverPerceptron,
        StochasticPerceptron,
        StructuredSVC,
        TaxonomyRankSVC,
        TaxonomySVC,
    )
    from pinakes.selection import TaxonomySVCCV

    svms = [TaxonomySVC, TaxonomySVCCV, TaxonomyRankSVC, CoupledSVC, MinOverPerceptron, StructuredSVC]
    return [*svms, HardPerceptron, StochasticPerceptron, HLSI, HierarchyRidge, TextFeatures]


def test_public_names():
    names = set(pinakes.__all__) - {"__version__"}
    assert names <= DESIGNED
    assert names >= PRESENT
    assert list(pinakes.__all__) == sorted(pinakes.__all__)
    assert dir(pinakes) == sorted(pinakes.__all__)
    for name in pinakes.__all__:
        assert getattr(pinakes, name) is not None
    built = {name for room in ("models", "taxonomy") for name in importlib.import_module(f"pinakes.{room}").__all__}
    assert built & DESIGNED <= names, "what is built is public"


def test_a_name_that_is_none():
    with pytest.raises(AttributeError, match="module 'pinakes' has no attribute 'Taxnomy'"):
        pinakes.Taxnomy  # noqa: B018


def test_importing_is_cheap():
    code = (
        "import sys, pinakes\n"
        "heavy = {'numpy', 'numba', 'scipy', 'sklearn', 'click', 'rich'}\n"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}))"
    )
    left = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert left.stdout == "[]\n"


def test_every_module_says_what_it_is_and_has_no_loose_ends():
    for file in sorted(SOURCE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text)), f"{file} has no docstring"
        assert not re.search(r"\b(TODO|FIXME|XXX)\b", text), f"{file} has a loose end"


def documented_parameters(doc: str) -> dict[str, str | None]:
    """Read the Parameters of a numpydoc docstring: each name with its default as text, None without one.

    >>> documented_parameters("Do.\\n\\nParameters\\n----------\\na, b : int, default=(1, 2)\\n    Two.\\nc : str\\n")
    {'a': '(1, 2)', 'b': '(1, 2)', 'c': None}
    """
    lines = inspect.cleandoc(doc).splitlines()
    start = lines.index("Parameters")
    assert set(lines[start + 1]) == {"-"}
    found: dict[str, str | None] = {}
    for k, line in enumerate(lines[start + 2 :], start=start + 2):
        if set(lines[k + 1] if k + 1 < len(lines) else "") == {"-"}:
            break
        entry = re.fullmatch(r"([\w, ]+) : (.+)", line)
        if entry:
            default = re.search(r", default=(.+)$", entry.group(2))
            for name in entry.group(1).split(","):
                found[name.strip()] = default.group(1) if default else None
    return found


@pytest.mark.parametrize("estimator", estimators(), ids=lambda estimator: estimator.__name__)
def test_docstrings_agree_with_signatures(estimator):
    documented = documented_parameters(estimator.__doc__)
    signature = inspect.signature(estimator.__init__).parameters
    expected = {name: parameter.default for name, parameter in signature.items() if name != "self"}
    assert list(documented) == list(expected), "the same names in the same order"
    for name, default in expected.items():
        written = documented[name]
        assert written is not None, f"{name} has no default in the docstring"
        assert ast.literal_eval(written) == default, f"{name}: default={written}, and the code has {default!r}"


@pytest.mark.parametrize("estimator", estimators(), ids=lambda estimator: estimator.__name__)
def test_attributes_are_documented(estimator):
    lines = inspect.cleandoc(estimator.__doc__).splitlines()
    start = lines.index("Attributes")
    documented = set(re.findall(r"^([\w, ]+)(?: : |$)", "\n".join(lines[start + 2 :]), flags=re.MULTILINE))
    documented = {name.strip() for group in documented for name in group.split(",")}
    if estimator.__name__ == "TextFeatures":
        fitted = estimator(min_df=1).fit(["a cat", "a dog"])
    else:
        few = {"n_components": 2} if "n_components" in estimator().get_params() else {}
        fitted = estimator(**few).fit(np.vstack([np.eye(2), np.eye(2)]), ["a", "b"] * 2)
    learnt = {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}
    assert learnt <= documented, "every learnt attribute is documented"
