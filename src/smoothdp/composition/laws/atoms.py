"""A law of finitely many losses: finite pairs, grid pairs, and quadrature points."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from smoothdp.composition.laws.law import (
    EXACT,
    BallTransform,
    Capped,
    LossLaw,
    Moments,
    Slack,
    TiltedSums,
)
from smoothdp.composition.laws.oscillation import oscillating_sums
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball, number
from smoothdp.exact.logspace.bounds import (
    LIBM_ERROR,
    LOG_ZERO,
    UNIT_ROUNDOFF,
    LogBounds,
    log_sum_lower,
    log_sum_upper,
)
from smoothdp.exact.parameters.numbers import Real
from smoothdp.types import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class AtomsLaw(LossLaw):
    """Masses e^log_masses at finite losses, and the mass at infinity.

    Attributes:
        log_masses, losses: arrays of one length; floats taken as exact.
        infinite: bounds of ln P(L = inf).
        distance: how far this is from the true law (`Slack`).

    Rounding, with u = 2^-53 and w the tilted weights. An exponent e = ln p + c l and its
    distance to the largest carry u (|c l| + |e| + |e - top|), exp LIBM_ERROR: r(atom). A
    pairwise sum of n positive terms carries (log2 n + 24) u. So ln of the sum is within
    R + (log2 n + 24) u + LIBM_ERROR |ln sum| + u |K|, R = sum w r; and the normalised
    weights change psi by at most 2 R + (log2 n + 26) u. Leaving out atoms of tilted mass d
    changes psi by at most 2 d. Positions l - m are rounded by u |l - m|.
    """

    log_masses: FloatArray
    losses: FloatArray
    infinite: LogBounds = LOG_ZERO
    distance: Slack = EXACT
    _cache: dict[float, tuple[FloatArray, Moments, float]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def largest(self) -> float:
        return float(self.losses.max(initial=-math.inf))

    @property
    def log_infinite(self) -> LogBounds:
        return self.infinite

    @property
    def slack(self) -> Slack:
        return self.distance

    @cached_property
    def _sum_error(self) -> float:
        return (math.log2(max(self.losses.size, 1)) + 26.0) * UNIT_ROUNDOFF

    def moments(self, tilt: float) -> Moments:
        return self._tilted(tilt)[1]

    def _tilted(self, tilt: float) -> tuple[FloatArray, Moments, float]:
        """Return normalised tilted weights, the moments, and the error of the weights."""
        known = self._cache.get(tilt)
        if known is not None:
            return known
        shift = tilt * self.losses
        exponents = self.log_masses + shift
        top = float(exponents.max())
        below = exponents - top
        weights = np.exp(below)
        total = float(np.sum(weights))
        weights /= total
        loose = float(weights @ np.abs(shift)) + float(weights @ np.abs(exponents))
        loose -= float(weights @ below)
        rounding = UNIT_ROUNDOFF * 1.01 * loose + LIBM_ERROR
        log_mgf = top + math.log(total)
        error = rounding + self._sum_error
        error += LIBM_ERROR * math.log(total) + 2 * UNIT_ROUNDOFF * abs(log_mgf)
        mean = float(weights @ self.losses)
        variance = float(weights @ (self.losses - mean) ** 2)
        result = weights, Moments(log_mgf, error, mean, variance), 2 * rounding + self._sum_error
        if len(self._cache) >= _MOST_CACHED:
            self._cache.clear()
        self._cache[tilt] = result
        return result

    @staticmethod
    def _kept(weights: FloatArray, budget: float) -> BoolArray:
        """Return which atoms are summed: the others have less than the budget together."""
        return np.asarray(weights > budget / (4 * weights.size))

    def cost(self, tilt: float, *, last: float, budget: float) -> int:
        del last
        return int(np.count_nonzero(self._kept(self._tilted(tilt)[0], budget)))

    def capped(self, loss: float) -> Capped | None:
        far = self.losses > loss
        if not far.any():
            return None
        masses, losses = self.log_masses[far], self.losses[far]
        lower, upper = self.infinite
        log_lost = -math.inf
        for log_mass, at in zip(masses.tolist(), losses.tolist(), strict=True):
            lower, upper = log_sum_lower(lower, log_mass), log_sum_upper(upper, log_mass)
            log_lost = log_sum_upper(log_lost, math.nextafter(log_mass - at, math.inf))
        infinite = LogBounds(min(0.0, lower), min(0.0, upper))
        law = AtomsLaw(self.log_masses[~far], self.losses[~far], infinite, self.distance)
        return Capped(law, log_lost)

    def transform(self, tilt: float, *, step: float, count: int, budget: float) -> TiltedSums:
        weights, moments, weight_error = self._tilted(tilt)
        keep = self._kept(weights, budget)
        kept, dropped = weights, 0.0
        losses = self.losses
        if not keep.all():
            kept, losses = weights[keep], losses[keep]
            dropped = 2.02 * float(np.sum(weights[~keep]))
        sums = oscillating_sums(kept, losses - moments.mean, step=step, count=count)
        constant = sums.constant + weight_error + dropped
        # The rounding of the positions doubles that of the angles.
        t = step * np.arange(count, dtype=np.float64)
        return TiltedSums(sums.values, constant + 2 * sums.slope * t, moments.mean)


_MOST_CACHED = 8


@dataclass(frozen=True, eq=False)
class TwoPointLaw(AtomsLaw):
    """The law of randomised response: as floats, and as the exact parameters it came from."""

    epsilon: Real = Fraction(0)
    delta: Fraction = Fraction(0)

    def ball_transform(self) -> BallTransform | None:
        return two_point_transform(self.epsilon, self.delta)


def atoms_transform(log_masses: FloatArray, losses: FloatArray) -> BallTransform:
    """Return the transform of masses e^log_masses at losses, floats taken as exact."""
    pairs = [
        (number(log_p), number(loss))
        for log_p, loss in zip(log_masses.tolist(), losses.tolist(), strict=True)
    ]

    def transform(z: Ball) -> Ball:
        total = number(0.0)
        for log_p, loss in pairs:
            total += (log_p + z * loss).exp()
        return total

    return transform


def two_point_transform(epsilon: Real, delta: Fraction) -> BallTransform:
    """Return the transform of losses +-epsilon with odds e^epsilon, total mass 1 - delta."""

    def transform(z: Ball) -> Ball:
        e = ball(epsilon)
        return ball(1 - delta) * ((z * e).exp() + (-(z + 1) * e).exp()) / (1 + (-e).exp())

    return transform
