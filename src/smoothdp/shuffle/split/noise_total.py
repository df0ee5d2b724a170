"""The noise of all users together: A - B, independent NB(a, p) with p = e^-rate.

P_d = P(A - B = d) is symmetric, and its generating function ((1 - p z)(1 - p / z))^-a has a
logarithmic derivative that is rational. So neighbouring probabilities satisfy

    (1 + p^2) d P_d = p (d - 1 + a) P_(d-1) + p (d + 1 - a) P_(d+1),    d >= 1,

and the ratios x_d = P_(d+1) / P_d follow from each other downwards, where errors shrink. They are
carried as brackets, from p min(1, (d+a)/(d+1)) <= x_d <= p max(1, (d+a)/(d+1)) at the far end
(proofs/split-sums#6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smoothdp.exact.balls.balls import (
    ball,
    enclose,
    exp_bounds,
    log_bounds,
    precision,
    round_down,
    round_up,
)
from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.logspace.bounds import LogBounds, exp_lower
from smoothdp.types import FloatArray

_LONGEST = 1 << 22
"""Laws with more points are bounded by exponential moments, not summed."""
_ULP = 2.0**-52
_STEP = 8 * _ULP
_SUM = 1e-12
# Products below are not followed: what they are rounded to is within this much.
_TINY = 1e-290
_SHARE_BEYOND = 1e-6
_TILTS = (1.0 - np.arange(1, 400) / 400) ** 4


def log_discrete_laplace_tail(reach: int, rate: Fraction) -> LogBounds:
    """Return bounds of ln P(|A - B| > reach) for a = 1: 2 p^(reach + 1) / (1 + p)."""
    with precision(128):
        share = (2 / (1 + (-ball(rate)).exp())).log()
        return enclose(share - ball(rate * (reach + 1)))


def laplace_excess(shift: int, rate: Fraction, threshold: Fraction) -> float:
    """Return the hockey stick of A - B against A - B + shift at e^threshold for a = 1, rounded up.

    sum over d > -shift / 2 of (P_d - e^c P_(d + shift))_+ in closed form; it bounds all smaller
    shifts too (proofs/split-sums#5).
    """
    if threshold < 0:
        # (P - e^c Q)_+ and (Q - e^-c P)_+ differ by a constant; the law is symmetric.
        mirrored = laplace_excess(shift, rate, -threshold)
        return _mirrored(mirrored, threshold)
    return min(1.0, laplace_excess_bounds(shift, rate, threshold)[1])


def laplace_excess_bounds(shift: int, rate: Fraction, threshold: Fraction) -> tuple[float, float]:
    """Return floats around the same for a threshold >= 0."""
    span = shift * rate
    # P_-v exceeds e^c P_(shift - v) for v below (shift - c / rate) / 2.
    last = max(0, math.ceil((shift - threshold / rate) / 2) - 1)
    with precision(128):
        ratio, growth = (-ball(rate)).exp(), ball(threshold).exp()
        total = ball(0)
        if threshold < span:
            total = 1 - ball(threshold - span).exp()
        missing = 1 - ratio**last
        total += ratio * missing - growth * ball(-rate * (shift - last)).exp() * missing
        total /= 1 + ratio
        return max(0.0, round_down(total)), max(0.0, round_up(total))


def _mirrored(excess: float, threshold: Fraction) -> float:
    with precision(128):
        growth = ball(threshold).exp()
        return min(1.0, round_up(1 - growth + growth * ball(Fraction(excess))))


@dataclass(frozen=True)
class NoiseTotal:
    """A - B for a shape a > 0 and a rate > 0.

    Attributes:
        shape: a, users present over users the noise is made for.
        rate: -ln p.
    """

    shape: Fraction
    rate: Fraction

    def log_tail(self, reach: int) -> float:
        """Return a float not below ln P(|A - B| > reach), by exponential moments.

        P(D >= t) <= ((1-p)^2 / ((1 - p e^s)(1 - p e^-s)))^a e^(-s t) for 0 < s < rate, here at
        many s: those near the rate are good far out.
        """
        if self.shape == 1:
            return log_discrete_laplace_tail(reach, self.rate).upper
        shape, rate = float(self.shape), float(self.rate)
        gap = rate * _TILTS
        tilt = rate - gap
        moment = 2 * math.log(-math.expm1(-rate))
        moments = moment - np.log(-np.expm1(-gap)) - np.log(-np.expm1(-tilt - rate))
        values = shape * moments - tilt * (reach + 1)
        # The gap is right to a few units of the rate.
        slack = 8 * _ULP * shape * rate / gap + 1e-13 * (1 + shape * (np.abs(moments) + 100))
        values += slack + 1e-13 * tilt * (reach + 1)
        return min(0.0, float(values.min()) + math.log(2.0) + 1e-15)

    def quantiles(self, failures: Sequence[Fraction]) -> list[int]:
        """Return numbers that |A - B| exceeds with at most these probabilities.

        Nearly the least ones where the law is not too long to be summed.
        """
        crude = [self.chernoff_reach(failure) for failure in failures]
        least = log_bounds(min(failures)).lower
        too_long = self.shape == 1 or max(crude) > _LONGEST
        if too_long or least < math.log(_TINY / _SHARE_BEYOND):
            return crude
        try:
            law = self.law(exp_lower(least) * _SHARE_BEYOND)
        except OverflowError:
            return crude
        # Place d: P(|A - B| >= d), which falls with d.
        tails = 2 * (np.cumsum(law.upper[::-1])[::-1] * (1 + _SUM) + law.beyond)
        found = []
        for failure, limit in zip(failures, crude, strict=True):
            place = int(np.count_nonzero(tails > exp_lower(log_bounds(failure).lower)))
            found.append(min(limit, place - 1 if place < tails.size else limit))
        return found

    def chernoff_reach(self, failure: Fraction) -> int:
        """Return a number that |A - B| exceeds with at most this probability, by `log_tail`."""
        goal = log_bounds(failure).lower
        return _first(lambda reach: self.log_tail(reach) <= goal)

    def law(self, beyond: float, *, at_least: int = 2) -> HalfLaw:
        """Return brackets of P_d from d = 0 to where at most about ``beyond`` is left.

        Raises:
            OverflowError: the law is too long.
        """
        goal = math.log(beyond)
        size = max(at_least, _first(lambda reach: self.log_tail(reach) <= goal))
        if size > _LONGEST:
            raise OverflowError("a law of too many points")
        highs, lows, last = self._ratios(size)
        # Weights relative to P_0.
        upper = np.cumprod(highs * (1 + _STEP)) + _TINY
        lower = np.maximum(np.cumprod(lows * (1 - _STEP)) - _TINY, 0.0)
        tail = float(upper[-1]) * last / (1 - last)
        most = 1 + 2 * (float(upper.sum()) * (1 + _SUM) + tail)
        least = 1 + 2 * float(lower.sum()) * (1 - _SUM)
        return HalfLaw(
            upper=np.concatenate([[1.0], upper]) / least * (1 + _STEP),
            lower=np.concatenate([[1.0], lower]) / most * (1 - _STEP),
            beyond=tail / least * (1 + _STEP),
        )

    def _ratios(self, size: int) -> tuple[FloatArray, FloatArray, float]:
        """Return brackets of x_d for d = 0, ..., size - 1, and a bound of x_d for d >= size."""
        a = float(self.shape)
        p = exp_bounds(-self.rate).upper
        square = 1 + p * p
        edge = (size + a) / (size + 1)
        low, high = p * min(1.0, edge) * (1 - _STEP), p * max(1.0, edge) * (1 + _STEP)
        last, lows, highs = high, [0.0] * size, [0.0] * size
        if last >= 1:
            raise OverflowError("a law of too many points")
        for d in range(size, 0, -1):
            first, rest, whole = p * (d - 1 + a), p * (d + 1 - a), square * d
            if rest < 0.0:
                low, high = high, low
            over, under = whole - rest * low, whole - rest * high
            # p, a and each operation err by a unit of the parts that are subtracted.
            slack = _STEP * (1 + (whole + (d + 1 + a) * max(low, high)) / under)
            low, high = first / over * (1 - slack), first / under * (1 + slack)
            lows[d - 1], highs[d - 1] = low, high
        return np.array(highs), np.array(lows), last

    @property
    def variance(self) -> Fraction:
        """2 a p / (1 - p)^2, rounded up."""
        with precision(128):
            ratio = (-ball(self.rate)).exp()
            return self.shape * Fraction(round_up(2 * ratio / (1 - ratio) ** 2))


@dataclass(frozen=True)
class HalfLaw:
    """Brackets of P_d, d = 0, 1, ..., and what is left beyond on one side at most."""

    upper: FloatArray
    lower: FloatArray
    beyond: float

    def excess(self, shift: int, threshold: Fraction) -> float:
        """Return the hockey stick against the law moved by ``shift`` at e^threshold, rounded up.

        For a shift shorter than the law, which is unimodal: so the largest shift is the worst,
        and only d > -shift / 2 count (proofs/split-sums#5).
        """
        if threshold < 0:
            return _mirrored(self.excess(shift, -threshold), threshold)
        size = self.upper.size
        places = np.arange(-((shift - 1) // 2), size)
        moved = np.zeros(places.size)
        moved[: size - shift - int(places[0])] = self.lower[shift + int(places[0]) :]
        near = self.upper[np.abs(places)]
        total = float(np.maximum(near - exp_bounds(threshold).lower * moved, 0.0).sum())
        return min(1.0, total * (1 + _SUM) + self.beyond)


def _first(holds: Callable[[int], bool]) -> int:
    """Return the least whole number >= 0 at which a monotone claim holds."""
    high = 1
    while not holds(high):
        high *= 2
    return least_integer(holds, 0, high)
