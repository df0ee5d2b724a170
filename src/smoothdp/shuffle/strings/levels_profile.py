"""What L levels of histograms together tell about one user, and the least noise for it.

Whatever the earlier levels showed, a level is dominated by the exchange pair at gamma, in which one
user moves from one bin to another. So all levels are dominated by its L-fold product
(proofs/honest-users#6), which `smoothdp.composition` bounds, rounded up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.neighbours import Neighbours
from smoothdp.composition import compose
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real, exact_fraction
from smoothdp.shuffle.accounting.exchange_profile import ExchangeProfile
from smoothdp.shuffle.histogram.calibration import smallest_omission
from smoothdp.shuffle.histogram.histogram import log_exchange_delta
from smoothdp.shuffle.users.honest_share import least_honest

_HALF = Fraction(1, 2)
_FIRST_HIGH = 0.9
_GROWTH = 1.15
# Of ln delta: what the float that is printed may lose, and how far below the goal is near enough.
_MARGIN = 1e-9
_CLOSE = 0.006


def levels_profile(n_honest: int, gamma: Fraction, n_levels: int) -> PrivacyProfile:
    """Return the profile of so many levels without envelopes, rounded up.

    Its lower end is that of one level, whose pair is attained: that of all levels dominates, and
    no run need attain it.

    >>> one = levels_profile(1000, Fraction(1, 10), 1)
    >>> one.delta(1) == ExchangeProfile(1000, Fraction(1, 10), 2).delta(1)
    True
    """
    level = ExchangeProfile(n_honest, gamma, 2)
    return level if n_levels == 1 else LevelsProfile(level, compose([(level, n_levels)]))


@dataclass(frozen=True)
class LevelsProfile(PrivacyProfile):
    """The profile of all levels, between those of one level and of the product that dominates."""

    level: PrivacyProfile
    product: PrivacyProfile

    @property
    def neighbours(self) -> Neighbours:
        """Those of one level."""
        return self.level.neighbours

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta of all levels."""
        upper = self.product.log_delta_bounds(epsilon).upper
        return LogBounds(min(upper, self.level.log_delta_bounds(epsilon).lower), upper)


def least_noise(n_users: int, goal: ApproxDP, *, n_levels: int, honest_share: Fraction) -> Fraction:
    """Return gamma for a goal, of which the noise of the honest users alone is enough.

    Delta at the gamma returned is evaluated and meets the goal. With several levels it is within
    a percent of it: ln delta is nearly linear in gamma, so that a few evaluations find it.

    Raises:
        InvalidParameter: too few users.
    """
    one = smallest_omission(
        log_exchange_delta, n_users, goal, share=2, method="exact", honest_share=honest_share
    )
    if n_levels == 1:
        return one
    honest = least_honest(n_users, honest_share)
    aim = log_bounds(goal.exact_delta).lower - _MARGIN

    def log_delta(gamma: Fraction) -> float:
        profile = levels_profile(honest, gamma, n_levels)
        return profile.log_delta_bounds(goal.exact_epsilon).upper

    low, high = one, min(_HALF, _exactly(_FIRST_HIGH * n_levels * float(one)))
    while (at_high := log_delta(high)) > aim:
        if high == _HALF:
            raise InvalidParameter(
                expected=f"more users for {n_levels} levels and this guarantee",
                got=f"n_users={n_users}, of whom {honest} are honest",
                remedy="Add users, raise epsilon or delta, or take fewer levels",
            )
        low, high = high, min(_HALF, _exactly(_GROWTH * float(high)))
    at_low = log_delta(low)
    while at_high < aim - _CLOSE:
        part = (at_low - (aim - _CLOSE / 2)) / (at_low - at_high)
        middle = low + (high - low) * _exactly(min(0.95, max(0.05, part)))
        middle = _exactly(float(middle))
        if not low < middle < high:
            break
        at_middle = log_delta(middle)
        if at_middle <= aim:
            high, at_high = middle, at_middle
        else:
            low, at_low = middle, at_middle
    return high


def _exactly(value: float) -> Fraction:
    return exact_fraction(value, name="noise_probability")
