"""Attacks on the ledger."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import random
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.ledger import connections
from smoothdp.ledger.connections import connect


def test_no_charge_above_the_budget_through_two_handles(tmp_path: Path) -> None:
    rng = random.Random(3)
    for trial in range(6):
        ledger = sd.Ledger(tmp_path / f"{trial}.db", budget=sd.ApproxDP(1, delta="1e-3"))
        handles = [ledger, sd.Ledger(ledger.path)]
        epsilon = delta = Fraction(0)
        for _ in range(15):
            cost = Fraction(rng.randint(1, 10**6), rng.choice([3 * 10**6, 7 * 10**6 + 1]))
            cost = rng.choice([cost, cost, 1 - epsilon, 1 - epsilon + Fraction(1, 10**40)])
            part = Fraction(1, rng.choice([10**4, 3 * 10**4, 10**30]))
            try:
                rng.choice(handles).charge(sd.ApproxDP(cost, delta=part))
            except sd.errors.BudgetExceeded:
                assert epsilon + cost > 1 or delta + part > Fraction(1, 1000)
            else:
                epsilon, delta = epsilon + cost, delta + part
        assert epsilon <= 1
        assert delta <= Fraction(1, 1000)
        assert handles[1].spent() == sd.ApproxDP(epsilon, delta=delta)


# ln(3) tanh(ln(3) / 2) = ln(3) / 2, rounded up at the twenty-first digit.
COST = Fraction("0.549306144334054845698")


def test_mu_and_rho_are_not_rounded(tmp_path: Path) -> None:
    for budget, full, speck in (
        (sd.GaussianDP(1), sd.GaussianDP("0.5"), sd.GaussianDP("1e-30")),
        (sd.ZCDP("0.5"), sd.GaussianMechanism(2), sd.ZCDP("1e-300")),
        # A quarter of the budget is exactly what ln(3) costs: ln(3) / 2, rounded up.
        (sd.ZCDP(4 * COST), sd.PureDP("ln(3)"), sd.PureDP("1e-100")),
    ):
        ledger = sd.Ledger(tmp_path / f"{full!r}.db".replace("/", "_")[:40], budget=budget)
        for _ in range(4):
            ledger.charge(full)
        with pytest.raises(sd.errors.BudgetExceeded):
            ledger.charge(speck)
        assert ledger.spent() == budget


def test_a_claim_an_ulp_too_small_is_refused(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ApproxDP(20, delta="0.9"))
    step = sd.GaussianMechanism(40)
    lower, _ = step.profile().delta_bounds("0.1")
    for small in (lower, math.nextafter(lower, 0)):
        with pytest.raises(sd.errors.IncompatibleClaims):
            ledger.charge(step, claim=sd.ApproxDP("0.1", delta=small))
    pair = sd.Pair([math.log(0.9), math.log(0.1)], [0.0, -math.inf])
    for one in (pair, pair.reverse(), pair.tradeoff(), pair.reverse().tradeoff()):
        with pytest.raises(sd.errors.IncompatibleClaims):
            ledger.charge(one, claim=sd.ApproxDP("2.4", delta="0.09"))


def test_the_profile_at_one_database_is_refused(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ApproxDP(20, delta="0.9"))
    at = sd.SamplingHistogram(1000, sampling_rate="0.9").at([400, 600])
    for given in (at, sd.compose([at]), sd.compose([sd.compose([at]), sd.PureDP(0)])):
        with pytest.raises(sd.errors.IncompatibleClaims):
            ledger.charge(given, claim=sd.ApproxDP(1, delta="1e-6"))


@pytest.mark.parametrize(
    "wash",
    [
        lambda profile: profile.tradeoff(),
        lambda profile: sd.compose([profile]).tradeoff(),
        lambda profile: sd.compose([profile.tradeoff()]),
    ],
)
def test_the_curve_at_one_database_is_refused(tmp_path: Path, wash: Callable[[Any], Any]) -> None:
    """Charged: (1, 1e-6). Over all databases delta(1) is 0.9."""
    poll = sd.SamplingHistogram(1000, sampling_rate="0.9")
    assert poll.worst_case_delta(epsilon=1) >= 0.9
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ApproxDP(20, delta="0.9"))
    with pytest.raises(sd.errors.IncompatibleClaims):
        ledger.charge(wash(poll.at([400, 600])), claim=sd.ApproxDP(1, delta="1e-6"))


def test_the_curve_of_a_smoothed_claim_is_no_ordinary_claim(tmp_path: Path) -> None:
    model = sd.DataModel([("0.6", "0.4"), ("0.4", "0.6")])
    claim = sd.SmoothedDP(1, delta="0.1", model=model)
    ordinary = sd.ApproxDP(1, delta="0.2")
    assert not claim.implies(ordinary)
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ApproxDP(20, delta="0.9"))
    with pytest.raises(sd.errors.IncompatibleClaims):
        ledger.charge(claim, claim=ordinary)
    with pytest.raises(sd.errors.IncompatibleClaims):
        ledger.charge(sd.compose([claim]).tradeoff(), claim=ordinary)


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))]
)
def test_one_charge_pays_for_one_release(tmp_path: Path, clone: Callable[[Any], Any]) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ApproxDP(1, delta="0.5"))
    spending = ledger.spend(sd.SamplingHistogram(10, n_draws=2))
    rows, universe = ["a", "b"] * 5, ["a", "b"]
    released = 0
    try:
        for right in (clone(spending), spending):
            with right as release:
                release(rows, universe=universe)
            released += 1
    except (sd.errors.SmoothdpError, TypeError):
        pass
    assert released <= len(ledger.entries()) == 1


def test_a_used_spending_stays_used_when_copied(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ApproxDP(1, delta="0.5"))
    with ledger.spend(sd.SamplingHistogram(10, n_draws=2)) as release:
        release(["a", "b"] * 5, universe=["a", "b"])
        with pytest.raises(sd.errors.InvalidParameter):
            copy.copy(release)(["a", "b"] * 5, universe=["a", "b"])


class Contradiction:
    """A mechanism of somebody's own whose guarantee is far below its own profile."""

    guarantee = sd.PureDP(0)

    def profile(self) -> sd.claims.PrivacyProfile:
        return sd.PureDP(3).profile()

    def release(self) -> int:
        return 1


def test_a_guarantee_below_its_own_profile_is_not_charged(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.PureDP(1))
    with pytest.raises(sd.errors.SmoothdpError):
        ledger.charge(Contradiction())


def test_entries_hold_nothing_of_the_data(tmp_path: Path) -> None:
    ages = [20.0 + i % 50 + 0.123456 for i in range(1000)]
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.PureDP(5))
    sd.release(ages, sd.queries.Median((0, 120)), guarantee=sd.PureDP(1), ledger=ledger)
    other = sd.Ledger(tmp_path / "other.db", budget=sd.PureDP(5))
    sd.release([7.0] * 1000, sd.queries.Median((0, 120)), guarantee=sd.PureDP(1), ledger=other)
    (one,), (two,) = ledger.entries(), other.entries()
    assert (one.mechanism, one.parameters, one.claim, one.costs) == (
        two.mechanism,
        two.parameters,
        two.claim,
        two.costs,
    )


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_a_ledger_whose_log_was_removed_takes_no_charge(tmp_path: Path, end: str) -> None:
    """SQLite would go on in a file without a name: the charge is gone with the program.

    What was charged before is there once the ledger is opened anew.
    """
    path = tmp_path / "ledger.db"
    ledger = sd.Ledger(path, budget=sd.PureDP(1))
    ledger.charge(sd.PureDP("0.5"))
    path.with_name(path.name + end).unlink()
    for _ in range(2):
        with pytest.raises(sd.errors.LedgerError, match="removed while the ledger was in use"):
            ledger.charge(sd.PureDP("0.25"))
    # Beside the open log of this thread none is made for another one.
    with ThreadPoolExecutor(1) as other, pytest.raises(sd.errors.LedgerError):
        other.submit(ledger.entries).result()
    del ledger
    gc.collect()
    assert sd.Ledger(path).spent() == sd.PureDP("0.5")


def test_a_ledger_that_could_not_be_opened_once_is_opened_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the error is kept, as a service does of its last round, and with it all that the
    attempt had in hand: every call ended in an AttributeError from then on.
    """
    ledger = sd.Ledger(tmp_path / "ledger.db", budget=sd.PureDP(1))
    kept = []

    def failing(*where: Any) -> Any:
        connection = connect(*where)
        # Reading fails, and what is set before does not.
        connection.set_authorizer(
            lambda action, *_: (
                sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_READ else sqlite3.SQLITE_OK
            )
        )
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(connections, "connect", failing)
        ledger._store._connections.drop()
        try:
            ledger.entries()
        except sd.errors.LedgerError as error:
            kept.append(error)
    assert len(kept) == 1
    ledger.charge(sd.PureDP("0.5"))
    assert len(ledger.entries()) == 1
