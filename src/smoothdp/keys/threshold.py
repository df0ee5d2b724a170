"""Thresholds on noisy counts: a key is shown where its count with noise reaches one."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.exact.balls.balls import ball
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real, exact_int
from smoothdp.keys.certified import (
    ceiling,
    probability,
    ratio_power,
    read_delta_inside,
    read_rate,
)


def laplace_threshold(epsilon: Parameter, *, delta: Parameter) -> int:
    """Return the least threshold tau whose discrete Laplace noise has delta at most.

    A key with n >= 1 units is shown, with n + Z, where n + Z >= tau; Z has weight
    e^(-epsilon |z|) on the whole numbers. Then d = P(1 + Z >= tau), and with p = e^-epsilon
    tau = 1 + ceil(ln(1 / (delta (1 + p))) / epsilon) for delta < 1 / (1 + p).

    Source: proofs/private-keys#5.

    Args:
        epsilon: of one key, > 0. delta: of one key, in (0, 1); may lie below floats.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> laplace_threshold(1, delta="1e-5")
    13
    """
    rate, share = read_rate(epsilon), read_delta_inside(delta)

    up = ceiling(
        lambda: -((1 + (-ball(rate)).exp()) * ball(share)).log() / ball(rate),
        holds=lambda steps: _is_at_most(rate, steps, share),
    )
    if up > 0:
        return 1 + up
    # P(Z >= l) for l <= 0 is 1 - p^(1 - l) / (1 + p).
    down = ceiling(
        lambda: ((1 + (-ball(rate)).exp()) * (1 - ball(share))).log() / ball(rate),
        holds=lambda steps: _is_at_most(rate, 1 + steps, share),
    )
    return 2 + min(-1, down)


def laplace_threshold_delta(epsilon: Parameter, *, threshold: int) -> float:
    """Return d = P(1 + Z >= threshold) of discrete Laplace noise, not below the exact one.

    A unit in g keys has (g epsilon, 1 - (1 - d)^g).

    Source: proofs/private-keys#5.

    Args:
        epsilon: of one key, > 0. threshold: a whole number.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> round(laplace_threshold_delta("0.5", threshold=47), 14)
    6.388e-11
    """
    rate = read_rate(epsilon)
    least = -(10**18) if not isinstance(threshold, int) else min(threshold, 0)
    start = exact_int(threshold, name="threshold", minimum=least) - 1
    if start >= 0:
        return probability(lambda: (-start * ball(rate)).exp() / (1 + (-ball(rate)).exp())).upper
    return probability(
        lambda: 1 - ((start - 1) * ball(rate)).exp() / (1 + (-ball(rate)).exp())
    ).upper


def _is_at_most(rate: Real, start: int, delta: Fraction) -> bool:
    """Return whether P(Z >= start) <= delta, exactly where e^-epsilon is rational.

    For a rational epsilon both are never equal; the larger start is the safe one.
    """
    if not isinstance(rate, LogRatio):
        return False
    total = 1 + ratio_power(rate, 1)
    if start >= 0:
        return ratio_power(rate, start) / total <= delta
    return 1 - ratio_power(rate, 1 - start) / total <= delta
