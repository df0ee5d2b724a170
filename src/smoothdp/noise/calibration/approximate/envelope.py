"""A bound of the hockey stick that holds for a whole interval of dilations.

Let q_u be the density of e^u Z + s and L_u = ln p / q_u. At every x, L_u is convex in u, so for
u in [a, b] L_u <= max(L_a, L_b) = ln p / min(q_a, q_b), and

    H_e(P || Q_u) <= integral of (p - e^e min(q_a, q_b))_+.

q_b / q_a rises with |x - s|, because the elasticity does: min(q_a, q_b) is q_b up to a radius R
and q_a beyond, for a < b (proofs/dilated-divergences#5).
"""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from itertools import count

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision, round_down, round_up
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.balls.work import spend
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.divergences.loss_cells import CellFactory, LossCell
from smoothdp.noise.divergences.offset import Offset
from smoothdp.noise.divergences.regions import Region

_BITS = 128
_MOST_CUTS = 6000
_SHARP = 1e-7
_NARROW = 2.0**-44


class EnvelopeCells(CellFactory):
    """Cells of the loss max(L_a, L_b) of two dilations a < b of one shift."""

    def __init__(self, first: Offset, second: Offset, bits: int) -> None:
        super().__init__(first, bits)
        self.second = second
        self.radius = _crossing(first, second)

    def cell(self, region: Region, low: float | None, high: float | None) -> LossCell:
        first = super().cell(region, low, high)
        kept, self.offset = self.offset, self.second
        try:
            second = super().cell(region, low, high)
        finally:
            self.offset = kept
        lower = special.maximum(first.lower, second.lower)
        upper = special.maximum(first.upper, second.upper)
        return LossCell(region, low, high, lower, upper)

    def masses(self, cell: LossCell) -> tuple[Ball, Ball]:
        """Return the masses of a cell under p and under min(q_a, q_b)."""
        p, q = self._side(cell)
        # Without a shift, one region stands for both sides of the line.
        return (p, q) if self.offset.shift > 0 else (2 * p, 2 * q)

    def _side(self, cell: LossCell) -> tuple[Ball, Ball]:
        spend(6 * self.offset.law._ball_work)
        ends = [self._logs(cell, cell.low, upper=False), self._logs(cell, cell.high, upper=True)]
        p = abs(self._beyond(ends[0][0]) - self._beyond(ends[1][0]))
        near, far = sorted((ends[0][1], ends[1][1]))
        low, high = self.radius
        if near >= high:
            return p, self._between(near, far, self.offset)
        if far <= low:
            return p, self._between(near, far, self.second)
        # Across R, which is in [low, high]: up to low it is q_b, from high on q_a, and what is
        # between is at least 0.
        q = special.number(0.0)
        if near < low:
            q += self._between(near, low, self.second)
        if far > high:
            q += self._between(high, far, self.offset)
        return p, q

    def _between(self, near: float | Ball, far: float | Ball, offset: Offset) -> Ball:
        t = offset.dilation
        return self._beyond(near, t) - self._beyond(far, t)

    def _beyond(self, v: float | Ball, dilation: Ball | None = None) -> Ball:
        if isinstance(v, float):
            if math.isinf(v):
                return special.number(0.5 if v < 0 else 0.0)
            v = special.number(v)
        return self._tail(v if dilation is None else v - dilation)

    def _logs(
        self, cell: LossCell, u: float | None, *, upper: bool
    ) -> tuple[float | Ball, float | Ball]:
        """Return ln|x| and ln|x - s| at an end; infinite ones as floats."""
        if u is not None:
            logs = cell.region.logs(special.number(u))
            return logs.near, logs.far
        if upper and cell.region.has_tail:
            return math.inf, math.inf
        near, far = cell.region.limit(upper=upper)
        return (-math.inf if near is None else near), (-math.inf if far is None else far)


def _crossing(first: Offset, second: Offset) -> tuple[float, float]:
    """Return floats around ln R, R the radius from which q_a < q_b."""

    def gap(v: float) -> Ball:
        spend(2 * first.law._ball_work)
        at = special.number(v)
        return second.log_q(at) - first.log_q(at)

    middle = float(round(-float(first.law._ball_log_peak())))
    low, high, step = middle - 1, middle + 1, 1.0
    while not gap(low) < 0:
        low, step = low - step, step * 2
        if low < -1e6:
            # Of high nothing is known either.
            return -math.inf, math.inf
    step = 1.0
    while not gap(high) > 0:
        high, step = high + step, step * 2
        if high > 1e6:
            return low, math.inf
    while high - low > _NARROW * (1 + abs(low)):
        middle = (low + high) / 2
        value = gap(middle)
        if value < 0:
            low = middle
        elif value > 0:
            high = middle
        else:
            break
    return low, high


def log_envelope(
    law: AbstractLaw,
    shift: Fraction,
    dilations: tuple[Fraction, Fraction],
    epsilon: Real,
    *,
    reverse: bool,
    target: float,
) -> LogBounds:
    """Bound ln of the envelope over dilations [u, v] >= 0; cheaply, if it is not near ``target``.

    For u = v it is the hockey stick itself.

    The reverse pair at u' is the forward one at dilation -u' and shift s e^-u'
    (proofs/dilated-divergences#3); the hockey stick rises with the shift, at most s e^-u.

    Args:
        target: a logarithm; work stops once the bound is surely above or below it.
    """
    low, high = dilations
    with precision(_BITS):
        s = ball(shift)
        if reverse:
            s, low, high = s * (-ball(low)).exp(), -high, -low
        first, second = Offset(law, s, ball(low)), Offset(law, s, ball(high))
        factory = EnvelopeCells(first, second, _BITS) if low < high else CellFactory(first, _BITS)
        return _integrate(factory, ball(epsilon), target)


def _integrate(factory: CellFactory, epsilon: Ball, target: float) -> LogBounds:
    """Bound ln of the integral of (p - e^epsilon q)_+, cutting the most doubtful cell first."""
    growth, zero = epsilon.exp(), special.number(0.0)
    sure, order = zero, count()
    heap: list[tuple[float, int, LossCell, Ball]] = []
    waiting, settled = factory.first(), zero
    for step in range(_MOST_CUTS):
        for cell in waiting:
            if cell.upper <= epsilon:
                continue
            p, q = factory.masses(cell)
            if cell.lower >= epsilon:
                sure += p - growth * q
                continue
            most = special.upper(special.upper(p) * _share(cell.upper, epsilon))
            heapq.heappush(heap, (-float(most), next(order), cell, most))
        if not heap:
            break
        if step % 8 == 0:
            bounds = _bounds(sure, _total(heap, settled))
            known = bounds.upper - bounds.lower < _SHARP
            if known or bounds.upper <= target or bounds.lower > target:
                return bounds
        _, _, cell, most = heapq.heappop(heap)
        halves = factory.cut(cell)
        waiting = halves or []
        if halves is None:
            settled += most
    return _bounds(sure, _total(heap, settled))


def _share(loss: Ball, epsilon: Ball) -> Ball:
    """Return 1 - e^(epsilon - loss); 1 where the loss is not known to be finite."""
    share = -(epsilon - loss).expm1()
    return share if share < 1 else special.number(1.0)


def _total(heap: list[tuple[float, int, LossCell, Ball]], settled: Ball) -> Ball:
    total = settled
    for _, _, _, most in heap:
        total += most
    return total


def _bounds(sure: Ball, doubt: Ball) -> LogBounds:
    low, high = special.lower(sure), special.upper(sure + doubt)
    lower = round_down(low.log()) if low > 0 else -math.inf
    if high > 0:
        return LogBounds(lower, min(0.0, round_up(high.log())))
    # Neither positive nor surely 0: nothing is known.
    return LogBounds(lower, -math.inf if high <= 0 else 0.0)
