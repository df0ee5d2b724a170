"""The file of a model: distributions as rows of counts."""

from __future__ import annotations

import csv
from pathlib import Path

import click

import smoothdp as sd
from smoothdp.data.refusals import reason


def read_model(path: Path) -> sd.DataModel:
    """Return the model of a CSV file: a header, then a label and counts in every row."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise click.UsageError(
            f"Expected a readable CSV file {path}; got {reason(error)}. Check the path."
        ) from None
    if len(lines) < 2 or len(lines[0]) < 3:
        raise click.UsageError(
            f"Expected a header and rows of a label and at least two counts in {path}; got "
            f"{len(lines)} lines. Check the file."
        )
    rows = []
    for place, fields in enumerate(lines[1:], start=1):
        try:
            counts = [int(text) for text in fields[1:]]
        except ValueError:
            counts = []
        if len(counts) != len(lines[0]) - 1 or min(counts) < 0:
            raise click.UsageError(
                f"Expected {len(lines[0]) - 1} counts after the label in row {place} of {path}; "
                f"got {','.join(fields)!r}. Mend that row."
            )
        rows.append(counts)
    return sd.DataModel.from_counts(rows)
