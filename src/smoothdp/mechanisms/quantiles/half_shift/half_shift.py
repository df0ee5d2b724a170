"""The half-shift release: quantiles with noise behind one hidden shift of half ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.release import Release, library_version
from smoothdp.errors import IncompatibleClaims, InvalidData, InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import exact_int, exact_text, float_of
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.quantiles.half_shift.bars import PartBars, ShiftBars
from smoothdp.mechanisms.quantiles.half_shift.budget import split
from smoothdp.mechanisms.quantiles.half_shift.cost import check_cost
from smoothdp.mechanisms.quantiles.half_shift.draws import shifted_summaries
from smoothdp.mechanisms.quantiles.half_shift.rules import calibrated, default_window
from smoothdp.mechanisms.quantiles.quantiles_release import QuantilesRelease
from smoothdp.mechanisms.release.arguments import check_sampler
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.mechanisms.release.draws import value_draws
from smoothdp.mechanisms.release.grid import OutputGrid, step_for
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.noise.calibration import Calibration
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries import Median, Quantile, Quantiles
from smoothdp.queries.many.half_shift import HalfShiftWindow
from smoothdp.queries.read_arguments import read_values
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True)
class ShiftedPart:
    """One value of a half-shift release; all of it is fixed without data.

    Attributes:
        window: of half ranks, with its smoothing. calibration: of its noise.
        bars: how ln S is released beside it; None: not.
    """

    window: HalfShiftWindow
    calibration: Calibration[NoiseDistribution]
    bars: PartBars | None = None


@dataclass(frozen=True, slots=True)
class HalfShift:
    """One or several quantiles: a hidden shift of half ranks, then independent noise.

    h is drawn from the discrete Gaussian law on the whole numbers with parameter sigma_h^2, once
    for all values, and never published. Value j is f_j(h) + (S_j(h) / s_j) Z_j, the mean and the
    smooth sensitivity of a window of doubled data that h moves by half ranks. Replacing one record
    is then a step of h by one, and a move of at most half the sensitivity: together
    1 / (2 sigma_h^2) + sum of rho_j of zCDP. Several values are published in increasing order,
    within the bounds.

    Replacing one record, with n public: under adding or removing one it is refused.

    Source: proofs/half-shift#2.

    Attributes:
        query: a `Median`, a `Quantile`, or `Quantiles`.
        guarantee: what is promised: follows from the parts, as compared when it is made.
        shift_variance: sigma_h^2.
        parts: a window and its noise for each value.
        n_records: n, public.
        grid: the values that can come out.
        bars: what intervals cover; None: no intervals.

    Raises:
        InvalidParameter: parts that cost more than the guarantee, or are not those of the query.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> from smoothdp.claims import ZCDP
    >>> quartiles = Quantiles([0.25, 0.5, 0.75], bounds=(0, 100))
    >>> mechanism = HalfShift.calibrate(quartiles, guarantee=ZCDP("1/2"), n_records=1001)
    >>> released = mechanism.release([i % 91 for i in range(1001)], rng=SeededRandom(1))
    >>> [round(value) for value in released.value]
    [22, 45, 68]
    """

    source: ClassVar[Source] = Source("own", "proofs/half-shift#2")
    query: Median | Quantile | Quantiles
    guarantee: Guarantee
    shift_variance: Fraction
    parts: tuple[ShiftedPart, ...]
    n_records: int
    grid: OutputGrid
    bars: ShiftBars | None = None

    def __post_init__(self) -> None:
        exact_int(self.n_records, name="n_records", minimum=1)
        check_query(self.query)
        if len(self.parts) != len(singles(self.query)):
            raise InvalidParameter(
                expected=f"a part for each of {len(singles(self.query))} values",
                got=f"{len(self.parts)}",
                remedy="Make it with HalfShift.calibrate",
            )
        for part in self.parts:
            part.calibration.check()
            check_sampler(part.calibration.law)
            if part.calibration.smoothing != part.window.smoothing:
                raise InvalidParameter(
                    expected=f"noise for smoothing={exact_text(part.window.smoothing)}",
                    got=f"smoothing={exact_text(part.calibration.smoothing)}",
                    remedy="Make it with HalfShift.calibrate",
                )
            if (part.bars is None) != (self.bars is None):
                raise InvalidParameter(
                    expected="bars of every value, or of none",
                    got="some",
                    remedy="Make it with HalfShift.calibrate",
                )
        check_cost(
            self.guarantee,
            self.shift_variance,
            [part.calibration for part in self.parts],
            [part.bars for part in self.parts],
        )
        if self.bars is not None:
            self.bars.check(
                [
                    (single, part.window, part.calibration, part.bars)
                    for single, part in zip(singles(self.query), self.parts, strict=True)
                ],
                shift_variance=self.shift_variance,
                n_records=self.n_records,
            )

    def __reduce__(self) -> tuple[type[HalfShift], tuple[object, ...]]:
        # The constructor reads a pickle, and compares the fields with each other.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @classmethod
    def calibrate(
        cls,
        query: Median | Quantile | Quantiles,
        *,
        guarantee: Guarantee,
        n_records: int,
    ) -> HalfShift:
        """Return the release without intervals, its windows and noise by rules that see no data.

        Args:
            query: one without a window of its own. n_records: n, public.
            guarantee: ZCDP, TruncatedCDP or ApproxDP, about replacing one record.

        Raises:
            InvalidParameter: a guarantee that it does not serve, or no noise keeps it.
            IncompatibleClaims: a guarantee about adding or removing a record.
        """
        request = ReleaseRequest.read(query, guarantee=guarantee)
        return cls.of_request(request, n_records=n_records)

    @classmethod
    def of_request(cls, request: ReleaseRequest, *, n_records: int) -> HalfShift:
        """Return the release that a request asks for; raises as `calibrate`."""
        query, guarantee = check_query(request.query), request.guarantee
        if guarantee.neighbours is not Neighbours.REPLACE_ONE:
            raise IncompatibleClaims(
                expected="a guarantee about replacing one record, for a half-shift release",
                got=f"{guarantee!r}",
                remedy="Use windows for a private number of records, as smoothdp.release does",
            )
        n_records = exact_int(n_records, name="n_records", minimum=1)
        bars = (
            None
            if request.coverage is None
            else ShiftBars.read(request.coverage, len(singles(query)), request.simultaneous)
        )
        budget = split(guarantee, len(singles(query)), has_bars=bars is not None)
        parts = []
        for single in singles(query):
            window = default_window(
                single,
                budget.part,
                n_records,
                has_bars=bars is not None,
                population=bars is not None and bars.population,
            )
            calibration = calibrated(budget.part, window.smoothing, whole=guarantee)
            part_bars = None
            if bars is not None:
                part_bars = bars.make(
                    single,
                    window,
                    calibration,
                    cost=budget.bar_cost,
                    shift_variance=budget.shift_variance,
                    n_records=n_records,
                )
            parts.append(ShiftedPart(window, calibration, part_bars))
        step = request.step
        if step is None:
            step = min(_step(query, part, n_records) for part in parts)
        is_whole = request.step is not None and step.denominator == 1
        clamps = request.clamp or isinstance(query, Quantiles)
        grid = OutputGrid(step, query.bounds if clamps else None, is_whole)
        return cls(query, guarantee, budget.shift_variance, tuple(parts), n_records, grid, bars)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release: that of the guarantee."""
        return self.guarantee.profile()

    def read(self, data: object) -> object:
        """Return the data as `release` takes them, checked."""
        return read_values(data)

    def release(self, data: object, *, rng: Entropy | None = None) -> Release[Any]:
        """Return the values with noise, and the guarantee.

        Args:
            data: one column of n_records numbers.
            rng: `SystemRandom()` (default), or `SeededRandom`, whose output is marked not
                private.

        Raises:
            InvalidData: no column of n_records finite numbers. Nothing is released then.
        """
        source = read_rng(rng)
        values = read_values(data)
        if len(values) != self.n_records:
            raise InvalidData(
                expected=f"{self.n_records} records, as the mechanism was made for",
                got=f"{len(values)}",
                remedy="Make a mechanism for this number, which is public",
            )
        summaries = shifted_summaries(
            values,
            self.query.bounds,
            [part.window for part in self.parts],
            shift_variance=self.shift_variance,
            rng=source,
        )
        # Intervals are about the values before they are clamped and sorted.
        limits = OutputGrid(self.grid.step).limits()
        drawn, intervals = [], []
        for part, summary in zip(self.parts, summaries, strict=True):
            draws = value_draws(
                summary,
                part.calibration.law.lazy(),
                shift=part.calibration.exact_shift,
                step=self.grid.step,
                limits=limits,
            )
            index = draws.draw(source)
            drawn.append(index)
            if part.bars is not None:
                log_sensitivity = part.bars.log_sensitivity(summary, source)
                intervals.append(
                    part.bars.interval(
                        index * self.grid.step, log_sensitivity, self.query.bounds, self.grid.step
                    )
                )
        lowest, highest = self.grid.limits()
        numbers = sorted(self.grid.number(min(max(i, lowest), highest)) for i in drawn)
        laws = dict.fromkeys(part.calibration.law.source for part in self.parts)
        sources = (self.source, *laws)
        common = (self.guarantee, self.describe(), source.is_private, library_version(), sources)
        if isinstance(self.query, Quantiles):
            pairs = None if self.bars is None else self.bars.together(intervals)
            return QuantilesRelease(
                tuple(numbers),
                *common,
                self.query.levels,
                pairs,
                None if self.bars is None else self.bars.confidence,
                "" if self.bars is None else self.bars.words(self.query),
            )
        if self.bars is None:
            return Release(numbers[0], *common)
        return IntervalRelease(
            numbers[0],
            *common,
            intervals[0],
            self.bars.confidence,
            self.bars.words(self.query),
        )

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        parts = {}
        for part in self.parts:
            key = part.window.width, part.window.smoothing
            parts[key] = (
                f"windows of {2 * key[0]} half ranks, {part.calibration.law!r} noise scaled to "
                f"smooth sensitivity with t = {exact_text(key[1])} (divided by "
                f"{part.calibration.shift:.6g})"
            )
        return (
            f"{self.query.describe()}; all ranks moved by one hidden number of half ranks, "
            f"discrete Gaussian with sigma^2 = {exact_text(self.shift_variance)}; "
            f"{'; '.join(parts.values())}; {self.grid.describe()}"
            + ("" if self.bars is None else f"; {self.bars.describe()}")
        )


def singles(query: Median | Quantile | Quantiles) -> tuple[Median | Quantile, ...]:
    """Return each value as a statistic of its own."""
    return query.singles if isinstance(query, Quantiles) else (query,)


def check_query(query: object) -> Median | Quantile | Quantiles:
    """Return a query without a window of its own, or raise InvalidParameter."""
    if type(query) is Quantiles:
        return query
    if type(query) in (Median, Quantile) and isinstance(query, Median | Quantile):
        return query
    raise InvalidParameter(
        expected="a Median, a Quantile or Quantiles, for a half-shift release",
        got=f"{type(query).__name__}",
        remedy="Use smoothdp.release, which releases other statistics too",
    )


def _step(query: Median | Quantile | Quantiles, part: ShiftedPart, n_records: int) -> Fraction:
    """Return the default step for one value: about 2^-30 of the least noise.

    At h = 0, between the distances at which one end of the window and both stand on the bounds
    the sensitivity is at least half of the range over W, less what the steps there cost.
    """
    lower, upper = query.bounds
    window = part.window
    log_range = log_bounds((upper - lower) / window.cells).lower
    steps = window.steps(0, n_records)
    least = log_range - float_of(window.smoothing) * steps[-1]
    return step_for(query.bounds, part.calibration, least if math.isfinite(least) else None)
