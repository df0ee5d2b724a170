"""One column of a file, as numbers, as categories, or counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, overload

import numpy as np

from smoothdp.data.csv_file import csv_values
from smoothdp.data.missing import require_number
from smoothdp.data.parquet_file import parquet_numbers, parquet_texts
from smoothdp.data.refusals import no_number, no_rows
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.types import FloatArray

Kind = Literal["number", "category"]


@overload
def read_column(
    path: str | Path, column: str, *, kind: Literal["number"] = ..., missing: str | None = ...
) -> FloatArray: ...
@overload
def read_column(
    path: str | Path, column: str, *, kind: Literal["category"], missing: str | None = ...
) -> list[str]: ...
def read_column(
    path: str | Path, column: str, *, kind: Kind = "number", missing: str | None = None
) -> FloatArray | list[str]:
    """Return one column of a CSV or Parquet file; nothing else is kept in memory.

    Args:
        path: a file whose name ends in .csv, .tsv or .parquet.
        column: the name of the column in the header.
        kind: "number" (an array of floats) or "category" (a list of texts).
        missing: None refuses missing values; another text is a public constant that takes
            their place (a number where numbers are read), so that the number of records
            stays; "public-drop" leaves those rows out: the caller declares as public who has
            no value. A value is missing where its field is empty.

    Raises:
        InvalidData: the file or column is missing, empty or malformed; a value is missing,
            or is not a finite number where numbers are read; no row is left. No message
            has a value of the column in it, or a row: both are private.
        InvalidParameter: another kind; ``missing`` is no number where numbers are read.
        MissingExtra: Parquet without the ``data`` extra.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "delays.csv")
    ...     _ = file.write_text("delay\\n-3\\n12.5\\n")
    ...     print(read_column(file, "delay"))
    [-3.  12.5]
    """
    if kind == "category":
        categories = [value for chunk in _texts(path, column, missing) for value in chunk]
        if not categories:
            raise no_rows(Path(path))
        return categories
    if kind != "number":
        raise InvalidParameter(
            expected='kind "number" or "category"',
            got=f"kind={kind!r}",
            remedy='Use kind="number" for an array of floats, kind="category" for texts',
        )
    require_number(missing)
    numbers = np.concatenate([_numbers(c, column) for c in _values(path, column, missing)])
    if numbers.size == 0:
        raise no_rows(Path(path))
    return numbers


def count_column(
    path: str | Path,
    column: str,
    *,
    universe: Sequence[str] | None = None,
    missing: str | None = None,
) -> dict[str, int]:
    """Return the number of records per category of a column, in bounded memory.

    Args:
        path, column: as for `read_column`.
        universe: all categories, in order; those that nobody is in count 0. Without it the
            categories are those seen, sorted, and an unseen category is not protected.
        missing: as for `read_column`.

    Raises:
        InvalidData: as for `read_column`, or a value outside the universe.
        InvalidParameter: a category stands twice in the universe.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "votes.csv")
    ...     _ = file.write_text("vote\\nyes\\nno\\nyes\\n")
    ...     print(count_column(file, "vote", universe=["yes", "no", "blank"]))
    {'yes': 2, 'no': 1, 'blank': 0}
    """
    twice = [category for category, times in Counter(universe or ()).items() if times > 1]
    if twice:
        raise InvalidParameter(
            expected="distinct categories in universe",
            got=f"{twice[0]!r} twice",
            remedy="Name each category once",
        )
    tally: Counter[str] = Counter()
    for chunk in _texts(path, column, missing):
        tally.update(chunk)
    if not tally:
        raise no_rows(Path(path))
    if universe is None:
        return dict(sorted(tally.items()))
    known = frozenset(universe)
    if any(value not in known for value in tally):
        raise InvalidData(
            expected=f"values of {column!r} among the universe",
            got="another",
            remedy="Add the missing categories to universe, or take those rows out of the file",
        )
    return {category: tally[category] for category in universe}


def _texts(path: str | Path, column: str, missing: str | None) -> Iterator[list[str]]:
    file, ending = _existing(path)
    if ending == ".parquet":
        return parquet_texts(file, column, missing)
    return csv_values(file, column, "\t" if ending == ".tsv" else ",", missing)


def _values(path: str | Path, column: str, missing: str | None) -> Iterator[list[str] | FloatArray]:
    file, ending = _existing(path)
    if ending == ".parquet":
        return parquet_numbers(file, column, missing)
    return _texts(file, column, missing)


def _existing(path: str | Path) -> tuple[Path, str]:
    """Return the path of a file that there is to read, and its ending."""
    file = Path(path)
    ending = file.suffix.lower()
    if file.is_dir():
        raise InvalidData(
            expected="a file",
            got=f"the directory {str(file)!r}",
            remedy="Name a file in that directory",
        )
    if not file.exists():
        raise InvalidData(
            expected=f"the file {file}",
            got="no such file",
            remedy="Give the path of a file that exists",
        )
    if ending not in (".csv", ".tsv", ".parquet"):
        raise InvalidData(
            expected="a file ending in .csv, .tsv or .parquet",
            got=f"{file}",
            remedy="Convert the file, or give its name the right ending",
        )
    if file.stat().st_size == 0:
        raise InvalidData(
            expected=f"a header line in {file}",
            got="an empty file",
            remedy="Begin the file with names of columns",
        )
    return file, ending


def _numbers(values: list[str] | FloatArray, column: str) -> FloatArray:
    try:
        numbers = np.array(values, dtype=np.float64)
        # Python's float takes 1_000; in a column of data it is more likely a slip.
        plain = isinstance(values, np.ndarray) or "_" not in "".join(values)
        if plain and np.isfinite(numbers).all():
            return numbers
    except ValueError:
        pass
    # Outside of the except: the message of numpy quotes the value.
    raise no_number(column, str(next(value for value in values if not _is_finite(value))))


def _is_finite(value: str | np.float64) -> bool:
    try:
        return math.isfinite(float(value)) and "_" not in str(value)
    except ValueError:
        return False
