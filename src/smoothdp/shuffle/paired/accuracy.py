"""How far the noise that is left, A - B, reaches: of one count, or of all bins at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from smoothdp.errors import OutOfReach
from smoothdp.exact.parameters.numbers import float_bounds
from smoothdp.shuffle.paired.geometric_shares import difference_tails, variance_of_difference
from smoothdp.text import number_up

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
class PairedBars:
    """Where true counts lie, all at once with the stated confidence, whatever the data.

    Attributes:
        confidence: at least so often all bars are right.
        below, above: how far a true count is below or above the estimate of a listed bin, at most.
        unlisted: users in a bin that is not listed, at most.
        listed: bin -> (least, most) users, of the listed bins.
        n_bins: d.

    >>> bars = PairedBars(0.95, 8.0, 8.0, 8, {3: (992, 1008)}, 10)
    >>> bars[3], bars[4]
    ((992, 1008), (0, 8))
    """

    confidence: float
    below: float
    above: float
    unlisted: int
    listed: Mapping[int, tuple[int, int]]
    n_bins: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "listed", MappingProxyType(dict(self.listed)))

    def __getitem__(self, bin_index: int) -> tuple[int, int]:
        if not 0 <= bin_index < self.n_bins:
            raise IndexError(f"bin {bin_index} of a domain of {self.n_bins}")
        return self.listed.get(bin_index, (0, self.unlisted))

    def sentence(self) -> str:
        """Return the bars in words."""
        return (
            f"a listed count is within {number_up(self.below, 3)} of the true one, and whatever is "
            f"not listed has at most {self.unlisted} users"
        )
