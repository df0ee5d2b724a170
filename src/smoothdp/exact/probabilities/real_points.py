"""Probabilities as a float times a power of two, and at counts that are not whole, in balls.

A walk over many probabilities starts from one of them, which may be e^-1000000; and what the
walk leaves out is bounded by laws with the Gamma function in place of factorials.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from flint import arb, fmpz

from smoothdp.exact.balls.balls import ball, enclose, log_factorial, precision
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import LogRatio

_BITS = 160
_UNIT = -64


class ScaledPoint(NamedTuple):
    """mantissa 2^exponent, with a mantissa between 1/2 and 2, right to a rounding."""

    mantissa: float
    exponent: int


def scaled_hypergeometric(i: int, n_draws: int, marked: int, rest: int) -> ScaledPoint:
    """Return P(i) for i in the support: n_draws without replacement, i of them marked.

    >>> scaled_hypergeometric(1, 1, 3, 1)
    ScaledPoint(mantissa=0.75, exponent=0)
    """
    with precision(_BITS):
        return _scaled(
            _choose(marked, i) + _choose(rest, n_draws - i) - _choose(marked + rest, n_draws)
        )


def scaled_binomial(i: int, n_trials: int, hit: int, miss: int) -> ScaledPoint:
    """Return P(i) of Bin(n_trials, hit / (hit + miss)), both positive, 0 <= i <= n_trials.

    >>> scaled_binomial(1, 1, 3, 1)
    ScaledPoint(mantissa=0.75, exponent=0)
    """
    with precision(_BITS):
        return _scaled(_binomial(i, n_trials, hit, miss))


def log_hypergeometric_joint(
    units: int, j: int, counts: tuple[int, int, int], n_draws: int
) -> LogBounds:
    """Bound ln of C(a, x) C(b, j) C(r, n_draws - x - j) / C(a + b + r, n_draws), x = units 2^-64.

    The real x is known to two units; counts are (a, b, r), and the arguments of all Gamma
    functions are positive.
    """
    with precision(_BITS):
        x = _real(units)
        a, b, rest = counts
        total = _choose(a, x) + _choose(b, j) + _choose(rest, n_draws - j - x)
        return enclose(total - _choose(a + b + rest, n_draws))


def log_binomial_pair(
    units: int, j: int, first: tuple[int, int, int], second: tuple[int, int, int]
) -> LogBounds:
    """Bound ln of P(x) P'(j) of two binomial laws (n_trials, hit, miss), x = units 2^-64.

    The real x is known to two units, between -1 and n_trials + 1.
    """
    with precision(_BITS):
        return enclose(_binomial(_real(units), *first) + _binomial(j, *second))


def log_multinomial_joint(
    units: int, j: int, counts: tuple[int, int, int], n_draws: int
) -> LogBounds:
    """Bound ln of the chance of x of a, j of b and the other draws of r, x = units 2^-64.

    n_draws are drawn with replacement from counts (a, b, r); the real x is known to two units,
    between -1 and n_draws - j + 1.
    """
    with precision(_BITS):
        a, b, rest = counts
        first = _binomial(_real(units), n_draws - j, a, rest)
        return enclose(first + _binomial(j, n_draws, b, a + rest))


def _real(units: int) -> arb:
    return arb(fmpz(units), 2) * arb(2) ** _UNIT


def _choose(total: int, chosen: arb | int) -> arb:
    """Enclose ln of a binomial coefficient by the Gamma function.

    Whole numbers come again from row to row of a walk: their factorials are kept.
    """
    if isinstance(chosen, int):
        below = log_factorial(total, _BITS) - log_factorial(chosen, _BITS)
        return below - log_factorial(total - chosen, _BITS)
    return log_factorial(total, _BITS) - (chosen + 1).lgamma() - (total - chosen + 1).lgamma()


def _binomial(i: arb | int, n_trials: int, hit: int, miss: int) -> arb:
    total = _choose(n_trials, i)
    total += i * _log_share(hit, hit + miss)
    return total + (n_trials - i) * _log_share(miss, hit + miss)


@lru_cache(maxsize=4096)
def _log_share(part: int, whole: int) -> arb:
    with precision(_BITS):
        return ball(LogRatio(Fraction(part, whole)))


def _scaled(log_value: arb) -> ScaledPoint:
    exponent = round(float(log_value / arb(2).log()))
    mantissa = (log_value - exponent * arb(2).log()).exp()
    return ScaledPoint(float(mantissa), exponent)
