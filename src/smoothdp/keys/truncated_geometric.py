"""The truncated geometric law: key and count at once, with the least delta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np

from smoothdp.claims.domains import read_epsilon
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real, exact_int
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.exact.random.inversion import Ladder
from smoothdp.keys.certified import (
    ONE,
    ZERO,
    Probability,
    ceiling,
    probability,
    ratio_power,
    read_delta_inside,
    read_rate,
)
from smoothdp.keys.total import total_probability
from smoothdp.sources import Source
from smoothdp.types import IntArray


@dataclass(frozen=True, init=False)
class TruncatedGeometric:
    """Show (key, n + Z) where n >= 1 and n + Z > k; Z lies in -k..k with weight e^(-epsilon |z|).

    A key that nobody has is never shown, so that the keys need not be known. The loss of one
    unit is epsilon, -epsilon or infinite, and infinite with probability
    d = (1 - p) p^k / (1 + p - 2 p^(k+1)), p = e^-epsilon: this is the worst (epsilon, d) pair.

    Source: Ghosh, Roughgarden, Sundararajan (2009) for the law; proofs/private-keys#3, #4.

    Args:
        epsilon: of one key, > 0.
        delta: of one key, in (0, 1), may lie below floats: k is the least reach with d <= delta.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> law = TruncatedGeometric(1, delta="1e-5")
    >>> law.reach, round(law.show_probability(15), 6), law.delta(1) < 1e-5
    (11, 0.986615, True)
    """

    source: ClassVar[Source] = Source("own", "proofs/private-keys#3")
    exact_epsilon: Real
    reach: int

    def __init__(self, epsilon: Parameter, *, delta: Parameter) -> None:
        rate = read_rate(epsilon)
        object.__setattr__(self, "exact_epsilon", rate)
        object.__setattr__(self, "reach", least_reach(rate, read_delta_inside(delta)))

    @classmethod
    def from_reach(cls, epsilon: Parameter, *, reach: int) -> Self:
        """Return the law on -reach..reach.

        >>> round(TruncatedGeometric.from_reach("0.1", reach=109).delta("0.1"), 10)
        9.222e-07
        """
        law = object.__new__(cls)
        object.__setattr__(law, "exact_epsilon", read_rate(epsilon))
        object.__setattr__(law, "reach", exact_int(reach, name="reach", minimum=0))
        return law

    def show_probability(self, n: int) -> float:
        """Return the probability that a key of n units is shown, not below the exact one."""
        return self._probability(n).upper

    def log_show_probability(self, n: int) -> float:
        """Return its natural logarithm, not below the exact one; -inf for 0."""
        return self._probability(n).log.upper

    def delta(self, epsilon_total: Parameter, *, n_keys: int = 1) -> float:
        """Return delta at an epsilon, of a unit in n_keys keys: exact, rounded up."""
        return self._total(epsilon_total, n_keys).upper

    def log_delta(self, epsilon_total: Parameter, *, n_keys: int = 1) -> float:
        """Return its natural logarithm, rounded up."""
        return self._total(epsilon_total, n_keys).log.upper

    def describe(self) -> str:
        """Return the noise in words."""
        return f"geometric noise cut at {self.reach}, and only where more than that is reached"

    def draw(self, count: int, *, rng: Entropy | None = None) -> IntArray:
        """Return independent Z, drawn exactly."""
        source = read_rng(rng)
        return _ladder(self).draw(count, source) - self.reach

    def released(
        self, counts: Sequence[int] | IntArray, *, rng: Entropy | None = None
    ) -> tuple[IntArray, IntArray]:
        """Return the places of the keys that are shown, and their counts with noise."""
        sizes = np.asarray(counts, dtype=np.int64)
        noisy = sizes + self.draw(len(sizes), rng=rng)
        places = np.flatnonzero((sizes > 0) & (noisy > self.reach))
        return places, noisy[places]

    def _total(self, epsilon_total: Parameter, n_keys: int) -> Probability:
        total = read_epsilon(epsilon_total)
        keys = exact_int(n_keys, name="n_keys", minimum=1)
        if self.reach == 0:
            return ONE
        return total_probability(
            total, epsilon=self.exact_epsilon, delta=self._end, is_zero=False, n_keys=keys
        )

    def _end(self) -> Ball:
        """Enclose d = P(Z = k) at the present precision."""
        rate = ball(self.exact_epsilon)
        return (-self.reach * rate).exp() * -(-rate).expm1() / self._norm()

    def _norm(self) -> Ball:
        """Enclose 1 + p - 2 p^(k+1) = (1 - p) + 2 p (1 - p^k), without cancellation."""
        rate = ball(self.exact_epsilon)
        return -(-rate).expm1() - 2 * (-rate).exp() * (-self.reach * rate).expm1()

    def _below(self, size: int) -> Ball:
        """Enclose P(Z <= -size), 0 <= size <= k: (p^size - p^(k+1)) / (1 + p - 2 p^(k+1))."""
        rate = ball(self.exact_epsilon)
        rest = -(-(self.reach + 1 - size) * rate).expm1()
        return (-size * rate).exp() * rest / self._norm()

    def _at_most(self, value: int) -> Ball:
        """Enclose P(Z <= value), -k <= value < k."""
        return self._below(-value) if value <= 0 else 1 - self._below(value + 1)

    def _probability(self, n: int) -> Probability:
        size = exact_int(n, name="n", minimum=0)
        if size == 0:
            return ZERO
        # Shown where Z >= k - n + 1, by symmetry as likely as Z <= n - k - 1.
        if size > 2 * self.reach:
            return ONE
        return probability(lambda: self._at_most(size - self.reach - 1))


@lru_cache(maxsize=64)
def _ladder(law: TruncatedGeometric) -> Ladder:
    """Return the law's distribution function, of which a draw is the inverse at a uniform."""
    return Ladder(2 * law.reach, lambda j: law._at_most(j - law.reach))


def least_reach(epsilon: Real, delta: Fraction) -> int:
    """Return k = max(0, ceil(ln((e^epsilon + 2 delta - 1) / ((e^epsilon + 1) delta)) / epsilon)).

    It is the least k with d <= delta (proofs/private-keys#3).
    """

    def steps() -> Ball:
        # Numerator and denominator times e^-epsilon, which no epsilon makes overflow.
        p, rest, share = (-ball(epsilon)).exp(), -(-ball(epsilon)).expm1(), ball(delta)
        return ((rest + 2 * share * p) / ((1 + p) * share)).log() / ball(epsilon)

    def holds(reach: int) -> bool:
        if not isinstance(epsilon, LogRatio):
            # Never equal for a rational epsilon; the larger reach is the safe one.
            return False
        p, end = ratio_power(epsilon, 1), ratio_power(epsilon, reach)
        return (1 - p) * end <= delta * (1 + p - 2 * p * end)

    return max(0, ceiling(steps, holds=holds))
