"""Comparing and rounding the numbers e^(-rate k) d, for rational rate and d, exactly.

Two of them with different k are never equal: e^x is irrational for rational x other than 0. So
the largest is found for certain by raising the precision until it stands out.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.logspace.bounds import SMALLEST_FLOAT, LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, float_bounds

Candidate: TypeAlias = tuple[int, Fraction]
"""(k, d): the number e^(-rate k) d, d > 0."""

# Beyond this decay the largest difference of floats is far below the smallest float.
_NOTHING_LEFT = 3000


def largest(candidates: Iterable[Candidate], rate: Fraction) -> Candidate:
    """Return the candidate with the largest e^(-rate k) d; rate > 0, some d positive.

    >>> largest([(0, Fraction(1)), (1, Fraction(3)), (2, Fraction(7))], Fraction(1))
    (1, Fraction(3, 1))
    """
    rising: list[Candidate] = []
    for k, d in sorted(set(candidates), key=lambda c: (c[0], -c[1])):
        if d > (rising[-1][1] if rising else 0):
            rising.append((k, d))
    bits = 128
    while len(rising) > 1:
        with precision(bits):
            logs = [ball(LogRatio(d)) - ball(rate * k) for k, d in rising]
            floor = max(log.lower() for log in logs)
            rising = [c for c, log in zip(rising, logs, strict=True) if log.upper() >= floor]
        bits *= 2
    return rising[0]


def log_decayed(candidate: Candidate, rate: Fraction) -> LogBounds:
    """Return floats around ln d - rate k."""
    k, d = candidate
    with precision(192):
        log = ball(LogRatio(d)) - ball(rate * k)
        return LogBounds(-round_up(-log), round_up(log))


def decayed_upper(candidate: Candidate, rate: Fraction) -> float:
    """Return a float that is not below e^(-rate k) d, and at most the next but one above it.

    >>> decayed_upper((0, Fraction(1, 10)), Fraction(1)), decayed_upper((9000, Fraction(1)), 1)
    (0.1, 5e-324)
    """
    k, d = candidate
    whole = float_bounds(d)[1]
    if k == 0:
        return whole
    if rate * k > _NOTHING_LEFT:
        return SMALLEST_FLOAT
    with precision(192):
        decayed = round_up(ball(d) * (-ball(rate * k)).exp())
    return min(whole, max(SMALLEST_FLOAT, decayed))
