"""Laws in exact rationals, by definition: what several oracles compare with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath


def binomial_law(n: int, p: Fraction) -> tuple[Fraction, ...]:
    """Return the probabilities of 0, 1, ..., n."""
    return tuple(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1))


def hockey_stick(p: Sequence[Fraction], q: Sequence[Fraction], growth: Fraction) -> Fraction:
    """Return the sum of (p - growth q)_+ over outputs in one order.

    `smoothdp.testing.oracles.hockey_stick` takes laws as mappings.
    """
    return sum((max(Fraction(0), a - growth * b) for a, b in zip(p, q, strict=True)), Fraction(0))


def log_fraction(value: Fraction) -> float:
    """Return ln of a rational number, rounded once."""
    if value == 0:
        return -math.inf
    with mpmath.workdps(60):
        return float(mpmath.log(mpmath.mpf(value.numerator) / value.denominator))
