"""Which law of a pair belongs to the database that has a record more."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, get_args

from smoothdp.errors import InvalidParameter

First = Literal["with_record", "without_record"]
"""Which of two neighbouring databases the first law belongs to, if one has a record more."""


class Unsaid(Enum):
    """No neighbours named: those that the pair itself speaks of."""

    UNSAID = "as the pair says"

    def __repr__(self) -> str:
        return self.value


UNSAID: Final = Unsaid.UNSAID


def read_first(first: object) -> First | None:
    """Return the database that a caller names, None for none, or raise InvalidParameter."""
    for known in get_args(First):
        if isinstance(first, str) and first == known:
            return known  # type: ignore[no-any-return]
    if first is None:
        return None
    raise InvalidParameter(
        expected='first "with_record" or "without_record"',
        got=f"first={first!r}",
        remedy="Name the database of the first law, or leave first out",
    )


def other_first(first: First | None) -> First | None:
    """Return ``first`` of the reversed pair.

    >>> other_first("with_record")
    'without_record'
    """
    if first is None:
        return None
    return "without_record" if first == "with_record" else "with_record"
