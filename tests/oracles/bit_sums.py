"""Brute force for totals of flipped bits, in exact rationals: no code of the library."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product

from tests.checkers import rationals

Law = list[Fraction]


@lru_cache(maxsize=4096)
def binomial_law(n: int, p: Fraction) -> tuple[Fraction, ...]:
    return rationals.binomial_law(n, p)


def convolve(a: tuple[Fraction, ...] | Law, b: tuple[Fraction, ...] | Law) -> Law:
    out = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return out


def total_law(n_zeros: int, n_ones: int, q: Fraction) -> Law:
    """The law of the number of reported ones."""
    return convolve(binomial_law(n_zeros, q), binomial_law(n_ones, 1 - q))


def by_messages(bits: tuple[int, ...], q: Fraction) -> Law:
    """The same, by going through every pattern of flips."""
    out = [Fraction(0)] * (len(bits) + 1)
    for flips in product((0, 1), repeat=len(bits)):
        weight = Fraction(1)
        for flip in flips:
            weight *= q if flip else 1 - q
        out[sum(b ^ f for b, f in zip(bits, flips, strict=True))] += weight
    return out


def stretched(law: Law, copies: int) -> Law:
    out = [Fraction(0)] * ((len(law) - 1) * copies + 1)
    for k, mass in enumerate(law):
        out[k * copies] += mass
    return out


def curve(p: Law, r: Law) -> list[tuple[Fraction, Fraction]]:
    """Knots (alpha, power) of testing r (null) against p, by sorting likelihood ratios."""
    atoms = [(a, b) for a, b in zip(p, r, strict=True) if a or b]
    atoms.sort(key=lambda ab: (ab[1] > 0, -ab[0] / ab[1] if ab[1] else Fraction(0)))
    knots, alpha, power = [(Fraction(0), Fraction(0))], Fraction(0), Fraction(0)
    for a, b in atoms:
        alpha, power = alpha + b, power + a
        knots.append((alpha, power))
    return knots


def beta_at(knots: list[tuple[Fraction, Fraction]], alpha: Fraction) -> Fraction:
    for (x0, y0), (x1, y1) in pairwise(knots):
        if x0 <= alpha <= x1:
            if x0 == x1:
                continue
            return 1 - (y0 + (y1 - y0) * (alpha - x0) / (x1 - x0))
    return Fraction(0)
