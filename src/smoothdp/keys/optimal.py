"""Optimal selection of keys: the largest probabilities to show a key that privacy allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from smoothdp.claims.domains import read_delta, read_epsilon
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_int
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.exact.random.inversion import Ladder
from smoothdp.keys.certified import ZERO, Probability, exact_probability, probability
from smoothdp.keys.total import total_probability
from smoothdp.sources import Source
from smoothdp.types import BoolArray, IntArray

_SWITCH_BITS = 1 << 12


@dataclass(frozen=True, init=False)
class OptimalSelection:
    """Show a key of n units with probability pi_n, and nothing of how many it has.

    pi_0 = 0 and pi_(n+1) = min(e^epsilon pi_n + delta, 1 - e^-epsilon (1 - pi_n - delta), 1): no
    (epsilon, delta)-DP selection shows any key more often. A key that nobody has is never shown,
    so that the keys need not be known.

    Source: Desfontaines, Voss, Gipson, Mandayam (2022), Theorem 1; proofs/private-keys#1, #2.

    Args:
        epsilon: of one key, >= 0. delta: of one key, in [0, 1]; may lie below floats.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> round(OptimalSelection(1, delta="1e-5").show_probability(20), 6)
    0.999925
    """

    source: ClassVar[Source] = Source("desfontaines-keys", "Theorem 1")
    exact_epsilon: Real
    exact_delta: Fraction

    def __init__(self, epsilon: Parameter, *, delta: Parameter) -> None:
        object.__setattr__(self, "exact_epsilon", read_epsilon(epsilon))
        object.__setattr__(self, "exact_delta", read_delta(delta))

    def show_probability(self, n: int) -> float:
        """Return the probability that a key of n units is shown, not below the exact one."""
        return self._probability(n).upper

    def log_show_probability(self, n: int) -> float:
        """Return its natural logarithm, not below the exact one; -inf for 0."""
        return self._probability(n).log.upper

    def delta(self, epsilon_total: Parameter, *, n_keys: int = 1) -> float:
        """Return an upper bound of delta at an epsilon, of a unit in n_keys keys.

        It is that of the worst (epsilon, delta) pairs composed (proofs/private-keys#4).
        """
        return self._total(epsilon_total, n_keys).upper

    def log_delta(self, epsilon_total: Parameter, *, n_keys: int = 1) -> float:
        """Return the natural logarithm of the bound, rounded up."""
        return self._total(epsilon_total, n_keys).log.upper

    def describe(self) -> str:
        """Return the selection in words."""
        return "optimal selection of keys"

    def shown(self, counts: Sequence[int] | IntArray, *, rng: Entropy | None = None) -> BoolArray:
        """Return for each key whether it is shown, drawn exactly; counts are units per key."""
        source = read_rng(rng)
        sizes, places = np.unique(np.asarray(counts, dtype=np.int64), return_inverse=True)
        # Rung j of the ladder is pi of the j-th size: shown where the draw lies below it.
        rungs = [max(1, int(size)) for size in sizes]
        ladder = Ladder(len(rungs), lambda j: self._ball(rungs[j]))
        passed = ladder.passed(places.astype(np.int64), source)
        return ~passed & (sizes[places] > 0)

    def _total(self, epsilon_total: Parameter, n_keys: int) -> Probability:
        exact = self.exact_delta
        return total_probability(
            read_epsilon(epsilon_total),
            epsilon=self.exact_epsilon,
            delta=lambda: ball(exact),
            is_zero=exact == 0,
            n_keys=exact_int(n_keys, name="n_keys", minimum=1),
        )

    def _probability(self, n: int) -> Probability:
        size = exact_int(n, name="n", minimum=0)
        if size == 0 or self.exact_delta == 0:
            return ZERO
        if size == 1 or self.exact_delta == 1 or self.exact_epsilon == 0:
            return exact_probability(min(Fraction(1), size * self.exact_delta))
        return probability(lambda: self._ball(size))

    def _ball(self, n: int) -> Ball:
        """Enclose pi_n, n >= 1, at the present precision."""
        epsilon, delta = self.exact_epsilon, ball(self.exact_delta)
        if self.exact_delta in (0, 1) or epsilon == 0:
            return ball(min(Fraction(1), n * self.exact_delta))
        one = ball(epsilon)
        switch = _switch(epsilon, self.exact_delta)
        steps = min(n, switch)
        below = delta if steps == 1 else delta * (steps * one).expm1() / one.expm1()
        if n <= switch:
            return below.min(ball(1))
        decay = (-(n - switch) * one).exp()
        rise = (-(n - switch) * one).expm1() * (delta * (-one).exp() / (-one).expm1() - 1)
        return (rise + decay * below).min(ball(1))


@lru_cache(maxsize=1024)
def _switch(epsilon: Real, delta: Fraction) -> int:
    """Return n1 = 1 + floor(ln((e^epsilon + 2 delta - 1) / (delta (e^epsilon + 1))) / epsilon).

    Where the quotient is a whole number, both steps of the recursion agree: either will do.
    """
    bits = 128
    while True:
        with precision(bits):
            one, share = ball(epsilon), ball(delta)
            # Numerator and denominator times e^-epsilon, which no epsilon makes overflow.
            p = (-one).exp()
            value = ((2 * share * p - (-one).expm1()) / (share * (1 + p))).log() / one
            lower, upper = value.lower().floor(), value.upper().floor()
            first, last = lower.unique_fmpz(), upper.unique_fmpz()
        if first is not None and (first == last or bits >= _SWITCH_BITS):
            return 1 + max(0, int(first))
        bits *= 2


def optimal_probability(n: int, *, epsilon: Parameter, delta: Parameter) -> float:
    """Return pi_n, the largest probability to show a key of n units; not below the exact one.

    Source: proofs/private-keys#1, #2.

    Args:
        n: units (persons, or rows) of the key, >= 0.
        epsilon: of one key, >= 0. delta: of one key, in [0, 1]; may lie below floats.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> optimal_probability(1, epsilon=1, delta="1e-5")
    1e-05
    """
    return OptimalSelection(epsilon, delta=delta).show_probability(n)
