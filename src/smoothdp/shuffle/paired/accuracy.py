"""How far the noise that is left, A - B, reaches: of one count, or of all bins at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.errors import OutOfReach
from smoothdp.exact.parameters.numbers import float_bounds
from smoothdp.shuffle.histogram.bars import BarLaw, HistogramBars
from smoothdp.shuffle.paired.geometric_shares import difference_tails, variance_of_difference

_LEAST_FAILURE = Fraction(1, 10**250)
_MORE_DEPTH = 30.0


@dataclass(frozen=True, slots=True)
class LeftNoise:
    """A - B of every bin, independent but for the redrawing of noise that does not fit.

    The noise is free noise given that it fits, which it does with probability 1 - tau at least: so
    probabilities and mean squares of the free law are divided by 1 - tau (proofs/paired-counts#8).

    Attributes:
        shape: n / m0. rate: rho. overflow: tau of all who are present; 0 without a cap.

    >>> noise = LeftNoise(Fraction(1), Fraction(9, 10), Fraction(0))
    >>> noise.reach(Fraction(1, 20)), noise.reach(Fraction(1, 20), n_bins=100)
    (3, 8)
    """

    shape: Fraction
    rate: Fraction
    overflow: Fraction

    def reach(self, failure: Fraction, *, n_bins: int = 1) -> int:
        """Return the least a that |A - B| exceeds in any bin with at most this probability.

        Raises:
            OutOfReach: a probability below 1e-250.
        """
        if failure < _LEAST_FAILURE:
            raise OutOfReach(
                expected="a failure_probability of at least 1e-250",
                got="a smaller one",
                remedy="Raise failure_probability",
            )
        free = float_bounds(failure * (1 - self.overflow))[0]
        each = free
        if n_bins > 1:
            each = -math.expm1(math.log1p(-free) / n_bins) * (1 - 1e-12)
        tails = difference_tails(self.shape, self.rate, depth=_MORE_DEPTH - math.log(each))
        # tails[j] is that of |A - B| > j - 1; the last is that of all that is left.
        last = tails.size - 1
        return next(a for a in range(last + 1) if tails[min(a + 1, last)] <= each)

    def variance(self) -> float:
        """Return a bound of the mean square of A - B, rounded up."""
        free = variance_of_difference(self.shape, self.rate)
        return float_bounds(Fraction(free) / (1 - self.overflow))[1]


@dataclass(frozen=True, slots=True)
class SignBars(BarLaw):
    """Bars of a paired histogram: the same width for every bin, whatever is listed.

    Attributes:
        noise: what is left. n_users: those who answered. n_bins: d.
        hidden: estimates up to it are reported as 0; 0 where nothing is hidden.

    >>> law = SignBars(LeftNoise(Fraction(10, 9), Fraction(2, 5), Fraction(0)), 10_000, 100, 0)
    >>> bars = law.bars({7: 41.0}, Fraction(1, 20), bin_index=None)
    >>> bars[7], bars[8]
    ((22, 60), (0, 19))
    """

    noise: LeftNoise
    n_users: int
    n_bins: int
    hidden: int

    def bars(
        self, counts: Mapping[int, float], failure: Fraction, *, bin_index: int | None
    ) -> HistogramBars:
        """Return the bars of all bins, or of one that was chosen before the data were seen."""
        reach = self.noise.reach(failure, n_bins=self.n_bins if bin_index is None else 1)
        listed = {
            place: (max(0, int(value) - reach), max(0, min(self.n_users, int(value) + reach)))
            for place, value in counts.items()
            if bin_index is None or place == bin_index
        }
        return HistogramBars(
            float_bounds(1 - failure)[0],
            float(reach),
            float(reach),
            min(self.n_users, self.hidden + reach),
            listed,
            self.n_bins,
        )
