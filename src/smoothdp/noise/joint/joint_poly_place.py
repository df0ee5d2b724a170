"""PolyPlace noise of several numbers at once, whose shifts have one sign."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.rationals import positive_ends
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Parameter, exact_int, exact_positive, float_bounds
from smoothdp.exact.random.lazy import Undrawn
from smoothdp.exact.random.lazy_vector import LazyVectorLaw, VectorDraw
from smoothdp.sources import Source

_MOST_VALUES = 1000
_LARGEST_SHAPE = 10**6


@dataclass(frozen=True, init=False)
class JointPolyPlace:
    """Noise on m numbers f_1, ..., f_m that a changed record moves all in one direction.

    With r = N(z) = max_j max(z_j, 0) + max_j max(-z_j, 0) and X = t r the density of Z is
    proportional to g(X): (1 - X)^(a-m) up to X1 = 1 / (a - m + 1), and from there
    (1 - X1)^(a-m) ((1 + X1) / (1 + X))^(a-m+2). For one number it is the law `PolyPlace`.

    Source: proofs/joint-quantiles#1, #2.

    Args:
        n_values: m, from 1 to 1000.

    Raises:
        InvalidParameter: another m.

    >>> from smoothdp.claims import PureDP
    >>> joint = JointPolyPlace(9).calibrate(PureDP(1), smoothing="0.002")
    >>> round(joint.standard_deviation, 3), joint.label
    (4.861, 'proved')
    """

    source: ClassVar[Source] = Source("hladik-tetek", "Definition 6, for several numbers")
    n_values: int

    def __init__(self, n_values: int) -> None:
        count = exact_int(n_values, name="n_values", minimum=1)
        if count > _MOST_VALUES:
            raise InvalidParameter(
                expected=f"n_values of at most {_MOST_VALUES}",
                got=f"n_values={count}",
                remedy="Use JointExponentialQuantiles for so many quantiles",
            )
        object.__setattr__(self, "n_values", count)

    def calibrate(self, guarantee: Guarantee, *, smoothing: Parameter) -> JointCalibration:
        """Return the noise with which m numbers keep a guarantee.

        Release f_j(x) + S_j(x) Z_j for all j. It keeps epsilon-DP if between neighbours all f_j
        move by at most min(S_j, S_j'), all in one direction, and each ln S_j by at most t.

        Args:
            guarantee: PureDP about replacing one record.
            smoothing: t > 0; m t and (2m - 2) t must be below epsilon.

        Raises:
            InvalidParameter: another guarantee, or no such law for this smoothing.
            IncompatibleClaims: a guarantee about adding or removing a record, which moves some
                of the f_j up and others down.
        """
        epsilon = _read_epsilon(guarantee)
        t = exact_positive(smoothing, name="smoothing")
        shape = _shape_below(guarantee, t)
        least = max(self.n_values, 2 * self.n_values - 2)
        if shape is None or shape <= least:
            raise InvalidParameter(
                expected=f"epsilon / smoothing above {least} for {self.n_values} numbers, where "
                "such a law exists",
                got=f"epsilon={epsilon:g}, smoothing={shown(t)}",
                remedy="Lower the smoothing, raise epsilon, or ask for fewer numbers",
            )
        return JointCalibration(self, guarantee, t, min(shape, Fraction(_LARGEST_SHAPE)))


@dataclass(frozen=True)
class JointCalibration:
    """Noise S_j Z_j on m numbers keeps ``guarantee``; every figure follows from these fields.

    Attributes:
        law: which numbers, and how many.
        guarantee: what is kept: PureDP of at least shape times smoothing.
        smoothing: t > 0.
        shape: a, rational, above max(m, 2m - 2).

    Raises:
        InvalidParameter: a shape outside this domain, or that spends more than the guarantee.

    >>> from smoothdp.claims import PureDP
    >>> JointPolyPlace(3).calibrate(PureDP(1), smoothing="0.1").shape
    Fraction(10, 1)
    """

    source: ClassVar[Source] = Source("hladik-tetek", "Theorem 8, for several numbers")
    label: ClassVar[str] = "proved"
    law: JointPolyPlace
    guarantee: Guarantee
    smoothing: Fraction
    shape: Fraction

    def __post_init__(self) -> None:
        _read_epsilon(self.guarantee)
        epsilon = self.guarantee.pure_epsilon()
        assert epsilon is not None
        exact = isinstance(self.smoothing, Fraction) and isinstance(self.shape, Fraction)
        if not exact or not isinstance(self.law, JointPolyPlace) or self.smoothing <= 0:
            raise InvalidParameter(
                expected="a JointPolyPlace, and smoothing > 0 and shape as Fractions",
                got=f"{self.law!r}, {self.smoothing!r}, {self.shape!r}",
                remedy="Take what JointPolyPlace.calibrate returns",
            )
        count = self.n_values
        if not max(count, 2 * count - 2) < self.shape <= _LARGEST_SHAPE:
            raise InvalidParameter(
                expected=f"a shape above {max(count, 2 * count - 2)} and up to {_LARGEST_SHAPE}",
                got=f"shape={shown(self.shape)}",
                remedy="Take what JointPolyPlace.calibrate returns",
            )
        if not at_most(self.shape * self.smoothing, epsilon):
            raise InvalidParameter(
                expected="shape times smoothing of at most epsilon",
                got=f"shape={shown(self.shape)}, smoothing={shown(self.smoothing)} for "
                f"{self.guarantee!r}",
                remedy="Take what JointPolyPlace.calibrate returns",
            )

    def __reduce__(self) -> tuple[type[JointCalibration], tuple[object, ...]]:
        # A pickle is read by the constructor, which compares what it says.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @property
    def n_values(self) -> int:
        """m, how many numbers."""
        return self.law.n_values

    @property
    def exact_shift(self) -> Fraction:
        """t: (S_j / t) X theta_j is the noise, with the X and theta of `lazy`."""
        return self.smoothing

    @property
    def variance(self) -> float:
        """E Z_j^2, the variance of each number at S_j = 1; inf for shape <= 2 m.

        E r^2 (m + 2)(m + 3) / (6 m (m + 1)), with incomplete beta functions
        (proofs/joint-quantiles#3).
        """
        m = self.n_values
        if self.shape <= 2 * m:
            return math.inf
        cone = Fraction((m + 2) * (m + 3), 6 * m * (m + 1))
        return special.nearest(
            lambda: ball(cone / self.smoothing**2) * self._mass(2) / self._mass(0)
        )

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the noise on each number at smooth sensitivity 1."""
        return math.sqrt(self.variance)

    def _mass(self, k: int) -> Ball:
        """Return the integral of X^(m - 1 + k) g(X) over X > 0."""
        m, rest = self.n_values, self.shape - self.n_values
        kink = 1 / (rest + 1)
        inner = ball(kink).beta_lower(ball(m + k), ball(rest + 1))
        border = ball(rest) * ball(1 - kink).log() + ball(rest + 2) * ball(1 + kink).log()
        outer = ball(1 / (1 + kink)).beta_lower(ball(rest + 2 - m - k), ball(m + k))
        return inner + border.exp() * outer

    def lazy(self) -> LazyVectorLaw:
        """Return the exact sampler of X theta, with X = t r and N(theta) = 1.

        2 m uniform numbers and one of m (m + 1) cases (proofs/joint-quantiles#4):

        * 1 + X = prod_i U_i^(-1/(c + i)), i = 0, ..., m - 1, c = a - 2m + 2, has the tail
          (1 + X)^-(a-m+2) everywhere; below X1 it is kept with the ratio of g to it.
        * theta_j = W_j - W_0 for m + 1 points W of [0, 1]: one is 0, one 1, the others uniform.
        """
        m = self.n_values
        return LazyVectorLaw(2 * m, m * (m + 1), self._draw_function)

    def _draw_function(self) -> VectorDraw:
        m, rest = self.n_values, self.shape - self.n_values
        kink = 1 / (rest + 1)
        rates = [ball(1 / (rest + 2 - m + i)) for i in range(m)]
        border = ball(1 + kink).log()
        inner, outer = ball(rest), ball(rest + 2)
        level = inner * ball(1 - kink).log() + outer * border
        zero, one = special.number(0.0), special.number(1.0)

        def draw(case: int, uniforms: Sequence[Ball]) -> Sequence[Ball] | Undrawn:
            log_size = zero
            for u, rate in zip(uniforms[:m], rates, strict=True):
                log_size -= u.log() * rate
            size = log_size.expm1()
            if not log_size >= border:
                if not log_size < border:
                    return Undrawn.UNDECIDED
                kept = inner * (-size).log1p() + outer * log_size - level
                coin = uniforms[m].log()
                if coin > kept:
                    return Undrawn.REJECTED
                if not coin < kept:
                    return Undrawn.UNDECIDED
            low, high = divmod(case, m)
            high += high >= low
            rest_of = iter(uniforms[m + 1 :])
            points = [
                zero if i == low else one if i == high else next(rest_of) for i in range(m + 1)
            ]
            return [size * (point - points[0]) for point in points[1:]]

        return draw

    def sentence(self) -> str:
        """Return the result in plain English."""
        return (
            f"{self.law!r} with shape {shown(self.shape)}, scaled to each S_j, keeps "
            f"{self.guarantee!r} for numbers that a changed record moves in one direction, if each "
            f"S_j changes by at most a factor e^{shown(self.smoothing)} between neighbours: proved."
        )


def _read_epsilon(guarantee: Guarantee) -> float:
    """Return epsilon of a guarantee about replacing a record, as a float."""
    if not isinstance(guarantee, PureDP) or guarantee.epsilon <= 0:
        raise InvalidParameter(
            expected="PureDP(epsilon) with epsilon > 0",
            got=f"{guarantee!r}",
            remedy="Ask for pure DP",
        )
    if guarantee.neighbours is not Neighbours.REPLACE_ONE:
        raise IncompatibleClaims(
            expected="a guarantee about replacing one record, which moves all quantiles in one "
            "direction",
            got=f"{guarantee!r}",
            remedy="Give neighbours='replace_one' if the number of records is public, or release "
            "the quantiles one by one",
        )
    return guarantee.epsilon


def _shape_below(guarantee: Guarantee, smoothing: Fraction) -> Fraction | None:
    """Return a rational a with a t <= epsilon: equal for a rational epsilon, else just below."""
    epsilon = guarantee.pure_epsilon()
    if isinstance(epsilon, Fraction):
        return epsilon / smoothing
    assert epsilon is not None
    ends = positive_ends(lambda: ball(epsilon) / ball(smoothing))
    return None if ends is None else Fraction(float_bounds(ends[0])[0])
