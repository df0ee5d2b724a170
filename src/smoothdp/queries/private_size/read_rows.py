"""Read a column whose number of rows is private: no row, whatever it holds, is refused.

A refusal that a row causes would itself be an output. So what becomes of a row depends on that
row alone: a missing value, or what is no number, is dropped; an infinite or very large number
counts as the bound on its side. Each is 1-stable: neighbours remain neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smoothdp.data.frames import is_column
from smoothdp.data.read_table import read_column_of_frame
from smoothdp.data.table import read_numbers
from smoothdp.errors import InvalidData
from smoothdp.queries.read_arguments import LARGEST_FLOAT, LARGEST_WHOLE, Values
from smoothdp.types import FloatArray


def read_rows(data: object) -> Values:
    """Return the numbers of a column; empty if there are none.

    The type of an array decides how it is read, never its rows. Floats count as the binary
    fractions that they are; arrays of whole numbers stay exact below 2^62; numbers of lists and
    of columns of objects are rounded to floats one by one.

    Args:
        data: a list or tuple, an array, or anything with the array protocol (pandas, polars,
            pyarrow).

    Raises:
        InvalidData: no column, or one whose type is not numeric.

    >>> read_rows([3, None, float("nan"), 4.5])
    array([3. , 4.5])
    >>> len(read_rows([]))
    0
    """
    if isinstance(data, list | tuple):
        return _row_by_row(data)
    if isinstance(data, np.ma.MaskedArray):
        return read_rows(data.compressed())
    if is_column(data) and not isinstance(getattr(data, "dtype", None), np.dtype):
        # By its declared type: as an array, one missing value would change that of all.
        return read_rows(read_column_of_frame(data))
    array = _array(data)
    if array.ndim != 1:
        raise InvalidData(
            expected="one column of numbers",
            got=f"{array.ndim} dimensions" if array.ndim else f"a {type(data).__name__}",
            remedy="Give one column: a list or an array of one dimension",
        )
    kind = array.dtype.kind
    if kind == "O":
        return _row_by_row(array.tolist())
    if kind == "f" and array.dtype.itemsize <= 8:
        return _within_reach(array.astype(np.float64, copy=False))
    if kind == "u":
        array = np.minimum(array, np.array(LARGEST_WHOLE - 1).astype(array.dtype))
    if kind in "iu":
        whole = array.astype(np.int64, copy=False)
        return np.clip(whole, -(LARGEST_WHOLE - 1), LARGEST_WHOLE - 1)
    raise InvalidData(
        expected="one column of numbers",
        got=f"a column of type {array.dtype}",
        remedy="Convert the column to numbers",
    )


def _array(data: object) -> NDArray[np.generic]:
    try:
        return np.asarray(data)
    except (ValueError, TypeError, OverflowError):
        pass
    # Outside of the except: what numpy said quotes the values.
    raise InvalidData(
        expected="one column of numbers",
        got="data that make no array",
        remedy="Give a list or an array of one dimension",
    )


def _row_by_row(rows: list[object] | tuple[object, ...]) -> FloatArray:
    return _within_reach(np.asarray(read_numbers(rows, "values"), np.float64))


def _within_reach(values: FloatArray) -> FloatArray:
    """Drop missing values; what lies beyond all bounds stays beyond them, and finite."""
    missing = np.isnan(values)
    kept = values[~missing] if missing.any() else values
    return np.clip(kept, -LARGEST_FLOAT, LARGEST_FLOAT)
