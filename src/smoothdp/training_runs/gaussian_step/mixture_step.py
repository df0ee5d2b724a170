"""The delta of one release whose shift is drawn from several: both directions, in closed form.

P = sum p_i N(m_i, 1) against Q = N(0, 1), 0 <= m_1 < ... < m_K, p_i > 0, R = dP/dQ, which rises
in y. So the best events are half lines (proofs/mixtures-of-gaussians#2): with p_0 the probability
of the shift 0, S(y) the sum of p_i e^(m_i y - m_i^2 / 2) over m_i > 0, and E = e^epsilon,

with the record first: sum over m_i > 0 of p_i P(y > b - m_i), less (E - p_0) P(y > b), S(b) =
    E - p_0;
without it first: (1 - E p_0) P(y < a), less E times the sum of p_i P(y < a - m_i), S(a) =
    1 / E - p_0; 0 where that is not positive.

ln S is convex and its slope lies between the smallest shift above 0 and the largest: Newton's
method finds the root, and one step of it over an interval encloses it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from smoothdp.exact.balls.balls import ball, log_bounds, precision, round_up
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.special import (
    Ball,
    interval,
    log_probability,
    normal_tail,
    number,
    size,
    undefined,
    working_bits,
)
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.training_runs.rates import growth

_BITS = 192
_MOST_STEPS = 200
# An epsilon whose power is taken by its logarithm, and a distance beyond which a tail is bounded
# by e^(-x^2 / 2).
_LARGE = 1000
_FARTHEST = 1e4


class Shifts(NamedTuple):
    """Shifts m_1 < m_2 < ... in units of the noise, the first at least 0, and their probabilities,
    each above 0, which add up to 1."""

    sizes: tuple[Fraction, ...]
    probabilities: tuple[Fraction, ...]

    @property
    def still(self) -> Fraction:
        """The probability of the shift 0."""
        return self.probabilities[0] if self.sizes[0] == 0 else Fraction(0)

    @property
    def moving(self) -> list[tuple[Fraction, Fraction]]:
        """(shift, probability) of the shifts above 0."""
        return [pair for pair in zip(*self, strict=True) if pair[0] > 0]


@lru_cache(maxsize=8192)
def log_with_first(shifts: Shifts, epsilon: Real) -> LogBounds:
    """Bound ln of the hockey stick of the mixture over N(0, 1), epsilon >= 0.

    >>> half = Shifts((Fraction(0), Fraction(1)), (Fraction(1, 2), Fraction(1, 2)))
    >>> round(math.exp(log_with_first(half, Fraction(1)).upper), 6)
    0.028868
    """

    def log_level() -> Ball:
        # E - p_0, without powers beyond reach.
        if at_most(epsilon, Fraction(_LARGE)):
            return (growth(epsilon) + ball(1 - shifts.still)).log()
        return ball(epsilon) + (-ball(shifts.still) * (-ball(epsilon)).exp()).log1p()

    def compute() -> Ball:
        target = log_level()
        at = _root(shifts, target)
        moved = sum((p * normal_tail(at - m) for m, p in _balls(shifts)), start=ball(0))
        return (moved - target.exp() * normal_tail(at)).log()

    with precision(_BITS):
        beyond = _root(shifts, log_level()) - ball(shifts.sizes[-1])
        if beyond > _FARTHEST:
            return LogBounds(-math.inf, round_up(-beyond * beyond / 2))
    return log_probability(compute, bits=_BITS)


@lru_cache(maxsize=8192)
def log_without_first(shifts: Shifts, epsilon: Real) -> LogBounds:
    """Bound ln of the hockey stick of N(0, 1) over the mixture, epsilon >= 0."""
    still = shifts.still
    if still and at_most(LogRatio(1 / still), epsilon):
        return LOG_ZERO

    def rest() -> Ball:
        return ball(1 - still) - growth(epsilon) * ball(still) if still else ball(1)

    def log_level() -> Ball:
        return rest().log() - ball(epsilon)

    def compute() -> Ball:
        left, at = rest(), _root(shifts, log_level())
        moved = sum((p * normal_tail(m - at) for m, p in _balls(shifts)), start=ball(0))
        return (left * normal_tail(-at) - ball(epsilon).exp() * moved).log()

    with precision(_BITS):
        beyond = -_root(shifts, log_level())
        if beyond > _FARTHEST:
            return LogBounds(-math.inf, round_up(-beyond * beyond / 2))
    return log_probability(compute, bits=_BITS)


def _balls(shifts: Shifts) -> list[tuple[Ball, Ball]]:
    return [(ball(m), ball(p)) for m, p in shifts.moving]


def _root(shifts: Shifts, target: Ball) -> Ball:
    """Enclose where ln S is the target; nan where that takes more precision."""
    if not target.is_finite():
        return undefined()
    parts = [(m, p.log() - m * m / 2) for m, p in _balls(shifts)]
    at = number(near_root(shifts, float(target.mid())))
    for _ in range(working_bits().bit_length() - 3):
        value, slope = _log_sum(parts, at)
        at = (at - (value - target) / slope).mid()
    value, slope = _log_sum(parts, at)
    if not slope > 0:
        return undefined()
    gap = value - target
    reach = 4 * size(gap) / slope.lower()
    cell = interval(at - reach, at + reach)
    _, slopes = _log_sum(parts, cell)
    if not slopes > 0:
        return undefined()
    found = at - gap / slopes
    # Newton's step over an interval: the root lies there if it maps the interval into itself.
    return found if cell.contains(found) else undefined()


def _log_sum(parts: list[tuple[Ball, Ball]], at: Ball) -> tuple[Ball, Ball]:
    """Return ln S and its slope."""
    logs = [m * at + offset for m, offset in parts]
    top = logs[-1]
    weights = [(log - top).exp() for log in logs]
    total = sum(weights, start=ball(0))
    moved = sum((m * w for (m, _), w in zip(parts, weights, strict=True)), start=ball(0))
    return top + total.log(), moved / total


@lru_cache(maxsize=256)
def _floats(shifts: Shifts) -> tuple[tuple[float, float], ...]:
    return tuple((float(m), log_bounds(p).lower - float(m * m / 2)) for m, p in shifts.moving)


def near_root(shifts: Shifts, target: float) -> float:
    """Return about where ln S is a target: from the right Newton's steps go down to it."""
    parts = _floats(shifts)
    at = min((target - offset) / m for m, offset in parts)
    for _ in range(_MOST_STEPS):
        logs = [m * at + offset for m, offset in parts]
        top = max(logs)
        weights = [math.exp(log - top) for log in logs]
        total = math.fsum(weights)
        slope = math.fsum(m * w for (m, _), w in zip(parts, weights, strict=True)) / total
        move = (top + math.log(total) - target) / slope
        at -= move
        if abs(move) <= 1e-9 * (1 + abs(at)):
            break
    return at
