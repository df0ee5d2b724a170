"""Where a neighbour's output is more likely, as an exact linear inequality.

Two databases differ by one record moved from category a to category b. For each way of
sampling, the outputs (i records of a, j of b) whose likelihood ratio exceeds e^epsilon
form a half-plane ``gain(i, j) > 0`` with

    gain(i, j) = (slope_a i - slope_b j - offset) / scale,

kept in integers: in floats the boundary is misplaced by 1e-8 of a record at n = 1e8, and
the deep tail by as much.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from smoothdp.exact.balls.balls import expm1_fixed, real_fixed
from smoothdp.exact.parameters.numbers import LogRatio, Real

BITS = 192
MOST_BITS = 1536


class HalfPlane(NamedTuple):
    """Integers of the inequality; ``slack`` bounds the error of each gain, times scale.

    The computed gain is never below the true one, and above it by at most slack / scale.
    """

    slope_a: int
    slope_b: int
    offset: int
    scale: int
    slack: int

    def first_inside(self, j: int) -> int:
        """Return the least i with gain(i, j) > 0 (it may lie outside the support)."""
        return (self.slope_b * j + self.offset) // self.slope_a + 1

    def gain(self, i: int, j: int) -> int:
        """Return gain(i, j) * scale."""
        return self.slope_a * i - self.slope_b * j - self.offset

    def on_line(self, total: int) -> HalfPlane:
        """Restrict to i + j = total: the result is a half-line in i (use it with j = 0)."""
        return HalfPlane(
            self.slope_a + self.slope_b,
            0,
            self.offset + self.slope_b * total,
            self.scale,
            self.slack,
        )


def hypergeometric_half_plane(
    count_a: int, count_b: int, epsilon: Real, bits: int = BITS
) -> HalfPlane:
    """Return the half-plane for sampling without replacement, or record by record.

    The likelihood ratio is count_a (count_b + 1 - j) / [(count_a - i) (count_b + 1)]
    (proofs/two-smallest#2), and
    gain = count_a (count_b + 1 - j) - e^epsilon (count_a - i)(count_b + 1),
    so that 1 - e^epsilon / ratio = gain / [count_a (count_b + 1 - j)].
    """
    if isinstance(epsilon, Fraction) and epsilon > (count_a + 1).bit_length():
        # No finite ratio exceeds count_a: beyond it only the infinite one counts.
        epsilon = LogRatio(Fraction(count_a + 1))
    after_b = count_b + 1
    if isinstance(epsilon, LogRatio):
        growth, scale = epsilon.ratio.numerator, epsilon.ratio.denominator
        slack = 0
        excess = growth - scale
    else:
        excess, above = expm1_fixed(epsilon, bits)
        scale = 1 << bits
        growth = excess + scale
        slack = (above - excess) * count_a * after_b
    return HalfPlane(growth * after_b, scale * count_a, excess * count_a * after_b, scale, slack)


def multinomial_half_plane(
    count_a: int, count_b: int, epsilon: Real, bits: int, most: int
) -> HalfPlane:
    """Return the half-plane for sampling with replacement; count_a >= 2, count_b >= 1.

    ln ratio = i ln(count_a / (count_a - 1)) - j ln((count_b + 1) / count_b)
    (proofs/two-smallest#2), and gain = ln ratio - epsilon, so that
    1 - e^epsilon / ratio = -expm1(-gain). ``most`` is the largest i or j that will be asked for.
    """
    _, rise = real_fixed(LogRatio(Fraction(count_a, count_a - 1)), bits)
    fall, _ = real_fixed(LogRatio(Fraction(count_b + 1, count_b)), bits)
    target, _ = real_fixed(epsilon, bits)
    return HalfPlane(rise, fall, target, 1 << bits, 8 * (2 * most + 1))
