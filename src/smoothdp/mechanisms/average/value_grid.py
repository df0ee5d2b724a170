"""A finite set of rational values on one grid, as whole numbers of grid steps.

It has to be finite: on a continuum nothing is gained over ordinary DP (proofs/noisy-histograms#6).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction

MOST_STEPS = 1_000_000
_MOST_BITS = 10_000


@dataclass(frozen=True)
class ValueGrid:
    """Distinct rational values, in the order of the universe."""

    values: tuple[Fraction, ...]

    @cached_property
    def step(self) -> Fraction:
        """The largest number of which all differences of values are multiples."""
        scale = math.lcm(*(value.denominator for value in self.values))
        start = self.values[0]
        return Fraction(math.gcd(*(int((value - start) * scale) for value in self.values)), scale)

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """How many steps every value lies above the smallest."""
        lowest = min(self.values)
        return tuple(int((value - lowest) / self.step) for value in self.values)

    @cached_property
    def positions(self) -> dict[Fraction, int]:
        """The position of each value in the order of the universe."""
        return {value: position for position, value in enumerate(self.values)}

    def counts(self, records: Iterable[object]) -> tuple[int, ...]:
        """Return how many records have each value, or raise InvalidData."""
        counts = [0] * len(self.values)
        for record in _listed(records):
            try:
                position = self.positions.get(exact_fraction(record, name="a value"))  # type: ignore[arg-type]
            except InvalidParameter:
                position = None
            if position is None:
                raise InvalidData(
                    expected="values of the universe",
                    got="another",
                    remedy="Round the values to the universe or widen it",
                )
            counts[position] += 1
        return tuple(counts)


def read_grid(universe: Iterable[Parameter]) -> ValueGrid:
    """Return the grid of a universe, or raise InvalidParameter.

    >>> read_grid(["-1/2", 0, 0.25]).steps
    (0, 2, 3)
    """
    if isinstance(universe, str | bytes) or not isinstance(universe, Iterable):
        raise InvalidParameter(
            expected="universe, a list of numbers",
            got=f"universe={universe!r}",
            remedy="List the values that a record may have, such as universe=range(256)",
        )
    if isinstance(universe, Sized) and len(universe) > MOST_STEPS + 1:
        raise _too_fine(f"{len(universe)} values")
    values: list[Fraction] = []
    scale = 1
    for entry in universe:
        values.append(exact_fraction(entry, name="a value of universe"))
        scale = math.lcm(scale, values[-1].denominator)
        if len(values) > MOST_STEPS + 1 or scale.bit_length() > _MOST_BITS:
            raise _too_fine("a finer one")
    if len(set(values)) < len(values) or len(values) < 2:
        raise InvalidParameter(
            expected="universe with at least two distinct values, each once",
            got=f"{len(values)} values, {len(set(values))} distinct",
            remedy="List every value that a record may have once",
        )
    grid = ValueGrid(tuple(values))
    if max(values) - min(values) > MOST_STEPS * grid.step:
        raise _too_fine("a finer one")
    return grid


def _too_fine(got: str) -> InvalidParameter:
    return InvalidParameter(
        expected=f"universe on a grid of at most {MOST_STEPS} steps",
        got=got,
        remedy=(
            "Round the values more coarsely; on a continuum nothing is gained over ordinary "
            "DP: delta is exactly T/n for every database (Theorem 4 of paper 1)"
        ),
    )


def _listed(records: Iterable[object]) -> list[object]:
    if isinstance(records, str | bytes) or not isinstance(records, Iterable):
        raise InvalidData(
            expected="values as a sequence",
            got=type(records).__name__,
            remedy="Give a list of numbers",
        )
    return list(records)
