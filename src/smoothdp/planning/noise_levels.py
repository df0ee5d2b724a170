"""How much noise a smoothing costs at S = 1, estimated; nothing here is certified."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.claims.terms import RhoTerms
from smoothdp.errors import SmoothdpError
from smoothdp.exact.balls.work import limited
from smoothdp.mechanisms.release.defaults import Rule, as_concentrated
from smoothdp.noise import NoiseDistribution, variance_lower_bound
from smoothdp.noise.calibration import best_shape
from smoothdp.noise.calibration.approximate.shift import approximate_estimate
from smoothdp.noise.calibration.concentrated.shift import concentrated_estimate
from smoothdp.noise.calibration.limits import too_much_work

BOUNDED = (PureDP, ZCDP, TruncatedCDP)
"""Guarantees for which a deviation is known that no noise can beat."""
_MOST_WORK = 1_000_000
"""Of one estimate (`smoothdp.exact.balls.work`); beyond it the law serves no plan."""
_KNOTS = (0.015, 0.06, 0.15, 0.3, 0.45, 0.6)


def short(rate: float) -> Fraction:
    """Return a smoothing to two digits."""
    return Fraction(f"{rate:.2g}")


def over_rates(
    guarantee: Guarantee, rates: Sequence[float], level: Callable[[Fraction], float]
) -> list[float]:
    """Return ln of what noise costs for each smoothing; inf where none serves.

    Pure DP, and truncated CDP with normal noise, at each of them; otherwise at some, and
    interpolated.
    """
    terms = guarantee.terms()
    is_normal = isinstance(terms, RhoTerms) and not as_concentrated(terms)
    if isinstance(guarantee, PureDP) or is_normal:
        return [level(short(rate)) for rate in rates]
    e = Rule.of(guarantee).epsilon
    knots = [(k * e, level(short(k * e))) for k in _KNOTS]
    finite = [(rate, value) for rate, value in knots if math.isfinite(value)]
    if not finite:
        return [math.inf] * len(rates)
    x, y = zip(*finite, strict=True)
    return [float(np.interp(rate, x, y)) if rate <= x[-1] * 1.01 else math.inf for rate in rates]


@lru_cache(maxsize=4096)
def estimated(
    family: type[NoiseDistribution], guarantee: Guarantee, rate: Fraction
) -> tuple[NoiseDistribution, float] | None:
    """Return the best law of a family and ln of its deviation at S = 1, which certifies nothing."""
    try:
        with limited(_MOST_WORK, lambda: too_much_work(family.__name__, guarantee, rate)):
            law = best_shape(family, guarantee, smoothing=rate)
            if isinstance(guarantee, ZCDP | TruncatedCDP):
                shift = concentrated_estimate(law, guarantee, rate)
            elif isinstance(guarantee, ApproxDP) and guarantee.exact_delta > 0:
                shift = approximate_estimate(law, guarantee, rate)
            else:
                shift = law.calibrate(guarantee, smoothing=rate).shift
    except SmoothdpError:
        return None
    return (law, math.log(law.variance) / 2 - math.log(shift)) if shift > 0 else None


def log_least_deviation(guarantee: Guarantee, rate: Fraction) -> float:
    """Return ln of a deviation that no noise can beat at S = 1; -inf if no bound is known."""
    if not isinstance(guarantee, BOUNDED):
        return -math.inf
    variance = variance_lower_bound(guarantee, shift=1, smoothing=rate)
    return math.log(variance) / 2 if variance > 0 else -math.inf
