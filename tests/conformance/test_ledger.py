"""The ledger: what it keeps, what it refuses, and what it says when something is wrong."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.claims.budget import Budget
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.cli import main
from smoothdp.errors import (
    BudgetExceeded,
    IncompatibleClaims,
    InvalidData,
    InvalidParameter,
    LedgerError,
)
from smoothdp.ledger import Amount, Ledger
from tests.oracles.ledger_kills import in_child

AGES = [20 + i % 50 for i in range(1000)]
MEDIAN = sd.queries.Median((0, 120))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


# ---- what is kept --------------------------------------------------------------------


def test_entries_hold_what_is_public_and_nothing_else(path: Path) -> None:
    ledger = Ledger(path, budget=sd.ApproxDP(10, delta="1e-5"))
    secret = 7345123
    mechanism = sd.mechanisms.SmoothNoise.calibrate(MEDIAN, guarantee=sd.PureDP(1), n_records=1000)
    with ledger.spend(mechanism) as release:
        release([secret] * 1000)
    with ledger.spend(sd.LaplaceMechanism("0.731", sensitivity="0.317")) as spending:
        assert spending.entry.number == 2
    first, second = ledger.entries()
    assert first.mechanism.startswith("SmoothNoise: median")
    assert first.guarantee == first.claim == sd.PureDP(1)
    assert first.library_version
    assert first.parameters == {"n_records": "1000"}
    assert second.parameters == {"scale": "731/1000", "neighbours": "replace_one"}
    assert first.time <= second.time
    content = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert str(secret).encode() not in content
    assert b"317/1000" not in content.replace(b'"epsilon": "317/731"', b"")


def test_it_is_a_budget(path: Path) -> None:
    assert isinstance(Ledger(path, budget=sd.PureDP(1)), Budget)


def test_spent_and_left_are_exact(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    for _ in range(10):
        ledger.spend(sd.PureDP("0.1"))
    assert ledger.spent() == sd.PureDP(1)
    assert ledger.left() == sd.PureDP(0)
    with pytest.raises(BudgetExceeded):
        ledger.spend(sd.PureDP("1e-300"))
    assert ledger.verify() == 10


def test_logarithms_fit_exactly(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP("ln(9)"))
    ledger.spend(sd.PureDP("ln(3)"))
    assert ledger.left() == sd.PureDP("ln(3)")
    ledger.spend(sd.PureDP("ln(3)"))
    with pytest.raises(BudgetExceeded):
        ledger.spend(sd.PureDP("ln(1000001/1000000)"))


CHARGES = [
    (sd.PureDP(1), [sd.PureDP("0.5")], sd.PureDP("0.5")),
    (
        sd.ApproxDP(1, delta="1e-5000"),
        [sd.ApproxDP("0.5", delta="1e-5001"), sd.PureDP("0.25")],
        sd.ApproxDP("0.25", delta=Fraction(9, 10**5001)),
    ),
    (
        sd.ZCDP(1),
        [sd.PureDP(1), sd.GaussianDP("0.5"), sd.ZCDP("0.125")],
        # Pure DP costs tanh(1/2), rounded up.
        sd.ZCDP("0.287882842739990241497"),
    ),
    (
        sd.TruncatedCDP(1, omega=8),
        [sd.TruncatedCDP("0.5", omega=9), sd.ZCDP("0.25")],
        sd.TruncatedCDP("0.25", omega=8),
    ),
    (sd.GaussianDP(5), [sd.GaussianDP(3)], sd.GaussianDP(4)),
]


@pytest.mark.parametrize(("budget", "claims", "left"), CHARGES)
def test_each_notion_has_its_own_sum(
    path: Path, budget: Guarantee, claims: list[Guarantee], left: Guarantee
) -> None:
    ledger = Ledger(path, budget=budget)
    for claim in claims:
        ledger.spend(claim)
    assert ledger.left() == left
    with ledger.spend(left):
        pass
    assert ledger.spent() == budget
    again = Ledger(path)
    assert again.budget == budget
    assert again.filter == ledger.filter
    assert [entry.claim for entry in again.entries()] == [*claims, left]


def test_pure_claims_cost_mu(path: Path) -> None:
    ledger = Ledger(path, budget=sd.GaussianDP(2))
    ledger.spend(sd.PureDP(1))
    spent = ledger.spent()
    assert isinstance(spent, sd.GaussianDP)
    assert spent.mu == pytest.approx(2 * NormalDist().inv_cdf(math.e / (1 + math.e)), rel=1e-9)
    assert sd.PureDP(1).implies(spent)


def test_concentrated_budget(path: Path) -> None:
    budget = sd.ApproxDP(2, delta="1e-6")
    ledger = Ledger(path, budget=budget, kept="concentrated")
    for _ in range(20):
        ledger.spend(sd.ApproxDP("0.05", delta="1e-8"))
    ledger.spend(sd.ZCDP("0.01"))
    spent = ledger.spent()
    assert spent.implies(budget)
    left = ledger.left()
    assert isinstance(left, sd.ZCDP)
    ledger.spend(left)
    assert ledger.left() == sd.ZCDP(0)
    assert Ledger(path).filter == ledger.filter
    with pytest.raises(InvalidParameter, match="another path"):
        Ledger(path, budget=budget)


def test_smoothed_budget_needs_a_fixed_plan(path: Path) -> None:
    model = sd.DataModel([["1/2", "1/2"], ["1/4", "3/4"]])
    other = sd.DataModel([["1/2", "1/2"], ["1/8", "7/8"]])
    budget = sd.SmoothedDP(1, delta="1e-3", model=model)
    with pytest.raises(IncompatibleClaims, match="adaptive=False"):
        Ledger(path, budget=budget)
    ledger = Ledger(path, budget=budget, adaptive=False)
    ledger.spend(sd.SmoothedDP("0.5", delta="1e-4", model=model))
    ledger.spend(sd.PureDP("0.25"))
    with pytest.raises(IncompatibleClaims):
        ledger.spend(sd.SmoothedDP("0.1", delta=0, model=other))
    assert ledger.left() == sd.SmoothedDP("0.25", delta="9e-4", model=model)
    plain = Ledger(path.with_name("plain.db"), budget=sd.ApproxDP(1, delta="1e-3"))
    with pytest.raises(IncompatibleClaims):
        plain.spend(sd.SmoothedDP("0.5", delta="1e-4", model=model))


def test_claims_are_checked_against_the_profile(path: Path) -> None:
    ledger = Ledger(path, budget=sd.ApproxDP(8, delta="1e-5"))
    training = sd.compose([(sd.SubsampledGaussian("0.01", noise_multiplier=2), 100)])
    about = training.neighbours
    other = Ledger(path.with_name("a.db"), budget=sd.ApproxDP(8, delta="0.01", neighbours=about))
    # delta(0.1) = 8.658e-4; the bracket may be wide.
    with pytest.raises(InvalidParameter, match="claim="):
        other.spend(training)
    with pytest.raises(IncompatibleClaims):
        other.spend(training, claim=sd.ApproxDP("0.1", delta="4e-4", neighbours=about))
    other.spend(training, claim=sd.ApproxDP("0.1", delta="4e-3", neighbours=about))
    gaussian = sd.GaussianMechanism(4)
    with pytest.raises(IncompatibleClaims, match="claim="):
        ledger.spend(gaussian)
    ledger.spend(gaussian, claim=sd.ApproxDP(2, delta="1e-6"))
    assert ledger.entries()[0].guarantee == sd.GaussianDP("1/4")


def test_a_profile_at_one_database_is_no_guarantee(path: Path) -> None:
    ledger = Ledger(path, budget=sd.ApproxDP(8, delta="0.5"))
    at_data = sd.SamplingHistogram(10, n_draws=4).at([5, 5])
    claim = sd.ApproxDP(8, delta="0.5")
    for item in (at_data, sd.compose([at_data])):
        with pytest.raises(IncompatibleClaims, match="one database"):
            ledger.spend(item, claim=claim)
    model = sd.DataModel([["1/2", "1/2"]])
    smoothed = sd.SmoothedDP(1, delta="1e-3", model=model)

    class OnAverage:
        guarantee = smoothed

        def profile(self) -> sd.claims.PrivacyProfile:
            return sd.PureDP(1).profile()

    for hidden in (smoothed.profile(), sd.compose([smoothed]), smoothed, OnAverage()):
        with pytest.raises(IncompatibleClaims):
            ledger.spend(hidden, claim=claim)
    assert ledger.entries() == []


def test_totals_in_any_notion(path: Path) -> None:
    ledger = Ledger(path, budget=sd.ZCDP(2))
    assert ledger.profile() is None
    for _ in range(4):
        ledger.spend(sd.GaussianDP("0.5"))
    assert ledger.totals() == [sd.ZCDP("0.5"), sd.GaussianDP(1)]
    profile = ledger.profile()
    assert profile is not None
    assert profile.epsilon("1e-6") == pytest.approx(sd.GaussianDP(1).profile().epsilon("1e-6"))


def test_amounts_add_up_like_rationals_and_logarithms() -> None:
    third, log = Amount.of(Fraction(1, 3)), Amount.of(sd.PureDP("ln(5/3)").exact_epsilon)
    both = third + log + third
    assert both == Amount(Fraction(2, 3), Fraction(5, 3))
    assert Amount.parse(both.text()) == both
    assert both.at_most(Amount(Fraction("1.17750"))) is True
    assert both.at_most(Amount(Fraction("1.17749"))) is False
    assert both.float_upper() == pytest.approx(2 / 3 + 0.5108256237659907)
    with pytest.raises(InvalidData):
        Amount.parse("much")


def test_long_sums_are_rounded_up() -> None:
    total, exact = Amount(), Fraction(0)
    for denominator in range(3, 12001, 2):
        total, exact = total + Amount(Fraction(1, denominator)), exact + Fraction(1, denominator)
    assert exact.denominator.bit_length() < 20_000 or total.rational >= exact
    huge = Amount(Fraction(1, 3**13000)) + Amount(Fraction(1, 7**8000))
    exact = Fraction(1, 3**13000) + Fraction(1, 7**8000)
    assert exact < huge.rational <= exact * (1 + Fraction(1, 2**500))
    ratio = Amount.of(sd.PureDP("ln(51/49)").exact_epsilon)
    many = Amount()
    for _ in range(5000):
        many += ratio
    truth = ratio.times(5000)
    assert truth.at_most(many)
    assert many.at_most(truth + Amount(Fraction(1, 10**9)))
    assert len(many.text()) < 20_000


# ---- release first asks, then charges ------------------------------------------------


class Untouchable:
    """Data that must not be looked at."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"the data were touched: {name}")


def test_release_charges_the_ledger(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    release = sd.release(AGES, MEDIAN, guarantee=sd.PureDP("0.75"), ledger=ledger)
    assert release.guarantee == sd.PureDP("0.75")
    assert ledger.left() == sd.PureDP("0.25")
    with pytest.raises(BudgetExceeded, match="Nothing was charged"):
        sd.release(Untouchable(), MEDIAN, guarantee=sd.PureDP("0.5"), ledger=ledger)
    with pytest.raises(IncompatibleClaims):
        sd.release(Untouchable(), MEDIAN, guarantee=sd.ZCDP("0.1"), ledger=ledger)
    with pytest.raises(InvalidParameter, match="ledger"):
        sd.release(Untouchable(), MEDIAN, guarantee=sd.PureDP("0.1"), ledger="ledger.db")  # type: ignore[arg-type]
    with pytest.raises(InvalidData):
        sd.release(["x"], MEDIAN, guarantee=sd.PureDP("0.1"), ledger=ledger)
    assert ledger.verify() == 1


def test_the_charge_is_on_the_disk_before_the_data_are_used(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    seen = []

    def looked(*_: object, **__: object) -> None:
        seen.append(Ledger(path).verify())

    monkeypatch.setattr(sd.mechanisms.SmoothNoise, "release", looked)
    sd.release(AGES, MEDIAN, guarantee=sd.PureDP(1), ledger=ledger)
    assert seen == [1]


def test_one_charge_pays_for_one_release(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(3))
    mechanism = sd.mechanisms.SmoothNoise.calibrate(MEDIAN, guarantee=sd.PureDP(1), n_records=1000)
    with ledger.spend(mechanism) as release:
        release(AGES)
        with pytest.raises(InvalidParameter, match="one release"):
            release(AGES)
    with ledger.spend(mechanism) as release:
        pass
    with pytest.raises(InvalidParameter, match="one release"):
        release(AGES)
    with ledger.spend(sd.PureDP(1)) as release, pytest.raises(InvalidParameter, match="yourself"):
        release(AGES)
    with pytest.raises(BudgetExceeded), ledger.spend(mechanism):
        raise AssertionError("the block must not run")
    assert ledger.verify() == 3


def test_what_fails_in_the_block_stays_charged(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    with pytest.raises(KeyError), ledger.spend(sd.PureDP("0.5")):
        raise KeyError("a bug of the caller")
    assert ledger.left() == sd.PureDP("0.5")


def test_protocols_and_sampling_are_charged(path: Path) -> None:
    ledger = Ledger(path, budget=sd.ApproxDP(3, delta="0.01"))
    protocol = sd.shuffle.BooleanSum.calibrate(
        1000, guarantee=sd.ApproxDP(1, delta="1e-6"), honest_share=1
    )
    with ledger.spend(protocol) as release:
        release([i % 2 for i in range(1000)])
    with ledger.spend(sd.SamplingHistogram(1000, n_draws=5)) as release:
        release(["a", "b"] * 500, universe=["a", "b"])
    entries = ledger.entries()
    assert [entry.mechanism.split(":")[0] for entry in entries] == [
        "BooleanSum",
        "SamplingHistogram",
    ]
    assert entries[1].claim == sd.ApproxDP(0, delta="0.005")


# ---- bad input -----------------------------------------------------------------------


@pytest.mark.parametrize("budget", [1.0, "1", sd.PureDP, sd.PureDP(1).profile(), [sd.PureDP(1)]])
def test_a_budget_is_one_guarantee(path: Path, budget: Any) -> None:
    with pytest.raises(InvalidParameter, match="budget"):
        Ledger(path, budget=budget)
    assert not path.exists()


def test_bad_options(path: Path) -> None:
    pure, approx = sd.PureDP(1), sd.ApproxDP(1, delta="1e-6")
    bad: list[tuple[Guarantee, dict[str, Any]]] = [
        (pure, {"kept": "concentrated"}),
        (approx, {"kept": "best"}),
        (approx, {"conversion_delta": "1e-7"}),
        (approx, {"kept": "concentrated", "conversion_delta": "1e-5"}),
        (approx, {"kept": "concentrated", "conversion_delta": 0}),
        (approx, {"kept": "concentrated", "conversion_delta": float("nan")}),
        (pure, {"adaptive": False}),
        (pure, {"adaptive": 1}),
        (pure, {"timeout": -1}),
        (pure, {"timeout": float("nan")}),
        (pure, {"timeout": True}),
    ]
    for budget, options in bad:
        with pytest.raises(InvalidParameter):
            Ledger(path, budget=budget, **options)
    assert not path.exists()


def test_what_is_no_mechanism(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    for item in (
        None,
        0.1,
        "PureDP(1)",
        sd.PureDP,
        sd.SubsampledGaussian("0.1", noise_multiplier=1),
    ):
        with pytest.raises(InvalidParameter):
            ledger.spend(item)
    with pytest.raises(InvalidParameter, match="claim"):
        ledger.spend(sd.PureDP(1), claim=1.0)  # type: ignore[arg-type]
    with pytest.raises(IncompatibleClaims):
        ledger.spend(sd.PureDP(1), claim=sd.PureDP("0.5"))
    assert ledger.verify() == 0


def test_a_composition_says_what_it_is_made_of(path: Path) -> None:
    """An entry names the steps and their parameters; a refusal is no dump of the accountant."""
    ledger = Ledger(path, budget=sd.ApproxDP(2, delta="1e-5", neighbours="add_remove"))
    step = sd.SubsampledGaussian("0.01", noise_multiplier=2)
    run = sd.compose([(step, 100), sd.PureDP("0.1", neighbours="add_remove")])
    words = (
        "composition of 100 x SubsampledGaussian(rate=1/100, noise=2, sampling=poisson), "
        "1 x PureDP(epsilon=1/10, neighbours='add_remove')"
    )
    with pytest.raises(InvalidParameter) as refused:
        ledger.spend(run)
    assert f"got {words}. " in str(refused.value)
    ledger.spend(run, claim=sd.ApproxDP(1, delta="1e-6", neighbours="add_remove"))
    (entry,) = ledger.entries()
    assert entry.mechanism == words


def test_mixed_neighbours(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    with pytest.raises(IncompatibleClaims, match="same neighbours"):
        ledger.spend(sd.PureDP("0.1", neighbours="add_remove"))
    with pytest.raises(IncompatibleClaims, match="same neighbours"):
        ledger.spend(sd.PureDP("0.1", neighbours="add_remove"), claim=sd.PureDP("0.1"))
    assert ledger.entries() == []


def test_another_budget_for_the_same_file(path: Path) -> None:
    Ledger(path, budget=sd.PureDP(1)).spend(sd.PureDP("0.5"))
    with pytest.raises(InvalidParameter, match="another path"):
        Ledger(path, budget=sd.PureDP(2))
    assert Ledger(path, budget=sd.PureDP(1)).left() == sd.PureDP("0.5")


def test_no_ledger_there(path: Path) -> None:
    with pytest.raises(LedgerError, match="budget="):
        Ledger(path)
    with pytest.raises(LedgerError):
        Ledger(path.parent / "no" / "such" / "folder.db", budget=sd.PureDP(1))
    with pytest.raises(LedgerError):
        Ledger(path.parent, budget=sd.PureDP(1))
    path.write_text("a,b\n1,2\n" * 1000)
    with pytest.raises(LedgerError, match="something else"):
        Ledger(path, budget=sd.PureDP(1))
    assert path.read_text().startswith("a,b")
    other = path.with_name("other.db")
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("CREATE TABLE people (name TEXT)")
    connection.close()
    with pytest.raises(LedgerError, match="another database"):
        Ledger(other, budget=sd.PureDP(1))


def test_locked(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1), timeout=0.1)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="free within the timeout"):
        ledger.spend(sd.PureDP("0.5"))
    connection.close()
    ledger.spend(sd.PureDP("0.5"))
    assert ledger.verify() == 1


def test_newer_format(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    for act in (lambda: Ledger(path), lambda: ledger.spend(sd.PureDP("0.1")), ledger.verify):
        with pytest.raises(LedgerError, match="format 2"):
            act()


def test_rows_are_only_added(path: Path) -> None:
    Ledger(path, budget=sd.PureDP(1)).spend(sd.PureDP("0.5"))
    connection = sqlite3.connect(path)
    for statement in (
        "DELETE FROM entry",
        "UPDATE entry SET body = ''",
        "DELETE FROM ledger",
        "UPDATE ledger SET kept = ''",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    connection.close()


def tampered(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for table in ("entry", "ledger"):
        for verb in ("update", "delete"):
            connection.execute(f"DROP TRIGGER {table}_{verb}")
    for statement in statements:
        connection.execute(statement)
    connection.close()


CHANGES = [
    "UPDATE entry SET body = replace(body, '1/4', '1/8') WHERE number = 3",
    "UPDATE entry SET body = '{}' WHERE number = 3",
    "UPDATE entry SET digest = 'x' WHERE number = 3",
    "UPDATE entry SET digest = 'x' WHERE number = 2",
    "DELETE FROM entry WHERE number = 2",
    "UPDATE ledger SET kept = replace(kept, '1', '9')",
    "UPDATE ledger SET kept = 'nothing'",
    "INSERT INTO ledger SELECT * FROM ledger",
    "DROP TABLE entry",
]


@pytest.mark.parametrize("change", CHANGES)
def test_changed_by_hand(path: Path, change: str) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    for _ in range(3):
        ledger.spend(sd.PureDP("1/4"))
    tampered(path, change)
    with pytest.raises(LedgerError):
        ledger.spend(sd.PureDP("1/8"))
    with pytest.raises(LedgerError):
        ledger.verify()


def test_an_early_entry_changed_by_hand(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    for _ in range(4):
        ledger.spend(sd.PureDP("1/8"))
    tampered(path, "UPDATE entry SET body = replace(body, '1/8', '1/9') WHERE number = 1")
    with pytest.raises(LedgerError, match="entry 1"):
        ledger.verify()
    with pytest.raises(LedgerError, match="entry 1"):
        ledger.entries()


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_damaged_pages(path: Path, place: float) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    for _ in range(60):
        ledger.spend(sd.PureDP("1/1000"))
    # The last connection that closes moves everything into the one file.
    del ledger
    assert not path.with_name("ledger.db-wal").exists()
    with path.open("r+b") as file:
        file.seek(int(place * path.stat().st_size))
        file.write(bytes(range(1, 251)) * 20)
    with pytest.raises(LedgerError):
        Ledger(path).verify()


def test_replaced_or_removed_while_open(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    path.unlink()
    with pytest.raises(LedgerError):
        ledger.spend(sd.PureDP("0.1"))
    Ledger(path, budget=sd.PureDP(1))
    with pytest.raises(LedgerError, match="another one"):
        ledger.spend(sd.PureDP("0.1"))


def test_threads_share_a_ledger(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP("0.05"))

    def spend(_: int) -> int:
        try:
            ledger.charge(sd.PureDP("0.001"))
        except BudgetExceeded:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(80))) == 50
    assert ledger.verify() == 50


def test_a_ledger_that_was_open_before_a_fork(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    ledger.charge(sd.PureDP("0.25"))

    def act() -> None:
        ledger.charge(sd.PureDP("0.5"))

    assert in_child(act) == 0
    assert ledger.left() == sd.PureDP("0.25")
    assert in_child(act) == -3
    ledger.charge(sd.PureDP("0.25"))
    assert ledger.verify() == 3


def test_clock_that_goes_back(path: Path) -> None:
    times = [datetime(2030, 1, 1, 12, tzinfo=UTC)]
    ledger = Ledger(path, budget=sd.PureDP(1), clock=lambda: times[-1])
    ledger.spend(sd.PureDP("0.1"))
    times.append(times[0] - timedelta(seconds=30))
    ledger.spend(sd.PureDP("0.1"))
    times.append(times[0] - timedelta(hours=1))
    with pytest.raises(LedgerError, match="clock"):
        ledger.spend(sd.PureDP("0.1"))
    assert [entry.time for entry in ledger.entries()] == ["2030-01-01T12:00:00+00:00"] * 2
    with pytest.raises(LedgerError, match="time zone"):
        Ledger(path, clock=lambda: datetime(2031, 1, 1)).spend(sd.PureDP("0.1"))
    Ledger(path, clock=lambda: datetime(2031, 1, 1, tzinfo=UTC)).spend(sd.PureDP("0.1"))
    assert ledger.verify() == 3


def test_full_disk(path: Path) -> None:
    """No more bytes may be written to any file: the charge fails whole."""
    ledger = Ledger(path, budget=sd.PureDP(1))
    ledger.spend(sd.PureDP("0.5"))

    def act() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        try:
            ledger.spend(sd.PureDP("0.25"))
        except LedgerError:
            os._exit(9)

    assert in_child(act) == -9
    assert ledger.verify() == 1
    ledger.spend(sd.PureDP("0.25"))
    assert ledger.left() == sd.PureDP("0.25")


def test_read_only(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    path.chmod(0o444)
    path.parent.chmod(0o555)

    def act() -> None:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        try:
            ledger.spend(sd.PureDP("0.25"))
        except LedgerError:
            os._exit(9)

    try:
        # The folders above belong to whoever runs the tests.
        for folder in path.parent.parents:
            if folder.stat().st_uid == os.getuid() and "pytest" in str(folder):
                folder.chmod(0o755)
        assert in_child(act) == -9
    finally:
        path.parent.chmod(0o755)
        path.chmod(0o644)
    assert ledger.verify() == 0


# ---- command line --------------------------------------------------------------------


def test_command_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> str:
        main(["account", *arguments])
        return capsys.readouterr().out

    made = json.loads(run("create", str(path), "--epsilon", "1", "--delta", "1e-6", "--json"))
    assert made["amounts"]["epsilon"]["left"] == "1"
    Ledger(path).spend(sd.PureDP("0.5"))
    shown = run(str(path), "--delta", "1e-6")
    assert "PureDP(epsilon=1/2" in shown
    assert "fixed in advance" in shown
    found = json.loads(run(str(path), "--delta", "1e-6", "--json"))
    assert found["fixed_in_advance"]["epsilon"] <= 0.5
    assert found["amounts"]["epsilon"] == {"spent": "1/2", "limit": "1", "left": "1/2"}
    lines = run("export", str(path), "--jsonl").splitlines()
    assert [json.loads(line)["number"] for line in lines] == [1]
    for bad in (("no.db",), ("create", str(path), "--rho", "1"), ("create", str(path))):
        with pytest.raises(SystemExit) as ended:
            run(*bad)
        assert ended.value.code == 2
        failed = capsys.readouterr()
        assert failed.out == ""
        assert len(failed.err.strip().splitlines()) == 1


def test_a_budget_about_adding_and_removing(path: Path) -> None:
    """On the command line; a release about replacing is refused there, before it is made."""
    main(["account", "create", str(path), "--rho", "1", "--neighbours", "add_remove"])
    assert Ledger(path).budget == sd.ZCDP(1, neighbours="add_remove")
    for i, (options, budget) in enumerate(
        [
            (("--epsilon", "1"), sd.PureDP(1, neighbours="add_remove")),
            (("--mu", "1"), sd.GaussianDP(1, neighbours="add_remove")),
            (
                ("--epsilon", "1", "--delta", "1e-6"),
                sd.ApproxDP(1, delta="1e-6", neighbours="add_remove"),
            ),
        ]
    ):
        other = path.with_name(f"{i}.db")
        main(["account", "create", str(other), *options, "--neighbours", "add_remove"])
        assert Ledger(other).budget == budget
    column = path.with_name("column.csv")
    column.write_text("a\n" + "1\n" * 100)
    asked = ["--column", "a", "--statistic", "median", "--epsilon", "1", "--bounds", "0", "9"]
    with pytest.raises(SystemExit) as ended:
        main(["release", str(column), *asked, "--ledger", str(path.with_name("0.db"))])
    assert ended.value.code == 2
    assert Ledger(path.with_name("0.db")).entries() == []


def test_plot(path: Path) -> None:
    pytest.importorskip("matplotlib")
    ledger = Ledger(path, budget=sd.ZCDP(1))
    with pytest.raises(InvalidData):
        sd.report.Account.of(ledger).draw(path.with_suffix(".png"))
    ledger.spend(sd.GaussianDP("0.5"))
    assert sd.report.Account.of(ledger).draw(path.with_suffix(".png")).stat().st_size > 1000
