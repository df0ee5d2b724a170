"""The delta of one step of the subsampled Gaussian, in closed form: both directions."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.special import Ball, log_probability, normal_tail
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Real


@lru_cache(maxsize=4096)
def log_mixture_excess(rate: Fraction, mu: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of the hockey stick of (1 - q) N(0, 1) + q N(mu, 1) over N(0, 1), epsilon >= 0.

    It is q times that of N(mu, 1) over N(0, 1) at ln(1 + (e^epsilon - 1) / q).
    """

    def compute() -> Ball:
        growth = ball(epsilon.ratio - 1) if isinstance(epsilon, LogRatio) else ball(epsilon).expm1()
        inner, shift = (growth / ball(rate)).log1p(), ball(mu)
        first = normal_tail(inner / shift - shift / 2)
        value = first - inner.exp() * normal_tail(inner / shift + shift / 2)
        return (ball(rate) * value).log()

    return log_probability(compute, bits=192)


@lru_cache(maxsize=4096)
def log_base_excess(rate: Fraction, mu: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of the hockey stick of N(0, 1) over (1 - q) N(0, 1) + q N(mu, 1), epsilon >= 0.

    With E = e^epsilon and r = 1 - E (1 - q) it is r times that of N(0, 1) over N(mu, 1) at
    ln(E q / r), and 0 for r <= 0 (proofs/subsampled-steps#1).

    >>> log_base_excess(Fraction(1, 2), Fraction(1), LogRatio(Fraction(2)))
    LogBounds(lower=-inf, upper=-inf)
    """
    if rate < 1 and at_most(LogRatio(1 / (1 - rate)), epsilon):
        return LOG_ZERO

    def compute() -> Ball:
        growth = ball(epsilon.ratio) if isinstance(epsilon, LogRatio) else ball(epsilon).exp()
        rest, shift = 1 - growth * ball(1 - rate), ball(mu)
        inner = (growth * ball(rate) / rest).log()
        first = normal_tail(inner / shift - shift / 2)
        second = normal_tail(inner / shift + shift / 2)
        return (rest * first - growth * ball(rate) * second).log()

    return log_probability(compute, bits=192)
