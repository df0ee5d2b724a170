"""What is wrong with a file, in words that the readers of all formats share."""

from __future__ import annotations

import math
from pathlib import Path

from smoothdp.errors import InvalidData

_MARKS = frozenset(
    ("na", "n/a", "#n/a", "nan", "null", "nil", "none", "missing", "-", ".", "?", "")
)
_NAMES_SHOWN = 20


def column_index(path: Path, names: list[str], column: str) -> int:
    """Return the position of a column in a header that names the column exactly once."""
    if names.count(column) == 1:
        return names.index(column)
    if column in names:
        got, remedy = f"it {names.count(column)} times", "Give the columns different names"
    else:
        more = len(names) - _NAMES_SHOWN
        shown = ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
        got, remedy = f"columns {shown}" if names else "no columns", "Name a column of the file"
        marks = [mark for mark in (";", "\t", "|", ",") if len(names) == 1 and mark in names[0]]
        if marks:
            remedy = f"Name the delimiter of the file, such as delimiter={marks[0]!r}"
        elif any(name == "" or _is_number(name) for name in names):
            # The first row of a file without a header is a record.
            got, remedy = "no such name in the first line", "Begin the file with names of columns"
    raise InvalidData(expected=f"one column {column!r} in {path}", got=got, remedy=remedy)


def missing_value(column: str) -> InvalidData:
    """Return the error for a value that is not there; in which row is private."""
    return InvalidData(
        expected=f"a value in every row of column {column!r}",
        got="none in some row",
        remedy=(
            "Replace missing values by a public constant (missing=, --missing VALUE), or declare "
            "who has none as public (public-drop)"
        ),
    )


def no_number(column: str, text: str) -> InvalidData:
    """Return the error for a text in a column of numbers: its kind, never itself or its row.

    >>> print(no_number("delay", "NA"))  # doctest: +ELLIPSIS
    Expected finite numbers in column 'delay'; got a mark for a missing value. Leave such ...
    """
    word = text.strip().lower()
    kind, remedy = "text", "Name a column of numbers, or write a number there"
    if word in _MARKS:
        kind = "a mark for a missing value"
        remedy = "Leave such fields empty, then say what takes their place (missing=, --missing)"
    elif _is_infinite(word):
        kind, remedy = "an infinite number", "Write a finite number there, such as a public bound"
    elif "_" in word or "," in word:
        kind, remedy = "text that looks like a number", "Write it with digits and a point alone"
    return InvalidData(expected=f"finite numbers in column {column!r}", got=kind, remedy=remedy)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _is_infinite(word: str) -> bool:
    try:
        return math.isinf(float(word))
    except ValueError:
        return False


def no_type(column: str, got: str, wanted: str) -> InvalidData:
    """Return the error for a column whose type, by the schema, holds no such values."""
    return InvalidData(
        expected=f"{wanted} in the column {column!r}",
        got=f"the type {got}",
        remedy="Convert the column, or name another",
    )


def no_rows(path: Path) -> InvalidData:
    """Return the error for a file without records."""
    return InvalidData(
        expected=f"rows in {path}", got="a header alone", remedy="Give a file with a row per record"
    )


def unreadable(path: Path, error: Exception) -> InvalidData:
    """Return the error for a file that the system or a library cannot read."""
    return InvalidData(
        expected=f"a readable file at {path}",
        got=_fault(error),
        remedy="Give a whole CSV or Parquet file that this user may read",
    )


def _fault(error: Exception) -> str:
    """Return why a file could not be read, without what a library quotes from the file."""
    if isinstance(error, UnicodeDecodeError) or getattr(error, "strerror", None):
        return reason(error)
    return "one that is damaged, or of another format"


def reason(error: Exception) -> str:
    """Return in words why a file could not be read.

    >>> reason(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'no such file'
    """
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, UnicodeDecodeError):
        return "bytes that are no text"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0]
