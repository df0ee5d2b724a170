"""Two laws on the whole numbers: how they are drawn, and how far they reach."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.exact.probabilities.gaussian_sums import gaussian_sum, scaled_tail_sum
from smoothdp.exact.random.discrete_gaussian import discrete_gaussian
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.geometric import two_sided_geometric

_BITS = 256
_SHORT = 10**12
_SMALL = Fraction(1, 10**8)
ONE = Fraction(1)


class WholeLaw(ABC):
    """A symmetric law on the whole numbers."""

    @abstractmethod
    def draw(self, rng: Entropy) -> int:
        """Return one number, exactly of this law."""

    @abstractmethod
    def describe(self, unit: Fraction = ONE) -> str:
        """Return the law in words, in units of which 1 is worth ``unit``."""

    @property
    @abstractmethod
    def deviation(self) -> float:
        """About the standard deviation: to choose by, not to promise."""

    @abstractmethod
    def tail(self, size: int) -> Ball:
        """Enclose P(Z >= size), size >= 1, at the present precision."""

    def reach(self, miss: Fraction, *, count: int = 1) -> int:
        """Return z with P(|Z| <= z)^count >= 1 - miss, certainly; the least up to rounding.

        Args:
            miss: in (0, 1). count: how many independent numbers are to lie within z.

        >>> DiscreteLaplaceLaw(Fraction(1)).reach(Fraction(1, 20))
        3
        """

        return _reach(self, miss, count)


@lru_cache(maxsize=4096)
def _reach(law: WholeLaw, miss: Fraction, count: int) -> int:
    def certain(z: int) -> bool:
        with precision(_BITS):
            inside = 1 - 2 * law.tail(z + 1)
            return bool(inside > 0) and bool(inside**count >= ball(1 - miss))

    low, high = -1, 1
    while not certain(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if certain(middle) else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLaw(WholeLaw):
    """z with weight e^(-|z| / b), b = scale > 0.

    P(Z >= k) = e^(-k / b) / (1 + e^(-1 / b)) for k >= 1.

    Source: proofs/private-sums#5.
    """

    scale: Fraction

    def draw(self, rng: Entropy) -> int:
        """Return one number."""
        return two_sided_geometric(1 / self.scale, rng)

    def describe(self, unit: Fraction = ONE) -> str:
        """Return the law in words."""
        return f"discrete Laplace noise of scale {_short(self.scale * unit)}"

    @property
    def deviation(self) -> float:
        """1 / (sqrt(2) sinh(1 / 2b))."""
        half = 1 / (2 * self.scale)
        if half >= 300:
            return 0.0
        if half < _SMALL:
            return _float(math.isqrt(math.floor(2 * self.scale**2)))
        return 1 / (math.sqrt(2) * math.sinh(float(half)))

    def tail(self, size: int) -> Ball:
        """Return P(Z >= size)."""
        return (-ball(size / self.scale)).exp() / (1 + (-ball(1 / self.scale)).exp())


@dataclass(frozen=True, slots=True)
class DiscreteGaussianLaw(WholeLaw):
    """z with weight e^(-z^2 / (2 sigma^2)).

    Source: proofs/private-sums#6.
    """

    sigma_squared: Fraction

    def draw(self, rng: Entropy) -> int:
        """Return one number."""
        return discrete_gaussian(self.sigma_squared, rng)

    def describe(self, unit: Fraction = ONE) -> str:
        """Return the law in words."""
        return f"discrete Gaussian noise of variance {_short(self.sigma_squared * unit**2)}"

    @property
    def deviation(self) -> float:
        """sigma, slightly too large."""
        if self.sigma_squared > _SHORT:
            return _float(math.isqrt(math.floor(self.sigma_squared)))
        return math.sqrt(self.sigma_squared)

    def tail(self, size: int) -> Ball:
        """Return P(Z >= size)."""
        variance = self.sigma_squared
        first = (-ball(size * size / (2 * variance))).exp()
        return first * scaled_tail_sum(variance, size) / gaussian_sum(variance)


def _short(value: Fraction) -> str:
    """Return a number as text; of a long one six digits."""
    if value.denominator > _SHORT or value.numerator > _SHORT * value.denominator:
        return f"about {_float(value):.6g}"
    return exact_text(value)


def _float(value: Fraction | int) -> float:
    """Return the nearest float, infinite where floats end."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
