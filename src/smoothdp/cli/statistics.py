"""The statistics that ``release`` and ``plan`` know by name."""

from __future__ import annotations

import click

import smoothdp as sd

STATISTICS = ("mean", "trimmed-mean", "median", "quantile", "min", "max")


def read_query(
    statistic: str, bounds: tuple[str, str], trim: str | None, quantile: str | None
) -> sd.queries.Query:
    """Return the query that the options describe.

    ``trim`` is a count with a whole number, a share a side otherwise.
    """
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
