"""The Gaussian curve below a piecewise-linear trade-off function."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from smoothdp.exact.bisection import smallest_true
from smoothdp.exact.curves import log_gaussian_excess, normal_quantile_gap
from smoothdp.exact.parameters import Real

if TYPE_CHECKING:
    from smoothdp.privacy.tradeoff import TradeoffFunction


def exact_mu(curve: TradeoffFunction) -> float:
    """Return the largest Phi^-1(power) - Phi^-1(alpha) over the knots, rounded up.

    The Gaussian curve is convex, so it lies below the segments if it lies below the knots.
    """
    best = 0.0
    for alpha, power in zip(curve.alphas.tolist(), curve.powers.tolist(), strict=True):
        if alpha == 0.0 or power == 1.0:
            if (alpha == 0.0 and power > 0.0) or (power == 1.0 and alpha < 1.0):
                return math.inf
            continue
        best = max(best, normal_quantile_gap(power, alpha))
    return best


def mu_with_slack(curve: TradeoffFunction, slack: Fraction) -> float:
    """Return the smallest mu with delta_f(e) <= max(delta_mu(e), slack) for all e >= 0.

    Where delta_f, a maximum of lines power - E alpha in E = e^e, exceeds the slack, each
    line must lie below the convex delta_mu: at the point where its slope is -alpha, or at
    the end of the interval of E if that point lies outside.
    """
    limit = float(slack) * (1 - 1e-15)
    last = smallest_true(lambda e: curve.delta(e) <= limit, high=1e6)
    knots = [
        (alpha, power)
        for alpha, power in zip(curve.alphas.tolist(), curve.powers.tolist(), strict=True)
        if power > limit and alpha < 1.0
    ]
    if not knots or last == 0.0:
        return 0.0
    if math.isinf(last):
        return math.inf

    def below(mu: float) -> bool:
        return all(_line_below(mu, alpha, power, last) for alpha, power in knots)

    return smallest_true(below, high=1e4)


def _line_below(mu: float, alpha: float, power: float, last: float) -> bool:
    """Return whether power - e^e alpha <= delta_mu(e) for all 0 <= e <= last, for certain."""
    if mu == 0.0:
        return power <= alpha
    epsilon = last
    if alpha > 0.0:
        touch = normal_quantile_gap(0.5, alpha) * mu - mu * mu / 2
        epsilon = min(max(touch, 0.0), last)
    # An error of h in the touching point costs h^2 / 2 of the slope: below 1e-13 here.
    exact: Real = Fraction(epsilon)
    lower = log_gaussian_excess(Fraction(mu), exact).lower
    gain = power - math.exp(epsilon) * alpha * (1 - 1e-13)
    return gain <= 0 or math.log(gain) <= lower
