"""Private keys: what part of the guarantee shows them, and by which law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.errors import IncompatibleClaims
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.exact.random.entropy import Entropy
from smoothdp.keys import OptimalSelection, TruncatedGeometric, total_delta
from smoothdp.types import IntArray

_MANY = 16
"""From so many keys on, a larger epsilon of each may pass by the exact composition."""
_TOO_MANY = 10_000
_STEPS = 30


@dataclass(frozen=True, slots=True)
class KeySelection:
    """Which keys are shown, with their counts or without.

    Attributes:
        law: of one key. most_keys: g, how many keys one unit can be in.
        guarantee: of all keys together, for one unit.
    """

    law: TruncatedGeometric | OptimalSelection
    most_keys: int
    guarantee: ApproxDP

    @classmethod
    def of(
        cls, guarantee: ApproxDP, *, share: Fraction, most_keys: int, counts: bool
    ) -> KeySelection:
        """Return the selection that a share of epsilon and all of delta pay for.

        Source: proofs/private-keys#4, #6.
        """
        total = share * rational_epsilon(guarantee)
        epsilon, delta = _of_one_key(total, guarantee.exact_delta, most_keys)
        law: TruncatedGeometric | OptimalSelection
        if counts:
            law = TruncatedGeometric(epsilon, delta=delta)
        else:
            law = OptimalSelection(epsilon, delta=delta)
        return cls(law, most_keys, guarantee.changed(epsilon=total))

    @property
    def has_counts(self) -> bool:
        """Whether a key is shown with its count."""
        return isinstance(self.law, TruncatedGeometric)

    @property
    def deviation(self) -> float:
        """About the standard deviation of the noise of a count: to choose by."""
        half = float(self.law.exact_epsilon) / 2
        return 1 / (math.sqrt(2) * math.sinh(half)) if half < 300 else 0.0

    def describe(self) -> str:
        """Return the selection in words."""
        return f"private keys by {self.law.describe()}"

    def words(self) -> str:
        """Return the selection, and what it does to rare keys."""
        return f"{self.describe()}: rare ones are hidden"

    def shown(self, counts: IntArray, rng: Entropy) -> tuple[IntArray, IntArray | None]:
        """Return the places of the keys that are shown, and their counts with noise.

        Args:
            counts: units of each key that is present. rng: the source of bits.
        """
        if isinstance(self.law, TruncatedGeometric):
            return self.law.released(counts, rng=rng)
        return np.flatnonzero(self.law.shown(counts, rng=rng)).astype(np.int64), None


def _of_one_key(epsilon: Fraction, delta: Fraction, keys: int) -> tuple[Fraction, Fraction]:
    """Return epsilon and delta of one key: g of them keep the whole.

    In equal parts; for many keys also as much more epsilon as the exact composition allows with
    half of delta, if that needs fewer persons to show a key.
    """
    parts = epsilon / keys, delta / keys
    if not _MANY <= keys <= _TOO_MANY:
        return parts
    low, high = parts[0], epsilon
    for _ in range(_STEPS):
        middle = Fraction(f"{float((low + high) / 2):.6g}")
        spent = total_delta(epsilon, epsilon=middle, delta=parts[1] / 2, n_keys=keys)
        if not low < middle < high:
            break
        low, high = (middle, high) if Fraction(spent) <= delta else (low, middle)
    more = low, parts[1] / 2
    if low > parts[0] and _reach(*more) < _reach(*parts):
        return more
    return parts


def _reach(epsilon: Fraction, delta: Fraction) -> int:
    return TruncatedGeometric(epsilon, delta=delta).reach


def check_private(guarantee: Guarantee) -> ApproxDP:
    """Return the guarantee of a table with private keys, or refuse it.

    Raises:
        IncompatibleClaims: a claim without epsilon and delta: a key that nobody else has can be
            shown only by a delta.
    """
    if (
        isinstance(guarantee, ApproxDP)
        and 0 < guarantee.exact_delta < 1
        and rational_epsilon(guarantee) > 0
    ):
        return guarantee
    raise IncompatibleClaims(
        expected="ApproxDP with epsilon and delta above 0 for private keys: under pure DP, zCDP "
        "or Gaussian DP no key that one row alone may have can ever be shown",
        got=f"{guarantee!r}",
        remedy="Give a delta too, such as 1e-9 (in Python ApproxDP(epsilon, delta='1e-9', "
        "neighbours='add_remove')), or list the keys if they are public",
    )


def statistics_guarantee(guarantee: ApproxDP) -> PureDP:
    """Return the claim that statistics share where all of delta goes to the keys."""
    return PureDP(rational_epsilon(guarantee), neighbours=guarantee.neighbours)


def rational_epsilon(guarantee: ApproxDP) -> Fraction:
    """Return epsilon as a rational number, not above it."""
    epsilon = guarantee.exact_epsilon
    return Fraction(log_bounds(epsilon.ratio).lower) if isinstance(epsilon, LogRatio) else epsilon
