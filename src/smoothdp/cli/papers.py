"""``smoothdp papers``: figures and tables of the papers, recomputed exactly."""

from __future__ import annotations

import json
from pathlib import Path

import click

from smoothdp.cli.progress import progress_bar
from smoothdp.papers import FIGURES


@click.group(invoke_without_command=True)
@click.pass_context
def papers(context: click.Context) -> None:
    """Recompute figures of the papers, with exact numbers.

    \b
    Example:
      smoothdp papers figure smoothed-dp/1 --out figure.png
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@papers.command("list")
def list_figures() -> None:
    """List the figures that can be recomputed.

    \b
    Example:
      smoothdp papers list
    """
    for name, figure in FIGURES.items():
        click.echo(f"{name}  {figure.title}")


@papers.command()
@click.argument("name")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the picture.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def figure(name: str, out: Path | None, as_json: bool) -> None:
    """Recompute one figure: a table, and a picture with --out.

    \b
    Example:
      smoothdp papers figure smoothed-dp/1 --out figure.png
    """
    if name not in FIGURES:
        raise click.UsageError(
            f"Expected one of {', '.join(FIGURES)}; got {name!r}. See: smoothdp papers list"
        )
    with progress_bar(FIGURES[name].title) as progress:
        computed = FIGURES[name].compute(progress=progress)
    if as_json:
        click.echo(json.dumps(computed.to_dict(), indent=2))
    else:
        click.echo(computed.text())
    if out is not None:
        click.echo(f"\nPicture: {computed.draw(out)}", err=as_json)
