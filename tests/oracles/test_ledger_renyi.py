"""Ledgers that keep Renyi divergences: steps are charged one by one, and survive kill -9."""

from __future__ import annotations

import json
import os
import signal
from fractions import Fraction
from pathlib import Path

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
