"""Ledgers of declared items: training steps are charged one by one, and survive kill -9."""

from __future__ import annotations

import math
import os
import signal
from fractions import Fraction
from pathlib import Path

import pytest

import smoothdp as sd
from smoothdp.errors import BudgetExceeded, IncompatibleClaims, InvalidParameter
from tests.oracles import ledger_kills as kills

STEP = sd.SubsampledGaussian("0.01", noise_multiplier=1)
NOISE = sd.LaplaceMechanism(50, neighbours="add_remove")
BUDGET = sd.ApproxDP(2, delta="1e-6", neighbours="add_remove")
ALLOWED = [(STEP, 300), (NOISE, 2)]


def test_steps_are_charged_until_they_are_used_up(tmp_path: Path) -> None:
    allowed = [(STEP, 3), (NOISE, 1)]
    ledger = sd.Ledger(tmp_path / "l.db", budget=BUDGET, allow=allowed)
    for _ in range(3):
        ledger.charge(sd.SubsampledGaussian(0.01, noise_multiplier="1.0"))
    with pytest.raises(BudgetExceeded):
        ledger.charge(STEP)
    ledger.charge(NOISE)
    with pytest.raises(BudgetExceeded):
        ledger.spend(NOISE)
    assert ledger.verify() == 4
    spent = ledger.spent()
    truth = sd.compose(allowed).epsilon_bounds("1e-6")
    assert isinstance(spent, sd.ApproxDP)
    assert truth[0] <= spent.epsilon <= truth[1] * (1 + 1e-12)


@pytest.mark.parametrize(
    "other",
    [
        sd.SubsampledGaussian("0.02", noise_multiplier=1),
        sd.SubsampledGaussian("0.01", noise_multiplier="0.999"),
        sd.LaplaceMechanism(50, 2, neighbours="add_remove"),
        sd.LaplaceMechanism(100, 2, neighbours="add_remove"),
        sd.PureDP("1/50", neighbours="add_remove"),
        sd.PureDP(0, neighbours="add_remove"),
        sd.LaplaceMechanism(50),
    ],
)
def test_nothing_but_declared_items_is_charged(tmp_path: Path, other: object) -> None:
    """The sensitivity counts, though no ledger shows it; cheaper is not declared either."""
    ledger = sd.Ledger(tmp_path / "l.db", budget=BUDGET, allow=ALLOWED)
    with pytest.raises(IncompatibleClaims, match="declared items"):
        ledger.charge(other)
    assert ledger.entries() == []


def test_a_ledger_is_opened_with_the_same_items_or_without(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    sd.Ledger(path, budget=BUDGET, allow=ALLOWED).charge(STEP)
    opened = sd.Ledger(path)
    opened.charge(STEP)
    assert opened.spent() == BUDGET  # the items are not in the file: nothing sharper is known
    again = sd.Ledger(path, budget=BUDGET, allow=ALLOWED)
    assert sd.compose([(STEP, 2)]).epsilon("1e-6") == pytest.approx(again.spent().epsilon)  # type: ignore[attr-defined]
    for allow in ([(STEP, 301), (NOISE, 2)], [(STEP, 300)], None):
        with pytest.raises(InvalidParameter, match="the budget that the ledger"):
            sd.Ledger(path, budget=BUDGET, allow=allow)


@pytest.mark.parametrize(
    ("allow", "error"),
    [
        ([(STEP, 30_000)], InvalidParameter),
        ([(STEP, 10), (STEP, 10)], InvalidParameter),
        ([], InvalidParameter),
        ([(sd.GaussianMechanism(1), 1)], IncompatibleClaims),
        ([STEP.profile()], InvalidParameter),
        ([sd.compose([STEP])], InvalidParameter),
        ([(STEP, 0)], InvalidParameter),
    ],
)
def test_what_cannot_be_declared(
    tmp_path: Path, allow: list[object], error: type[Exception]
) -> None:
    path = tmp_path / "l.db"
    with pytest.raises(error):
        sd.Ledger(path, budget=BUDGET, allow=allow)
    assert not path.exists()


def test_smoothed_claims_are_not_declared(tmp_path: Path) -> None:
    model = sd.DataModel([["1/2", "1/2"]])
    with pytest.raises(IncompatibleClaims, match="on average"):
        sd.Ledger(
            tmp_path / "l.db",
            budget=sd.ApproxDP(2, delta="1e-3"),
            allow=[sd.SmoothedDP(1, delta="1e-6", model=model)],
        )


def test_a_training_run_killed_between_steps(tmp_path: Path) -> None:
    """Whenever it ends: as many charges as steps, or one more; and the run goes on."""
    path, made = tmp_path / "l.db", tmp_path / "steps"
    sd.Ledger(path, budget=BUDGET, allow=ALLOWED)

    def run(steps: int) -> None:
        ledger = sd.Ledger(path)
        for _ in range(steps):
            with ledger.spend(STEP) as step:
                file = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                os.write(file, b"%d\n" % step.entry.number)
                os.fsync(file)
                os.close(file)

    for count in (0, 60, 200, 700, 1500, 4000):

        def act(count: int = count) -> None:
            kills.kill_at_instruction(count)
            run(12)

        assert kills.in_child(act) in (signal.SIGKILL, 0)
        steps = len(made.read_text().splitlines()) if made.exists() else 0
        charged = sd.Ledger(path).verify()
        assert steps <= charged <= steps + 6
    before = sd.Ledger(path).verify()
    run(2)
    assert sd.Ledger(path).verify() == before + 2


def test_own_rho_is_below_that_of_the_guarantee(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ZCDP(1))
    entry = ledger.charge(sd.LaplaceMechanism(1))
    assert isinstance(entry.claim, sd.ZCDP)
    assert float(entry.claim.exact_rho) == pytest.approx(math.exp(-1), rel=1e-15)
    assert entry.guarantee == sd.PureDP(1)
    # Asked for, the guarantee is charged: a tanh(a / 2).
    named = ledger.charge(sd.LaplaceMechanism(1), claim=sd.PureDP(1))
    assert float(named.costs["rho"].rational) == pytest.approx(math.tanh(0.5), rel=1e-15)


class Stranger:
    """A mechanism from outside that names a rho of its own, which nothing was compared with."""

    guarantee = sd.PureDP(1)
    neighbours = sd.PureDP(1).neighbours

    def profile(self) -> sd.claims.PrivacyProfile:
        return sd.PureDP(1).profile()

    def concentrated_rho(self) -> Fraction:
        return Fraction(0)


class Cheaper(sd.LaplaceMechanism):
    """The library's mechanism, with a rho that is not its own."""

    def concentrated_rho(self) -> Fraction:
        return Fraction(0)


@pytest.mark.parametrize("mechanism", [Stranger(), Cheaper(1)])
def test_a_rho_from_outside_is_not_charged(tmp_path: Path, mechanism: object) -> None:
    entry = sd.Ledger(tmp_path / "l.db", budget=sd.ZCDP(1)).charge(mechanism)
    assert entry.claim == sd.PureDP(1)
    assert float(entry.costs["rho"].rational) == pytest.approx(math.tanh(0.5), rel=1e-15)
