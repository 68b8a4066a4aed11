"""What the tests of the documentation share: pages, code blocks, links, and a comparison that forgives last digits."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import click

from pinakes.cli.main import cli

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*%?")


def blocks(page: Path, language: str) -> list[str]:
    """Give the fenced blocks of one language."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return [text for name, text in found if name == language]


def prose(page: Path) -> str:
    """Give a page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def commands(page: Path) -> list[tuple[str, str]]:
    """Give every command line of the page with the output shown below it."""
    found = []
    for text in blocks(page, "console"):
        for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
            line, _, shown = part.partition("\n")
            found.append((line, shown))
    return found


def pinakes_calls(line: str) -> list[list[str]]:
    """Give the arguments of every call of pinakes in a command line."""
    words = shlex.split(line, comments=True)
    calls: list[list[str]] = []
    start = True
    for word in words:
        if word in ("|", ";", "&&"):
            start = True
        elif start and word == "pinakes":
            calls.append([])
            start = False
        elif calls and not start:
            calls[-1].append(word)
        else:
            start = False
    return calls


def parse(args: list[str]) -> click.Context:
    """Parse a call of pinakes without running it; an unknown verb or option is a UsageError."""
    context = click.Context(cli, info_name="pinakes", **cli.context_settings)
    command: click.Command = cli
    while isinstance(command, click.Group):
        name, *args = args
        below = command.get_command(context, name)
        if below is None:
            raise click.UsageError(f"no such verb: {name}")
        command = below
    return command.make_context(command.name, list(args), parent=context)


def slugs(page: Path) -> set[str]:
    """Give the anchors of a page's headings, as mkdocs and GitHub make them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), flags=re.M)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in headings}


def alike(shown: str, got: str, relative: float = 0.05, absolute: float = 0.03) -> bool:
    """Whether two outputs are the same but for white space and small differences in numbers; … stands for the rest.

    >>> alike("accuracy 0.54\\nok …", "accuracy  0.55\\nok 3.1 s")
    True
    >>> alike("accuracy 0.54", "accuracy 0.64")
    False
    """
    lines = [[line.split() for line in text.splitlines() if line.split()] for text in (shown, got)]
    if lines[0] and lines[0][-1] == ["…"]:
        lines = [lines[0][:-1], lines[1][: len(lines[0]) - 1]]
    if len(lines[0]) != len(lines[1]):
        return False
    for want, have in zip(*lines, strict=True):
        if want[-1] == "…":
            want, have = want[:-1], have[: len(want) - 1]
        a, b = " ".join(want), " ".join(have)
        if "─" in a and "─" in b:
            continue
        if NUMBER.sub("#", a) != NUMBER.sub("#", b):
            return False
        for x, y in zip(map(_value, NUMBER.findall(a)), map(_value, NUMBER.findall(b)), strict=True):
            if abs(x - y) > max(absolute, relative * abs(x)):
                return False
    return True


def _value(text: str) -> float:
    number = float(text.rstrip("%").rstrip(",").replace(",", ""))
    return number / 100 if text.endswith("%") else number


class Forgiving(doctest.OutputChecker):
    """Compares as doctest does, and then by `alike`."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, got, optionflags) or alike(want, got)


def run_examples(page: Path) -> tuple[doctest.TestResults, dict[str, object], str]:
    """Run the examples of a page; give the counts, the names they leave behind, and what went wrong."""
    test = doctest.DocTestParser().get_doctest(page.read_text(encoding="utf-8"), {}, page.name, str(page), 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(checker=Forgiving(), verbose=False)
    result = runner.run(test, out=said.append, clear_globs=False)
    return result, test.globs, "".join(said)


def script(name: str) -> ModuleType:
    """Import a script of docs/."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
