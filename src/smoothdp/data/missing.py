"""What to do with missing values: refuse them, replace them by a constant, or drop them."""

from __future__ import annotations

from smoothdp.data.refusals import missing_value

PUBLIC_DROP = "public-drop"
"""Leave rows without a value out: the caller declares who has none as public."""


def without_missing(
    values: list[str], missing: str | None, column: str, first_row: int
) -> list[str]:
    """Return texts of which none is empty, or raise InvalidData where none may be missing."""
    if "" not in values:
        return values
    if missing is None:
        raise missing_value(column, first_row + values.index(""))
    if missing == PUBLIC_DROP:
        return [value for value in values if value != ""]
    return [missing if value == "" else value for value in values]
