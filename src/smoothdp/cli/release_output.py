"""What ``smoothdp release`` prints."""

from __future__ import annotations

import json
import math

import click

import smoothdp as sd
from smoothdp.report.released import released_words
from smoothdp.text import number_down, number_up


def show_release(
    found: sd.Release[float | int],
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
    interval = found if isinstance(found, sd.IntervalRelease) else None
    statistic = released_words(
        query,
        guarantee=found.guarantee,
        n_records=n_records,
        error_bars=interval is not None,
    )
    if as_json:
        result: dict[str, object] = {"value": found.value, "statistic": statistic}
        if interval is not None:
            result |= {
                "interval": list(interval.interval),
                "confidence": float(interval.confidence),
                "covers": interval.covers,
            }
        result |= {
            "guarantee": found.guarantee.sentence(n_records=n_records),
            "claim": json.loads(found.guarantee.to_json()),
            "mechanism": found.mechanism,
            "n_records": n_records,
            "missing": note,
            "version": found.library_version,
        }
        click.echo(json.dumps(result, indent=2))
        return
    click.echo(f"value      {found.value:.10g}: {statistic}; with noise")
    if interval is not None:
        sure = "nominally" if "(nominal)" in interval.covers else "at least"
        click.echo(
            f"interval   {_interval_text(*interval.interval)}: covers, with probability {sure} "
            f"{float(interval.confidence):.15g}, {interval.covers}"
        )
    click.echo(f"mechanism  {found.mechanism}")
    click.echo(f"\n{found.guarantee.sentence(n_records=n_records)}{' ' + note if note else ''}")


def _interval_text(low: float, high: float) -> str:
    """Return both ends, rounded outwards, with digits enough to tell them apart."""
    digits = 17
    if high > low:
        digits = 3 + math.ceil(math.log10(max(abs(low), abs(high)) / (high - low)))
    digits = min(max(digits, 4), 17)
    return f"{number_down(low, digits)} to {number_up(high, digits)}"
