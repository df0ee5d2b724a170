"""Statistics with noise scaled to smooth sensitivity."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.release import Release, library_version
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.balls.work import limited
from smoothdp.exact.parameters.numbers import Parameter, exact_int, exact_text
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.exact.random.lazy import RoundedDraws
from smoothdp.mechanisms.release.arguments import check_sampler, check_statistic
from smoothdp.mechanisms.release.bars.budget import bars_budget
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.error_bars import ErrorBars, rest_of
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.mechanisms.release.defaults import default_family
from smoothdp.mechanisms.release.draws import value_draws
from smoothdp.mechanisms.release.grid import OutputGrid, default_step
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.resolved import Resolved, resolve_request
from smoothdp.noise.calibration import Calibration, best_shape
from smoothdp.noise.calibration.limits import MOST_WORK, default_work, too_much_work
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries import Median, Quantile, Query
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.statistic import PrivateSummary, Statistic
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True)
class SmoothNoise:
    """The mechanism f(x) + (S(x) / s) Z, rounded to a grid; all of it is fixed without data.

    S is the smooth sensitivity of f at x for the smoothing t, Z a law at unit scale, and s its
    calibrated shift. Where f leaves no value out, S is (b - a) / n at all data, and t is 0. The
    number released is the ideal real number correctly rounded: the random
    bits behind Z are drawn until the nearest point of the grid is certain. So it has exactly the
    law of a function of the ideal output, and its guarantee.

    Source: paper 2, sections 1.1 and 3; proofs/the-released-number#1, #3.

    Attributes:
        query: the statistic f, window and all.
        calibration: the law of Z, t, s, and the guarantee they keep.
        n_records: n, public; None for a `Custom`, whose data may be of any kind.
        grid: the values that can come out.
        bars: how ln S is released beside the value, for a confidence interval; None: not.

    Raises:
        InvalidParameter: a law that cannot be sampled; a subclass of a query that replaces what
            a release does not use.
        IncompatibleClaims: a guarantee about other neighbours than the statistic's.
        InvalidData: fewer records than the statistic needs.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> mechanism = SmoothNoise.calibrate(
    ...     Median((0, 100)), guarantee=PureDP(1), n_records=1001, round_to=1
    ... )
    >>> mechanism.query.window, mechanism.noise
    (13, PolyPlace(alpha=25/2))
    >>> mechanism.release([i % 91 for i in range(1001)], rng=SeededRandom(1)).value
    45
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "sections 1.1 and 3")
    query: Statistic
    calibration: Calibration[NoiseDistribution]
    n_records: int | None
    grid: OutputGrid
    bars: ErrorBars | None = None

    def __post_init__(self) -> None:
        if self.n_records is not None:
            exact_int(self.n_records, name="n_records", minimum=1)
        self.calibration.check()
        check_sampler(self.noise)
        check_statistic(self.query, self.guarantee)
        self.query.check_size(self.n_records)
        if self.smoothing == 0 and self.query.fixed_sensitivity(self.n_records) is None:
            raise InvalidParameter(
                expected=(
                    f"smoothing > 0 for the {self.query.describe()}, whose sensitivity depends on "
                    "the data"
                ),
                got="a calibration with smoothing=0",
                remedy="Calibrate the noise with the smoothing of the release",
            )
        if self.bars is not None:
            self.bars.check(self.calibration, self.query, self.n_records)

    def __reduce__(self) -> tuple[type[SmoothNoise], tuple[object, ...]]:
        # The constructor reads a pickle, and compares the fields with each other.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @classmethod
    def calibrate(
        cls,
        query: Statistic,
        *,
        guarantee: Guarantee,
        n_records: int | None,
        noise: NoiseDistribution | type[NoiseDistribution] | None = None,
        smoothing: Parameter | None = None,
        round_to: Parameter | None = None,
        clamp: bool = False,
        coverage: Coverage | None = None,
    ) -> SmoothNoise:
        """Return the mechanism with what is not given chosen by rules that see no data.

        Args:
            query: the statistic; a median or quantile with window=None gets a short window.
            guarantee: PureDP, ApproxDP, ZCDP or TruncatedCDP, about replacing one record.
            n_records: n >= 1, public; None for a `Custom`.
            noise: a law, or a family whose shape is to be chosen. None: PolyPlace for pure and
                approximate DP, arsinh-normal for zCDP (log1p-normal for t > epsilon / 2)
                and for truncated CDP with omega sqrt(2 rho) > 1, else Gaussian; where nothing is
                left out, Laplace for pure and approximate DP, else Gaussian.
            smoothing: t, above 0 and up to 20, fixed without the data; None: by rule, 0 where
                nothing is left out. A `Custom` needs it.
            round_to: a step for the output, such as 1 for whole numbers; None: about 2^-30 of
                the least noise, and no finer than floats within the bounds.
            clamp: whether values outside the bounds are replaced by the nearest inside.
            coverage: for a confidence interval beside the value, paid for by a share of the
                guarantee (`smoothdp.mechanisms.release.bars.budget`).

        Raises:
            InvalidParameter: an argument outside its domain, no scale of the noise keeps the
                guarantee, or error bars would cost more than they give.
            InvalidData: fewer records than the statistic needs.
        """
        request = ReleaseRequest.read(
            query,
            guarantee=guarantee,
            noise=noise,
            smoothing=smoothing,
            round_to=round_to,
            clamp=clamp,
            coverage=coverage,
        )
        return cls.of_request(request, n_records=n_records)

    @classmethod
    def of_request(cls, request: ReleaseRequest, *, n_records: int | None) -> SmoothNoise:
        """Return the mechanism that a request asks for; raises as `calibrate`."""
        resolved = resolve_request(request, n_records=n_records)
        return cls.of_resolved(resolved)

    @classmethod
    def of_resolved(cls, resolved: Resolved) -> SmoothNoise:
        """Return the mechanism for a statistic and a smoothing that are chosen."""
        request, query = resolved.request, resolved.query
        guarantee, coverage, step = request.guarantee, request.coverage, request.step
        n_records, rate = resolved.n_records, resolved.smoothing
        cost, spread = Fraction(0), Fraction(0)
        if coverage is not None and query.fixed_sensitivity(n_records) is None:
            size = request.n_guess if n_records is None else n_records
            of_quantile = isinstance(query, Median | Quantile | PaddedWindow)
            covers = coverage.target if of_quantile else "window"
            cost, spread = bars_budget(guarantee, rate, size, covers=covers)
        value_guarantee = rest_of(guarantee, cost)
        family = default_family(value_guarantee, rate) if request.noise is None else request.noise
        # One limit of work for shape and scale together.
        by_rule = request.noise is None and request.smoothing is None
        within = (
            default_work(guarantee, value_guarantee)
            if by_rule
            else limited(MOST_WORK, lambda: too_much_work(family, value_guarantee, rate))
        )
        with within:
            law = (
                best_shape(family, value_guarantee, smoothing=rate)
                if isinstance(family, type)
                else family
            )
            check_sampler(law)
            calibration = law.calibrate(value_guarantee, smoothing=rate)
        if step is None:
            step = default_step(query, calibration, n_records)
        is_whole = request.step is not None and step.denominator == 1
        grid = OutputGrid(step, query.bounds if request.clamp else None, is_whole)
        if coverage is None:
            return cls(query, calibration, n_records, grid)
        bars = ErrorBars.make(
            coverage,
            calibration,
            query,
            guarantee=guarantee,
            cost=cost,
            spread=spread,
            n_records=n_records,
        )
        return cls(query, calibration, n_records, grid, bars)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, before any data are seen: for value and interval together."""
        return self.calibration.guarantee if self.bars is None else self.bars.guarantee

    @property
    def windowed(self) -> Query:
        """The statistic as a mean of order statistics, with its methods for public data.

        Raises:
            InvalidParameter: the statistic is a `Custom`.
        """
        if isinstance(self.query, Query):
            return self.query
        raise InvalidParameter(
            expected="a mean of order statistics",
            got=self.query.describe(),
            remedy="Use mechanism.query, which is the statistic itself",
        )

    @property
    def noise(self) -> NoiseDistribution:
        """The law of Z, at unit scale."""
        return self.calibration.law

    @property
    def smoothing(self) -> Fraction:
        """The smoothing t."""
        return self.calibration.smoothing

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release.

        Tighter than what the guarantee implies; with error bars it is just that.
        """
        return self.calibration.profile() if self.bars is None else self.bars.guarantee.profile()

    def read(self, data: object) -> object:
        """Return the data as `release` takes them, checked."""
        return self.query.read(data)

    def release(self, data: object, *, rng: Entropy | None = None) -> Release[float | int]:
        """Return the statistic with noise, and the guarantee; with bars an `IntervalRelease`.

        Args:
            data: one column of n_records numbers, as `Query` takes it.
            rng: `SystemRandom()` (default), or `SeededRandom`, whose output is marked not
                private.

        Raises:
            InvalidData: no column of n_records finite numbers. Nothing is released then.
        """
        source = read_rng(rng)
        summary = self.query.private_summary(data, smoothing=self.smoothing)
        self.check_size(summary.n_records)
        index = self._draws(summary).draw(source)
        lowest, highest = self.grid.limits()
        value = self.grid.number(min(max(index, lowest), highest))
        sources = (self.source, self.query.source, self.noise.source, self.calibration.source)
        common = (self.guarantee, self.describe(), source.is_private, library_version(), sources)
        if self.bars is None:
            return Release(value, *common)
        interval = self.bars.interval(
            index * self.grid.step,
            self.bars.log_sensitivity(
                summary, self.query.fixed_sensitivity(self.n_records), source
            ),
            calibration=self.calibration,
            query=self.query,
            step=self.grid.step,
            n_records=self.n_records,
        )
        coverage = self.bars.coverage
        return IntervalRelease(
            value,
            *common,
            interval,
            coverage.confidence,
            coverage.words(self.query, self.n_records),
            coverage.target,
        )

    def check_size(self, n_records: int | None) -> None:
        """Raise InvalidData unless data of this size can be released."""
        if n_records != self.n_records:
            raise InvalidData(
                expected=f"{self.n_records} records, as the mechanism was made for",
                got=f"{n_records}",
                remedy="Make a mechanism for this number, which is public",
            )

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        t = exact_text(self.smoothing)
        fixed = self.query.fixed_sensitivity(self.n_records) is not None
        scale = "the sensitivity at all data" if fixed else f"smooth sensitivity with t = {t}"
        return (
            f"{self.query.describe()}; plus {self.noise!r} noise scaled to {scale} "
            f"(divided by {self.calibration.shift:.6g}); "
            f"{self.grid.describe()}" + ("" if self.bars is None else f"; {self.bars.describe()}")
        )

    def _draws(self, summary: PrivateSummary) -> RoundedDraws:
        """Return the draws at one database, in steps of the grid: as private as the data."""
        # The interval is about the value before it is clamped.
        limits = self.grid if self.bars is None else OutputGrid(self.grid.step)
        return value_draws(
            summary,
            self.noise.lazy(),
            shift=self.calibration.exact_shift,
            step=self.grid.step,
            limits=limits.limits(),
        )
