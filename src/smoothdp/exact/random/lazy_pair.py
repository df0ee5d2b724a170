"""Two numbers that are drawn together, each rounded to its own grid, exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from flint import arb, fmpz

from smoothdp.exact.balls.balls import precision
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.lazy import FIRST_BITS, GUARD_BITS, LazyLaw, RoundedDraws, Undrawn

PairFunction: TypeAlias = Callable[..., "tuple[Ball, Ball] | Undrawn"]
"""(positive, u_1, u_2, ...) to both numbers: balls within [0, 1] around the uniform ones."""


@dataclass(frozen=True, slots=True)
class LazyPair:
    """A law of the plane that is sampled exactly, as a `LazyLaw` of the line.

    Attributes:
        n_uniforms: how many uniform numbers make a draw, or an attempt at one.
        function: returns the function of the uniform numbers, at the present precision.

    >>> from smoothdp.exact.balls.special import nearest, number
    >>> pair = LazyPair(1, lambda: lambda positive, u: (-u.log(), u))
    >>> nearest(lambda: pair.second.function()(True, number(0.25)))
    0.25
    """

    n_uniforms: int
    function: Callable[[], PairFunction]

    @property
    def first(self) -> LazyLaw:
        """The law of the first number by itself."""
        return LazyLaw(self.n_uniforms, lambda: self._part(0))

    @property
    def second(self) -> LazyLaw:
        """The law of the second number by itself."""
        return LazyLaw(self.n_uniforms, lambda: self._part(1))

    def _part(self, place: int) -> Callable[..., Ball | Undrawn]:
        both = self.function()

        def part(positive: bool, *uniforms: Ball) -> Ball | Undrawn:
            drawn = both(positive, *uniforms)
            return drawn if isinstance(drawn, Undrawn) else drawn[place]

        return part


def draw_pair(
    pair: LazyPair, first: RoundedDraws, second: RoundedDraws, rng: Entropy
) -> tuple[int, int]:
    """Return one draw of both numbers, the first rounded as ``first`` does, the second likewise.

    Both come from the same uniform numbers, whose bits are continued until both roundings are
    decided: that ends with probability 1, and the result has exactly the law of the two rounded
    real numbers.

    Source: proofs/the-released-number#3, proofs/quantile-bars#6.

    >>> from fractions import Fraction
    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> same = LazyPair(1, lambda: lambda positive, u: (u, u))
    >>> grid = {"factor": Fraction(1000), "decay": Fraction(0), "lowest": -9, "highest": 9999}
    >>> one = RoundedDraws(same.first, centre=Fraction(0), **grid)
    >>> other = RoundedDraws(same.second, centre=Fraction(1), **grid)
    >>> x, y = draw_pair(same, one, other, SeededRandom(1))
    >>> y - x
    1
    """
    count = pair.n_uniforms
    while True:
        bits = FIRST_BITS
        drawn = rng.bits(count * bits + 1)
        positive, rest = bool(drawn & 1), drawn >> 1
        uniforms = [rest >> (bits * index) & ((1 << bits) - 1) for index in range(count)]
        while True:
            with precision(bits + GUARD_BITS):
                unit = arb(fmpz(1)) / arb(fmpz(1) << (bits + 1))
                # [2 u, 2 u + 2] in units of 2^-(bits + 1).
                known = [arb(2 * u + 1, 1) * unit for u in uniforms]
                both = pair.function()(positive, *known)
                if both is Undrawn.REJECTED:
                    break
                if not isinstance(both, Undrawn):
                    ends = first.rounded(bits, both[0]), second.rounded(bits, both[1])
                    if ends[0] is not None and ends[1] is not None:
                        return ends[0], ends[1]
            uniforms = [u << bits | rng.bits(bits) for u in uniforms]
            bits *= 2
