"""After a window nothing of it is left on disk: what was recorded does not open any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.slots import SLOT_BYTES, open_slot
from smoothdp.services.store.storage import SqliteStorage
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import WINDOW, PartyWorld

USERS = 14


@ONLY_SQLITE
def test_afterwards_no_key_of_the_window_is_on_disk_and_the_record_does_not_open(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    world = PartyWorld(tmp_path)
    card = world.open_window()
    gateway = world.shuffler.cards.opened(WINDOW)
    inner = world.analyzer.cards.inner_key(WINDOW)
    assert gateway is not None
    assert inner is not None
    tag_key = bytes(world.shuffler.storage.read("SELECT tag_key FROM collecting")[0][0])
    kept = [world.keys[i]._storage.read("SELECT secret FROM data_key")[0][0] for i in range(2)]
    sealed_keys = [
        bytes(party.storage.read("SELECT sealed_key FROM card")[0][0])
        for party in (world.shuffler, world.analyzer)
    ]
    world.send_many(USERS)
    slots = [row[0] for row in world.shuffler.storage.read("SELECT slots FROM pending")]
    tags = [row[0] for row in world.shuffler.storage.read("SELECT sender_tag FROM pending")]
    before = world.files()
    # What the search finds now: tag key, data keys, slots and tags are in the files.
    assert all(item in before for item in (tag_key, *kept, *slots, *tags))
    assert world.finish(USERS)["state"] == "RELEASED"
    world.deliver()
    after = world.files()
    for item in (tag_key, *kept, *slots, *tags, gateway[1].to_bytes(), inner.to_bytes()):
        assert bytes(item) not in after
    # Everything that travelled was recorded; with all files nothing of it opens.
    header = BatchHeader.decode(world.offers[0][1])
    assert header.card_digest == card.digest
    recorded = world.offers[1][1]
    assert open_slot(recorded[:SLOT_BYTES], card, inner) in (0, 1)
    assert world.analyzer.cards.inner_key(WINDOW) is None
    assert world.shuffler.cards.opened(WINDOW) is None
    for keys, sealed in zip(world.keys, sealed_keys, strict=True):
        assert keys.scopes() == []
        with pytest.raises(InvalidData, match="sealed with the keys"):
            keys.open(sealed)
    world.close()


@ONLY_SQLITE
def test_what_a_stopped_program_left_in_a_log_goes_in_the_next_round(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A kill between the commit and the log, or a reader just then: the bytes are there still."""
    world = PartyWorld(tmp_path)
    world.open_window()
    kept = [bytes(keys._storage.read("SELECT secret FROM data_key")[0][0]) for keys in world.keys]
    world.send_many(USERS)
    slots = [bytes(row[0]) for row in world.shuffler.storage.read("SELECT slots FROM pending")]
    with monkeypatch.context() as stopped:
        stopped.setattr(SqliteStorage, "forget", lambda _: False)
        assert world.finish(USERS)["state"] == "RELEASED"
    files = world.files()
    assert all(item in files for item in (*kept, *slots))
    assert [keys.scopes() for keys in world.keys] == [[], []]
    # Nothing is due in this round. The shuffler's own log goes in its party's `work`.
    world.finish()
    world.shuffler.storage.forget()
    files = world.files()
    assert not [item for item in (*kept, *slots) if item in files]
    world.close()
