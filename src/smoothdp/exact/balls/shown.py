"""Exact numbers as a reader wants them: exactly if that is short, else a few digits."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, Context, Decimal, Inexact
from fractions import Fraction
from typing import Literal

from smoothdp.exact.balls.balls import real_bounds
from smoothdp.exact.parameters.numbers import LogRatio, Real, exact_text

Rounding = Literal["up", "down", "cut"]
_ROUNDINGS = {"up": ROUND_CEILING, "down": ROUND_FLOOR, "cut": ROUND_DOWN}
_LONGEST, _LONGEST_LOGARITHM = 11, 24
_DIGITS = 6
_FINE = 1000
_EXACT = Context(prec=_LONGEST, Emin=-(10**9), Emax=10**9, traps=[Inexact])
_SMALL, _LARGE = -5, 10


def shown(value: Real, *, rounding: Rounding = "cut") -> str:
    """Return a number as text of at most 11 characters if it has such a text, else 6 digits.

    A fraction of thousandths or finer is written as a decimal if that is exact and shorter.

    Args:
        value: the number.
        rounding: where the digits go that are left out. "up" and "down": as a bound that stays
            true; "cut": nowhere, three dots say that there are more.

    >>> shown(Fraction(200, 3)), shown(Fraction(1, 10**6)), shown(LogRatio(Fraction(51, 49)))
    ('200/3', '1e-6', 'ln(51/49)')
    >>> third = Fraction(10**30 + 2, 3 * 10**30 + 1)
    >>> shown(third), shown(third, rounding="up"), shown(third, rounding="down")
    ('0.333333...', '0.333334', '0.333333')
    >>> shown(Fraction(1, 3 * 10**400), rounding="up")
    '3.33334e-401'
    """
    text = exact_text(value)
    if isinstance(value, LogRatio):
        if len(text) <= _LONGEST_LOGARITHM:
            return text
        bounds = real_bounds(value)
        value = Fraction(bounds.upper if rounding == "up" else bounds.lower)
    elif value.denominator < _FINE and len(text) <= _LONGEST:
        return text
    whole, parts = Decimal(value.numerator), Decimal(value.denominator)
    try:
        decimal = _written(_EXACT.divide(whole, parts))
        text = min(decimal, text, key=len)
    except Inexact:
        pass
    if len(text) <= _LONGEST:
        return text
    context = Context(_DIGITS, _ROUNDINGS[rounding], -(10**9), 10**9)
    return _written(context.divide(whole, parts)) + ("..." if rounding == "cut" else "")


def _written(number: Decimal) -> str:
    short = number.normalize()
    return f"{short:f}" if _SMALL <= short.adjusted() <= _LARGE else f"{short:e}"
