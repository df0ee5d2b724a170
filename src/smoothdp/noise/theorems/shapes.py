"""Shapes that make the noise least: rules for a designer, which no guarantee rests on."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.logspace.bisection import smallest_true
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_real, sign
from smoothdp.noise.theorems.statement import read_smoothing


def best_degrees(epsilon: Parameter, smoothing: Parameter) -> Fraction:
    """Return (5 + 2 r) / (1 + 4 r), r = smoothing / epsilon: Student's T in pure DP.

    The exact optimum as epsilon -> 0, from std * epsilon = (d + 1) / (2 sqrt((d - 2) (1 - r d)
    (1 + r))); the excess standard deviation is below 0.1% up to epsilon = 2.

    Args:
        epsilon: > 0; smoothing: t >= 0, below epsilon / 2.

    Raises:
        InvalidParameter: outside these domains; from smoothing = epsilon / 2 on no noise of
            finite variance is pure DP.

    >>> best_degrees(1, "0.1")
    Fraction(26, 7)
    """
    ratio = _ratio(epsilon, smoothing)
    if 2 * ratio >= 1:
        raise InvalidParameter(
            expected="smoothing < epsilon / 2, where noise of finite variance exists",
            got=f"smoothing={smoothing}, epsilon={epsilon}",
            remedy="Lower the smoothing or raise epsilon",
        )
    return (5 + 2 * ratio) / (1 + 4 * ratio)


def best_laplace_log_normal_sigma(epsilon: Parameter, smoothing: Parameter) -> float:
    """Return the sigma that makes Laplace log-normal noise least under Theorem 18 of paper 2.

    The one root of 5 (epsilon / t) sigma^3 - 5 sigma^2 - 1 (section 3.1.1), between t / epsilon
    and max(2 t / epsilon, 1/2); epsilon^2 / 2 is the zCDP parameter.

    Args:
        epsilon: > 0; smoothing: t > 0.

    Raises:
        InvalidParameter: outside these domains.

    >>> round(best_laplace_log_normal_sigma(1, "0.1"), 12)
    0.309197818894
    """
    r = float(_ratio(epsilon, smoothing))
    if r == 0:
        raise InvalidParameter(
            expected="smoothing > 0",
            got=f"smoothing={smoothing}",
            remedy="At 0 the best sigma is 0",
        )
    return smallest_true(
        lambda sigma: 5 * sigma**2 * (sigma / r - 1) >= 1, low=r, high=max(2 * r, 0.5)
    )


def _ratio(epsilon: Parameter, smoothing: Parameter) -> Fraction:
    t = read_smoothing(exact_fraction(smoothing, name="smoothing"))
    amount = exact_real(epsilon, name="epsilon")
    if sign(amount) <= 0:
        raise InvalidParameter(
            expected="epsilon > 0", got=f"epsilon={shown(amount)}", remedy="Give a positive epsilon"
        )
    # No guarantee rests on the ratio, so a float of a logarithm will do.
    return t / (amount if isinstance(amount, Fraction) else Fraction(float(amount)))
