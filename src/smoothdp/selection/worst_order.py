"""From below: what a score costs that puts the outputs in a bad order.

Let B = {R > e^-l} and A = {R > E_A} in it be events of the likelihood ratio R of what is run. The
score is lowest on B less A, then A, then the rest; the event that the best run is in A has, with
u = P(B) - P(A), v = Q(B) and E_A = E f'(v) / f'(u), at least f'(u) D(E_A) more under P than E
times under Q (proofs/repeat-and-select#5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.exact.balls.balls import real_bounds
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF, exp_lower, exp_upper
from smoothdp.exact.parameters.numbers import Real
from smoothdp.selection.chords import Chords
from smoothdp.selection.counts import RunCount
from smoothdp.types import FloatArray

# Masses 1 - Q(B) that are tried, in units of 1 / steepness.
_TRIED = np.geomspace(1 / 64, 64.0, 13)
_STEPS = (1e-2, 1e-3, 1e-4)
_WORST_LOSS = 600.0
_ROUND = 64 * UNIT_ROUNDOFF


@dataclass(frozen=True, eq=False)
class WorstOrder:
    """Events B, each by masses outside of it: not above the truth under Q, not below under P.

    Attributes:
        losses: l, of B = {R > e^-l}.
        p_outside, q_outside: floats above P(not B), and below Q(not B).
    """

    base: Chords
    count: RunCount
    losses: FloatArray
    p_outside: FloatArray
    q_outside: FloatArray

    @classmethod
    def of(cls, base: Chords, profile: PrivacyProfile, count: RunCount) -> WorstOrder:
        """Return the events for a profile; the whole space is one of them."""
        rows = [(math.inf, 0.0, 0.0)]
        for loss in _tried(base, count):
            mass = _beyond(profile, loss)
            if mass is not None:
                rows.append((loss, *mass))
        return cls(base, count, *(np.array(column) for column in zip(*rows, strict=True)))

    def log_lower(self, profile: PrivacyProfile, epsilon: Real) -> float:
        """Return a float not above ln of the largest of these excesses, for epsilon >= 0."""
        at = real_bounds(epsilon).upper
        low = self._logs(self.q_outside, up=True)
        # A with the smallest E_A has the largest mass: an upper bound of P(A).
        first = at + low - self._logs(self.p_outside, up=True)
        mass = self._mass(first)
        high = self._logs(np.minimum(self.p_outside + mass, 1.0), up=False)
        asked = at + low - high
        asked += _ROUND * (1 + np.abs(np.where(np.isfinite(asked), asked, 0.0)))
        good = np.isfinite(asked) & (asked >= -self.losses)
        if not good.any():
            return -math.inf
        found = np.where(good, high + self.base.log_upper(np.where(good, asked, 0.0)), -math.inf)
        best = int(np.argmax(found))
        if found[best] == -math.inf:
            return -math.inf
        log_d = profile.log_delta_bounds(Fraction(max(0.0, float(asked[best])))).lower
        value = self.count.log_mean.lower + float(high[best]) + log_d
        return value - _ROUND * (1 + abs(value)) if math.isfinite(value) else -math.inf

    def _logs(self, outside: FloatArray, *, up: bool) -> FloatArray:
        values, error = self.count.log_weights(np.clip(outside, 0.0, 1.0))
        return values + error if up else values - error

    def _mass(self, losses: FloatArray) -> FloatArray:
        """Return floats not below P(R > e^loss): D(E') / (1 - E' / E) for every E' < E."""
        found = np.ones(losses.size)
        for step in np.geomspace(1e-3, 1.0, 7):
            bound = np.exp(self.base.log_upper(losses - step)) / -math.expm1(-step)
            found = np.minimum(found, bound * (1 + _ROUND))
        return found


def _tried(base: Chords, count: RunCount) -> list[float]:
    """Return losses l >= 0 beyond which Q has about the masses that are tried."""
    _, _, tails = base.lines
    losses = np.log(base.lines.growths)
    wanted = _TRIED / max(count.steepness, 1e-9)
    places = np.searchsorted(-tails, -wanted[wanted < 1.0])
    chosen = losses[np.minimum(places, losses.size - 1)]
    return sorted({float(x) for x in chosen if 0 <= x < _WORST_LOSS})


def _beyond(profile: PrivacyProfile, loss: float) -> tuple[float, float] | None:
    """Return a float above s = Q(R > e^l), and one below P(R > e^l) = D(e^l) + e^l s.

    By the symmetry of the profile they are P(R < e^-l) and Q(R < e^-l). The slopes of the chords
    on both sides of E = e^l are around -s.
    """
    here = profile.log_delta_bounds(Fraction(loss))
    growth_low, growth_high = _growths(loss)
    low, high = 0.0, 1.0
    for share in _STEPS:
        step = share * max(loss, 0.05)
        after = profile.log_delta_bounds(Fraction(loss + step))
        fall = exp_lower(here.lower) - exp_upper(after.upper)
        low = max(low, fall / (_growths(loss + step)[1] - growth_low) * (1 - _ROUND))
        if loss > step:
            before = profile.log_delta_bounds(Fraction(loss - step))
            fall = exp_upper(before.upper) - exp_lower(here.lower)
            high = min(high, fall / (growth_low - _growths(loss - step)[1]) * (1 + _ROUND))
    if low > high:
        return None
    return high, max(0.0, exp_lower(here.lower) + growth_low * low) * (1 - _ROUND)


def _growths(loss: float) -> tuple[float, float]:
    value = math.exp(loss)
    return value * (1 - _ROUND), value * (1 + _ROUND)
