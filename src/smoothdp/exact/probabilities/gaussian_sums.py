"""Sums of e^(-j^2 / (2 sigma^2)) over whole numbers j, in balls, whatever sigma.

The tail from k >= 0 on, divided by its first term f(k), is summed term by term while few terms
count; else by Euler and Maclaurin: with y = k / sigma and Hermite polynomials He,

    int_k^inf f / f(k) + 1/2 + sum_i B_2i / (2i)! sigma^(1 - 2i) He_(2i - 1)(y) + R,
    |R| <= 4 sqrt(2 pi) 2^m / ((2 pi)^(2m) sigma^(2m - 1)) H_2m(y / sqrt(2)),

where i goes up to m, and H has the coefficients of He without their signs.

Source: proofs/private-sums#6.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb, ctx, fmpq

from smoothdp.exact.balls.balls import ball

_FEW = 2000
_TERMS_PER_BIT = 32
_LARGE = 10


def scaled_tail_sum(sigma_squared: Fraction, start: int) -> arb:
    """Enclose the sum over j >= start >= 0, divided by its first term.

    >>> from smoothdp.exact.balls.balls import precision
    >>> with precision(64):
    ...     round(float(scaled_tail_sum(Fraction(1), 0)), 12)
    1.753314144021
    """
    bits = ctx.prec
    # Beyond this many terms the rest is below 2^-(bits + 10) of the first.
    reach = math.ceil(2 * sigma_squared * (bits + 10))
    n_terms = reach // (start + math.isqrt(start * start + reach)) + 2
    if n_terms <= max(_FEW, _TERMS_PER_BIT * bits):
        return _term_by_term(sigma_squared, start, n_terms)
    return _euler_maclaurin(sigma_squared, start)


def gaussian_sum(sigma_squared: Fraction) -> arb:
    """Enclose the sum over all whole numbers."""
    return 2 * scaled_tail_sum(sigma_squared, 0) - 1


def _term_by_term(sigma_squared: Fraction, start: int, n_terms: int) -> arb:
    rate = 1 / ball(2 * sigma_squared)
    term = arb(1)
    ratio = (-rate * (2 * start + 1)).exp()
    change = (-2 * rate).exp()
    total = arb(0)
    for _ in range(n_terms):
        total += term
        term *= ratio
        ratio *= change
    # The ratio falls: what is left is below a geometric series.
    if not bool(ratio < 1):
        return arb("nan")
    rest = (term / (1 - ratio)).abs_upper()
    return total + arb(0).union(rest)


def _euler_maclaurin(sigma_squared: Fraction, start: int) -> arb:
    sigma = ball(sigma_squared).sqrt()
    y = ball(Fraction(start)) / sigma
    root_two_pi = (2 * arb.pi()).sqrt()
    wanted = arb(2) ** -(ctx.prec + 10)
    # He_1, and H of two degrees before: both by their recurrences.
    older, newer = arb(1), y
    low, high = arb(1), y / arb(2).sqrt()
    series, degree, factor = arb(1) / 2, 1, 1 / sigma
    bound = arb("inf")
    for m in range(1, ctx.prec + 2):
        series += ball(_bernoulli(2 * m)) / arb(2 * m).gamma() / (2 * m) * factor * newer
        for _ in range(2):
            older, newer = newer, y * newer - degree * older
            low, high = high, y / arb(2).sqrt() * high + degree * low
            degree += 1
        # Now degree = 2m + 1, and low = H_2m.
        bound = 4 * root_two_pi * factor * (arb(2) / (4 * arb.pi() ** 2)) ** m * low
        factor /= sigma * sigma
        if bool(bound < wanted):
            break
    whole = sigma * root_two_pi * _scaled_erfc(y / arb(2).sqrt()) / 2
    return whole + series + arb(0, bound.abs_upper())


def _scaled_erfc(z: arb) -> arb:
    """Enclose e^(z^2) erfc(z) for z >= 0, also where both factors leave floats far behind."""
    if bool(z < _LARGE):
        return z.erfc() * (z * z).exp()
    half = arb(1) / 2
    return (z * z).hypgeom_u(half, half) / arb.pi().sqrt()


def _bernoulli(n: int) -> Fraction:
    value = fmpq.bernoulli(n)
    return Fraction(int(value.p), int(value.q))
