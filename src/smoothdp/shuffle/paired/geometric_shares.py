"""Shares of geometric noise: negative binomial laws, and the difference of two.

The noise of m0 users adds up to a geometric number of signs; a user's share is negative binomial
of shape 1 / m0, and h users have shape h / m0: P(k) = Gamma(k + r) / (Gamma(r) k!) p^k (1 - p)^r,
p = e^-rate (proofs/paired-counts#7).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import ball, enclose, precision
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds, exp_upper
from smoothdp.exact.parameters.numbers import float_bounds
from smoothdp.types import FloatArray

_MOST_SIGNS = 1 << 20
_MOST_GAPS = 50_000
_NEVER = -math.inf


class CountLaw(NamedTuple):
    """P(k) for k = 0, 1, ..., each within a factor 1 +- error; at most ``outside`` beyond."""

    masses: FloatArray
    error: float
    outside: float


@lru_cache(maxsize=64)
def log_complement(rate: Fraction) -> LogBounds:
    """Bound ln(1 - e^-rate) for a rate > 0.

    >>> log_complement(Fraction(1)).upper < -0.45
    True
    """
    with precision(128):
        return enclose((-(-ball(rate)).expm1()).log())


@lru_cache(maxsize=64)
def share_law(shape: Fraction, rate: Fraction, *, depth: float) -> CountLaw:
    """Return the negative binomial law, leaving out at most about e^-depth.

    By the ratios (k - 1 + r) p / k, as sums of logarithms. Beyond k all ratios are at most
    max(1, (k + r) / (k + 1)) p: the ratio that follows k.

    >>> law = share_law(Fraction(1), Fraction(1), depth=60.0)
    >>> bool(abs(law.masses[1] / law.masses[0] - math.exp(-1)) < 1e-9)
    True
    """
    r, decay = float(shape), float(rate)
    first = float(r * log_complement(rate).upper)
    # Past the mode, r / rate signs or so; then e^-rate a sign, less where ratios are above p.
    mean = r / math.expm1(decay)
    size = math.ceil(mean + 12 * math.sqrt((depth + 2) * (mean + 1) / decay) + 2 * depth / decay)
    if size > _MOST_SIGNS:
        raise OutOfReach(
            expected=f"at most {_MOST_SIGNS} signs of noise",
            got=f"{size}",
            remedy="Raise epsilon, or honest_share",
        )
    counts = np.arange(1.0, size + 1)
    # The first ratio is r itself, however small.
    ratios = np.log((counts - 1.0 + r) / counts)
    logs = np.concatenate([[first], first + np.cumsum(ratios - decay)])
    kept = np.flatnonzero(logs > -depth - 5.0)
    last = int(kept[-1]) if kept.size else 0
    masses = np.exp(logs[: last + 1])
    ratio = max(1.0, (last + r) / (last + 1)) * math.exp(-decay)
    size_of_logs = float(np.abs(logs[: last + 1]).max()) + abs(first) + last * decay
    size_of_logs += r * (1.0 + math.log(last + 2.0))
    error = (last + 4) * UNIT_ROUNDOFF * 4 * (size_of_logs + 2.0) + 4 * LIBM_ERROR
    beyond = math.inf if ratio >= 1.0 - 1e-9 else ratio / (1.0 - ratio)
    outside = float(masses[-1]) * beyond * (1.0 + 1e-6 + 2 * error)
    return CountLaw(masses, error, outside)


def survival(masses: FloatArray, outside: float, error: float) -> FloatArray:
    """Return upper bounds of P(X > k) for k = -1, 0, 1, ..., the last of them of all that is left.

    >>> survival(np.array([0.5, 0.25]), 0.25, 0.0).round(6).tolist()
    [1.0, 0.5, 0.25]
    """
    tails = np.concatenate([np.cumsum(masses[::-1])[::-1], [0.0]])
    slack = 1.0 + error + 2 * (masses.size + 2) * UNIT_ROUNDOFF
    return (tails * slack + outside) * (1.0 + 4 * UNIT_ROUNDOFF)


@lru_cache(maxsize=64)
def difference_tails(shape: Fraction, rate: Fraction, *, depth: float) -> FloatArray:
    """Return upper bounds of P(|A - B| > a) for a = -1, 0, 1, ..., A and B shares of one shape.

    >>> tails = difference_tails(Fraction(1), Fraction("0.9"), depth=60.0)
    >>> exact = 2 * math.exp(-0.9 * 4) / (1 + math.exp(-0.9))      # P(|A - B| > 3)
    >>> bool(exact <= tails[4] <= exact * (1 + 1e-9))
    True
    """
    law = share_law(shape, rate, depth=depth)
    size = law.masses.size
    if size > _MOST_GAPS:
        raise OutOfReach(
            expected=f"at most {_MOST_GAPS} signs of noise",
            got=f"{size}",
            remedy="Raise epsilon, or failure_probability",
        )
    gaps = np.correlate(law.masses, law.masses, "full")[size - 1 :]
    gaps[1:] *= 2.0
    error = 2 * law.error + 2 * (size + 2) * UNIT_ROUNDOFF
    return survival(gaps, 2 * law.outside, error)


def variance_of_difference(shape: Fraction, rate: Fraction) -> float:
    """Return Var(A - B) = 2 r p / (1 - p)^2, rounded up.

    >>> round(variance_of_difference(Fraction(1), Fraction("0.9")), 6)
    2.309008
    """
    with precision(128):
        p = (-ball(rate)).exp()
        return exp_upper(enclose((2 * ball(shape) * p / (1 - p) ** 2).log()).upper)


def mean_of_share(shape: Fraction, rate: Fraction) -> float:
    """Return the mean r p / (1 - p) of a share, rounded up."""
    with precision(128):
        return exp_upper(enclose((ball(shape) / ball(rate).expm1()).log()).upper)


def rational_up(value: float) -> Fraction:
    """Return a float as the fraction that it is, at most 1."""
    return min(Fraction(1), Fraction(float_bounds(Fraction(value))[1]))
