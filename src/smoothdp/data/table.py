"""A table in memory: columns by name, as categories and as numbers, row by row.

Nothing here refuses a row: a category that is missing has the code -1, and a number that is
missing, or no number, is nan. Only the schema is refused: columns that are absent, of different
lengths, or of a type that holds no such values.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from smoothdp.data.refusals import no_type
from smoothdp.errors import InvalidData
from smoothdp.types import FloatArray, IntArray

Label: TypeAlias = str | int | float | bool
MISSING = -1
_ALL_DIGITS = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_MOST_DIGITS = 400
"""Of a decimal number that is taken as a whole one."""


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """A column of categories.

    Attributes:
        codes: for each row the place of its label, MISSING where there is none.
        labels: the distinct labels, in the order of their first occurrence.
    """

    codes: IntArray
    labels: tuple[Label, ...]


def same_label(label: object) -> Hashable:
    """Return what two labels have in common if they mean the same: 1 and 1.0, not 1 and True.

    >>> same_label(1) == same_label(1.0), same_label(1) == same_label(True)
    (True, False)
    """
    if isinstance(label, bool | np.bool_):
        return "truth", bool(label)
    if isinstance(label, int | float | np.number):
        return "number", label
    return "text", str(label)


def is_missing(label: object) -> bool:
    """Return whether a field holds no value: None, nan, or what pandas writes for it."""
    if label is None:
        return True
    if isinstance(label, float | np.floating):
        return bool(np.isnan(label))
    if isinstance(label, np.datetime64 | np.timedelta64):
        return bool(np.isnat(label))
    if isinstance(label, Decimal):
        return label.is_nan()
    return type(label).__name__ in ("NAType", "NaTType")


def read_categories(column: Sequence[object] | np.ndarray) -> Categories:
    """Return a column of labels.

    >>> read_categories(["b", None, "a", "b"])
    Categories(codes=array([ 0, -1,  1,  0]), labels=('b', 'a'))
    """
    array = column if isinstance(column, np.ndarray) else None
    if array is not None and array.dtype.kind in "iufbU":
        return _of_array(array)
    places: dict[Hashable, int] = {}
    labels: list[Label] = []
    codes = np.empty(len(column), np.int64)
    with _quiet():
        for row, label in enumerate(column):
            plain = _label(label)
            if plain is None:
                codes[row] = MISSING
                continue
            place = places.setdefault(same_label(plain), len(labels))
            if place == len(labels):
                labels.append(plain)
            codes[row] = place
    return Categories(codes, tuple(labels))


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop the warnings of what rows hold: they would tell of a row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _label(label: object) -> Label | None:
    """Return a label; None for a missing one, and for what cannot be written as one.

    An error that an object makes of its text would tell of a row.
    """
    try:
        return None if is_missing(label) else _plain(label)
    except Exception:
        return None


def categories_of_codes(codes: IntArray, labels: Sequence[object]) -> Categories:
    """Return a column of which a library has encoded the labels; of those that mean the same, one.

    >>> categories_of_codes(np.array([0, 1, 2]), [1, 1.0, None])
    Categories(codes=array([ 0,  0, -1]), labels=(1,))
    """
    places: dict[Hashable, int] = {}
    kept: list[Label] = []
    translate = np.full(len(labels) + 1, MISSING, np.int64)
    for code, label in enumerate(labels):
        plain = _label(label)
        if plain is not None:
            place = places.setdefault(same_label(plain), len(kept))
            if place == len(kept):
                kept.append(plain)
            translate[code] = place
    return Categories(translate[codes], tuple(kept))


def _of_array(array: np.ndarray) -> Categories:
    labels, codes = np.unique(array, return_inverse=True)
    kept: list[Label] = [_plain(label) for label in labels.tolist()]
    if array.dtype.kind == "f" and kept and math.isnan(float(kept[-1])):
        codes = np.where(codes == len(kept) - 1, MISSING, codes)
        kept.pop()
    return Categories(codes.astype(np.int64), tuple(kept))


def _plain(label: object) -> Label:
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, np.floating | Decimal | Fraction):
        value = _plain_number(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value if isinstance(value, str | int | float | bool) else str(value)


def _plain_number(value: np.floating | Decimal | Fraction) -> Label:
    """Return one form of a number however it is written: 1 for 1.00, 0.1 for 0.10.

    A whole number, the float that is written so, or its digits: different numbers stay apart.
    """
    nearest = _float(value)
    if isinstance(value, Decimal):
        value = value.normalize(_ALL_DIGITS)
        small = value.is_finite() and value.adjusted() < _MOST_DIGITS
        if small and value == value.to_integral_value():
            return int(value)
        return nearest if Decimal(repr(nearest)) == value else str(value)
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return nearest if nearest == value else str(value)


def read_numbers(column: Sequence[object] | np.ndarray, name: str) -> FloatArray | IntArray:
    """Return a number for each row, nan where there is none.

    The type of an array decides how it is read, never its rows: whole numbers of 64 bits stay
    exact, all others become floats one by one.

    Raises:
        InvalidData: an array of a type that holds no numbers.
    """
    array = column if isinstance(column, np.ndarray) else None
    if array is not None and array.dtype.kind in "iu" and array.dtype != np.uint64:
        return array.astype(np.int64)
    if array is not None and array.dtype.kind in "fu" and array.dtype.itemsize <= 8:
        return array.astype(np.float64)
    if array is not None and array.dtype.kind != "O":
        raise no_type(name, str(array.dtype), "numbers")
    with _quiet():
        return np.array([_number(value) for value in column], np.float64)


def _number(value: object) -> float:
    if isinstance(value, bool | np.bool_ | str | bytes | complex | np.complexfloating):
        return math.nan
    # Whatever an object says when it is asked for a number would tell of a row.
    try:
        return math.nan if is_missing(value) else _float(value)
    except Exception:
        return math.nan


def _float(value: Any) -> float:
    """Return the nearest float, infinite where floats end."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table:
    """Rows, by column. As private as the data: its text shows none of them.

    Attributes:
        n_rows: how many there are.
        categories: columns of labels, by name.
        numbers: columns of numbers, by name; nan or whole numbers.
    """

    n_rows: int
    categories: Mapping[str, Categories]
    numbers: Mapping[str, FloatArray | IntArray]

    def __repr__(self) -> str:
        return f"Table({', '.join([*self.categories, *self.numbers])}; private)"

    def take(self, rows: IntArray) -> Table:
        """Return some of the rows."""
        return Table(
            len(rows),
            {n: Categories(c.codes[rows], c.labels) for n, c in self.categories.items()},
            {name: column[rows] for name, column in self.numbers.items()},
        )


def require_columns(names: Sequence[str], present: Sequence[str]) -> None:
    """Raise InvalidData unless all columns are there."""
    for name in names:
        if name not in present:
            raise InvalidData(
                expected=f"a column {name!r}",
                got=f"the columns {', '.join(map(repr, present)) or 'none'}",
                remedy="Name a column that the data have",
            )
