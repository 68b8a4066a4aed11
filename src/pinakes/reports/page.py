"""A report as one page that needs nothing else: tables as HTML, the rest as JSON that a small script draws."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from os import PathLike
from typing import Any

from pinakes.reports.report import Report

# what each measure says, in a line
MEANINGS = {
    "accuracy": "Answers that are right.",
    "parent_accuracy": "Answers that are right or share a parent with the truth.",
    "delta_loss": "How far off answers are: half the steps from the answer to the truth.",
    "set_loss": "How far off answers are: half the nodes in which truth and answer differ, ancestors included.",
    "hierarchical_precision": "Of all nodes answered, ancestors included, those that are true.",
    "hierarchical_recall": "Of all true nodes, ancestors included, those that were answered.",
    "hierarchical_f1": "Both of these in one number.",
    "lca_f1": "F1 over the nodes between answer and truth only.",
    "micro_f1": "F1 over all pairs of document and label.",
    "macro_f1": "Mean F1 of the categories, rare ones counting as much as frequent ones.",
    "one_accuracy": "Documents whose best-ranked category is true.",
    "parent_one_accuracy": "The same, or shares a parent with the truth.",
    "rank_precision": "Precision within as many ranks as there are true labels.",
    "average_precision": "How early true categories come in the ranking.",
    "ranking_loss": "Pairs of a true and a wrong category that stand the wrong way round.",
    "maximal_loss": "The farthest wrong category that is ranked before a true one.",
}
FIRST = ("accuracy", "delta_loss", "set_loss", "parent_accuracy", "hierarchical_f1", "micro_f1", "macro_f1")
TILES = 4


def write_report(report: Report, path: str | PathLike[str]) -> None:
    """Write a report as a page; see `page`."""
    text = page(report)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def page(report: Report) -> str:
    """Give the page as text. It asks for nothing from the network, and shows texts as they are, never as HTML."""
    data = report.data
    source = resources.files("pinakes.reports")
    drawn = {name: data[name] for name in ("nodes", "confusions", "reliability", "risk", "back_off", "training")}
    written = json.dumps(drawn, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    parts = {
        "TITLE": html.escape(report.title),
        "LEAD": html.escape(_lead(data)),
        "TILES": _tiles(data["measures"]),
        "MEASURES": _measures(data["measures"]),
        "LEVELS": _levels(data["levels"]),
        "SUMMARY": _pairs(data["data"]),
        "COMMANDS": "".join(
            f"<h3>{html.escape(name.capitalize())}</h3><pre><code>{html.escape(line)}</code></pre>"
            for name, line in data["commands"].items()
        ),
        "FACTS": _pairs(data["facts"]),
        "STYLE": (source / "report.css").read_text(encoding="utf-8"),
        "SCRIPT": (source / "report.js").read_text(encoding="utf-8"),
        # a text may hold anything, "</script>" too
        "DATA": written.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"),
    }
    text = (source / "report.html").read_text(encoding="utf-8")
    made = re.sub(r"/\*([A-Z]+)\*/", lambda found: parts[found.group(1)], text)  # in one go: parts may hold such signs
    return made.encode("utf-8", "replace").decode("utf-8")


def _lead(data: dict[str, Any]) -> str:
    facts = dict([*data["data"], *data["facts"]])
    kind = "label sets" if data["sets"] else "one label a document"
    model = f"{facts['Method']}, {kind}"
    return f"{model}; {facts['Documents tested']} documents, {facts['Taxonomy']}"


def _tiles(rows: Sequence[dict[str, Any]]) -> str:
    known = {row["name"]: row for row in rows}
    tiles = []
    for name in [name for name in FIRST if name in known][:TILES]:
        row = known[name]
        tiles.append(
            f'<div class="tile"><span>{_words(name)}</span><b>{row["value"]:.3f}</b>'
            f"<small>{_interval(row)}{'' if row['more_is_better'] else ' · less is better'}</small></div>"
        )
    return "".join(tiles)


def _measures(rows: Sequence[dict[str, Any]]) -> str:
    body = []
    for row in rows:
        bar = ""
        if row["bounded"]:
            low, high = (row["value"] if row[side] is None else row[side] for side in ("low", "high"))
            bar = (
                f'<span class="bar" aria-hidden="true"><i style="width:{100 * row["value"]:.2f}%"></i>'
                f'<u style="left:{100 * low:.2f}%;width:{100 * (high - low):.2f}%"></u></span>'
            )
        body.append(
            [
                f"<code>{html.escape(row['name'])}</code>",
                f"{row['value']:.4f}",
                _interval(row),
                bar,
                html.escape(MEANINGS.get(row["name"], "")) + ("" if row["more_is_better"] else " Less is better."),
            ]
        )
    return _table(["measure", "value", "95 % interval", "", "what it says"], body, numbers=(1, 2))


def _levels(rows: Sequence[dict[str, Any]]) -> str:
    body = [
        [
            f"{row['level']}",
            f"{row['nodes']:,}",
            f"{row['present']:,}",
            f"{row['true']:,}",
            f"{row['predicted']:,}",
            f"{row['precision']:.3f}",
            f"{row['recall']:.3f}",
            f"{row['f1']:.3f}",
            f"{row['mean_f1']:.3f}",
        ]
        for row in rows
    ]
    head = ["level", "nodes", "in use", "true", "answered", "precision", "recall", "F1", "mean F1 of nodes"]
    return _table(head, body, numbers=range(len(head)))


def _table(head: Sequence[str], body: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    right = set(numbers)

    def cells(tag: str, row: Sequence[str]) -> str:
        kinds = [' class="n"' if k in right else "" for k in range(len(row))]
        scope = ' scope="col"' if tag == "th" else ""
        return "".join(f"<{tag}{scope}{kind}>{cell}</{tag}>" for kind, cell in zip(kinds, row, strict=True))

    rows = "".join(f"<tr>{cells('td', row)}</tr>" for row in body)
    return f'<div class="wide"><table><thead><tr>{cells("th", head)}</tr></thead><tbody>{rows}</tbody></table></div>'


def _pairs(rows: Iterable[Sequence[str]]) -> str:
    items = "".join(f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd></div>" for name, value in rows)
    return f"<dl>{items}</dl>"


def _interval(row: dict[str, Any]) -> str:
    return "" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}"


def _words(name: str) -> str:
    return html.escape(name.replace("_", " ").replace(" f1", " F1").replace("delta loss", "Delta-loss"))
