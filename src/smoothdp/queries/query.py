"""The base class of statistics that are means of a window of order statistics."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from smoothdp.claims.neighbours import Neighbours, read_statistic_neighbours
from smoothdp.claims.sealed import Sealed
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import Parameter, exact_int, float_bounds, float_of
from smoothdp.queries.excess import Excess, excess_at_rank
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.read_arguments import Bounds, Values, read_bounds, read_smoothing, read_values
from smoothdp.queries.sensitivity.clamped_inputs import ClampedInputs
from smoothdp.queries.sensitivity.clamped_output import ClampedOutput
from smoothdp.queries.sensitivity.curve import SensitivityCurve, SensitivitySummary, hull
from smoothdp.queries.statistic import PrivateSummary, Statistic
from smoothdp.queries.windows.column_summary import ColumnSummary
from smoothdp.queries.windows.selected import first_true
from smoothdp.sources import Source

Truncate = Literal["inputs", "output"]


@dataclass(frozen=True)
class Query(Statistic):
    """A statistic: the mean of a window x_(lo+1), ..., x_(n-hi) of order statistics.

    Inputs are clamped to the bounds [a, b] (or, for a trimmed mean on request, the output is).
    Neighbours replace one record; n is public. Everything that takes data and is no release
    (value, sensitivities, summary, curve) is as private as the data.

    Data: one column as a list or array, or anything with the array protocol (pandas, polars,
    pyarrow); at least one finite number. Floats count as the binary fractions that they are;
    whole numbers stay exact below 2^62. All results are exact before their one rounding.

    Raises (all methods that take data):
        InvalidData: no column of finite numbers, or too few values for the window.
    """

    source: ClassVar[Source]
    bounds: Bounds

    def __post_init__(self) -> None:
        # For a statistic without a constructor of its own; the other constructors read bounds.
        object.__setattr__(self, "bounds", read_bounds(self.bounds))

    @property
    def truncate(self) -> Truncate:
        """What is clamped to the bounds: the inputs, or the output."""
        return "inputs"

    @abstractmethod
    def drops(self, n_records: int) -> tuple[int, int]:
        """Return (lo, hi): how many of the smallest and of the largest values are left out."""

    @abstractmethod
    def describe(self) -> str:
        """Return the statistic in words."""

    def with_private_size(self, *, n_guess: Parameter | None = None) -> PaddedWindow:
        """Return the statistic for a private n, whose neighbours add or remove one record.

        A `Median` or `Quantile` is the mean of w ranks around q n, a `TrimmedMean` of a share
        the mean of (1 - 2 trim) n_guess ranks around n / 2.

        Args:
            n_guess: a public guess of n; only a trimmed mean needs one.

        Raises:
            InvalidParameter: a statistic whose width would move with n, or which one added row
                moves to the bound; n_guess left out or not above 0.

        >>> from smoothdp.queries import Median
        >>> Median((0, 10), window="1.5").with_private_size().value([])
        5.0
        """
        del n_guess
        raise InvalidParameter(
            expected="a Median, a Quantile, or a TrimmedMean of a share with truncate='inputs', "
            "where the number of records is private",
            got=self.describe(),
            remedy="Use one of these, ClampedMean for a mean, or give a guarantee with "
            "neighbours='replace_one' if the number of records is public",
        )

    def value(
        self,
        data: object,
        *,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
        n_guess: Parameter | None = None,
    ) -> float:
        """Return the statistic, correctly rounded from its exact value.

        Args:
            data: the column.
            neighbours: "add_remove" for the statistic of `with_private_size`.
            n_guess: as there.
        """
        if read_statistic_neighbours(neighbours) is Neighbours.ADD_REMOVE:
            return self.with_private_size(n_guess=n_guess).value(data)
        return float(self._prepared(data).value())

    def local_bound(
        self,
        data: object,
        distance: int = 0,
        *,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
        n_guess: Parameter | None = None,
    ) -> float:
        """Return what S is made of: not below the local sensitivity at a distance, rounded up."""
        if read_statistic_neighbours(neighbours) is Neighbours.ADD_REMOVE:
            return self.with_private_size(n_guess=n_guess).local_bound(data, distance)
        return self.local_sensitivity(data, distance)

    def local_sensitivity(self, data: object, distance: int = 0) -> float:
        """Return the local sensitivity at a distance, rounded up.

        It is the supremum of |f(y) - f(z)| over databases y that differ from x in ``distance``
        records at most, and their neighbours z. With truncated output it is a bound A_k of it
        that smooth sensitivity is made of (see `smoothdp.queries.sensitivity.clamped_output`).
        """
        distance = exact_int(distance, name="distance", minimum=0)
        return float_bounds(self._prepared(data).at(distance))[1]

    def smooth_sensitivity(
        self,
        data: object,
        *,
        smoothing: Parameter,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
        n_guess: Parameter | None = None,
    ) -> float:
        """Return S(x) = max over k of e^(-k t) LS_k(x), t > 0, rounded up.

        Never below S and at most two floats above; 5e-324 where S is smaller than floats are.
        With neighbours="add_remove" that of `with_private_size`.
        """
        return self._summary(data, smoothing, neighbours, n_guess).smooth_sensitivity()

    def log_smooth_sensitivity(
        self,
        data: object,
        *,
        smoothing: Parameter,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
        n_guess: Parameter | None = None,
    ) -> float:
        """Return ln S(x), rounded up; also where S is smaller than floats are."""
        return self._summary(data, smoothing, neighbours, n_guess).log_smooth_sensitivity()

    def _summary(
        self,
        data: object,
        smoothing: Parameter,
        neighbours: Neighbours | str,
        n_guess: Parameter | None,
    ) -> SensitivitySummary:
        if read_statistic_neighbours(neighbours) is Neighbours.ADD_REMOVE:
            return self.with_private_size(n_guess=n_guess).summary(data, smoothing=smoothing)
        return self.summary(data, smoothing=smoothing)

    def summary(self, data: object, *, smoothing: Parameter) -> SensitivitySummary:
        """Return the exact value and the exact smooth sensitivity for one smoothing t > 0."""
        rate = read_smoothing(smoothing)
        prepared = self._prepared(data)
        best = prepared.largest(rate)
        return SensitivitySummary(prepared.n_records, prepared.value(), rate, (best,))

    def sensitivity_curve(self, data: object) -> SensitivityCurve:
        """Return the smooth sensitivity for all t > 0 at once; sorts all of the data."""
        prepared = self._prepared(data)
        furthest = prepared.saturation()
        nearest = first_true(lambda k: prepared.at(k) > 0, furthest)
        vertices = hull(
            (nearest, prepared.at(nearest)),
            (furthest, prepared.at(furthest)),
            lambda rate, within: prepared.largest(rate, within=within),
        )
        return SensitivityCurve(prepared.n_records, prepared.value(), vertices)

    def excess(self, n_records: int, *, rank_below: int, smoothing: Parameter) -> Excess:
        """Return how far the order statistics about a rank are from the window, in units of S.

        For J = rank_below, x_(J) is at most ``up`` S below the mean of the window and x_(J+1)
        at most ``down`` S above it, whatever the data are; x_(0) is a, x_(n+1) is b.

        Source: proofs/quantile-bars#1.

        Args:
            n_records: n. rank_below: J, from 0 to n. smoothing: t > 0, of S.

        Raises:
            InvalidParameter: J outside 0..n, or a statistic whose output is clamped.
            InvalidData: fewer records than the window needs.

        >>> from smoothdp.queries import Median
        >>> Median((0, 1), window=5).excess(1001, rank_below=501, smoothing="0.02")
        Excess(up=2.0, down=3.0)
        """
        n = exact_int(n_records, name="n_records", minimum=1)
        self.check_size(n)
        if self.truncate != "inputs":
            raise InvalidParameter(
                expected='truncate="inputs" for the distance of order statistics',
                got=self.describe(),
                remedy="Clamp the inputs",
            )
        rank = exact_int(rank_below, name="rank_below", minimum=0)
        if rank > n:
            raise InvalidParameter(
                expected="a rank from 0 to n", got=f"{rank} of {n}", remedy="Give a rank"
            )
        return excess_at_rank(n, self.drops(n), rank, read_smoothing(smoothing))

    # ---- what a release asks for ---------------------------------------------------------

    def relation(self) -> Neighbours:
        """Return replace-one: n is public."""
        return Neighbours.REPLACE_ONE

    def record(self) -> str:
        """Return "one record"."""
        return "one record"

    def read(self, data: object) -> Values | ColumnSummary:
        """Return the column of numbers; a summary of a column stays as it is."""
        return data if isinstance(data, ColumnSummary) else read_values(data)

    def size(self, data: object) -> int:
        """Return n, which is public."""
        return data.n_records if isinstance(data, ColumnSummary) else len(read_values(data))

    def check_size(self, n_records: int | None) -> None:
        """Raise InvalidData unless some value is left of n records."""
        if n_records is None:
            raise InvalidParameter(
                expected=f"n_records for the {self.describe()}, whose number of records is public",
                got="n_records=None",
                remedy="Give the number of records",
            )
        left_out = sum(self.drops(n_records))
        if left_out >= n_records:
            raise InvalidData(
                expected=(
                    f"more than {left_out} values, as many as the {self.describe()} leaves out"
                ),
                got=f"{n_records}",
                remedy="Leave out fewer values, or take more records",
            )

    def fixed_sensitivity(self, n_records: int | None) -> Fraction | None:
        """Return (b - a) / n if no value is left out; None where S depends on the data."""
        assert n_records is not None  # n is public
        if self.truncate != "inputs" or self.drops(n_records) != (0, 0):
            return None
        lower, upper = self.bounds
        return (upper - lower) / n_records

    def log_least_sensitivity(self, smoothing: Fraction, n_records: int | None) -> float | None:
        """Return ln of a number that the smooth sensitivity exceeds at all data, or is.

        Inputs clamped, w values in the window: replacing hi + 1 or lo + 1 records moves it by
        more than (b - a) / 2w for one of the two, and lo + hi + 1 records by (b - a) / w. Output
        clamped: A_k >= (b - a) / 2 from k = min(lo, hi) on, and b - a beyond.
        """
        assert n_records is not None  # n is public
        low, high = self.drops(n_records)
        if self.truncate == "inputs":
            near, far, width = max(low, high), low + high, n_records - low - high
        else:
            near, far, width = min(low, high), min(low, high) + 1, 1
        t = float_of(smoothing)
        log_range = log_bounds((self.bounds[1] - self.bounds[0]) / width).lower
        return log_range - min(t * near + math.log(2), t * far)

    def private_summary(self, data: object, *, smoothing: Fraction) -> PrivateSummary:
        """Return value and smooth sensitivity at private data: sealed, for a sampler.

        Where nothing is left out the sensitivity is (b - a) / n, and no record is asked.
        """
        prepared = self._prepared(data)
        n_records = prepared.n_records
        fixed = self.fixed_sensitivity(n_records)
        if fixed is not None:
            sensitivity = fixed, Fraction(0)
        else:
            distance, difference = prepared.largest(read_smoothing(smoothing))
            sensitivity = difference, distance * smoothing
        return PrivateSummary(n_records, Sealed(prepared.value()), Sealed(sensitivity))

    def _prepared(self, data: object) -> ClampedInputs | ClampedOutput:
        if isinstance(data, ColumnSummary) and self.truncate == "inputs":
            return ClampedInputs(data, self.drops(data.n_records), self.bounds)
        values = read_values(data)
        self.check_size(len(values))
        kind = ClampedInputs if self.truncate == "inputs" else ClampedOutput
        return kind(values, self.drops(len(values)), self.bounds)


_NOT_USED = (
    "value",
    "local_sensitivity",
    "local_bound",
    "smooth_sensitivity",
    "log_smooth_sensitivity",
    "summary",
    "sensitivity_curve",
    "excess",
)
_OURS = (
    *("private_summary", "fixed_sensitivity", "log_least_sensitivity", "_prepared"),
    *("read", "size", "check_size", "relation", "record"),
)


def check_overrides(query: Query) -> None:
    """Refuse a query with a value or sensitivity of its own, which no release would use.

    Raises:
        InvalidParameter: a method that follows from the window is replaced.
    """
    replaced = [
        name
        for name in (*_NOT_USED, *_OURS)
        if getattr(type(query), name) is not getattr(Query, name) or name in vars(query)
    ]
    if replaced:
        raise InvalidParameter(
            expected="a query whose value and sensitivities follow from its window",
            got=f"{type(query).__name__} with its own {replaced[0]}, which a release does not use",
            remedy="Give the functions to smoothdp.queries.Custom, which releases what they return",
        )


def read_truncate(truncate: str) -> Truncate:
    """Return "inputs" or "output", or raise InvalidParameter."""
    if truncate == "inputs":
        return "inputs"
    if truncate == "output":
        return "output"
    raise InvalidParameter(
        expected='truncate "inputs" or "output"',
        got=f"truncate={truncate!r}",
        remedy='Use truncate="inputs" or truncate="output"',
    )
