"""The mean of all values, and of those left without some of the smallest and the largest."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_positive
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.query import Query, Truncate, read_truncate
from smoothdp.queries.read_arguments import bounds_text, count_of, read_bounds, read_share
from smoothdp.sources import Source


@dataclass(frozen=True)
class Mean(Query):
    """The mean of all values, each clamped to the bounds.

    Nothing is left out, so one record can move it by (b - a)/n whatever the data are.

    Source: paper 2, Proposition 40 with m = 0.

    Args:
        bounds: (a, b), a < b; fixed without looking at the data.

    Raises:
        InvalidParameter: bounds that are no finite interval.

    >>> Mean((0, 10)).value([1, 2, 300])
    4.333333333333333
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Proposition 40")

    def __init__(self, bounds: object) -> None:
        object.__setattr__(self, "bounds", read_bounds(bounds))

    def drops(self, n_records: int) -> tuple[int, int]:  # noqa: ARG002 - of every statistic
        return 0, 0

    def describe(self) -> str:
        return f"mean, values clamped to {bounds_text(self.bounds)}"


@dataclass(frozen=True)
class TrimmedMean(Query):
    """The mean of the n - 2m values left without the m smallest and the m largest.

    Source: paper 2, section 5 and Proposition 40; truncated output: Lemma 50, with the smooth
    bound A_k of proofs/windows-around-the-rank#5. How far it is from the mean of the law:
    proofs/trimmed-mean-errors#1, #2.

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

    def with_private_size(self, *, n_guess: Parameter | None = None) -> PaddedWindow:
        if isinstance(self.trim, int) or self.truncate != "inputs":
            return super().with_private_size(n_guess=n_guess)
        if n_guess is None:
            raise InvalidParameter(
                expected="n_guess for a trimmed mean of privately many records, whose width is "
                "(1 - 2 trim) n_guess",
                got="n_guess=None",
                remedy="Give about how many records there are, from what is public",
            )
        guess = exact_positive(n_guess, name="n_guess")
        width = max(Fraction(1), (1 - 2 * self.trim) * guess)
        name = f"mean trimmed by {float(100 * self.trim):g}% a side"
        return PaddedWindow(Fraction(1, 2), bounds=self.bounds, width=width, name=name)

    def describe(self) -> str:
        trim = self.trim if isinstance(self.trim, int) else f"{float(100 * self.trim):g}%"
        clamped = "values" if self.truncate == "inputs" else "output"
        return f"mean trimmed by {trim} a side, {clamped} clamped to {bounds_text(self.bounds)}"


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
        limit = Fraction(1)
        object.__setattr__(self, "drop_low", read_share(drop_low, name="drop_low", below=limit))
        object.__setattr__(self, "drop_high", read_share(drop_high, name="drop_high", below=limit))
        object.__setattr__(self, "bounds", read_bounds(bounds))
        object.__setattr__(self, "truncate", read_truncate(truncate))

    def drops(self, n_records: int) -> tuple[int, int]:
        return count_of(self.drop_low, n_records), count_of(self.drop_high, n_records)

    def describe(self) -> str:
        clamped = "values" if self.truncate == "inputs" else "the mean"
        return (
            f"mean without the {self.drop_low} smallest and {self.drop_high} largest values, "
            f"{clamped} clamped to {bounds_text(self.bounds)}"
        )
