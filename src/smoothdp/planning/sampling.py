"""What a statistic errs by without noise, under an assumption.

The variance of the mean of a window is that of the winsorised record over n (1 - d)^2, d the
share left out (asymptotic; exact for the mean). The distance of a window to the plain sample
quantile comes from the simulated samples.
"""

from __future__ import annotations

import math

import numpy as np

from smoothdp.planning.assumption import Assumption
from smoothdp.planning.simulated import Drops, SimulatedSamples
from smoothdp.queries import Median, Quantile, Query


class SamplingError:
    """Errors without noise of windows of order statistics.

    Args:
        assumption: the law of a record. samples: simulated samples of n of them.
        reference: the statistic without privacy. is_quantile: whether a quantile is estimated.
    """

    def __init__(
        self,
        assumption: Assumption,
        samples: SimulatedSamples,
        reference: Query,
        *,
        is_quantile: bool,
    ) -> None:
        self._assumption, self._samples = assumption, samples
        self._n = samples.n_records
        self._plain = reference.drops(self._n)
        self.is_quantile = is_quantile
        self._target = self._population(reference)

    def criterion(self, drops: Drops) -> float:
        """Return the squared error that a choice is judged by, noise left out."""
        return self.moved(drops) ** 2 if self.is_quantile else self.total(drops) ** 2

    def moved(self, drops: Drops) -> float:
        """Return the deviation of a window from the plain sample quantile; 0 for means."""
        if not self.is_quantile or drops == self._plain:
            return 0.0
        gap = self._samples.means(drops) - self._samples.means(self._plain)
        return float(np.sqrt(np.mean(gap**2)))

    def total(self, drops: Drops) -> float:
        """Return the root of the mean squared error for the population's quantile or mean."""
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
            return self._assumption.mean() - self._target
        middle = float(self._assumption.between(lo / self._n, 1 - hi / self._n).mean())
        return middle - self._target

    def _population(self, reference: Query) -> float:
        if isinstance(reference, Median):
            return self._assumption.quantile(0.5)
        if isinstance(reference, Quantile):
            return self._assumption.quantile(float(reference.q))
        lo, hi = self._plain
        if lo == hi == 0:
            return self._assumption.mean()
        return float(self._assumption.between(lo / self._n, 1 - hi / self._n).mean())
