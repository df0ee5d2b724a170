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
from smoothdp.noise.joint.radial_profile import RadialProfile
from smoothdp.sources import Source

_MOST_VALUES = 1000
_LARGEST_SHAPE = 10**6
_LARGEST_RATIO = 10**12  # of smoothings; beyond, moments need too many bits


@dataclass(frozen=True, init=False)
class JointPolyPlace:
    """Noise on m numbers f_1, ..., f_m that a changed record moves all in one direction.

    With r = N(z) = max_j max(z_j, 0) + max_j max(-z_j, 0) and X = t r the density of Z is
    proportional to g(X): (1 - X)^(a-m) up to X1 = 1 / (a - m + 1), and from there
    (1 - X1)^(a-m) ((1 + X1) / (1 + X))^(a-m+2). For one number it is the law `PolyPlace`. Numbers
    with smoothings of their own have a g of three powers, `RadialProfile`.

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

    def calibrate(
        self, guarantee: Guarantee, *, smoothing: Parameter | Sequence[Parameter]
    ) -> JointCalibration:
        """Return the noise with which m numbers keep a guarantee.

        Release f_j(x) + S_j(x) Z_j for all j. It keeps epsilon-DP if between neighbours all f_j
        move by at most min(S_j, S_j'), all in one direction, and each ln S_j by at most t, or by
        a t_j of its own.

        Args:
            guarantee: PureDP about replacing one record.
            smoothing: t > 0; m t and (2m - 2) t must be below epsilon. Or a list of t_j > 0:
                epsilon must be above their sum plus max(1, m - 2) times the largest, and this
                at most 1e12 times the smallest.

        Raises:
            InvalidParameter: another guarantee, or no such law for this smoothing.
            IncompatibleClaims: a guarantee about adding or removing a record, which moves some
                of the f_j up and others down.
        """
        epsilon, m = _read_epsilon(guarantee), self.n_values
        each = _read_smoothings(smoothing, m)
        t = max(each)
        shape = _shape_below(guarantee, t)
        least = _least_shape(each)
        if shape is None or shape <= least:
            raise InvalidParameter(
                expected=f"epsilon / smoothing above {shown(least)} for {m} numbers, where such a "
                "law exists",
                got=f"epsilon={epsilon:g}, smoothing={shown(t)}",
                remedy="Lower the smoothing, raise epsilon, or ask for fewer numbers",
            )
        return JointCalibration(self, guarantee, t, min(shape, Fraction(_LARGEST_SHAPE)), each)


@dataclass(frozen=True)
class JointCalibration:
    """Noise S_j Z_j on m numbers keeps ``guarantee``; every figure follows from these fields.

    Attributes:
        law: which numbers, and how many.
        guarantee: what is kept: PureDP of at least shape times smoothing.
        smoothing: t > 0, the largest.
        shape: a, rational, above max(m, 2m - 2); where smoothings differ, above their sum over t
            plus max(1, m - 2).
        smoothings: t_j of each number; all t where they are left out.

    Raises:
        InvalidParameter: a shape outside this domain, or that spends more than the guarantee, or
            smoothings of which t is not the largest.

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
    smoothings: tuple[Fraction, ...] = ()

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
        if self.smoothings == ():
            object.__setattr__(self, "smoothings", (self.smoothing,) * count)
        each = self.smoothings
        exact = isinstance(each, tuple) and all(isinstance(t, Fraction) and t > 0 for t in each)
        if not exact or len(each) != count or max(each) != self.smoothing:
            raise InvalidParameter(
                expected=f"a tuple of {count} smoothings > 0, Fractions, the largest smoothing",
                got=f"{each!r}, {self.smoothing!r}",
                remedy="Take what JointPolyPlace.calibrate returns",
            )
        if min(each) * _LARGEST_RATIO < self.smoothing:
            raise InvalidParameter(
                expected=f"smoothings within a factor {_LARGEST_RATIO:.0e} of each other",
                got=f"smoothings {shown(min(each))} and {shown(self.smoothing)}",
                remedy="Raise the smallest: the noise hardly depends on it",
            )
        least = _least_shape(each)
        if not least < self.shape <= _LARGEST_SHAPE:
            raise InvalidParameter(
                expected=f"a shape above {shown(least)} and up to {_LARGEST_SHAPE}",
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
        """E Z_j^2, the variance of each number at S_j = 1; inf for b <= m, as shape <= 2 m.

        E r^2 (m + 2)(m + 3) / (6 m (m + 1)), with incomplete beta functions
        (proofs/joint-quantiles#3).
        """
        m, radial = self.n_values, self.radial
        if radial.rest <= m:
            return math.inf
        cone = Fraction((m + 2) * (m + 3), 6 * m * (m + 1))
        return special.nearest(
            lambda: ball(cone / self.smoothing**2) * radial.mass(2) / radial.mass(0)
        )

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the noise on each number at smooth sensitivity 1."""
        return math.sqrt(self.variance)

    @property
    def radial(self) -> RadialProfile:
        """The law of X = t r: b = a - sum_j t_j / t, and the least t_j over t."""
        rest = self.shape - sum(self.smoothings) / self.smoothing
        return RadialProfile(self.n_values, rest, min(self.smoothings) / self.smoothing)

    def lazy(self) -> LazyVectorLaw:
        """Return the exact sampler of X theta, with X = t r and N(theta) = 1.

        2 m uniform numbers and one of m (m + 1) cases (proofs/joint-quantiles#4):

        * X by rejection from a product of powers of m of them (`RadialProfile.drawer`).
        * theta_j = W_j - W_0 for m + 1 points W of [0, 1]: one is 0, one 1, the others uniform.
        """
        m = self.n_values
        return LazyVectorLaw(2 * m, m * (m + 1), self._draw_function)

    def _draw_function(self) -> VectorDraw:
        m, radius = self.n_values, self.radial.drawer()
        zero, one = special.number(0.0), special.number(1.0)

        def draw(case: int, uniforms: Sequence[Ball]) -> Sequence[Ball] | Undrawn:
            size = radius(uniforms)
            if isinstance(size, Undrawn):
                return size
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
        rates = ", ".join(shown(t) for t in dict.fromkeys(self.smoothings))
        return (
            f"{self.law!r} with shape {shown(self.shape)}, scaled to each S_j, keeps "
            f"{self.guarantee!r} for numbers that a changed record moves in one direction, if each "
            f"S_j changes by at most a factor e^t_j, t_j = {rates}, "
            "between neighbours: proved."
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


def _read_smoothings(
    smoothing: Parameter | Sequence[Parameter], n_values: int
) -> tuple[Fraction, ...]:
    if isinstance(smoothing, str) or not isinstance(smoothing, Sequence):
        return (exact_positive(smoothing, name="smoothing"),) * n_values
    if len(smoothing) != n_values:
        raise InvalidParameter(
            expected=f"a smoothing, or {n_values} of them",
            got=f"{len(smoothing)} smoothings",
            remedy="Give one for each number",
        )
    return tuple(exact_positive(t, name="smoothing") for t in smoothing)


def _least_shape(smoothings: tuple[Fraction, ...]) -> Fraction:
    """Return what epsilon / t must be above for the law to exist, t the largest of smoothings.

    Where they differ b is at least 1: attempts of the sampler then succeed as often.
    """
    m, t = len(smoothings), max(smoothings)
    return sum(smoothings) / t + max(int(min(smoothings) < t), m - 2)


def _shape_below(guarantee: Guarantee, smoothing: Fraction) -> Fraction | None:
    """Return a rational a with a t <= epsilon: equal for a rational epsilon, else just below."""
    epsilon = guarantee.pure_epsilon()
    if isinstance(epsilon, Fraction):
        return epsilon / smoothing
    assert epsilon is not None
    ends = positive_ends(lambda: ball(epsilon) / ball(smoothing))
    return None if ends is None else Fraction(float_bounds(ends[0])[0])
