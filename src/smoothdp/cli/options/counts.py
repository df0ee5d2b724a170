"""Counts of records, and how a sample of them is drawn."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.options.csv_files import CsvTextOptions


def read_counts(
    counts: str | None,
    file: Path | None,
    column: str | None,
    universe: str | None,
    missing: str | None = None,
    csv: CsvTextOptions | None = None,
) -> dict[str, int]:
    """Return records per category, in order, from --counts or from a column of a file."""
    if counts is not None:
        return {f"category {number}": value for number, value in enumerate(_parse(counts), 1)}
    assert file is not None
    if column is None:
        raise click.UsageError(
            f"Expected --column with {file}; got none. Name the column that holds the categories."
        )
    named = [name.strip() for name in universe.split(",")] if universe is not None else None
    options: dict[str, Any] = {} if csv is None else csv.given()
    counted = sd.data.count_column(file, column, universe=named, missing=missing, **options)
    if universe is None:
        click.echo(
            "Note: only categories that occur are known; a record that moved to another would "
            "stand out and is not covered. Name all with --universe",
            err=True,
        )
    return counted


@dataclass(frozen=True)
class SampleOptions:
    """How a sample is drawn, as it stands on the command line; None where it is left out."""

    sampling_rate: str | None
    n_draws: int | None
    sampling: str | None
    keep_probability: str | None


SAMPLE = tuple(field.name for field in fields(SampleOptions))
"""The parameters that say how a sample is drawn."""


def read_mechanism(
    n_records: int, sample: SampleOptions
) -> sd.SamplingHistogram | sd.BernoulliHistogram:
    """Return the mechanism that the options describe."""
    ways = (sample.sampling_rate, sample.n_draws, sample.keep_probability)
    chosen = [option is not None for option in ways]
    if sum(chosen) != 1:
        raise click.UsageError(
            "Expected one of --sampling-rate, --n-draws and --keep-probability; got "
            f"{sum(chosen)} of them. Say how the sample is drawn."
        )
    if sample.keep_probability is not None:
        if sample.sampling is not None:
            raise click.UsageError(
                "Expected --sampling with --sampling-rate or --n-draws; got it with "
                "--keep-probability, where each record is kept independently. Leave --sampling out."
            )
        return sd.BernoulliHistogram(n_records, keep_probability=sample.keep_probability)
    return sd.SamplingHistogram(
        n_records,
        n_draws=sample.n_draws,
        sampling_rate=sample.sampling_rate,
        sampling="with_replacement"
        if sample.sampling == "with_replacement"
        else "without_replacement",
    )


def _parse(counts: str) -> list[int]:
    values = []
    for text in counts.split(","):
        try:
            values.append(int(text))
        except ValueError:
            raise click.UsageError(
                f"Expected --counts as whole numbers separated by commas; got {text.strip()!r}. "
                "Give one count per category, such as 120,340,0."
            ) from None
    if any(value < 0 for value in values):
        raise click.UsageError(
            f"Expected counts of at least 0; got {min(values)}. Correct that count."
        )
    return values
