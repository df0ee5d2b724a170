"""``smoothdp collect``: a total from users who trust nobody with their data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.options.bins import read_counted
from smoothdp.cli.options.collect_plan import show_plan
from smoothdp.cli.options.collected import What, show_collection
from smoothdp.cli.options.columns import require_bits
from smoothdp.cli.options.csv_files import CsvFileOptions, csv_options
from smoothdp.cli.options.files import ask_ledger
from smoothdp.cli.options.guarantees import read_approximate
from smoothdp.plots import picture_path


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
@click.option("--n-bits", type=int, help="Messages per user of a real sum, which it names.")
@click.option(
    "--honest-share",
    default="9/10",
    show_default=True,
    help="Share of the users who are sure to follow the protocol: their noise alone is enough.",
)
@click.option(
    "--protocol",
    help="boolean-sum, real-sum, paired-count, split-sum, low-communication-histogram, "
    "paired-histogram or zero-preserving-histogram (default: the planner chooses, and says why).",
)
@click.option(
    "--liars",
    type=int,
    help="Users who may send anything, by whom the planner chooses (default: one). 0 declares that "
    "there is none.",
)
@click.option(
    "--plan", is_flag=True, help="Compare the protocols for so many rows; collect nothing."
)
@click.option("--most-messages", help="Messages a user may send on average (default: any).")
@click.option(
    "--most-slots",
    type=int,
    help="Slots of a user's envelope (default: 64; any with --protocol).",
)
@click.option("--n-answered", type=int, help="So many of the rows answer, drawn at random.")
@click.option(
    "--tolerated",
    type=int,
    default=0,
    show_default=True,
    help="So many of those who answer may send nothing, and the analysis allows for them.",
)
@click.option("--missing", help='A public constant for missing values, or "public-drop".')
@csv_options
@click.option("--confidence", default="0.95", show_default=True, help="Of the error bars.")
@click.option("--label", help="A name for the output and the ledger.")
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
    honest_share: str,
    protocol: str | None,
    liars: int | None,
    plan: bool,
    most_messages: str | None,
    most_slots: int | None,
    n_answered: int | None,
    tolerated: int,
    missing: str | None,
    csv: CsvFileOptions,
    confidence: str,
    label: str | None,
    ledger: Path | None,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Run a shuffled protocol on the users of a column and print what the analyser learns.

    Every user randomises by themselves, a shuffler mixes the messages, and the analyser sees
    nothing else. Choose one of --above, --bounds, --domain and --bins; without any, the
    column holds 0 and 1, and the share of ones is collected. Values that --domain does not list
    are counted as "other". With --bins, --domain lists public values, and the output says which
    of them share a bin.

    The planner chooses the protocol: the least error with one user who lies, or the fewest slots of
    those near it. The output says why, and how --protocol names the choice: whoever repeats a
    collection names it.

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
            f"Expected one of --above, --bounds, --domain and --bins; got {sum(chosen)}. Name one."
        )
    if n_bits is not None and counts:
        raise click.UsageError(
            "Expected --n-bits with a share or a mean; got counts. Leave --n-bits out."
        )
    if plot is not None:
        picture_path(plot)
    guarantee = read_approximate(epsilon, delta)
    options: dict[str, Any] = {"guarantee": guarantee, "confidence": confidence, "label": label}
    options |= {"honest_share": honest_share, "most_messages": most_messages}
    options |= {"most_slots": most_slots, "ledger": ask_ledger(ledger, guarantee)}
    options |= {"protocol": protocol, "liars": liars}
    options |= {"n_answered": n_answered, "tolerated": tolerated}
    what: What = "counts" if counts else "mean" if bounds is not None else "share"
    values: Any
    names: list[str] = []
    shared = None
    if counts:
        values, names, shared = read_counted(file, column, domain, bins, missing, csv.given())
        if bins is not None:
            # Every value has a hashed bin: there is no other.
            options["other"] = None
    else:
        values = sd.read_column(file, column, missing=missing, **csv.given())
    n_users, n_bins = len(values), len(names) if counts else None
    n_shown = n_users if n_answered is None else n_answered
    if plan:
        if n_bins is not None and bins is None and "other" not in names:
            # The bin of all values that the file does not list.
            n_bins += 1
        asked = ("guarantee", "honest_share", "most_messages", "most_slots")
        public: dict[str, Any] = {name: options[name] for name in asked}
        sizes = {"n_users": n_users, "n_bins": n_bins, "liars": liars}
        show_plan(what, as_json=as_json, **sizes, **public)
        return
    if counts:
        collected = sd.report.collect_histogram(values, domain=names, **options)
    elif bounds is not None:
        collected = sd.report.collect_mean(values, bounds=bounds, n_bits=n_bits, **options)
    else:
        if above is None:
            require_bits(values, column=column)
        collected = sd.report.collect_share(values, above=above, n_bits=n_bits, **options)
    wanted: dict[str, Any] = {"level": confidence, "bins": shared, "as_json": as_json}
    show_collection(collected, what=what, n_users=n_shown, **wanted)
    if plot is not None:
        # Last: what is charged is shown, whatever becomes of the picture.
        collected.draw(plot)
        click.echo(f"Picture: {plot}", err=True)
