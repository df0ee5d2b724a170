"""The file of a model: a header, then a label and counts in every row."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import click

import smoothdp as sd
from smoothdp.data import reason


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
    if _counts(lines[0][1:]) is not None:
        # Taken for a header, the first distribution would be left out in silence.
        raise click.UsageError(
            f"Expected a header in {path}; got counts in its first line. Write one above it, such "
            "as unit,first,second."
        )
    rows = []
    for number, fields in enumerate(lines[1:], start=1):
        counts = _counts(fields[1:])
        if counts is None or len(fields) != len(lines[0]):
            # The row is not shown: a file that was named by mistake may hold people.
            got = "another text" if len(fields) == len(lines[0]) else f"{len(fields)} fields"
            raise click.UsageError(
                f"Expected {len(lines[0]) - 1} counts after the label in row {number} of {path}; "
                f"got {got}. Correct that row."
            )
        rows.append(counts)
    return sd.DataModel.from_counts(rows)


def _counts(texts: Sequence[str]) -> list[int] | None:
    """Return whole numbers >= 0, or None."""
    try:
        counts = [int(text) for text in texts]
    except ValueError:
        return None
    return counts if min(counts, default=-1) >= 0 else None


def read_model_names(path: Path) -> tuple[str, ...]:
    """Return the names of the categories of a model: its header, without the first column."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = next((row for row in csv.reader(file) if row), [])
    names = [name.strip() for name in header[1:]]
    # A header of equal or empty names is no list of names.
    unnamed = len(set(names)) < len(names) or "" in names
    return tuple(f"category {k}" for k in range(1, len(names) + 1)) if unnamed else tuple(names)
