"""A whole number drawn by walking along its masses, which are known as balls."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flint import arb, fmpz

from smoothdp.exact.balls.balls import precision
from smoothdp.exact.random.entropy import Entropy

_FIRST_BITS = 64
_GUARD_BITS = 64


def walked(masses: Callable[[], Iterator[tuple[int, arb]]], rng: Entropy) -> int:
    """Return k with exactly P(K = k): the first k whose running sum exceeds a uniform number.

    The cost is about k. The uniform number U in [0, 1) is known to some bits; they are doubled,
    and the walk begins anew, where they do not decide. K is inf {k : U < P(K <= k)}
    (proofs/repeat-and-select#6).

    Args:
        masses: yields k and a ball around P(K = k) at the present precision, k rising; the masses
            add up to 1. If it ends, the last k takes what is left.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> thirds = lambda: iter([(1, arb(1) / 3), (2, arb(2) / 3)])
    >>> [walked(thirds, SeededRandom(seed)) for seed in range(6)]
    [2, 2, 2, 2, 1, 1]
    """
    bits = _FIRST_BITS
    drawn = rng.bits(bits)
    while True:
        with precision(2 * bits + _GUARD_BITS):
            found = _found(masses(), drawn, bits)
        if found is not None:
            return found
        drawn, bits = drawn << bits | rng.bits(bits), 2 * bits


def _found(masses: Iterator[tuple[int, arb]], drawn: int, bits: int) -> int | None:
    """Return the k that [drawn, drawn + 1] 2^-bits lies at, if it lies at one for certain."""
    scale = arb(fmpz(1) << bits)
    low, high = arb(fmpz(drawn)), arb(fmpz(drawn + 1))
    total, last = arb(0), None
    for k, mass in masses:
        last = k
        total += mass * scale
        if high <= total:
            return k
        if not low >= total:
            # Between the two ends of U, or too close to tell.
            return None if not _is_last(masses) else k
    return last


def _is_last(masses: Iterator[tuple[int, arb]]) -> bool:
    return next(masses, None) is None
