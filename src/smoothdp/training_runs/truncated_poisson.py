"""Poisson batches of which at most so many records are used."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.composition.laws.law import LossBracket, LossLaws
from smoothdp.composition.laws.symmetrise import symmetrised
from smoothdp.composition.laws.two_sides import two_sided_laws
from smoothdp.exact.balls.balls import ball, enclose, log_factorial, precision, round_up
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.special import Ball, maximum, normal_tail, size, working_bits
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import (
    LogRatio,
    Parameter,
    Real,
    exact_int,
    exact_positive,
    positive_probability,
)
from smoothdp.sources import Source
from smoothdp.training_runs.directed import Way, read_way
from smoothdp.training_runs.rates import growth
from smoothdp.training_runs.subsampled_gaussian import SubsampledGaussian

_FARTHEST = Fraction(500)
_DEPTH = -50.0
_PRECISIONS = (160, 320, 1280)
# Of ln of a bound: the terms left out leave less than this, if not by far the smallest part.
_NARROW = 1e-9
_N_POINTS = 300
# More undecided N than this are not looked through: all are bounded by the largest term.
_MOST_UNDECIDED = 64


@dataclass(frozen=True, init=False, eq=False)
class TruncatedPoisson:
    """One Gaussian step on a Poisson batch; of more than ``max_batch`` a uniform subset is used.

    Of N other records s are drawn, binomially. For s < b = max_batch the record is in the batch
    with probability q_s = q and moves the sum by m_s = m; for s >= b it takes another one's place,
    q_s = q b / (s + 1) and m_s = 2 m. Each direction is the mean over s of the direction of the
    sampled Gaussian with q_s and m_s. N is private: the bound is the largest over all
    N < n_records, direction by direction; as a function of N it rises and then falls.

    Source: proofs/subsampled-steps#4.

    Args:
        sampling_rate: q in (0, 1].
        max_batch: b >= 1.
        n_records: larger than the number of other records can be.
        noise_multiplier: standard deviation of the noise over the clipping norm.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> step = TruncatedPoisson("0.2", max_batch=3, n_records=40, noise_multiplier=1)
    >>> round(step.directed("remove").delta(1), 6), round(step.directed("add").delta(1), 6)
    (0.019955, 0.0)
    """

    source: ClassVar[Source] = Source("own", "proofs/subsampled-steps#4")
    exact_rate: Fraction
    max_batch: int
    n_records: int
    exact_noise: Fraction

    def __init__(
        self,
        sampling_rate: Parameter,
        *,
        max_batch: int,
        n_records: int,
        noise_multiplier: Parameter,
    ) -> None:
        rate = positive_probability(
            sampling_rate, name="sampling_rate", remedy="Give a share such as 0.01"
        )
        for name, value in (
            ("exact_rate", rate),
            ("max_batch", exact_int(max_batch, name="max_batch", minimum=1)),
            ("n_records", exact_int(n_records, name="n_records", minimum=1)),
            ("exact_noise", exact_positive(noise_multiplier, name="noise_multiplier")),
        ):
            object.__setattr__(self, name, value)

    @property
    def neighbours(self) -> Neighbours:
        """add_remove."""
        return Neighbours.ADD_REMOVE

    def profile(self) -> PrivacyProfile:
        """Return the bound as a profile: the worse of both directions."""
        return FunctionProfile(self._log_delta_bounds, self.neighbours)

    def _log_delta_bounds(self, epsilon: Real) -> LogBounds:
        ways = self._log_bounds(epsilon, removes=True), self._log_bounds(epsilon, removes=False)
        return LogBounds(max(each.lower for each in ways), max(each.upper for each in ways))

    def directed(self, way: Way) -> PrivacyProfile:
        """Return the profile of one direction of one step.

        Raises:
            InvalidParameter: a way that is none of "remove" and "add".
        """
        removes = read_way(way, self.neighbours) == "remove"
        return FunctionProfile(
            lambda epsilon: self._log_bounds(epsilon, removes=removes), self.neighbours
        )

    def _log_bounds(self, epsilon: Real, *, removes: bool) -> LogBounds:
        step = self.exact_rate, self.max_batch, self.n_records - 1, 1 / self.exact_noise
        if not at_most(epsilon, _FARTHEST):
            # delta falls.
            return LogBounds(-math.inf, _log_largest(*step, _FARTHEST, removes=removes).upper)
        return _log_largest(*step, epsilon, removes=removes)

    def loss_laws(self) -> LossLaws:
        """Return laws around those of the privacy loss of one step, for composition."""
        return self._laws

    @cached_property
    def _laws(self) -> LossLaws:
        first, second = two_sided_laws(
            self.directed("remove"), self.directed("add"), log_depth=_DEPTH, n_points=_N_POINTS
        )
        # With fewer than b others nothing is cut: the largest over N is at least that.
        uncut = SubsampledGaussian(self.exact_rate, noise_multiplier=self.exact_noise).loss_laws()
        below = uncut.directions or (uncut.symmetrised, uncut.symmetrised)
        whole = LossBracket(symmetrised(first, second).upper, uncut.symmetrised.lower)
        ways = LossBracket(first, below[0].lower), LossBracket(second, below[1].lower)
        return LossLaws(self.neighbours, whole, ways)

    def describe(self) -> str:
        """Return the step in words."""
        return (
            f"Poisson batches of rate {self.exact_rate}, at most {self.max_batch} records, noise "
            f"{self.exact_noise}"
        )


@lru_cache(maxsize=8192)
def _log_largest(
    rate: Fraction, most: int, others: int, mu: Fraction, epsilon: Real, *, removes: bool
) -> LogBounds:
    """Bound ln of the largest over N <= others."""
    if not removes and rate < 1 and at_most(LogRatio(1 / (1 - rate)), epsilon):
        # E (1 - q_s) >= 1 for every s.
        return LOG_ZERO

    for bits in _PRECISIONS:
        with precision(bits):
            value = _Means(rate, most, others, mu, epsilon, removes).largest()
            found = enclose(value.log())
            if found.upper - found.lower < _NARROW:
                break
    # A ball that holds 0 has no logarithm.
    with precision(bits):
        upper = found.upper if found.upper == found.upper else round_up(size(value).log())
    lower = found.lower if found.lower == found.lower else -math.inf
    return LogBounds(lower, min(0.0, upper))


class _Means:
    """E h(s), s binomial of N and q, where h is h_few below b, then h_b >= h_(b+1) >= ..."""

    def __init__(
        self, rate: Fraction, most: int, others: int, mu: Fraction, epsilon: Real, removes: bool
    ) -> None:
        self.rate, self.most, self.others = rate, most, others
        part = _removed if removes else _added
        more = growth(epsilon)

        def term(share: Fraction, shift: Fraction) -> Ball:
            return part(more, share, shift)

        self.few = term(rate, mu)
        spread = math.sqrt(float(others * rate * (1 - rate)))
        falls = float((others - most) * rate / ((most + 1) * (1 - rate))) if rate < 1 else 0.0
        enough = math.ceil(30 / -math.log(falls)) if 0 < falls < 1 else 30
        enough = min(enough, 60 + math.ceil(8 * spread))
        last = min(others, max(most, math.ceil(float(others * rate) + 9 * spread)) + enough)
        self.many = [term(rate * Fraction(most, s + 1), 2 * mu) for s in range(most, last + 1)]

    def largest(self) -> Ball:
        if self.others < self.most or not self.many:
            return self.few
        if self.many[0] <= self.few:
            return self.few
        low, high = self.most - 1, self.others
        # Differences are positive before the top and negative after it.
        if self._rises(high - 1) is True or high - 1 < low:
            return self._mean(high)
        while high - low > 1:
            middle = (low + high) // 2
            rises = self._rises(middle)
            if rises is None:
                break
            low, high = (middle, high) if rises else (low, middle)
        if high - low > _MOST_UNDECIDED:
            # More precision decides it; else no mean is above the largest term.
            return maximum(self.few, self.many[0]).union(self.few)
        best = self._mean(low)
        for n in range(low + 1, high + 1):
            best = maximum(best, self._mean(n))
        return best

    def _rises(self, n: int) -> bool | None:
        """Return whether the mean rises from n to n + 1, None where it is not certain."""
        chance = _binomial(n, self.most - 1, self.rate)
        change = chance * (self.many[0] - self.few)
        at = self._next(chance, n, self.most - 1)
        for index in range(len(self.many) - 1):
            s = self.most + index
            if s > n:
                break
            change -= at * (self.many[index] - self.many[index + 1])
            at = self._next(at, n, s)
        else:
            s = self.most + len(self.many) - 1
            if s <= n:
                change -= self._above(at, n, s) * self.many[-1].union(ball(0))
        if change > 0:
            return True
        return False if change < 0 else None

    def _mean(self, n: int) -> Ball:
        if n < self.most:
            return self.few
        at = _binomial(n, self.most, self.rate)
        total, above = ball(0), ball(0)
        for index, value in enumerate(self.many):
            s = self.most + index
            if s > n:
                break
            total += at * value
            above += at
            at = self._next(at, n, s)
        else:
            s = self.most + len(self.many)
            if s <= n:
                rest = self._above(at, n, s)
                above += rest.union(ball(0))
                total += (rest * self.many[-1]).union(ball(0))
        return total + (1 - above) * self.few

    def _next(self, chance: Ball, n: int, s: int) -> Ball:
        """Return the chance of s + 1 from that of s."""
        if self.rate == 1:
            return ball(1 if s + 1 == n else 0)
        return chance * ball(Fraction(n - s, s + 1) * self.rate / (1 - self.rate))

    def _above(self, chance: Ball, n: int, s: int) -> Ball:
        """Return a bound of the chance of s or more, from that of s."""
        ratio = ball(Fraction(n - s, s + 1) * self.rate / (1 - self.rate)) if self.rate < 1 else 0
        return chance / (1 - ratio) if ratio < 1 else ball(1)


def _binomial(n: int, s: int, rate: Fraction) -> Ball:
    if s > n:
        return ball(0)
    if rate == 1:
        return ball(1 if s == n else 0)
    bits = working_bits()
    log_choose = log_factorial(n, bits) - log_factorial(s, bits) - log_factorial(n - s, bits)
    return (log_choose + s * ball(rate).log() + (n - s) * ball(1 - rate).log()).exp()


def _gaussian(shift: Fraction, growth_to: Ball) -> Ball:
    """Return the Gaussian profile of a shift at E > 0."""
    at, mu = growth_to.log() / ball(shift), ball(shift)
    return normal_tail(at - mu / 2) - growth_to * normal_tail(at + mu / 2)


def _removed(more: Ball, share: Fraction, shift: Fraction) -> Ball:
    return ball(share) * _gaussian(shift, 1 + more / ball(share))


def _added(more: Ball, share: Fraction, shift: Fraction) -> Ball:
    # 1 - E (1 - share).
    rest = ball(share) - more * ball(1 - share)
    if rest > 0:
        return rest * _gaussian(shift, (1 + more) * ball(share) / rest)
    if rest <= 0:
        return ball(0)
    # Not decided: at most what is left of the mass.
    return rest.union(ball(0))
