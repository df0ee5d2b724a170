"""How far the estimate of a split sum may be off: noise, random rounding, totals read wrongly.

The noise is A - B of all who answer. A total K + A - B with K in [0, n R] is read modulo q in
[-T, q - T), right unless |A - B| > T (proofs/split-sums#7).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import exp_upper
from smoothdp.exact.parameters.numbers import float_bounds, square_root
from smoothdp.shuffle.split.noise_total import NoiseTotal
from smoothdp.shuffle.users.user_data import UNIT, whole_and_fraction
from smoothdp.types import IntArray

_ROUNDING_PARTS = tuple(Fraction(1, 2**k) for k in range(1, 14))


@dataclass(frozen=True)
class SplitAccuracy:
    """The error of a total of n users' numbers in steps of 1 / R, modulo q.

    Attributes:
        noise: the law of A - B.
        n_users: n. resolution: R; with 1 the data are bits, and nothing is rounded.
        modulus: q > n R.
    """

    noise: NoiseTotal
    n_users: int
    resolution: int
    modulus: int

    @property
    def noise_reach(self) -> int:
        """T, the largest with n R + 1 + 2 T <= q."""
        return (self.modulus - 1 - self.n_users * self.resolution) // 2

    def error(self, failure: Fraction) -> float:
        """Return a bound that the error exceeds with at most this probability, rounded up.

        Of several parts of the probability for the rounding the best one. A total that is read
        wrongly takes noise above T, which such a quantile covers.
        """
        if self.resolution == 1:
            return float_bounds(self._shown(*self.noise.quantiles([failure])))[1]
        reaches = self.noise.quantiles([failure * (1 - part) for part in _ROUNDING_PARTS])
        return min(
            float_bounds(self._shown(reach) + self._rounding(failure * part))[1]
            for reach, part in zip(reaches, _ROUNDING_PARTS, strict=True)
        )

    def _shown(self, reach: int) -> Fraction:
        """Return an error of the noise in units of the data; beyond T any total may be read."""
        units = reach if reach <= self.noise_reach else self.modulus
        return Fraction(units, self.resolution)

    def _rounding(self, failure: Fraction) -> Fraction:
        """Return sqrt(n ln(2 / failure) / 2) / R, rounded up: Hoeffding's bound."""
        square = self.n_users * Fraction(log_bounds(2 / failure).upper) / 2
        return square_root(square, up=True) / self.resolution

    def mse(self, units: IntArray | None) -> float:
        """Return a bound of the mean squared error, rounded up.

        2 a p / (1 - p)^2 of the noise, sum f (1 - f) of the rounding over f = frac(R x), and at
        most P(|A - B| > T) q^2 of totals that are read wrongly; all over R^2.

        Args:
            units: true numbers in multiples of 2^-62; None: the worst, n / 4.
        """
        if self.resolution == 1:
            rounding = Fraction(0)
        elif units is None:
            rounding = Fraction(self.n_users, 4)
        else:
            fraction = whole_and_fraction(units, self.resolution)[1]
            spread = sum(r * (UNIT - r) for r in fraction[fraction > 0].tolist())
            rounding = Fraction(spread, UNIT**2)
        wrong = Fraction(exp_upper(self.noise.log_tail(self.noise_reach)))
        total = self.noise.variance + rounding + wrong * self.modulus**2
        return float_bounds(total / self.resolution**2)[1]
