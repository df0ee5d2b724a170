"""Faults of a moment just when something is decided for good, and copies put beside a party."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from smoothdp.errors import LedgerError
from smoothdp.services.analyzer.release import work
from smoothdp.services.formats.design.budget import KEY_SECONDS
from smoothdp.services.store.storage import StorageFull
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import ENOUGH, HOUR, WINDOW, PartyWorld
from tests.services.worlds.second_processes import second_analyzer
from tests.services.worlds.small_tasks import open_task


def _is_whole(folder: Path) -> PartyWorld:
    """Return a world whose analyser has a whole batch, uncounted, when its seven days are over."""
    world = PartyWorld(folder, open_task())
    world.open_window()
    world.send_many(ENOUGH)
    world.seal()
    world.deliver()
    world.go_to((WINDOW + 1) * HOUR + world.task.grace_seconds + KEY_SECONDS + 60)
    return world


@pytest.mark.parametrize("fault", ["looked at", "moved", "none"])
def test_a_key_file_that_is_away_for_a_moment_is_no_end_of_a_batch_that_was_whole(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
    fault: str,
) -> None:
    """The protocol, 7: "What was there whole before is counted and released also by an A that runs
    again only later, or could not write its ledger, and is tried again where a disk or a server
    fails in a way that may go, for the day that its key stays".

    An analyser runs again after the seven days. In its first round the file of the inner keys
    cannot be looked at (an I/O error of its disk, a mount that comes a moment later), or was moved
    away; in the second one it is there again, with the key.
    """
    world = _is_whole(tmp_path)
    keys, elsewhere = tmp_path / "inner.sqlite", tmp_path / "elsewhere"
    elsewhere.mkdir()
    stat: Callable[..., os.stat_result] = os.stat

    def fails(path: Any, *args: Any, **named: Any) -> os.stat_result:
        if str(path) == str(keys):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return stat(path, *args, **named)

    moved = list(tmp_path.glob("inner.sqlite*")) if fault == "moved" else []
    for path in moved:
        path.rename(elsewhere / path.name)
    with monkeypatch.context() as patched, suppress(OSError):
        if fault == "looked at":
            patched.setattr(os, "stat", fails)
        work(world.analyzer)
    for path in moved:
        (elsewhere / path.name).rename(path)
    was_there = world.analyzer.cards.inner_key(WINDOW) is not None
    with suppress(OSError):
        work(world.analyzer)
    result = world.result()
    world.close()
    assert fault == "none" or was_there, "the key was there again"
    assert result["state"] == "RELEASED", result["reason"]


@ONLY_SQLITE
def test_an_older_ledger_that_is_put_in_place_beside_a_running_analyser_pays_for_nothing(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "An older copy forgets what was spent"; the protocol, 7: a charge is "on disk
    first, once for this window and its batch"."""
    world = PartyWorld(tmp_path, open_task())
    (ledger,) = tmp_path.glob("ledger-*.db")
    for window in (WINDOW, WINDOW + 1):
        world.open_window(window)
    shutil.copy(ledger, tmp_path / "older")
    world.send_many(ENOUGH)
    assert world.finish()["state"] == "RELEASED"
    world.send_many(ENOUGH, window=WINDOW + 1)
    for path in tmp_path.glob("ledger-*.db*"):
        path.unlink()
    (tmp_path / "older").rename(ledger)
    with pytest.raises(LedgerError):
        world.finish(window=WINDOW + 1)
    assert "sum" not in world.result(WINDOW + 1)
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize("seed", range(3))
def test_two_analysers_in_any_order_with_a_full_disk_make_one_end_and_one_charge(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
    seed: int,
) -> None:
    """The protocol, 7: "RELEASED, REFUSED, QUARANTINED are final"; "once for this window and its
    batch". One fault hits the commit of a random step of either process."""
    draw = Random(seed)
    world = _is_whole(tmp_path)
    both = [world.analyzer, second_analyzer(world)]
    left = draw.randrange(6)

    def reach(point: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise StorageFull(point)

    said = set[str]()
    for analyzer in both:
        monkeypatch.setattr(analyzer, "reach", reach)
    for _ in range(6):
        with suppress(StorageFull):
            work(draw.choice(both))
        document = world.result()
        if "task_id" in document:
            said.add(repr(document))
    charged, key = world.charged(), world.analyzer.cards.inner_key(WINDOW)
    both[1].storage.close()
    both[1].keys.close()
    world.close()
    assert (len(said), charged, key) == (1, [WINDOW], None)
    assert "'RELEASED'" in said.pop()
