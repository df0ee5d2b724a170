"""The variance where the number of records is private: three sums share the noise of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import InvalidParameter
from smoothdp.queries.fixed.fixed_statistic import Reach, Sums, exact_sum, nearest_steps
from smoothdp.queries.read_arguments import Bounds, Values, bounds_text, read_bounds
from smoothdp.sources import Source

_QUARTER = Fraction(1, 4)


@dataclass(frozen=True, init=False)
class Variance(Sums):
    """The variance of all values, with divisor n, each clamped to the bounds.

    Each value x becomes one whole number m, nearest to G (x - a) / (b - a), G = 2^20, and adds
    (m^2, 2 m (G - m), (G - m)^2), which is G^2 in all, to three sums. With b0, b1, b2 their
    noisy values and N = b0 + b1 + b2 the variance is
    (b - a)^2 (b0 / N - ((b0 + b1 / 2) / N)^2), clamped to [0, (b - a)^2 / 4]; half of the upper
    end where N <= 0. The rounding moves the standard deviation by (b - a) / 2^21 at most.

    Source: proofs/private-sums#3.

    Args:
        bounds: (a, b), a < b; fixed without looking at the data.

    Raises:
        InvalidParameter: bounds that are no finite interval.

    >>> query = Variance((0, 8))
    >>> query.value([2, 4, 6]), query.value([])
    (2.6666666666666665, 8.0)
    """

    source: ClassVar[Source] = Source("own", "proofs/private-sums#3")
    parts: ClassVar[int] = 1 << 20
    """G: into how many parts the bounds are divided."""
    bounds: Bounds

    def __init__(self, bounds: object) -> None:
        object.__setattr__(self, "bounds", read_bounds(bounds))

    @property
    def n_sums(self) -> int:
        """3."""
        return 3

    @property
    def unit(self) -> Fraction:
        """1 / G^2: a row adds 1 in all."""
        return Fraction(1, self.parts**2)

    def describe(self) -> str:
        """Return the statistic in words."""
        return (
            f"variance (divisor n), values clamped to {bounds_text(self.bounds)}, from three sums"
        )

    def reach(self, neighbours: Neighbours) -> Reach:
        """Return G^2; where a record is replaced, two such steps."""
        self.check_neighbours(neighbours)
        square = self.parts**2
        replaced = 1 if neighbours is Neighbours.ADD_REMOVE else 2
        return Reach(replaced * square, replaced * square * square)

    def sums(self, values: Values) -> tuple[int, ...]:  # type: ignore[override]
        """Return the three sums."""
        low, high = self.bounds
        g = self.parts
        m = nearest_steps(values, origin=low, step=(high - low) / g, least=0, most=g)
        rest = g - m
        terms = (m * m, 2 * m * rest, rest * rest)
        first, middle, last = (exact_sum(term, most=g * g) for term in terms)
        return first, middle, last

    def result(self, sums: Sequence[int]) -> Fraction:
        """Return the variance."""
        first, middle, last = sums
        total = first + middle + last
        low, high = self.bounds
        share = _QUARTER / 2
        if total > 0:
            share = Fraction(first, total) - Fraction(2 * first + middle, 2 * total) ** 2
        return (high - low) ** 2 * min(max(share, Fraction(0)), _QUARTER)

    def bars(self, sums: Sequence[int], size: int) -> tuple[Fraction, Fraction]:
        """Refuse: no interval for a variance is proved.

        Raises:
            InvalidParameter: always.
        """
        del sums, size
        raise no_bars(self.describe())

    def covers(self) -> str:
        """Refuse, as `bars`.

        Raises:
            InvalidParameter: always.
        """
        raise no_bars(self.describe())


def no_bars(statistic: str) -> InvalidParameter:
    """Return the refusal of an interval."""
    return InvalidParameter(
        expected="a statistic with error bars for confidence=",
        got=statistic,
        remedy="Leave confidence out: no interval for a variance is proved",
    )
