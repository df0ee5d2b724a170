"""``smoothdp serve demo``: clients, shuffler and analyser on one machine, to try."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import click

from smoothdp.cli.missing import missing_note
from smoothdp.cli.number_options import refuse_nan
from smoothdp.cli.positive_options import require_positive
from smoothdp.cli.serve_demo_input import read_data
from smoothdp.cli.serve_poll import require_no_question, require_poll_alone, run_poll

_MADE_UP = [int(user % 3 == 0) for user in range(600)]


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--column", help="Column of FILE (CSV or Parquet): one row a user.")
@click.option(
    "--above",
    type=float,
    callback=refuse_nan,
    help="Collect how many values are above this number.",
)
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

    Without FILE, 600 made-up users of whom 200 hold a 1. With FILE, --column names what each
    user holds. Choose one of --above, --bounds and --domain; without any, the column holds 0 and 1.
    The result is JSON on stdout; beside it, on stderr, the truth, which only a demo knows.

    \b
    Examples:
      smoothdp serve demo flights.csv --column late
      smoothdp serve demo flights.csv --column dep_delay --above 15
      smoothdp serve demo --poll
    """
    require_positive("--epsilon", epsilon)
    if poll:
        require_poll_alone(
            question,
            file,
            column=column,
            above=above,
            bounds=bounds,
            domain=domain,
            missing=missing,
        )
        run_poll(question, epsilon, delta)
        return
    require_no_question(question)
    from smoothdp import services

    chosen = [option is not None for option in (above, bounds, domain)].count(True)
    if file is None and (chosen or column or missing):
        raise click.UsageError(
            "Expected FILE with --column, --above, --bounds, --domain and --missing; got none. "
            "Give a CSV or Parquet file, or no options for made-up users."
        )
    if file is not None and column is None:
        raise click.UsageError(
            f"Expected --column with {file}; got none. Name the column that holds the data."
        )
    data: list[Any] = _MADE_UP
    options: dict[str, Any] = {}
    if file is not None and column is not None:
        data, options = read_data(file, column, above, bounds, domain, missing)
    say = partial(click.echo, err=True)
    found = services.demonstrate(data, say=say, epsilon=epsilon, delta=delta, **options)
    click.echo(json.dumps(found.document, indent=2))
    say(services.compare(found, data))
    if missing is not None:
        say(missing_note(missing))
    say(services.ONE_HOST)
