"""Error bars of a histogram's counts: of listed bins, of unlisted ones, of all at once.

A bin's noise is binomial and independent of the others', so that all lie between two quantiles
with a known probability. Then every true count lies in its bar, whatever the data, which decide
what is listed, are (proofs/honest-users#4, #5).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

from smoothdp.exact.balls.balls import ball, enclose, log_bounds, precision
from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.parameters.numbers import LogRatio, float_bounds
from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.text import number_up

_SMALL = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class HistogramBars:
    """Where true counts lie, all at once with the stated confidence.

    Attributes:
        confidence: at least so often all bars are right.
        below, above: how far a true count is below or above the estimate of a listed bin, at most.
        unlisted: users in a bin that is not listed, at most.
        listed: bin -> (least, most) users, of the listed bins.
        n_bins: d.

    >>> bars = HistogramBars(0.95, 24.4, 20.7, 45, {3: (976, 1020)}, 10)
    >>> bars[3], bars[4]
    ((976, 1020), (0, 45))
    """

    confidence: float
    below: float
    above: float
    unlisted: int
    listed: Mapping[int, tuple[int, int]]
    n_bins: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "listed", MappingProxyType(dict(self.listed)))

    def __getitem__(self, bin_index: int) -> tuple[int, int]:
        if not 0 <= bin_index < self.n_bins:
            raise IndexError(f"bin {bin_index} of a domain of {self.n_bins}")
        return self.listed.get(bin_index, (0, self.unlisted))

    def sentence(self) -> str:
        """Return the bars in words."""
        return (
            f"a listed count is at most {number_up(self.below, 3)} above the true one and at most "
            f"{number_up(self.above, 3)} below it, and whatever is not listed has at most "
            f"{self.unlisted} users"
        )


@dataclass(frozen=True, slots=True)
class NoiseQuantiles:
    """[least, most]: where the noise of every bin lies at once."""

    least: int
    most: int


class BarLaw(ABC):
    """What an estimate must remember of its protocol to say its bars."""

    @abstractmethod
    def bars(
        self, counts: Mapping[int, float], failure: Fraction, *, bin_index: int | None
    ) -> HistogramBars:
        """Return the bars of all bins, or of one that was chosen before the data were seen."""


@dataclass(frozen=True, slots=True)
class RareNoise(BarLaw):
    """Bars where M = s + V, V ~ Bin(n - m, gamma), m <= b silent, listed if M > theta.

    Attributes:
        n_users: n, those who answered. tolerated: b. redraw_probability: tau_n of the envelopes.
    """

    n_users: int
    n_bins: int
    gamma: Fraction
    threshold: int
    tolerated: int
    redraw_probability: Fraction

    def bars(
        self, counts: Mapping[int, float], failure: Fraction, *, bin_index: int | None
    ) -> HistogramBars:
        chance = failure * (1 - self.redraw_probability)
        bins = self.n_bins if bin_index is None else 1
        # The quantiles grow with the number of users who send noise.
        most = _most(self.n_users, self.gamma, chance, bins)
        least = _least(self.n_users - self.tolerated, self.gamma, chance, bins)
        mean = self.n_users * self.gamma
        listed = {}
        for index, value in _shown(counts, bin_index):
            messages = round(Fraction(value) + mean)
            listed[index] = (max(0, messages - most), min(self.n_users, messages - least))
        return HistogramBars(
            float_bounds(1 - failure)[0],
            float_bounds(most - mean)[1],
            float_bounds(mean - least)[1],
            max(0, self.threshold - least),
            listed,
            self.n_bins,
        )


@dataclass(frozen=True, slots=True)
class OmittedBits(BarLaw):
    """Bars where M = s + n - m - W, W ~ Bin(n - m, gamma), m <= b silent, listed if M > n - b.

    Without silent users only bins that are not empty are listed: no more than n of them can fail.
    With b >= 1 an empty bin may be listed too.
    """

    n_users: int
    n_bins: int
    gamma: Fraction
    tolerated: int

    def bars(
        self, counts: Mapping[int, float], failure: Fraction, *, bin_index: int | None
    ) -> HistogramBars:
        silent = self.tolerated
        bins = 1 if bin_index is not None else self.n_bins
        if silent == 0:
            bins = min(bins, self.n_users)
        # W + m grows with m, the missing noise bits and users.
        least = _least(self.n_users, self.gamma, failure, bins)
        fewer = _most(self.n_users - silent, self.gamma, failure, bins)
        most = fewer + silent
        mean = self.n_users * self.gamma
        listed = {}
        for index, value in _shown(counts, bin_index):
            excess = round(Fraction(value) - mean)
            listed[index] = (max(0, excess + least), min(self.n_users, excess + most))
        return HistogramBars(
            float_bounds(1 - failure)[0],
            float_bounds(mean - least)[1],
            float_bounds(most - mean)[1],
            fewer,
            listed,
            self.n_bins,
        )


def _shown(counts: Mapping[int, float], bin_index: int | None) -> list[tuple[int, float]]:
    return [entry for entry in counts.items() if bin_index is None or entry[0] == bin_index]


@lru_cache(maxsize=1024)
def _most(n: int, gamma: Fraction, failure: Fraction, bins: int) -> int:
    """Return the least v with P(Bin(n, gamma) > v) at most a side's share of the failure."""
    limit = log_side(failure, bins)
    return least_integer(lambda v: log_binomial_tail(v + 1, n, gamma).upper <= limit, 0, n)


@lru_cache(maxsize=1024)
def _least(n: int, gamma: Fraction, failure: Fraction, bins: int) -> int:
    """Return the largest v with P(Bin(n, gamma) < v) at most a side's share of the failure."""
    limit = log_side(failure, bins)

    def is_late(v: int) -> bool:
        # P(K <= v) is the tail of the misses.
        return log_binomial_tail(n - v, n, 1 - gamma).upper > limit

    return least_integer(is_late, 0, n)


def log_side(failure: Fraction, bins: int) -> float:
    """Return a float not above ln b1, b1 = (1 - (1 - failure)^(1/d)) / 2, for d independent bins.

    b1 is at least failure / 2d, by Bernoulli's inequality, which is as good where failure is small.

    >>> import math
    >>> round(math.exp(log_side(Fraction(1, 20), 1)), 6)
    0.025
    """
    simple = log_bounds(failure / (2 * bins)).lower
    if failure < _SMALL:
        return simple
    with precision(256):
        share = -(ball(LogRatio(1 - failure)) / bins).expm1() / 2
        return max(simple, enclose(share.log()).lower)
