"""Tails of the output when only two categories exist: sums along one line.

With two categories the output is one number, i records of category a, and every set of
outputs that matters is a tail {i >= first}. The first probability comes by Loader's
method where that is sharp enough and from ball arithmetic elsewhere; the others follow by the
ratios of neighbouring probabilities, a few roundings each (proofs/two-smallest#2).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.logspace.ratio_sum import expected_length, log_ratio_sum
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.points import binomial_point, hypergeometric_point
from smoothdp.exact.probabilities.scalar_pmf import binomial_log_pmf, hypergeometric_log_pmf
from smoothdp.mechanisms.histogram.accounting.half_plane import (
    BITS,
    MOST_BITS,
    HalfPlane,
    hypergeometric_half_plane,
    multinomial_half_plane,
)
from smoothdp.types import FloatArray

Weight = Callable[[FloatArray], FloatArray]
_SHARP = 2e-13
_RARE, _FAINT = -600.0, -150.0
_ALL_FLOATS = 1 << 53


@dataclass(frozen=True, slots=True)
class Line(ABC):
    """The law of i, the number of category a among n_draws from two categories."""

    count_a: int
    count_b: int
    n_draws: int

    @property
    @abstractmethod
    def lowest(self) -> int:
        """The least possible i."""

    @property
    @abstractmethod
    def highest(self) -> int:
        """The greatest possible i."""

    @abstractmethod
    def log_probability(self, i: int) -> LogBounds:
        """Bound ln P(i), for i in the support, by balls: neighbouring floats."""

    @abstractmethod
    def loader(self, i: int) -> tuple[float, float]:
        """Return ln P(i) and its error by Loader's method; not at degenerate laws."""

    def anchor(self, i: int) -> LogBounds:
        """Bound ln P(i) by Loader's method where it is sharp enough, else by balls."""
        total = self.count_a + self.count_b
        away = i - self.n_draws * self.count_a / total
        # Loader's error grows with |ln P|, about away^2 curvature / 2.
        shallow = away * away * self.curvature(i) < 80.0
        if shallow and self.count_a and self.count_b and self.n_draws < total:
            value, error = self.loader(i)
            if error < _SHARP:
                return LogBounds(value - error, value + error)
        return self.log_probability(i)

    @abstractmethod
    def ratio_from(self, first: int) -> Callable[[FloatArray], FloatArray]:
        """Return d -> P(first + d + 1) / P(first + d), ``ratio_roundings`` roundings each."""

    @property
    def ratio_roundings(self) -> int:
        """The most roundings of a ratio."""
        # Counts below 2^53, their sums and differences are floats.
        return 3

    @abstractmethod
    def ratio(self, i: int) -> float:
        """Return P(i + 1) / P(i)."""

    @abstractmethod
    def curvature(self, i: int) -> float:
        """Return about by how much ln of the ratio falls from i to i + 1."""

    @abstractmethod
    def half_plane(self, count_a: int, count_b: int, epsilon: Real, bits: int) -> HalfPlane:
        """Return the outputs that a neighbour makes less likely, for this way of sampling."""

    def mirrored(self) -> Line:
        """Return the law of n_draws - i."""
        return type(self)(self.count_b, self.count_a, self.n_draws)


@dataclass(frozen=True, slots=True)
class HypergeometricLine(Line):
    """Without replacement: i ~ Hypergeometric(n_draws from count_a + count_b)."""

    @property
    def lowest(self) -> int:
        return max(0, self.n_draws - self.count_b)

    @property
    def highest(self) -> int:
        return min(self.count_a, self.n_draws)

    def log_probability(self, i: int) -> LogBounds:
        return hypergeometric_point(i, self.n_draws, self.count_a, self.count_b)

    def loader(self, i: int) -> tuple[float, float]:
        return hypergeometric_log_pmf(i, self.n_draws, self.count_a, self.count_b)

    def ratio_from(self, first: int) -> Callable[[FloatArray], FloatArray]:
        left_a, left_draws = float(self.count_a - first), float(self.n_draws - first)
        next_i, next_b = float(first + 1), float(self.count_b - self.n_draws + first + 1)

        def ratio(d: FloatArray) -> FloatArray:
            return ((left_a - d) * (left_draws - d)) / ((next_i + d) * (next_b + d))

        return ratio

    def ratio(self, i: int) -> float:
        a, b, t = self.count_a, self.count_b, self.n_draws
        return (a - i) * (t - i) / ((i + 1) * (b - t + i + 1))

    def curvature(self, i: int) -> float:
        a, b, t = self.count_a, self.count_b, self.n_draws
        return 1 / (a - i + 1) + 1 / (t - i + 1) + 1 / (i + 1) + 1 / (b - t + i + 1)

    def half_plane(self, count_a: int, count_b: int, epsilon: Real, bits: int) -> HalfPlane:
        return hypergeometric_half_plane(count_a, count_b, epsilon, bits)


@dataclass(frozen=True, slots=True)
class BinomialLine(Line):
    """With replacement: i ~ Binomial(n_draws, count_a / (count_a + count_b))."""

    @property
    def lowest(self) -> int:
        return self.n_draws if self.count_b == 0 else 0

    @property
    def highest(self) -> int:
        return self.n_draws if self.count_a else 0

    def log_probability(self, i: int) -> LogBounds:
        return binomial_point(i, self.n_draws, self.count_a, self.count_b)

    def loader(self, i: int) -> tuple[float, float]:
        return binomial_log_pmf(i, self.n_draws, self.count_a, self.count_b)

    def ratio_from(self, first: int) -> Callable[[FloatArray], FloatArray]:
        left, next_i = float(self.n_draws - first), float(first + 1)
        odds = self.count_a / self.count_b if self.count_b else 0.0

        def ratio(d: FloatArray) -> FloatArray:
            return (left - d) / (next_i + d) * odds

        return ratio

    @property
    def ratio_roundings(self) -> int:
        # With replacement more may be drawn than floats count: four roundings more.
        return 3 if self.n_draws < _ALL_FLOATS else 7

    def ratio(self, i: int) -> float:
        return (self.n_draws - i) * self.count_a / ((i + 1) * max(self.count_b, 1))

    def curvature(self, i: int) -> float:
        return 1 / (self.n_draws - i + 1) + 1 / (i + 1)

    def half_plane(self, count_a: int, count_b: int, epsilon: Real, bits: int) -> HalfPlane:
        return multinomial_half_plane(count_a, count_b, epsilon, bits, self.n_draws)


def tail_sum(
    line: Line,
    counts: tuple[int, int],
    epsilon: Real,
    weight_from: Callable[[HalfPlane, int], tuple[Weight, int]],
) -> LogBounds:
    """Bound ln sum of P(i) weight(i) over the i that lie inside the half-plane.

    ``counts`` are those of the half-plane; ``weight_from(half_line, first)`` returns the
    weight d -> weight(first + d) and its number of roundings.
    """
    bits = BITS
    while True:
        half_line = line.half_plane(*counts, epsilon, bits).on_line(line.n_draws)
        first = max(half_line.first_inside(0), line.lowest)
        if first > line.highest:
            return LOG_ZERO
        if half_line.gain(first, 0) >> 60 >= half_line.slack:
            return _sum_from(line, half_line, first, weight_from)
        if bits >= MOST_BITS:
            # An exact tie, as far as 1536 bits can tell: the first term counts above only.
            upper = _sum_from(line, half_line, first, weight_from).upper
            if first == line.highest:
                return LogBounds(-math.inf, upper)
            return LogBounds(_sum_from(line, half_line, first + 1, weight_from).lower, upper)
        bits *= 2


def _sum_from(
    line: Line,
    half_line: HalfPlane,
    first: int,
    weight_from: Callable[[HalfPlane, int], tuple[Weight, int]],
) -> LogBounds:
    start = _start(line, first)
    weight, roundings = weight_from(half_line, start)
    n_terms = line.highest - start + 1
    length = 1
    if n_terms > 1:
        length = expected_length(math.log(line.ratio(start)), line.curvature(start))
    total = log_ratio_sum(
        line.ratio_from(start),
        weight,
        n_terms=n_terms,
        length=length,
        ratio_roundings=line.ratio_roundings,
        weight_roundings=roundings + 1,
    )
    anchor = line.anchor(start)
    bounds = anchor.shifted(total)
    if start == first:
        return bounds
    # Weights do not fall, and below the mode P falls at least geometrically to the left.
    ratio = line.ratio(start - 1) * (1 - 1e-14)
    left_out = anchor.upper + math.log(float(weight(np.zeros(1))[0]) / (ratio - 1)) + 1e-9
    upper = float(np.logaddexp(bounds.upper, left_out))
    return LogBounds(bounds.lower, upper + 1e-15 * (4 + abs(upper)))


def _start(line: Line, first: int) -> int:
    """Return where to begin the sum: at first, or nearer to a mode far above first.

    Products of ratios that climb to the mode would overflow. Below the point that is
    returned, terms are less than e^-150 each.
    """
    if first == line.highest or line.ratio(first) <= 1 or line.loader(first)[0] > _RARE:
        return first
    mode = math.floor(line.n_draws * line.count_a / (line.count_a + line.count_b))
    return least_integer(lambda i: line.loader(i)[0] >= _FAINT, first, max(first, mode))
