"""The number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import IncompatibleClaims, InvalidData
from smoothdp.queries.fixed.fixed_statistic import Reach, Sums
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True, repr=False)
class Rows:
    """Counted rows: how many is as private as they are."""

    number: int


@dataclass(frozen=True, slots=True)
class Count(Sums):
    """The number of rows: of a column, of those that hold a value.

    One record moves it by 1. It is for guarantees about adding or removing a record: where one
    is replaced, the number of records is public.

    Source: proofs/private-sums#1.

    >>> Count().value(["a", None, "b"])
    2.0
    """

    source: ClassVar[Source] = Source("own", "proofs/private-sums#1")

    @property
    def n_sums(self) -> int:
        """1."""
        return 1

    @property
    def unit(self) -> Fraction:
        """1."""
        return Fraction(1)

    def describe(self) -> str:
        """Return the statistic in words."""
        return "number of rows"

    def check_neighbours(self, neighbours: Neighbours) -> None:
        """Accept adding or removing a record.

        Raises:
            IncompatibleClaims: other neighbours: the number of records is public then.
        """
        if neighbours is not Neighbours.ADD_REMOVE:
            raise IncompatibleClaims(
                expected="a guarantee about adding or removing a record for the number of rows, "
                "which is public where one is replaced",
                got=f"neighbours={neighbours.value!r}",
                remedy='Give neighbours="add_remove", or publish the number as it is',
            )

    def read(self, data: object, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Rows:
        """Return the number of rows; those that hold None or nan are not counted."""
        del neighbours
        return data if isinstance(data, Rows) else Rows(_count(data))

    def sums(self, values: object) -> tuple[int, ...]:
        """Return the number alone."""
        assert isinstance(values, Rows)
        return (values.number,)

    def reach(self, neighbours: Neighbours) -> Reach:
        """Return 1."""
        self.check_neighbours(neighbours)
        return Reach(1, 1)

    def result(self, sums: Sequence[int]) -> Fraction:
        """Return the sum as it is: with noise it may be below 0."""
        return Fraction(sums[0])

    def bars(self, sums: Sequence[int], size: int) -> tuple[Fraction, Fraction]:
        """Return the numbers from 0 on that are within ``size``."""
        low, high = max(0, sums[0] - size), max(0, sums[0] + size)
        return Fraction(low), Fraction(high)

    def covers(self) -> str:
        """Return what the interval covers, in words."""
        return "the number of these rows"


def _count(data: object) -> int:
    if isinstance(data, np.ma.MaskedArray):
        data = data.compressed()
    rows = data if isinstance(data, list | tuple) else _array(data)
    if isinstance(rows, list | tuple) or rows.dtype.kind == "O":
        return sum(not _is_missing(row) for row in rows)
    if rows.dtype.kind == "f":
        return int(np.count_nonzero(~np.isnan(rows)))
    if rows.dtype.kind in "mM":
        return int(np.count_nonzero(~np.isnat(rows)))
    return len(rows)


def _array(data: object) -> NDArray[np.generic]:
    try:
        array = np.asarray(data)
    except (ValueError, TypeError, OverflowError):
        array = np.empty(())
    if array.ndim == 1:
        return array
    raise InvalidData(
        expected="one column of rows to count",
        got=f"{array.ndim} dimensions" if array.ndim else f"a {type(data).__name__}",
        remedy="Give one column: a list or an array of one dimension",
    )


def _is_missing(row: object) -> bool:
    if row is None:
        return True
    if isinstance(row, float | np.floating):
        return bool(np.isnan(row))
    return type(row).__name__ in ("NAType", "NaTType")
