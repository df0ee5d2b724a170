"""Windows and smoothings for quantiles with joint PolyPlace noise: by n, levels and epsilon alone.

With m levels, e = epsilon and side_j values on the shorter side of level j

    w_j = odd(min(.3 side_j, min(8, m + 4) (m + 2) / e))
    t_j = max(1 / w_j, ln(R n / w_j) / (side_j - (w_j - 1) / 2))

R = 1e5: how many times wider than the data the bounds may be before S_j is made of them. At equal
gaps S_j grows below t_j w_j = 1. The noise on every level grows with the sum of all t_j.

Source: constants chosen by search, measured by `python -m benchmarks.joint_quantiles`;
docs/decisions/0027-a-smoothing-for-each-level.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_text

_SHARE = Fraction(3, 10)
_MOST_WIDTH, _MORE_LEVELS = 8, 4
_LEAST = 1.0
_SPREADS = 1e5
_ROOM = Fraction(12, 10)
_DIGITS = 4


class Windows(NamedTuple):
    """A window and a smoothing for each level."""

    widths: tuple[int, ...]
    smoothings: tuple[Fraction, ...]


def rank(level: Fraction, n_records: int) -> int:
    """Return r = floor(q (n - 1) + 1/2) + 1, the rank of `Quantile`, in rationals.

    >>> rank(Fraction(1, 2), 4)
    3
    """
    return math.floor(level * (n_records - 1) + Fraction(1, 2)) + 1


def fitting_windows(
    levels: tuple[Fraction, ...], n_records: int, epsilon: Fraction
) -> Windows | None:
    """Return the windows, None where a side has no room or 1.2 m t + sum of all t_j > epsilon.

    t is the largest t_j; 2.2 m t > epsilon where all are the same.

    >>> fitting_windows((Fraction(1, 4), Fraction(1, 2)), 10_000, Fraction(1))
    Windows(widths=(23, 23), smoothings=(Fraction(1087, 25000), Fraction(1087, 25000)))
    >>> fitting_windows((Fraction(1, 4), Fraction(1, 2)), 100, Fraction(1)) is None
    True
    """
    m, widths, smoothings = len(levels), [], []
    longest = min(_MOST_WIDTH, m + _MORE_LEVELS) * (m + 2) / epsilon
    for level in levels:
        r = rank(level, n_records)
        side = min(r - 1, n_records - r)
        width = _odd_below(min(_SHARE * side, longest))
        room = side - (width - 1) // 2
        if room <= 0:
            return None
        jump = math.log(_SPREADS * n_records / width) / room
        smoothings.append(_short_above(max(_LEAST / width, jump)))
        widths.append(width)
    left = epsilon - sum(smoothings)
    if _ROOM * m * max(smoothings) > left:
        return None
    return Windows(tuple(widths), tuple(smoothings))


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
            "deciles n epsilon of about 3,000)",
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
