"""A third round of attacks: what sorting leaves on the disk, a list of the revoked, two clocks.

(proofs/marks-and-erasure#2, #4)
"""

from __future__ import annotations

import os
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.counting import tallies
from smoothdp.services.analyzer.release import read_result
from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.store.revoked import Revoked, revoke
from smoothdp.services.store.storage import SqliteStorage
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.whole_world import LOST, WholeWorld

pytestmark = ONLY_SQLITE
BATCH = bytes(16)


def unlinked_files() -> set[str]:
    """Return the files without a name that SQLite has open: their blocks are not overwritten."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(os.readlink(descriptor))
    return {name for name in found if "etilqs_" in name}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc on this system")
@pytest.mark.parametrize("sorted_in_memory", [True, False])
def test_tallies_that_are_added_up_are_in_no_other_file(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    sorted_in_memory: bool,
) -> None:
    """Shares of a split sum are as many values as slots: they were sorted in /var/tmp."""
    world, source = PartyWorld(tmp_path), random.Random(3)
    storage = world.analyzer.storage
    assert isinstance(storage, SqliteStorage)
    rows = [(BATCH, at // 5000, source.getrandbits(40), 1) for at in range(120_000)]
    with storage.transaction() as change:
        change.change_many("INSERT INTO tally (batch_id, part, value, n) VALUES (?, ?, ?, ?)", rows)
    if not sorted_in_memory:
        storage._reading.execute("PRAGMA temp_store=FILE")  # as it was
    seen: set[str] = set()
    storage._reading.set_progress_handler(lambda: seen.update(unlinked_files()), 5000)
    assert sum(tallies(world.analyzer, BATCH).values()) == len(rows)
    storage._reading.set_progress_handler(None, 0)
    assert bool(seen) is not sorted_in_memory
    world.close()


def test_whoever_is_revoked_after_a_line_without_an_end_is_out(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Two ids in one line were none: the second person stayed in, and nobody was told."""
    file, first, second = tmp_path / "revoked", b"1" * 16, b"2" * 16
    revoked = Revoked(file)
    file.write_text(first.hex())
    assert first in revoked
    revoke(file, [second])
    assert second in revoked
    assert file.read_text() == f"{first.hex()}\n{second.hex()}\n"


def test_a_damaged_list_is_said_to_whoever_revokes(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    file, who = tmp_path / "revoked", b"1" * 16
    file.write_text(who.hex()[:9])
    with pytest.raises(InvalidData, match="Correct that file"):
        revoke(file, [who])
    assert file.read_text() == who.hex()[:9]


def test_a_report_that_is_sent_while_another_program_settles_keeps_its_marks(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its clock is ahead: it found a draw, and put no marks in the place of the report."""
    world = WholeWorld(tmp_path)
    world.open_window()
    assert world.take_part("anna", lose=("tokens answer",)) == LOST
    client, keep_marks = world.client("anna"), OutcomeStore.keep_marks

    def late(store: OutcomeStore, *row: Any) -> None:
        world.now = now
        assert world.take_part("anna") == 202
        keep_marks(store, *row)

    now = world.now
    world.now += 2 * HOUR
    monkeypatch.setattr(OutcomeStore, "keep_marks", late)
    client.settle()
    monkeypatch.setattr(OutcomeStore, "keep_marks", keep_marks)
    for person in range(13):
        assert world.take_part(f"{person}") == 202
    world.end()
    client.settle()
    kept = client.kept(WINDOW)
    assert kept is not None
    assert kept.acknowledged
    assert not kept.report
    status, result = read_result(world.analyzer, WINDOW, now=world.now)
    marks = world.shuffler.marks(WINDOW)
    assert status == 200
    assert marks is not None
    assert look_up(world.task, WINDOW, kept, result=result, marks=marks) is Standing.INCLUDED
    world.close()
