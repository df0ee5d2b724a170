"""What claims answer of themselves, implication, the ledger and calibration: one theory, also at
the ends of the parameters.

mu = 0, rho = 0, epsilon = 0 with delta = 0: nothing changes, whatever the notion, and all such
claims are one. delta = 1: nothing is promised, so it follows from everything.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

import smoothdp as sd
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.exact.balls.balls import precision, round_down
from smoothdp.ledger.budgets import filter_of
from smoothdp.noise.calibration.paper import (
    Amount,
    concentrated_amount,
    pure_amount,
    pure_amount_reaches,
    theorem_31_amount,
)

MODEL = sd.DataModel([("0.3", "0.7"), ("0.6", "0.4")])
SAME = sd.DataModel([("0.6", "0.4"), ("0.5", "0.5"), ("0.3", "0.7")])
OTHER = sd.DataModel([("0.5", "0.5")])

PERFECT: list[Guarantee] = [
    sd.PureDP(0),
    sd.PureDP("ln(1)"),
    sd.ApproxDP(0, delta=0),
    sd.ZCDP(0),
    sd.TruncatedCDP(0, omega="1.01"),
    sd.TruncatedCDP(0, omega=1000),
    sd.GaussianDP(0),
]
VACUOUS: list[Guarantee] = [
    sd.ApproxDP(0, delta=1),
    sd.ApproxDP("1e300", delta=1),
    sd.SmoothedDP(0, delta=1, model=MODEL),
    sd.SmoothedDP(3, delta=1, model=OTHER),
]
ORDINARY: list[Guarantee] = [
    *(sd.PureDP(e) for e in ("1e-3", "0.5", "ln(2)", "1", "3", "60", "200")),
    *(sd.ApproxDP(e, delta=d) for e in ("0", "0.5", "1") for d in ("1e-9", "0.01", "0.4")),
    *(sd.ApproxDP(e, delta=0) for e in ("0.5", "1")),
    *(sd.ZCDP(r) for r in ("1e-6", "0.125", "0.5", "2", "3")),
    *(sd.TruncatedCDP(r, omega=w) for r in ("0.125", "0.5", "3") for w in ("2", "50")),
    *(sd.GaussianDP(m) for m in ("1e-3", "0.5", "1", "2", "30", "1e6")),
]
AVERAGE: list[Guarantee] = [
    sd.SmoothedDP(e, delta=d, model=m)
    for e in ("0", "1")
    for d in ("0", "1e-9", "0.4")
    for m in (MODEL, SAME, OTHER)
]
CLAIMS = [*PERFECT, *ORDINARY, *AVERAGE, *VACUOUS]


@pytest.mark.parametrize("claim", PERFECT, ids=repr)
class TestNoLossAtAll:
    def test_it_is_all_the_others(self, claim: Guarantee) -> None:
        assert all(claim.implies(other) for other in CLAIMS)
        assert claim.pure_epsilon() == 0
        assert claim.concentrated_rho() == 0
        assert claim.rho_below(Fraction(7)) == 0
        assert claim.gaussian_mu() == 0

    def test_it_follows_from_the_others_like_it_only(self, claim: Guarantee) -> None:
        assert all(other.implies(claim) == (other in PERFECT) for other in CLAIMS)

    @pytest.mark.parametrize("budget", CLAIMS, ids=repr)
    def test_it_costs_nothing(self, claim: Guarantee, budget: Guarantee) -> None:
        kept = filter_of(budget, adaptive=not budget.is_average)
        assert all(amount.upper() == 0 for amount in kept.price(claim).values())

    def test_noise_for_it_has_no_room(self, claim: Guarantee) -> None:
        for amount in (pure_amount(claim), concentrated_amount(claim), theorem_31_amount(claim)):
            assert amount is not None
            with precision(128):
                assert amount.epsilon() == 0
        assert pure_amount_reaches(claim, Fraction(0))
        assert not pure_amount_reaches(claim, Fraction(1, 10**30))


@pytest.mark.parametrize("claim", VACUOUS, ids=repr)
def test_nothing_promised_follows_from_all_and_gives_nothing(claim: Guarantee) -> None:
    assert all(other.implies(claim) for other in CLAIMS)
    assert all(claim.implies(other) == (other in VACUOUS) for other in CLAIMS)
    assert claim.pure_epsilon() is None
    assert claim.concentrated_rho() is None
    assert claim.gaussian_mu() is None


def test_implication_is_an_order() -> None:
    """Reflexive, and transitive: what follows from what follows, follows."""
    n = len(CLAIMS)
    holds = [[a.implies(b) for b in CLAIMS] for a in CLAIMS]
    assert all(holds[i][i] for i in range(n))
    for i, j in product(range(n), repeat=2):
        if holds[i][j]:
            missed = [k for k in range(n) if holds[j][k] and not holds[i][k]]
            assert missed == [], (CLAIMS[i], CLAIMS[j], [CLAIMS[k] for k in missed])
    # It says something: neither all pairs nor only equal ones.
    assert n < sum(map(sum, holds)) < n * n / 2


def test_models_with_one_hull_are_one_model() -> None:
    """Proposition 7 of paper 1; the ledger charges such a claim, and so it must follow."""
    first, second = (sd.SmoothedDP(1, delta="1e-6", model=model) for model in (MODEL, SAME))
    assert first.implies(second)
    assert second.implies(first)
    assert not first.implies(sd.SmoothedDP(1, delta="1e-6", model=OTHER))
    assert filter_of(second, adaptive=False).costs(first) is not None


def affordable(claim: Guarantee, budget: Guarantee) -> bool:
    """Whether one charge fits into a fresh budget."""
    kept = filter_of(budget, adaptive=not budget.is_average)
    costs = kept.costs(claim)
    return costs is not None and not kept.excess(kept.total(kept.nothing(), costs))


@pytest.mark.parametrize("budget", CLAIMS, ids=repr)
def test_a_ledger_takes_what_implies_its_budget(budget: Guarantee) -> None:
    """What it takes implies the budget; in rho, mu and pure epsilon the converse holds too.

    (epsilon, delta) add up by their own terms, so there the profile proves more than they do.
    """
    by_profile = "delta" in budget.parameters() and budget not in PERFECT
    for claim in CLAIMS:
        if affordable(claim, budget):
            assert claim.implies(budget), claim
        elif not by_profile:
            assert not claim.implies(budget), claim


def rational(amount: Amount) -> Fraction:
    """The epsilon of an amount, rounded down."""
    with precision(128):
        return Fraction(round_down(amount.epsilon()))


@pytest.mark.parametrize("goal", [*PERFECT, *ORDINARY], ids=repr)
def test_what_noise_is_calibrated_to_implies_the_goal(goal: Guarantee) -> None:
    """The epsilon that a statement may spend: epsilon-DP, or epsilon^2/2-zCDP, implies the goal."""
    pure, concentrated = pure_amount(goal), concentrated_amount(goal)
    if pure is not None:
        assert sd.PureDP(rational(pure)).implies(goal)
    if concentrated is not None:
        assert sd.ZCDP(rational(concentrated) ** 2 / 2).implies(goal)
        # Pure DP of that epsilon implies that much of zCDP.
        assert sd.PureDP(rational(concentrated)).implies(goal)
    is_gaussian = isinstance(goal, sd.GaussianDP) and goal not in PERFECT
    assert (pure is None) == is_gaussian
    # From zCDP no pure claim follows but that of no loss.
    pure_goal = goal.pure_epsilon() not in (None, 0)
    assert (concentrated is None) == (is_gaussian or pure_goal)


@pytest.mark.parametrize(
    "goal", [c for c in ORDINARY if not isinstance(c, sd.GaussianDP)], ids=repr
)
def test_more_than_that_would_be_too_much(goal: Guarantee) -> None:
    """The check above can fail: a tenth more implies no goal in pure epsilon, twice none in rho.

    Amounts for rho are the paper's, sqrt(2 rho), which is less than what epsilon may be.
    """
    pure = pure_amount(goal)
    assert pure is not None
    if "rho" in goal.parameters():
        assert not sd.PureDP(2 * rational(pure)).implies(goal)
    elif "delta" not in goal.parameters() or goal.pure_epsilon() is not None:
        assert not sd.PureDP(rational(pure) * Fraction(11, 10)).implies(goal)
