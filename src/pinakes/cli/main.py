"""The `pinakes` command: finds the verb, loads only what it needs, and turns errors into one line and exit 1."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from pinakes import __version__
from pinakes.errors import PinakesError

# verb -> the line shown by `pinakes --help`; the command itself is `command` in pinakes.cli.<verb>
VERBS = {
    "train": "Learn a model from labelled documents and a taxonomy.",
    "predict": "Rank the categories of new documents.",
    "evaluate": "Measure a model on labelled documents.",
    "info": "Show what is inside a model file.",
    "taxonomy": "Check, show or convert a taxonomy.",
    "demo": "Say what kind of thing a description describes.",
}

EXIT_ERROR = 1
EXIT_INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group that imports a verb's module only when that verb is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"pinakes.cli.{cmd_name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Example: pinakes train docs.jsonl --taxonomy taxonomy.tsv --out model.pinakes",
)
@click.version_option(__version__, message="pinakes %(version)s")
def cli() -> None:
    """Puts documents into a taxonomy."""


def main(args: list[str] | None = None) -> None:
    """Run the command line; every foreseen mishap ends as one line on stderr and a non-zero exit."""
    try:
        cli.main(args=args, standalone_mode=False)
    except click.exceptions.Abort:
        _leave("interrupted; nothing was written", EXIT_INTERRUPTED)
    except KeyboardInterrupt:
        _leave("interrupted; nothing was written", EXIT_INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else str(error))
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except PinakesError as error:
        _leave(str(error), EXIT_ERROR)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_ERROR)
    except UnicodeDecodeError as error:
        _leave(f"the input is not UTF-8 text: {error}", EXIT_ERROR)
    except OSError as error:
        _leave(_describe(error), EXIT_ERROR)
    except MemoryError:
        _leave("out of memory; use fewer features (--max-features) or fewer documents", EXIT_ERROR)


def _describe(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what


def _leave(message: str, code: int) -> Any:
    click.echo(f"pinakes: {' '.join(message.split())}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
