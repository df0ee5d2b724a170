"""Many independent losses: moments of their sum, and the tilt that suits an epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from smoothdp.composition.laws.law import (
    GaussianLaw,
    LossLaw,
    Moments,
    Slack,
    chernoff_constant,
)
from smoothdp.exact.balls.balls import real_bounds
from smoothdp.exact.logspace.bounds import (
    LIBM_ERROR,
    LOG_ONE,
    LOG_ZERO,
    UNIT_ROUNDOFF,
    LogBounds,
    log_sum_upper,
)

_SMALL = -23.0  # e^-23 = 1e-10


def log_any_infinite(parts: Sequence[tuple[LogBounds, int]]) -> LogBounds:
    """Bound ln of 1 - product of (1 - p)^count, each p given by bounds of its logarithm.

    With s = sum of -count ln(1 - p) this is 1 - e^-s. Where all p are small the sum is
    kept as a logarithm: sum p (1 - sum p / 2) <= 1 - e^-s <= sum p.

    >>> bounds = log_any_infinite([(LogBounds(-5000.0, -5000.0), 10)])
    >>> bounds.lower <= -5000 + math.log(10) <= bounds.upper
    True
    """
    lower = _side([(bounds.lower, count) for bounds, count in parts], direction=-1)
    upper = _side([(bounds.upper, count) for bounds, count in parts], direction=1)
    return LogBounds(min(lower, upper), upper)


def _side(parts: Sequence[tuple[float, int]], *, direction: int) -> float:
    terms = [(log_p, count) for log_p, count in parts if log_p > -math.inf]
    if not terms:
        return LOG_ZERO.upper
    if any(log_p >= 0.0 for log_p, _ in terms):
        return LOG_ONE.upper
    logs = [log_p + math.log(count) for log_p, count in terms]
    top = max(logs)
    log_sum = top + math.log(math.fsum(math.exp(value - top) for value in logs))
    slip = 8 * LIBM_ERROR * (1 + abs(log_sum) + max(abs(value) for value in logs))
    if log_sum < _SMALL:
        return log_sum + slip if direction > 0 else log_sum - slip - math.exp(log_sum)
    # Of a p above 0.9, 1 - p is formed as -expm1(ln p). Below, an error of p counts at most 4.
    total = math.fsum(
        -count * (math.log(-math.expm1(log_p)) if log_p > -0.1 else math.log1p(-math.exp(log_p)))
        for log_p, count in terms
    )
    total *= 1 + direction * 32 * LIBM_ERROR
    value = math.log(-math.expm1(-total))
    # d ln(1 - e^-s) / d ln s is at most 1.
    return min(0.0, value + direction * (8 * LIBM_ERROR * (1 + abs(value))))


_LARGEST_TILT = 1e9
_LEAST_TILT = 1e-9
_MOST_CACHED = 1024
_MOST_POWERS = 50
# Laws are normalised to within this, and more.
_NORMALISED = 1e-8


@dataclass(frozen=True, eq=False)
class Product:
    """Laws with their counts; all Gaussians are one normal law, of exact variance."""

    parts: tuple[tuple[LossLaw, int], ...]
    gaussian: Fraction
    _moments: dict[float, Moments] = field(default_factory=dict, repr=False)
    _powers: dict[str, int] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, laws: Iterable[tuple[LossLaw | GaussianLaw, int]]) -> Product:
        """Merge equal laws and sum the Gaussians."""
        merged: dict[int, tuple[LossLaw, int]] = {}
        variance = Fraction(0)
        for law, count in laws:
            if isinstance(law, GaussianLaw):
                variance += law.variance * count
            else:
                before = merged.get(id(law), (law, 0))[1]
                merged[id(law)] = (law, before + count)
        return cls(tuple(merged.values()), variance)

    @cached_property
    def variance_bounds(self) -> tuple[float, float]:
        """Floats around the variance of the normal part."""
        low, high = real_bounds(self.gaussian)
        return low, high

    @cached_property
    def largest(self) -> float:
        """A float not below any finite total loss."""
        if any(law.largest == -math.inf for law, _ in self.parts):
            # A law without finite losses: no finite total either.
            return -math.inf
        if self.gaussian:
            return math.inf
        total = math.fsum(count * law.largest for law, count in self.parts)
        size = math.fsum(abs(count * law.largest) for law, count in self.parts)
        return total + 4 * UNIT_ROUNDOFF * size if math.isfinite(size) else math.inf

    @cached_property
    def log_infinite(self) -> LogBounds:
        """Bounds of ln P(some loss is inf)."""
        return log_any_infinite([(law.log_infinite, count) for law, count in self.parts])

    def capped(self, loss: float) -> tuple[Product, float] | None:
        """Return the product with the losses of its laws beyond a point made infinite, and a
        float not below ln of what that adds to E_Q[...]: delta(e) is above the true one by at
        most e^e times it. None if there are no such losses.

        An atom of masses p and q counts (p - E q), and p once it is infinite: its E q, times
        what the other laws have of mass under Q, 1 but for rounding.
        """
        log_lost, n_laws = -math.inf, 0
        parts: list[tuple[LossLaw | GaussianLaw, int]] = [(GaussianLaw(self.gaussian), 1)]
        for law, count in self.parts:
            capped = law.capped(loss)
            parts.append((law if capped is None else capped.law, count))
            n_laws += count
            if capped is not None:
                log_lost = log_sum_upper(log_lost, capped.log_lost + math.log(count) + 1e-12)
        if log_lost == -math.inf:
            return None
        return Product.of(parts), log_lost + _NORMALISED * n_laws

    @cached_property
    def slack(self) -> Slack:
        """The sum of the distances of the laws from the true ones, rounded up."""
        mass = math.fsum(count * law.slack.mass for law, count in self.parts)
        loss = math.fsum(count * law.slack.loss for law, count in self.parts)
        return Slack(mass * (1 + 1e-12), loss * (1 + 1e-12))

    def moments(self, tilt: float) -> Moments:
        """Return ln of the moment generating function of the sum at a tilt, and the rest."""
        moments = self._moments.get(tilt)
        if moments is None:
            if len(self._moments) >= _MOST_CACHED:
                self._moments.clear()
            moments = self._moments[tilt] = self._summed(tilt)
        return moments

    def _summed(self, tilt: float) -> Moments:
        variance = self.variance_bounds[1]
        values = [0.5 * variance * tilt * (tilt + 1)]
        error = 6 * UNIT_ROUNDOFF * values[0]
        means, spreads = [variance * (tilt + 0.5)], [variance]
        for law, count in self.parts:
            part = law.moments(tilt)
            values.append(count * part.log_mgf)
            error += count * part.error + 2 * UNIT_ROUNDOFF * abs(values[-1])
            means.append(count * part.mean)
            spreads.append(count * part.variance)
        total = math.fsum(values)
        error = error * 1.0001 + 2 * UNIT_ROUNDOFF * abs(total)
        return Moments(total, error, math.fsum(means), math.fsum(spreads))

    def cost(self, tilt: float, *, last: float, budget: float) -> int:
        """Return how many atoms a node of the contour costs."""
        share = budget / max(1, sum(count for _, count in self.parts))
        return 1 + sum(law.cost(tilt, last=last, budget=share) for law, _ in self.parts)

    def log_decay(self, tilt: float, last: float) -> float:
        """Return a bound of ln |prod psi_j(t)^k_j| over t >= last, the normal part left out."""
        total = 0.0
        for law, count in self.parts:
            bound = law.decay(tilt, last)
            if bound == 0:
                return -math.inf
            if bound < 1:
                total += count * math.log(bound)
        return total

    @cached_property
    def largest_tilt(self) -> float:
        """The largest tilt that all laws take."""
        return min((law.largest_tilt for law, _ in self.parts), default=_LARGEST_TILT)

    def saddle(self, epsilon: float, *, start: float = 1.0) -> float:
        """Return about the c > 0 that minimises K(c) - c epsilon - ln c(c + 1).

        It is the largest c of 7 bits at which the slope K'(c) - epsilon - 1/c - 1/(c+1), which
        increases, is not above 0: whatever the start. Newton steps in ln c come close.
        """
        low, high = 0.0, self.largest_tilt
        tilt = short_tilt(min(start, 0.98 * high))
        following = tilt_at(tilt_rank(tilt) + 1)
        if following <= high and self._slope(tilt, epsilon) <= 0 < self._slope(following, epsilon):
            return tilt
        for _ in range(60):
            slope = self._slope(tilt, epsilon)
            if slope > 0:
                high = tilt
            else:
                low = tilt
            curve = self.moments(tilt).variance + tilt**-2 + (tilt + 1) ** -2
            move = -slope / (curve * tilt)
            following = tilt * math.exp(max(-4.0, min(4.0, move)))
            if not low < following < high:
                # The limit itself is never passed; a root beyond it ends just below.
                following = math.sqrt(low * high) if low > 0 else high / 16
            rounded = short_tilt(following)
            if rounded == tilt or abs(move) < 0.01:
                tilt = rounded
                break
            tilt = rounded
        return self._last_below(tilt, epsilon)

    def _last_below(self, tilt: float, epsilon: float) -> float:
        """Return the largest c of 7 bits at which the slope is not above 0, from one close by."""

        def above(rank: int) -> bool:
            candidate = tilt_at(rank)
            return candidate > self.largest_tilt or self._slope(candidate, epsilon) > 0

        least = tilt_rank(_LEAST_TILT)
        low = tilt_rank(tilt)
        step = 1
        if above(low):
            high = low
            while low > least and above(low):
                low, high, step = max(least, low - step), low, 2 * step
        else:
            high = low + 1
            while not above(high):
                low, high, step = high, high + step, 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if above(middle) else (middle, high)
        return tilt_at(low)

    def _slope(self, tilt: float, epsilon: float) -> float:
        return self.moments(tilt).mean - epsilon - 1 / tilt - 1 / (tilt + 1)

    def natural(self, tilt: float) -> float:
        """Return the epsilon whose saddle the tilt is, about."""
        return self.moments(tilt).mean - 1 / tilt - 1 / (tilt + 1)

    def log_chernoff(self, epsilon: float, tilt: float) -> float:
        """Return a float not below ln E[(1 - e^(epsilon - S))_+; S finite], by Markov."""
        moments = self.moments(tilt)
        size = abs(moments.log_mgf) + 2 * tilt * abs(epsilon) + tilt + 2
        value = moments.log_mgf - tilt * epsilon + chernoff_constant(tilt)
        return value + moments.error + 8 * UNIT_ROUNDOFF * size

    def log_chernoff_least(self, epsilon: float, *, enough: float = -math.inf) -> float:
        """Return the least of `log_chernoff` at powers of sqrt 2, which all epsilons share.

        It is convex in the tilt, as ln kappa is, too: downhill from where the last one ended. One
        that is not above ``enough`` need not be the least.
        """

        def at(power: int) -> float:
            tilt = short_tilt(2.0 ** (power / 2))
            if tilt > self.largest_tilt:
                return math.inf
            return self.log_chernoff(epsilon, tilt)

        power = self._powers.get("least", 4)
        best = at(power)
        for way in (1, -1):
            start = power
            while best > enough and abs(power) < _MOST_POWERS and (found := at(power + way)) < best:
                best, power = found, power + way
            if power != start:
                break
        self._powers["least"] = power
        return best


def short_tilt(tilt: float) -> float:
    """Return a float close by with a mantissa of 7 bits: tilts repeat, and are exact."""
    mantissa, exponent = math.frexp(min(max(tilt, _LEAST_TILT), _LARGEST_TILT))
    return math.ldexp(round(mantissa * 128) / 128, exponent)


def tilt_rank(tilt: float) -> int:
    """Return the rank of a float of 7 bits among all of them, larger for larger ones."""
    mantissa, exponent = math.frexp(tilt)
    return 64 * exponent + round(mantissa * 128) - 64


def tilt_at(rank: int) -> float:
    """Return the float of 7 bits of a rank.

    >>> tilt_at(tilt_rank(0.75) + 1)
    0.7578125
    """
    exponent, digits = divmod(rank, 64)
    return math.ldexp((64 + digits) / 128, exponent)
