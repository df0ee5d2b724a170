"""The base of all statistics: what they have in common is a window of order statistics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from smoothdp.errors import InvalidData, InvalidParameter, explain
from smoothdp.exact.parameters import Parameter, exact_int, float_bounds
from smoothdp.queries.clamped_inputs import ClampedInputs
from smoothdp.queries.clamped_output import ClampedOutput
from smoothdp.queries.column_summary import ColumnSummary
from smoothdp.queries.curve import SensitivityCurve, hull
from smoothdp.queries.reading import Bounds, Values, read_smoothing, read_values
from smoothdp.queries.selected import first_true
from smoothdp.queries.summary import SensitivitySummary
from smoothdp.sources import Source

Truncate = Literal["inputs", "output"]


@dataclass(frozen=True)
class Query(ABC):
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

    def value(self, data: object) -> float:
        """Return the statistic, correctly rounded from its exact value."""
        return float(self._prepared(data).value())

    def local_sensitivity(self, data: object, distance: int = 0) -> float:
        """Return the local sensitivity at a distance, rounded up.

        It is the supremum of |f(y) - f(z)| over databases y that differ from x in ``distance``
        records at most, and their neighbours z. With truncated output it is a bound A_k of it
        that smooth sensitivity is made of (see `smoothdp.queries.clamped_output`).
        """
        distance = exact_int(distance, name="distance", minimum=0)
        return float_bounds(self._prepared(data).at(distance))[1]

    def smooth_sensitivity(self, data: object, *, smoothing: Parameter) -> float:
        """Return S(x) = max over k of e^(-k t) LS_k(x), t > 0, rounded up.

        Never below S and at most two floats above; 5e-324 where S is smaller than floats are.
        """
        return self.summary(data, smoothing=smoothing).smooth_sensitivity()

    def log_smooth_sensitivity(self, data: object, *, smoothing: Parameter) -> float:
        """Return ln S(x), rounded up; also where S is smaller than floats are."""
        return self.summary(data, smoothing=smoothing).log_smooth_sensitivity()

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

    def _prepared(self, data: object) -> ClampedInputs | ClampedOutput:
        if isinstance(data, ColumnSummary) and self.truncate == "inputs":
            return ClampedInputs(data, self.drops(data.n_records), self.bounds)
        values = read_values(data)
        drops = self._checked_drops(values)
        kind = ClampedInputs if self.truncate == "inputs" else ClampedOutput
        return kind(values, drops, self.bounds)

    def _checked_drops(self, values: Values) -> tuple[int, int]:
        drops = self.drops(len(values))
        if sum(drops) >= len(values):
            raise InvalidData(
                explain(
                    f"more than {sum(drops)} values, as many as the {self.describe()} leaves out",
                    f"{len(values)}",
                    "Leave out fewer",
                )
            )
        return drops


def read_truncate(truncate: str) -> Truncate:
    """Return "inputs" or "output", or raise InvalidParameter."""
    if truncate == "inputs":
        return "inputs"
    if truncate == "output":
        return "output"
    raise InvalidParameter(
        explain('truncate "inputs" or "output"', f"truncate={truncate!r}", "Use one of the two")
    )


def bounds_text(bounds: Bounds) -> str:
    """Return "[a, b]" in short."""
    return f"[{_short(bounds[0])}, {_short(bounds[1])}]"


def _short(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else f"{float(number):g}"
