"""Rows that a program before has left: known and counted by this one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from smoothdp.services.analyzer.counting import count_complete
from smoothdp.services.formats.secrets import tag
from smoothdp.services.shuffler.ingest import Taken
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import OPEN_TASK, small_task
from tests.services.worlds.whole_world import WholeWorld


def as_before(path: Path, names: dict[bytes, bytes], *, number: int) -> None:
    """Make the shuffler's file what a program before left: reports are named by their ids."""
    with closing(sqlite3.connect(path)) as file, file:
        for sender, name in names.items():
            file.execute("UPDATE pending SET report_id = ? WHERE sender_tag = ?", (name, sender))
        if number == 2:
            file.execute("DROP INDEX pending_report")
            file.execute("DROP TABLE revoked")
            file.execute("ALTER TABLE collecting DROP COLUMN reports")
        file.execute("UPDATE schema_number SET number = ?", (number,))
        file.execute(f"PRAGMA user_version={number}")


@ONLY_SQLITE
@pytest.mark.parametrize("number", [2, 3])
def test_a_repeated_report_is_known_after_an_upgrade(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    number: int,
) -> None:
    """Else its owner is told 409, and a thief's copy knocks the owner out of the batch."""
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    world.open_window()
    sent = [(world.report(), world.new_pass()) for _ in range(12)]
    names = {}
    ((key,),) = world.shuffler.storage.read("SELECT tag_key FROM collecting")
    for report, secret in sent:
        assert world.send(report, secret) is Taken.ACCEPTED
        names[tag(bytes(key), bytes.fromhex(secret[:32]))] = report.report_id
    world.close()
    as_before(tmp_path / "shuffler.sqlite", names, number=number)
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    for _ in range(2):
        for report, secret in sent:
            assert world.send(report, secret) is Taken.ACCEPTED
            assert world.send(report, world.new_pass()) is Taken.OTHER_REPORT
            assert world.send(world.report(), secret) is Taken.OTHER_REPORT
        world.restart()
    # The ids, which a thief of a later day could compute from a batch, are nowhere.
    assert not any(report.report_id in world.files() for report, _ in sent)
    (sealed,) = world.seal()
    assert (sealed.state, sealed.users, sealed.shared) == ("SEALED", 12, 0)
    world.close()


def test_what_a_program_before_has_counted_is_released(tmp_path: Path, storage_kind: str) -> None:
    """Its rows, one for each value, lie in the table of then: nothing of them was lost."""
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(4):
        assert world.take_part(str(person)) == 202
    world.seal()
    world.deliver()
    count_complete(world.analyzer)
    counted = world.tally()
    (batch_id,) = world.analyzer.storage.read("SELECT batch_id FROM batch")[0]
    with world.analyzer.storage.transaction() as change:
        change.change("DELETE FROM counts WHERE batch_id = ?", (batch_id,))
        change.change_many(
            "INSERT INTO tally (batch_id, part, value, n) VALUES (?, ?, ?, ?)",
            [(batch_id, 0, value, n) for value, n in counted.items()],
        )
    assert world.tally() == counted
    assert world.end()["state"] == "RELEASED", storage_kind
    assert world.analyzer.storage.read("SELECT * FROM tally") == []
    world.close()
