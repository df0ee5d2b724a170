"""Public cells for a design: from a CSV file of cells, or as a cross table of public columns."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import click
import numpy as np

from smoothdp.cli.options.csv_files import CsvTextOptions
from smoothdp.data import reason
from smoothdp.data.read_table import read_table

_MOST_CELLS = 1_000_000
_NO_VALUE = "no value"

Cells = tuple[list[tuple[str, ...]], list[int]]
"""The labels of every cell, a text for each column, and its number of records."""


def read_rows(path: Path, what: str, text: CsvTextOptions) -> list[list[str]]:
    """Return the rows of a CSV file that are not empty, the header first; ``what`` it holds."""
    given = text.given()
    try:
        with path.open(encoding=given.get("encoding", "utf-8-sig"), newline="") as file:
            rows = [
                [field.strip() for field in row]
                for row in csv.reader(file, delimiter=given.get("delimiter", ","), strict=True)
                if any(field.strip() for field in row)
            ]
    except (OSError, UnicodeDecodeError, LookupError, TypeError, csv.Error) as error:
        raise click.UsageError(
            f"Expected a readable CSV file of {what} {path}; got {reason(error)}. Check the path, "
            "--delimiter and --encoding."
        ) from None
    if len(rows) < 2:
        raise click.UsageError(
            f"Expected a header and rows of {what} in {path}; got {len(rows)} rows. Check the file."
        )
    return rows


def read_cells(path: Path, count: str | None, text: CsvTextOptions) -> tuple[list[str], Cells]:
    """Return the label columns and the cells of a CSV file: one row a cell, the last column counts.

    ``count`` names another column of counts.
    """
    header, *rows = read_rows(path, "cells", text)
    if count is not None and count not in header:
        raise click.UsageError(
            f"Expected --count as a column of {path}; got {count!r}. Its columns are "
            f"{', '.join(header)}."
        )
    place = len(header) - 1 if count is None else header.index(count)
    if len(header) < 2 or _whole(header[place]) is not None:
        raise click.UsageError(
            f"Expected a header with a column of labels and one of counts in {path}; got "
            f"{','.join(header)!r}. Write a first line such as region,occupation,persons."
        )
    labels, counts = [], []
    for number, row in enumerate(rows, 1):
        value = _whole(row[place]) if len(row) == len(header) else None
        if value is None:
            raise click.UsageError(
                f"Expected {len(header)} fields, a whole number >= 0 as {header[place]!r}, in row "
                f"{number} of {path}; got {','.join(row)!r}. Put names with commas in quotes."
            )
        labels.append(tuple(row[:place] + row[place + 1 :]))
        counts.append(value)
    return header[:place] + header[place + 1 :], (labels, counts)


def cross_table(
    file: Path,
    columns: Sequence[str],
    names: dict[str, Path],
    text: CsvTextOptions,
    *,
    only_occurring: bool,
) -> Cells:
    """Return the cross table of public columns: every combination of their values is a cell.

    Args:
        file, columns: microdata and the columns of the table.
        names: files of the values of a column: all there may be, with their names.
        text: how the file is written.
        only_occurring: leave empty cells out: they are declared impossible.
    """
    strays = [name for name in names if name not in columns]
    if strays or len(set(columns)) < len(columns):
        raise click.UsageError(
            f"Expected --by columns once, and --names of columns that stand in --by; got "
            f"{', '.join(strays or columns)}. Name each column once."
        )
    options = {} if str(file).endswith(".parquet") else text.given()
    table = read_table(str(file), categories=columns, numbers=[], csv=options or None)
    axes, codes = [], []
    for name in columns:
        column = table.categories[name]
        found = [str(label) for label in column.labels]
        listed = _read_names(names[name], text) if name in names else None
        values = dict.fromkeys(found) if listed is None else listed
        unknown = [value for value in found if value not in values]
        if unknown:
            raise click.UsageError(
                f"Expected every value of {name!r} in {names[name]}; got {unknown[0]!r} beside "
                "them. Add it to the file."
            )
        order = {value: place for place, value in enumerate(values)}
        axis = [shown or value for value, shown in values.items()]
        # A row without a value has the code -1: the last of the places.
        places = np.array([*(order[value] for value in found), len(axis)], dtype=np.int64)
        codes.append(places[column.codes])
        axes.append([*axis, *([_NO_VALUE] if (column.codes < 0).any() else [])])
    shape = [len(axis) for axis in axes]
    n_cells = int(np.prod([float(length) for length in shape]))
    if n_cells > _MOST_CELLS:
        raise click.UsageError(
            f"Expected at most {_MOST_CELLS} cells; got {n_cells}. Cross fewer columns."
        )
    flat = np.ravel_multi_index(tuple(codes), shape) if table.n_rows else np.zeros(0, np.int64)
    counts = np.bincount(flat, minlength=n_cells).tolist()
    cells = [
        (labels, count)
        for labels, count in zip(product(*axes), counts, strict=True)
        if count or not only_occurring
    ]
    return [labels for labels, _ in cells], [count for _, count in cells]


def read_strata_file(path: Path, text: CsvTextOptions) -> dict[str, str]:
    """Return the stratum of every label: a CSV file of label and stratum."""
    rows = read_rows(path, "labels and strata", text)[1:]
    if any(len(row) < 2 for row in rows):
        raise click.UsageError(
            f"Expected a label and a stratum in every row of {path}; got a shorter row. The last "
            "field is the stratum, the others are the label."
        )
    return {", ".join(row[:-1]): row[-1] for row in rows}


def _read_names(path: Path, text: CsvTextOptions) -> dict[str, str | None]:
    rows = read_rows(path, "values and their names", text)[1:]
    return {row[0]: (row[1] if len(row) > 1 and row[1] else None) for row in rows}


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None
