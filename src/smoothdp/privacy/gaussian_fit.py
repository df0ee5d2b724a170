"""The Gaussian curve below a piecewise-linear trade-off function."""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from typing import TYPE_CHECKING

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.compare import normal_upper_quantile
from smoothdp.exact.logspace.bisection import smallest_true
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF, log_difference_upper
from smoothdp.exact.parameters.numbers import exact_fraction
from smoothdp.privacy.excess import log_gaussian_excess

if TYPE_CHECKING:
    from smoothdp.privacy.tradeoff import TradeoffFunction

_LARGEST_MU = 1e4
_LARGEST_EPSILON = 1e6


def exact_mu(curve: TradeoffFunction) -> float:
    """Return the largest Phi^-1(power) - Phi^-1(alpha) over the knots, rounded up.

    The Gaussian curve is convex, so it lies below the segments if it lies below the knots.
    Both quantiles grow along the knots, so those of the two ends bound all in between:
    intervals of knots are split, largest bound first, until the first is a single knot.
    """
    alphas, powers, misses, betas = (tail.tolist() for tail in curve.log_tails)
    if not alphas:
        return 0.0

    def bound(first: int, last: int) -> float:
        high = _quantile_upper(powers[last], betas[last])
        low = _quantile_lower(alphas[first], misses[first])
        return math.nextafter(high - low, math.inf)

    heap = [(-bound(0, len(alphas) - 1), 0, len(alphas) - 1)]
    while True:
        negative, first, last = heapq.heappop(heap)
        # An end without mass on one side is itself a knot that no mu reaches.
        if first == last or negative == -math.inf:
            return max(0.0, -negative)
        middle = (first + last) // 2
        for part in ((first, middle), (middle + 1, last)):
            heapq.heappush(heap, (-bound(*part), *part))


def _quantile_upper(log_mass: float, log_rest: float) -> float:
    """Return a float not below Phi^-1(mass), by the smaller of mass and 1 - mass."""
    if log_mass <= log_rest:
        return -normal_upper_quantile(log_mass)[0]
    return normal_upper_quantile(log_rest)[1]


def _quantile_lower(log_mass: float, log_rest: float) -> float:
    if log_mass <= log_rest:
        return -normal_upper_quantile(log_mass)[1]
    return normal_upper_quantile(log_rest)[0]


def mu_with_slack(curve: TradeoffFunction, slack: Fraction) -> float:
    """Return the smallest mu with delta_f(e) <= max(delta_mu(e), slack) for all e >= 0.

    Where delta_f, a maximum of lines power - E alpha in E = e^e, exceeds the slack, each
    line must lie below the convex delta_mu: at the point where its slope is -alpha, or at
    the end of the interval of E if that point lies outside.
    """
    if slack == 1:
        return 0.0
    limit = log_bounds(slack).lower

    def small(epsilon: float) -> bool:
        return curve.log_excess(exact_fraction(epsilon, name="epsilon")).upper <= limit

    last = smallest_true(small, high=_LARGEST_EPSILON)
    if last == 0.0 or math.isinf(last):
        return last
    alphas, powers = (tail.tolist() for tail in curve.log_tails[:2])
    lines = [(a, p) for a, p in zip(alphas, powers, strict=True) if p > limit]

    def below(mu: float) -> bool:
        for place, line in enumerate(lines):
            if not _line_below(mu, *line, last):
                # The same line decides the next mu, most often.
                lines.insert(0, lines.pop(place))
                return False
        return True

    return smallest_true(below, high=_LARGEST_MU)


def _line_below(mu: float, log_alpha: float, log_power: float, last: float) -> bool:
    """Return whether power - e^e alpha <= delta_mu(e) for all 0 <= e <= last, for certain."""
    if mu == 0.0:
        return log_power <= log_alpha
    epsilon = last
    if log_alpha > -math.inf:
        touch = normal_upper_quantile(min(log_alpha, -1e-9))[0] * mu - mu * mu / 2
        epsilon = min(max(touch, 0.0), last)
    lower = log_gaussian_excess(exact_fraction(mu, name="mu"), Fraction(epsilon)).lower
    # A touching point off by h leaves h^2 of e^e alpha uncovered: below 1e-13 of it here.
    slack = 1e-13 + 4 * UNIT_ROUNDOFF * (abs(log_alpha) + epsilon)
    return log_difference_upper(log_power, max(log_alpha + epsilon - slack, -1e308)) <= lower
