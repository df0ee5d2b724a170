"""The mean where the number of records is private: two sums share the noise of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import InvalidData
from smoothdp.exact.parameters.numbers import Parameter, exact_positive
from smoothdp.queries.fixed.fixed_statistic import Reach, Sums, exact_sum, nearest_steps
from smoothdp.queries.private_size.read_rows import read_rows
from smoothdp.queries.read_arguments import Bounds, Values, bounds_text, read_bounds
from smoothdp.sources import Source

_HALF = Fraction(1, 2)


@dataclass(frozen=True, init=False)
class ClampedMean(Sums):
    """The mean of all values, each clamped to the bounds; their number may be private.

    Each value x becomes one whole number m, nearest to G (x - a) / (b - a), G = 2^30. What
    gets noise is A, the sum of m, and C, the sum of G - m. One record adds (m, G - m), which is
    G in all: both sums together cost what one would. The mean is
    a + (b - a) A / (A + C), clamped to the bounds, and (a + b) / 2 where A + C <= 0.

    Source: proofs/private-sums#2.

    Args:
        bounds: (a, b), a < b; fixed without looking at the data.

    Raises:
        InvalidParameter: bounds that are no finite interval.

    >>> query = ClampedMean((0, 8))
    >>> query.value([1, 2, 300, None]), query.value([])
    (3.6666666666666665, 4.0)
    """

    source: ClassVar[Source] = Source("own", "proofs/private-sums#2")
    parts: ClassVar[int] = 1 << 30
    """G: into how many parts the bounds are divided."""
    bounds: Bounds

    def __init__(self, bounds: object) -> None:
        object.__setattr__(self, "bounds", read_bounds(bounds))

    @classmethod
    def between(cls, low: Fraction, high: Fraction) -> ClampedMean:
        """Return the mean with exact bounds low < high, of any digits, which are not checked."""
        made = object.__new__(cls)
        object.__setattr__(made, "bounds", (low, high))
        return made

    @property
    def n_sums(self) -> int:
        """2."""
        return 2

    @property
    def unit(self) -> Fraction:
        """1 / G: a row adds 1 in all."""
        return Fraction(1, self.parts)

    def describe(self) -> str:
        """Return the statistic in words."""
        return f"mean, values clamped to {bounds_text(self.bounds)}, as the ratio of two sums"

    def reach(self, neighbours: Neighbours) -> Reach:
        """Return G; where a record is replaced, two such steps of opposite sign."""
        self.check_neighbours(neighbours)
        g = self.parts
        replaced = 1 if neighbours is Neighbours.ADD_REMOVE else 2
        return Reach(replaced * g, replaced * g * g)

    def sums(self, values: Values) -> tuple[int, ...]:  # type: ignore[override]
        """Return the sum of m and that of G - m."""
        low, high = self.bounds
        g = self.parts
        m = nearest_steps(values, origin=low, step=(high - low) / g, least=0, most=g)
        total = exact_sum(m, most=g)
        return total, g * len(m) - total

    def result(self, sums: Sequence[int]) -> Fraction:
        """Return the mean."""
        above, below = sums
        low, high = self.bounds
        share = Fraction(above, above + below) if above + below > 0 else _HALF
        return low + (high - low) * min(max(share, Fraction(0)), Fraction(1))

    def bars(self, sums: Sequence[int], size: int) -> tuple[Fraction, Fraction]:
        """Return the interval of the two sums, wider by half a part of the bounds."""
        above, both = sums[0], sums[0] + sums[1]
        low, high = self.bounds
        if both <= 0:
            return low, high
        half = Fraction(1, 2 * self.parts)
        ends = [Fraction(above - size, both) - half, Fraction(above + size, both) + half]
        first, last = (min(max(end, Fraction(0)), Fraction(1)) for end in ends)
        return low + (high - low) * first, low + (high - low) * last

    def covers(self) -> str:
        """Return what the interval covers, in words."""
        return f"the mean of these values, each clamped to {bounds_text(self.bounds)}"

    def noise_sd(self, public_data: object, *, epsilon: Parameter) -> float:
        """Return about the deviation of the noise under pure DP, add or remove a record.

        (b - a) sqrt(2) sqrt(mu^2 + (1 - mu)^2) / (n epsilon), to first order, with mu the mean
        as a share of the bounds. A function of data: for public data.

        Raises:
            InvalidData: no value.

        >>> round(ClampedMean((0, 10)).noise_sd([1, 2, 9], epsilon=1), 12)
        3.399346342395
        """
        values = read_rows(public_data)
        if not len(values):
            raise InvalidData(expected="at least one value", got="none", remedy="Give public data")
        rate = exact_positive(epsilon, name="epsilon")
        low, high = self.bounds
        clamped = [min(max(Fraction(x), low), high) for x in values.tolist()]
        mean = sum(clamped, Fraction(0)) / len(clamped)
        mu = (mean - low) / (high - low)
        square = 2 * (mu * mu + (1 - mu) ** 2) * ((high - low) / (len(clamped) * rate)) ** 2
        return math.sqrt(square)
