"""``smoothdp release``: a statistic of one column, with a guarantee."""

from __future__ import annotations

import json
import math
from dataclasses import astuple
from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.options.columns import (
    StatisticOptions,
    missing_note,
    missing_option,
    read_query,
    statistic_options,
)
from smoothdp.cli.options.files import ask_ledger, check_size, read_plan
from smoothdp.cli.options.guarantees import GuaranteeOptions, guarantee_options, read_guarantee
from smoothdp.report import released_words
from smoothdp.text import number_down, number_up


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--column", required=True, help="Column of FILE (CSV or Parquet).")
@statistic_options
@guarantee_options
@click.option("--plan", "plan", type=click.Path(path_type=Path), help="A file of smoothdp plan.")
@click.option(
    "--confidence", help="Also release error bars that cover with this probability at least."
)
@click.option(
    "--covers",
    type=click.Choice(("statistic", "population", "mean")),
    default="statistic",
    show_default=True,
    help="What error bars cover: what is released, of these records, or of their population.",
)
@click.option("--sd-bound", help="With --covers mean: a public bound on the standard deviation.")
@click.option("--round-to", help="Round the output to a multiple, e.g. 1 for whole numbers.")
@click.option("--ledger", type=click.Path(path_type=Path), help="Charge a ledger first.")
@missing_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def release(
    file: Path,
    column: str,
    statistic: StatisticOptions,
    guarantee: GuaranteeOptions,
    plan: Path | None,
    confidence: str | None,
    covers: str,
    sd_bound: str | None,
    round_to: str | None,
    ledger: Path | None,
    missing: str | None,
    as_json: bool,
) -> None:
    """Release a statistic of a column with noise scaled to its smooth sensitivity.

    Nothing but the noisy value depends on the data. The number of rows and the bounds are
    public: choose the bounds without looking at the data. The value is clamped to them. For a
    median or quantile it is the mean of a window of values around it, as the words beside it say.

    \b
    Examples:
      smoothdp release flights.csv --column delay --statistic median --bounds -60 1440 --epsilon 1
      smoothdp release pay.parquet --column pay --statistic trimmed-mean --trim 0.05 \\
        --bounds 0 1e6 --guarantee zcdp --rho 0.5 --confidence 0.95
      smoothdp release flights.csv --column delay --plan plan.json --ledger ledger.db
    """
    options: dict[str, Any] = {
        "round_to": round_to,
        "clamp": True,
        "confidence": confidence,
        "covers": covers,
        "sd_bound": sd_bound,
    }
    if plan is not None:
        if any((*astuple(statistic), *astuple(guarantee))):
            raise click.UsageError(
                "Expected --plan alone: it holds statistic, bounds and guarantee; got some of "
                "these too. Leave one out."
            )
        planned = read_plan(plan)
        options["ledger"] = ask_ledger(ledger, planned.guarantee)
        values = sd.read_column(file, column, missing=missing)
        check_size(planned, len(values))
        query, released = planned.query, planned.release(values, **options)
    else:
        query = read_query(statistic)
        promise = read_guarantee(guarantee)
        options["ledger"] = ask_ledger(ledger, promise)
        values = sd.read_column(file, column, missing=missing)
        released = sd.release(values, query, guarantee=promise, **options)
    show_release(
        released, query, n_records=len(values), note=missing_note(missing), as_json=as_json
    )


def show_release(
    released: sd.claims.Release[float | int],
    query: sd.queries.Query,
    *,
    n_records: int,
    note: str,
    as_json: bool,
) -> None:
    """Print a release, with its interval if it has one.

    Args:
        query: as it was given to the release. note: about missing values.
    """
    interval = released if isinstance(released, sd.mechanisms.IntervalRelease) else None
    statistic = released_words(
        query,
        guarantee=released.guarantee,
        n_records=n_records,
        error_bars=interval is not None,
    )
    if as_json:
        result: dict[str, object] = {"value": released.value, "statistic": statistic}
        if interval is not None:
            result |= {
                "interval": list(interval.interval),
                "confidence": float(interval.confidence),
                "covers": interval.covers,
            }
        result |= {
            "guarantee": released.guarantee.sentence(n_records=n_records),
            "claim": json.loads(released.guarantee.to_json()),
            "mechanism": released.mechanism,
            "n_records": n_records,
            "missing": note,
            "version": released.library_version,
        }
        click.echo(json.dumps(result, indent=2))
        return
    click.echo(f"value      {released.value:.10g}: {statistic}; with noise")
    if interval is not None:
        sure = "nominally" if "(nominal)" in interval.covers else "at least"
        click.echo(
            f"interval   {_interval_text(*interval.interval)}: covers, with probability {sure} "
            f"{float(interval.confidence):.15g}, {interval.covers}"
        )
    click.echo(f"mechanism  {released.mechanism}")
    click.echo(f"\n{released.guarantee.sentence(n_records=n_records)}{' ' + note if note else ''}")


def _interval_text(low: float, high: float) -> str:
    """Return both ends, rounded outwards, with digits enough to tell them apart."""
    digits = 17
    if high > low:
        digits = 3 + math.ceil(math.log10(max(abs(low), abs(high)) / (high - low)))
    digits = min(max(digits, 4), 17)
    return f"{number_down(low, digits)} to {number_up(high, digits)}"
