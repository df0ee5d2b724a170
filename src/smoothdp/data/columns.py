"""One column of a file, as numbers, as categories, or counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from smoothdp.data.csv_file import csv_values
from smoothdp.data.parquet_file import parquet_values
from smoothdp.errors import InvalidData, InvalidParameter, explain

Kind = Literal["number", "category"]


def read_column(
    path: str | Path, column: str, *, kind: Kind = "number"
) -> NDArray[np.float64] | list[str]:
    """Return one column of a CSV or Parquet file; nothing else is kept in memory.

    Args:
        path: a file whose name ends in .csv, .tsv or .parquet.
        column: the name of the column in the header.
        kind: "number" (an array of floats) or "category" (a list of texts).

    Raises:
        InvalidData: the file or column is missing, empty or malformed; a value is missing,
            or is not a finite number where numbers are read.
        MissingExtra: Parquet without the ``data`` extra.
    """
    if kind == "category":
        return [value for chunk in _chunks(path, column) for value in chunk]
    if kind != "number":
        raise InvalidParameter(
            explain('kind "number" or "category"', f"kind={kind!r}", "Use one of the two")
        )
    parts, row = [], 1
    for chunk in _chunks(path, column):
        parts.append(_numbers(chunk, row, column))
        row += len(chunk)
    return np.concatenate(parts)


def count_column(
    path: str | Path, column: str, *, universe: Sequence[str] | None = None
) -> dict[str, int]:
    """Return the number of records per category of a column, in bounded memory.

    Args:
        path, column: as for `read_column`.
        universe: all categories, in order; those that nobody is in count 0. Without it the
            categories are those seen, sorted, and an unseen category is not protected.

    Raises:
        InvalidData: as for `read_column`, or a value outside the universe.
    """
    tally: Counter[str] = Counter()
    for chunk in _chunks(path, column):
        tally.update(chunk)
    if universe is None:
        return dict(sorted(tally.items()))
    unknown = next((value for value in tally if value not in set(universe)), None)
    if unknown is not None:
        raise InvalidData(
            explain(
                f"values of {column!r} among the universe",
                f"{unknown!r}",
                "Add it to the universe or mend the file",
            )
        )
    return {category: tally.get(category, 0) for category in universe}


def _chunks(path: str | Path, column: str) -> Iterator[list[str]]:
    """Yield the column in chunks of texts, after checking that there is a file to read."""
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in (".csv", ".tsv", ".parquet"):
        raise InvalidData(
            explain("a file ending in .csv, .tsv or .parquet", f"{file}", "Convert or rename it")
        )
    if not file.is_file():
        got = "a directory" if file.is_dir() else "no such file"
        raise InvalidData(explain(f"the file {file}", got, "Check the path"))
    if file.stat().st_size == 0:
        raise InvalidData(explain(f"a header line in {file}", "an empty file", "Check the file"))
    if ending == ".parquet":
        yield from parquet_values(file, column)
    else:
        yield from csv_values(file, column, "\t" if ending == ".tsv" else ",")


def _numbers(texts: list[str], first_row: int, column: str) -> NDArray[np.float64]:
    try:
        values = np.array(texts, dtype=np.float64)
    except ValueError:
        values = np.array([math.nan])
    if np.isfinite(values).all():
        return values
    for row, text in enumerate(texts, start=first_row):
        try:
            bad = not math.isfinite(float(text))
        except ValueError:
            bad = True
        if bad:
            raise InvalidData(
                explain(
                    f"finite numbers in column {column!r}",
                    f"{text!r} in row {row} after the header",
                    "Mend that value",
                )
            )
    raise AssertionError("numpy and float disagree about a number")
