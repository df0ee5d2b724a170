"""A statement of the form epsilon = cost(t) + rate * s, and the shift that it gives."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.rationals import positive_ends
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import exact_fraction
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.shift_claim import ShiftClaim
from smoothdp.noise.theorems.amounts import Amount
from smoothdp.noise.theorems.refusals import no_room, not_in_the_papers
from smoothdp.sources import Source

BUN_STEINKE = "bun-steinke-averages"
HLADIK_TETEK = "hladik-tetek"


class Statement(NamedTuple):
    """epsilon = cost + rate * s, and the least epsilon/t in words."""

    amount: Amount
    cost: Callable[[], Ball]
    rate: Callable[[], Ball]
    room: str
    source: Source

    def shift(self, law: NoiseDistribution, t: Fraction) -> ShiftClaim:
        """Return the largest s that the statement gives, rounded down.

        Raises:
            InvalidParameter: the dilation alone spends the whole epsilon.
        """
        ends = positive_ends(lambda: (self.amount.epsilon() - self.cost()) / self.rate())
        if ends is None:
            raise no_room(self.room, law, t, "Lower the smoothing, or raise the guarantee")
        return claim(ends[0], self.source, self.amount.route)


def claim(shift: Fraction, source: Source, route: str) -> ShiftClaim:
    """Return a proved shift, beyond which the statement says nothing."""
    return ShiftClaim(shift, None, "proved", source, source.where + route)


def required(
    amount: Amount | None, law: NoiseDistribution, guarantee: Guarantee, statement: str
) -> Amount:
    """Return an amount, or raise InvalidParameter where no statement leads to the guarantee."""
    if amount is None:
        raise not_in_the_papers(law, guarantee, statement)
    return amount


def read_smoothing(smoothing: Fraction) -> Fraction:
    """Return an exact t >= 0; 0 is global sensitivity.

    Raises:
        InvalidParameter: anything else.
    """
    t = exact_fraction(smoothing, name="smoothing")
    if t < 0:
        raise InvalidParameter(
            expected="smoothing >= 0",
            got=f"smoothing={shown(t)}",
            remedy="Give a smoothing, such as 0.1",
        )
    return t
