"""A real number plus continuous noise of a fixed scale, correctly rounded to a public grid."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from smoothdp.exact.balls.special import Ball
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.lazy import DrawFunction, LazyLaw, RoundedDraws, standard_normal
from smoothdp.mechanisms.additive.private_number import read_private_number

_FINER = 30
_LARGEST = 1 << 1023


def _laplace_draw() -> DrawFunction:
    def draw(positive: bool, u: Ball) -> Ball:
        return -u.log() if positive else u.log()

    return draw


def _normal_draw() -> DrawFunction:
    def draw(positive: bool, u: Ball, v: Ball) -> Ball:
        del positive  # the cosine has both signs
        return standard_normal(u, v)

    return draw


LAPLACE = LazyLaw(1, _laplace_draw)
"""Density e^(-|x|) / 2."""
NORMAL = LazyLaw(2, _normal_draw)


@lru_cache(maxsize=1024)
def grid_of(scale: Fraction) -> Fraction:
    """Return the step of the grid: a power of two, about 2^-30 of the scale.

    >>> grid_of(Fraction(3)) == Fraction(1, 2**29)
    True
    """
    exponent = scale.numerator.bit_length() - scale.denominator.bit_length()
    if Fraction(2) ** exponent > scale:
        exponent -= 1
    return Fraction(2) ** (exponent - _FINER)


def noisy_number(value: object, law: LazyLaw, *, scale: Fraction, rng: Entropy) -> float:
    """Return value + scale Z, rounded once to the grid of the scale, as the nearest float.

    The random bits behind Z are drawn until the nearest point of the grid is certain: the result
    has exactly the law of a function of the ideal real number, and its guarantee.

    Raises:
        InvalidData: no finite number; what it is is not shown.
    """
    step = grid_of(scale)
    most = int(_LARGEST / step)
    draws = RoundedDraws(
        law,
        centre=read_private_number(value) / step,
        factor=scale / step,
        decay=Fraction(0),
        lowest=-most,
        highest=most,
    )
    return float(draws.draw(rng) * step)
