"""One column of a file, as numbers, as categories, or counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, Unpack, overload

import numpy as np

from smoothdp.data.csv_file import STDIN, csv_ending, csv_values, is_csv
from smoothdp.data.csv_format import CsvFormat, CsvOptions
from smoothdp.data.missing import require_number
from smoothdp.data.parquet_file import parquet_numbers, parquet_texts
from smoothdp.data.refusals import no_number, no_rows
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.types import FloatArray

Kind = Literal["number", "category"]


@overload
def read_column(
    path: str | Path,
    column: str,
    *,
    kind: Literal["number"] = ...,
    missing: str | None = ...,
    **csv: Unpack[CsvOptions],
) -> FloatArray: ...
@overload
def read_column(
    path: str | Path,
    column: str,
    *,
    kind: Literal["category"],
    missing: str | None = ...,
    **csv: Unpack[CsvOptions],
) -> list[str]: ...
def read_column(
    path: str | Path,
    column: str,
    *,
    kind: Kind = "number",
    missing: str | None = None,
    **csv: Unpack[CsvOptions],
) -> FloatArray | list[str]:
    """Return one column of a CSV or Parquet file; nothing else is kept in memory.

    Args:
        path: a file whose name ends in .csv, .tsv (also .gz) or .parquet; "-" is standard input,
            which holds CSV.
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
        InvalidParameter: another kind; ``missing`` is no number where numbers are read; an
            unknown encoding, or ``csv`` options for Parquet.
        MissingExtra: Parquet without the ``data`` extra.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "delays.csv")
    ...     _ = file.write_text("delay\\n-3\\n12.5\\n")
    ...     print(read_column(file, "delay"))
    [-3.  12.5]
    """
    if kind == "category":
        chunks = _texts(path, column, missing, CsvFormat(**csv))
        categories = [value for chunk in chunks for value in chunk]
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
    csv_format = CsvFormat(**csv)
    chunks_of_numbers = _values(path, column, missing, csv_format)
    numbers = np.concatenate([_numbers(c, column) for c in chunks_of_numbers])
    if numbers.size == 0:
        raise no_rows(Path(path))
    return numbers


def count_column(
    path: str | Path,
    column: str,
    *,
    universe: Sequence[str] | None = None,
    missing: str | None = None,
    **csv: Unpack[CsvOptions],
) -> dict[str, int]:
    """Return the number of records per category of a column, in bounded memory.

    Args:
        path, column: as for `read_column`.
        universe: all categories, in order; those that nobody is in count 0. Without it the
            categories are those seen, sorted, and an unseen category is not protected.
        missing, **csv: as for `read_column`.

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
    for chunk in _texts(path, column, missing, CsvFormat(**csv)):
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


def _texts(
    path: str | Path, column: str, missing: str | None, csv_format: CsvFormat
) -> Iterator[list[str]]:
    file = existing_file(path)
    if is_csv(file):
        return csv_values(file, column, csv_format, missing)
    _require_no_format(file, csv_format)
    return parquet_texts(file, column, missing)


def _values(
    path: str | Path, column: str, missing: str | None, csv_format: CsvFormat
) -> Iterator[list[str] | FloatArray]:
    file = existing_file(path)
    if not is_csv(file):
        _require_no_format(file, csv_format)
        return parquet_numbers(file, column, missing)
    texts = csv_values(file, column, csv_format, missing)
    if csv_format.is_plain:
        return texts
    # A constant for missing values is written as Python writes it.
    return (
        [text if text == missing else csv_format.as_python(text) for text in chunk]
        for chunk in texts
    )


def _require_no_format(file: Path, csv_format: CsvFormat) -> None:
    if csv_format != CsvFormat():
        raise InvalidParameter(
            expected="delimiter, decimal, thousands, na and encoding with a CSV file alone",
            got=f"{file}",
            remedy="Leave them out",
        )


def existing_file(path: str | Path, *, folders: bool = False) -> Path:
    """Return the path of a file that there is to read.

    Args:
        folders: whether a folder of Parquet files will do.

    Raises:
        InvalidData: there is none, it is empty, or its name has another ending.
    """
    file = Path(path)
    if file == STDIN or (folders and file.is_dir()):
        return file
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
    if csv_ending(file) not in (".csv", ".tsv") and file.suffix.lower() != ".parquet":
        raise InvalidData(
            expected="a file ending in .csv, .tsv, .csv.gz, .tsv.gz or .parquet",
            got=f"{file}",
            remedy="Convert the file, or give its name the right ending",
        )
    if file.stat().st_size == 0:
        raise InvalidData(
            expected=f"a header line in {file}",
            got="an empty file",
            remedy="Begin the file with names of columns",
        )
    return file


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
