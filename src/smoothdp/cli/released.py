"""What a command prints of a release: value, error bars, mechanism, promise."""

from __future__ import annotations

import json
import math

import click

import smoothdp as sd
from smoothdp.queries import FixedStatistic
from smoothdp.report import released_words
from smoothdp.text import number_down, number_up


def show_release(
    released: sd.claims.Release[float | int],
    query: sd.queries.Query | FixedStatistic,
    *,
    words: str | None = None,
    n_records: int | None,
    note: str,
    as_json: bool,
) -> None:
    """Print a release, with its interval if it has one.

    Args:
        query: as it was given to the release. words: what a plan says was released; None: by
            the rule. n_records: n where it is public. note: about missing values.
    """
    interval = released if isinstance(released, sd.mechanisms.IntervalRelease) else None
    statistic = query.describe() if words is None else words
    if words is None and n_records is not None and isinstance(query, sd.queries.Query):
        bars = interval is not None
        statistic = released_words(
            query, guarantee=released.guarantee, n_records=n_records, error_bars=bars
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
            "label": None if released.label is None else released.label.to_dict(),
            "missing": note,
            "version": released.library_version,
        }
        click.echo(json.dumps(result, indent=2))
        return
    if released.label is not None:
        click.echo(released.label.words())
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
