"""Processes that go on after their lock is gone: nothing is charged, noted or erased twice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.storage import StorageLocked, StorageUnreachable
from tests.services.storages import ONLY_SQLITE, open_state
from tests.services.worlds.party_world import ENOUGH, HOUR, WINDOW, PartyWorld
from tests.services.worlds.second_processes import second_analyzer, second_shuffler
from tests.services.worlds.small_tasks import open_task, small_task


def cut_off(storage: Any) -> None:
    """End the connection of a process that is within a transaction, as a server does."""
    pid = storage._writing.connected().info.backend_pid
    other = storage._reading.connected()
    other.execute("SELECT pg_terminate_backend(%s)", (pid,))


def charged_beside(folder: Path) -> PartyWorld:
    """Return a world whose window was released while another process, cut off, charged it too."""
    world = PartyWorld(folder, small_task(windows=2))
    other = second_analyzer(world)
    world.open_window()
    world.send_many(ENOUGH)
    world.seal()
    world.deliver()
    assert world.tell_served(ENOUGH) == 201
    charge = other.ledger._ledger.charge

    def stopped(result: Any, **more: Any) -> Any:
        cut_off(other.storage)
        work(world.analyzer)
        return charge(result, **more)

    other.ledger._ledger.charge = stopped  # type: ignore[method-assign]
    with suppress(StorageUnreachable):
        work(other)
    other.storage.close()
    return world


@pytest.mark.parametrize("storage_kind", ["postgresql"], indirect=True)
@pytest.mark.slow
def test_a_process_that_was_cut_off_charges_no_window_again(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 7: "charge the ledger, on disk first, once for this window and its batch"; the
    guide to PostgreSQL: "One transaction writes at a time, under an advisory lock, whatever the
    number of processes".

    The lock goes with the connection. A process is stopped just before it charges, its connection
    ended; another one charges and releases; the first one goes on, and charged once more. The
    budget of two windows was spent by one: all who answered in the second had it refused.
    """
    world = charged_beside(tmp_path)
    first, charged = world.result()["state"], world.charged()
    second = WINDOW + 1
    world.go_to(float(second * HOUR + 600))
    world.open_window(second)
    world.send_many(ENOUGH, window=second)
    said = world.finish(ENOUGH, second)
    world.close()
    assert first == "RELEASED"
    assert (charged, said["state"]) == ([WINDOW], "RELEASED"), said.get("reason")


@pytest.mark.parametrize("storage_kind", ["postgresql"], indirect=True)
@pytest.mark.slow
def test_a_process_that_was_cut_off_notes_no_end_of_a_window_that_has_a_card(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "A service may be stopped at any moment", "start it"; the threat model: the
    database is refused "if a window that is open in it was closed since": of the newest, none is.

    A process that found a window without a card is cut off before it notes that it is over. Another
    one signs the card; the first one goes on, and noted that. No shuffler started again.
    """
    world = PartyWorld(tmp_path, open_task(window_seconds=1, grace_seconds=0))
    other = second_shuffler(world)
    window = int(world.now)
    put = world.analyzer.cards.put_key
    assert put(GATEWAY, window, world.shuffler.cards.offered_key(window)) == 201
    offered = world.analyzer.cards.shown(window)
    assert offered is not None
    note = other.cards._keys.note
    signed: list[bytes] = []

    def stopped(*names: bytes) -> None:
        if names and not signed:
            cut_off(other.storage)
            signed.append(world.shuffler.cards.sign(window, offered))
        note(*names)

    other.cards._keys.note = stopped  # type: ignore[method-assign]
    world.go_to(world.now + 1)
    with suppress(StorageUnreachable):
        seal_due(other)
    other.storage.close()
    assert signed
    try:
        world.restart()
        seal_due(world.shuffler)
    finally:
        world.close()


@pytest.mark.parametrize("storage_kind", ["postgresql"], indirect=True)
@pytest.mark.slow
def test_a_process_that_is_cut_off_after_it_asked_once_more_erases_no_key_in_use(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide to PostgreSQL: keys are "overwritten when their rows are gone"; the guide: "What
    was acknowledged is on disk".

    Before keys go it is asked once more whether the connection, and with it the lock, is there. A
    process is cut off between that and the commit of the file of keys.
    """
    first, second = (open_state(tmp_path, "analyzer", ANALYZER_SCHEMA) for _ in range(2))
    statement = "INSERT OR IGNORE INTO part (batch_id, part, bytes) VALUES (?, ?, ?)"
    part = (b"b" * 16, 0, b"slots")
    with suppress(ZeroDivisionError), second.transaction() as change:
        change.change(statement, part)
        raise ZeroDivisionError
    keys: ErasableKeys = first._keys  # type: ignore[attr-defined]
    erase, acknowledged = keys.erase, list[tuple[bytes]]()
    second._keys._storage._connection.execute("PRAGMA busy_timeout = 50")  # type: ignore[attr-defined]

    def stopped(scopes: list[bytes], *, still: Callable[[], object] = list) -> bool:
        def asked() -> None:
            still()
            cut_off(first)
            # Whoever seals waits for the one that erases, and is not told that it was stored.
            with suppress(StorageLocked):
                with second.transaction() as change:
                    assert change.change(statement, part) == 1
                acknowledged.append((b"slots",))

        return erase(scopes, still=asked)

    keys.erase = stopped  # type: ignore[method-assign]
    with suppress(StorageUnreachable):
        first.forget()
    try:
        assert second.read("SELECT bytes FROM part") == acknowledged
        with second.transaction() as change:
            assert change.change(statement, part) == 1
        assert second.read("SELECT bytes FROM part") == [(b"slots",)]
    finally:
        first.close()
        second.close()


@ONLY_SQLITE
def test_a_process_that_is_stopped_before_it_charges_keeps_others_from_charging(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 7: "charge the ledger, on disk first, once for this window and its batch".

    In a file the lock stays with the process: the other one is put off, and finds the charge.
    """
    world = PartyWorld(tmp_path, small_task(windows=2))
    other = second_analyzer(world)
    world.open_window()
    world.send_many(ENOUGH)
    world.seal()
    world.deliver()
    assert world.tell_served(ENOUGH) == 201
    world.analyzer.storage._connection.execute("PRAGMA busy_timeout = 50")  # type: ignore[attr-defined]
    charge, put_off = other.ledger._ledger.charge, list[Exception]()

    def stopped(result: Any, **more: Any) -> Any:
        try:
            work(world.analyzer)
        except StorageLocked as error:
            put_off.append(error)
        return charge(result, **more)

    other.ledger._ledger.charge = stopped  # type: ignore[method-assign]
    work(other)
    other.storage.close()
    work(world.analyzer)
    state, charged = world.result()["state"], world.charged()
    world.close()
    assert (len(put_off), state, charged) == (1, "RELEASED", [WINDOW])
