"""A sixth round, from the threat model alone: two faults at once, and mends of faults."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task

pytestmark = ONLY_SQLITE
OPEN_TASK: dict[str, Any] = {"issuer": None, "proof": "none"}


# ---- one charge, two batches: an analyser from a copy, the newest ledger, another shuffler


def copy_of(folder: Path, copy: Path, *names: str) -> None:
    """Copy databases as they are now, what is in their logs too."""
    copy.mkdir(exist_ok=True)
    for name in names:
        with (
            closing(sqlite3.connect(folder / name)) as now,
            closing(sqlite3.connect(copy / name)) as then,
        ):
            now.backup(then)


def restore(copy: Path, folder: Path) -> None:
    for path in copy.iterdir():
        for file in folder.glob(f"{path.name}*"):
            file.unlink()
        shutil.copy(path, folder / path.name)


@pytest.mark.parametrize("left_out", [0, 1])
def test_a_charge_pays_for_one_batch(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    left_out: int,
) -> None:
    """The newest ledger beside an older copy of the rest: a shuffler that hands over another batch
    of a window that was released had a second result of it, without the one whom it left out.
    """
    (tmp_path / "world").mkdir()
    world = PartyWorld(tmp_path / "world", small_task(**OPEN_TASK))
    world.open_window()
    world.send_many(15)
    # The shuffler's files are not older: it keeps what it should have destroyed.
    names = ("analyzer.sqlite", "inner.sqlite", "shuffler.sqlite", "gateway.sqlite")
    copy_of(world.folder, tmp_path / "copy", *names)
    first = world.finish()
    assert (first["state"], first["users"]) == ("RELEASED", 15)
    world.close()
    restore(tmp_path / "copy", world.folder)
    world._open()
    with world.shuffler.storage.transaction() as change:
        change.change(
            "DELETE FROM pending WHERE sender_tag IN "
            "(SELECT sender_tag FROM pending ORDER BY sender_tag LIMIT ?)",
            (left_out,),
        )
    second = world.finish()
    assert second["state"] == "REFUSED"
    assert "charged for another batch" in second["reason"]
    assert world.charged() == [WINDOW]
    assert world.keys[1].scopes() == []
    world.close()
