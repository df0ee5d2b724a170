"""What comes, fails or is held just while a window is ended: one end, and none for a moment."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import LedgerError
from smoothdp.ledger import Entry, Ledger
from smoothdp.services.analyzer import release
from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.task_ledger import WindowResult
from smoothdp.services.analyzer.window_cards import TRYING_SECONDS
from smoothdp.services.formats.design.budget import KEY_SECONDS
from smoothdp.services.formats.report import seal_report
from smoothdp.services.shuffler.ingest import Taken
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.older_copies import copy_of, put_in_place
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task

pytestmark = ONLY_SQLITE


def test_a_number_of_accounts_that_comes_while_a_window_is_ended_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The protocol, 7: "a batch that is counted, and whose number of accounts is there, is never
    ended so"; the issuer's statement was acknowledged, and is "taken alike" whenever it comes.

    Whether it was there was looked at before the transaction that ends the window, which waits for
    whoever writes: for the very request that stores it, say.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    assert world.finish()["state"] == "counting"
    told: list[int] = []
    before = release._was_charged

    def meanwhile(analyzer: Analyzer, window: int) -> bool:
        told.append(world.tell_served(13, window))
        return before(analyzer, window)

    monkeypatch.setattr(release, "_was_charged", meanwhile)
    world.go_to(world.now + KEY_SECONDS + 1)
    for _ in range(2):
        release.work(world.analyzer)
    assert told == [201]
    assert world.result()["state"] == "RELEASED"
    assert world.charged() == [WINDOW]
    world.close()


@pytest.mark.parametrize(
    "fault",
    [
        sqlite3.OperationalError("disk I/O error"),
        sqlite3.OperationalError("unable to open database file"),
        sqlite3.OperationalError("database is locked"),
        OSError(errno.EMFILE, "Too many open files"),
        MemoryError(),
    ],
    ids=["disk", "open", "locked", "files", "memory"],
)
def test_a_fault_that_goes_again_is_no_end_of_a_batch_that_was_whole(
    tmp_path: Path, fault: Exception
) -> None:
    """The protocol, 7: "What was there whole before is counted and released also by an A that runs
    again only later"; the guide names as faults that are put off "locked: somebody else holds the
    database" and "disk: full, or broken".

    Of an analyser that comes back after seven days one round of work meets the fault.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    assert world.tell_served(13) == 201
    world.go_to(world.now + KEY_SECONDS + 1)
    storage, faults = world.analyzer.storage, [fault]
    read = storage.read

    def failing(statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if faults and "FROM part" in statement:
            raise fault
        return read(statement, values)

    storage.read = failing  # type: ignore[method-assign]
    with pytest.raises(type(fault)):
        release.work(world.analyzer)
    faults.clear()
    release.work(world.analyzer)
    assert world.result()["state"] == "RELEASED"
    world.close()


def test_a_fault_that_does_not_go_keeps_no_key_for_more_than_a_day(tmp_path: Path) -> None:
    """The guide: "a window that cannot be counted for seven days is ended, and its key goes": an
    analyser that comes back after that, and whose disk is broken, tries for one day.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    assert world.tell_served(13) == 201
    world.go_to(world.now + KEY_SECONDS + 1)
    storage = world.analyzer.storage
    read = storage.read

    def failing(statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if "FROM part" in statement:
            raise sqlite3.OperationalError("disk I/O error")
        return read(statement, values)

    storage.read = failing  # type: ignore[method-assign]
    for later in (0, TRYING_SECONDS - 1):
        world.go_to(world.now + later)
        with pytest.raises(sqlite3.OperationalError):
            release.work(world.analyzer)
        assert world.analyzer.cards.inner_key(WINDOW) is not None
    world.go_to(world.now + 2)
    with pytest.raises(sqlite3.OperationalError):
        release.work(world.analyzer)
    assert world.analyzer.cards.inner_key(WINDOW) is None
    # Without its key nothing is tried any more.
    release.work(world.analyzer)
    assert world.result()["state"] == "REFUSED"
    world.close()


def test_a_ledger_that_is_locked_for_a_moment_makes_no_second_end(tmp_path: Path) -> None:
    """The protocol, 3.5 and 7: "RELEASED, of a window that was charged, at an A whose older copy
    does not have the result"; "RELEASED, REFUSED, QUARANTINED are final".

    The window was released, the analyser's database is an older copy in which a part is missing,
    and somebody holds the ledger in the round that ends it: what was released is signed to be
    refused.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    (batch_id, header) = world.shuffler.storage.read("SELECT batch_id, header FROM batch")[0]
    assert world.analyzer.put_batch(bytes(batch_id), bytes(header)) == 201
    copy = copy_of(tmp_path, "analyzer")
    world.deliver()
    assert world.tell_served(13) == 201
    release.work(world.analyzer)
    assert world.result()["state"] == "RELEASED"
    world.close()
    put_in_place(tmp_path, "analyzer", copy)
    world._open()
    assert world.result()["state"] == "arriving"
    world.go_to(world.now + KEY_SECONDS + 1)
    ledger = world.analyzer.ledger
    charged = ledger.charged

    def locked() -> dict[int, Entry]:
        raise LedgerError(expected="a ledger", got="a locked one", remedy="Again")

    ledger.charged = locked  # type: ignore[method-assign]
    with suppress(LedgerError):
        release.work(world.analyzer)
    ledger.charged = charged  # type: ignore[method-assign]
    release.work(world.analyzer)
    assert world.result()["state"] == "RELEASED"
    world.close()


def test_a_release_by_another_worker_while_a_window_is_ended_is_its_one_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The protocol, 7: "RELEASED, REFUSED, QUARANTINED are final"."""
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    assert world.finish()["state"] == "counting"
    released: list[int] = []

    def meanwhile(analyzer: Analyzer, window: int) -> bool:
        if not released:
            world.tell_served(13, window)
            released.append(release.release_counted(analyzer))
        return False

    monkeypatch.setattr(release, "_was_charged", meanwhile)
    world.go_to(world.now + KEY_SECONDS + 1)
    for _ in range(2):
        release.work(world.analyzer)
    assert released == [1]
    assert world.result()["state"] == "RELEASED"
    assert world.charged() == [WINDOW]
    assert world.analyzer.cards.inner_key(WINDOW) is None
    world.close()


def test_a_report_that_was_judged_before_its_window_was_sealed_is_not_acknowledged(
    tmp_path: Path,
) -> None:
    """The tutorial: "what a person was told is accepted is counted once"."""
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    sender = world.shuffler.sender(world.new_pass())
    assert sender is not None
    sealed = seal_report(world.report().encode(), world.card())
    judged = world.shuffler.judge(WINDOW, sender, sealed)
    assert not isinstance(judged, Taken)
    assert [one.users for one in world.seal()] == [13]
    assert world.shuffler.accept([judged]) == [Taken.CLOSED]
    assert world.shuffler.totals()["pending"] == 0
    world.close()


def test_what_another_program_has_spent_of_the_ledger_is_not_spent_again(tmp_path: Path) -> None:
    """The protocol, 7: "REFUSED if the budget is spent"; nothing is charged, nothing shown."""
    world = PartyWorld(tmp_path, small_task(windows=1))
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    assert world.tell_served(13) == 201
    other = WindowResult("another program", 1, "", world.task.guarantee)
    Ledger(world.analyzer.ledger.path).charge(other)
    release.work(world.analyzer)
    assert (world.result()["state"], len(world.charged())) == ("REFUSED", 1)
    assert world.analyzer.storage.read("SELECT 1 FROM release") == []
    world.close()
