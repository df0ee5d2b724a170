"""Which member of a family of laws needs the least noise.

The rules are fits, the optimiser minimises a float: a worse shape costs noise, never privacy,
because the shift of whatever shape is chosen is certified afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar, cast

from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.errors import InvalidParameter, SmoothdpError
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.work import remembered
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.calibration.approximate.shift import approximate_estimate
from smoothdp.noise.calibration.concentrated.shift import concentrated_estimate
from smoothdp.noise.calibration.limits import MOST_WORK, too_much_work
from smoothdp.noise.calibration.pure import pure_estimate
from smoothdp.noise.calibration.shipped_claims import shipped_shape
from smoothdp.noise.specification import short_decimal

_GOLDEN = (math.sqrt(5) - 1) / 2
_GRID = 9

Law = TypeVar("Law", bound=AbstractLaw)


def best_shape(law: type[Law], guarantee: Guarantee, *, smoothing: Parameter) -> Law:
    """Return the law of a family with about the least noise: by a rule, else by optimising.

    A law may have a rule (its hook `_shape_rule`): fits for zCDP up to rho = 1/2 within 1.3% of
    the best standard deviation; in pure and approximate DP PolyPlace epsilon / t, Student's T
    (5 + 2 r) / (1 + 4 r) with r = t / epsilon (optimal as epsilon goes to 0).

    Raises:
        InvalidParameter: no member of the family keeps the guarantee with finite variance.

    >>> from smoothdp.noise import ArsinhNormal
    >>> from smoothdp.claims import ZCDP
    >>> best_shape(ArsinhNormal, ZCDP("1/2"), smoothing="0.1")
    ArsinhNormal(sigma=77/200)
    """
    t = exact_fraction(smoothing, name="smoothing")
    shipped = shipped_shape(law, guarantee, t)
    if shipped is None and isinstance(guarantee, TruncatedCDP) and t > 0:
        shipped = _untruncated_shape(law, guarantee, t)
    return compute_shape(law, guarantee, t) if shipped is None else _member(law, shipped)


def _untruncated_shape(law: type[Law], guarantee: TruncatedCDP, t: Fraction) -> Fraction | None:
    """Return the shape for zCDP of the same rho, if the family has one: the truncated promise
    asks for less, and hardly changes which shape is best."""
    whole = ZCDP(guarantee.exact_rho, neighbours=guarantee.neighbours)
    shipped = shipped_shape(law, whole, t)
    if shipped is not None or not law.parameters:
        return shipped
    return law._shape_rule(whole, t)


@remembered(
    MOST_WORK,
    kept=1024,
    message=lambda law, guarantee, t: too_much_work(law.__name__, guarantee, shown(t)),
)
def compute_shape(law: type[Law], guarantee: Guarantee, t: Fraction) -> Law:
    """Return what `best_shape` does, not from the table."""
    if not law.parameters:
        return law()
    shape = law._shape_rule(_optimised_for(guarantee), t) if t > 0 else None
    return optimise_shape(law, guarantee, smoothing=t) if shape is None else _member(law, shape)


def optimise_shape(law: type[Law], guarantee: Guarantee, *, smoothing: Parameter) -> Law:
    """Return the law of a family with the least standard deviation, in plain floats.

    A few seconds: the shift is estimated at some thirty shapes.

    Raises:
        InvalidParameter: no member of the family keeps the guarantee with finite variance.
    """
    t = exact_fraction(smoothing, name="smoothing")
    target = _optimised_for(guarantee)
    if len(law.parameters) != 1:
        raise InvalidParameter(
            expected="a family with one shape",
            got=law.__name__,
            remedy="Call calibrate() on a law of the family: there is no single shape to optimise",
        )

    def cost(log_shape: float) -> float:
        try:
            member = _member(law, short_decimal(math.exp(log_shape)))
            shift = _estimate(member, target, t)
            return math.log(math.sqrt(member.variance)) - math.log(shift)
        except (SmoothdpError, ArithmeticError, OverflowError):
            return math.inf

    low, high = law._shape_range(target, t)
    best = _least(cost, math.log(low), math.log(high))
    if best is None:
        raise InvalidParameter(
            expected=f"a law of {law.__name__} that keeps {guarantee!r} with finite variance",
            got=f"smoothing={shown(t)}",
            remedy="Lower smoothing, weaken the guarantee, or use another family",
        )
    return _member(law, short_decimal(math.exp(best)))


def _optimised_for(guarantee: Guarantee) -> Guarantee:
    """Return the claim that a shape is chosen for: for mu about the pure one that implies it."""
    if not isinstance(guarantee, GaussianDP) or guarantee.exact_mu == 0:
        return guarantee
    pure = guarantee.sufficient_pure()
    # A little less, of four digits, so that shapes are short: rounding moves it by 1 in 2,000.
    return pure.changed(epsilon=Fraction(f"{0.999 * float(pure.exact_epsilon):.4g}"))


def _estimate(law: AbstractLaw, guarantee: Guarantee, t: Fraction) -> float:
    if isinstance(guarantee, ZCDP | TruncatedCDP):
        return concentrated_estimate(law, guarantee, t)
    if isinstance(guarantee, ApproxDP) and guarantee.exact_delta > 0:
        return approximate_estimate(law, guarantee, t)
    if isinstance(guarantee, PureDP | ApproxDP):
        return pure_estimate(law, guarantee.exact_epsilon, t)
    raise InvalidParameter(
        expected="PureDP, ApproxDP, ZCDP, TruncatedCDP or GaussianDP",
        got=f"{guarantee!r}",
        remedy="Optimise for one of these guarantees, such as PureDP(1)",
    )


def _least(cost: Callable[[float], float], low: float, high: float) -> float | None:
    """Return about where a function is least: a grid, then a golden section."""
    points = [low + (high - low) * i / (_GRID - 1) for i in range(_GRID)]
    costs = [cost(x) for x in points]
    best = min(range(_GRID), key=costs.__getitem__)
    if math.isinf(costs[best]):
        return None
    a, b = points[max(0, best - 1)], points[min(_GRID - 1, best + 1)]
    c, d = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    at_c, at_d = cost(c), cost(d)
    for _ in range(16):
        if at_c <= at_d:
            b, d, at_d = d, c, at_c
            c = b - _GOLDEN * (b - a)
            at_c = cost(c)
        else:
            a, c, at_c = c, d, at_d
            d = a + _GOLDEN * (b - a)
            at_d = cost(d)
    return min(((at_c, c), (at_d, d), (costs[best], points[best])))[1]


def _member(law: type[Law], shape: Fraction) -> Law:
    # Every law with a parameter is made from its shape alone.
    make = cast("Callable[[Fraction], Law]", law)
    return make(shape)
