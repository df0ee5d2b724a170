"""What to do with missing values: refuse them, replace them by a constant, or drop them."""

from __future__ import annotations

import math

from smoothdp.data.refusals import missing_value
from smoothdp.errors import InvalidParameter

PUBLIC_DROP = "public-drop"
"""Leave rows without a value out: the caller declares as public who has no value."""


def require_number(missing: str | None) -> None:
    """Raise InvalidParameter unless the constant in place of missing numbers is a finite number."""
    if missing is None or missing == PUBLIC_DROP:
        return
    try:
        good = math.isfinite(float(missing)) and "_" not in missing
    except ValueError:
        good = False
    if not good:
        raise InvalidParameter(
            expected=f'a number or "{PUBLIC_DROP}" for missing numbers (missing=, --missing)',
            got=repr(missing),
            remedy="Give the number that stands for empty fields, not the mark that the file has",
        )


def without_missing(values: list[str], missing: str | None, column: str) -> list[str]:
    """Return texts of which none is empty, or raise InvalidData where none may be missing."""
    if "" not in values:
        return values
    if missing is None:
        raise missing_value(column)
    if missing == PUBLIC_DROP:
        return [value for value in values if value != ""]
    return [missing if value == "" else value for value in values]
