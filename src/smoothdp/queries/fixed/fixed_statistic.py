"""What a release asks of a statistic whose noise no smooth sensitivity decides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.sealed import Sealed
from smoothdp.errors import IncompatibleClaims
from smoothdp.queries.private_size.read_rows import read_rows
from smoothdp.queries.read_arguments import Values, read_values
from smoothdp.sources import Source
from smoothdp.types import IntArray

_ROOM = 1 << 62


@dataclass(frozen=True, slots=True)
class Reach:
    """How far neighbours can be apart in a vector of whole numbers.

    Attributes:
        total: the sum of the absolute differences. square: the sum of their squares.
    """

    total: int
    square: int


@dataclass(frozen=True, slots=True, repr=False)
class AddedSums:
    """Sums that were added up where the rows are: as private as these."""

    sums: tuple[int, ...]


class FixedStatistic(ABC):
    """A statistic that is released by noise of a fixed scale: no window, no smoothing.

    It is defined for every number of rows, none included. Under neighbours that add or remove a
    record no row is refused: see `smoothdp.queries.private_size.read_rows`.
    """

    source: ClassVar[Source] = Source("own", "proofs/private-sums#1")

    @abstractmethod
    def describe(self) -> str:
        """Return the statistic in words."""

    def record(self) -> str:
        """Return "one record"."""
        return "one record"

    def check_neighbours(self, neighbours: Neighbours) -> None:
        """Raise IncompatibleClaims if it is not released under a claim about these neighbours."""
        if neighbours not in (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE):
            raise IncompatibleClaims(
                expected="a guarantee about adding, removing or replacing one record",
                got=f"neighbours={neighbours.value!r}",
                remedy='Give neighbours="add_remove"',
            )

    def read(self, data: object, neighbours: Neighbours) -> object:
        """Return the column of numbers.

        Where the number of records is public, a missing value is refused, as by `Query`.
        """
        if isinstance(data, AddedSums):
            return data
        return read_rows(data) if neighbours is Neighbours.ADD_REMOVE else read_values(data)


class Sums(FixedStatistic):
    """A function of a few sums of whole numbers, to each of which the noise is added."""

    @abstractmethod
    def reach(self, neighbours: Neighbours) -> Reach:
        """Return how far the sums of neighbours can be apart."""

    @abstractmethod
    def sums(self, values: object) -> tuple[int, ...]:
        """Return the sums of what `read` returned: as private as the data."""

    @abstractmethod
    def result(self, sums: Sequence[int]) -> Fraction:
        """Return the statistic that belongs to sums, with noise or without."""

    @abstractmethod
    def bars(self, sums: Sequence[int], size: int) -> tuple[Fraction, Fraction]:
        """Return an interval that covers where no noise is larger than ``size``.

        Raises:
            InvalidParameter: a statistic that has none.
        """

    @abstractmethod
    def covers(self) -> str:
        """Return what `bars` covers, in words."""

    @property
    @abstractmethod
    def n_sums(self) -> int:
        """How many sums there are."""

    @property
    @abstractmethod
    def unit(self) -> Fraction:
        """What 1 in a sum is worth: in the units of the data for one sum, of rows for several."""

    def private_sums(self, values: object) -> Sealed[tuple[int, ...]]:
        """Return the sums of private data: sealed, for a sampler."""
        return Sealed(values.sums if isinstance(values, AddedSums) else self.sums(values))

    def value(self, data: object) -> float:
        """Return the statistic of public data, on its grid, correctly rounded."""
        return float(self.result(self.sums(self.read(data, Neighbours.ADD_REMOVE))))


def nearest_steps(
    values: Values, *, origin: Fraction, step: Fraction, least: int, most: int
) -> IntArray:
    """Return for each value x the whole number nearest to (x - origin) / step, exactly.

    What lies beyond ``least`` or ``most`` counts as these; a half goes up. What becomes of a row
    depends on that row alone.

    Args:
        values: finite. origin, step: public. least, most: of magnitude 2^53 at most.

    >>> nearest_steps(np.array([0.1, 0.5, 7.0]), origin=Fraction(0), step=Fraction(1, 5),
    ...     least=0, most=10)
    array([ 1,  3, 10])
    """
    lower, upper = origin + least * step, origin + most * step
    # Beyond the ends by a step at least, so that clipping first changes nothing but overflow.
    low, high = _float_below(lower - step), -_float_below(-(upper + step))
    clipped = np.clip(values.astype(np.float64), low, high)
    scaled = (clipped - float(origin)) / float(step)
    # Relative errors of 2^-53: of the difference, of step, quotient and sum; of x and the origin
    # only where they are no floats.
    doubtful = 8 * (abs(lower - origin) + abs(upper - origin) + 2 * step)
    if values.dtype.kind != "f":
        doubtful += 2 * max(abs(lower), abs(upper)) + 2 * step
    if Fraction(float(origin)) != origin:
        doubtful += 2 * abs(origin)
    doubt = float(doubtful / step) * 2.0**-53 + 1e-300
    moved = scaled + 0.5
    result = np.floor(moved)
    near = np.abs(moved - np.rint(moved)) <= doubt
    steps = np.clip(result, least, most).astype(np.int64)
    if near.any():
        places = np.flatnonzero(near)
        unclear, which = np.unique(values[places], return_inverse=True)
        exact = [
            min(max(_half_up((Fraction(x) - origin) / step), least), most) for x in unclear.tolist()
        ]
        steps[places] = np.array(exact, np.int64)[which]
    return steps


def _half_up(number: Fraction) -> int:
    return (number + Fraction(1, 2)).__floor__()


def _float_below(number: Fraction) -> float:
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else float(np.nextafter(nearest, -np.inf))


def exact_sum(numbers: IntArray, *, most: int) -> int:
    """Return the sum of whole numbers of magnitude ``most`` at most, exactly.

    >>> exact_sum(np.full(5, 2**61), most=2**61) == 5 * 2**61
    True
    """
    if not len(numbers):
        return 0
    size = max(1, _ROOM // max(1, most))
    parts = np.add.reduceat(numbers, np.arange(0, len(numbers), size))
    return sum(parts.tolist())
