"""Explanations for terminals: the text with its telling words, then the score as a sum over nodes, words, documents.

Colour is never all: signs, numbers and the shape of the bars say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pinakes.explain.excerpt import clean, cut
from pinakes.explain.explanation import Choice, Explanation

PLUS, MINUS = "#0087af", "#d75f00"  # told apart by all eyes, and read on black and on white
STRONG, CLEAR = 0.5, 0.12  # shares of the largest part from which a word is highlighted so
BAR = 16
N_WORDS, N_NODES, N_DOCUMENTS = 10, 24, 10


def render(explanation: Explanation, *, colour: bool, n_words: int = N_WORDS) -> Group:
    """Give an explanation as something that rich can print."""
    parts: list[Any] = [_head(explanation)]
    if explanation.text is not None:
        parts += [Padding(_text(explanation, colour), (1, 0, 1, 2))]
        unknown = ", ".join(map(clean, explanation.unknown[:20]))
        if unknown:
            more = ", …" if len(explanation.unknown) > 20 else ""
            parts.append(Text(f"  not known: {unknown}{more}\n", style="dim"))
    else:
        parts.append(Text(""))
    parts += [_nodes(explanation), Text("")]
    if explanation.words:
        parts += [_words(explanation, n_words), Text("")]
    if explanation.documents:
        parts += [_documents(explanation), Text("")]
    return Group(*parts[:-1])


def _head(explanation: Explanation) -> Text:
    answer, against = explanation.answer, explanation.against
    head = Text(_short(answer.name, 70), style="bold")
    if answer.label != answer.name:
        head.append(f"  {clean(answer.label)}", style="not bold dim")
    if against is not None:
        head.append(" and not ", style="not bold")
        head.append(_short(against.name, 70))
        if against.label != against.name:
            head.append(f"  {clean(against.label)}", style="not bold dim")
    head.append(f"  {number(explanation.score)}", style=_style(explanation.score))
    if answer.confidence is not None and answer.confidence == answer.confidence:
        head.append(f"  {answer.confidence:.0%} sure", style="not bold")
    for choice in [answer] if against is None else [answer, against]:
        head.append(f"\n{_path(choice)}", style="not bold dim")
    return head


def _path(choice: Choice) -> str:
    return " > ".join(_short(name, 40) for name in choice.path)


def _text(explanation: Explanation, colour: bool) -> Text:
    """Give the text with its words highlighted, or with numbers behind them where there is no colour."""
    marks = explanation.marks
    largest = max((abs(mark.score) for mark in marks if mark.score is not None), default=0.0) or 1.0
    out = Text()
    for piece in cut(explanation.text or "", marks):
        share = abs(piece.score) / largest if piece.score is not None else 0.0
        if piece.unknown:
            out.append(piece.text, style="dim")
        elif piece.score is None or share < CLEAR:
            out.append(piece.text)
        elif not colour:
            out.append(f"{piece.text}[{piece.score:+.2f}]")
        else:
            hue = PLUS if piece.score > 0 else MINUS
            out.append(piece.text, style=f"bold white on {hue}" if share >= STRONG else f"bold underline {hue}")
    return out


def _nodes(explanation: Explanation) -> Table:
    table = _table("node", "score", "")
    nodes = explanation.nodes
    shown = set(sorted(range(len(nodes)), key=lambda k: -abs(nodes[k].score))[:N_NODES])
    scale = max((abs(node.score) for node in nodes), default=0.0)
    for k, node in enumerate(nodes):
        if k in shown:
            name = Text(clean(node.name))
            if node.node != node.name:
                name = Text(f"{clean(node.node)} ", style="dim").append(clean(node.name), style="not dim")
            table.add_row(name, *_scored(node.score, scale))
    rest = [node.score for k, node in enumerate(nodes) if k not in shown]
    if rest:
        table.add_row(f"the other {len(rest)} nodes", *_scored(sum(rest), scale))
    bias = float(explanation.bias.sum())
    if bias:
        table.add_row(Text(f"of that bias {number(bias)}", style="dim"), "", "")
    return table


def _words(explanation: Explanation, n_words: int) -> Table:
    table = _table("word", "score", "", "most of it at")
    words, nodes = explanation.words, explanation.nodes
    scale = max((abs(part.score) for part in words), default=0.0)
    for part, by_node in zip(words[:n_words], explanation.parts, strict=False):
        order = sorted(range(len(nodes)), key=lambda k: -abs(by_node[k]))
        told = ", ".join(f"{_short(nodes[k].name)} {number(by_node[k])}" for k in order[:2] if abs(by_node[k]) >= 0.0005)
        table.add_row(Text(clean(part.word)), *_scored(part.score, scale), Text(told, style="dim"))
    rest = [part.score for part in words[n_words:]]
    if rest:
        one = "the other word" if len(rest) == 1 else f"the other {len(rest)} words"
        table.add_row(Text(one, style="dim"), *_scored(sum(rest), scale), "")
    bias = float(explanation.bias.sum())
    if bias:
        table.add_row(Text("bias", style="dim"), *_scored(bias, scale), "")
    return table


def _documents(explanation: Explanation) -> Table:
    table = _table("training document", "score", "", "label", "alike")
    documents = explanation.documents[:N_DOCUMENTS]
    scale = max(abs(part.score) for part in documents)
    for part in documents:
        name = Text(clean(part.document), style="dim")
        if part.title:
            name.append(f" {clean(part.title)}", style="not dim")
        table.add_row(name, *_scored(part.score, scale), Text(clean(part.label)), f"{part.similarity:.2f}")
    rest = explanation.score - sum(part.score for part in documents)
    table.add_row(Text("all others", style="dim"), *_scored(rest, scale), "", "")
    return table


def words_table(found: Sequence[Any]) -> Table:
    """Give the telling words of nodes as a table."""
    table = _table("node", "for it", "against it")
    for node in found:
        name = Text(clean(node.name))
        if node.node != node.name:
            name = Text(f"{clean(node.node)} ", style="dim").append(clean(node.name), style="not dim")
        table.add_row(name, _told(node.speak_for, PLUS), _told(node.speak_against, MINUS))
        if node.itself:
            table.add_row(Text("  itself, apart from what lies below", style="dim"), _told(node.itself, PLUS), "")
    for column in table.columns[1:]:
        column.no_wrap, column.justify, column.ratio = False, "left", 2
    table.columns[0].ratio, table.columns[0].no_wrap = 2, False
    table.expand = True
    return table


def _told(words: Sequence[tuple[str, float]], hue: str) -> Text:
    out = Text()
    for k, (word, weight) in enumerate(words):
        out.append(", " if k else "")
        out.append(clean(word), style=f"bold {hue}").append(f" {weight:+.2f}", style="not bold")
    return out


def _table(*columns: str) -> Table:
    """Give a table without lines: a name that may be cut, a number, a bar, and what else there is to say."""
    table = Table(box=None, pad_edge=True, padding=(0, 1), header_style="dim", show_edge=False)
    for column in columns:
        fixed = {"score": 7, "alike": 5, "": BAR}.get(column)
        side = "right" if column in ("score", "alike") else "left"
        table.add_column(column, justify=side, no_wrap=True, overflow="ellipsis", width=fixed)
    return table


def _scored(score: float, scale: float) -> tuple[Text, Text]:
    """Give a number and its bar, full for what adds and hatched for what takes away."""
    size = abs(score) / scale if scale else 0.0
    length = min(BAR, round(size * BAR)) if round(size * BAR) or size < 0.01 else 1
    return Text(number(score), style=_style(score)), Text(("█" if score > 0 else "░") * length, style=_style(score))


def _style(score: float) -> str:
    return PLUS if score > 0 else MINUS if score < 0 else ""


def number(value: float) -> str:
    """Give a part with its sign; no sign where it rounds to nothing.

    >>> number(0.51234), number(-0.0001)
    ('+0.512', '0.000')
    """
    return f"{value:+.3f}" if abs(value) >= 0.0005 else "0.000"


def _short(name: str, width: int = 24) -> str:
    name = clean(name)
    return name if len(name) <= width else name[: width - 1].rstrip() + "…"
