"""``smoothdp papers``: figures, tables and verdicts of the papers, recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from smoothdp.cli.papers_recompute import recompute, size_options
from smoothdp.cli.papers_verdicts import show_verdicts
from smoothdp.papers import FIGURES, TABLES


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
