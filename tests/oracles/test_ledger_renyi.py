"""Ledgers that keep Renyi divergences: steps are charged one by one, and survive kill -9."""

from __future__ import annotations

import json
import math
import os
import signal
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

import smoothdp as sd
from smoothdp.cli.main import main
from smoothdp.errors import BudgetExceeded, InvalidParameter
from tests.oracles import ledger_kills as kills

STEP = sd.SubsampledGaussian("0.01", noise_multiplier=1)
BUDGET = sd.ApproxDP(2, delta="1e-5", neighbours="add_remove")
NAME = "Renyi divergence of order 8"


def test_steps_and_releases_share_a_budget(tmp_path: Path) -> None:
    """A run that was fixed in advance is within its composition, and what was left fits."""
    ledger = sd.Ledger(tmp_path / "l.db", budget=BUDGET, kept="renyi", orders=[2, 8])
    noise = sd.LaplaceMechanism(50, neighbours="add_remove")
    for item in (STEP, noise, STEP, sd.PureDP("0.1", neighbours="add_remove")):
        ledger.charge(item)
    with pytest.raises(BudgetExceeded, match="order 8"):
        ledger.charge(sd.GaussianMechanism(1, neighbours="add_remove"))
    spent, limit, left = ledger.amounts()[NAME]
    assert spent.rational + left.rational == limit.rational
    whole = sd.compose([(STEP, 2), noise, sd.PureDP("0.1", neighbours="add_remove")])
    said = ledger.spent()
    assert isinstance(said, sd.ApproxDP)
    assert whole.epsilon_bounds("1e-5")[0] <= said.epsilon <= 2
    ledger.charge(ledger.left())
    assert ledger.verify() == 5
    assert min(float(left.rational) for *_, left in ledger.amounts().values()) >= 0


def test_it_is_filled_by_steps_and_below_the_declared_list(tmp_path: Path) -> None:
    """879 steps at the order 8; the tight count is 1202, and the order is fixed for good."""
    ledger = sd.Ledger(tmp_path / "l.db", budget=BUDGET, kept="renyi", orders=[8])
    cost = ledger.charge(STEP).costs[NAME].rational
    limit = ledger.filter.limits[NAME].rational
    assert limit // cost == 879
    assert sd.compose([(STEP, 1202)]).delta(2) <= 1e-5
    assert sd.compose([(STEP, 879)]).delta(2) <= 1e-5
    for orders in ([9], None, [8, 9]):
        with pytest.raises(InvalidParameter, match="the budget that the ledger"):
            sd.Ledger(tmp_path / "l.db", budget=BUDGET, kept="renyi", orders=orders)
    assert sd.Ledger(tmp_path / "l.db", budget=BUDGET, kept="renyi", orders=["8.0"]).verify() == 1


def test_a_run_killed_between_steps(tmp_path: Path) -> None:
    """Whenever it ends: as many charges as steps, or more; and the run goes on."""
    path, made = tmp_path / "l.db", tmp_path / "steps"
    sd.Ledger(path, budget=BUDGET, kept="renyi", orders=[8])

    def run(steps: int) -> None:
        ledger = sd.Ledger(path)
        for _ in range(steps):
            with ledger.spend(STEP) as step:
                file = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                os.write(file, b"%d\n" % step.entry.number)
                os.fsync(file)
                os.close(file)

    for number, count in enumerate((0, 60, 200, 700, 1500), start=1):

        def act(count: int = count) -> None:
            kills.kill_at_instruction(count)
            run(6)

        assert kills.in_child(act) in (signal.SIGKILL, 0)
        steps = len(made.read_text().splitlines()) if made.exists() else 0
        assert steps <= sd.Ledger(path).verify() <= steps + number
    before = sd.Ledger(path).verify()
    run(2)
    ledger = sd.Ledger(path)
    assert ledger.verify() == before + 2
    cost = ledger.entries()[0].costs[NAME].rational
    assert ledger.amounts()[NAME][0].rational == (before + 2) * cost


def test_the_account_says_what_divergences_say(tmp_path: Path) -> None:
    """Not the sum of what each charge promises at the budget's epsilon: that passes any budget."""
    file = tmp_path / "l.db"
    ledger = sd.Ledger(file, budget=BUDGET, kept="renyi", orders=[4, 8])
    for _ in range(3):
        ledger.charge(STEP)
    ledger.charge(sd.LaplaceMechanism(20, neighbours="add_remove"))
    account = sd.report.Account.of(ledger, delta="1e-5")
    assert account.totals == ledger.totals() == [ledger.spent()]
    spent, limit, left = ledger.amounts()[NAME]
    assert spent.rational + left.rational == limit.rational
    share = math.ceil(1000 * spent.rational / limit.rational) / 10
    text = account.text()
    assert f"{share:.15g}%" in text
    assert "% of the budget\n" in text
    assert "ApproxDP(epsilon=2, delta=0.00001" in text.splitlines()[0]
    assert "All guarantees together" not in text
    assert ledger.sentence() in text
    assert repr(ledger.left()) in ledger.sentence()
    assert "what was spent is within the budget" in ledger.sentence().lower()
    # No epsilon that is printed is below that of the same items, fixed in advance.
    whole = sd.compose([(STEP, 3), sd.LaplaceMechanism(20, neighbours="add_remove")])
    assert account.epsilon is not None
    for delta in ("1e-5", "1e-9", "1e-2"):
        found = sd.report.Account.of(ledger, delta=delta).epsilon
        assert found is not None
        assert whole.epsilon_bounds(delta)[0] <= found < 3
    empty = sd.Ledger(tmp_path / "e.db", budget=BUDGET, kept="renyi", orders=[8])
    assert empty.totals() == []
    assert empty.sentence().startswith("Spent: 0%")
    assert empty.filter.epsilon(empty.filter.nothing(), Fraction(0)) == 0


def test_the_epsilon_at_a_delta_is_that_of_the_conversion(tmp_path: Path) -> None:
    """D_a + ln(kappa / c) / (a - 1), c the part of delta that no claim charged; kappa in mpmath."""
    ledger = sd.Ledger(
        tmp_path / "l.db", budget=BUDGET, kept="renyi", orders=[3, 8], conversion_delta="8e-6"
    )
    ledger.charge(sd.ZCDP("0.03", neighbours="add_remove"))
    ledger.charge(sd.ApproxDP("0.1", delta="1e-6", neighbours="add_remove"))
    amounts = {name: one[0] for name, one in ledger.amounts().items()}
    for delta in (Fraction(1, 10**5), Fraction(1, 10**3), Fraction(9, 10)):
        rest = (delta - Fraction(1, 10**6)) / (1 - Fraction(1, 10**6))
        exact = min(
            mpmath.mpf(amounts[f"Renyi divergence of order {a}"].float_upper())
            + mpmath.log(mpmath.mpf(a - 1) ** (a - 1) / mpmath.mpf(a) ** a / float(rest)) / (a - 1)
            for a in (3, 8)
        )
        found = ledger.filter.epsilon(amounts, delta)
        assert found == pytest.approx(max(0.0, float(exact)), abs=1e-12)
    assert ledger.filter.epsilon(amounts, Fraction(1, 10**6)) == math.inf
    assert ledger.filter.epsilon(amounts, Fraction(1)) == 0


def test_declared_items_are_said_in_uses(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=BUDGET, allow=[(STEP, 1000)])
    ledger.charge(STEP)
    account = sd.report.Account.of(ledger, delta="1e-6")
    assert "999 of 1000 uses of SubsampledGaussian" in account.text()
    assert account.epsilon == sd.compose([STEP]).epsilon("1e-6")
    assert (
        sd.Ledger(tmp_path / "l.db").filter.epsilon(
            {name: one[0] for name, one in ledger.amounts().items()}, Fraction(1, 10)
        )
        == math.inf
    )


def test_what_is_kept_otherwise_is_shown_beside_the_sum_of_epsilons(tmp_path: Path) -> None:
    for kept in ("gdp", "concentrated"):
        budget = sd.ApproxDP(3, delta="1e-5")
        ledger = sd.Ledger(tmp_path / f"{kept}.db", budget=budget, kept=kept)
        for _ in range(80):
            ledger.charge(sd.PureDP("0.05"))
        account = sd.report.Account.of(ledger)
        first, second = account.totals[:2]
        assert (first, second) == (ledger.spent(), sd.PureDP(4))
        assert isinstance(first, sd.ApproxDP)
        assert first.epsilon <= 3


def test_odometer(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=BUDGET, kept="renyi", orders=[8])
    levels = [BUDGET.changed(epsilon=Fraction(x)) for x in ("3/2", "7/4", "2")]
    assert ledger.odometer(levels) == levels[0]
    ledger.charge(sd.ZCDP("0.05", neighbours="add_remove"))
    assert ledger.odometer(levels) == levels[1]
    with pytest.raises(InvalidParameter, match="orders 8"):
        ledger.odometer([BUDGET.changed(epsilon=Fraction(1, 10))])


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "l.db")
    asked = ["account", "create", file, "--epsilon", "2", "--delta", "1e-5"]
    with pytest.raises(SystemExit):
        main([*asked, "--order", "8"])
    assert "--order with --kept renyi" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*asked, "--kept", "renyi", "--order", "2"])
    assert "Name a larger order" in capsys.readouterr().err
    main([*asked, "--kept", "renyi", "--order", "8", "--order", "16", "--json"])
    made = json.loads(capsys.readouterr().out)
    assert list(made["amounts"]) == [NAME, "Renyi divergence of order 16", "delta"]
    main([*asked, "--kept", "renyi", "--order", "16", "--order", "8"])
    assert "order 16" in capsys.readouterr().out


def test_a_release_with_a_delta_where_none_is_kept_is_told_of_the_setting(tmp_path: Path) -> None:
    release = sd.ApproxDP("0.1", delta="1e-12", neighbours="add_remove")
    ledger = sd.Ledger(tmp_path / "whole.db", budget=BUDGET, kept="renyi")
    with pytest.raises(BudgetExceeded, match="conversion_delta"):
        ledger.charge(release)
    more = sd.Ledger(tmp_path / "part.db", budget=BUDGET, kept="renyi", conversion_delta="0.99e-5")
    more.charge(release)
    with pytest.raises(BudgetExceeded, match=r"stop\.$"):
        more.charge(sd.ApproxDP("0.1", delta="2e-7", neighbours="add_remove"))
