"""Noise laws as functions of uniform numbers, in ball arithmetic.

A law is given as a function of independent uniform numbers on [0, 1] and of a sign. A ball for
each uniform number gives a ball for the draw; narrower balls come from more bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import ClassVar, TypeAlias

from flint import arb

from smoothdp.exact.balls.balls import ball


class Undrawn(Enum):
    """Why there is no draw yet."""

    REJECTED = "the uniform numbers lead to no draw: take others"
    UNDECIDED = "the balls are too wide to tell"


Function: TypeAlias = Callable[..., "arb | Undrawn"]
"""(positive, u_1, u_2, ...) to the draw: whether its sign is kept, and balls within [0, 1]."""


class LazyLaw(ABC):
    """A law of the real line that is sampled exactly.

    Functions are made of one precision: the constants of the law are computed once for it.
    """

    n_uniforms: ClassVar[int] = 2

    @abstractmethod
    def function(self) -> Function:
        """Return the function of the uniform numbers, at the present precision."""


def _normal(u: arb, v: arb) -> arb:
    """Return a standard normal number (Box and Muller)."""
    return (-2 * u.log()).sqrt() * v.cos_pi()


@dataclass(frozen=True, slots=True)
class LazyLaplace(LazyLaw):
    """Density exp(-|x|) / 2."""

    n_uniforms: ClassVar[int] = 1

    def function(self) -> Function:
        def draw(positive: bool, u: arb) -> arb:
            return -u.log() if positive else u.log()

        return draw


@dataclass(frozen=True, slots=True)
class LazyNormal(LazyLaw):
    """The standard normal law."""

    def function(self) -> Function:
        def draw(_: bool, u: arb, v: arb) -> arb:
            return _normal(u, v)

        return draw


@dataclass(frozen=True, slots=True)
class LazyLaplaceLogNormal(LazyLaw):
    """X e^(sigma Y), X standard Laplace, Y standard normal."""

    n_uniforms: ClassVar[int] = 3
    sigma: Fraction

    def function(self) -> Function:
        sigma = ball(self.sigma)

        def draw(positive: bool, u: arb, v: arb, w: arb) -> arb:
            size = w.log() * (sigma * _normal(u, v)).exp()
            return -size if positive else size

        return draw


@dataclass(frozen=True, slots=True)
class LazyUniformLogNormal(LazyLaw):
    """X e^(sigma Y), X uniform on [-1, 1], Y standard normal."""

    n_uniforms: ClassVar[int] = 3
    sigma: Fraction

    def function(self) -> Function:
        sigma = ball(self.sigma)

        def draw(positive: bool, u: arb, v: arb, w: arb) -> arb:
            size = w * (sigma * _normal(u, v)).exp()
            return size if positive else -size

        return draw


@dataclass(frozen=True, slots=True)
class LazyArsinhNormal(LazyLaw):
    """sinh(sigma Y) / sigma, Y standard normal."""

    sigma: Fraction

    def function(self) -> Function:
        sigma, inverse = ball(self.sigma), ball(1 / self.sigma)

        def draw(_: bool, u: arb, v: arb) -> arb:
            return (sigma * _normal(u, v)).sinh() * inverse

        return draw


@dataclass(frozen=True, slots=True)
class LazyLog1pNormal(LazyLaw):
    """sgn(Y) (e^(sigma |Y|) - 1) / sigma, Y standard normal."""

    sigma: Fraction

    def function(self) -> Function:
        sigma, inverse = ball(self.sigma), ball(1 / self.sigma)

        def draw(positive: bool, u: arb, v: arb) -> arb:
            size = (sigma * abs(_normal(u, v))).expm1() * inverse
            return size if positive else -size

        return draw


@dataclass(frozen=True, slots=True)
class LazyStudentT(LazyLaw):
    """Student's T with any real number of degrees of freedom d > 0.

    sqrt(d (U^(-2/d) - 1)) cos(pi V), exact for every d.

    Source: R. W. Bailey, Polar generation of random variates with the t-distribution (1994).
    """

    degrees: Fraction

    def function(self) -> Function:
        d, power = ball(self.degrees), ball(-2 / self.degrees)

        def draw(_: bool, u: arb, v: arb) -> arb:
            return (d * (power * u.log()).expm1()).sqrt() * v.cos_pi()

        return draw


@dataclass(frozen=True, slots=True)
class LazyPolyPlace(LazyLaw):
    """The PolyPlace law of shape a > 1: inverse of the tail P(|Z| > y), in closed form.

    With k = (1 - 1/a)^a, D = 2 k + a - 1 and c = (a + 1) k / D = P(|Z| > 1/a):
    y = (1 + 1/a) (c / u)^(1/a) - 1 for u <= c, else 1 - (1 - (1 - u) D / (a - 1))^(1/a).
    """

    n_uniforms: ClassVar[int] = 1
    alpha: Fraction

    def function(self) -> Function:
        a = self.alpha
        power = (ball(a) * ball(-1 / a).log1p()).exp()
        total = 2 * power + ball(a - 1)
        border = ball(a + 1) * power / total
        share, inverse = total / ball(a - 1), ball(1 / a)
        start = ball(1 / a).log1p() + border.log() * inverse

        def draw(positive: bool, u: arb) -> arb | Undrawn:
            if u < border:
                size = (start - u.log() * inverse).expm1()
                return size if positive else -size
            if u > border:
                size = (((u - 1) * share).log1p() * inverse).expm1()
                return -size if positive else size
            return Undrawn.UNDECIDED

        return draw


@dataclass(frozen=True, slots=True)
class LazyGeneralizedCauchy(LazyLaw):
    """Density proportional to 1 / (1 + |x|^c), c > 1, by rejection from min(1, |x|^-c).

    The proposal is uniform on [0, 1] with probability (c - 1) / c, else u^(-1/(c-1)); it is
    kept with probability 1 / (1 + y^c) or 1 / (1 + y^-c): at least 1/2.
    """

    power: Fraction

    def function(self) -> Function:
        c = self.power
        border, stretch = ball((c - 1) / c), ball(c / (c - 1))
        shrink, tail, exponent = ball(c), ball(-1 / (c - 1)), ball(c)

        def draw(positive: bool, u: arb, v: arb) -> arb | Undrawn:
            if u < border:
                size = u * stretch
                odds = (exponent * size.log()).exp()
            elif u > border:
                log_size = ((u - border) * shrink).log() * tail
                size = log_size.exp()
                odds = (-exponent * log_size).exp()
            else:
                return Undrawn.UNDECIDED
            level = v * (1 + odds)
            if level < 1:
                return size if positive else -size
            return Undrawn.REJECTED if level > 1 else Undrawn.UNDECIDED

        return draw
