"""Renyi divergences of items at given orders, rounded up: what a Renyi ledger charges.

At the order a > 1 an item costs the larger D_a of both directions,
D_a = ln E[e^((a - 1) L)] / (a - 1) for its privacy loss L. Losses are infinite with a probability
d for some items: these are mixtures that tell all with probability d, and the rest has the law of
the finite losses. They cost that d, too. Source: proofs/privacy-filters#6, #7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import AverageTerms, EpsilonTerms, MuTerms, RhoTerms
from smoothdp.composition.composed_profile import ComposedProfile
from smoothdp.composition.items import Item, read_items
from smoothdp.composition.laws.atoms import AtomsLaw, two_point_transform
from smoothdp.composition.laws.law import BallTransform, GaussianLaw, LossLaw, LossLaws
from smoothdp.composition.parallel import Parallel
from smoothdp.exact.balls.balls import ball, exp_bounds, precision, round_up
from smoothdp.exact.balls.compare import float_up
from smoothdp.exact.parameters.numbers import Real

_BITS = 256
# Longer lists of atoms are summed in floats, with their error.
_MOST_IN_BALLS = 2000
_ROUNDING = Fraction(1, 2**50)


@dataclass(frozen=True)
class RenyiCurve:
    """Upper bounds of D_a at some orders, of a mixture's part of weight 1 - delta.

    Attributes:
        values: by order, in the order in which the orders were given.
        delta: the probability with which all is told.
    """

    values: tuple[Fraction, ...]
    delta: Fraction = Fraction(0)

    def __add__(self, other: RenyiCurve) -> RenyiCurve:
        pairs = zip(self.values, other.values, strict=True)
        return RenyiCurve(tuple(a + b for a, b in pairs), self.delta + other.delta)

    def times(self, count: int) -> RenyiCurve:
        """Return the sum of ``count`` such curves."""
        return RenyiCurve(tuple(count * value for value in self.values), count * self.delta)

    def worse(self, other: RenyiCurve) -> RenyiCurve:
        """Return the larger cost of two, one by one."""
        values = tuple(map(max, self.values, other.values))
        return RenyiCurve(values, max(self.delta, other.delta))


def claim_curve(claim: Guarantee, orders: Sequence[Fraction]) -> RenyiCurve | None:
    """Return the least bounds that follow from a claim; None where an order has none.

    >>> from smoothdp.claims import PureDP, TruncatedCDP
    >>> orders = (Fraction(2), Fraction(8))
    >>> [round(float(value), 4) for value in claim_curve(PureDP(1), orders).values]
    [0.7353, 0.9552]
    >>> claim_curve(TruncatedCDP(1, omega=3), orders) is None
    True
    """
    match claim.terms():
        case AverageTerms():
            return None
        case EpsilonTerms(epsilon, delta):
            if delta == 1:
                return RenyiCurve((Fraction(0),) * len(orders), delta)
            return RenyiCurve(tuple(_pure(epsilon, order) for order in orders), delta)
        case MuTerms(mu):
            return RenyiCurve(tuple(order * mu * mu / 2 for order in orders))
        case RhoTerms(rho, omega):
            if omega is None or all(order < omega for order in orders):
                return RenyiCurve(tuple(order * rho for order in orders))
            return None
    found = claim.concentrated_rho()
    return None if found is None else RenyiCurve(tuple(order * found for order in orders))


def mechanism_curve(mechanism: object, orders: Sequence[Fraction]) -> RenyiCurve | None:
    """Return bounds for anything that `compose` takes; None where the law of its loss is unknown.

    >>> from smoothdp.training_runs.subsampled_gaussian import SubsampledGaussian
    >>> step = SubsampledGaussian("0.01", noise_multiplier=1)
    >>> round(float(mechanism_curve(step, [Fraction(4)]).values[0]), 7)
    0.0003632
    """
    if not isinstance(mechanism, PrivacyProfile | TradeoffFunction) and not callable(
        getattr(mechanism, "profile", None)
    ):
        return None
    total: RenyiCurve | None = None
    for item, count in read_items([mechanism]):
        curve = _item_curve(item, orders)
        if curve is None:
            return None
        curve = curve.times(count)
        total = curve if total is None else total + curve
    return total


def _item_curve(item: Item, orders: Sequence[Fraction]) -> RenyiCurve | None:
    original = item.original
    if isinstance(original, Guarantee):
        return claim_curve(original, orders)
    if isinstance(item.profile, ComposedProfile):
        whole = RenyiCurve((Fraction(0),) * len(orders))
        for inner, count in item.profile.accountant.items:
            curve = _item_curve(inner, orders)
            if curve is None:
                return None
            whole += curve.times(count)
        return whole
    if isinstance(original, Parallel):
        largest = RenyiCurve((Fraction(0),) * len(orders))
        for part in original.items:
            curve = mechanism_curve(part, orders)
            if curve is None:
                return None
            largest = largest.worse(curve)
        return largest
    return None if item.laws is None else _laws_curve(item.laws, orders)


def _laws_curve(laws: LossLaws, orders: Sequence[Fraction]) -> RenyiCurve | None:
    """Return the larger curve of both directions; of the symmetrised pair where losses may be
    infinite, since only that one tells all with the same probability under both laws."""
    ways = [bracket.upper for bracket in laws.directions]
    if not ways or any(_is_infinite(law) for law in ways):
        ways = [laws.symmetrised.upper]
    curves = [_law_curve(law, orders) for law in ways]
    found: RenyiCurve | None = None
    for curve in curves:
        if curve is None:
            return None
        found = curve if found is None else found.worse(curve)
    return found


def _is_infinite(law: LossLaw | GaussianLaw) -> bool:
    return isinstance(law, LossLaw) and law.log_infinite.upper > -math.inf


def _law_curve(law: LossLaw | GaussianLaw, orders: Sequence[Fraction]) -> RenyiCurve | None:
    if isinstance(law, GaussianLaw):
        return RenyiCurve(tuple(order * law.variance / 2 for order in orders))
    delta = Fraction(0)
    if _is_infinite(law):
        # Only of atoms is it known that each, the infinite one included, is right within a factor.
        if not isinstance(law, AtomsLaw):
            return None
        delta = _exp_up(Fraction(law.log_infinite.upper) + Fraction(law.slack.mass))
        if delta >= 1:
            return RenyiCurve((Fraction(0),) * len(orders), Fraction(1))
    found: list[Fraction] = []
    for order in orders:
        value = _divergence(law, order, delta)
        if value is None:
            return None
        found.append(value)
    return RenyiCurve(tuple(found), delta)


def _divergence(law: LossLaw, order: Fraction, delta: Fraction) -> Fraction | None:
    """Return D_order of the finite losses, rounded up; None if it cannot be bounded."""
    tilt = _tilt(order)
    if tilt > law.largest_tilt:
        return None
    exact = law.ball_transform() if delta == 0 and _is_short(law) else None
    if exact is not None:
        return _ball_divergence(exact, order)
    moments = law.moments(tilt)
    log_mgf = moments.log_mgf + moments.error
    if not math.isfinite(log_mgf):
        return None
    slack = law.slack
    total = Fraction(log_mgf) + Fraction(slack.mass) + Fraction(tilt) * Fraction(slack.loss)
    # The sum of a float and its error bound is rounded once.
    total += abs(total) * _ROUNDING
    if delta:
        with precision(_BITS):
            total += Fraction(round_up(-(-ball(delta)).log1p()))
    # D of the tilt, which is not below that of the order, and of no order below 0.
    return max(Fraction(0), _short_up(total / Fraction(tilt)))


def _is_short(law: LossLaw) -> bool:
    return not isinstance(law, AtomsLaw) or law.losses.size <= _MOST_IN_BALLS


def _pure(epsilon: Real, order: Fraction) -> Fraction:
    """Return D_order of randomised response, the largest of all that is epsilon-DP."""
    if epsilon == 0:
        return Fraction(0)
    found = _ball_divergence(two_point_transform(epsilon, Fraction(0)), order)
    # No Renyi divergence is above the largest loss.
    return Fraction(float_up(epsilon)) if found is None else found


def _ball_divergence(transform: BallTransform, order: Fraction) -> Fraction | None:
    with precision(_BITS):
        tilt = ball(order - 1)
        value = transform(tilt).log() / tilt
        if not value.is_finite():
            return None
        return max(Fraction(0), Fraction(round_up(value)))


def _tilt(order: Fraction) -> float:
    """Return order - 1 as a float, rounded up: Renyi divergences rise with the order."""
    exact = order - 1
    tilt = float(exact)
    return tilt if Fraction(tilt) >= exact else math.nextafter(tilt, math.inf)


def _exp_up(value: Fraction) -> Fraction:
    return Fraction(min(1.0, exp_bounds(value).upper))


def _short_up(value: Fraction) -> Fraction:
    """Return a float not below, as a fraction."""
    near = float(value)
    return Fraction(near if Fraction(near) >= value else math.nextafter(near, math.inf))
