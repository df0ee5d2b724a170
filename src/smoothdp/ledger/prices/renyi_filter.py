"""A budget kept at every one of some Renyi orders, which are fixed before the first release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.composition.compose import compose
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.balls.balls import ball, precision, round_down, round_up
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Real, exact_fraction, exact_text, float_of
from smoothdp.ledger.amount import Amount
from smoothdp.ledger.filters import WITHIN, Amounts, Filter
from smoothdp.ledger.prices.renyi_curve import RenyiCurve, claim_curve, mechanism_curve
from smoothdp.sources import Source
from smoothdp.text import share_text

_BITS = 256
_MOST_ORDERS = 64
_LARGEST_ORDER = 10**9
# The order chosen has so many binary digits beyond 1.
_DIGITS = 6


@dataclass(frozen=True)
class RenyiFilter(Filter):
    """An (epsilon, delta) budget kept as Renyi divergences at fixed orders, and deltas.

    At each order a the divergences D_a add up, and a charge is taken only if the sums stay within
    the limits at *all* orders. So everything released together has D_a <= B_a at each of them, in
    both directions, with a part of weight d left out if claims with deltas d were charged; and one
    order, chosen from the budget alone, turns that into (epsilon, d + (1 - d) conversion)
    (proofs/privacy-filters#6). The order is never chosen by what was released: going on while
    *some* order is within its limit is no filter (proofs/privacy-filters#5).

    Attributes:
        orders: the orders, rising.
        conversion: the delta at which the limit of the chosen order is the budget's epsilon; the
            rest is for claims that have a delta of their own.
    """

    source: ClassVar[Source] = Source("feldman-zrnic", "Renyi filter, at fixed orders")
    sums_of_claims: ClassVar[bool] = False
    orders: tuple[Fraction, ...]
    conversion: Fraction

    def costs(self, claim: Guarantee) -> Amounts | None:
        return self._amounts(claim_curve(claim, self.orders))

    def costs_of(self, mechanism: object) -> Amounts | None:
        """Return the costs of anything with a known law of its loss; None of anything else."""
        return self._amounts(mechanism_curve(mechanism, self.orders))

    def _amounts(self, curve: RenyiCurve | None) -> Amounts | None:
        if curve is None:
            return None
        pairs = zip(self.orders, curve.values, strict=True)
        costs = {currency_of_order(order): Amount(value) for order, value in pairs}
        return {**costs, "delta": Amount(curve.delta)}

    def price(self, claim: Guarantee) -> Amounts:
        self._check_neighbours(claim)
        costs = self.costs(claim)
        if costs is None:
            raise IncompatibleClaims(
                expected=(
                    "a claim with Renyi divergences at the orders "
                    f"{', '.join(map(exact_text, self.orders))}: pure, approximate, Gaussian, "
                    "concentrated, or truncated with an omega above all of them"
                ),
                got=f"{claim!r}",
                remedy=(
                    "Charge the mechanism itself if its losses are known, or such a claim that "
                    "follows from it"
                ),
            )
        return costs

    def claim_of(self, mechanism: object) -> Guarantee:
        """Return what one use of a mechanism promises at the budget's epsilon."""
        epsilon = self.budget.parameters()["epsilon"]
        delta = compose([mechanism]).delta(epsilon)
        return ApproxDP(epsilon, delta=delta, neighbours=self.budget.neighbours)

    def spent(self, amounts: Amounts) -> Guarantee:
        """Return the least epsilon of any order: for charges that were fixed in advance."""
        own = _rational(amounts["delta"])
        delta = own + (1 - own) * self.conversion
        epsilon = self.epsilon(amounts, delta)
        return ApproxDP(epsilon, delta=delta, neighbours=self.budget.neighbours)

    def epsilon(self, amounts: Amounts, delta: Fraction) -> float:
        """Return the least epsilon of any order, of the part of delta that no claim has charged."""
        own = _rational(amounts["delta"])
        sums = [_rational(amounts[currency_of_order(order)]) for order in self.orders]
        if delta >= 1 or (delta == own and not any(sums)):
            return 0.0
        if delta <= own:
            return math.inf
        rest = (delta - own) / (1 - own)
        return min(
            _epsilon_of(order, value, rest) if value else 0.0
            for order, value in zip(self.orders, sums, strict=True)
        )

    def sentence(self, amounts: Amounts) -> str:
        """Return the share of the limits that is spent, and what is left of it."""
        # Limits are in proportion to the orders, and none is 0 where anything can be charged.
        shares = {
            order: _rational(amounts[name]) / (_rational(self.limits[name]) or 1)
            for order, name in ((order, currency_of_order(order)) for order in self.orders)
        }
        fullest = max(self.orders, key=lambda order: shares[order])
        most = share_text(shares[fullest])
        where = "the order" if len(self.orders) == 1 else "the fullest order,"
        spent = self.spent(amounts)
        return (
            f"Spent: {most} of the limit at {where} {exact_text(fullest)}; had all of it been "
            f"fixed in advance, {spent!r}. Left: a charge is taken if it costs no more than is "
            f"left at every order, such as {self.left(amounts)!r}. {WITHIN}"
        )

    def left(self, amounts: Amounts) -> Guarantee:
        """Return zCDP that may still be spent: the least rest, per order."""
        rest = self.remaining(amounts)
        rho = min(_rational(rest[currency_of_order(order)]) / order for order in self.orders)
        return ZCDP(rho, neighbours=self.budget.neighbours)


def renyi_limits(
    epsilon: Real, conversion: Fraction, orders: Sequence[Fraction]
) -> tuple[Fraction, ...]:
    """Return the limits B_a: those of Gaussian noise, as much as one of the orders has room for.

    B_a = a r with the largest r at which some order, the chosen one, turns its limit into
    (epsilon, conversion). All zero if no order is of use: nothing may then be released.

    >>> two, thirty = renyi_limits(Fraction(1), Fraction(1, 10**6), [Fraction(2), Fraction(30)])
    >>> 15 * two == thirty, 0.6 < thirty < 0.7
    (True, True)
    """
    shares = [max(Fraction(0), _limit(order, epsilon, conversion)) / order for order in orders]
    return tuple(order * max(shares) for order in orders)


def best_order(epsilon: Real, conversion: Fraction) -> Fraction:
    """Return about the order at which Gaussian noise has most room, as a short number.

    Any order is safe, so it is found in floats.

    >>> best_order(Fraction(1), Fraction(1, 10**6))
    Fraction(22, 1)
    """
    target = float_of(epsilon)
    with precision(_BITS):
        log_delta = float(ball(conversion).log())

    def room(log_tilt: float) -> float:
        c = math.exp(log_tilt)
        return (target + (log_delta - _log_kappa(c)) / c) / (1 + c)

    low, high = -20.0, math.log(_LARGEST_ORDER / 2)
    mesh = [low + (high - low) * k / 400 for k in range(401)]
    first = max(range(401), key=lambda k: room(mesh[k]))
    low, high = mesh[max(0, first - 1)], mesh[min(400, first + 1)]
    for _ in range(60):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if room(left) < room(right) else (low, right)
    mantissa, exponent = math.frexp(math.exp((low + high) / 2))
    return 1 + Fraction(round(mantissa * 2**_DIGITS)) * Fraction(2) ** (exponent - _DIGITS)


def read_orders(orders: object, epsilon: Real, conversion: Fraction) -> tuple[Fraction, ...]:
    """Return the orders that were asked for, rising; the best one if none were."""
    if orders is None:
        return (best_order(epsilon, conversion),)
    if isinstance(orders, str | bytes) or not isinstance(orders, Iterable):
        raise _no_orders(f"orders={orders!r}")
    read = tuple(sorted({exact_fraction(order, name="order") for order in orders}))
    if not read or len(read) > _MOST_ORDERS or not all(1 < a <= _LARGEST_ORDER for a in read):
        raise _no_orders(f"orders={orders!r}")
    return read


def currency_of_order(order: Fraction) -> str:
    """Return the name under which divergences of an order are added up."""
    return f"Renyi divergence of order {exact_text(order)}"


def _no_orders(got: str) -> InvalidParameter:
    return InvalidParameter(
        expected=f"1 to {_MOST_ORDERS} orders, each 1 < order <= {_LARGEST_ORDER:.0e}",
        got=got,
        remedy="Give orders=[8], or leave orders out for the one that Gaussian noise has most of",
    )


def _log_kappa(c: float) -> float:
    return c * math.log(c / (1 + c)) - math.log1p(c)


def _conversion_terms(order: Fraction, delta: Fraction) -> Ball:
    """Return ln(delta / kappa) / (a - 1), kappa = (a - 1)^(a - 1) / a^a."""
    a = ball(order)
    c = a - 1
    return (ball(delta).log() - c * c.log() + a * a.log()) / c


def _limit(order: Fraction, epsilon: Real, delta: Fraction) -> Fraction:
    """Return the largest D_order that implies (epsilon, delta), rounded down; maybe negative."""
    with precision(_BITS):
        return Fraction(round_down(ball(epsilon) + _conversion_terms(order, delta)))


def _epsilon_of(order: Fraction, divergence: Fraction, delta: Fraction) -> float:
    """Return the epsilon that D_order implies at a delta, rounded up."""
    with precision(_BITS):
        return max(0.0, round_up(ball(divergence) - _conversion_terms(order, delta)))


def _rational(amount: Amount) -> Fraction:
    value = amount.upper()
    assert isinstance(value, Fraction)
    return value
