"""A statistic with the sensitivity that holds at all data, in place of its smooth one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.sealed import Sealed
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.queries.query import Query, check_overrides
from smoothdp.queries.read_arguments import Bounds
from smoothdp.queries.statistic import PrivateSummary, Statistic
from smoothdp.sources import Source


@dataclass(frozen=True)
class WorstCase(Statistic):
    """The mean of a window of w order statistics, whose sensitivity is taken as (b - a) / w.

    Replacing a record moves each order statistic towards one side, no further than to where its
    neighbour was: the sum of a window moves by b - a at most. Noise to this scale needs no
    smoothing; of few records, or wide windows, it may be less than what smoothing costs.

    Source: proofs/release-rules#5.

    Args:
        query: the statistic, its window resolved, with truncate="inputs".

    Raises:
        InvalidParameter: another statistic.

    >>> from smoothdp.queries import Median
    >>> WorstCase(Median((0, 12), window=3)).fixed_sensitivity(101)
    Fraction(4, 1)
    """

    source: ClassVar[Source] = Source("own", "proofs/release-rules#5")
    query: Query

    def __post_init__(self) -> None:
        if not isinstance(self.query, Query) or self.query.truncate != "inputs":
            raise InvalidParameter(
                expected="a mean of order statistics whose inputs are clamped",
                got=f"query={self.query!r}",
                remedy="Give a Median, Quantile or TrimmedMean",
            )
        check_overrides(self.query)

    @property
    def bounds(self) -> Bounds:  # type: ignore[override]
        """Those of the statistic."""
        return self.query.bounds

    def relation(self) -> Neighbours:
        """Return replace-one: n is public."""
        return self.query.relation()

    def record(self) -> str:
        """Return "one record"."""
        return self.query.record()

    def describe(self) -> str:
        """Return the statistic in words."""
        return self.query.describe()

    def read(self, data: object) -> object:
        """Return the column of numbers."""
        return self.query.read(data)

    def size(self, data: object) -> int:
        """Return n, which is public."""
        return self.query.size(data)

    def check_size(self, n_records: int | None) -> None:
        """Raise InvalidData unless some value is left of n records."""
        self.query.check_size(n_records)

    def fixed_sensitivity(self, n_records: int | None) -> Fraction:
        """Return (b - a) / w."""
        assert n_records is not None  # n is public
        low, high = self.bounds
        return (high - low) / (n_records - sum(self.query.drops(n_records)))

    def log_least_sensitivity(self, smoothing: Fraction, n_records: int | None) -> float:
        """Return ln of the sensitivity, rounded down."""
        del smoothing
        return log_bounds(self.fixed_sensitivity(n_records)).lower

    def private_summary(self, data: object, *, smoothing: Fraction) -> PrivateSummary:
        """Return the value, sealed; the sensitivity is public."""
        del smoothing
        found = self.query.private_summary(data, smoothing=Fraction(1))
        fixed = Sealed((self.fixed_sensitivity(found.n_records), Fraction(0)))
        return PrivateSummary(found.n_records, found.value, fixed)
