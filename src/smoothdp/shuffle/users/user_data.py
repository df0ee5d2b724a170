"""Reading the data of users: bits, and numbers in [0, 1] as multiples of 2^-62."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.types import ByteArray, IntArray

UNIT = 1 << 62
"""One, in the integers that numbers in [0, 1] are read as."""
_LOW = 0xFFFFFFFF


def read_bits(data: Iterable[object]) -> ByteArray:
    """Return bits from whole numbers, floats or Booleans that are 0 or 1, or raise InvalidData.

    >>> read_bits([0, 1, True, 1.0])
    array([0, 1, 1, 1], dtype=uint8)
    """
    array = _array(data)
    if array.dtype == np.uint8 or array.dtype == np.bool_:
        bits: ByteArray = array.view(np.uint8)
        if bits.size and bits.max() > 1:
            raise _no_bit()
        return bits
    if array.dtype.kind in "iuf":
        good = (array == 0) | (array == 1)
        if not good.all():
            raise _no_bit()
        return array.astype(np.uint8)
    for value in array:
        if not isinstance(value, Real | np.bool_) or value not in (0, 1):
            raise _no_bit()
    return np.array([int(value) for value in array], dtype=np.uint8)


def read_units(data: Iterable[object]) -> IntArray:
    """Return numbers in [0, 1] as whole multiples of 2^-62, to the nearest; or raise InvalidData.

    A float means its exact binary value.

    >>> read_units([0, 0.5, Fraction(1, 4)]) // 2**60
    array([0, 2, 1])
    """
    array = _array(data)
    if array.dtype.kind in "iuf":
        values = array.astype(np.float64)
        good = (values >= 0) & (values <= 1)
        if not good.all():
            raise _outside()
        # The product is exact: a power of two.
        units: IntArray = np.rint(values * float(UNIT)).astype(np.int64)
        return units
    exact_units = []
    for value in array:
        is_number = isinstance(value, Rational | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value):
            raise _outside()
        exact = Fraction(value)
        if not 0 <= exact <= 1:
            raise _outside()
        exact_units.append(round(exact * UNIT))
    return np.array(exact_units, dtype=np.int64)


def whole_and_fraction(units: IntArray, n_bits: int) -> tuple[IntArray, IntArray]:
    """Return floor(r x) and the fraction of r x in multiples of 2^-62, exactly, for r < 2^20."""
    high, low = n_bits * (units >> 32), n_bits * (units & _LOW)
    high = high + (low >> 32)
    return high >> 30, ((high & 0x3FFFFFFF) << 32) | (low & _LOW)


def require_n_users(n_data: int, n_users: int, *, is_sum: bool = False) -> None:
    """Raise InvalidData unless there is one datum per user.

    A length is public; a wrong sum of counts (``is_sum``) tells about the counts.
    """
    if n_data != n_users:
        raise InvalidData(
            expected=f"data of n_users={n_users} users",
            got="another sum" if is_sum else f"{n_data}",
            remedy="Give one datum per user, or build the protocol for this number",
        )


def read_pairs(counts: object) -> list[tuple[object, object]]:
    """Return (number, users) from a mapping or pairs, or raise InvalidData.

    >>> read_pairs({0.5: 3})
    [(0.5, 3)]
    """
    rows = counts.items() if isinstance(counts, Mapping) else counts
    pairs = list(rows) if isinstance(rows, Iterable) else None
    if pairs is None or any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in pairs):
        raise InvalidData(
            expected="counts as {number: users}",
            got="something else",
            remedy="Count users per number",
        )
    return [(number, users) for number, users in pairs]


def read_count(count: object) -> int:
    """Return a true number of users, a whole number >= 0, or raise InvalidParameter."""
    try:
        return exact_int(count, name="count", minimum=0)
    except InvalidParameter:
        pass
    # Outside of the except: the message of the caught error quotes the count.
    raise InvalidParameter(
        expected="counts as whole numbers >= 0",
        got="another",
        remedy="Give each count as a number of users",
    )


def _array(data: Iterable[object]) -> NDArray[Any]:
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InvalidData(
            expected="data as a list or array",
            got=f"{type(data).__name__}",
            remedy="Give one datum per user",
        )
    array = np.asarray(data) if hasattr(data, "__array__") else _from_items(list(data))
    if array.ndim != 1:
        raise InvalidData(
            expected="one datum per user",
            got=f"an array of shape {array.shape}",
            remedy="Give a one-dimensional list or array",
        )
    return array


def _from_items(values: list[object]) -> NDArray[Any]:
    if all(type(value) is float for value in values) or all(type(value) is int for value in values):
        try:
            return np.array(values)
        except (OverflowError, ValueError):
            pass
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _no_bit() -> InvalidData:
    return InvalidData(
        expected="data in {0, 1}", got="another value", remedy="Code the answer as 0 or 1"
    )


def _outside() -> InvalidData:
    return InvalidData(
        expected="data in [0, 1]",
        got="another value",
        remedy="Clip to public bounds and scale to [0, 1]",
    )
