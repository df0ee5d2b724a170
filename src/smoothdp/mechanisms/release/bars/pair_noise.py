"""A statistic and ln of its sensitivity, with the noise of the max law on both."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.release import Release, library_version
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import exact_text, float_bounds, float_of
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.exact.random.lazy_pair import draw_pair
from smoothdp.mechanisms.release.arguments import check_statistic
from smoothdp.mechanisms.release.bars.budget import check_worth
from smoothdp.mechanisms.release.bars.certified import max_law_factor
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.ends import LOG_STEP, ends_around
from smoothdp.mechanisms.release.bars.error_bars import FAR
from smoothdp.mechanisms.release.bars.excesses import excess_mixture
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.mechanisms.release.bars.targets import Target
from smoothdp.mechanisms.release.draws import log_sensitivity_draws, value_draws
from smoothdp.mechanisms.release.grid import OutputGrid, pair_step
from smoothdp.mechanisms.release.resolved import Resolved
from smoothdp.noise.joint.max_law import MaxLaw, MaxLawCalibration
from smoothdp.queries import Median, Quantile
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.statistic import Statistic
from smoothdp.sources import Source

LEAST_RATIO = 0.03
"""Up to t = .03 epsilon two independent releases are as good (proofs/release-rules#6)."""
_SLOPE, _LESS = 0.15, 0.6
_MOST_OFFSET, _MOST_OF_SAMPLES = 4.0, 1.0


@dataclass(frozen=True, slots=True)
class PairNoise:
    """The mechanism (f(x) + S(x) Z, ln S(x) + B), both rounded; the interval follows from it.

    Source: proofs/quantile-bars#2, #5; rounding: proofs/the-released-number#3, #5.

    Attributes:
        query: the statistic, window and all. calibration: of the max law: (Z, B), t and epsilon.
        n_records: n where it is public. grid: of the value. coverage: of the interval.
        factor: F, such that y +- F e^W covers as surely as is promised.

    Raises:
        InvalidParameter: a factor that is too small for the confidence, a coverage that the
            statistic does not have, a smoothing above epsilon / 5.
        IncompatibleClaims: a guarantee about other neighbours than the statistic's.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> from smoothdp.mechanisms.release.release import release
    >>> from smoothdp.claims import PureDP
    >>> ages = [20 + i % 50 for i in range(1000)]
    >>> release(
    ...     ages, Median((0, 120)), guarantee=PureDP(1), confidence="0.95", rng=SeededRandom(1)
    ... ).covers
    'contains the median of these records with probability at least 0.95, whatever the records...'
    """

    source: ClassVar[Source] = Source("own", "proofs/quantile-bars#5")
    query: Statistic
    calibration: MaxLawCalibration
    n_records: int | None
    grid: OutputGrid
    coverage: Coverage
    factor: float

    def __post_init__(self) -> None:
        check_statistic(self.query, self.guarantee)
        self.query.check_size(self.n_records)
        check_worth(self.guarantee, self.smoothing, self.n_records)
        self.coverage.check(self.query, self.n_records, is_rounded=False)
        needed = _factor(self.coverage, self.query, self.n_records, self.calibration)
        if not self.factor >= needed:
            raise InvalidParameter(
                expected=f"factor of at least {needed!r}, for the confidence that is stated",
                got=f"factor={self.factor!r}",
                remedy="Let sd.release make the mechanism",
            )

    def __reduce__(self) -> tuple[type[PairNoise], tuple[object, ...]]:
        # The constructor reads a pickle, and compares the fields with each other.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @classmethod
    def of_resolved(cls, resolved: Resolved) -> PairNoise:
        """Return the mechanism for a statistic and a smoothing that are chosen."""
        request, query, n_records = resolved.request, resolved.query, resolved.n_records
        coverage = request.coverage
        assert coverage is not None
        size = request.n_guess if n_records is None else n_records
        check_worth(request.guarantee, resolved.smoothing, size)
        law = MaxLaw(default_offset(request.guarantee, resolved.smoothing, target=coverage.target))
        calibration = law.calibrate(request.guarantee, smoothing=resolved.smoothing)
        step = request.step
        if step is None:
            step = pair_step(query, calibration, n_records)
        is_whole = request.step is not None and step.denominator == 1
        grid = OutputGrid(step, query.bounds if request.clamp else None, is_whole)
        factor = _factor(coverage, query, n_records, calibration)
        return cls(query, calibration, n_records, grid, coverage, factor)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised of value and interval together."""
        return self.calibration.guarantee

    @property
    def smoothing(self) -> Fraction:
        """The smoothing t."""
        return self.calibration.smoothing

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release: that of the guarantee."""
        return self.guarantee.profile()

    def read(self, data: object) -> object:
        """Return the data as `release` takes them, checked."""
        return self.query.read(data)

    def release(self, data: object, *, rng: Entropy | None = None) -> Release[float | int]:
        """Return value and interval with the guarantee of both, an `IntervalRelease`.

        Args:
            data: one column, of n_records numbers where n is public.
            rng: `SystemRandom()` (default), or `SeededRandom`, marked not private.

        Raises:
            InvalidData: no such column. Nothing is released then.
        """
        source = read_rng(rng)
        summary = self.query.private_summary(data, smoothing=self.smoothing)
        if summary.n_records != self.n_records:
            raise InvalidData(
                expected=f"{self.n_records} records, as the mechanism was made for",
                got=f"{summary.n_records}",
                remedy="Make a mechanism for this number, which is public",
            )
        pair = self.calibration.lazy()
        # The interval is about the value before it is clamped.
        values = value_draws(
            summary,
            pair.first,
            shift=Fraction(1),
            step=self.grid.step,
            limits=OutputGrid(self.grid.step).limits(),
        )
        logs = log_sensitivity_draws(
            summary, pair.second, spread=Fraction(1), step=LOG_STEP, limits=(-FAR, FAR)
        )
        index, log_index = draw_pair(pair, values, logs, source)
        lowest, highest = self.grid.limits()
        return IntervalRelease(
            self.grid.number(min(max(index, lowest), highest)),
            self.guarantee,
            self.describe(),
            source.is_private,
            library_version(),
            (self.source, self.query.source),
            self.interval(index * self.grid.step, float(log_index * LOG_STEP)),
            self.coverage.confidence,
            self.coverage.words(self.query, self.n_records),
            self.coverage.target,
        )

    def interval(self, value: Fraction, log_sensitivity: float) -> tuple[float, float]:
        """Return the interval around a value before clamping: a function of what is released.

        Args:
            value: y on the grid, not clamped. log_sensitivity: W on its grid.
        """
        log_half = math.log(self.factor) + log_sensitivity
        low, high = ends_around(value, log_half, bounds=self.query.bounds, step=self.grid.step)
        return float_bounds(low)[0], float_bounds(high)[1]

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        name, epsilon = "epsilon", self.calibration.shape * self.smoothing
        return (
            f"{self.query.describe()}; plus noise of the max law with {name} "
            f"{exact_text(epsilon)}, on the value and on ln of its smooth sensitivity with t = "
            f"{exact_text(self.smoothing)}; {self.grid.describe()}; a "
            f"{float(self.coverage.confidence):.15g} interval from both"
        )


def default_offset(guarantee: Guarantee, smoothing: Fraction, *, target: Target) -> Fraction:
    """Return the max law's offset d = .15 epsilon / t - .6, from 0 to 4: any d >= 0 is private.

    For the population's quantile, which is many ranks away, d is at most 1. In the cells that a
    release comes to (epsilon from .1 to 2, n up to 10,001, t from .01 to .2 epsilon) the interval
    is within .2% of the shortest over d, for the population within 2%; d = 1 was up to 10% longer.

    Args:
        guarantee: PureDP or ApproxDP. smoothing: t > 0. target: what the interval covers.

    >>> from smoothdp.claims import PureDP
    >>> smoothings = Fraction("0.02"), Fraction("0.09"), Fraction("0.2")
    >>> [str(default_offset(PureDP(1), t, target="quantile")) for t in smoothings]
    ['4', '107/100', '3/20']
    """
    terms = guarantee.terms()
    assert isinstance(terms, EpsilonTerms)
    d = _SLOPE * float_of(terms.epsilon) / float_of(smoothing) - _LESS
    most = _MOST_OF_SAMPLES if target == "population" else _MOST_OFFSET
    return Fraction(f"{min(max(d, 0.0), most):.2f}")


def takes_pair(resolved: Resolved) -> bool:
    """Whether a release is made by the max law: pure or approximate DP, t > .03 epsilon.

    For the quantile of a population it is shorter at every t. A law that the caller gives is
    kept, and so are trimmed means and what others proved.
    """
    request, query = resolved.request, resolved.query
    terms = request.guarantee.terms()
    if request.coverage is None or request.noise is not None:
        return False
    if not isinstance(terms, EpsilonTerms):
        return False
    ours = isinstance(query, Median | Quantile)
    ours = ours or (isinstance(query, PaddedWindow) and query.stands_for_quantile)
    fixed = query.fixed_sensitivity(resolved.n_records) is not None
    epsilon = float_of(terms.epsilon)
    least = 0.0 if request.coverage.target == "population" else LEAST_RATIO
    return ours and not fixed and least * epsilon < float_of(resolved.smoothing)


def _factor(
    coverage: Coverage,
    query: Statistic,
    n_records: int | None,
    calibration: MaxLawCalibration,
) -> float:
    mixture = excess_mixture(coverage, query, n_records, calibration.smoothing)
    return max_law_factor(calibration, mixture, miss=coverage.miss)
