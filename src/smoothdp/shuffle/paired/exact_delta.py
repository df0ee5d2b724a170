"""delta of a paired count, and of the design's honest users: one sum of positive parts.

With s(u) = p^2 s(u - 1) + w_u, which is p^(2u) times the sum of w_c p^(-2c) up to u,

    delta(epsilon) = (1 - p) sum over u of (w_u - (E - 1) p^2 s(u - 1))_+ ,   E = e^epsilon

in both directions, whatever the other users hold (proofs/paired-counts#3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.balls.balls import ball, enclose, precision
from smoothdp.exact.logspace.bounds import (
    LIBM_ERROR,
    UNIT_ROUNDOFF,
    LogBounds,
    exp_lower,
    exp_upper,
)
from smoothdp.exact.parameters.numbers import LogRatio, Real, sign
from smoothdp.shuffle.paired.clump_law import ClumpLaw, clump_law
from smoothdp.shuffle.paired.geometric_shares import log_complement
from smoothdp.types import FloatArray

DEPTHS = (60.0, 200.0, 600.0)
"""Mass of about e^-depth is left out: more only where delta is as small."""
ROOM = 25.0
"""How far delta must lie above what is left out."""
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class PairedCountProfile(PrivacyProfile):
    """One sign is replaced among the noise of h honest users with shares of shape 1 / h.

    Attributes:
        n_honest: h, the design's. noise_rate: rho, p = e^-rho.
        clump_probability, largest_clump: pi and k of the law of the pairs.
    """

    n_honest: int
    noise_rate: Fraction
    clump_probability: Fraction
    largest_clump: int

    @property
    def neighbours(self) -> Neighbours:
        """Replace-one: a user who leaves takes noise away, which is another matter."""
        return Neighbours.REPLACE_ONE

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta(epsilon)."""
        if sign(epsilon) == 0:
            # The sum of all w_u.
            return log_complement(self.noise_rate)
        return deep_enough(
            lambda law: log_delta_of(law, self.noise_rate, epsilon),
            self.n_honest,
            self.clump_probability,
            self.largest_clump,
        )


def deep_enough(
    bounds: Callable[[ClumpLaw], LogBounds], n_users: int, probability: Fraction, largest: int
) -> LogBounds:
    """Return bounds from the law of the pairs, of which so much is left out that it is no matter.

    >>> deep_enough(lambda law: LogBounds(-40.0, -40.0), 1, Fraction(1, 2), 1).upper
    -40.0
    """
    found = LogBounds(-math.inf, 0.0)
    for depth in DEPTHS:
        found = bounds(clump_law(n_users, probability, largest, depth=depth))
        if found.upper > ROOM - depth:
            break
    return found


def log_delta_of(law: ClumpLaw, rate: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln delta for a law of pairs, epsilon > 0.

    Masses beyond the law's last add at most themselves.

    >>> law = clump_law(1, Fraction(1, 2), 1, depth=60.0)
    >>> log_delta_of(law, Fraction(1, 2), Fraction(1)).linear()[1].__round__(12)
    0.269109310655
    """
    sums, error = decayed_sums(law, rate)
    before = np.concatenate([[0.0], sums[:-1]])
    with precision(192):
        excess = ball(epsilon.ratio - 1) if isinstance(epsilon, LogRatio) else ball(epsilon).expm1()
        factor = enclose(excess.log() - 2 * ball(rate))
    low, high = exp_lower(factor.lower), min(exp_upper(factor.upper), _LARGEST)
    # The products and the difference add their own roundings.
    slip = error + 4 * UNIT_ROUNDOFF
    least = law.masses * (1 - slip) - high * (1 + slip) * before
    most = law.masses * (1 + slip) - low * (1 - slip) * before
    roundings = (law.masses.size + 8) * UNIT_ROUNDOFF
    lower = float(np.maximum(least, 0.0).sum()) * (1 - roundings)
    upper = (float(np.maximum(most, 0.0).sum()) + law.outside) * (1 + roundings)
    scale = log_complement(rate)
    return log_of_bounds(lower, upper).shifted(scale)


def log_of_bounds(lower: float, upper: float) -> LogBounds:
    """Return the logarithms of floats around a truth, rounded outwards.

    >>> log_of_bounds(0.0, 1.0).lower
    -inf
    """
    low = high = -math.inf
    if lower > 0.0:
        low = math.log(lower)
        low -= LIBM_ERROR * (abs(low) + 1.0)
    if upper > 0.0:
        high = math.log(upper)
        high += LIBM_ERROR * (abs(high) + 1.0)
    return LogBounds(low, high)


def decayed_sums(law: ClumpLaw, rate: Fraction) -> tuple[FloatArray, float]:
    """Return s(u) = p^2 s(u - 1) + w_u and the relative error of each.

    A step has two roundings and that of p^2.
    """
    return _decayed(law.masses.tobytes(), float(-2 * rate), law.error)


@lru_cache(maxsize=16)
def _decayed(masses: bytes, log_square: float, error: float) -> tuple[FloatArray, float]:
    values = np.frombuffer(masses, dtype=np.float64)
    square, total = math.exp(log_square), 0.0
    sums = np.empty_like(values)
    for u, mass in enumerate(values.tolist()):
        total = square * total + mass
        sums[u] = total
    # exp within 4 units, of a rounded argument.
    step = UNIT_ROUNDOFF * (10.0 + 2.0 * abs(log_square))
    return sums, error + 1.01 * values.size * step
