"""``smoothdp serve demo``: clients, shuffler and analyser on one machine, to try."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import click

import smoothdp as sd
from smoothdp.cli.collect_input import read_domain
from smoothdp.cli.missing import missing_note
from smoothdp.cli.serve_poll import run_poll

_MADE_UP = [int(user % 3 == 0) for user in range(600)]


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--column", help="Column of FILE (CSV or Parquet).")
@click.option("--above", type=float, help="Collect how many values are above this number.")
@click.option("--bounds", nargs=2, help="Collect the sum and mean, values clipped to these.")
@click.option("--domain", type=click.Path(path_type=Path), help="Collect counts: file of values.")
@click.option("--missing", help='A public constant for missing values, or "public-drop".')
@click.option("--epsilon", default="1", show_default=True)
@click.option("--delta", default="1e-6", show_default=True)
@click.option("--poll", is_flag=True, help="A poll page for your browser instead of FILE.")
@click.option("--question", help="With --poll: what is asked.")
def demo(
    file: Path | None,
    column: str | None,
    above: float | None,
    bounds: tuple[str, str] | None,
    domain: Path | None,
    missing: str | None,
    epsilon: str,
    delta: str,
    poll: bool,
    question: str | None,
) -> None:
    """Run everything on this machine: a client per row, a shuffler, an analyser; print the result.

    Without FILE, 600 made-up users of whom 200 hold a 1.

    \b
    Example:
      smoothdp serve demo flights.csv --column dep_delay --above 15
      smoothdp serve demo --poll
    """
    if poll:
        if file is not None:
            raise click.UsageError("Expected either FILE or --poll.")
        run_poll(question, epsilon, delta)
        return
    from smoothdp import services

    say = partial(click.echo, err=True)
    run = partial(services.demonstrate, say=say, epsilon=epsilon, delta=delta)
    chosen = [option is not None for option in (above, bounds, domain)].count(True)
    if file is None:
        if chosen or column or missing:
            raise click.UsageError("Expected FILE with --column; got none. Give a CSV file.")
        found = run(_MADE_UP)
    elif column is None or chosen != 1:
        raise click.UsageError("Expected --column and one of --above, --bounds, --domain.")
    elif domain is not None:
        values = sd.read_column(file, column, kind="category", missing=missing)
        names, values = read_domain(values, domain, None)
        found = run(values, protocol="histogram", domain=names)
    else:
        numbers = sd.read_column(file, column, missing=missing)
        if bounds is not None:
            found = run(list(numbers), protocol="real_sum", bounds=bounds)
        else:
            found = run([int(value > above) for value in numbers])
    click.echo(json.dumps(found.document, indent=2))
    if missing is not None:
        click.echo(missing_note(missing), err=True)
    click.echo(services.ONE_HOST, err=True)
