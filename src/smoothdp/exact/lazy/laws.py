"""Laws of the real line as functions of uniform numbers, in ball arithmetic.

A law is given as a function of independent uniform numbers on [0, 1] and of a sign. A ball for
each uniform number gives a ball for the draw; narrower balls come from more bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from smoothdp.exact.special import Ball


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

    >>> from smoothdp.exact.special import nearest, number
    >>> exponential = LazyLaw(1, lambda: lambda positive, u: -u.log())
    >>> nearest(lambda: exponential.function()(True, number(0.5)))
    0.6931471805599453
    """

    n_uniforms: int
    function: Callable[[], DrawFunction]


def standard_normal(u: Ball, v: Ball) -> Ball:
    """Return a standard normal number of two uniform ones (Box and Muller)."""
    return (-2 * u.log()).sqrt() * v.cos_pi()
