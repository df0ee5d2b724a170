"""Statements of proofs/private-size that no other test covers, by enumeration."""

from __future__ import annotations

import itertools
import statistics
from fractions import Fraction

A, B = 0, 9
VALUES = (0, 2, 5, 9)


def at(x: tuple[int, ...], u: Fraction) -> int:
    """X(u) of a sorted database."""
    cell = -(-u.numerator // u.denominator)
    return A if cell <= 0 else B if cell > len(x) else x[cell - 1]


def test_one_record_more() -> None:
    """X' is the median of X(u - 1), z, X(u): proofs/private-size#1; X(u) alone is too large."""
    points = [Fraction(u, 2) for u in range(-4, 14)]
    too_large = 0
    for n in range(4):
        for x in itertools.combinations_with_replacement(VALUES, n):
            for z in range(A, B + 1):
                y = tuple(sorted((*x, z)))
                for u in points:
                    assert at(y, u) == statistics.median([at(x, u - 1), z, at(x, u)])
                    too_large += at(y, u) < at(x, u)
    assert too_large
