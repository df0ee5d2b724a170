"""The statistics that ``release`` and ``plan`` know by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

import smoothdp as sd

_STATISTICS = ("mean", "trimmed-mean", "median", "quantile", "min", "max")
_OPTIONS = (
    click.option("--statistic", type=click.Choice(_STATISTICS), help="What to release."),
    click.option(
        "--bounds", nargs=2, help="Public bounds, chosen without the data; values are clamped."
    ),
    click.option("--trim", help="With trimmed-mean: share (0.05) or count (50) left out a side."),
    click.option("--q", "quantile", help="With quantile: the share of records below, e.g. 0.9."),
)


def statistic_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --statistic, --bounds, --trim and --q."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_query(
    statistic: str | None,
    bounds: tuple[str, str] | None,
    trim: str | None,
    quantile: str | None,
) -> sd.queries.Query:
    """Return the query that the options describe.

    ``trim`` is a count with a whole number, a share a side otherwise.
    """
    if statistic is None or bounds is None:
        raise click.UsageError("Expected --statistic and --bounds; one is missing. Give both.")
    if (statistic == "trimmed-mean") != (trim is not None):
        raise click.UsageError(
            "Expected --trim with trimmed-mean and with nothing else. Give the share a side, "
            "such as 0.05."
        )
    if (statistic == "quantile") != (quantile is not None):
        raise click.UsageError(
            "Expected --q with quantile and with nothing else. Give the share below, such as 0.9."
        )
    if trim is not None:
        return sd.queries.TrimmedMean(int(trim) if trim.isdigit() else trim, bounds=bounds)
    if quantile is not None:
        return sd.queries.Quantile(quantile, bounds=bounds)
    if statistic == "mean":
        return sd.queries.Mean(bounds)
    if statistic == "median":
        return sd.queries.Median(bounds)
    return sd.queries.Minimum(bounds) if statistic == "min" else sd.queries.Maximum(bounds)
