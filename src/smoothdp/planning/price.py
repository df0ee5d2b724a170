"""The noise of a value and of its error bars, at S = 1 and before certification."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.mechanisms.release.bars.budget import bars_budget
from smoothdp.mechanisms.release.bars.certified import split_factor
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.error_bars import rest_of, scale_noise
from smoothdp.mechanisms.release.bars.excesses import excess_mixture
from smoothdp.mechanisms.release.bars.pivot import ScaleNoise, pivot_quantile
from smoothdp.mechanisms.release.defaults import compared_families, default_family
from smoothdp.noise import NoiseDistribution
from smoothdp.planning.noise_levels import estimated, log_least_deviation, over_rates
from smoothdp.queries import Query


class Quote(NamedTuple):
    """A law for one smoothing, and at S = 1 ln of its deviation and of a bar's half-width."""

    law: NoiseDistribution
    log_deviation: float
    log_half_width: float

    def log_cost(self, per_deviation: float | None) -> float:
        """Return ln of what a plan keeps small: the deviation, or the half-width in deviations.

        Args:
            per_deviation: half-width over deviation of a normal law; None without bars.
        """
        if per_deviation is None:
            return self.log_deviation
        return self.log_half_width - math.log(per_deviation)


@dataclass(frozen=True, slots=True)
class Price:
    """What a guarantee buys for n records, with error bars of a coverage or without.

    Attributes:
        guarantee, n_records, coverage: of the release; None: without bars.
        query: the statistic, window and all, where bars cover its quantile; else None.
    """

    guarantee: Guarantee
    n_records: int
    coverage: Coverage | None = None
    query: Query | None = None

    @property
    def per_deviation(self) -> float | None:
        """The half-width of a normal law of deviation 1 at this confidence; None without bars."""
        if self.coverage is None:
            return None
        return NormalDist().inv_cdf((1 + float(self.coverage.confidence)) / 2)

    def split(self, rate: Fraction) -> tuple[Guarantee, Fraction]:
        """Return what is left for the value, and the spread of the noise on ln S.

        Args:
            rate: the smoothing; 0 where S is the same at all data, and needs no noise.

        Raises:
            InvalidParameter: error bars are refused at this smoothing.
        """
        if self.coverage is None or rate == 0:
            return self.guarantee, Fraction(0)
        covers = "window" if self.query is None else self.coverage.target
        cost, spread = bars_budget(self.guarantee, rate, self.n_records, covers=covers)
        return rest_of(self.guarantee, cost), spread

    def quotes(self, rate: Fraction) -> list[Quote]:
        """Return the laws to compare at a smoothing, the default family first; [] if none serve."""
        try:
            value_guarantee, spread = self.split(rate)
        except InvalidParameter:
            return []
        quotes = []
        for family in compared_families(value_guarantee, rate):
            quote = self._quote(family, value_guarantee, rate, spread)
            if quote is not None:
                quotes.append(quote)
        return quotes

    def log_costs(self, rates: Sequence[float]) -> list[float]:
        """Return ln of what is kept small, by the default family, for each smoothing > 0."""
        return over_rates(self.guarantee, rates, self._log_cost)

    def log_cost_without_smoothing(self) -> float:
        """Return ln of what is kept small, by the default family, at t = 0."""
        return self._log_cost(Fraction(0))

    def log_least(self, rate: Fraction) -> float:
        """Return ln of a deviation that no noise can beat for the value."""
        return log_least_deviation(self.split(rate)[0], rate)

    def _log_cost(self, rate: Fraction) -> float:
        try:
            value_guarantee, spread = self.split(rate)
        except InvalidParameter:
            return math.inf
        quote = self._quote(default_family(value_guarantee, rate), value_guarantee, rate, spread)
        return math.inf if quote is None else quote.log_cost(self.per_deviation)

    def _quote(
        self,
        family: type[NoiseDistribution],
        value_guarantee: Guarantee,
        rate: Fraction,
        spread: Fraction,
    ) -> Quote | None:
        estimate = estimated(family, value_guarantee, rate)
        if estimate is None:
            return None
        law, log_deviation = estimate
        if self.coverage is None:
            return Quote(law, log_deviation, math.nan)
        kind = scale_noise(self.guarantee)
        stretch = _log_mean_stretch(kind, float(spread))
        if math.isinf(stretch):
            return None
        log_shift = math.log(law.variance) / 2 - log_deviation
        miss = self.coverage.miss
        if self.query is None:
            factor = pivot_quantile(law, miss=miss, scale_noise=kind, spread=float(spread))
        else:
            excess = excess_mixture(self.coverage, self.query, self.n_records, rate)
            factor = split_factor(
                law,
                excess.times(math.exp(log_shift)),
                miss=miss,
                scale_noise=kind,
                spread=float(spread),
            )
        return Quote(law, log_deviation, math.log(factor) + stretch - log_shift)


def _log_mean_stretch(kind: ScaleNoise, spread: float) -> float:
    """Return ln E e^B: by what the mean bar is longer than one of known S."""
    if kind is ScaleNoise.NORMAL:
        return spread * spread / 2
    return -math.log1p(-spread * spread) if spread < 1 else math.inf
