"""``smoothdp collect``: a total from users who trust nobody with their data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.collect_bins import read_counted
from smoothdp.cli.collect_input import require_bits
from smoothdp.cli.collect_output import What, show_collection
from smoothdp.cli.files import ask_ledger
from smoothdp.cli.positive_options import read_approximate


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--column", required=True, help="Column of FILE (CSV or Parquet), one row a user.")
@click.option("--above", help="Collect the share of values above this number.")
@click.option("--bounds", nargs=2, help="Collect the mean, values clipped to these two bounds.")
@click.option("--domain", type=click.Path(path_type=Path), help="Collect counts: a file of values.")
@click.option(
    "--bins",
    type=int,
    help="Collect counts: values hashed into so many bins; with --domain, says who shares one.",
)
@click.option("--epsilon", help="Epsilon of (epsilon, delta)-DP, above 0. Required.")
@click.option("--delta", help="Delta of (epsilon, delta)-DP, e.g. 1e-6. Required.")
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
    epsilon: str | None,
    delta: str | None,
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
    column holds 0 and 1, and the share of ones is collected. With --bins, --domain lists public
    values, and the output says which of them share a bin.

    \b
    Examples:
      smoothdp collect flights.csv --column dep_delay --above 15 --epsilon 1 --delta 1e-6
      smoothdp collect flights.csv --column dep_delay --bounds -60 1440 --epsilon 1 --delta 1e-6
      smoothdp collect flights.csv --column dest --domain airports.txt --epsilon 1 --delta 1e-6
    """
    counts = domain is not None or bins is not None
    chosen = [above is not None, bounds is not None, counts]
    if sum(chosen) > 1:
        raise click.UsageError(
            f"Expected one of --above, --bounds, --domain and --bins; got {sum(chosen)} of them. "
            "Say what to collect."
        )
    if n_bits is not None and bounds is None:
        raise click.UsageError("Expected --n-bits with --bounds alone; got no --bounds. Mend it.")
    guarantee = read_approximate(epsilon, delta)
    options: dict[str, Any] = {"guarantee": guarantee, "confidence": confidence}
    options["ledger"] = ask_ledger(ledger, guarantee)
    what: What = "counts" if counts else "mean" if bounds is not None else "share"
    shared = None
    if counts:
        values, names, shared = read_counted(file, column, domain, bins, missing)
        found = sd.collect_histogram(values, domain=names, **options)
        n_users = len(values)
    else:
        numbers = sd.read_column(file, column, missing=missing)
        if bounds is not None:
            found = sd.collect_mean(numbers, bounds=bounds, n_bits=n_bits, **options)
        else:
            if above is None:
                require_bits(numbers, column=column)
            found = sd.collect_share(numbers, above=above, **options)
        n_users = len(numbers)
    if plot is not None:
        found.draw(plot)
        click.echo(f"Picture: {plot}", err=True)
    wanted: dict[str, Any] = {"level": confidence, "bins": shared, "as_json": as_json}
    show_collection(found, what=what, n_users=n_users, **wanted)
