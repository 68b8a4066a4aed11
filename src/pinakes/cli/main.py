"""The `pinakes` command: finds the verb, loads only what it needs, and turns errors into one line and an exit code.

Exit codes: 0 done; 1 something that was handed in cannot be used (a file, a value, a place to write to); 2 the command
itself is wrong (an unknown verb or option, a missing argument); 130 interrupted.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from pinakes import __version__
from pinakes.cli.console import one_line, plain_warnings, say
from pinakes.cli.options import as_options, example
from pinakes.errors import PinakesError, closest

# verb -> the line shown by `pinakes --help`; the command itself is `command` in pinakes.cli.<verb>
VERBS = {
    "train": "Learn a model from labelled documents and a taxonomy.",
    "predict": "Rank the categories of new documents.",
    "explain": "Show why documents get their categories.",
    "evaluate": "Measure a model on labelled documents.",
    "compare": "Compare two models on the same labelled documents.",
    "info": "Show what is inside a model file.",
    "map": "Draw documents in the plane, coloured by branch.",
    "taxonomy": "Check, show or convert a taxonomy.",
    "reproduce": "Reproduce the tables and figures of the papers.",
    "demo": "Say what kind of thing a description describes.",
}

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


class Interrupted(Exception):
    """Ctrl-C inside a verb; Click itself would write an empty line about it."""


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

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            raise click.UsageError(f"there is no command {args[0]!r}{closest(args[0], VERBS)}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=example("pinakes train docs.jsonl --taxonomy taxonomy.tsv --out model.pinakes"),
)
@click.version_option(__version__, message="pinakes %(version)s")
def cli() -> None:
    """Puts documents into a taxonomy."""


def main(args: list[str] | None = None) -> None:
    """Run the command line; every foreseen mishap ends as one line on stderr and a non-zero exit."""
    try:
        with plain_warnings(), _safe_output():
            words = sys.argv[1:] if args is None else list(args)
            code = cli.main(args=args, prog_name="pinakes", standalone_mode=False, obj=words)
            sys.stdout.flush()
    except (Interrupted, KeyboardInterrupt, click.exceptions.Abort):
        _leave("interrupted; no file was changed", EXIT_INTERRUPTED)
    except click.UsageError as error:
        _leave_usage(error)
    except click.ClickException as error:
        _leave(error.format_message(), EXIT_ERROR)
    except PinakesError as error:
        _leave(as_options(str(error)), EXIT_ERROR)
    except UnicodeError as error:
        _leave(f"text that is not what its encoding promises: {error}", EXIT_ERROR)
    except BrokenPipeError:  # the reader has left: `| head`
        sys.exit(EXIT_ERROR)
    except OSError as error:
        _leave(_describe(error), EXIT_ERROR)
    except MemoryError:
        _leave("out of memory; use fewer features (--max-features) or fewer documents", EXIT_ERROR)
    if isinstance(code, int) and code:
        sys.exit(code)


@contextmanager
def _safe_output() -> Iterator[None]:
    """Write data as UTF-8 where no terminal says otherwise, and never fail on a character, whatever the terminal.

    Where stdout cannot be written to (a full disk, a reader that has left), it is given up, so that Python does not
    complain once more when it closes it.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - it stays open to the end
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            encoding = None if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")
    try:
        yield
    except OSError:
        try:
            sys.stdout.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        raise


def _describe(error: OSError) -> str:
    what = error.strerror or str(error)
    if error.filename is not None:
        return f"{error.filename}: {what}"
    return f"cannot write the output: {what}" if error.errno in FULL else what


def _leave_usage(error: click.UsageError) -> NoReturn:
    """Say what is wrong with the command in one line, and where its help is; without any argument, give the help."""
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())) and error.ctx is not None:
        say(error.ctx.get_help())
        sys.exit(EXIT_USAGE)
    path = error.ctx.command_path if error.ctx is not None else "pinakes"
    wrong_value = isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter)
    message = one_line(error.format_message()).rstrip(".")
    _leave(f"{message}; see {path} --help", EXIT_ERROR if wrong_value else EXIT_USAGE)


def _leave(message: str, code: int) -> NoReturn:
    say(f"pinakes: {one_line(message)}")
    sys.exit(code)


if __name__ == "__main__":
    main()
