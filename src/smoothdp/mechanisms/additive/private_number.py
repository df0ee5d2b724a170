"""Private numbers that noise is added to: what is no number is refused without showing it."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral, Rational

import numpy as np

from smoothdp.errors import InvalidData


def read_private_integer(value: object) -> int:
    """Return a whole number; the refusal of anything else does not show it."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    raise InvalidData(
        expected="a whole number", got=f"a {type(value).__name__}", remedy="Convert it to an int"
    )


def read_private_number(value: object) -> Fraction:
    """Return a number, a float as the binary fraction that it is; a refusal does not show it.

    >>> read_private_number(0.5)
    Fraction(1, 2)
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(value)
    raise InvalidData(
        expected="one finite number",
        got="a float that is not finite" if isinstance(value, float) else _kind(value),
        remedy="Replace what is missing or infinite by a public constant",
    )


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"
