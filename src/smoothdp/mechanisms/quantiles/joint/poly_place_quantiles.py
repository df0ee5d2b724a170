"""Several quantiles, each the mean of a window, with joint PolyPlace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int, exact_text
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.quantiles.joint.arguments import (
    check_size,
    epsilon_below,
    read_levels,
    read_pure,
)
from smoothdp.mechanisms.quantiles.joint.draws import joint_draws
from smoothdp.mechanisms.quantiles.joint.window_rule import read_windows
from smoothdp.mechanisms.release.grid import OutputGrid, step_below
from smoothdp.noise.joint.joint_poly_place import JointCalibration, JointPolyPlace
from smoothdp.queries.quantile import Quantile
from smoothdp.queries.read_arguments import Values, bounds_text, read_values
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True)
class JointPolyPlaceQuantiles:
    """The mechanism f_j + S_j Z_j for all levels at once; sorted, and rounded within the bounds.

    f_j is the mean of w_j order statistics around the j-th quantile, S_j its smooth sensitivity,
    exactly, each with its smoothing t_j. A replaced record moves all f_j in one direction, which is
    what joint PolyPlace noise is made for: epsilon is not split among the levels. The numbers
    before sorting are the ideal real numbers, correctly rounded.

    Source: proofs/joint-quantiles#1, #2, #5.

    Attributes:
        queries: the levels with their windows, bounds in common.
        calibration: the law of the noise, the t_j and the guarantee.
        n_records: n, public.
        grid: the values that can come out.

    Raises:
        InvalidParameter: other bounds or another number of levels than the law's, a window that
            is as wide as the data, or levels that do not rise.
        InvalidData: fewer records than a window needs.

    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> quartiles = JointPolyPlaceQuantiles.calibrate(
    ...     ["1/4", "1/2", "3/4"], bounds=(0, 100), guarantee=PureDP(1), n_records=5001, step=1
    ... )
    >>> quartiles.release([i % 101 for i in range(5001)], rng=SeededRandom(1))
    (25, 50, 75)
    """

    source: ClassVar[Source] = Source("hladik-tetek", "Theorem 8, for several numbers")
    queries: tuple[Quantile, ...]
    calibration: JointCalibration
    n_records: int
    grid: OutputGrid

    def __post_init__(self) -> None:
        exact_int(self.n_records, name="n_records", minimum=1)
        read_levels([query.q for query in self.queries])
        if len(self.queries) != self.calibration.n_values:
            raise InvalidParameter(
                expected=f"{self.calibration.n_values} levels, as the noise was calibrated for",
                got=f"{len(self.queries)}",
                remedy="Calibrate JointPolyPlace for the number of levels",
            )
        for query in self.queries:
            query.check_size(self.n_records)
            if type(query) is not Quantile or query.bounds != self.grid.bounds:
                raise InvalidParameter(
                    expected="quantiles with the bounds of the output",
                    got=f"{query!r}",
                    remedy="Give the same bounds to all",
                )

    def __reduce__(self) -> tuple[type[JointPolyPlaceQuantiles], tuple[object, ...]]:
        # The constructor reads a pickle, and compares the fields with each other.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @classmethod
    def calibrate(
        cls,
        levels: object,
        *,
        bounds: object,
        guarantee: Guarantee,
        n_records: int,
        step: Fraction | int | None = None,
    ) -> JointPolyPlaceQuantiles:
        """Return the mechanism with windows and smoothing by the rule, which sees no data.

        Args:
            levels: rising, between 0 and 1; floats are their shortest decimals.
            bounds: (a, b), a < b; values are clamped to them.
            guarantee: PureDP about replacing one record.
            n_records: n >= 1, public.
            step: of the output's grid, > 0; None: about 2^-30 of the least noise.

        Raises:
            InvalidParameter: an argument outside its domain, or n epsilon too small for joint
                noise on so many levels.
            IncompatibleClaims: a guarantee about adding or removing a record.
        """
        found, pure = read_levels(levels), read_pure(guarantee)
        n_records = exact_int(n_records, name="n_records", minimum=1)
        windows = read_windows(found, n_records, epsilon_below(pure))
        queries = tuple(
            Quantile(q, bounds=bounds, window=width)
            for q, width in zip(found, windows.widths, strict=True)
        )
        calibration = JointPolyPlace(len(found)).calibrate(pure, smoothing=windows.smoothings)
        grid = OutputGrid(
            _default_step(queries, calibration, n_records) if step is None else Fraction(step),
            queries[0].bounds,
            step is not None and Fraction(step).denominator == 1,
        )
        return cls(queries, calibration, n_records, grid)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised for all levels together, before any data are seen."""
        return self.calibration.guarantee

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """The levels, rising."""
        return tuple(query.q for query in self.queries)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release of all levels: that of the guarantee."""
        return self.guarantee.profile()

    def read(self, data: object) -> Values:
        """Return the data as `release` takes them, checked: n_records finite numbers."""
        values = read_values(data)
        check_size(len(values), self.n_records)
        return values

    def release(self, data: object, *, rng: Entropy | None = None) -> tuple[float | int, ...]:
        """Return one value for each level, rising.

        Args:
            data: one column of n_records numbers.
            rng: `SystemRandom()` (default), or `SeededRandom`, for tests only.

        Raises:
            InvalidData: no column of n_records finite numbers. Nothing is released then.
        """
        source, values = read_rng(rng), self.read(data)
        # One sort: what each window then selects is in its place already.
        values = values.copy()
        values.sort()
        pairs = zip(self.queries, self.calibration.smoothings, strict=True)
        summaries = [query.private_summary(values, smoothing=t) for query, t in pairs]
        draws = joint_draws(
            summaries, self.calibration, step=self.grid.step, limits=self.grid.limits()
        )
        return tuple(self.grid.number(index) for index in sorted(draws.draw(source)))

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        text = _listed([str(query.window) for query in self.queries])
        rates = _listed([exact_text(t) for t in self.calibration.smoothings])
        return (
            f"quantiles {', '.join(f'{float(q):g}' for q in self.levels)} (means of {text} values "
            f"around each), values clamped to {bounds_text(self.queries[0].bounds)}; plus joint "
            f"PolyPlace noise scaled to smooth sensitivities with t = {rates}; sorted, "
            f"{self.grid.describe()}"
        )


def _listed(each: list[str]) -> str:
    """Return what all have in common, or one for each."""
    return each[0] if len(set(each)) == 1 else ", ".join(each)


def _default_step(
    queries: tuple[Quantile, ...], calibration: JointCalibration, n_records: int
) -> Fraction:
    """Return a power of two: about 2^-30 of the least noise that any data lead to."""
    pairs = zip(queries, calibration.smoothings, strict=True)
    least = [query.log_least_sensitivity(t, n_records) for query, t in pairs]
    known = min(value for value in least if value is not None)
    return step_below(queries[0].bounds, known + math.log(calibration.standard_deviation))
