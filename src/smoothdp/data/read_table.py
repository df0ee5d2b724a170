"""Read the columns of a table that a release asks for, from whatever holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from smoothdp.data.table import Table, is_missing, read_categories, require_columns
from smoothdp.errors import InvalidData
from smoothdp.types import FloatArray, IntArray


def read_table(data: object, *, categories: Sequence[str], numbers: Sequence[str]) -> Table:
    """Return some columns of the data, row by row; no row is refused.

    Args:
        data: a mapping from names to columns.
        categories: columns of labels. numbers: columns of numbers.

    Raises:
        InvalidData: a column is absent, they differ in length, or one of numbers has a type that
            holds none.
    """
    columns = _columns(data)
    require_columns([*categories, *numbers], list(columns))
    read = {name: columns[name] for name in dict.fromkeys([*categories, *numbers])}
    lengths = {len(column) for column in read.values()}
    if len(lengths) > 1:
        raise InvalidData(
            expected="columns of one length", got="several", remedy="Give a value for every row"
        )
    return Table(
        lengths.pop() if lengths else 0,
        {name: read_categories(read[name]) for name in categories},
        {name: read_numbers(read[name], name) for name in numbers},
    )


def _columns(data: object) -> Mapping[str, Sequence[object]]:
    if isinstance(data, Mapping):
        return data
    raise InvalidData(
        expected="a mapping from names to columns",
        got=f"a {type(data).__name__}",
        remedy="Give {'region': [...], 'wage': [...]}",
    )


def read_numbers(column: Sequence[object], name: str) -> FloatArray | IntArray:
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
        raise InvalidData(
            expected=f"numbers in the column {name!r}",
            got=f"the type {array.dtype}",
            remedy="Convert the column, or name another",
        )
    return np.array([_number(value) for value in column], np.float64)


def _number(value: object) -> float:
    if is_missing(value) or isinstance(value, bool | np.bool_ | str | bytes):
        return math.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except (TypeError, ValueError):
        return math.nan
