"""The mu of discrete Gaussian noise moved by one: the largest over all thresholds, not 1 / sigma.

Let h have weight e^(-z^2 / (2 sigma^2)) on the whole numbers, and let N(0, 1) exceed q(c) with
probability P(h >= c). Then h against h + 1 is mu-Gaussian DP exactly from

    mu_0 = sup over all whole c of q(c + 1) - q(c)

on (proofs/gaussian-dp#3). Few steps are computed; that no later one is larger follows from three
areas under the normal density (proofs/gaussian-dp#4). Where these leave it open, which is at
large sigma, mu_0 is at most a width that such areas give (proofs/gaussian-dp#5): above the largest
step by 1 / (900 sigma^4) of it or less, wherever it was computed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from flint import arb

from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.rationals import fraction_ends
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.special import Ball, normal_tail
from smoothdp.exact.probabilities.gaussian_sums import gaussian_sum, scaled_tail_sum

LEAST_SIGMA_SQUARED = Fraction(1, 10_000)
"""Below it the noise is 0 but for a chance of e^-5000, and mu above 190 promises nothing."""
LARGEST_MU = 190
"""What a larger mu allows is noise for this one."""
_FIRST_STEPS = 12
_ROUNDS = 40


@lru_cache(maxsize=4096)
def discrete_gaussian_mu(sigma_squared: Fraction) -> Fraction:
    """Return mu_0 of discrete Gaussian noise that neighbours move by one, rounded up.

    Moved by D steps, or by d_j steps in coordinate j, noise on each, it is mu-Gaussian DP with
    D mu_0, or mu_0 times the root of the sum of squares (proofs/gaussian-dp#6).

    Args:
        sigma_squared: from 1e-4 on.

    Raises:
        OutOfReach: a smaller sigma_squared.

    >>> [round(float(discrete_gaussian_mu(Fraction(v))), 4) for v in (1, 4)]
    [1.0458, 0.5053]
    """
    if sigma_squared < LEAST_SIGMA_SQUARED:
        raise OutOfReach(
            expected=f"sigma_squared >= {shown(LEAST_SIGMA_SQUARED)}",
            got=f"sigma_squared={shown(sigma_squared)}",
            remedy="Take more noise: this much keeps nothing that is worth a promise",
        )
    # Areas differ by 1 / sigma^2 of themselves, and what is compared by 1 / sigma^6.
    bits = 192 + 4 * max(1, math.ceil(sigma_squared)).bit_length()
    with precision(bits):
        steps = [2 * _quantile(sigma_squared, 1)]
        for c in range(1, _FIRST_STEPS + 1):
            largest = max(steps, key=float)
            is_largest = all(step is largest or bool(step <= largest) for step in steps)
            least = 1 / ball(sigma_squared)
            if (
                is_largest
                and bool(largest * largest > least)
                and bool(_curvature(_quantile(sigma_squared, c), largest) > least)
            ):
                return fraction_ends(largest)[1]
            steps.append(_quantile(sigma_squared, c + 1) - _quantile(sigma_squared, c))
        return _width(sigma_squared)


@lru_cache(maxsize=4096)
def sigma_squared_of_mu(mu: Fraction) -> Fraction:
    """Return a sigma^2 at which discrete Gaussian noise moved by one is mu-Gaussian DP, mu > 0.

    The least but for a relative 1e-9; a short fraction.

    >>> 1.08 < sigma_squared_of_mu(Fraction(1)) < 1.09
    True
    """
    target = min(mu, Fraction(LARGEST_MU))

    def keeps(sigma_squared: Fraction) -> bool:
        return discrete_gaussian_mu(sigma_squared) <= target

    # mu_0 is above 1 / sigma (proofs/gaussian-dp#4); what is returned is kept, wherever it is.
    low = max(LEAST_SIGMA_SQUARED, 1 / target**2)
    if keeps(low):
        return low
    high = low + Fraction(1, 8)
    while not keeps(high):
        low, high = high, 2 * high
    for _ in range(_ROUNDS):
        middle = _short((low + high) / 2)
        if not low < middle < high:
            break
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def _quantile(sigma_squared: Fraction, c: int) -> Ball:
    """Enclose q(c), c >= 1, at the present precision."""
    tail = (-ball(Fraction(c * c) / (2 * sigma_squared))).exp()
    tail *= scaled_tail_sum(sigma_squared, c) / gaussian_sum(sigma_squared)
    return (2 * tail).erfcinv() * arb(2).sqrt()


def _curvature(start: Ball, width: Ball) -> Ball:
    """Return ln of the square of one normal area over the product of those on both sides.

    The areas are over [start, start + width] and its neighbours of the same width.
    """
    ends = [start + k * width for k in (-1, 0, 1, 2)]
    before, here, after = (
        normal_tail(low) - normal_tail(high) for low, high in zip(ends, ends[1:], strict=False)
    )
    return (here * here / (before * after)).log()


def _width(sigma_squared: Fraction) -> Fraction:
    """Return a width, rounded up, at which the areas around 0 have the curvature 1 / sigma^2."""
    target = 1 / ball(sigma_squared)
    width = target.sqrt()
    # The curvature is almost the square of the width: a few steps give all digits.
    for _ in range(_ROUNDS):
        width = arb((width * (target / _curvature(-width / 2, width)).sqrt()).mid())
    slack = arb(1)
    while True:
        slack /= 2
        # The largest slack below is tried last; the curvature rises with the width.
        wider = width * (1 + arb(2) ** -60 / slack)
        if bool(_curvature(-wider / 2, wider) >= target):
            return fraction_ends(wider)[1]


def _short(value: Fraction) -> Fraction:
    """Return a number near, with 48 binary digits."""
    excess = value.numerator.bit_length() - value.denominator.bit_length() - 48
    unit = Fraction(2) ** excess
    return Fraction(math.floor(value / unit)) * unit
