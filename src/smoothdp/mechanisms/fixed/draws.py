"""The sampler that opens sealed sums: each with noise of its own."""

from __future__ import annotations

from smoothdp.claims.open_sealed import opened
from smoothdp.claims.sealed import Sealed
from smoothdp.exact.random.entropy import Entropy
from smoothdp.mechanisms.additive.whole_laws import WholeLaw


def noisy_sums(sums: Sealed[tuple[int, ...]], law: WholeLaw, rng: Entropy) -> tuple[int, ...]:
    """Return the sums, with an independent draw of the law on each.

    >>> from fractions import Fraction
    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> from smoothdp.mechanisms.additive.whole_laws import DiscreteLaplaceLaw
    >>> noisy_sums(Sealed((5, 7)), DiscreteLaplaceLaw(Fraction(1, 1000)), SeededRandom(1))
    (5, 7)
    """
    return tuple(number + law.draw(rng) for number in opened(sums))
