"""The nearest whole number to centre + scale * Z, exactly, for a law that is sampled lazily."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from flint import arb, fmpz

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.random.entropy import Entropy


class Undrawn(Enum):
    """Why there is no draw yet."""

    REJECTED = "the uniform numbers lead to no draw: take others"
    UNDECIDED = "the balls are too wide to tell"


DrawFunction: TypeAlias = Callable[..., "Ball | Undrawn"]
"""(positive, u_1, u_2, ...) to the draw: whether its sign is kept, and balls within [0, 1]."""


@dataclass(frozen=True, slots=True)
class LazyLaw:
    """A law of the real line that is sampled exactly.

    Attributes:
        n_uniforms: how many uniform numbers make a draw, or an attempt at one.
        function: returns the function of the uniform numbers, at the present precision: the
            constants of the law are computed once for it.

    >>> from smoothdp.exact.balls.special import nearest, number
    >>> exponential = LazyLaw(1, lambda: lambda positive, u: -u.log())
    >>> nearest(lambda: exponential.function()(True, number(0.5)))
    0.6931471805599453
    """

    n_uniforms: int
    function: Callable[[], DrawFunction]


def standard_normal(u: Ball, v: Ball) -> Ball:
    """Return a standard normal number of two uniform ones (Box and Muller).

    The angle need not exceed pi (proofs/the-released-number#4).
    """
    return (-2 * u.log()).sqrt() * v.cos_pi()


FIRST_BITS = 96
"""Bits of each uniform number at first; each time that they do not suffice they are doubled."""

GUARD_BITS = 32
"""What the working precision has beyond the bits of the uniform numbers."""


class _Level(NamedTuple):
    """Everything that depends on the precision alone."""

    function: DrawFunction
    scale: arb
    offset: arb
    unit: arb


class RoundedDraws:
    """Draws of the whole number nearest to centre + factor e^-decay Z.

    The result has exactly the law of the rounded real number. It is computed from balls around
    the uniform numbers behind Z: where they do not decide the rounding, the same uniform numbers
    are continued by further bits. That ends with probability 1.

    Source: proofs/the-released-number#3.

    Args:
        law: the law of Z, continuous.
        centre: any rational number; a draw of 0 at a centre between two whole numbers has
            probability 0.
        factor: a rational number > 0.
        decay: any rational number: factor e^-decay need not be a float.
        lowest, highest: results beyond them are replaced by them. Without limits a law with
            heavy tails may need numbers of any length.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> from smoothdp.exact.random.lazy import LazyLaw, standard_normal
    >>> normal = LazyLaw(2, lambda: lambda positive, u, v: standard_normal(u, v))
    >>> draws = RoundedDraws(normal, centre=Fraction(7), factor=Fraction(1),
    ...     decay=Fraction(10**6), lowest=-100, highest=100)
    >>> draws.draw(SeededRandom(1))
    7
    """

    __slots__ = ("_centre", "_decay", "_ends", "_factor", "_law", "_levels", "_limits", "_whole")

    def __init__(
        self,
        law: LazyLaw,
        *,
        centre: Fraction,
        factor: Fraction,
        decay: Fraction,
        lowest: int,
        highest: int,
    ) -> None:
        self._law, self._factor, self._decay = law, factor, decay
        # The nearest whole number to y is floor(y + 1/2). Its distance to a border is kept as
        # a small number, so that the sign of tiny noise at a border is not lost.
        self._whole = round(centre + Fraction(1, 2))
        self._centre = centre + Fraction(1, 2) - self._whole
        self._limits = lowest, highest
        self._ends = arb(fmpz(lowest - self._whole)), arb(fmpz(highest + 1 - self._whole))
        self._levels: dict[int, _Level] = {}

    def draw(self, rng: Entropy) -> int:
        """Return one draw; a fresh one each time."""
        count = self._law.n_uniforms
        while True:
            bits = FIRST_BITS
            drawn = rng.bits(count * bits + 1)
            positive, rest = bool(drawn & 1), drawn >> 1
            mask = (1 << bits) - 1
            uniforms = [rest >> (bits * index) & mask for index in range(count)]
            while True:
                with precision(bits + GUARD_BITS):
                    level = self._levels.get(bits) or self._prepare(bits)
                    unit = level.unit
                    # [2 u, 2 u + 2] in units of 2^-(bits + 1).
                    known = [arb(2 * u + 1, 1) * unit for u in uniforms]
                    z = level.function(positive, *known)
                    if z is Undrawn.REJECTED:
                        break
                    if z is not Undrawn.UNDECIDED:
                        whole = self._rounded(level, z)
                        if whole is not None:
                            return whole
                uniforms = [u << bits | rng.bits(bits) for u in uniforms]
                bits *= 2

    def rounded(self, bits: int, z: Ball) -> int | None:
        """Return the draw that a ball around Z leads to; None where it is too wide.

        For a Z that is drawn elsewhere, at the precision of ``bits`` and `GUARD_BITS`.
        """
        return self._rounded(self._levels.get(bits) or self._prepare(bits), z)

    def _rounded(self, level: _Level, z: Ball) -> int | None:
        position = level.offset + level.scale * z
        lowest, highest = self._limits
        if position < self._ends[0]:
            return lowest
        if position >= self._ends[1]:
            return highest
        whole = position.floor().unique_fmpz()
        return None if whole is None else min(max(self._whole + int(whole), lowest), highest)

    def _prepare(self, bits: int) -> _Level:
        """Return the constants of one precision, which is set by the caller."""
        level = _Level(
            function=self._law.function(),
            scale=ball(self._factor) * (-ball(self._decay)).exp(),
            offset=self._offset(),
            unit=arb(fmpz(1)) / arb(fmpz(1) << (bits + 1)),
        )
        self._levels[bits] = level
        return level

    def _offset(self) -> arb:
        """Return the centre plus 1/2 less the whole number that results are counted from."""
        return ball(self._centre)
