"""The sum of a column, on a public grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_positive, exact_text
from smoothdp.queries.fixed.fixed_statistic import Reach, Sums, exact_sum, nearest_steps
from smoothdp.queries.read_arguments import Bounds, Values, bounds_text, read_bounds
from smoothdp.sources import Source

_FINER = 30
_MOST_STEPS = 1 << 52


@dataclass(frozen=True, init=False)
class Sum(Sums):
    """The sum of the values, each clamped to the bounds and rounded to a public grid.

    Bounds off the grid of step g are taken inward: a_g = g ceil(a / g), b_g = g floor(b / g).
    Then one record added or removed moves the sum by max(|a_g|, |b_g|) at most, and one
    replaced by b_g - a_g. Each value is rounded once, to the nearest multiple of g.

    Source: proofs/private-sums#1.

    Args:
        bounds: (a, b), a < b; fixed without looking at the data.
        grid: g > 0; None: a power of two, about 2^-30 of the larger bound.

    Raises:
        InvalidParameter: no multiple of g other than 0 within the bounds, or more than 2^52.

    >>> query = Sum((0, 10), grid=1)
    >>> query.value([1, 2, 300]), query.value([])
    (13.0, 0.0)
    >>> query.reach(Neighbours.ADD_REMOVE).total
    10
    """

    source: ClassVar[Source] = Source("own", "proofs/private-sums#1")
    bounds: Bounds
    grid: Fraction

    def __init__(self, bounds: object, grid: Parameter | None = None) -> None:
        low, high = read_bounds(bounds)
        largest = max(abs(low), abs(high))
        step = _default_grid(largest) if grid is None else exact_positive(grid, name="grid")
        if largest / step > _MOST_STEPS:
            raise InvalidParameter(
                expected="a grid of at most 2^52 steps up to the larger bound",
                got=f"grid={grid} with bounds {bounds_text((low, high))}",
                remedy="Give a coarser grid; the noise is far coarser",
            )
        object.__setattr__(self, "bounds", (low, high))
        object.__setattr__(self, "grid", step)
        first, last = self.steps
        if first > last or first == last == 0:
            raise InvalidParameter(
                expected="a multiple of the grid other than 0 within the bounds",
                got=f"grid={exact_text(step)} with bounds {bounds_text((low, high))}",
                remedy="Give a finer grid",
            )

    @property
    def steps(self) -> tuple[int, int]:
        """(a_g / g, b_g / g): the least and the greatest value of a row, in steps."""
        low, high = self.bounds
        return math.ceil(low / self.grid), math.floor(high / self.grid)

    @property
    def n_sums(self) -> int:
        """1."""
        return 1

    @property
    def unit(self) -> Fraction:
        """The step of the grid."""
        return self.grid

    def describe(self) -> str:
        """Return the statistic in words."""
        first, last = (end * self.grid for end in self.steps)
        return (
            f"sum, values clamped to {bounds_text((first, last))} and rounded to "
            f"{_step_words(self.grid)}"
        )

    def check_neighbours(self, neighbours: Neighbours) -> None:
        """Accept adding, removing or replacing a record.

        Raises:
            IncompatibleClaims: replacing where all values count the same, and other neighbours.
        """
        super().check_neighbours(neighbours)
        if neighbours is Neighbours.REPLACE_ONE and self.steps[0] == self.steps[1]:
            raise IncompatibleClaims(
                expected="more than one multiple of the grid within the bounds where a record "
                "is replaced",
                got=f"grid={exact_text(self.grid)} with bounds {bounds_text(self.bounds)}",
                remedy="Give a finer grid",
            )

    def reach(self, neighbours: Neighbours) -> Reach:
        """Return the larger bound in steps; where a record is replaced, their difference."""
        self.check_neighbours(neighbours)
        first, last = self.steps
        add_remove = neighbours is Neighbours.ADD_REMOVE
        most = max(abs(first), abs(last)) if add_remove else last - first
        return Reach(most, most * most)

    def sums(self, values: Values) -> tuple[int, ...]:  # type: ignore[override]
        """Return the sum in steps."""
        first, last = self.steps
        steps = nearest_steps(values, origin=Fraction(0), step=self.grid, least=first, most=last)
        return (exact_sum(steps, most=max(abs(first), abs(last))),)

    def result(self, sums: Sequence[int]) -> Fraction:
        """Return the sum in the units of the data."""
        return sums[0] * self.grid

    def bars(self, sums: Sequence[int], size: int) -> tuple[Fraction, Fraction]:
        """Return what is within ``size`` steps, and can be: values of one sign add up to it."""
        first, last = self.steps
        low, high = sums[0] - size, sums[0] + size
        if first >= 0:
            low, high = max(low, 0), max(high, 0)
        if last <= 0:
            low, high = min(low, 0), min(high, 0)
        return low * self.grid, high * self.grid

    def covers(self) -> str:
        """Return what the interval covers, in words."""
        first, last = (end * self.grid for end in self.steps)
        return (
            f"the sum of these values, each clamped to {bounds_text((first, last))} and rounded "
            f"to {_step_words(self.grid)}"
        )


def _default_grid(largest: Fraction) -> Fraction:
    """Return the power of two with 2^30 to 2^31 steps up to the larger bound."""
    exponent = largest.numerator.bit_length() - largest.denominator.bit_length()
    if Fraction(2) ** exponent > largest:
        exponent -= 1
    return Fraction(2) ** (exponent - _FINER)


def _step_words(step: Fraction) -> str:
    text = exact_text(step)
    exponent = step.numerator.bit_length() - step.denominator.bit_length()
    if len(text) > 12 and step == Fraction(2) ** exponent:
        text = f"2^{exponent}"
    return f"multiples of {text}"
