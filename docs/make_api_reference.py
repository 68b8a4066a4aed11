"""Write docs/api.md: every public name with its signature and the first line of its docstring.

python docs/make_api_reference.py           # write the page
python docs/make_api_reference.py --check   # exit 1 if the page is not what it would write
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("api.md")
HEAD = """# Python

Made from the docstrings by `docs/make_api_reference.py`; do not edit by hand. `help(name)` says more about each of
them. Names that are not on this page may change without notice.
"""
# heading, module, names (None: its __all__)
ROOMS: list[tuple[str, str, list[str] | None]] = [
    ("pinakes", "pinakes", None),
    ("pinakes.documents", "pinakes.documents", None),
    ("pinakes.decisions", "pinakes.decisions", None),
    ("pinakes.metrics", "pinakes.metrics", None),
    ("pinakes.plots", "pinakes.plots", None),
    ("pinakes.datasets", "pinakes.datasets", None),
    ("pinakes.taxonomy.loss", "pinakes.taxonomy.loss", ["NodeCosts", "make_loss"]),
    ("pinakes.taxonomy.check", "pinakes.taxonomy.check", ["check_taxonomy"]),
]
SAID = {  # what has no docstring of its own
    "pinakes.__version__": "The version, as text.",
    "pinakes.datasets": "Data to try things on; see below.",
    "pinakes.metrics": "How good answers are; see below and [metrics](metrics.md).",
    "pinakes.metrics.METRICS": "All metrics by name, each a `Metric`.",
    "pinakes.datasets.DESCRIPTIONS": "Descriptions of things that are in no dictionary, for trying a model on.",
}
WITH_MEMBERS = (
    "Taxonomy",
    "TaxonomySVC",
    "TaxonomyRankSVC",
    "HardPerceptron",
    "StochasticPerceptron",
    "StructuredSVC",
    "CoupledSVC",
    "HLSI",
    "HierarchyRidge",
    "Classifier",
    "Corpus",
    "TextFeatures",
)


def first_line(thing: Any) -> str:
    """Give the first paragraph of a docstring as one line."""
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def signature(thing: Any, drop_self: bool = False) -> str:
    """Give a signature without annotations, which say little to readers and much to type checkers."""
    parameters = list(inspect.signature(thing).parameters.values())
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters[1 if drop_self else 0 :]]
    return str(inspect.Signature(bare)).replace("<factory>", "...")


def members(cls: type) -> Iterator[str]:
    """Give a line for every public method and property that the class itself defines."""
    for name, thing in vars(cls).items():
        thing = getattr(thing, "fn", thing)  # a method that is there only with some settings
        if name.startswith("_"):
            continue
        kind = type(thing).__name__
        said = first_line(thing)
        if not said:
            continue
        if kind in ("property", "cached_property"):
            yield f"- `.{name}`: {said}"
        elif kind == "classmethod":
            yield f"- `{cls.__name__}.{name}{signature(getattr(cls, name))}`: {said}"
        elif inspect.isfunction(thing):
            yield f"- `.{name}{signature(thing, drop_self=True)}`: {said}"


def entry(where: str, name: str, thing: Any) -> Iterator[str]:
    """Give the lines of one public name."""
    said = SAID.get(f"{where}.{name}", first_line(thing))
    called = name + signature(thing) if inspect.isfunction(thing) or inspect.isclass(thing) else name
    yield f"**`{called}`**\n\n{said}\n"
    if name in WITH_MEMBERS:
        yield "\n".join(members(thing)) + "\n"


def page() -> str:
    """Give the text of docs/api.md."""
    parts = [HEAD]
    for heading, module_name, names in ROOMS:
        module = importlib.import_module(module_name)
        parts.append(f"## {heading}\n")
        for name in names or module.__all__:
            parts += entry(module_name, name, getattr(module, name))
    parts.append("## pinakes.errors\n\nThe tree of errors has [a page of its own](errors.md).\n")
    return "\n".join(parts)


def main() -> None:
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/api.md is not up to date: run python docs/make_api_reference.py")


if __name__ == "__main__":
    main()
