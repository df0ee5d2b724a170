"""One of many cells, drawn in proportion to masses that are known as balls, exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import arb, fmpz

from smoothdp.exact.balls.balls import precision
from smoothdp.exact.random.entropy import Entropy

GUARD_BITS = 32
"""Masses to a precision of so many bits are computed with so many more."""
_FIRST_BITS = 64


@dataclass(frozen=True, slots=True)
class Masses:
    """Masses of neighbouring cells, and of all that lies below and above them, at one precision.

    Attributes:
        ends: balls around the mass below the first cell, and below the end of each.
        above: a ball around the mass above the last cell. The first of ``ends`` and this are
            exactly 0 where nothing is left out.
    """

    ends: list[arb]
    above: arb

    @property
    def below(self) -> arb:
        """What lies below the first cell."""
        return self.ends[0]


def drawn_cell(masses: Callable[[int], Masses], rng: Entropy) -> tuple[int, int]:
    """Return the bits at which a draw was decided, and the cell of the masses at these bits.

    A uniform number is known to some bits, and doubles them where they do not decide. As the
    masses are given for more bits, their balls and what lies outside shrink, so that it ends with
    probability 1 (proofs/exponential-quantile#4).

    Args:
        masses: returns the masses to a precision of so many bits, and sets the precision itself.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> thirds = Masses([arb(0), arb(1), arb(3)], arb(0))
    >>> [drawn_cell(lambda bits: thirds, SeededRandom(seed))[1] for seed in range(6)]
    [1, 1, 1, 1, 0, 0]
    """
    bits = _FIRST_BITS
    drawn = rng.bits(bits)
    while True:
        known = masses(bits)
        with precision(bits + GUARD_BITS):
            place = _place(known, drawn, bits)
        if place is not None:
            return bits, place
        drawn, bits = drawn << bits | rng.bits(bits), 2 * bits


def _place(known: Masses, drawn: int, bits: int) -> int | None:
    """Return the cell that [drawn, drawn + 1] 2^-bits of the whole mass lies in, if one does."""
    ends = known.ends
    reached = arb(2 * drawn + 1, 1) / arb(fmpz(1) << (bits + 1)) * (ends[-1] + known.above)
    # The last end that is certainly reached; the next must certainly not be.
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if ends[middle] <= reached:
            low = middle + 1
        else:
            high = middle
    # Where nothing is left out, no number is below the first end or above the last.
    place = max(low - 1, 0) if known.below.is_zero() else low - 1
    last = len(ends) - 2
    if place == last + 1 and known.above.is_zero():
        place = last
    if not 0 <= place <= last:
        return None
    is_certain = (place == last and known.above.is_zero()) or reached <= ends[place + 1]
    return place if is_certain else None
