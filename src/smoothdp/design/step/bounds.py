"""Both ends of smoothed delta of one step of SGD with quantised gradients, certified.

The statements are proofs/designer#7 and #8: the average of T of n values on m
levels, any mixture of the laws of a model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from smoothdp.exact.balls.balls import ball, enclose, log_bounds, precision, round_up
from smoothdp.exact.logspace.log_sums import log_total_upper
from smoothdp.exact.parameters.numbers import LogRatio, Real, sign
from smoothdp.exact.probabilities.tails import log_binomial_tail

_MOST_SUMMED = 10**13
"""Beyond so many records the tail is Chernoff's bound."""

_FAR = Fraction(700)


@dataclass(frozen=True, slots=True)
class StepBounds:
    """Natural logarithms around the largest expectation of delta(x), at one n.

    Attributes:
        log_lower, log_upper: lower end for the average, upper end for histogram and average.
        log_ordinary: ln(T/n), rounded up: ordinary DP.
        decided_by: "T/n", "few of a level" or "a batch within a level": which bound is least.
    """

    log_lower: float
    log_upper: float
    log_ordinary: float
    decided_by: str


def step_bounds(
    vertices: Sequence[Sequence[Fraction]], *, n_records: int, batch: int, epsilon: Real
) -> StepBounds:
    """Return the ends for validated arguments: 1 <= batch <= n_records, m >= 2 levels."""
    n, share = n_records, Fraction(batch, n_records)
    ordinary = log_bounds(share).upper
    floors = Counter(min(column) for column in zip(*vertices, strict=True))
    first, second, chosen = [], [], []
    for floor, times in floors.items():
        u = min(0.0, log_few(floor, n, batch, epsilon) + ordinary)
        w = log_within(floor, n, share, epsilon)
        spread = log_bounds(Fraction(times)).upper
        first.append(u + spread)
        second.append(w + spread)
        chosen.append(min(u, w) + spread)
    # Sums of two floats each: a unit more than any rounding.
    upper = log_total_upper([math.nextafter(one, math.inf) for one in chosen])
    upper = math.nextafter(upper, math.inf)
    decided = "few of a level" if max(first) < max(second) else "a batch within a level"
    if upper >= ordinary or batch == n:
        upper, decided = ordinary, "T/n"
    lower = max(log_lower(vertex, n, share) for vertex in vertices)
    return StepBounds(min(lower, upper), upper, ordinary, decided)


def log_few(floor: Fraction, n: int, batch: int, epsilon: Real) -> float:
    """Return a float not below ln P(Bin(n, q) < h0), h0 = T / (1 - 1/E).

    From h0 records in every level on, delta(x) is 0. By Chernoff e^(-n KL(h0/n || q)) where
    h0/n <= q, else 1; where n is small enough, the tail itself.
    """
    if floor <= 0 or sign(epsilon) == 0:
        return 0.0
    with precision(128):
        h0 = ball(batch) / -(-_near(epsilon)).expm1()
        below = round_up(h0)
        if not math.isfinite(below) or below > n:
            return 0.0
    most = math.ceil(below) - 1
    # X <= most is n - most or more misses.
    if floor == 1:
        return -math.inf if most < n else 0.0
    if n <= _MOST_SUMMED:
        return log_binomial_tail(n - most, n, 1 - floor).upper
    share = Fraction(most, n)
    if share >= floor:
        return 0.0
    with precision(256):
        return min(0.0, round_up(-ball(n) * _divergence(ball(share), ball(floor), share)))


def log_within(floor: Fraction, n: int, share: Fraction, epsilon: Real) -> float:
    """Return a float not below ln of w = (1 - q (1 - e^-kappa))^n, kappa = KL(1 - 1/E || T/n).

    1 unless T/n < 1 - 1/E.
    """
    if floor <= 0 or sign(epsilon) == 0 or share == 1:
        return 0.0
    with precision(256):
        part = -(-_near(epsilon)).expm1()
        eta = ball(share)
        if not eta < part:
            return 0.0
        rest = 1 - part
        # part lies in (0, 1): both logarithms are finite.
        kappa = part * (part / eta).log() + rest * (rest / (1 - eta)).log()
        if not kappa > 0:
            return 0.0
        value = ball(n) * (ball(floor) * (-kappa).expm1()).log1p()
        bound = round_up(value)
    return 0.0 if math.isnan(bound) else min(0.0, bound)


def log_lower(vertex: Sequence[Fraction], n: int, share: Fraction) -> float:
    """Return a float not above ln of (T/n) sum over levels of pi(c)^n."""
    times = Counter(p for p in vertex if p > 0)
    best = max(times)
    with precision(128):
        # Beside the largest, terms of less than e^-800 of it are left out: it is a lower bound.
        total = ball(0)
        for p, number in times.items():
            exponent = ball(n) * ball(LogRatio(p / best))
            if exponent > -800:
                total += ball(number) * exponent.exp()
        logs = enclose(total.log() + ball(n) * ball(LogRatio(best)) + ball(LogRatio(share)))
    return logs.lower


def _near(epsilon: Real) -> Any:
    """Return a ball of epsilon, or of 700 where it is more: there delta is larger."""
    exact = ball(epsilon)
    return ball(_FAR) if exact > 700 else exact


def _divergence(a: Any, q: Any, share: Fraction) -> Any:
    """Return KL(a || q) of balls, 0 <= a < q < 1."""
    rest = (1 - a) * ((1 - a) / (1 - q)).log()
    if share == 0:
        return rest
    return a * (a / q).log() + rest
