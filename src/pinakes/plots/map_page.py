"""A map of documents as one page that needs nothing else: the data and the code are inside it."""

from __future__ import annotations

import base64
import html
import json
import re
from importlib import resources
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from pinakes.plots.map import DocumentMap

LONGEST = 140  # signs of a title that are shown


def write_page(chart: DocumentMap, path: str | PathLike[str]) -> None:
    """Write a map as a page; see `page`."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(page(chart))


def page(chart: DocumentMap) -> str:
    """Give the page as text: HTML with the points as bytes, the rest as JSON."""
    data = {
        "title": chart.title,
        "views": [
            {"name": view.name, "points": _packed(view.points), "centroids": np.round(view.centroids, 4).tolist()}
            for view in chart.views
        ],
        "branches": [
            {"name": branch.name, "colour": branch.colour, "n": int(n)}
            for branch, n in zip(
                chart.branches, np.bincount(chart.branch_of, minlength=len(chart.branches)), strict=True
            )
        ],
        "branch": base64.b64encode(chart.branch_of.astype(np.uint8).tobytes()).decode(),
        "titles": [_short(title) for title in chart.titles],
        "categories": chart.categories,
        "category": _packed(chart.category_of.astype(np.uint32)),
        "more": base64.b64encode(np.minimum(chart.more, 255).astype(np.uint8).tobytes()).decode(),
    }
    source = resources.files("pinakes.plots")
    text = (source / "map.html").read_text(encoding="utf-8")
    # a title may hold anything, "</script>" too
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "TITLE": html.escape(chart.title),
        "SCRIPT": (source / "map.js").read_text(encoding="utf-8"),
        "DATA": written.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"),
    }
    return re.sub(
        r"/\*([A-Z]+)\*/", lambda found: parts[found.group(1)], text
    )  # in one go: parts may hold such signs too


def _packed(values: npt.NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()).decode()


def _short(title: str) -> str:
    text = " ".join(title.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
