"""Renyi divergences at fixed orders: costs against integrals, and the best adaptive strategies.

Source: proofs/privacy-filters#6, #7.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import smoothdp as sd
from smoothdp.ledger.budgets import filter_from_text, filter_of, filter_to_text
from smoothdp.ledger.filters import Amounts
from smoothdp.ledger.odometer import first_level
from smoothdp.ledger.prices.pricing import priced
from smoothdp.ledger.prices.renyi_curve import mechanism_curve
from smoothdp.ledger.prices.renyi_filter import RenyiFilter, best_order, currency_of_order
from tests.theorems.test_ledger_filters import SLACK, best_strategy, gaussian, leaky, stick

ORDERS = [Fraction("1.1"), Fraction(2), Fraction("7/2"), Fraction(9)]


def renyi(budget: sd.Guarantee, orders: Sequence[object] | None, **more: Any) -> RenyiFilter:
    kept = filter_of(budget, kept="renyi", orders=orders, **more)  # type: ignore[arg-type]
    assert isinstance(kept, RenyiFilter)
    return kept


# ---- what items cost -----------------------------------------------------------------------


def integrated(p: Callable[[Any], Any], q: Callable[[Any], Any], order: Fraction) -> float:
    """Return the larger D_order of both directions of two densities that end about at +-40."""
    a = mp.mpf(order.numerator) / order.denominator
    points = [-40, -20, -10, -5, -2, 0, 1, 3, 6, 12, 20, 40]
    values = []
    for x, y in ((p, q), (q, p)):
        with mp.workdps(25):
            total = mp.quad(lambda t, x=x, y=y: x(t) ** a * y(t) ** (1 - a), points)
            values.append(float(mp.log(total) / (a - 1)))
    return max(values)


def normal(mean: float) -> Callable[[Any], Any]:
    return lambda t: mp.npdf(t, mean, 1)


def laplace(mean: float) -> Callable[[Any], Any]:
    return lambda t: mp.exp(-abs(t - mean)) / 2


def mixed(rate: str, mean: float) -> Callable[[Any], Any]:
    q = mp.mpf(rate)
    return lambda t: (1 - q) * mp.npdf(t, 0, 1) + q * mp.npdf(t, mean, 1)


@pytest.mark.parametrize("order", ORDERS)
def test_costs_against_integrals(order: Fraction) -> None:
    """Never below the integral, and right to ten digits."""
    items = [
        (sd.GaussianMechanism("1.25"), normal(0.8), normal(0)),
        (sd.LaplaceMechanism(1), laplace(1), laplace(0)),
        (sd.SubsampledGaussian("0.1", noise_multiplier="1.25"), mixed("0.1", 0.8), normal(0)),
    ]
    for item, p, q in items:
        curve = mechanism_curve(item, [order])
        assert curve is not None
        assert curve.delta == 0
        truth = integrated(p, q, order)
        assert truth * (1 - 1e-12) <= curve.values[0] <= truth * (1 + 1e-9)


def exact_divergence(p: Sequence[Any], q: Sequence[Any], order: Fraction) -> float:
    a = mp.mpf(order.numerator) / order.denominator
    values = []
    with mp.workdps(30):
        for x, y in ((p, q), (q, p)):
            total = sum(
                mp.mpf(s.numerator) ** a
                / mp.mpf(s.denominator) ** a
                * (mp.mpf(t.denominator) / t.numerator) ** (a - 1)
                for s, t in zip(x, y, strict=True)
            )
            values.append(float(mp.log(total) / (a - 1)))
    return max(values)


@pytest.mark.parametrize("order", ORDERS)
def test_costs_of_finite_pairs_and_of_losses_without_end(order: Fraction) -> None:
    p, q = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [Fraction(1, 5)] * 2 + [Fraction(3, 5)]
    logs = [np.log([float(x) for x in law]) for law in (p, q)]
    truth = exact_divergence(p, q, order)
    curve = mechanism_curve(sd.Pair(*logs), [order])
    assert curve is not None
    assert truth * (1 - 1e-12) <= curve.values[0] <= truth * (1 + 1e-9)
    listed = mechanism_curve(sd.compose([(sd.Pair(*logs), 2), sd.PureDP(1)]), [order])
    one = mechanism_curve(sd.PureDP(1), [order])
    assert listed is not None
    assert one is not None
    assert listed.values[0] == 2 * curve.values[0] + one.values[0]
    # A pair that tells all now and then is charged for it; what is left is a mixture's good part.
    told = sd.Pair(np.log([0.01, 0.59, 0.4]), np.append(-np.inf, np.log([0.4, 0.6])))
    curve = mechanism_curve(told, [order])
    assert curve is not None
    assert 0.01 <= curve.delta <= 0.01 + 1e-12
    symmetric = told.profile()
    promise = math.exp((float(order) - 1) * float(curve.values[0]))
    for epsilon in (0.0, 0.2, 0.4, 0.8):
        c = float(order) - 1
        kappa = c**c / (1 + c) ** (1 + c)
        delta = float(curve.delta) + (1 - 0.01) * kappa * math.exp(-c * epsilon) * promise
        assert symmetric.delta(epsilon) <= delta


def test_costs_that_are_not_known_or_not_ours() -> None:
    kept = renyi(sd.ApproxDP(2, delta="1e-5"), [9])
    assert kept.costs(sd.TruncatedCDP("0.01", omega=9)) is None
    assert kept.costs(sd.TruncatedCDP("0.01", omega="9.5")) is not None
    step = sd.Subsampled(sd.LaplaceMechanism(1), "0.1", sampling="without_replacement")
    with pytest.raises(sd.errors.IncompatibleClaims, match="only a privacy profile"):
        priced(kept, step, None)
    with pytest.raises(sd.errors.IncompatibleClaims, match="neighbours"):
        priced(kept, sd.SubsampledGaussian("0.1", noise_multiplier=1), None)

    class Cheap(sd.GaussianMechanism):
        """Another's class, whose losses it may have changed: the claim it states is charged."""

        def loss_laws(self) -> Any:
            return sd.GaussianMechanism(10**6).loss_laws()

    _, costs = priced(kept, Cheap(100), None)
    _, whole = priced(kept, sd.GaussianMechanism(100), None)
    assert costs == whole
    for bare in (sd.PureDP(1).profile().tradeoff(),):
        with pytest.raises(sd.errors.IncompatibleClaims, match="bare"):
            priced(kept, bare, None)


# ---- strategies ----------------------------------------------------------------------------

TOYS = [
    gaussian(0.5, sd.GaussianDP("0.5")),
    gaussian(0.9, sd.GaussianDP("0.9")),
    leaky(0.7, 0.0),
    gaussian(0.4, sd.TruncatedCDP("0.08", omega=20)),
]
BUDGET = sd.ApproxDP("2.5", delta="0.01")


@pytest.mark.parametrize("order", [2, 6])
def test_moments_of_the_best_strategy_at_every_order(order: int) -> None:
    """Both directions; and with twice the limits it is broken."""
    kept = renyi(BUDGET, [2, 6])
    most = math.exp((order - 1) * float(kept.limits[currency_of_order(Fraction(order))].rational))
    a = float(order)
    for gain in (lambda p, q: p**a * q ** (1 - a), lambda p, q: q**a * p ** (1 - a)):
        assert best_strategy(kept, TOYS, gain, 3) <= most * SLACK
    loose = {name: limit.times(3) for name, limit in kept.limits.items()}
    wide = dataclasses.replace(kept, limits=loose)
    assert best_strategy(wide, TOYS, lambda p, q: p**a * q ** (1 - a), 3) > most


@pytest.mark.parametrize("orders", [[6], [4, 6, 9], None])
@pytest.mark.parametrize("conversion", ["0.01", "0.004"])
def test_delta_of_the_best_strategy(orders: Any, conversion: str) -> None:
    kept = renyi(BUDGET, orders, conversion_delta=conversion)
    toys = list(TOYS)
    if conversion != "0.01":
        toys += [leaky(0.3, 0.002), leaky(0.0, 0.003)]
    worst = best_strategy(kept, toys, stick(2.5), 3)
    assert 0 < worst <= 0.01 * SLACK
    loose = {name: limit.times(8) for name, limit in kept.limits.items()}
    assert best_strategy(dataclasses.replace(kept, limits=loose), toys, stick(2.5), 3) > 0.01


def test_two_orders_at_once_against_an_adversary_who_fills_the_rest() -> None:
    """The strategy that doubles delta where either order is enough stays within where both are.

    A first release with two losses; after each, the best release with two losses that the rests
    of both orders have room for.
    """
    epsilon, delta, orders = 4.0, 1e-4, (6.0, 31.0)
    kept = renyi(sd.ApproxDP(4, delta="1e-4"), [6, 31])
    limits = [float(kept.limits[currency_of_order(Fraction(int(a)))].rational) for a in orders]

    def moment(order: float, mass: float, high: float) -> float:
        low = math.pow(1 - mass, order) * math.pow(1 - mass * math.exp(-high), 1 - order)
        return math.log(mass * math.exp((order - 1) * high) + low) / (order - 1)

    def best_rest(rests: Sequence[float], loss: float) -> float:
        best = 0.0
        for step in range(1, 200):
            high = step * 0.05
            low, top = 0.0, 1.0
            for _ in range(40):
                middle = (low + top) / 2
                fits = all(
                    moment(a, middle, high) <= rest for a, rest in zip(orders, rests, strict=True)
                )
                low, top = (middle, top) if fits else (low, middle)
            best = max(best, low * max(0.0, 1 - math.exp(epsilon - loss - high)))
        return best

    worst = 0.0
    for mass, high in itertools.product((1e-4, 0.01, 0.2), (0.1, 0.3, 1.0)):
        rests = [limit - moment(a, mass, high) for a, limit in zip(orders, limits, strict=True)]
        if min(rests) < 0:
            continue
        likely = math.log((1 - mass) / (1 - mass * math.exp(-high)))
        total = mass * best_rest(rests, high) + (1 - mass) * best_rest(rests, likely)
        worst = max(worst, total)
    assert 0.3 * delta < worst <= delta


def test_reports_of_an_odometer_hold_for_adaptive_runs() -> None:
    levels = [sd.ApproxDP("0.6", delta="0.1"), sd.ApproxDP(1, delta="0.1")]
    kept = renyi(levels[1], [4, 9])
    toys = [gaussian(mu, sd.GaussianDP(mu)) for mu in (0.5, 0.45)]
    prices = [kept.price(toy.claim) for toy in toys]

    def best(p: float, q: float, spent: Amounts, left: int, level: sd.Guarantee) -> float:
        epsilon = float(level.parameters()["epsilon"])
        found = stick(epsilon)(p, q) if first_level(kept, levels, spent) == level else 0.0
        for toy, price in zip(toys, prices, strict=True):
            total = kept.total(spent, price)
            if left and not kept.excess(total):
                parts = (best(p * a, q * b, total, left - 1, level) for a, b in toy.outcomes)
                found = max(found, sum(parts))
        return found

    for level in levels:
        assert 0 < best(1.0, 1.0, kept.nothing(), 2, level) <= 0.1 * SLACK


# ---- limits and words ----------------------------------------------------------------------


def test_limits_are_the_largest_that_convert() -> None:
    for epsilon, delta in ((1, "1e-6"), ("0.1", "1e-3"), (20, "1e-9")):
        order = best_order(Fraction(epsilon), Fraction(delta))
        kept = renyi(sd.ApproxDP(epsilon, delta=delta), [order])
        limit = kept.limits[currency_of_order(order)].rational
        spent = kept.spent(
            {currency_of_order(order): sd.ledger.Amount(limit), "delta": sd.ledger.Amount()}
        )
        assert spent.parameters()["delta"] == Fraction(delta)
        assert float(epsilon) * (1 - 1e-12) <= spent.parameters()["epsilon"]  # type: ignore[operator]
        assert float(spent.parameters()["epsilon"]) <= float(epsilon) * (1 + 1e-12)
        # No neighbouring order has much more room for Gaussian noise.
        for other in (1 + (order - 1) * Fraction(9, 10), 1 + (order - 1) * Fraction(11, 10)):
            room = renyi(kept.budget, [other]).limits[currency_of_order(other)].rational / other
            assert room <= limit / order * Fraction(1001, 1000)


def test_a_filter_reads_back_and_counts() -> None:
    kept = renyi(sd.ApproxDP(1, delta="1e-6"), None)
    assert filter_from_text(filter_to_text(kept)) == kept
    ((name, limit), _) = kept.limits.items()
    assert limit.rational // kept.price(sd.GaussianDP("0.01"))[name].rational == 487
    left = kept.left(kept.price(sd.GaussianDP("0.01")))
    assert not kept.excess(kept.total(kept.price(sd.GaussianDP("0.01")), kept.price(left)))
    assert kept.spent(kept.nothing()).parameters()["epsilon"] == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"orders": [1]},
        {"orders": []},
        {"orders": "8"},
        {"orders": 8},
        {"orders": [2], "budget": sd.ApproxDP("0.1", delta="1e-9")},
        {"orders": range(2, 100)},
        {"kept": "gdp", "orders": [8]},
        {"kept": None, "orders": [8]},
        {"budget": sd.PureDP(1)},
        {"budget": sd.ZCDP(1)},
        {"allow": [sd.PureDP("0.1")]},
    ],
)
def test_what_is_refused(wrong: dict[str, Any]) -> None:
    given = {"budget": sd.ApproxDP(1, delta="1e-6"), "kept": "renyi", **wrong}
    with pytest.raises(sd.errors.SmoothdpError, match=r"Expected .*got "):
        filter_of(given.pop("budget"), **given)
