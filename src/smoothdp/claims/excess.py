"""Hockey sticks in closed form, as bounded logarithms; what one notion costs in another."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from smoothdp.exact.balls.balls import ball, decimal_up, enclose, precision, round_up
from smoothdp.exact.balls.compare import at_most, normal_cdf_at_least
from smoothdp.exact.balls.rationals import positive_ends
from smoothdp.exact.balls.special import Ball, log_probability, minimum, normal_tail
from smoothdp.exact.logspace.bisection import smallest_true
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Real

# Beyond it no pure claim is told from none at the precision of `normal_cdf_at_least`.
_LARGEST_MU = 64.0
# rho is rounded up to a decimal of about so many digits, so that ledgers can be read.
_RHO_DIGITS = 20
_RHO_BITS = 256
_LARGEST_CALIBRATED = Fraction(48)


@lru_cache(maxsize=1024)
def rho_of_pure(epsilon: Real) -> Fraction:
    """Return epsilon tanh(epsilon / 2), the least rho of zCDP that epsilon-DP implies.

    Rounded up to twenty digits, and never above epsilon^2 / 2 nor epsilon.

    Source: proofs/pure-to-concentrated#1.

    >>> float(rho_of_pure(Fraction(1))), float(rho_of_pure(Fraction(1, 10**200))) == 0.0
    (0.46211715726000974, True)
    """
    if epsilon == 0:
        return Fraction(0)
    with precision(_RHO_BITS + 2 * max(0, -_exponent(epsilon))):
        number = ball(epsilon)
        rho = decimal_up(number * (number / 2).tanh(), digits=_RHO_DIGITS)
    return min(rho, epsilon * epsilon / 2, epsilon) if isinstance(epsilon, Fraction) else rho


def _exponent(epsilon: Real) -> int:
    """Return the binary exponent of an epsilon > 0, or a few less."""
    if isinstance(epsilon, LogRatio):
        # ln r >= (r - 1) / r.
        epsilon = (epsilon.ratio - 1) / epsilon.ratio
    return epsilon.numerator.bit_length() - epsilon.denominator.bit_length() - 1


@lru_cache(maxsize=256)
def mu_of_pure(epsilon: Real) -> Fraction | None:
    """Return the least mu with Phi(mu / 2) >= e^epsilon / (1 + e^epsilon), rounded up.

    Randomised response of that epsilon is then no easier to attack than N(0, 1) against
    N(mu, 1): both corners of its trade-off curve lie on or above that of mu. None where no mu
    is certain: for epsilons above 176.

    >>> mu_of_pure(Fraction(0))
    Fraction(0, 1)
    >>> 1.23 < mu_of_pure(Fraction(1)) < 1.24
    True
    """
    if epsilon == 0:
        return Fraction(0)
    mu = smallest_true(lambda mu: normal_cdf_at_least(Fraction(mu) / 2, epsilon), high=_LARGEST_MU)
    return None if math.isinf(mu) else Fraction(mu)


@lru_cache(maxsize=1024)
def pure_of_mu(mu: Fraction) -> Fraction:
    """Return the largest epsilon whose pure DP implies mu-Gaussian DP, rounded down; mu > 0.

    ln(Phi(mu / 2) / Phi(-mu / 2)) (proofs/gaussian-dp#1), about .8 mu for small mu. For mu above
    48 that of 48, which is 292.

    >>> float(pure_of_mu(Fraction(1)))
    0.8069653463049622
    """

    used = min(mu, _LARGEST_CALIBRATED)

    def compute() -> Ball:
        x = ball(used / 2) * ball(Fraction(1, 2)).sqrt()
        return (2 * x.erf() / x.erfc()).log1p()

    ends = positive_ends(compute)
    assert ends is not None
    return ends[0]


# Beyond this many standard deviations a bound is as good as the value.
_FAR = 1e6


@lru_cache(maxsize=4096)
def log_two_point_excess(limit: Real, epsilon: Real, floor: Fraction) -> LogBounds:
    """Bound ln of floor + (1 - floor) max(0, e^limit - e^epsilon) / (1 + e^limit).

    >>> log_two_point_excess(Fraction(1), Fraction(2), Fraction(0))
    LogBounds(lower=-inf, upper=-inf)
    """
    if floor == 1:
        return LogBounds(0.0, 0.0)
    if at_most(limit, epsilon):
        if floor == 0:
            return LOG_ZERO
        return log_probability(lambda: ball(LogRatio(floor)), bits=128)

    def compute() -> Ball:
        top, here = ball(limit), ball(epsilon)
        share = -(here - top).expm1() / (1 + (-top).exp())
        return (ball(floor) + (1 - ball(floor)) * share).log()

    return log_probability(compute, bits=128)


@lru_cache(maxsize=4096)
def log_gaussian_excess(mu: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), mu > 0.

    Exact at any depth: the working precision follows the cancellation.
    """
    return _log_gaussian_excess(lambda: ball(mu), epsilon)


@lru_cache(maxsize=4096)
def log_gaussian_square_excess(square: Fraction, epsilon: Real) -> LogBounds:
    """Bound `log_gaussian_excess` for mu = sqrt(square): compositions add squares.

    >>> bounds = log_gaussian_square_excess(Fraction(1), Fraction(1))
    >>> round(math.exp(bounds.upper), 6)
    0.126937
    """
    return _log_gaussian_excess(lambda: ball(square).sqrt(), epsilon)


def _log_gaussian_excess(mu: Callable[[], Ball], epsilon: Real) -> LogBounds:
    with precision(128):
        shift = mu()
        distance = ball(epsilon) / shift - shift / 2
        if distance > _FAR:
            # At most P(N(0, 1) > x) <= e^(-x^2 / 2).
            return LogBounds(-math.inf, round_up(-distance * distance / 2))

    def compute() -> Ball:
        shift, target = mu(), ball(epsilon)
        first = normal_tail(target / shift - shift / 2)
        return (first - target.exp() * normal_tail(target / shift + shift / 2)).log()

    return log_probability(compute, bits=192)


@lru_cache(maxsize=4096)
def log_order_bound(rho: Fraction, order: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of exp((a - 1)(a rho - epsilon)) / (a - 1) (1 - 1/a)^a, for a = order > 1."""
    with precision(192):
        a = ball(order)
        power = (a - 1) * (a * ball(rho) - ball(epsilon))
        return enclose(power - (a - 1).log() + a * (1 - 1 / a).log())


@lru_cache(maxsize=4096)
def log_distance_bound(rho: Fraction) -> LogBounds:
    """Bound ln of min(sqrt(rho / 2), sqrt(1 - e^-rho)), a bound of total variation."""

    def compute() -> Ball:
        r = ball(rho)
        return minimum(r / 2, -(-r).expm1()).log() / 2

    return log_probability(compute, bits=128)
