"""Windows and smoothing for quantiles with joint PolyPlace noise: by n, levels and epsilon alone.

w_j = odd(min(0.3 side_j, 5 (m + 2) / epsilon)) for the level with side_j values on the shorter
side, and one t = max over j of max(0.7 / w_j, ln(R n / w_j) / (side_j - (w_j - 1) / 2)) with
R = 1e5: how many times wider than the data the bounds may be before S_j is made of them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_text

_SHARE = Fraction(3, 10)
_WIDTH = 5
_LEAST = 0.7
_SPREADS = 1e5
_ROOM = Fraction(22, 10)
_DIGITS = 4


class Windows(NamedTuple):
    """A window for each level, and the smoothing of all."""

    widths: tuple[int, ...]
    smoothing: Fraction


def rank(level: Fraction, n_records: int) -> int:
    """Return r = floor(q (n - 1) + 1/2) + 1, the rank of `Quantile`, in rationals.

    >>> rank(Fraction(1, 2), 4)
    3
    """
    return math.floor(level * (n_records - 1) + Fraction(1, 2)) + 1


def fitting_windows(
    levels: tuple[Fraction, ...], n_records: int, epsilon: Fraction
) -> Windows | None:
    """Return the windows, None where 2.2 m t > epsilon or a side has no room.

    >>> fitting_windows((Fraction(1, 4), Fraction(1, 2)), 10_000, Fraction(1))
    Windows(widths=(19, 19), smoothing=Fraction(737, 20000))
    >>> fitting_windows((Fraction(1, 4), Fraction(1, 2)), 100, Fraction(1)) is None
    True
    """
    m, widths, least = len(levels), [], 0.0
    for level in levels:
        r = rank(level, n_records)
        side = min(r - 1, n_records - r)
        width = _odd_below(min(_SHARE * side, _WIDTH * (m + 2) / epsilon))
        room = side - (width - 1) // 2
        if room <= 0:
            return None
        jump = math.log(_SPREADS * n_records / width) / room
        least = max(least, _LEAST / width, jump)
        widths.append(width)
    smoothing = _short_above(least)
    return Windows(tuple(widths), smoothing) if _ROOM * m * smoothing <= epsilon else None


def read_windows(levels: tuple[Fraction, ...], n_records: int, epsilon: Fraction) -> Windows:
    """Return the windows; raises InvalidParameter where there are none.

    >>> read_windows((Fraction(1, 2),), 10, Fraction(1))
    Traceback (most recent call last):
    ...
    smoothdp.errors.InvalidParameter: Expected n epsilon large enough for joint noise ...
    """
    found = fitting_windows(levels, n_records, epsilon)
    if found is None:
        raise InvalidParameter(
            expected=f"n epsilon large enough for joint noise on {len(levels)} quantiles (for "
            "deciles n epsilon of about 5,000)",
            got=f"n={n_records}, epsilon={exact_text(epsilon)}, levels from "
            f"{exact_text(levels[0])} to {exact_text(levels[-1])}",
            remedy="Use JointExponentialQuantiles, fewer or less extreme levels, or more records",
        )
    return found


def _odd_below(number: Fraction) -> int:
    """Return the largest odd whole number not above, at least 1."""
    return max(1, (math.floor(number) + 1) // 2 * 2 - 1)


def _short_above(value: float) -> Fraction:
    """Return a rational of 4 decimal digits, not below a float > 0."""
    scale = Fraction(10) ** (_DIGITS - 1 - math.floor(math.log10(value)))
    return Fraction(math.ceil(Fraction(value) * scale)) / scale
