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
SCORED = 7 + BAR + 6  # what a number and a bar take of a line, with the blanks around the name before them
LONGEST_WORD, LABEL = 24, 14
N_WORDS, N_NODES, N_DOCUMENTS = 10, 24, 10


def render(explanation: Explanation, *, colour: bool, width: int, n_words: int = N_WORDS) -> Group:
    """Give an explanation as something that rich can print on lines of `width` signs."""
    parts: list[Any] = [_head(explanation)]
    if explanation.text is not None:
        parts += [Padding(_text(explanation, colour), (1, 0, 1, 2))]
        unknown = ", ".join(map(clean, explanation.unknown[:20]))
        if unknown:
            more = ", …" if len(explanation.unknown) > 20 else ""
            parts.append(Text(f"  not known: {unknown}{more}\n", style="dim"))
    else:
        parts.append(Text(""))
    parts += [_nodes(explanation, width), Text("")]
    if explanation.words:
        parts += [_words(explanation, n_words, width), Text("")]
    if explanation.documents:
        parts += [_documents(explanation, width), Text("")]
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
    return " > ".join(_short(name, 32) for name in choice.path)


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


def _nodes(explanation: Explanation, width: int) -> Table:
    table = _table(("node", width - SCORED), ("score", 7), ("", BAR))
    nodes = explanation.nodes
    shown = set(sorted(range(len(nodes)), key=lambda k: -abs(nodes[k].score))[:N_NODES])
    scale = max((abs(node.score) for node in nodes), default=0.0)
    for k, node in enumerate(nodes):
        if k in shown:
            table.add_row(_name(node.node, node.name), *_scored(node.score, scale))
    rest = [node.score for k, node in enumerate(nodes) if k not in shown]
    if rest:
        table.add_row(f"the other {len(rest)} nodes", *_scored(sum(rest), scale))
    bias = float(explanation.bias.sum())
    if bias:
        table.add_row(Text(f"of that bias {number(bias)}", style="dim"), "", "")
    return table


def _words(explanation: Explanation, n_words: int, width: int) -> Table:
    longest = max((len(part.word) for part in explanation.words[:n_words]), default=0)
    rest_of_line = width - SCORED - 2 - min(LONGEST_WORD, max(longest, 18))
    half = max(8, (rest_of_line - 16) // 2)
    table = _table(("word", LONGEST_WORD), ("score", 7), ("", BAR), ("most of it at", max(8, rest_of_line)))
    words, nodes = explanation.words, explanation.nodes
    scale = max((abs(part.score) for part in words), default=0.0)
    for part, by_node in zip(words[:n_words], explanation.parts, strict=False):
        order = sorted(range(len(nodes)), key=lambda k: -abs(by_node[k]))
        told = ", ".join(
            f"{_short(nodes[k].name, half)} {number(by_node[k])}" for k in order[:2] if abs(by_node[k]) >= 0.0005
        )
        table.add_row(Text(clean(part.word)), *_scored(part.score, scale), Text(told, style="dim"))
    rest = [part.score for part in words[n_words:]]
    if rest:
        one = "the other word" if len(rest) == 1 else f"the other {len(rest)} words"
        table.add_row(Text(one, style="dim"), *_scored(sum(rest), scale), "")
    bias = float(explanation.bias.sum())
    if bias:
        table.add_row(Text("bias", style="dim"), *_scored(bias, scale), "")
    return table


def _documents(explanation: Explanation, width: int) -> Table:
    left = width - SCORED - LABEL - 5 - 4
    table = _table(("training document", left), ("score", 7), ("", BAR), ("label", LABEL), ("alike", 5))
    documents = explanation.documents[:N_DOCUMENTS]
    scale = max(abs(part.score) for part in documents)
    for part in documents:
        table.add_row(
            _name(part.document, part.title),
            *_scored(part.score, scale),
            Text(clean(part.label)),
            f"{part.similarity:.2f}",
        )
    rest = explanation.score - sum(part.score for part in documents)
    table.add_row(Text("all others", style="dim"), *_scored(rest, scale), "", "")
    return table


def words_table(found: Sequence[Any]) -> Table:
    """Give the telling words of nodes as a table."""
    table = Table(box=None, padding=(0, 1, 1, 1), header_style="dim", show_edge=False, expand=True)
    for title in ("node", "for it", "against it"):
        table.add_column(title, ratio=1)
    for node in found:
        table.add_row(
            _name(node.node, _short(node.name, 70)), _told(node.speak_for, PLUS), _told(node.speak_against, MINUS)
        )
        if node.itself:
            table.add_row(Text("  itself, apart from what lies below", style="dim"), _told(node.itself, PLUS), "")
    return table


def _name(id: str, name: str) -> Text:
    """Give a name with its id before it, where these are two."""
    if not name or id == name:
        return Text(clean(id))
    return Text(f"{clean(id)} ", style="dim").append(clean(name), style="not dim")


def _told(words: Sequence[tuple[str, float]], hue: str) -> Text:
    out = Text()
    for k, (word, weight) in enumerate(words):
        out.append(", " if k else "")
        out.append(clean(word), style=f"bold {hue}").append(f" {weight:+.2f}", style="not bold")
    return out


def _table(*columns: tuple[str, int]) -> Table:
    """Give a table without lines; every column has a greatest width, beyond which its cells are cut."""
    table = Table(box=None, padding=(0, 1), header_style="dim", show_edge=False)
    for title, most in columns:
        side: Any = "right" if title in ("score", "alike") else "left"
        fixed = most if title in ("score", "") else None
        table.add_column(title, justify=side, no_wrap=True, overflow="ellipsis", max_width=max(8, most), width=fixed)
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


def _short(name: str, width: int) -> str:
    name = clean(name)
    return name if len(name) <= width else name[: width - 1].rstrip() + "…"
