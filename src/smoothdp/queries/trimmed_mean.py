"""The trimmed mean."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.queries.query import Query, Truncate, bounds_text, read_truncate
from smoothdp.queries.reading import count_of, read_bounds, read_share
from smoothdp.sources import Source


@dataclass(frozen=True)
class TrimmedMean(Query):
    """The mean of the n - 2m values left without the m smallest and the m largest.

    Source: paper 2, section 5 and Proposition 40; truncated output: Lemma 50, with the smooth
    bound A_k of proofs/windows-around-the-rank#5.

    Args:
        trim: m as a whole number, or as a share of n below 1/2 on each side: m = floor(trim n).
        bounds: (a, b), a < b; fixed without looking at the data.
        truncate: "inputs" clamps each value to the bounds, "output" the trimmed mean. The
            second needs m >= 1 to be of use, and bounds on the mean alone.

    Raises:
        InvalidParameter: an argument outside these domains.
        InvalidData: n <= 2m (when data are given).

    >>> TrimmedMean(1, bounds=(0, 10)).value([5, 1, 9, 2])
    3.5
    >>> TrimmedMean(0.25, bounds=(0, 10)).drops(7)
    (1, 1)
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Proposition 40")
    trim: int | Fraction
    truncate: Truncate = "inputs"

    def __init__(self, trim: Parameter, *, bounds: object, truncate: str = "inputs") -> None:
        share = read_share(trim, name="trim", below=Fraction(1, 2))
        object.__setattr__(self, "trim", share)
        object.__setattr__(self, "bounds", read_bounds(bounds))
        object.__setattr__(self, "truncate", read_truncate(truncate))

    def drops(self, n_records: int) -> tuple[int, int]:
        count = count_of(self.trim, n_records)
        return count, count

    def describe(self) -> str:
        trim = self.trim if isinstance(self.trim, int) else f"{float(100 * self.trim):g}%"
        what = "values" if self.truncate == "inputs" else "output"
        return f"mean trimmed by {trim} a side, {what} clamped to {bounds_text(self.bounds)}"
