"""Which member of a family of laws needs the least noise.

The rules are fits, the optimiser minimises a float: a worse shape costs noise, never privacy,
because the shift of whatever shape is chosen is certified afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.errors import InvalidParameter, SmoothdpError
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.work import remembered
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, exact_fraction, float_of
from smoothdp.noise.arsinh_normal import ArsinhNormal
from smoothdp.noise.calibration.approximate import approximate_estimate
from smoothdp.noise.calibration.concentrated import concentrated_estimate
from smoothdp.noise.calibration.limits import MOST_WORK, too_much_work
from smoothdp.noise.calibration.table import shipped_shape
from smoothdp.noise.generalized_cauchy import GeneralizedCauchy
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.log1p_normal import Log1pNormal
from smoothdp.noise.poly_place import PolyPlace
from smoothdp.noise.student_t import StudentT

_GOLDEN = (math.sqrt(5) - 1) / 2
_GRID = 9
_DIGITS = 4
_FINITE_ABOVE: dict[type[NoiseDistribution], int] = {
    StudentT: 2,
    PolyPlace: 2,
    GeneralizedCauchy: 3,
}
"""The shapes above which the variance is finite."""


def best_shape(
    law: type[NoiseDistribution], guarantee: Guarantee, *, smoothing: Parameter
) -> NoiseDistribution:
    """Return the law of a family with about the least noise: by a rule, else by optimising.

    zCDP up to rho = 1/2, with e = sqrt(2 rho), r = t / e: arsinh-normal
    max(0.235 e, 0.762 r^(1/3) + 0.311 r + 0.193 r^3), log1p-normal
    max(0.06 e, r + 0.226 sqrt(r) e^(-3.193 r) + 0.034 r^4); fits, within 0.6% (1.3%) of the
    best standard deviation for r <= 1.25. Pure and approximate DP: PolyPlace epsilon / t,
    Student's T (5 + 2 r) / (1 + 4 r) with r = t / epsilon (optimal as epsilon goes to 0).

    Raises:
        InvalidParameter: no member of the family keeps the guarantee with finite variance.

    >>> from smoothdp.claims import ZCDP
    >>> best_shape(ArsinhNormal, ZCDP("1/2"), smoothing="0.1")
    ArsinhNormal(sigma=77/200)
    """
    t = exact_fraction(smoothing, name="smoothing")
    shipped = shipped_shape(law, guarantee, t)
    return compute_shape(law, guarantee, t) if shipped is None else _member(law, shipped)


@remembered(
    MOST_WORK,
    kept=1024,
    message=lambda law, guarantee, t: too_much_work(law.__name__, guarantee, shown(t)),
)
def compute_shape(
    law: type[NoiseDistribution], guarantee: Guarantee, t: Fraction
) -> NoiseDistribution:
    """Return what `best_shape` does, not from the table."""
    if not law.parameters:
        return law()
    if t > 0:
        ruled = _by_rule(law, guarantee, t)
        if ruled is not None:
            return ruled
    return optimise_shape(law, guarantee, smoothing=t)


def _by_rule(
    law: type[NoiseDistribution], guarantee: Guarantee, t: Fraction
) -> NoiseDistribution | None:
    if isinstance(guarantee, ZCDP) and guarantee.exact_rho <= Fraction(1, 2):
        e = math.sqrt(2 * float(guarantee.exact_rho))
        r = float(t) / e if e > 0 else math.inf
        if law is ArsinhNormal and r <= 1.5:
            shape = max(0.235 * e, 0.762 * r ** (1 / 3) + 0.311 * r + 0.193 * r**3)
            return ArsinhNormal(_short(shape))
        if law is Log1pNormal and r <= 1.5:
            bend = 0.226 * math.sqrt(r) * math.exp(-3.193 * r)
            return Log1pNormal(_short(max(0.06 * e, r + bend + 0.034 * r**4)))
    if isinstance(guarantee, PureDP | ApproxDP):
        ratio = _ratio(guarantee, t)
        if law is PolyPlace and ratio > 2:
            return PolyPlace(ratio)
        if law is StudentT and isinstance(guarantee, PureDP) and ratio > 2:
            from smoothdp.noise.theorems import best_degrees

            return StudentT(_short(float(best_degrees(guarantee.exact_epsilon, t))))
    return None


def _ratio(guarantee: PureDP | ApproxDP, t: Fraction) -> Fraction:
    """Return epsilon / t, rounded down if epsilon is a logarithm."""
    epsilon = guarantee.exact_epsilon
    if isinstance(epsilon, LogRatio):
        epsilon = Fraction(math.nextafter(float(epsilon) * (1 - 1e-15), 0.0))
    return epsilon / t


def optimise_shape(
    law: type[NoiseDistribution], guarantee: Guarantee, *, smoothing: Parameter
) -> NoiseDistribution:
    """Return the law of a family with the least standard deviation, in plain floats.

    A few seconds: the shift is estimated at some thirty shapes.

    Raises:
        InvalidParameter: no member of the family keeps the guarantee with finite variance.
    """
    t = exact_fraction(smoothing, name="smoothing")
    if len(law.parameters) != 1:
        raise InvalidParameter(
            expected="a family with one shape",
            got=law.__name__,
            remedy="There is nothing to optimise",
        )

    def cost(log_shape: float) -> float:
        try:
            member = _member(law, _short(math.exp(log_shape)))
            shift = _estimate(member, guarantee, t)
            return math.log(member.standard_deviation) - math.log(shift)
        except (SmoothdpError, ArithmeticError, OverflowError):
            return math.inf

    low, high = _range(law, guarantee, t)
    found = _least(cost, math.log(low), math.log(high))
    if found is None:
        raise InvalidParameter(
            expected=f"a law of {law.__name__} that keeps {guarantee!r} with finite variance",
            got=f"smoothing={shown(t)}",
            remedy="Lower smoothing, weaken the guarantee, or use another family",
        )
    return _member(law, _short(math.exp(found)))


def _estimate(law: NoiseDistribution, guarantee: Guarantee, t: Fraction) -> float:
    if isinstance(guarantee, ZCDP | TruncatedCDP):
        return concentrated_estimate(law, guarantee, t)
    if isinstance(guarantee, ApproxDP) and guarantee.exact_delta > 0:
        return approximate_estimate(law, guarantee, t)
    if isinstance(guarantee, PureDP | ApproxDP):
        from smoothdp.noise.theorems import pure_shift

        return float(pure_shift(law, guarantee.exact_epsilon, t).exact_shift)
    raise InvalidParameter(
        expected="PureDP, ApproxDP, ZCDP or TruncatedCDP",
        got=f"{guarantee!r}",
        remedy="Choose one of these",
    )


def _range(law: type[NoiseDistribution], guarantee: Guarantee, t: Fraction) -> tuple[float, float]:
    """Return shapes between which the best one lies, if there is one."""
    lowest, highest = (float(Fraction(edge)) for edge in law.parameters[0].reach)
    if law in _FINITE_ABOVE:
        lowest = _FINITE_ABOVE[law] * 1.0001
        if isinstance(guarantee, PureDP | ApproxDP) and t > 0:
            highest = min(highest, max(lowest, float(_ratio(guarantee, t)) + 1))
        return lowest, min(highest, 1000.0)
    if isinstance(guarantee, ZCDP) and t > 0:
        e = math.sqrt(2 * float(guarantee.exact_rho))
        # Nearer to its limit t / e a certificate needs very high orders.
        lowest = max(lowest, float(t) / e * 1.05)
    else:
        scale = 1.0
        if isinstance(guarantee, ApproxDP):
            scale = max(1e-3, min(1.0, float_of(guarantee.exact_epsilon)))
        lowest = max(lowest, 0.02 * scale)
    return lowest, min(highest, max(5.0, 4 * lowest))


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


def _member(law: type[NoiseDistribution], shape: Fraction) -> NoiseDistribution:
    # Every law with a parameter is made from its shape alone.
    make: Callable[[Fraction], NoiseDistribution] = law
    return make(shape)


def _short(value: float) -> Fraction:
    """Return a shape as a decimal of four digits after the first nonzero one."""
    places = _DIGITS - min(0, math.floor(math.log10(value)) + 1)
    return Fraction(round(value * 10**places), 10**places)
