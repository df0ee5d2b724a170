"""The line outside the panels: cells near the ends of regions and at kinks, and infinite tails.

Masses and ranges of losses bound their share of an integral (proofs/divergence-enclosures#2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import round_down, round_up
from smoothdp.exact.balls.special import Ball
from smoothdp.noise.divergences.excess import log_range
from smoothdp.noise.divergences.offset import Offset
from smoothdp.noise.divergences.regions import Left, Region


class Cell(NamedTuple):
    """A part of the line: bounds of ln of its p-mass, and of the loss in it."""

    log_mass: tuple[float, float]
    loss: tuple[float, float]

    def log_excess(self, b: float) -> tuple[float, float]:
        """Bound ln of the integral of p psi_b(L) over the cell."""
        least, most = log_range(*self.loss, b)
        return self.log_mass[0] + least, self.log_mass[1] + most


def end_cell(offset: Offset, region: Region, u: float, *, upper: bool) -> Cell:
    """Return the cell between u and the finite end of a region (the upper one if ``upper``)."""
    at = special.number(u)
    logs = region.logs(at)
    ranges = offset.between((logs.near, logs.far), region.limit(upper=upper))
    return _cell(ranges.log_p, ranges.loss, region.width(at, upper=upper))


def gap_cell(offset: Offset, region: Region, low: float, high: float) -> Cell:
    """Return the cell between two close coordinates of a region."""
    first, second = region.logs(special.number(low)), region.logs(special.number(high))
    ranges = offset.between((first.near, first.far), (second.near, second.far))
    jacobian = special.interval(first.jacobian, second.jacobian)
    wide = special.number(high) - special.number(low)
    # |dx/du| of the middle region is not monotone: its range, widened, covers a short cell.
    return _cell(ranges.log_p, ranges.loss, special.interval(wide / 4, 4 * wide) * jacobian.exp())


def _cell(log_p: Ball, loss: Ball, width: Ball) -> Cell:
    log_mass = log_p + width.log()
    return Cell((round_down(log_mass), round_up(log_mass)), (round_down(loss), round_up(loss)))


class Tail:
    """The part of a left or right region beyond a coordinate u.

    In v = ln|x| the integrand exp(E) of p e^(b L) has E' <= -m, so that the rest is at most
    e^E / m at the start. With A the elasticity of the law (rising in v), K a bound of its slope,
    c = |x| / |x - s| (at most its value at the start on the right, at most 1 on the left) and
    v + d the argument of the copy, A(v + d) <= A(v) + K max(0, d) gives
    m = A (1 - b (c - 1)) - 1 - b c K max(0, d) (proofs/dilated-divergences#6).
    """

    def __init__(self, offset: Offset, region: Region, u: float) -> None:
        self.offset = offset
        at = special.number(u)
        logs = region.logs(at)
        law, t = offset.law, offset.dilation
        self.near = logs.near
        magnitude, distance = logs.near.exp(), logs.far.exp()
        p_mass = law._ball_survival(magnitude)
        self.log_mass = round_down(p_mass.log()), round_up(p_mass.log())
        self.log_copy_mass = round_up(law._ball_survival((logs.far - t).exp()).log())
        p = offset.log_p(logs.near)
        self.log_p, self.start_loss = p, p - offset.log_q(logs.far)
        self.elasticity = law._ball_elasticity(logs.near)
        self.slope = law._elasticity_slope(logs.near)
        left = isinstance(region, Left)
        zero = special.number(0.0)
        self.stretch = special.number(1.0) if left else magnitude / distance
        self.lag = special.maximum(zero, (logs.far - t - logs.near) if left else -t)
        least, most = offset.tail_loss(region, u)
        self.loss = round_down(least), round_up(most)

    def log_moment_upper(self, b: float) -> float:
        """Return a bound of ln of the integral of p e^(b L)."""
        k = special.number(b)
        fall = self.elasticity * (1 - k * (self.stretch - 1)) - 1
        fall -= k * self.stretch * self.slope * self.lag
        if not fall > 0:
            return math.inf
        return round_up(self.near + self.log_p + k * self.start_loss - fall.log())

    def log_excess(self, b: float) -> tuple[float, float]:
        """Bound ln of the integral of p psi_b(L); psi_b(L) <= e^(max(b, 1) L) + e^-L."""
        if self.loss[0] > -math.inf and self.loss[1] < math.inf:
            return Cell(self.log_mass, self.loss).log_excess(b)
        moment = self.log_moment_upper(max(b, 1.0))
        return -math.inf, _log_add(moment, self.log_copy_mass)


def _log_add(first: float, second: float) -> float:
    top = max(first, second)
    if math.isinf(top):
        return top
    return top + math.log1p(math.exp(-abs(first - second))) + 1e-15 * (1 + abs(top))
