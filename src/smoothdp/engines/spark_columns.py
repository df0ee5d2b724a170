"""Which types of a frame's column a job can take: told by the schema, before the job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from smoothdp.errors import InvalidData


class Kind(NamedTuple):
    """The names of types, what they are called in a refusal, and what to do about another."""

    types: frozenset[str]
    words: str
    remedy: str


_WHOLE = frozenset(("byte", "short", "integer", "long"))
_TEXT = frozenset(("string", "char", "varchar"))
_TIMES = frozenset(("date", "time", "timestamp", "timestamp_ntz", "daytimeinterval"))

NUMBERS = Kind(
    _WHOLE | {"float", "double"}, "numbers", "Cast it to double or bigint, or name another"
)
USERS = Kind(
    _WHOLE | _TEXT | {"binary"},
    "users named by whole numbers, texts or bytes",
    "Cast it to string, or name another",
)
SLOTS = Kind(
    frozenset(("binary",)), "sealed slots in binary", "Name the column of parts of a batch"
)
# A column of nothing but missing values is refused by the job, in better words.
SINGLE = Kind(
    NUMBERS.types | _TEXT | _TIMES | {"decimal", "boolean", "binary", "void"},
    "single values",
    "Name a column of numbers, texts or dates, such as one field of it",
)


def check_columns(frame: Any, columns: Sequence[str], kinds: Sequence[Kind]) -> None:
    """Refuse columns that are not there, are there twice, or are of another kind.

    Raises:
        InvalidData: such a column, by name.
    """
    names = list(frame.columns)
    for name, kind in zip(columns, kinds, strict=True):
        if name not in names:
            raise InvalidData(
                expected=f"a column {name!r}",
                got=", ".join(names) or "none",
                remedy="Name one of these columns",
            )
        if names.count(name) > 1:
            raise InvalidData(
                expected=f"one column {name!r}",
                got=f"{names.count(name)}",
                remedy="Give the columns different names",
            )
        data_type = frame.schema[name].dataType
        if data_type.typeName() not in kind.types:
            raise InvalidData(
                expected=f"{kind.words} in column {name!r}",
                got=f"type {data_type.simpleString()}",
                remedy=kind.remedy,
            )


def quoted(name: str) -> str:
    """Return a column's name as Spark takes it, whatever marks are in it.

    >>> quoted("a.b"), quoted("a`b")
    ('`a.b`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"
