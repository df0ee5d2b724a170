"""Few losses that are often exactly 0: what happens where at most one of them is not, apart.

A law with an atom at 0 has a transform that never falls below that atom's share, so a contour of
a few such laws is long. Let J be the number of losses that are not 0. For epsilon >= 0 delta is

    0  (J = 0)  +  sum_i k_i p_i^(k_i - 1) prod_(j != i) p_j^(k_j) D_i  (J = 1)  +  (J >= 2),

D_i the delta of the law alone. With psi = a + b, a the atom's share of the tilted law, the
transform of the last term is prod (a_i + b_i)^(k_i) less the terms of no and of one b, so it
falls at least like b^2 (proofs/tilted-contour#10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from smoothdp.composition.laws.law import LossLaw, Still, TiltedSums
from smoothdp.composition.laws.oscillation import TRIG_ERROR, unit_circle
from smoothdp.composition.laws.product import Product
from smoothdp.exact.logspace.bounds import (
    LIBM_ERROR,
    LOG_ZERO,
    UNIT_ROUNDOFF,
    LogBounds,
    log_sum_lower,
    log_sum_upper,
)
from smoothdp.exact.parameters.numbers import Real
from smoothdp.types import ComplexArray, FloatArray

# Where no loss moves with less than e^-35, the transform of all of them is as good.
_LEAST = -35.0
_MOST_LAWS = 8


@dataclass(frozen=True, eq=False)
class Moved(Product):
    """The sums in which at least two losses are not 0: a law of less than all mass.

    Its moments are those of the whole product, by which its transform is divided as well.
    """

    def log_decay(self, tilt: float, last: float) -> float:
        """Return a bound of ln of the transform's size over t >= last.

        The product over all factors of (a + b), a + b <= 1, less those of at most one b, is at
        most the sum of b_i b_j over all pairs of factors.
        """
        total = squares = 0.0
        for law, count in self.parts:
            bound = law.moving_decay(tilt, last)
            total += count * bound
            squares += count * bound * bound
        pairs = 0.5 * (total * total - squares * (1 - 1e-12)) * (1 + 1e-12)
        return math.log(pairs) + 1e-9 if pairs > 0 else -math.inf


def moved(product: Product) -> Moved | None:
    """Return the product without the sums in which at most one loss moves, if those are many."""
    if product.gaussian or not 0 < len(product.parts) <= _MOST_LAWS:
        return None
    log_still = 0.0
    for law, count in product.parts:
        still = law.still
        if still is None:
            return None
        log_still += count * still.log_mass.lower
    if log_still < _LEAST or sum(count for _, count in product.parts) < 2:
        return None
    return Moved(product.parts, product.gaussian)


def log_one_moves(product: Product, epsilon: Real) -> LogBounds:
    """Bound ln of the part of delta(epsilon), epsilon >= 0, in which one loss is not 0."""
    lower, upper = LOG_ZERO
    stills = [(known(law), count) for law, count in product.parts]
    for one, (still, count) in enumerate(stills):
        found = still.log_excess(epsilon)
        low, high = found.lower + math.log(count), found.upper + math.log(count)
        size = 1.0 + abs(high) if math.isfinite(high) else 1.0
        for other, (rest, times) in enumerate(stills):
            n = times - (other == one)
            low, high = low + n * rest.log_mass.lower, high + n * rest.log_mass.upper
            size += 2 * n * abs(rest.log_mass.lower)
        slip = 8 * (LIBM_ERROR + UNIT_ROUNDOFF * (size + math.log(count)))
        lower, upper = log_sum_lower(lower, low - slip), log_sum_upper(upper, high + slip)
    return LogBounds(lower, upper)


def known(law: LossLaw) -> Still:
    """Return what a law that stands still says of it."""
    still = law.still
    assert still is not None
    return still


class Taken:
    """The terms of none and of one b of prod (a_i + b_i)^(k_i), with their error."""

    def __init__(self, tilt: float, t: FloatArray) -> None:
        self.tilt, self.t = tilt, t
        self.none: ComplexArray = np.ones(t.size, dtype=np.complex128)
        self.one: ComplexArray = np.zeros(t.size, dtype=np.complex128)
        self.error = np.zeros(t.size)

    def multiply(self, law: LossLaw, count: int, sums: TiltedSums) -> None:
        """Take in a law's factor, of which psi is given.

        a = e^(ln mass - ln mgf) e^(-i t centre). With |a| + |b| <= 1, and a off by x, b by the
        error of psi and x more, the terms of a product of k of them are off by at most
        (1 + 2 x + error)^k - 1; powers and products take 6 u a factor.
        """
        log_mass = known(law).log_mass
        moments = law.moments(self.tilt)
        size = math.exp(log_mass.upper - moments.log_mgf)
        loose = log_mass.upper - log_mass.lower + 1.01 * moments.error + 2 * LIBM_ERROR
        loose += 4 * UNIT_ROUNDOFF * (1 + abs(log_mass.upper) + abs(moments.log_mgf))
        off = size * (loose + 2 * TRIG_ERROR + UNIT_ROUNDOFF * (4 + self.t * abs(sums.centre)))
        still = size * unit_circle(-self.t * sums.centre)
        moves = sums.values - still
        before = _power(still, count - 1)
        self.one = self.one * (before * still) + self.none * (count * before * moves)
        self.none = self.none * (before * still)
        self.error = self.error + count * (sums.error + 2 * off + 24 * UNIT_ROUNDOFF)


def _power(values: ComplexArray, count: int) -> ComplexArray:
    result = np.ones(values.size, dtype=np.complex128)
    for digit in bin(count)[2:]:
        result = result * result
        if digit == "1":
            result = result * values
    return result
