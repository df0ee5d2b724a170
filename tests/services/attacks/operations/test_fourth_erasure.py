"""A fourth round of attacks: what is left on disks when something else goes wrong meanwhile."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidData
from smoothdp.ledger import Ledger
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.issuer.window_keys import close_windows, key_of_window
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.store.storage import SqliteStorage
from tests.services.storages import ONLY_SQLITE, without_waiting_for_disks
from tests.services.worlds.issuing_world import IssuingWorld
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task

pytestmark = ONLY_SQLITE
OPEN_TASK: dict[str, Any] = {"issuer": None, "proof": "none"}
THREE = (WINDOW, WINDOW + 1, WINDOW + 2)


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


def three_windows(folder: Path) -> PartyWorld:
    """Return a world in which three windows have reports, and are over."""
    world = PartyWorld(folder, small_task(**OPEN_TASK))
    without_waiting_for_disks(world.shuffler.storage)
    for window in THREE:
        world.go_to(window * HOUR + 5.0)
        world.open_window(window)
        world.send_many(12, window=window)
    world.go_to((WINDOW + 5) * HOUR)
    return world


# ---- one window that cannot be closed: a block of the disk is damaged


def test_a_window_that_cannot_be_sealed_keeps_no_key_of_the_others(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    world = three_windows(tmp_path)
    with world.shuffler.storage.transaction() as change:
        change.change(
            "UPDATE pending SET slots = x'00' WHERE window = ?1 AND sender_tag = "
            "(SELECT min(sender_tag) FROM pending WHERE window = ?1)",
            (WINDOW + 1,),
        )
    for _ in range(2):
        with pytest.raises(ValueError, match="reshape"):
            seal_due(world.shuffler)
    states = world.shuffler.storage.read("SELECT window, state FROM collecting ORDER BY window")
    assert states == list(zip(THREE, ("SEALED", "OPEN", "SEALED"), strict=True))
    # The one of the window that is open alone: its reports may still be mended.
    assert world.shuffler.cards.kept() == [WINDOW + 1]
    world.close()


def test_a_window_that_cannot_be_counted_keeps_no_key_of_the_others(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    world = three_windows(tmp_path)
    world.seal()
    world.deliver()
    with world.analyzer.storage.transaction() as change:
        change.change("UPDATE batch SET header = x'00' WHERE window = ?", (WINDOW,))
    for _ in range(2):
        with pytest.raises(DecodeError, match="too short"):
            work(world.analyzer)
    assert [world.result(window)["state"] for window in THREE[1:]] == ["RELEASED"] * 2
    assert len(world.keys[1].scopes()) == 1
    # Its key goes with the seven days, and holds up the end of no other.
    world.go_to(world.now + 8 * 86_400)
    with pytest.raises(DecodeError, match="too short"):
        work(world.analyzer)
    assert world.keys[1].scopes() == []
    work(world.analyzer)
    world.close()


def test_a_window_that_cannot_be_closed_keeps_no_key_of_the_others(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    world = IssuingWorld(tmp_path)
    for window in THREE:
        world.open_window(window)
    with world.storage.transaction() as change:
        change.change("UPDATE card SET digest = '' WHERE window = ?", (WINDOW,))
    world.go_to((WINDOW + 5) * HOUR)
    for _ in range(2):
        with pytest.raises(Exception):  # noqa: B017
            close_windows(world.issuer)
    left = world.storage.read("SELECT window FROM window_key WHERE secret IS NOT NULL")
    assert left == [(WINDOW,)]
    assert key_of_window(world.issuer, WINDOW + 1) is None
    world.close()


# ---- an analyser whose database was lost, or is older; the file of its keys is that of now


def test_the_key_of_a_window_that_the_database_has_lost_is_erased_after_seven_days(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A later copy of the database has the sealed key: with its data key the batch would open."""
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    world.open_window()
    ((secret,),) = world.keys[1]._storage.read("SELECT secret FROM data_key")
    world.close()
    for path in tmp_path.glob("analyzer.sqlite*"):
        path.unlink()
    world._open()
    lapses = (WINDOW + 1) * HOUR + world.task.grace_seconds + 7 * 86_400
    for now, kept in ((lapses - 1, True), (lapses, False)):
        world.go_to(now)
        work(world.analyzer)
        assert (bytes(secret) in bytes_of(tmp_path)) is kept
    world.close()


# ---- backups, as the guide has them


def test_a_copy_of_the_ledger_after_a_release_has_its_charge(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The service runs on: what is in the log beside alone would be spent again from the copy."""
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    (ledger,) = tmp_path.glob("ledger-*.db")
    for n, window in enumerate(THREE, start=1):
        world.go_to(window * HOUR + 5.0)
        world.open_window(window)
        world.send_many(12, window=window)
        assert world.finish(None, window)["state"] == "RELEASED"
        shutil.copy(ledger, tmp_path / f"copy {n}.db")
        entries = Ledger(tmp_path / f"copy {n}.db").entries()
        assert [int(entry.parameters["window"]) for entry in entries] == list(THREE[:n])
    world.close()


# ---- a start on a disk that is full, or beside somebody who holds the file


def test_a_file_that_is_held_is_not_to_be_left_for_another_one(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Another path has no state: whoever followed that advice would begin anew."""
    path = tmp_path / "gateway.sqlite"
    SqliteStorage(path, "CREATE TABLE IF NOT EXISTS box (item TEXT);").close()
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InvalidData, match="See which process holds it") as refused:
            SqliteStorage(path, "CREATE TABLE IF NOT EXISTS box (item TEXT);", busy_seconds=0.0)
    assert "another path" not in str(refused.value)


# ---- nobody comes


def test_windows_of_nobody_of_one_and_without_a_card_leave_no_key(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    world.open_window(WINDOW)
    world.open_window(WINDOW + 1)
    world.go_to((WINDOW + 1) * HOUR + 1.0)
    world.send_many(1, window=WINDOW + 1)
    half = world.shuffler.cards.offered_key(WINDOW + 2)  # Its card is made, and never fetched.
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 2, half) == 201
    world.shuffler.cards.offered_key(WINDOW + 3)  # Nobody took it.
    kept = [
        bytes(secret)
        for keys in world.keys
        for (secret,) in keys._storage.read("SELECT secret FROM data_key")
    ]
    assert len(kept) == 7
    assert all(secret in world.files() for secret in kept)
    world.go_to(world.now + 8 * 86_400)
    world.restart()
    world.finish()
    assert not any(secret in world.files() for secret in kept)
    assert [keys.scopes() for keys in world.keys] == [[], []]
    world.close()
