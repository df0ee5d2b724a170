"""``smoothdp papers``: figures and tables, recomputed; ``smoothdp cite``: BibTeX."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

import smoothdp as sd
from smoothdp.cli.options.command_line import progress_bar
from smoothdp.cli.papers.verdicts import run_counterexamples, show_verdicts
from smoothdp.papers import (
    FIGURES,
    TABLES,
    Reproduction,
    citations,
    known_names,
)

Command = TypeVar("Command", bound=Callable[..., Any])
Kind = TypeVar("Kind", bound=Reproduction)


def size_options(command: Command) -> Command:
    """Add --quick, --full, --json, --csv and --resume."""
    for option in (
        click.option(
            "--resume",
            "store",
            type=click.Path(path_type=Path, file_okay=False),
            help="A folder that keeps what is finished, and from which to go on.",
        ),
        click.option(
            "--csv",
            "csv_file",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Write the data as CSV.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout."),
        click.option(
            "--quick/--full",
            "quick",
            default=True,
            help="Half a minute (default), or more points and databases on all cores.",
        ),
    ):
        command = option(command)
    return command


def recompute(
    known: Mapping[str, type[Kind]],
    name: str,
    *,
    quick: bool,
    as_json: bool,
    csv_file: Path | None,
    store: Path | None,
) -> Kind:
    """Compute one of the known, print it and write its data."""
    if name not in known:
        raise click.UsageError(
            f"Expected one of {', '.join(known)}; got {name!r}. See: smoothdp papers list"
        )
    with progress_bar(known[name].title) as progress:
        computed = known[name].compute(full=not quick, store=store, progress=progress)
    click.echo(json.dumps(computed.to_dict(), indent=2) if as_json else computed.text())
    if csv_file is not None:
        header, rows = computed.rows()
        csv_file.parent.mkdir(parents=True, exist_ok=True)
        with csv_file.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
        click.echo(f"Data: {csv_file}", err=True)
    return computed


@click.group(invoke_without_command=True)
@click.pass_context
def papers(context: click.Context) -> None:
    """Recompute the papers: figures, tables, and what became of each claim.

    \b
    Example:
      smoothdp papers figure smoothed-dp/1 --out figure.png
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


papers.add_command(show_verdicts)
papers.add_command(run_counterexamples)


@papers.command("list")
def list_all() -> None:
    """List the figures and tables that can be recomputed.

    \b
    Example:
      smoothdp papers list
    """
    for name, figure in FIGURES.items():
        click.echo(f"figure  {name:<28}  {figure.title}")
    for name, table in TABLES.items():
        click.echo(f"table   {name:<28}  {table.title}")


@papers.command("figure")
@click.argument("name")
@size_options
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the picture.")
def show_figure(name: str, out: Path | None, **options: Any) -> None:
    """Recompute one figure: a table, and a picture with --out.

    \b
    Examples:
      smoothdp papers figure smoothed-dp/1 --out figure.png
      smoothdp papers figure smoothed-dp/5 --full --resume finished --csv figure.csv
    """
    computed = recompute(FIGURES, name, **options)
    if out is not None:
        click.echo(f"\nPicture: {computed.draw(out)}", err=options["as_json"])


@papers.command("table")
@click.argument("name")
@size_options
def show_table(name: str, **options: Any) -> None:
    """Recompute one table.

    \b
    Example:
      smoothdp papers table shuffled-histograms/1 --csv histograms.csv
    """
    recompute(TABLES, name, **options)


@click.command()
@click.argument("names", nargs=-1)
def cite(names: tuple[str, ...]) -> None:
    """Print BibTeX for what was used: public names, or papers by key or number.

    Without a name, list what is known.

    \b
    Examples:
      smoothdp cite SmoothNoise shuffle.Histogram
      smoothdp cite paper-1
      smoothdp cite
    """
    if not names:
        for name, where in known_names(sd):
            click.echo(f"{name:<32}  {where}")
        return
    click.echo("\n\n".join(citations(names, public=sd)))
