"""Probabilities of intervals under normal and Laplace laws, as fractions that sum to 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from flint import arb, fmpz

from smoothdp.exact.balls.balls import ball, precision

# Relative accuracy of every probability, in bits; the largest takes up the rest of 1.
_ACCURACY = 112
_FIRST_BITS = 192

Mass = Callable[[Fraction, Fraction], arb]


def normal_cells(
    edges: Sequence[Fraction], *, mean: Fraction, std: Fraction
) -> tuple[Fraction, ...]:
    """Return the shares of the cells between neighbouring edges under N(mean, std^2).

    The law is conditioned on the interval from the first edge to the last. Each share is
    positive and within a relative 2^-100 of the truth; they sum to exactly 1.

    >>> normal_cells([Fraction(-1), Fraction(0), Fraction(1)], mean=Fraction(0), std=Fraction(1))
    (Fraction(1, 2), Fraction(1, 2))
    """

    def mass(low: Fraction, high: Fraction) -> arb:
        # Twice the probability; on the side of the tail, so that nothing of it cancels.
        unit = ball(std) * arb(2).sqrt()
        if low >= mean:
            return (ball(low - mean) / unit).erfc() - (ball(high - mean) / unit).erfc()
        if high <= mean:
            return (ball(mean - high) / unit).erfc() - (ball(mean - low) / unit).erfc()
        return (ball(high - mean) / unit).erf() + (ball(mean - low) / unit).erf()

    return _shares(edges, mass)


def laplace_cells(
    edges: Sequence[Fraction], *, mean: Fraction, std: Fraction
) -> tuple[Fraction, ...]:
    """Return the same for the Laplace law of standard deviation std: scale std / sqrt(2).

    >>> laplace_cells([Fraction(-1), Fraction(0), Fraction(1)], mean=Fraction(0), std=Fraction(1))
    (Fraction(1, 2), Fraction(1, 2))
    """

    def mass(low: Fraction, high: Fraction) -> arb:
        rate = arb(2).sqrt() / ball(std)
        if low < mean < high:
            return -(-rate * ball(mean - low)).expm1() - (-rate * ball(high - mean)).expm1()
        near = low - mean if low >= mean else mean - high
        return (-rate * ball(near)).exp() * -(-rate * ball(high - low)).expm1()

    return _shares(edges, mass)


def _shares(edges: Sequence[Fraction], mass: Mass) -> tuple[Fraction, ...]:
    bits = _FIRST_BITS
    while True:
        with precision(bits):
            masses = [mass(low, high) for low, high in pairwise(edges)]
            total = sum(masses, arb(0))
            shares = [value / total for value in masses]
            if all(share > 0 and share.rel_accuracy_bits() > _ACCURACY for share in shares):
                return _sum_to_one(shares)
        bits *= 2


def _sum_to_one(shares: Sequence[arb]) -> tuple[Fraction, ...]:
    """Round positive balls to multiples of one power of 1/2, and the largest to the rest."""
    log_two = arb(2).log()
    digits = [_ACCURACY - math.floor(float((share.log() / log_two).mid())) for share in shares]
    scale = max(digits)
    whole = [
        _floor(share.mid() * arb(fmpz(1) << kept)) << (scale - kept)
        for share, kept in zip(shares, digits, strict=True)
    ]
    largest = max(range(len(whole)), key=whole.__getitem__)
    whole[largest] += (1 << scale) - sum(whole)
    return tuple(Fraction(value, 1 << scale) for value in whole)


def _floor(value: arb) -> int:
    number = value.floor().unique_fmpz()
    assert number is not None, "a ball without radius has one floor"
    return int(number)
