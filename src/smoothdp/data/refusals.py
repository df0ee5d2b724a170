"""What is wrong with a file, in words that the readers of all formats share."""

from __future__ import annotations

from pathlib import Path

from smoothdp.errors import InvalidData, explain

_NAMES_SHOWN = 20


def column_place(path: Path, names: list[str], column: str) -> int:
    """Return where a column stands in a header that names it exactly once."""
    if names.count(column) == 1:
        return names.index(column)
    if column in names:
        got, remedy = f"it {names.count(column)} times", "Give the columns different names"
    else:
        more = len(names) - _NAMES_SHOWN
        shown = ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
        got, remedy = f"columns {shown}" if names else "no columns", "Name a column of the file"
    raise InvalidData(explain(f"one column {column!r} in {path}", got, remedy))


def missing_value(column: str, row: int) -> InvalidData:
    """Return the error for a value that is not there."""
    return InvalidData(
        explain(
            f"a value in every row of column {column!r}",
            f"none in row {row} after the header",
            "Replace missing values by a public constant (missing=, --missing VALUE), or declare "
            "who has none as public (public-drop)",
        )
    )


def no_rows(path: Path) -> InvalidData:
    """Return the error for a file without records."""
    return InvalidData(explain(f"rows in {path}", "a header alone", "Check the file"))


def unreadable(path: Path, error: Exception) -> InvalidData:
    """Return the error for a file that the system or a library cannot read."""
    reason = (getattr(error, "strerror", None) or str(error)).splitlines()[0]
    return InvalidData(explain(f"a readable file at {path}", reason, "Check the file"))
