"""A law beside its shifted and dilated copy: Z against e^t Z + s, at one precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from smoothdp.exact.balls import special
from smoothdp.exact.balls.special import Ball
from smoothdp.noise.divergences.ball_law import BallLaw
from smoothdp.noise.divergences.regions import Left, Logs, Region


class Range(NamedTuple):
    """Real intervals, as balls: ln p, ln q and the loss ln p - ln q over a part of the line."""

    log_p: Ball
    log_q: Ball

    @property
    def loss(self) -> Ball:
        return self.log_p - self.log_q


@dataclass(frozen=True)
class Offset:
    """p is the density of Z and q that of e^t Z + s, s >= 0, t of any sign."""

    law: BallLaw
    shift: Ball
    dilation: Ball

    def log_p(self, v: Ball | None) -> Ball:
        """Return ln p where ln|x| = v; None stands for x = 0."""
        return self.law._ball_log_peak() if v is None else self.law._ball_log_density(v)

    def log_q(self, v: Ball | None) -> Ball:
        """Return ln q where ln|x - s| = v; None stands for x = s."""
        if v is None:
            return self.law._ball_log_peak() - self.dilation
        return self.law._ball_log_density(v - self.dilation) - self.dilation

    def at(self, logs: Logs) -> tuple[Ball, Ball]:
        """Return ln p |dx/du| and the loss."""
        p = self.log_p(logs.near)
        return p + logs.jacobian, p - self.log_q(logs.far)

    def between(
        self, first: tuple[Ball | None, Ball | None], second: tuple[Ball | None, Ball | None]
    ) -> Range:
        """Return the ranges between two points on one region: densities fall with distance."""
        return Range(
            special.interval(self.log_p(first[0]), self.log_p(second[0])),
            special.interval(self.log_q(first[1]), self.log_q(second[1])),
        )

    def loss_range(self, region: Region, lower: float, upper: float) -> tuple[Ball, ...]:
        """Return (lowest, highest) loss between two coordinates, that halfway, and dL/du.

        Two forms, of which the tighter counts at either end. With elasticities rising in v:
        the mean value theorem at the middle, and L = t + the integral of A from ln|x| to
        ln|x - s| - t, which is the gap between the two times a value of A between them
        (proofs/dilated-divergences#6).
        """
        low, high = special.number(lower), special.number(upper)
        t = self.dilation
        first, second = region.logs(low), region.logs(high)
        start, stop = region.slopes(low), region.slopes(high)
        p = self._elasticities(first.near, second.near)
        q = self._elasticities(first.far - t, second.far - t)
        slope = q * special.interval(start.far, stop.far)
        slope -= p * special.interval(start.near, stop.near)
        middle = (low + high) / 2
        _, loss = self.at(region.logs(middle))
        local = loss + slope * special.interval(low - middle, high - middle)
        gap = special.interval(first.far - t - first.near, second.far - t - second.near)
        wide = t + gap * special.interval(p, q)
        return (
            special.maximum(special.lower(local), special.lower(wide)),
            special.minimum(special.upper(local), special.upper(wide)),
            loss,
            slope,
        )

    def _elasticities(self, first: Ball, second: Ball) -> Ball:
        return special.interval(self.law._ball_elasticity(first), self.law._ball_elasticity(second))

    def end_loss(self, region: Region, u: float, *, upper: bool) -> tuple[Ball, Ball]:
        """Return bounds of the loss between a coordinate and the finite end of a region."""
        logs = region.logs(special.number(u))
        loss = self.between((logs.near, logs.far), region.limit(upper=upper)).loss
        return special.lower(loss), special.upper(loss)

    def tail_loss(self, region: Region, u: float) -> tuple[Ball, Ball]:
        """Return bounds of the loss beyond a coordinate of a left or right region.

        L = t + gap * (a value of A), as in `loss_range`. The gap, ln(1 + s/|x|) - t on the left
        and -t - ln(1 + s/(|x| - s)) on the right, moves monotonically to -t, and A rises from its
        value at the start to its limit. Where t = 0 and A has no limit, A(v + w) <= A(v) + K w
        and the gap is below s e^-u, which falls like e^-w: |L| <= s e^-u max(A, K)
        (proofs/dilated-divergences#6).
        """
        at = special.number(u)
        logs = region.logs(at)
        t = self.dilation
        first = self.law._ball_elasticity(special.minimum(logs.near, logs.far - t))
        limit = self.law._elasticity_limit()
        zero, infinity = special.number(0.0), special.infinity()
        # s / e^u is the shift over the distance from 0 on the left, from s on the right.
        share = self.shift * (-at).exp()
        if t == 0:
            if limit is None:
                steepest = self.law._elasticity_slope(logs.near)
                furthest = self.law._ball_elasticity(special.maximum(logs.near, logs.far))
                limit = special.maximum(furthest, steepest)
            most = special.upper(limit * share)
            return (zero, most) if _left(region) else (-most, zero)
        drift = share.log1p()
        gap = special.interval(-t, drift - t if _left(region) else -t - drift)
        if limit is None:
            # gap * A, A from its first value to infinity.
            if gap >= 0:
                return special.lower(t + gap * first), infinity
            return -infinity, special.upper(t + gap * first) if gap < 0 else infinity
        loss = t + gap * special.interval(first, limit)
        return special.lower(loss), special.upper(loss)


def _left(region: Region) -> bool:
    return isinstance(region, Left)
