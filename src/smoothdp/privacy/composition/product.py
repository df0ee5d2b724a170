"""Many independent losses: moments of their sum, and the tilt that suits an epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from smoothdp.exact.balls import real_bounds
from smoothdp.exact.logspace import UNIT_ROUNDOFF, LogBounds
from smoothdp.privacy.composition.infinite import log_any_infinite
from smoothdp.privacy.composition.laws import (
    GaussianLaw,
    LossLaw,
    Moments,
    Slack,
    chernoff_constant,
)

_LARGEST_TILT = 1e9


@dataclass(frozen=True, eq=False)
class Product:
    """Laws with their counts; all Gaussians are one normal law, of exact variance."""

    parts: tuple[tuple[LossLaw, int], ...]
    gaussian: Fraction

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

    @cached_property
    def slack(self) -> Slack:
        """The sum of the distances of the laws from the true ones, rounded up."""
        mass = math.fsum(count * law.slack.mass for law, count in self.parts)
        loss = math.fsum(count * law.slack.loss for law, count in self.parts)
        return Slack(mass * (1 + 1e-12), loss * (1 + 1e-12))

    def moments(self, tilt: float) -> Moments:
        """Return ln of the moment generating function of the sum at a tilt, and the rest."""
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

    def decays(self, tilt: float) -> list[tuple[float, float, int]]:
        """Return (a, v, count) of the laws whose transform decays (see `LossLaw.decay`)."""
        found = [(*law.decay(tilt), count) for law, count in self.parts]
        return [(share, variation, count) for share, variation, count in found if share < 1]

    @cached_property
    def largest_tilt(self) -> float:
        """The largest tilt that all laws take."""
        return min((law.largest_tilt for law, _ in self.parts), default=_LARGEST_TILT)

    def saddle(self, epsilon: float, *, start: float = 1.0) -> float:
        """Return about the c > 0 that minimises K(c) - c epsilon - ln c(c + 1), of 7 bits.

        The slope K'(c) - epsilon - 1/c - 1/(c+1) increases; bracketed Newton steps in ln c.
        """
        low, high = 0.0, self.largest_tilt
        tilt = short_tilt(min(start, 0.98 * high))
        for _ in range(60):
            moments = self.moments(tilt)
            slope = moments.mean - epsilon - 1 / tilt - 1 / (tilt + 1)
            if slope > 0:
                high = tilt
            else:
                low = tilt
            curve = moments.variance + tilt**-2 + (tilt + 1) ** -2
            move = -slope / (curve * tilt)
            following = tilt * math.exp(max(-4.0, min(4.0, move)))
            if not low < following < high:
                # The limit itself is never passed; a root beyond it ends just below.
                following = math.sqrt(low * high) if low > 0 else high / 16
            rounded = short_tilt(following)
            if rounded == tilt or abs(move) < 0.01:
                return rounded
            tilt = rounded
        return tilt

    def log_chernoff(self, epsilon: float, tilt: float) -> float:
        """Return a float not below ln E[(1 - e^(epsilon - S))_+; S finite], by Markov."""
        moments = self.moments(tilt)
        size = abs(moments.log_mgf) + 2 * tilt * abs(epsilon) + tilt + 2
        value = moments.log_mgf - tilt * epsilon + chernoff_constant(tilt)
        return value + moments.error + 8 * UNIT_ROUNDOFF * size


def short_tilt(tilt: float) -> float:
    """Return a float close by with a mantissa of 7 bits: tilts repeat, and are exact."""
    mantissa, exponent = math.frexp(min(max(tilt, 1e-9), _LARGEST_TILT))
    return math.ldexp(round(mantissa * 128) / 128, exponent)
