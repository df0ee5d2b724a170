"""Reading a ledger from an entry on: the same entries, read once, and a lost entry is noticed."""

from __future__ import annotations

import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.errors import LedgerError
from smoothdp.ledger import Ledger, bookkeeping
from smoothdp.ledger.store import Row
from smoothdp.services.analyzer.task_ledger import OtherBatch, TaskLedger
from tests.services.worlds.small_tasks import small_task

SMALL = sd.PureDP("0.01")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the entries whose digests were checked, in order."""
    numbers: list[int] = []
    real = bookkeeping.checked_entry

    def counting(row: Row, previous: str, where: Path) -> sd.ledger.Entry:
        numbers.append(row.number)
        return real(row, previous, where)

    monkeypatch.setattr("smoothdp.ledger.ledger.checked_entry", counting)
    return numbers


def copied(path: Path, target: Path) -> None:
    """Copy a ledger, with what is in its write-ahead log."""
    with closing(sqlite3.connect(path)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)
    one.close()
    other.close()


def test_after_is_the_rest(path: Path, checked: list[int]) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    assert ledger.entries() == []
    made = [ledger.charge(SMALL) for _ in range(6)]
    assert ledger.entries() == made
    for place, entry in enumerate(made):
        checked.clear()
        assert ledger.entries(after=entry) == made[place + 1 :]
        assert checked == list(range(entry.number + 1, 7))


def test_after_checks_what_it_reads(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    first, second, _ = (ledger.charge(SMALL) for _ in range(3))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER entry_update")
        connection.execute("UPDATE entry SET body = replace(body, '1/100', '1/900') WHERE number=3")
    connection.close()
    for after in (None, first, second):
        with pytest.raises(LedgerError, match="entry 3 is not what was written"):
            ledger.entries(after=after)


def test_an_older_copy_is_noticed(path: Path) -> None:
    ledger = Ledger(path, budget=sd.PureDP(1))
    ledger.charge(SMALL)
    old = path.with_name("old.db")
    copied(path, old)
    lost = ledger.charge(SMALL)
    del ledger
    for extra in ("-wal", "-shm"):
        path.with_name(path.name + extra).unlink(missing_ok=True)
    shutil.copy(old, path)
    again = Ledger(path)
    with pytest.raises(LedgerError, match="entry 2 is not what was read before"):
        again.entries(after=lost)
    # Another second entry in its place is not the one that was read.
    again.charge(sd.PureDP("0.02"))
    with pytest.raises(LedgerError, match="entry 2 is not what was read before"):
        again.entries(after=lost)


# ---- the ledger of a task ----------------------------------------------------------------


def test_charges_are_found_without_reading_the_ledger_again(
    tmp_path: Path, checked: list[int]
) -> None:
    task = small_task(windows=40)
    kept = TaskLedger(tmp_path, task)
    checked.clear()
    made = {window: kept.charge(window) for window in range(40)}
    assert {window: kept.charge(window) for window in range(40)} == made
    kept.require(set(made))
    # Each entry once, where reading everything for each charge would take over 2,000.
    assert checked == list(range(1, 41))
    # A new process reads the file, once.
    checked.clear()
    again = TaskLedger(tmp_path, task)
    assert again.charged() == made
    assert {window: again.charge(window) for window in range(40)} == made
    assert checked == list(range(1, 41))


def test_charges_of_another_process_are_found(tmp_path: Path) -> None:
    task = small_task(windows=10)
    one, other = TaskLedger(tmp_path, task), TaskLedger(tmp_path, task)
    for window in range(8):
        writer, reader = (one, other) if window % 2 else (other, one)
        assert writer.charge(window) == reader.charge(window)
    assert len(Ledger(one.path).entries()) == 8


def test_a_charge_that_failed_after_it_was_written_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = small_task(windows=10)
    kept = TaskLedger(tmp_path, task)
    real = Ledger.charge

    def lost(self: Ledger, mechanism: object, **more: Any) -> None:
        real(self, mechanism, **more)
        raise LedgerError(expected="the disk", got="none after the commit", remedy="Mend it")

    with monkeypatch.context() as broken:
        broken.setattr(Ledger, "charge", lost)
        with pytest.raises(LedgerError):
            kept.charge(3)
    assert kept.charge(3).number == 1
    assert len(Ledger(kept.path).entries()) == 1


def test_threads_read_each_entry_once(tmp_path: Path) -> None:
    task = small_task(windows=30)
    kept = TaskLedger(tmp_path, task)
    for window in range(30):
        kept.charge(window)
    fresh = TaskLedger(tmp_path, task)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: fresh.charged(), range(32)))
    assert all(charges == kept.charged() for charges in found)


def test_an_older_copy_of_the_file_stops_the_analyser(tmp_path: Path) -> None:
    task = small_task(windows=10)
    kept = TaskLedger(tmp_path, task)
    kept.charge(1)
    old = tmp_path / "old.db"
    copied(kept.path, old)
    assert kept.charge(2) == kept.charge(2)
    for extra in ("-wal", "-shm"):
        kept.path.with_name(kept.path.name + extra).unlink(missing_ok=True)
    kept.path.unlink()
    shutil.copy(old, kept.path)
    with pytest.raises(LedgerError, match="read before"):
        kept.charge(2)


class _OwnClaim(sd.PureDP):
    """A claim whose JSON nobody reads back."""


def test_a_claim_that_is_not_read_back_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    ledger = Ledger(tmp_path / "own.db", budget=sd.PureDP(1))
    ledger.charge(sd.PureDP("0.1"))
    for charge in (
        lambda: ledger.charge(_OwnClaim("0.1")),
        lambda: ledger.check(_OwnClaim("0.1")),
        lambda: Ledger(tmp_path / "other.db", budget=_OwnClaim(1)),
    ):
        with pytest.raises(sd.errors.InvalidParameter, match="read back from its JSON"):
            charge()
    assert not (tmp_path / "other.db").exists()
    assert len(ledger.entries()) == 1
    ledger.charge(sd.PureDP("0.1"))
    assert ledger.spent().implies(sd.PureDP("0.2"))


def test_a_charge_follows_the_entry_that_was_read(path: Path) -> None:
    """None of an empty ledger, then each time the last; any other one is refused, and no charge."""
    ledger = Ledger(path, budget=sd.PureDP(1))
    one = ledger.charge(SMALL, following=None)
    two = ledger.charge(SMALL, following=one)
    for stale in (None, one):
        with pytest.raises(bookkeeping.EntryMeanwhile, match="Nothing was charged"):
            ledger.charge(SMALL, following=stale)
    assert ledger.entries() == [one, two]
    assert ledger.charge(SMALL).number == 3


@pytest.mark.parametrize("same", [True, False])
def test_a_window_that_another_process_charges_meanwhile_is_charged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same: bool
) -> None:
    """Just after it was read that there is no charge; it stands for the batch that it names."""
    task = small_task(windows=10)
    mine, others = (TaskLedger(tmp_path, task) for _ in range(2))
    charge, come = mine._ledger.charge, list[int]()

    def late(result: object, **more: Any) -> sd.ledger.Entry:
        if not come:
            come.append(others.charge(3, batch=b"one").number)
            others.charge(4, batch=b"another window")
        return charge(result, **more)

    monkeypatch.setattr(mine._ledger, "charge", late)
    if same:
        assert mine.charge(3, batch=b"one").number == 1
    else:
        with pytest.raises(OtherBatch):
            mine.charge(3, batch=b"two")
    assert mine.charge(5, batch=b"five").number == 3
    assert [entry.parameters["window"] for entry in mine._ledger.entries()] == ["3", "4", "5"]
