"""The privacy profile of a release with noise scaled to smooth sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.domains import read_delta
from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bisection import narrowed
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.calibration.approximate.delta_cover import (
    covered,
    log_delta_at_ends,
    log_delta_bounds,
)

_TOLERANCE = 0.01
_FIRST_STEP = 1e-5
_LARGEST = 2.0**40


@dataclass(frozen=True)
class SmoothProfile(PrivacyProfile):
    """delta(epsilon) of (S / s) Z for every S that is smooth with ``smoothing``.

    The lower side is the hockey stick at the ends of [0, t]; the upper one a cover of all
    dilations (proofs/zcdp-certificates#10), about 1% above. One epsilon takes some tenths of a
    second; they are kept.

    >>> from smoothdp.noise import StudentT
    >>> law, about = StudentT(3), Neighbours.REPLACE_ONE
    >>> profile = SmoothProfile(law, Fraction(7, 10), Fraction(1, 10), about)
    >>> 0.081 < profile.delta("1/2") < 0.082
    True
    """

    law: AbstractLaw
    shift: Fraction
    smoothing: Fraction
    about: Neighbours

    @property
    def neighbours(self) -> Neighbours:
        return self.about

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        return _bounds(self.law, self.shift, self.smoothing, epsilon)

    def epsilon_bounds(self, delta: Parameter) -> tuple[float, float]:
        """Return floats around the epsilon that belongs to delta, about 1e-5 apart."""
        return _epsilon_bounds(self.law, self.shift, self.smoothing, read_delta(delta))


@lru_cache(maxsize=4096)
def _bounds(law: AbstractLaw, shift: Fraction, smoothing: Fraction, epsilon: Real) -> LogBounds:
    return log_delta_bounds(law, shift, smoothing, epsilon, _TOLERANCE)


@lru_cache(maxsize=256)
def _epsilon_bounds(
    law: AbstractLaw, shift: Fraction, smoothing: Fraction, delta: Fraction
) -> tuple[float, float]:
    goal = log_bounds(delta) if delta else LogBounds(-math.inf, -math.inf)

    def possible(epsilon: float) -> bool:
        bounds = log_delta_at_ends(law, shift, smoothing, Fraction(epsilon))
        return bounds.lower <= goal.upper

    if possible(0.0):
        low = high = 0.0
    else:
        low, high = 0.0, 1.0
        while not possible(high):
            low, high = high, high * 2
            if high > _LARGEST:
                return low, math.inf
        low, high = narrowed(possible, low, high, relative=1e-7)
    if high == 0.0 and covered(law, shift, smoothing, Fraction(0), goal.lower) is not None:
        return 0.0, 0.0
    step = _FIRST_STEP * max(high, 1e-3)
    while high + step < _LARGEST:
        if covered(law, shift, smoothing, Fraction(high + step), goal.lower) is not None:
            return low, high + step
        step *= 3
    return low, math.inf
