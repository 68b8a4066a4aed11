"""Write docs/cli.md: the command line's own help, one section a verb.

python docs/make_cli_reference.py           # write the page
python docs/make_cli_reference.py --check   # exit 1 if the page is not what it would write
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from pinakes.cli.main import cli

PAGE = Path(__file__).with_name("cli.md")
WIDTH = 100
HEAD = """# Command line

Made from `pinakes --help` by `docs/make_cli_reference.py`; do not edit by hand.

Data go to standard output, everything said to a person goes to standard error. `-` as the name of a file is
standard input. A mistake ends in one line on standard error and exit 1 (2 if the command itself is
wrong); see [errors](errors.md). Ctrl-C exits with 130; a model or taxonomy file is written completely or not at all.
"""


def walk(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    """Give the context of a command and of everything below it, in the order of its help."""
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from walk(below, click.Context(below, info_name=name, parent=context, **below.context_settings))


def contexts() -> list[click.Context]:
    """Give the contexts of all commands, the top one first, set to a fixed width."""
    settings = {**cli.context_settings, "terminal_width": WIDTH}
    return list(walk(cli, click.Context(cli, info_name="pinakes", **settings)))


def page() -> str:
    """Give the text of docs/cli.md."""
    parts = [HEAD]
    for context in contexts():
        level = "##" if context.command_path.count(" ") < 2 else "###"
        help_text = "\n".join(line.rstrip() for line in context.get_help().splitlines())
        parts.append(f"{level} {context.command_path}\n\n```text\n{help_text}\n```\n")
    return "\n".join(parts)


def main() -> None:
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/cli.md is not up to date: run python docs/make_cli_reference.py")


if __name__ == "__main__":
    main()
