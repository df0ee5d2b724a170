"""``smoothdp collect``: a total from users who trust nobody with their data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.collect_input import read_domain


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--column", required=True, help="Column of FILE (CSV or Parquet), one row a user.")
@click.option("--above", help="Collect the share of values above this number.")
@click.option("--bounds", nargs=2, help="Collect the mean, values clipped to these two bounds.")
@click.option("--domain", type=click.Path(path_type=Path), help="Collect counts: a file of values.")
@click.option("--bins", type=int, help="Collect counts: values hashed into so many bins.")
@click.option("--epsilon", required=True, help="Epsilon of (epsilon, delta)-DP.")
@click.option("--delta", required=True, help="Delta of (epsilon, delta)-DP, e.g. 1e-6.")
@click.option("--n-bits", type=int, help="Messages per user of a mean (default: chosen).")
@click.option("--missing", help='A public constant for missing values, or "public-drop".')
@click.option("--confidence", default="0.95", show_default=True, help="Of the error bars.")
@click.option("--ledger", type=click.Path(path_type=Path), help="Charge a ledger first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw delta against epsilon.")
def collect(
    file: Path,
    column: str,
    above: str | None,
    bounds: tuple[str, str] | None,
    domain: Path | None,
    bins: int | None,
    epsilon: str,
    delta: str,
    n_bits: int | None,
    missing: str | None,
    confidence: str,
    ledger: Path | None,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Run a shuffled protocol on the users of a column and print what the analyser learns.

    Every user randomises by themselves, a shuffler mixes the messages, and the analyser sees
    nothing else. Choose one of --above, --bounds, --domain and --bins; without any, the
    column holds 0 and 1, and the share of ones is collected.

    \b
    Examples:
      smoothdp collect flights.csv --column dep_delay --above 15 --epsilon 1 --delta 1e-6
      smoothdp collect flights.csv --column dep_delay --bounds -60 1440 --epsilon 1 --delta 1e-6
      smoothdp collect flights.csv --column dest --domain airports.txt --epsilon 1 --delta 1e-6
    """
    chosen = [option is not None for option in (above, bounds, domain, bins)]
    if sum(chosen) > 1:
        raise click.UsageError(
            f"Expected one of --above, --bounds, --domain and --bins; got {sum(chosen)} of them. "
            "Say what to collect."
        )
    options: dict[str, Any] = {
        "guarantee": sd.ApproxDP(epsilon, delta=delta),
        "confidence": confidence,
        "ledger": None if ledger is None else sd.Ledger(ledger),
    }
    if domain is not None or bins is not None:
        values = sd.read_column(file, column, kind="category", missing=missing)
        names, values = read_domain(values, domain, bins)
        found = sd.collect_histogram(values, domain=names, **options)
    else:
        numbers = sd.read_column(file, column, missing=missing)
        if bounds is not None:
            found = sd.collect_mean(numbers, bounds=bounds, n_bits=n_bits, **options)
        else:
            found = sd.collect_share(numbers, above=above, **options)
    if plot is not None:
        found.draw(plot)
        click.echo(f"Picture: {plot}", err=True)
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else found.text())
