"""Public cells for a design: from a CSV file of cells, or as a cross table of public columns."""

from __future__ import annotations

import csv as csv_module
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click

import smoothdp as sd
from smoothdp.cli.options.csv_files import CsvTextOptions
from smoothdp.data import reason

Value = TypeVar("Value", str, str | None)

_DIGITS = 18
"""Counts are below 2^50."""


@dataclass(frozen=True)
class Cells:
    """The columns of the labels; of every cell its labels, and its number of records."""

    columns: list[str]
    labels: list[tuple[str, ...]]
    counts: list[int]


@dataclass(frozen=True)
class CellOptions:
    """Where the cells come from, as it stands on the command line."""

    counts_file: Path | None
    count: str | None
    file: Path | None
    by: str | None
    names: tuple[str, ...]
    only_occurring: bool
    public: bool
    stratum: str | None
    strata_file: Path | None


def read_design_cells(
    asked: CellOptions, csv: CsvTextOptions
) -> tuple[dict[str, int], dict[str, str] | None]:
    """Return the cells by label, and the stratum of every label if there are strata."""
    if asked.counts_file is not None:
        cells = read_cells(asked.counts_file, asked.count, csv)
    else:
        assert asked.file is not None
        if asked.by is None or not asked.public:
            lacking = "--by" if asked.by is None else "--public"
            raise click.UsageError(
                f"Expected --by and --public with --file; got no {lacking}. The rate is as private "
                "as the cells: name the columns, and declare them public."
            )
        columns = [name.strip() for name in asked.by.split(",")]
        is_parquet = asked.file.suffix.lower() == ".parquet"
        crossed = sd.design.cross_table(
            asked.file,
            columns,
            names={
                name: _read_names(path, csv) for name, path in _named_files(asked.names).items()
            },
            only_occurring=asked.only_occurring,
            csv=None if is_parquet else csv.given() or None,
        )
        cells = Cells(columns, list(crossed), list(crossed.values()))
    joined = [", ".join(label) for label in cells.labels]
    twice = [one for one, times in Counter(joined).items() if times > 1]
    if twice:
        raise click.UsageError(
            f"Expected every cell once; got {twice[0]!r} twice. Add its rows up."
        )
    counts = dict(zip(joined, cells.counts, strict=True))
    if asked.strata_file is not None:
        return counts, read_strata_file(asked.strata_file, csv)
    if asked.stratum is None:
        return counts, None
    place = _place(asked.stratum, cells.columns)
    return counts, {name: label[place] for name, label in zip(joined, cells.labels, strict=True)}


def _place(stratum: str, columns: Sequence[str]) -> int:
    if stratum not in columns:
        raise click.UsageError(
            f"Expected --stratum as one of the columns {', '.join(columns)}; got {stratum!r}. Name "
            "the column of the strata."
        )
    return list(columns).index(stratum)


def _named_files(texts: Sequence[str]) -> dict[str, Path]:
    named = {}
    for text in texts:
        column, equals, path = text.partition("=")
        if not equals or not path:
            raise click.UsageError(
                f"Expected --names such as region=regions.csv; got {text!r}. Write COLUMN=FILE."
            )
        named[column] = Path(path)
    return named


def read_rows(path: Path, what: str, text: CsvTextOptions) -> list[list[str]]:
    """Return the rows of a CSV file that are not empty, the header first; ``what`` it holds."""
    given = text.given()
    try:
        with path.open(encoding=given.get("encoding", "utf-8-sig"), newline="") as file:
            rows = [
                [field.strip() for field in row]
                for row in csv_module.reader(
                    file, delimiter=given.get("delimiter", ","), strict=True
                )
                if any(field.strip() for field in row)
            ]
    except (OSError, UnicodeDecodeError, LookupError, TypeError, csv_module.Error) as error:
        raise click.UsageError(
            f"Expected a readable CSV file of {what} {path}; got {reason(error)}. Check the path, "
            "--delimiter and --encoding."
        ) from None
    if len(rows) < 2:
        raise click.UsageError(
            f"Expected a header and rows of {what} in {path}; got {len(rows)} rows. Check the file."
        )
    return rows


def read_cells(path: Path, count: str | None, text: CsvTextOptions) -> Cells:
    """Return the cells of a CSV file: a row for each, its labels and last its count.

    ``count`` names another column of counts.
    """
    header, *rows = read_rows(path, "cells", text)
    if count is not None and header.count(count) != 1:
        raise click.UsageError(
            f"Expected --count as a column of {path}, there once; got {count!r}, "
            f"{header.count(count)} of its {len(header)} columns. Name a column of the file."
        )
    place = len(header) - 1 if count is None else header.index(count)
    if len(header) < 2 or _whole(header[place]) is not None:
        raise click.UsageError(
            f"Expected a header with a column of labels and one of counts in {path}; got a first "
            f"line of {len(header)} {'field' if len(header) == 1 else 'fields'}"
            f"{'' if len(header) < 2 else ' with a number for the name of the counts'}. Write a "
            "first line such as region,occupation,persons, or give --delimiter."
        )
    labels, counts = [], []
    for number, row in enumerate(rows, 1):
        value = _whole(row[place]) if len(row) == len(header) else None
        if value is None:
            # The row is not shown: a file that was named by mistake may hold people.
            got = "another text there" if len(row) == len(header) else f"{len(row)} fields"
            raise click.UsageError(
                f"Expected {len(header)} fields, the count a whole number >= 0, in row "
                f"{number} of {path}; got {got}. Put names with commas in quotes."
            )
        labels.append(tuple(row[:place] + row[place + 1 :]))
        counts.append(value)
    return Cells(header[:place] + header[place + 1 :], labels, counts)


def read_strata_file(path: Path, text: CsvTextOptions) -> dict[str, str]:
    """Return the stratum of every label: a CSV file of label and stratum."""
    rows = read_rows(path, "labels and strata", text)[1:]
    if any(len(row) < 2 for row in rows):
        raise click.UsageError(
            f"Expected a label and a stratum in every row of {path}; got a shorter row. The last "
            "field is the stratum, the others are the label."
        )
    return _each_once([(", ".join(row[:-1]), row[-1]) for row in rows], path)


def _read_names(path: Path, text: CsvTextOptions) -> dict[str, str | None]:
    rows = read_rows(path, "values and their names", text)[1:]
    return _each_once([(r[0], r[1] if len(r) > 1 and r[1] else None) for r in rows], path)


def _each_once(pairs: Sequence[tuple[str, Value]], path: Path) -> dict[str, Value]:
    """Return a mapping; of a key twice neither row may be the one that counts."""
    if len(dict(pairs)) < len(pairs):
        raise click.UsageError(
            f"Expected every row of {path} about something else; got one label or value twice. "
            "Leave one of the rows."
        )
    return dict(pairs)


def _whole(text: str) -> int | None:
    if not (text.isascii() and text.isdigit() and len(text.lstrip("0")) <= _DIGITS):
        return None
    return int(text)
