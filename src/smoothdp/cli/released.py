"""What a command prints of a release: value, error bars, mechanism, promise."""

from __future__ import annotations

import json
import math
from typing import Any

import click

import smoothdp as sd
from smoothdp.queries import FixedStatistic
from smoothdp.report import released_words
from smoothdp.text import number_down, number_up


def show_release(
    released: sd.claims.Release[Any],
    query: sd.queries.Query | FixedStatistic | sd.queries.Quantiles,
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
    several = released if isinstance(released, sd.mechanisms.QuantilesRelease) else None
    interval = released if isinstance(released, sd.mechanisms.IntervalRelease) else None
    statistic = query.describe() if words is None else words
    if words is None and n_records is not None and isinstance(query, sd.queries.Query):
        covers = None if interval is None else interval.target
        statistic = released_words(
            query, guarantee=released.guarantee, n_records=n_records, covers=covers
        )
    if as_json:
        result: dict[str, object] = {"value": released.value, "statistic": statistic}
        if several is not None:
            result |= {
                "value": list(several.value),
                "levels": list(several.names),
            }
            if several.interval is not None and several.confidence is not None:
                result |= {
                    "interval": [list(pair) for pair in several.interval],
                    "confidence": float(several.confidence),
                    "covers": several.covers,
                }
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
    if several is not None:
        _show_several(several)
        click.echo(f"which are  {statistic}; with noise, sorted")
    else:
        click.echo(f"value      {released.value:.10g}: {statistic}; with noise")
    if several is not None and several.confidence is not None:
        click.echo(
            f"intervals  cover, with probability at least {float(several.confidence):.15g}, "
            f"{several.covers}; each is made before sorting, and may leave out the value beside it"
        )
    if interval is not None:
        click.echo(f"interval   {_interval_text(*interval.interval)}: {interval.covers}")
    click.echo(f"mechanism  {released.mechanism}")
    click.echo(f"\n{released.guarantee.sentence(n_records=n_records)}{' ' + note if note else ''}")


def _show_several(released: sd.mechanisms.QuantilesRelease) -> None:
    """Print a line for each level: value and interval."""
    levels = released.names
    widest = max(len("level"), *map(len, levels))
    click.echo(f"{'level':>{widest}}  value" + ("" if released.interval is None else "  interval"))
    values = [f"{value:.10g}" for value in released.value]
    longest = max(map(len, values))
    for i, (level, value) in enumerate(zip(levels, values, strict=True)):
        bars = "" if released.interval is None else f"  {_interval_text(*released.interval[i])}"
        click.echo(f"{level:>{widest}}  {value:<{longest}}{bars}".rstrip())


def _interval_text(low: float, high: float) -> str:
    """Return both ends, rounded outwards, with digits enough to tell them apart."""
    digits = 17
    if high > low:
        digits = 3 + math.ceil(math.log10(max(abs(low), abs(high)) / (high - low)))
    digits = min(max(digits, 4), 17)
    return f"{number_down(low, digits)} to {number_up(high, digits)}"
