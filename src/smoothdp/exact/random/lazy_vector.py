"""Several numbers centre_j + scale_j Z_j, each rounded, for a law of (Z_1, ..., Z_m)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from flint import arb, fmpz

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.lazy import FIRST_BITS, Undrawn

VectorDraw: TypeAlias = Callable[[int, "Sequence[Ball]"], "Sequence[Ball] | Undrawn"]
"""(case, uniform numbers) to the draw: a whole number, and balls within [0, 1]."""

_GUARD_BITS = 32


@dataclass(frozen=True, slots=True)
class LazyVectorLaw:
    """A law of several real numbers that is sampled exactly.

    Attributes:
        n_uniforms: how many uniform numbers make a draw, or an attempt at one.
        n_cases: how many equally likely cases there are besides.
        function: returns the function of case and uniform numbers, at the present precision.

    >>> from smoothdp.exact.balls.special import nearest, number
    >>> twice = LazyVectorLaw(1, 1, lambda: lambda case, u: [-u[0].log(), u[0].log()])
    >>> nearest(lambda: twice.function()(0, [number(0.5)])[1])
    -0.6931471805599453
    """

    n_uniforms: int
    n_cases: int
    function: Callable[[], VectorDraw]


@dataclass(frozen=True, slots=True)
class Place:
    """Where one number is drawn: centre + factor e^-decay Z, in steps of its grid.

    Attributes:
        centre: any rational number. factor: a rational number > 0. decay: any rational number.
    """

    centre: Fraction
    factor: Fraction
    decay: Fraction


class _Level(NamedTuple):
    """Everything that depends on the precision alone."""

    function: VectorDraw
    scales: list[arb]
    offsets: list[arb]
    unit: arb


class RoundedVectors:
    """Draws of the whole numbers nearest to centre_j + factor_j e^-decay_j Z_j, all at once.

    The result has exactly the law of the rounded real numbers: where the uniform numbers do not
    decide one of the roundings, all of them are continued by further bits. That ends with
    probability 1.

    Source: proofs/joint-quantiles#5, and for one number proofs/the-released-number#3.

    Args:
        law: the law of (Z_1, ..., Z_m), continuous.
        places: one for each number.
        lowest, highest: results beyond them are replaced by them.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> twice = LazyVectorLaw(1, 1, lambda: lambda case, u: [-u[0].log(), u[0].log()])
    >>> one, decay = Fraction(1), Fraction(10**6)
    >>> far = [Place(Fraction(7), one, decay), Place(Fraction(9), one, decay)]
    >>> RoundedVectors(twice, far, lowest=-100, highest=100).draw(SeededRandom(1))
    (7, 9)
    """

    __slots__ = ("_law", "_levels", "_limits", "_places", "_wholes")

    def __init__(
        self, law: LazyVectorLaw, places: Sequence[Place], *, lowest: int, highest: int
    ) -> None:
        self._law, self._places, self._limits = law, tuple(places), (lowest, highest)
        # As in `RoundedDraws`: what is rounded down is counted from a whole number near it.
        self._wholes = [round(place.centre + Fraction(1, 2)) for place in places]
        self._levels: dict[int, _Level] = {}

    def draw(self, rng: Entropy) -> tuple[int, ...]:
        """Return one draw of all numbers; a fresh one each time."""
        count = self._law.n_uniforms
        while True:
            case, bits = rng.below(self._law.n_cases), FIRST_BITS
            uniforms = [rng.bits(bits) for _ in range(count)]
            while True:
                found = self._attempt(case, uniforms, bits)
                if found is Undrawn.REJECTED:
                    break
                if not isinstance(found, Undrawn):
                    return found
                uniforms = [u << bits | rng.bits(bits) for u in uniforms]
                bits *= 2

    def _attempt(self, case: int, uniforms: list[int], bits: int) -> tuple[int, ...] | Undrawn:
        with precision(bits + _GUARD_BITS):
            level = self._levels.get(bits) or self._prepare(bits)
            # [2 u, 2 u + 2] in units of 2^-(bits + 1).
            drawn = level.function(case, [arb(2 * u + 1, 1) * level.unit for u in uniforms])
            if isinstance(drawn, Undrawn):
                return drawn
            found = []
            for index, z in enumerate(drawn):
                whole = self._rounded(level.offsets[index] + level.scales[index] * z, index)
                if whole is None:
                    return Undrawn.UNDECIDED
                found.append(whole)
        return tuple(found)

    def _rounded(self, position: arb, index: int) -> int | None:
        """Return the result at a position, None where the ball does not decide it."""
        (lowest, highest), origin = self._limits, self._wholes[index]
        if position < arb(fmpz(lowest - origin)):
            return lowest
        if position >= arb(fmpz(highest + 1 - origin)):
            return highest
        whole = position.floor().unique_fmpz()
        return None if whole is None else min(max(origin + int(whole), lowest), highest)

    def _prepare(self, bits: int) -> _Level:
        """Return the constants of one precision, which is set by the caller."""
        half = Fraction(1, 2)
        level = _Level(
            function=self._law.function(),
            scales=[ball(place.factor) * (-ball(place.decay)).exp() for place in self._places],
            offsets=[
                ball(place.centre + half - whole)
                for place, whole in zip(self._places, self._wholes, strict=True)
            ],
            unit=arb(fmpz(1)) / arb(fmpz(1) << (bits + 1)),
        )
        self._levels[bits] = level
        return level
