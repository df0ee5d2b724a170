"""What was spent is rounded up, what is left down: sums with logarithms and roots."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path

import pytest
from flint import arb

import smoothdp as sd
from smoothdp.errors import BudgetExceeded, IncompatibleClaims
from smoothdp.exact.parameters.numbers import LogRatio, Real, square_root
from smoothdp.ledger import Amount, Ledger
from smoothdp.ledger.budgets import filter_of
from smoothdp.ledger.sum_filters import rho_within
from tests.rounding.certain import bits, exact

F = Fraction


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def number(value: Real) -> arb:
    return exact(value.ratio).log() if isinstance(value, LogRatio) else exact(value)


def charges(seed: int) -> list[Real]:
    """Epsilons of which the sum is neither a rational nor the logarithm of one."""
    rng = random.Random(seed)
    found: list[Real] = [F(rng.randint(1, 100), rng.randint(101, 1000))]
    found += [LogRatio(F(rng.randint(101, 150), rng.randint(50, 100))) for _ in range(3)]
    return found


@pytest.mark.parametrize("seed", range(8))
def test_spent_epsilon_is_rounded_up_and_left_down(path: Path, seed: int) -> None:
    """The nearest float lies below the sum in about half of the cases."""
    ledger = Ledger(path, budget=sd.PureDP(50))
    for epsilon in charges(seed):
        ledger.charge(sd.PureDP(epsilon))
    spent, left = ledger.spent(), ledger.left()
    assert isinstance(spent, sd.PureDP)
    assert isinstance(left, sd.PureDP)
    with bits():
        total = sum((number(epsilon) for epsilon in charges(seed)), arb(0))
        assert number(spent.exact_epsilon) >= total
        assert number(left.exact_epsilon) <= 50 - total
        assert number(spent.exact_epsilon) - total < 1e-14
        assert 50 - total - number(left.exact_epsilon) < 1e-13


def test_the_nearest_float_would_be_below() -> None:
    """The twin: rounded to nearest, what is printed as spent is less than was spent."""
    below = 0
    with bits():
        for seed in range(8):
            total = sum((number(epsilon) for epsilon in charges(seed)), arb(0))
            below += bool(exact(float(total)) < total)
    assert 0 < below < 8


@pytest.mark.parametrize("seed", range(6))
def test_spent_mu_is_a_root_rounded_up(path: Path, seed: int) -> None:
    rng = random.Random(seed)
    mus = [F(rng.randint(1, 50), rng.randint(51, 99)) for _ in range(3)]
    ledger = Ledger(path, budget=sd.GaussianDP(4))
    for mu in mus:
        ledger.charge(sd.GaussianDP(mu))
    spent, left = ledger.spent(), ledger.left()
    assert isinstance(spent, sd.GaussianDP)
    assert isinstance(left, sd.GaussianDP)
    square = sum((mu**2 for mu in mus), F(0))
    assert square < spent.exact_mu**2 < square * (1 + F(1, 10**15))
    assert 16 - square > left.exact_mu**2 > (16 - square) * (1 - F(1, 10**15))


def test_roots() -> None:
    for value in (F(2), F(1, 3), F(10**40 + 1), F(7, 10**50)):
        assert square_root(value, up=False) ** 2 < value < square_root(value, up=True) ** 2
    for value in (F(0), F(4, 9), F(10**40)):
        assert square_root(value, up=False) == square_root(value, up=True)


def test_amounts_are_rounded_outwards() -> None:
    for seed in range(8):
        total = Amount()
        for epsilon in charges(seed):
            total += Amount.of(epsilon)
        upper, lower = total.upper(), total.lower()
        assert isinstance(upper, Fraction)
        assert isinstance(lower, Fraction)
        with bits():
            truth = number(total.rational) + exact(total.ratio).log()
            assert exact(lower) <= truth
            assert exact(upper) >= truth
        assert lower < upper == F(total.float_upper())


def test_sums_that_grow_too_long_are_rounded_up() -> None:
    """Beyond 20,000 bits: logarithms become floats, and rationals lose their tail."""
    rng = random.Random(5)
    logs, plain = Amount(), Amount()
    with bits():
        log_truth = arb(0)
    plain_truth = F(0)
    for _ in range(60):
        ratio = F(rng.getrandbits(400) | 1 << 400, rng.getrandbits(390) | 1 << 390)
        share = F(1, rng.getrandbits(500) | 1)
        logs, plain = logs + Amount.of(LogRatio(ratio)), plain + Amount.of(share)
        plain_truth += share
        with bits():
            log_truth += exact(ratio).log()
    assert logs.rational != 0
    with bits():
        found = exact(logs.rational) + exact(logs.ratio).log()
        assert found > log_truth
        assert found - log_truth < 1e-10
    assert plain.rational.denominator.bit_length() < plain_truth.denominator.bit_length()
    assert 0 < plain.rational - plain_truth < F(1, 10**100)


def test_the_whole_budget_can_be_spent_and_no_more(path: Path) -> None:
    ledger = Ledger(path, budget=sd.ApproxDP(1, delta="1e-6"))
    ledger.charge(sd.ApproxDP("0.4", delta="4e-7"))
    ledger.charge(sd.ApproxDP("0.6", delta="6e-7"))
    for more in (sd.PureDP("1e-30"), sd.ApproxDP(0, delta="1e-30")):
        with pytest.raises(BudgetExceeded):
            ledger.charge(more)
    assert ledger.spent() == sd.ApproxDP(1, delta="1e-6")


def test_delta_alone_fills_a_budget(path: Path) -> None:
    ledger = Ledger(path, budget=sd.ApproxDP(1, delta="1e-6"))
    with pytest.raises(BudgetExceeded):
        ledger.charge(sd.ApproxDP("0.1", delta="1.000001e-6"))


def test_a_pure_claim_costs_the_mu_that_its_odds_need(path: Path) -> None:
    """Phi(mu / 2) >= e^epsilon / (1 + e^epsilon), next to equality."""
    ledger = Ledger(path, budget=sd.GaussianDP(4))
    ledger.charge(sd.PureDP("0.7"))
    spent = ledger.spent()
    assert isinstance(spent, sd.GaussianDP)
    with bits():
        share = 1 / (1 + (-exact(F(7, 10))).exp())
        for mu, holds in ((spent.exact_mu, True), (spent.exact_mu * (1 - F(1, 10**12)), False)):
            assert bool((-exact(mu) / 2 / arb(2).sqrt()).erfc() / 2 >= share) == holds


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-9"), ("5", "1e-5")])
def test_the_rho_of_a_budget_keeps_it(epsilon: str, delta: str) -> None:
    rho = rho_within(F(epsilon), F(delta))
    target = sd.ApproxDP(epsilon, delta=delta)
    assert sd.ZCDP(rho).implies(target)
    assert not sd.ZCDP(rho * (1 + F(1, 10**12))).implies(target)


def test_the_parts_of_delta_add_up(path: Path) -> None:
    """Half of delta turns rho into epsilon; the claims have the other half."""
    budget = sd.ApproxDP(2, delta="2e-6")
    ledger = Ledger(path, budget=budget, kept="concentrated")
    ledger.charge(sd.ApproxDP("0.1", delta="9e-7"))
    spent = ledger.spent()
    assert isinstance(spent, sd.ApproxDP)
    assert spent.exact_delta == F("1e-6") + F("9e-7")
    assert sum((limit.rational for limit in filter_of(budget).limits.values()), F(0)) == 2 + F(
        "2e-6"
    )
    with pytest.raises(BudgetExceeded):
        ledger.charge(sd.ApproxDP("0.1", delta="2e-7"))


def test_a_delta_beside_gaussian_dp_is_charged_once(path: Path) -> None:
    """d + (1 - d) / 4 is at most 1/2 up to d = 1/3; a budget that let 2/5 in would promise .55."""
    budget = sd.ApproxDP(2, delta="1/2")
    ledger = Ledger(path, budget=budget, kept="gdp", conversion_delta="1/4")
    for delta in ("1/2", "2/5", "0.334"):
        with pytest.raises(BudgetExceeded):
            ledger.charge(sd.ApproxDP("0.001", delta=delta))
    ledger.charge(sd.ApproxDP("0.001", delta="1/3"))
    spent = ledger.spent()
    assert isinstance(spent, sd.ApproxDP)
    assert spent.exact_delta == F(1, 2)
    with pytest.raises(BudgetExceeded):
        ledger.charge(sd.ApproxDP("0.001", delta="1e-9"))


def test_a_claim_up_to_too_low_an_order_is_refused(path: Path) -> None:
    ledger = Ledger(path, budget=sd.TruncatedCDP(1, omega=20))
    ledger.charge(sd.TruncatedCDP("0.1", omega=20))
    ledger.charge(sd.TruncatedCDP("0.1", omega=21))
    with pytest.raises(IncompatibleClaims):
        ledger.charge(sd.TruncatedCDP("0.1", omega=19))


@pytest.mark.parametrize("share", ["0.99", "0.6"])
def test_a_claim_between_the_bounds_of_a_profile_is_not_proved(path: Path, share: str) -> None:
    """zCDP has a Gaussian mechanism below, and a conversion above: the claim needs the latter."""
    ledger = Ledger(path, budget=sd.ApproxDP(10, delta="1e-2"))
    promise = sd.ZCDP("0.1")
    lower, upper = promise.profile().delta_bounds(2)
    claimed = F(upper) * F(share)
    assert math.isfinite(lower)
    assert F(lower) < claimed
    with pytest.raises(IncompatibleClaims, match="follows"):
        ledger.charge(promise, claim=sd.ApproxDP(2, delta=claimed))
    ledger.charge(promise, claim=sd.ApproxDP(2, delta=F(upper)))
