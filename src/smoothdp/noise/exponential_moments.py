"""Moments of hyperbolic and exponential functions of a normal magnitude, in balls."""

from __future__ import annotations

import math

from smoothdp.exact.balls import special
from smoothdp.exact.balls.special import Ball


def _exponential(rate: Ball) -> Ball:
    """Return E exp(rate |Y|) = 2 e^(rate^2 / 2) Phi(rate), Y standard normal."""
    return 2 * (rate * rate / 2).exp() * special.normal_tail(-rate)


def hyperbolic_moment(k: int, sigma: Ball) -> Ball:
    """Return E (sinh(sigma |Y|) / sigma)^k, by the binomial theorem; balls absorb what cancels."""
    total = special.number(0.0)
    for j in range(k + 1):
        total += (-1) ** j * math.comb(k, j) * _exponential((k - 2 * j) * sigma)
    return total / (2 * sigma) ** k


def exponential_moment(k: int, rate: Ball) -> Ball:
    """Return E ((e^(rate |Y|) - 1) / rate)^k, likewise."""
    total = special.number(0.0)
    for j in range(k + 1):
        total += (-1) ** (k - j) * math.comb(k, j) * _exponential(j * rate)
    return total / rate**k
