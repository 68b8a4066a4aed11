"""Explanations for notebooks: HTML that needs nothing else, on a light page and on a dark one."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from pinakes.explain.excerpt import clean, cut
from pinakes.explain.explanation import Explanation
from pinakes.explain.terminal import number

PLUS, MINUS = "0,135,175", "215,95,0"
N_ROWS, N_COLUMNS = 12, 24
LONGEST = 2000  # letters shown of a text
CELL = "padding:2px 6px;text-align:right;white-space:nowrap;border:0"
NAME = "padding:2px 6px;text-align:left;border:0"


def to_html(explanation: Explanation) -> str:
    """Give an explanation as one element of HTML."""
    return (
        '<div style="max-width:64em;margin:0.5em 0 1.5em;line-height:1.5">'
        + _head(explanation)
        + ("" if explanation.text is None else _text(explanation))
        + _matrix(explanation)
        + (_documents(explanation) if explanation.documents and explanation.words else "")
        + "</div>"
    )


def words_to_html(found: Sequence[Any], n_nodes: int) -> str:
    """Give the telling words of nodes as a table."""
    rows = []
    for node in found:
        cells = [_node(node.node, _short(node.name, 60))]
        for words, hue in ((node.speak_for, PLUS), (node.speak_against, MINUS)):
            largest = max((abs(weight) for _, weight in words), default=1.0)
            cells.append(" ".join(_word(word, weight / largest, hue, f"{weight:+.3f}") for word, weight in words))
        rows.append("<tr>" + "".join(f'<td style="{NAME}">{cell}</td>' for cell in cells) + "</tr>")
    head = "".join(f'<th style="{NAME}">{title}</th>' for title in ("node", "for it", "against it"))
    more = f"<p>… and {n_nodes - len(found):,} more nodes</p>" if n_nodes > len(found) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"


def _head(explanation: Explanation) -> str:
    answer, against = explanation.answer, explanation.against
    head = f"<b>{_node(answer.label, _short(answer.name, 90))}</b>"
    if against is not None:
        head += f" and not <b>{_node(against.label, _short(against.name, 90))}</b>"
    head += f' &ensp;<b style="color:rgb({_hue(explanation.score)})">{number(explanation.score)}</b>'
    if answer.confidence is not None and answer.confidence == answer.confidence:
        head += f" &ensp;{answer.confidence:.0%} sure"
    choices = [answer] if against is None else [answer, against]
    ways = "<br>".join(escape(" > ".join(_short(name, 60) for name in choice.path)) for choice in choices)
    return f'<div style="font-size:115%">{head}</div><div style="opacity:.65;font-size:90%">{ways}</div>'


def _text(explanation: Explanation) -> str:
    marks = explanation.marks
    largest = max((abs(mark.score) for mark in marks if mark.score is not None), default=0.0) or 1.0
    pieces = []
    for piece in cut(explanation.text or "", marks, LONGEST):
        if piece.unknown:
            pieces.append(f'<span style="opacity:.5" title="not known">{escape(piece.text)}</span>')
        elif piece.score is None:
            pieces.append(escape(piece.text))
        else:
            pieces.append(_word(piece.text, abs(piece.score) / largest, _hue(piece.score), number(piece.score)))
    return f'<p style="margin:.7em 0">{"".join(pieces)}</p>'


def _matrix(explanation: Explanation) -> str:
    """Give words (or support documents) by nodes, with the sums of both."""
    nodes = explanation.nodes
    shown = sorted(sorted(range(len(nodes)), key=lambda k: -abs(nodes[k].score))[:N_COLUMNS])
    rows: list[tuple[str, float, list[float]]] = []
    if explanation.words:
        named = [(escape(clean(part.word)), part.score) for part in explanation.words]
        kind = "word"
    else:
        named = [(_node(part.document, part.title), part.score) for part in explanation.documents]
        kind = "support document"
    for (name, score), by_node in zip(named[:N_ROWS], explanation.parts, strict=False):
        rows.append((name, score, by_node.tolist()))
    n_rest = len(explanation.parts) - len(rows)
    if n_rest > 0:
        rest = explanation.parts[len(rows) :]
        rows.append((f'<span style="opacity:.65">{n_rest} more</span>', float(rest.sum()), rest.sum(axis=0).tolist()))
    if explanation.bias.any():
        bias = explanation.bias
        rows.append(('<span style="opacity:.65">bias</span>', float(bias.sum()), bias.tolist()))
    scale = max((abs(value) for _, _, row in rows for value in row), default=0.0) or 1.0
    largest = max((abs(score) for _, score, _ in rows), default=0.0) or 1.0
    columns = "".join(
        f'<th style="padding:2px 6px;text-align:right;vertical-align:bottom;font-weight:normal;max-width:9em;'
        f'font-size:85%;border:0" title="{escape(nodes[k].name)}">{escape(_short(nodes[k].name, 36))}</th>'
        for k in shown
    )
    body = []
    for name, score, row in rows:
        cells = "".join(f'<td style="{CELL};{_ground(row[k] / scale)}">{number(row[k])}</td>' for k in shown)
        body.append(
            f'<tr><td style="{NAME}">{name}</td><td style="{CELL}"><b>{number(score)}</b></td>'
            f'<td style="{NAME};min-width:60px">{_bar(score / largest)}</td>{cells}</tr>'
        )
    sums = "".join(f'<td style="{CELL}"><b>{number(nodes[k].score)}</b></td>' for k in shown)
    left = f"; {len(nodes) - len(shown)} nodes that say less are not shown" if len(nodes) > len(shown) else ""
    body.append(
        f'<tr style="border-top:1px solid rgba(128,128,128,.6)"><td style="{NAME}">sum</td><td style="{CELL}">'
        f"<b>{number(explanation.score)}</b></td><td></td>{sums}</tr>"
    )
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;font-variant-numeric:tabular-nums">'
        f'<thead><tr><th style="{NAME};vertical-align:bottom;font-weight:normal">{kind}</th>'
        f'<th style="{CELL};vertical-align:bottom;font-weight:normal">score</th><th></th>{columns}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>{left and f'<p>{left[2:]}</p>'}"
    )


def _documents(explanation: Explanation) -> str:
    rows = [
        (
            part.score,
            _node(part.document, part.title or part.document),
            escape(clean(part.label)),
            f"{part.similarity:.2f}",
        )
        for part in explanation.documents
    ]
    rest = explanation.score - sum(part.score for part in explanation.documents)
    rows.append((rest, '<span style="opacity:.65">all others</span>', "", ""))
    largest = max((abs(score) for score, *_ in rows), default=0.0) or 1.0
    body = "".join(
        f'<tr><td style="{NAME}">{name}</td><td style="{CELL}"><b>{number(score)}</b></td>'
        f'<td style="{NAME};min-width:60px">{_bar(score / largest)}</td><td style="{NAME}">{label}</td>'
        f'<td style="{CELL}">{alike}</td></tr>'
        for score, name, label, alike in rows
    )
    head = "".join(
        f'<th style="{style};font-weight:normal">{title}</th>'
        for title, style in (("training document", NAME), ("score", CELL), ("", NAME), ("label", NAME), ("alike", CELL))
    )
    return (
        '<table style="border-collapse:collapse;margin-top:1em;font-variant-numeric:tabular-nums">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _bar(share: float) -> str:
    width = round(60 * min(1.0, abs(share)))
    return f'<div style="display:inline-block;width:{width}px;height:.7em;background:rgb({_hue(share)})"></div>'


def _node(node: str, name: str) -> str:
    node, name = escape(clean(node)), escape(clean(name))
    if not name or node == name:
        return node
    return f'{name} <span style="opacity:.55;font-weight:normal">{node}</span>'


def _word(word: str, share: float, hue: str, title: str) -> str:
    ground = f"background:rgba({hue},{0.55 * abs(share):.2f})" if abs(share) >= 0.03 else ""
    return f'<span style="border-radius:3px;padding:0 1px;{ground}" title="{title}">{escape(word)}</span>'


def _ground(share: float) -> str:
    return f"background:rgba({_hue(share)},{0.5 * abs(share):.2f})" if abs(share) >= 0.02 else ""


def _hue(score: float) -> str:
    return PLUS if score >= 0 else MINUS


def _short(name: str, width: int) -> str:
    name = clean(name)
    return name if len(name) <= width else name[: width - 1].rstrip() + "…"
