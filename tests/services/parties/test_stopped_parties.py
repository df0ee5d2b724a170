"""kill -9 at each store and once more from there: the same result, and nothing left on disk."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.release import work
from smoothdp.services.faults import POINTS, pass_by
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.slots import SLOT_BYTES, open_slot
from smoothdp.services.shuffler.ingest import Taken
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import WINDOW, PartyWorld, issuer_key

# The children touch no thread of the parent: they open files of their own and leave.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
USERS = 14


def run_through(folder: Path, point: str | None) -> dict[str, object]:
    """Do all steps of a window, those that are done already too; die at a point."""

    def reach(name: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    world = PartyWorld(folder, reach=reach if point else pass_by)
    if world.result()["state"] in ("not begun", "open"):
        world.open_window()
        store = folder / "clients.json"
        if not store.exists():
            kept = [(world.report(u % 2).encode().hex(), world.new_pass()) for u in range(USERS)]
            (folder / "new.json").write_text(json.dumps(kept))
            os.replace(folder / "new.json", store)
        for data, secret in json.loads(store.read_text()):
            report = Report.decode(bytes.fromhex(data), signed=True)
            assert world.send(report, secret) in (Taken.ACCEPTED, Taken.CLOSED)
    world.seal()
    world.deliver()
    assert world.tell_served(USERS) in (200, 201)
    work(world.analyzer)
    document = world.result()
    totals = world.shuffler.totals()
    assert totals == {"pending": 0, "batched": USERS, "shared": 0, "expired": 0}
    assert world.charged() == [WINDOW]
    world.close()
    return document


QUICK = ("card: signature stored", "seal: after commit", "release: between ledger and result")
BY_SPEED = [pytest.param(p, marks=() if p in QUICK else pytest.mark.slow) for p in POINTS]


@pytest.mark.parametrize("point", BY_SPEED)
def test_killed_and_started_again(tmp_path: Path, point: str) -> None:
    # One issuer for both: made before the process divides.
    issuer_key()
    child = os.fork()
    if child == 0:
        try:
            run_through(tmp_path, point)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL
    document = run_through(tmp_path, None)
    assert document["state"] == "RELEASED"
    assert document["users"] == USERS
    # And once more: nothing changes.
    assert run_through(tmp_path, None) == document


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
