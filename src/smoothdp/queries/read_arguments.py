"""Read what the caller gives: a column of finite numbers, bounds, smoothing and counts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import (
    Parameter,
    exact_fraction,
    exact_text,
    float_bounds,
)
from smoothdp.types import FloatArray

Values: TypeAlias = NDArray[np.float64 | np.int64]
"""Finite numbers, each exact: floats, or whole numbers of which some are no floats."""

Bounds: TypeAlias = tuple[Fraction, Fraction]

# Differences of two numbers up to here are finite floats.
LARGEST_FLOAT = 2.0**1022
# Differences of whole numbers below this fit 64 bits.
LARGEST_WHOLE = 1 << 62
_WHOLE_FLOATS = 1 << 53
# Differences of data and bounds must be 0 or far above where floats lose digits.
_CLOSEST = Fraction(1, 10**290)
_SMALLEST_RATE, _LARGEST_RATE = Fraction(1, 10**300), Fraction(10**300)


def read_values(data: object) -> Values:
    """Return one column of numbers, without rounding any of them.

    Floats count as the binary fractions that they are. Whole numbers stay exact: as floats
    if all are within 2^53, else as int64. The data are not changed, and copied if need be.

    Args:
        data: an array, a list or tuple of numbers, or anything with the array protocol: a
            column of pandas or polars, an array of pyarrow.

    Raises:
        InvalidData: another shape or type; no value; a missing, infinite or too large value.

    >>> read_values([3, 1, 4])
    array([3., 1., 4.])
    """
    kinds = set(map(type, data)) if isinstance(data, list | tuple) else set()
    if bool in kinds or np.bool_ in kinds:
        raise _refused("booleans", "Convert them to 0 and 1 if that is meant")
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        raise _refused("masked values", "Replace missing values by a public constant")
    array = _array(data)
    if array.ndim != 1:
        shape = f"{array.ndim} dimensions" if array.ndim else f"a {type(data).__name__}"
        raise _refused(shape, "Give one column: a list or an array of one dimension")
    if not len(array):
        raise InvalidData(expected="at least one value", got="none", remedy="Check the data")
    if array.dtype.kind in "iu":
        return _whole_numbers(array)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise _refused(f"values of type {_type_name(array)}", "Convert the column to numbers")
    values = array.astype(np.float64, copy=False)
    _check_finite(values)
    mixed = any(issubclass(kind, int | np.integer) for kind in kinds)
    if mixed and _magnitude(values) >= _WHOLE_FLOATS:
        raise _refused(
            "whole numbers beyond 2^53 among floats", "Give all as floats or all as whole numbers"
        )
    return values


def _array(data: object) -> NDArray[np.generic]:
    try:
        return np.asarray(data)
    except (ValueError, TypeError, OverflowError):
        pass
    # Outside of the except: what numpy said quotes the values.
    raise _refused("data that make no array", "Give numbers, all of one kind")


def _type_name(array: NDArray[np.generic]) -> str:
    if array.dtype.kind == "O":
        strange = (v for v in array if not isinstance(v, int | float) or isinstance(v, bool))
        return type(next(strange, array[0])).__name__
    return {"U": "str", "S": "bytes", "b": "bool"}.get(array.dtype.kind, str(array.dtype))


def _refused(got: str, remedy: str) -> InvalidData:
    return InvalidData(expected="one column of numbers", got=got, remedy=remedy)


def _magnitude(values: FloatArray) -> float:
    return max(abs(float(values.max())), abs(float(values.min())))


def _check_finite(values: FloatArray) -> None:
    largest = _magnitude(values)
    if largest <= LARGEST_FLOAT:
        return
    # Which value is too large or not finite, and where, is private.
    if np.isfinite(values).all():
        expected, got = f"values of magnitude at most {LARGEST_FLOAT:.3g}", "a larger one"
        remedy = "Rescale the column"
    else:
        expected, got = "finite numbers", "a value that is not finite"
        remedy = "Replace missing or infinite values by a public constant inside the bounds"
    raise InvalidData(expected=expected, got=got, remedy=remedy)


def _whole_numbers(array: NDArray[np.generic]) -> Values:
    smallest, largest = int(array.min()), int(array.max())
    extreme = max(largest, -smallest)
    if extreme <= _WHOLE_FLOATS:
        return array.astype(np.float64)
    if extreme >= LARGEST_WHOLE:
        raise InvalidData(
            expected="whole numbers of magnitude below 2^62",
            got="a larger one",
            remedy="Rescale the column",
        )
    return array.astype(np.int64, copy=False)


def read_bounds(bounds: object) -> Bounds:
    """Return (lower, upper), exactly; a float means its shortest decimal.

    Raises InvalidParameter unless there are two finite numbers, lower < upper.

    >>> read_bounds((0, 0.1))
    (Fraction(0, 1), Fraction(1, 10))
    """
    ends = list(bounds) if isinstance(bounds, Iterable) and not isinstance(bounds, str) else []
    if len(ends) != 2:
        raise InvalidParameter(
            expected="bounds as a pair (lower, upper)",
            got=f"bounds={bounds!r}",
            remedy="Give two numbers, such as bounds=(0, 100)",
        )
    lower = exact_fraction(ends[0], name="lower bound")
    upper = exact_fraction(ends[1], name="upper bound")
    if lower >= upper:
        raise InvalidParameter(
            expected="lower bound < upper bound",
            got=f"bounds=({ends[0]}, {ends[1]})",
            remedy="Give the smaller bound first"
            if lower > upper
            else "Give an interval that is not a point",
        )
    if _is_beyond_floats(lower) or _is_beyond_floats(upper):
        raise InvalidParameter(
            expected=f"bounds of magnitude at most {LARGEST_FLOAT:.3g}",
            got=f"bounds=({ends[0]}, {ends[1]})",
            remedy="Give tighter bounds",
        )
    if upper - lower < _CLOSEST or _is_nearly_rounder(lower) or _is_nearly_rounder(upper):
        raise InvalidParameter(
            expected="bounds at least 1e-290 from each other, floats and whole numbers, or such",
            got=f"bounds=({ends[0]}, {ends[1]})",
            remedy="Round the bounds to fewer digits",
        )
    return lower, upper


# A table of many groups reads the same bounds for each of them.
@lru_cache(maxsize=1024)
def _is_beyond_floats(bound: Fraction) -> bool:
    return abs(bound) > LARGEST_FLOAT


@lru_cache(maxsize=1024)
def _is_nearly_rounder(bound: Fraction) -> bool:
    """Whether a float or a whole number is all but equal to a bound, and not equal."""
    whole = Fraction(math.floor(bound))
    near = (*map(Fraction, float_bounds(bound)), whole, whole + 1)
    return any(0 < abs(bound - number) < _CLOSEST for number in near)


def read_smoothing(smoothing: Parameter) -> Fraction:
    """Return t > 0, exactly; raises InvalidParameter otherwise."""
    rate = exact_fraction(smoothing, name="smoothing")
    if rate <= 0:
        raise InvalidParameter(
            expected="smoothing > 0", got=f"smoothing={smoothing}", remedy="Give a positive number"
        )
    if not _SMALLEST_RATE <= rate <= _LARGEST_RATE:
        raise InvalidParameter(
            expected="smoothing between 1e-300 and 1e300",
            got=f"smoothing={smoothing}",
            remedy="Give a less extreme number",
        )
    return rate


def read_share(value: Parameter, *, name: str, below: Fraction) -> int | Fraction:
    """Return how many values to drop: a whole number as a count, another as a share of n.

    >>> read_share(3, name="trim", below=Fraction(1, 2))
    3
    >>> read_share("0.05", name="trim", below=Fraction(1, 2))
    Fraction(1, 20)
    """
    number = exact_fraction(value, name=name)
    if number >= 0 and number.denominator == 1:
        return int(number)
    if not 0 <= number < below:
        raise InvalidParameter(
            expected=f"{name} as a count (0, 1, ...) or as a share below {below}",
            got=f"{name}={value}",
            remedy="Give a count of values or a smaller share",
        )
    return number


def count_of(share: int | Fraction, n_records: int) -> int:
    """Return the count that `read_share` means for n records: floor(share * n)."""
    return share if isinstance(share, int) else math.floor(share * n_records)


def read_window(window: object) -> int | Fraction | None:
    """Return how many order statistics a window has, above 0, or None.

    Where n is private any real width has a meaning; with n public `check_room` asks for an odd
    one.

    >>> read_window("14.5"), read_window(3)
    (Fraction(29, 2), 3)
    """
    if window is None:
        return None
    width = exact_fraction(cast("Parameter", window), name="window")
    if width <= 0:
        raise InvalidParameter(
            expected="a window of more than 0 order statistics",
            got=f"window={window}",
            remedy="Give a positive number",
        )
    return width.numerator if width.denominator == 1 else width


def check_room(window: int | Fraction, room: int, n_records: int) -> int:
    """Return an odd window that is no wider than ``room``, the widest that n records allow."""
    if not isinstance(window, int) or window % 2 == 0:
        below = max(1, math.ceil(window) // 2 * 2 - 1)
        raise InvalidParameter(
            expected="an odd window, centred on a rank, where the number of records is public",
            got=f"window={exact_text(Fraction(window))}",
            remedy=f"Give {below} or {below + 2}",
        )
    if window > room:
        raise InvalidData(
            expected=f"a window of at most {room} order statistics for n={n_records}",
            got=f"window={window}",
            remedy="Narrow the window",
        )
    return window


def bounds_text(bounds: Bounds) -> str:
    """Return "[a, b]" in short."""
    return f"[{_short(bounds[0])}, {_short(bounds[1])}]"


def _short(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else f"{float(number):g}"
