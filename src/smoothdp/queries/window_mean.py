"""The mean of any window of order statistics."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.queries.query import Query, Truncate, bounds_text, read_truncate
from smoothdp.queries.reading import count_of, read_bounds, read_share
from smoothdp.sources import Source


@dataclass(frozen=True)
class WindowMean(Query):
    """The mean of what is left without the smallest and the largest values.

    Source: paper 2, Proposition 40, for windows that are not symmetric:
    proofs/windows-around-the-rank#3.

    Args:
        drop_low: how many of the smallest values to leave out: a whole number counts values, a
            number between 0 and 1 is a share of n (rounded down).
        drop_high: the same for the largest values.
        bounds: (a, b), a < b; fixed without looking at the data.
        truncate: "inputs" clamps each value to the bounds, "output" the mean.

    Raises:
        InvalidParameter: an argument outside these domains.
        InvalidData: no more values than are left out (when data are given).

    >>> WindowMean(1, drop_high=2, bounds=(0, 10)).value([5, 1, 9, 2, 3])
    2.5
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Proposition 40")
    drop_low: int | Fraction
    drop_high: int | Fraction
    truncate: Truncate = "inputs"

    def __init__(
        self,
        drop_low: Parameter,
        *,
        drop_high: Parameter,
        bounds: object,
        truncate: str = "inputs",
    ) -> None:
        one = Fraction(1)
        object.__setattr__(self, "drop_low", read_share(drop_low, name="drop_low", below=one))
        object.__setattr__(self, "drop_high", read_share(drop_high, name="drop_high", below=one))
        object.__setattr__(self, "bounds", read_bounds(bounds))
        object.__setattr__(self, "truncate", read_truncate(truncate))

    def drops(self, n_records: int) -> tuple[int, int]:
        return count_of(self.drop_low, n_records), count_of(self.drop_high, n_records)

    def describe(self) -> str:
        what = "values" if self.truncate == "inputs" else "the mean"
        return (
            f"mean without the {self.drop_low} smallest and {self.drop_high} largest values, "
            f"{what} clamped to {bounds_text(self.bounds)}"
        )
