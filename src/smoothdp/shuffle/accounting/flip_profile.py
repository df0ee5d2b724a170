"""The privacy profile of a total of flipped bits, the worst over the other users' data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.claims.domains import read_delta
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.exact.balls.balls import log_bounds, real_bounds
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.logspace.bisection import smallest_true
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real, exact_real
from smoothdp.shuffle.accounting.flip_curve import flip_tradeoff
from smoothdp.shuffle.accounting.flipped_bits import log_flip_delta
from smoothdp.shuffle.accounting.worst_case import (
    MOST_PARTS,
    Value,
    violation as find_violation,
    worst_case,
)

# Up to so many bits of the others the search goes on to single data sets.
_SEARCHED_TO_THE_END = 10_000
_TOLERANCE = 1e-4
_TOLERANCE_OF_WORDS = 1e-3
_LEAST_STEP = 1e-13
# Sums of wide windows are slow, and all data are nearly as bad: calibration leaves more room
# above the root, and what it certified is the answer where it is less close.
_WIDE = 400.0
_LEAST_ABOVE, _MOST_ABOVE = 2e-5, 4e-3
_ABOVE_BY_VARIANCE = 2e-9
# So much does ln delta move with the logarithm of the share, down to delta = 1e-20.
_CLOSE_BY_ABOVE = 25.0
# Rounds of the search for the worst data before it settles for a larger epsilon.
_PATIENCE = 16


@dataclass(frozen=True)
class FlipProfile(PrivacyProfile):
    """delta(epsilon) of the total of all reported bits, each flipped with probability q.

    One user holds ``n_bits`` bits: the worst change is from all zeros to all ones. The others
    hold ``n_others`` bits, any of them ones: the worst case over their data is certified (see
    `worst_case`), to one data set up to 10,000 bits and to about relative 1e-4 beyond. Both
    directions are covered: swapping zeros and ones turns one into the other
    (proofs/flipped-bits#2, #4). With copies > 1 the protected user's messages are counted
    several times (a replay). ``met`` is a guarantee that was certified before, by calibration;
    where it is about as good as a new search (to relative 5e-4; 8e-3 to .1 where the total has a
    standard deviation above 400) it is the answer, so that nothing is certified twice.
    """

    flip: Fraction
    n_bits: int
    n_others: int
    copies: int = 1
    met: EpsilonTerms | None = field(default=None, repr=False, compare=False)
    _known: dict[Real, LogBounds] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def neighbours(self) -> Neighbours:
        """One user's datum is replaced."""
        return Neighbours.REPLACE_ONE

    @property
    def pure_epsilon(self) -> LogRatio:
        """The least epsilon at which delta is 0: n_bits ln((1 - q) / q), for any other data."""
        return LogRatio(((1 - self.flip) / self.flip) ** self.n_bits)

    @property
    def tolerance(self) -> float:
        """Relative distance of the two bounds of the worst case that is aimed at."""
        return 0.0 if self.n_others <= _SEARCHED_TO_THE_END else _TOLERANCE

    @property
    def certified_above(self) -> float:
        """How far above the root for one data set a share of random users is certified for all."""
        if self.tolerance == 0.0:
            return 1e-11
        spread = self._spread
        return _LEAST_ABOVE if spread < _WIDE else min(_MOST_ABOVE, _ABOVE_BY_VARIANCE * spread**2)

    @property
    def _spread(self) -> float:
        """About the standard deviation of the total."""
        return math.sqrt(float(self.n_others * self.flip)) + 1

    @property
    def _close(self) -> float:
        return _CLOSE_BY_ABOVE * self.certified_above

    def log_delta_at(self, n_ones: int, epsilon: Real) -> LogBounds:
        """Bound ln delta for given data of the others; their zeros turn into ones."""
        return self._value(epsilon)(self.n_others - n_ones, n_ones)

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        if epsilon not in self._known:
            self._known[epsilon] = self._searched(epsilon)
        return self._known[epsilon]

    def advantage_bound(self) -> float:
        # All data are about as bad at epsilon 0, and each part of them is looked at: the time
        # goes with 1 / tolerance.
        if Fraction(0) in self._known:
            return self.delta(0)
        found = self._searched(Fraction(0), tolerance=_TOLERANCE_OF_WORDS)
        return min(1.0, found.linear()[1])

    def _searched(self, epsilon: Real, *, tolerance: float | None = None) -> LogBounds:
        value = self._value(epsilon)
        at_zeros = value(self.n_others, 0)
        if at_zeros == LOG_ZERO:
            # Proved 0, and then so it is for all data.
            return LOG_ZERO
        limit = math.inf
        if self.met is not None and at_most(self.met.epsilon, epsilon):
            limit = certified_limit(self.met.delta)
            if self.tolerance > 0.0 and limit <= at_zeros.lower + self._close:
                return LogBounds(at_zeros.lower, limit)
        bounds = _worst(self, epsilon, self.tolerance if tolerance is None else tolerance)
        return LogBounds(bounds.lower, min(bounds.upper, limit))

    def tradeoff(self) -> TradeoffFunction:
        """Return the convex curve below those of all data of the others (see `flip_curve`)."""
        if self.copies > 1:
            return super().tradeoff()
        return flip_tradeoff(self.flip, self.n_bits, self.n_others)

    def epsilon_bounds(self, delta: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around the epsilon that belongs to delta.

        The epsilon of one data set at a time is solved for, then delta is certified for all
        data at an epsilon just above the largest: one search instead of one per step.
        """
        target = read_delta(delta)
        if target == 0:
            bounds = real_bounds(self.pure_epsilon)
            return bounds.lower, bounds.upper
        goal = log_bounds(target)
        slack = 1e-11 if self.tolerance == 0.0 else _TOLERANCE / 2
        lower, upper = self._epsilon_at(0, goal)
        known = math.inf
        if self.met is not None and self.met.delta <= target:
            known = real_bounds(self.met.epsilon).upper
            if self.tolerance > 0.0 and known <= lower * (1 + self._close):
                return lower, known
        candidate = upper * (1 + slack)
        rounds = 0
        while True:
            if known <= candidate:
                return lower, known
            epsilon = exact_real(candidate, name="epsilon")
            suspect = self.violation(epsilon, goal.lower)
            if suspect is None:
                return lower, candidate
            n_ones, certain = suspect
            lower_there, upper_there = self._epsilon_at(self._climbed(n_ones, epsilon), goal)
            lower = max(lower, lower_there)
            rounds += 1
            if not certain or rounds >= _PATIENCE:
                slack *= 4
            candidate = max(candidate, upper_there) * (1 + slack) + _LEAST_STEP

    def _climbed(self, n_ones: int, epsilon: Real) -> int:
        """Return data of the others near these at which delta is about largest.

        Without this climb the search may take one data set after the other: under strong noise
        the data sets differ by little, and each is a little worse than the last.
        """
        best, step = self.log_delta_at(n_ones, epsilon).lower, 1
        while step:
            for neighbour in (n_ones + step, n_ones - step):
                if 0 <= neighbour <= self.n_others:
                    log_delta = self.log_delta_at(neighbour, epsilon).lower
                    if log_delta > best:
                        n_ones, best, step = neighbour, log_delta, 4 * step
                        break
            step //= 2
        return n_ones

    def _epsilon_at(self, n_ones: int, goal: LogBounds) -> tuple[float, float]:
        """Bound the epsilon that belongs to delta for given data of the others."""

        def certain(epsilon: float) -> bool:
            value = self.log_delta_at(n_ones, exact_real(epsilon, name="epsilon"))
            return value.upper <= goal.lower

        above = smallest_true(certain)
        below = above
        # The bounds of delta are so close that the truth is a few units away at most.
        step = 1e-12
        while below > 0.0:
            below = max(0.0, above * (1 - step) - 1e-300)
            value = self.log_delta_at(n_ones, exact_real(below, name="epsilon"))
            if value.lower > goal.upper:
                break
            step *= 4
        return below, above

    def _value(self, epsilon: Real) -> Value:
        def value(n_zeros: int, n_ones: int) -> LogBounds:
            return log_flip_delta(
                n_zeros, n_ones, self.flip, self.n_bits, epsilon, copies=self.copies
            )

        return value

    def violation(self, epsilon: Real, limit: float) -> tuple[int, bool] | None:
        """Return ones of the others at which ln delta is not certainly at most ``limit``.

        None: there are none. The flag says whether it is certainly above.
        """
        return find_violation(
            self._value(epsilon), self.n_others, limit=limit, most_parts=self._most_parts
        )

    @property
    def _most_parts(self) -> int:
        """Fewer parts where each takes longer: its windows grow with the standard deviation."""
        return max(300, min(MOST_PARTS, int(3e6 / self._spread)))


@lru_cache(maxsize=1 << 12)
def _worst(profile: FlipProfile, epsilon: Real, tolerance: float) -> LogBounds:
    """Bound ln delta over all data; profiles that differ in ``met`` alone share the search."""
    return worst_case(
        profile._value(epsilon),
        profile.n_others,
        tolerance=tolerance,
        most_parts=profile._most_parts,
    )


def certified_limit(delta: Fraction) -> float:
    """Return the ln delta that calibration certifies, for delta > 0.

    It is so little below ln(delta) that the certified figure, as a float rounded up, is not
    above delta.

    >>> math.exp(certified_limit(Fraction(1, 10**6))) < 1e-6
    True
    """
    lower = log_bounds(delta).lower
    return lower - 1e-14 * (1.0 + abs(lower))
