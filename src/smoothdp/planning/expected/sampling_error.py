"""The error of a statistic without noise, under an assumption.

The variance of the mean of a window is that of the winsorised record over n (1 - d)^2, d the
share left out (asymptotic; exact for the mean). Of a few values it may be far off, where the law
has atoms or gaps: the simulated samples then replace it. The distance of a window to the plain
sample quantile comes from them, too. No error exceeds the distance to the further bound.
"""

from __future__ import annotations

import math

import numpy as np

from smoothdp.planning.expected.assumption import Assumption
from smoothdp.planning.expected.clamped_error import Samples
from smoothdp.planning.expected.simulated_samples import Drops, SimulatedSamples
from smoothdp.queries import Median, Quantile, Query
from smoothdp.types import FloatArray

_FEW = 24
"""Windows of so many values are simulated value by value."""
_OFF = 1.25


class SamplingError:
    """Errors without noise of windows of order statistics.

    Args:
        assumption: the law of a record. samples: simulated samples of n of them.
        reference: the statistic without privacy. is_quantile: whether a quantile is estimated.
        asked: what the statistic that was asked for leaves out: the plain sample quantile, or a
            mean; None: each is judged against itself.
        gap: the mean distance of neighbouring values near a quantile; 0 where unknown.

    Attributes:
        target: the population's quantile or mean, clamped.
    """

    def __init__(
        self,
        assumption: Assumption,
        samples: SimulatedSamples,
        reference: Query,
        *,
        is_quantile: bool,
        asked: Drops | None,
        gap: float = 0.0,
    ) -> None:
        self._assumption, self._samples = assumption, samples
        self._n = samples.n_records
        self._plain = reference.drops(self._n)
        self.is_quantile, self.asked, self._gap = is_quantile, asked, gap
        self.target = self._population(reference)

    def criterion(self, drops: Drops) -> float:
        """Return the squared error that a choice is judged by, noise left out."""
        return self.moved(drops) ** 2 if self.is_quantile else self.total(drops) ** 2

    def moved(self, drops: Drops) -> float:
        """Return the deviation of a statistic from the one that was asked for, of the records."""
        if self.asked is None or drops == self.asked:
            return 0.0
        away = self._samples.means(drops) - self._samples.means(self.asked)
        return float(np.sqrt(np.mean(away**2)))

    def in_gaps(self, error: float) -> float | None:
        """Return an error in gaps between neighbouring values; None where they are not known."""
        return float(f"{error / self._gap:.4g}") if self._gap > 0 else None

    def total(self, drops: Drops) -> float:
        """Return the root of the mean squared error for the population's quantile or mean."""
        low, high = self._samples.bounds
        deviation = self._asymptotic(drops)
        if drops != (0, 0) and self._n - sum(drops) <= _FEW:
            drawn = float(np.sqrt(np.mean((self._samples.means(drops) - self.target) ** 2)))
            deviation = deviation if drawn / _OFF <= deviation <= drawn * _OFF else drawn
        return min(deviation, max(high - self.target, self.target - low))

    def clamped(self, drops: Drops, rate: float, *, against_sample: bool) -> Samples:
        """Return what the error of a clamped value is taken over.

        Args:
            drops: the window. rate: the smoothing. against_sample: whether the error is against
                what the records give without noise, and not against the population.
        """
        (logs,) = self._samples.log_sensitivities(drops, [rate])
        values, targets = self.values(drops, against_sample=against_sample)
        few = slice(len(logs))
        return Samples(values[few], np.exp(logs), targets[few], self._samples.bounds)

    def values(self, drops: Drops, *, against_sample: bool) -> tuple[FloatArray, FloatArray]:
        """Return the statistic and what it is judged against, in each simulated sample."""
        values = np.clip(self._samples.means(drops), *self._samples.bounds)
        if not against_sample:
            return values, np.full_like(values, self.target)
        asked = drops if self.asked is None else self.asked
        return values, np.clip(self._samples.means(asked), *self._samples.bounds)

    def _asymptotic(self, drops: Drops) -> float:
        lo, hi = drops
        p, q = lo / self._n, 1 - hi / self._n
        if lo == hi == 0:
            return math.hypot(self._assumption.deviation() / math.sqrt(self._n), self._bias(drops))
        # The winsorised record: the ends carry what lies beyond them.
        inside = self._assumption.between(p, q)
        ends = self._assumption.quantile(p), self._assumption.quantile(q)
        mean = p * ends[0] + (q - p) * inside.mean() + (1 - q) * ends[1]
        variance = (q - p) * float(np.mean((inside - mean) ** 2))
        variance += p * (ends[0] - mean) ** 2 + (1 - q) * (ends[1] - mean) ** 2
        return math.hypot(math.sqrt(variance / self._n) / (q - p), self._bias(drops))

    def plain(self) -> float:
        """Return the error of the statistic without privacy."""
        return self.total(self._plain)

    def _bias(self, drops: Drops) -> float:
        lo, hi = drops
        if lo == hi == 0:
            return self._assumption.mean() - self.target
        middle = float(self._assumption.between(lo / self._n, 1 - hi / self._n).mean())
        return middle - self.target

    def _population(self, reference: Query) -> float:
        if isinstance(reference, Median):
            return self._assumption.quantile(0.5)
        if isinstance(reference, Quantile):
            return self._assumption.quantile(float(reference.q))
        lo, hi = self._plain
        if lo == hi == 0:
            return self._assumption.mean()
        return float(self._assumption.between(lo / self._n, 1 - hi / self._n).mean())
