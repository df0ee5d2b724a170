"""The boundary of a walk: kappa_j = alpha + beta j with 0 <= beta <= 1, in integers.

The neighbour is more than e^epsilon times less likely where the walked count i exceeds kappa_j
(proofs/boundary-walk#1). All values are rounded down, by a unit of 2^-64 or little more: the
sum over the rows is then never too small, and too large by a bounded amount
(proofs/boundary-walk#4).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from smoothdp.exact.balls.balls import expm1_fixed, real_fixed
from smoothdp.exact.parameters.numbers import LogRatio, Real

ONE = 1 << 64
"""Values of kappa and of 1 - beta are whole numbers of 2^-64."""

NEAR_ZERO = ONE >> 8
"""Below 1/256 the rounding of kappa is no longer negligible beside it: no ratio is formed."""

_BITS = 320


@dataclass(frozen=True, slots=True)
class Boundary:
    """kappa_j = (offset + slope j) / scale, a little below the truth.

    Args:
        offset, slope, scale: integers; kappa_j is not above the truth, and at most j + 1 units
            of 2^-250 below it.
        back: 1 - beta in units of 2^-64, rounded down.
    """

    offset: int
    slope: int
    scale: int
    back: int

    def at(self, j: int) -> int:
        """Return kappa_j in units of 2^-64, rounded down."""
        return ((self.offset + self.slope * j) << 64) // self.scale

    def near(self, j: int) -> float:
        """Return about kappa_j."""
        return self.at(j) / ONE


def growth(epsilon: Real) -> tuple[int, int, int]:
    """Return integers (low, high, scale) with low <= e^epsilon scale <= high."""
    if isinstance(epsilon, LogRatio):
        numerator, denominator = epsilon.ratio.numerator, epsilon.ratio.denominator
        return numerator, numerator, denominator
    below, above = expm1_fixed(epsilon, _BITS)
    return (1 << _BITS) + below, (1 << _BITS) + above, 1 << _BITS


def lost_is_flat(count_a: int, count_b: int, epsilon: Real) -> bool:
    """Whether e^epsilon (count_b + 1) / count_a <= 1: the walked count is then that of b."""
    _, high, scale = growth(epsilon)
    return high * (count_b + 1) <= scale * count_a


def lost_boundary(count_a: int, count_b: int, epsilon: Real) -> Boundary:
    """Return kappa_j = e^epsilon (B + 1) j / A: form (I) of proofs/boundary-walk#2."""
    low, high, scale = growth(epsilon)
    return Boundary(
        0,
        low * (count_b + 1),
        scale * count_a,
        _back(high * (count_b + 1), scale * count_a),
    )


def kept_boundary(count_a: int, count_b: int, epsilon: Real) -> Boundary:
    """Return kappa_j = A - A (B + 1 - j) / (e^epsilon (B + 1)): form (II) of the same place."""
    low, _, scale = growth(epsilon)
    whole = low * (count_b + 1)
    return Boundary(
        count_a * (whole - (count_b + 1) * scale),
        count_a * scale,
        whole,
        _back(count_a * scale, whole),
    )


def drawn_boundary(count_a: int, count_b: int, epsilon: Real) -> Boundary:
    """Return kappa_j = (epsilon + c_b j) / c_a, with c_b <= c_a (proofs/boundary-walk#6)."""
    rise_low, rise = real_fixed(LogRatio(Fraction(count_a, count_a - 1)), _BITS)
    fall, fall_high = real_fixed(LogRatio(Fraction(count_b + 1, count_b)), _BITS)
    target, _ = real_fixed(epsilon, _BITS)
    return Boundary(target, fall, rise, _back(fall_high, rise_low))


def mirrored_boundary(count_a: int, count_b: int, epsilon: Real) -> Boundary:
    """Return kappa_j = (epsilon + c_a j) / c_b, with c_a < c_b, for j <= 0 (the same place).

    Rows are the negative numbers of draws from a, and i is that from b, negative as well.
    """
    _, rise_high = real_fixed(LogRatio(Fraction(count_a, count_a - 1)), _BITS)
    fall, _ = real_fixed(LogRatio(Fraction(count_b + 1, count_b)), _BITS)
    target, _ = real_fixed(epsilon, _BITS)
    return Boundary(target, rise_high, fall, _back(rise_high, fall))


def _back(numerator: int, denominator: int) -> int:
    """Return 1 - numerator / denominator in units of 2^-64, rounded down, in [0, 2^64)."""
    return min(ONE - 1, max(0, ((denominator - numerator) << 64) // denominator))
