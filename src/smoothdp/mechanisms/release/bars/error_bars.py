"""Private error bars: a share of the budget releases ln S, and the interval follows from it.

Neighbours move ln S by at most t. So L = ln S + B costs t / b with Laplace noise of scale b, and
t^2 / (2 sigma^2) of zCDP with normal noise. s |y - f| e^-L = |Z| e^-B has a law free of data:
y +- q e^L / s covers f(x) with the probability asked for, at every database, ties and all. With a
larger q it covers what is at most k S from f (proofs/quantile-bars#2).
L is rounded to a grid of 2^-20 and y to its own grid; half a step of each is added.

Where nothing is left out, the value is released with S = (b - a) / n whatever the records are:
that is public, nothing is spent on it, and the half-width comes from public parameters alone.

Source: proofs/error-bars#1, #2, #3, #5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import EpsilonTerms, MuTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import exact_text, float_bounds, square_root
from smoothdp.exact.random.entropy import Entropy
from smoothdp.mechanisms.release.bars.certified import split_factor
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.ends import LOG_STEP, ends_around
from smoothdp.mechanisms.release.bars.excesses import excess_mixture
from smoothdp.mechanisms.release.bars.pivot import ScaleNoise, pivot_quantile
from smoothdp.mechanisms.release.defaults import global_law
from smoothdp.mechanisms.release.draws import log_sensitivity_draws
from smoothdp.noise import Calibration, NoiseDistribution
from smoothdp.queries.statistic import PrivateSummary, Statistic
from smoothdp.sources import Source

FAR = 1 << 80
"""The range of L in steps."""


@dataclass(frozen=True, slots=True)
class ErrorBars:
    """What is released beside the value, and how an interval comes from both.

    Attributes:
        guarantee: the promise of value and interval together.
        coverage: what the interval covers, and how surely.
        cost: what ln S costs: epsilon of pure and approximate DP, rho, or mu squared. 0 if S is
            public.
        spread: the scale of B, the deviation where it is normal; 0 if S is public.
        factor: q, rounded up.

    Raises:
        InvalidParameter (by `check`): a spread that is too small for its cost, a factor that is
            too small for the confidence.
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Definition 14")
    guarantee: Guarantee
    coverage: Coverage
    cost: Fraction
    spread: Fraction
    factor: float

    @classmethod
    def make(
        cls,
        coverage: Coverage,
        calibration: Calibration[NoiseDistribution],
        query: Statistic,
        *,
        guarantee: Guarantee,
        cost: Fraction,
        spread: Fraction,
        n_records: int | None,
    ) -> ErrorBars:
        """Return the bars beside a value whose noise is calibrated to the rest of the budget."""
        mixture = excess_mixture(coverage, query, n_records, calibration.smoothing)
        if mixture.is_single and mixture.excess[0] == 0:
            factor = pivot_quantile(
                calibration.law,
                miss=coverage.miss,
                scale_noise=scale_noise(guarantee),
                spread=float(spread),
                sampling=calibration.shift * coverage.sampling(query, n_records),
            )
        else:
            # In units of Z at unit scale; the shift that noise is divided by is not above this.
            units = float_bounds(calibration.exact_shift)[1]
            factor = split_factor(
                calibration.law,
                mixture.times(units),
                miss=coverage.miss,
                scale_noise=scale_noise(guarantee),
                spread=float(spread),
            )
        return cls(guarantee, coverage, cost, spread, factor)

    def check(
        self, calibration: Calibration[NoiseDistribution], query: Statistic, n_records: int | None
    ) -> None:
        """Refuse bars that cost more than they say, or more than the guarantee leaves."""
        t, pure = calibration.smoothing, _is_pure(self.guarantee)
        if self.spread == 0:
            honest = query.fixed_sensitivity(n_records) is not None
        else:
            per_cost = 1 if isinstance(self.guarantee.terms(), MuTerms) else 2
            square = per_cost * self.cost * self.spread**2
            honest = self.spread * self.cost >= t if pure else square >= t * t
        # A negative cost would leave more than there is.
        honest = honest and self.cost >= 0 and self.spread >= 0
        rest = rest_of(self.guarantee, max(self.cost, Fraction(0)))
        if not honest or not calibration.guarantee.implies(rest):
            raise InvalidParameter(
                expected="error bars and noise that together keep the guarantee",
                got=f"cost={exact_text(self.cost)}, spread={exact_text(self.spread)}",
                remedy="Make them with SmoothNoise.calibrate(..., confidence=)",
            )
        made = self.make(
            self.coverage,
            calibration,
            query,
            guarantee=self.guarantee,
            cost=self.cost,
            spread=self.spread,
            n_records=n_records,
        )
        if not self.factor >= made.factor:
            raise InvalidParameter(
                expected=f"factor of at least {made.factor!r}, for the confidence that is stated",
                got=f"factor={self.factor!r}",
                remedy="Make the bars with SmoothNoise.calibrate(..., confidence=)",
            )

    def log_sensitivity(
        self, summary: PrivateSummary, fixed: Fraction | None, rng: Entropy
    ) -> float:
        """Return L, drawn; where S is the same at all data, ln S rounded up, from it alone.

        Args:
            summary: of the private data. fixed: `Statistic.fixed_sensitivity`, of n.
        """
        if fixed is not None:
            return log_bounds(fixed).upper
        draws = log_sensitivity_draws(
            summary,
            global_law(self.guarantee).lazy(),
            spread=self.spread,
            step=LOG_STEP,
            limits=(-FAR, FAR),
        )
        return float(draws.draw(rng) * LOG_STEP)

    def interval(
        self,
        value: Fraction,
        log_sensitivity: float,
        *,
        calibration: Calibration[NoiseDistribution],
        query: Statistic,
        step: Fraction,
        n_records: int | None,
    ) -> tuple[float, float]:
        """Return the interval around a value before clamping: a function of what is released.

        Args:
            value: y on the grid, not clamped. log_sensitivity: L.
            calibration, query, n_records: the mechanism. step: that of the grid of y.
        """
        ends = ends_around(
            value,
            math.log(self.factor) + log_sensitivity - math.log(calibration.shift),
            bounds=query.bounds,
            step=step,
        )
        lower, upper = self.coverage.widened(*ends, query, n_records)
        return float_bounds(lower)[0], float_bounds(upper)[1]

    def describe(self) -> str:
        """Return the bars in words; all of it is public."""
        name = "epsilon" if _is_pure(self.guarantee) else "rho"
        if isinstance(self.guarantee.terms(), MuTerms):
            name = "mu squared"
        share = "at no cost"
        if self.cost > 0:
            share = f"for {name} {exact_text(self.cost)} of the budget"
        return f"a {float(self.coverage.confidence):.15g} interval {share}"


def rest_of(guarantee: Guarantee, cost: Fraction) -> Guarantee:
    """Return what is left of a guarantee; the two compose to no more than it."""
    if cost == 0:
        return guarantee
    terms = guarantee.terms()
    if isinstance(terms, MuTerms):
        # Squares of mu add up (proofs/gaussian-dp#2).
        return guarantee.changed(mu=square_root(max(Fraction(0), terms.mu**2 - cost), up=False))
    name = "epsilon" if _is_pure(guarantee) else "rho"
    whole = guarantee.parameters()[name]
    if not isinstance(whole, Fraction):
        whole = Fraction(log_bounds(whole.ratio).lower)
    return guarantee.changed(**{name: whole - cost})


def _is_pure(guarantee: Guarantee) -> bool:
    return isinstance(guarantee.terms(), EpsilonTerms)


def scale_noise(guarantee: Guarantee) -> ScaleNoise:
    """Return the law of the noise on ln S that a guarantee can pay for."""
    return ScaleNoise.LAPLACE if _is_pure(guarantee) else ScaleNoise.NORMAL
