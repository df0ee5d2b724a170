"""Reading parameters exactly.

A parameter given as a float means the shortest decimal that prints it, so 0.07 is
7/100 and not the binary fraction beside it. A string may also be a ratio ("4/5"), a
decimal beyond floats ("1e-5000"), or the logarithm of a ratio ("ln(51/49)").
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Integral, Rational
from typing import SupportsFloat, TypeAlias

from smoothdp.errors import InvalidParameter

Parameter: TypeAlias = "int | float | str | Fraction | LogRatio"
"""What a caller may write for a number."""

# Beyond this, a decimal exponent would expand to integers too long to be useful.
_LARGEST_EXPONENT = 1_000_000
_LOG_RATIO = re.compile(r"^\s*(?:ln|log)\s*\(\s*([^()]+?)\s*\)\s*$")
_HEXADECIMAL = re.compile(r"^\s*(-?0x[0-9a-f]+)/(0x[0-9a-f]+)\s*$")
_SHORT = 10**40
_EXPONENT = re.compile(r"[eE]([+-]?\d+)\s*$")


@dataclass(frozen=True, slots=True)
class LogRatio:
    """The real number ln(ratio), kept exactly; ``ratio`` is positive."""

    ratio: Fraction

    def __post_init__(self) -> None:
        if not self.ratio > 0:
            raise InvalidParameter(
                expected="a positive ratio inside ln()",
                got=f"{self.ratio}",
                remedy="Give ln(a/b) with a and b positive",
            )

    def __float__(self) -> float:
        numerator, denominator = self.ratio.numerator, self.ratio.denominator
        try:
            quotient = numerator / denominator
            excess = (numerator - denominator) / denominator
        except OverflowError:
            return math.log(numerator) - math.log(denominator)
        if quotient == 0.0:
            return math.log(numerator) - math.log(denominator)
        return math.log1p(excess) if abs(excess) < 0.5 else math.log(quotient)

    def __str__(self) -> str:
        return f"ln({exact_text(self.ratio)})"


Real: TypeAlias = Fraction | LogRatio
"""A number that is known exactly: a rational, or the logarithm of one."""


@lru_cache(maxsize=4096)
def _fraction_of_float(value: float) -> Fraction:
    return Fraction(repr(value))


def _fraction_of_text(text: str, name: str) -> Fraction:
    hexadecimal = _HEXADECIMAL.match(text)
    # The last hexadecimal digits may look like an exponent.
    exponent = None if hexadecimal else _EXPONENT.search(text)
    # Its length first: Python refuses to read integers of thousands of digits.
    digits = exponent.group(1).lstrip("+-0") if exponent else ""
    if len(digits) > 7 or int(digits or 0) > _LARGEST_EXPONENT:
        raise InvalidParameter(
            expected=f"{name} with a decimal exponent within +-{_LARGEST_EXPONENT}",
            got=f"{name}={text!r}",
            remedy=f"Write {name} with a shorter exponent, such as 1e-5000",
        )
    try:
        if hexadecimal:
            return Fraction(int(hexadecimal.group(1), 16), int(hexadecimal.group(2), 16))
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InvalidParameter(
            expected=f'{name} as a number such as 0.998, "4/5" or "1e-5000"',
            got=f"{name}={text!r}",
            remedy=f"Write {name} as a decimal or a ratio",
        ) from None


def exact_fraction(value: Parameter | SupportsFloat, *, name: str) -> Fraction:
    """Return the rational number that the caller meant.

    Raises InvalidParameter for nan, infinities, booleans, logarithms and text that is
    not a number.

    >>> exact_fraction(0.07, name="rate")
    Fraction(7, 100)
    >>> exact_fraction("4/5", name="rate")
    Fraction(4, 5)
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool | LogRatio):
        raise InvalidParameter(
            expected=f"a rational number for {name}",
            got=f"{name}={value}",
            remedy=f"Write {name} as a decimal or a ratio, without ln()",
        )
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(value)
    if isinstance(value, str):
        return _fraction_of_text(value, name)
    try:
        as_float = float(value)
    except (TypeError, ValueError):
        raise InvalidParameter(
            expected=f"a number for {name}",
            got=f"{name}={value!r}",
            remedy=f"Give {name} as an int, float, Fraction or str",
        ) from None
    if not math.isfinite(as_float):
        raise InvalidParameter(
            expected=f"a finite {name}",
            got=f"{name}={as_float}",
            remedy=f"Give {name} as a finite number",
        )
    return _fraction_of_float(as_float)


def exact_real(value: Parameter | SupportsFloat, *, name: str) -> Real:
    """Like `exact_fraction`, but "ln(51/49)" and `LogRatio` are taken as well.

    >>> exact_real("ln(51/49)", name="epsilon")
    LogRatio(ratio=Fraction(51, 49))
    """
    if isinstance(value, LogRatio):
        return value if value.ratio != 1 else Fraction(0)
    if isinstance(value, str):
        match = _LOG_RATIO.match(value)
        if match:
            ratio = _fraction_of_text(match.group(1), name)
            if ratio <= 0:
                raise InvalidParameter(
                    expected=f"a positive ratio inside ln() for {name}",
                    got=f"{name}={value!r}",
                    remedy="Give ln(a/b) with a and b positive",
                )
            return LogRatio(ratio) if ratio != 1 else Fraction(0)
    return exact_fraction(value, name=name)


def exact_text(value: Real) -> str:
    """Return a number as text that reads back exactly: "3/7", "1e-5000" or hexadecimal.

    Python refuses to print integers of more than 4,300 digits in decimal, so ratios of
    large integers that are no short decimal are written as "0x.../0x...".

    >>> exact_text(Fraction(1, 10**5000))
    '1e-5000'
    """
    if isinstance(value, LogRatio):
        return str(value)
    numerator, denominator = value.numerator, value.denominator
    if max(abs(numerator), denominator) < _SHORT:
        return str(value)
    # Dividing by 2 and by 5 in turn would take minutes at 1e-400000.
    twos = (denominator & -denominator).bit_length() - 1
    odd = denominator >> twos
    fives = math.ceil((odd.bit_length() - 1) / math.log2(5))
    if odd == 5**fives:
        decimals = max(twos, fives)
        digits = numerator * 10**decimals // denominator
        if abs(digits) < _SHORT:
            return f"{digits}e-{decimals}"
    return f"{numerator:#x}/{denominator:#x}"


def float_bounds(value: Fraction) -> tuple[float, float]:
    """Return the floats next to a rational number: (not above it, not below it).

    >>> float_bounds(Fraction(3, 10))
    (0.3, 0.30000000000000004)
    """
    nearest = float(value)
    exact = Fraction(nearest)
    lower = nearest if exact <= value else math.nextafter(nearest, -math.inf)
    upper = nearest if exact >= value else math.nextafter(nearest, math.inf)
    return lower, upper


def sign(value: Real) -> int:
    """Return -1, 0 or 1."""
    if isinstance(value, LogRatio):
        return (value.ratio > 1) - (value.ratio < 1)
    return (value > 0) - (value < 0)


def exact_int(value: object, *, name: str, minimum: int) -> int:
    """Return an integer of at least ``minimum``, or raise InvalidParameter."""
    if (isinstance(value, Integral) and not isinstance(value, bool)) or (
        isinstance(value, float) and value.is_integer()
    ):
        number = int(value)
    else:
        raise InvalidParameter(
            expected=f"{name} as a whole number of at least {minimum}",
            got=f"{name}={value!r}",
            remedy=f"Give {name} as an integer",
        )
    if number < minimum:
        raise InvalidParameter(
            expected=f"{name} of at least {minimum}", got=f"{name}={number}", remedy=f"Raise {name}"
        )
    return number


def exact_positive(value: Parameter | SupportsFloat, *, name: str) -> Fraction:
    """Return the rational number that the caller meant, in [1e-300, 1e300].

    >>> exact_positive("0.5", name="sigma")
    Fraction(1, 2)
    """
    number = exact_fraction(value, name=name)
    if not Fraction(1, 10**300) <= number <= 10**300:
        raise InvalidParameter(
            expected=f"1e-300 <= {name} <= 1e300",
            got=f"{name}={value}",
            remedy=f"Give a positive number for {name}",
        )
    return number


def exact_probability(
    value: Parameter | SupportsFloat, *, name: str, remedy: str = "Give a probability such as 0.05"
) -> Fraction:
    """Return the rational number in [0, 1] that the caller meant, or raise InvalidParameter.

    >>> exact_probability("1e-5000", name="delta") > 0
    True
    """
    number = exact_fraction(value, name=name)
    if not 0 <= number <= 1:
        raise InvalidParameter(expected=f"0 <= {name} <= 1", got=f"{name}={value}", remedy=remedy)
    return number


def positive_probability(value: Parameter | SupportsFloat, *, name: str, remedy: str) -> Fraction:
    """Return the rational number in (0, 1] that the caller meant, or raise InvalidParameter.

    >>> positive_probability(1, name="sampling_rate", remedy="Give a share")
    Fraction(1, 1)
    """
    number = exact_fraction(value, name=name)
    if not 0 < number <= 1:
        raise InvalidParameter(expected=f"0 < {name} <= 1", got=f"{name}={value}", remedy=remedy)
    return number


def proper_probability(value: Parameter | SupportsFloat, *, name: str, remedy: str) -> Fraction:
    """Return the rational number in (0, 1) that the caller meant, or raise InvalidParameter.

    >>> proper_probability("0.95", name="confidence", remedy="Choose 0.95, for example")
    Fraction(19, 20)
    """
    number = exact_fraction(value, name=name)
    if not 0 < number < 1:
        raise InvalidParameter(expected=f"0 < {name} < 1", got=f"{name}={value}", remedy=remedy)
    return number


def square_root(value: Fraction, *, up: bool) -> Fraction:
    """Return the root of a rational: exact for a square, else off by 2^-64 of it to one side.

    >>> square_root(Fraction(9, 4), up=True)
    Fraction(3, 2)
    """
    product = value.numerator * value.denominator
    shift = max(0, 128 - product.bit_length() // 2)
    root = math.isqrt(product << 2 * shift)
    if up and root * root != product << 2 * shift:
        root += 1
    return Fraction(root, value.denominator << shift)


def float_of(value: Real) -> float:
    """Return an exact number as a float, roughly; at most 1e9.

    >>> float_of(Fraction(1, 2))
    0.5
    """
    if isinstance(value, LogRatio):
        return min(float(value), 1e9)
    return float(min(value, Fraction(10**9)))
