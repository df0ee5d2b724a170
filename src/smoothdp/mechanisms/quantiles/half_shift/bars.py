"""Intervals beside the values of a half-shift release.

ln S_j at the hidden half shift moves by at most t_j between neighbours: L_j = ln S_j + B_j with
normal noise of deviation b costs t_j^2 / (2 b^2) of zCDP. The interval y_j +- F e^(L_j) covers
the quantile of these records, or the population's, with the probability asked for, whatever the
records are: F is made for the mean over h of what is covered (proofs/half-shift#6). The window's
own mean is refused: where the window is, is hidden.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_text, float_bounds
from smoothdp.exact.random.entropy import Entropy
from smoothdp.mechanisms.quantiles.half_shift.coverage import Target, factor
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.ends import LOG_STEP
from smoothdp.mechanisms.release.defaults import SAMPLING_ERROR
from smoothdp.mechanisms.release.draws import log_sensitivity_draws
from smoothdp.noise.calibration import Calibration
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries import Median, Quantile, Quantiles
from smoothdp.queries.many.half_shift import HalfShiftWindow
from smoothdp.queries.many.quantiles import level_text
from smoothdp.queries.read_arguments import Bounds
from smoothdp.queries.statistic import PrivateSummary

_FLOAT_ERROR = 1e-11
_LEAST_HALF = 1e-300
_FAR = 1 << 80


@dataclass(frozen=True, slots=True)
class PartBars:
    """How ln S of one value is released, and how wide its interval is.

    Attributes:
        cost: rho. spread: the deviation of B. factor: F, rounded up.
    """

    cost: Fraction
    spread: Fraction
    factor: float

    def is_paid(self, smoothing: Fraction) -> bool:
        """Whether the cost is what the noise on ln S costs, or more."""
        return self.cost > 0 and self.spread > 0 and 2 * self.cost * self.spread**2 >= smoothing**2

    def log_sensitivity(self, summary: PrivateSummary, rng: Entropy) -> float:
        """Return L, drawn, in steps of 2^-20."""
        draws = log_sensitivity_draws(
            summary,
            SAMPLING_ERROR.lazy(),
            spread=self.spread,
            step=LOG_STEP,
            limits=(-_FAR, _FAR),
        )
        return float(draws.draw(rng) * LOG_STEP)

    def interval(
        self, value: Fraction, log_sensitivity: float, bounds: Bounds, step: Fraction
    ) -> tuple[float, float]:
        """Return the interval around a value before it is clamped: from released numbers alone.

        Args:
            value: y. log_sensitivity: L. step: of the grid of y.
        """
        lower, upper = bounds
        log_half = math.log(self.factor) + log_sensitivity + float(LOG_STEP) / 2 + _FLOAT_ERROR
        if log_half < 700:
            half = Fraction(max(math.exp(log_half) * (1 + _FLOAT_ERROR), _LEAST_HALF)) + step / 2
            lower = min(max(bounds[0], value - half), bounds[1])
            upper = max(min(bounds[1], value + half), bounds[0])
        return float_bounds(lower)[0], float_bounds(upper)[1]


@dataclass(frozen=True, slots=True)
class ShiftBars:
    """What the intervals cover.

    Attributes:
        confidence: of each interval, or of all together. each: with which each is made.
        population: whether they cover the population's quantiles.
        simultaneous: whether the statement is about all of them together.
    """

    confidence: Fraction
    each: Fraction
    population: bool = False
    simultaneous: bool = False

    @classmethod
    def read(cls, coverage: Coverage, n_values: int, simultaneous: bool) -> ShiftBars:
        """Return the bars that are asked for.

        Raises:
            InvalidParameter: a target that a half-shift release has no interval for.
        """
        if coverage.target not in ("quantile", "population"):
            raise InvalidParameter(
                expected='covers="quantile" or "population" for a half-shift release, whose '
                "window is moved by a number that is not published",
                got=f"covers={coverage.target!r}",
                remedy="Use covers='quantile', or give a median or quantile a window of its own",
            )
        confidence = coverage.confidence
        each = 1 - (1 - confidence) / n_values if simultaneous else confidence
        return cls(confidence, each, coverage.target == "population", simultaneous)

    def make(
        self,
        single: Median | Quantile,
        window: HalfShiftWindow,
        calibration: Calibration[NoiseDistribution],
        *,
        cost: Fraction,
        shift_variance: Fraction,
        n_records: int,
    ) -> PartBars:
        """Return the bars of one value, at a cost of rho."""
        # Rounded up, so that t^2 / (2 spread^2) <= cost.
        spread = Fraction(float(window.smoothing) / math.sqrt(2 * float(cost)) * (1 + 1e-12))
        while 2 * cost * spread**2 < window.smoothing**2:
            spread *= 1 + Fraction(1, 10**12)
        wide = self._factor(single, window, calibration, spread, shift_variance, n_records)
        return PartBars(cost, spread, wide)

    def check(
        self,
        parts: Sequence[
            tuple[
                Median | Quantile,
                HalfShiftWindow,
                Calibration[NoiseDistribution],
                PartBars | None,
            ]
        ],
        *,
        shift_variance: Fraction,
        n_records: int,
    ) -> None:
        """Refuse factors that are too small for the confidence that is stated."""
        least = 1 - (1 - self.confidence) / len(parts) if self.simultaneous else self.confidence
        for single, window, calibration, bars in parts:
            assert bars is not None
            needed = self._factor(
                single, window, calibration, bars.spread, shift_variance, n_records
            )
            if not bars.factor >= needed or self.each < least:
                raise InvalidParameter(
                    expected=f"factor of at least {needed!r}, for the confidence that is stated",
                    got=f"factor={bars.factor!r}, each={exact_text(self.each)}",
                    remedy="Make it with HalfShift.of_request",
                )

    def _factor(
        self,
        single: Median | Quantile,
        window: HalfShiftWindow,
        calibration: Calibration[NoiseDistribution],
        spread: Fraction,
        shift_variance: Fraction,
        n_records: int,
    ) -> float:
        level = single.q if isinstance(single, Quantile) else Fraction(1, 2)
        return factor(
            calibration.law,
            calibration.shift,
            float_bounds(spread)[1],
            window,
            shift_variance,
            Target(level, n_records, self.population),
            float_bounds(self.each)[1],
        )

    def together(self, intervals: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
        """Return the intervals as they are published.

        Where all cover together, their ends may be sorted, and are; where each covers for itself
        they may not (proofs/half-shift#7).
        """
        if not self.simultaneous:
            return tuple(intervals)
        lows, highs = sorted(low for low, _ in intervals), sorted(high for _, high in intervals)
        return tuple(zip(lows, highs, strict=True))

    def words(self, query: Median | Quantile | Quantiles) -> str:
        """Return what is covered, in words."""
        if self.population:
            whose = (
                "of the population the records were drawn from independently, whatever its "
                "distribution"
            )
        else:
            whose = "of these records, whatever the records are"
        if isinstance(query, Median):
            return f"the median {whose}"
        if isinstance(query, Quantile):
            return f"the {level_text(query.q)} quantile {whose}"
        how = "all of them together" if self.simultaneous else "each for itself"
        return f"the quantiles {whose}, {how}"

    def describe(self) -> str:
        """Return the intervals in words; all of it is public."""
        return f"a {float(self.confidence):.15g} interval" + (
            " for all together" if self.simultaneous else ""
        )
