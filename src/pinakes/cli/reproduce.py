"""`pinakes reproduce`: the tables and figures of the papers, each by one command."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pinakes.cli.console import Steps, one_line, say, write_table
from pinakes.cli.options import Verb, example

EXIT_INTERRUPTED = 130


@click.group("reproduce", epilog=example("pinakes reproduce run 2004-table1 --out results"))
def command() -> None:
    """Reproduce the tables and figures of the papers.

    Every experiment is shown next to the paper's own figures, and written as Markdown, JSON, CSV and figures.
    """


@command.command("list", cls=Verb, epilog=example("pinakes reproduce list"))
def list_experiments() -> None:
    """List the experiments."""
    from pinakes.reproduce import EXPERIMENTS

    write_table(["name", "what"], [(name, entry.title) for name, entry in EXPERIMENTS.items()])


@command.command("run", cls=Verb, epilog=example("pinakes reproduce run 2004-table1 --out results --n-jobs 2"))
@click.argument("name")
@click.option("--data", metavar="DIR", help="The folder of the corpora, each in a folder of its own.")
@click.option("--out", "-o", required=True, metavar="DIR", help="Where results are kept, and tables and figures go.")
@click.option("--quick", is_flag=True, help="A small version that ends in seconds, to see that everything works.")
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="The first of the random seeds."
)
@click.option("--n-jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes to share the work.")
def run_experiment(name: str, data: str | None, out: str, quick: bool, seed: int, n_jobs: int) -> None:
    """Run one experiment, or take it up where it was stopped.

    What is measured is kept at once in DIR; the same command goes on from there. The tables go to standard output.
    """
    from pinakes.errors import ParameterError
    from pinakes.reproduce import load_experiment
    from pinakes.reproduce.experiment import Settings
    from pinakes.reproduce.figures import can_draw
    from pinakes.reproduce.runner import Interrupted, run
    from pinakes.reproduce.writing import numbers, shown_rows

    experiment = load_experiment(name)
    if data is not None and not Path(data).is_dir():
        raise ParameterError(f"--data: there is no folder {data}; give the folder of the corpora")
    settings = Settings(None if data is None else Path(data), quick, seed)
    try:
        with Steps("measuring") as steps:

            def tell(done: int, total: int, what: str) -> None:
                steps.update(f"{done} of {total} cells  {what}", done / max(total, 1))

            outcome = run(experiment, settings, Path(out), n_jobs, tell)
    except Interrupted as stopped:
        say(f"pinakes: interrupted; {one_line(str(stopped))}")
        sys.exit(EXIT_INTERRUPTED)
    click.echo(f"{experiment.title}\n{experiment.paper}\n")
    for table in outcome.report.tables:
        click.echo(table.title)
        write_table(table.columns, shown_rows(table), numbers(table))
        if table.note:
            click.echo(table.note + "\n")
    for finding in outcome.report.findings:
        click.echo(f"- {finding}")
    kept = outcome.n_cells - outcome.n_new
    say(f"{out}: {outcome.n_new} cells measured, {kept} known before; wrote {_names(outcome.files)}")
    if outcome.report.figures and not can_draw():
        say("pinakes: note: figures need an optional dependency: pip install 'pinakes[plots]'")


def _names(files: list[Path]) -> str:
    return ", ".join(path.name for path in files)
