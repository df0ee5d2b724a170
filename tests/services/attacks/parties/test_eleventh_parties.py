"""What the page of threats says of parties, of pairs of them, and of a thief who has the disks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from smoothdp.services.analyzer.release import work
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.store.overwritten_log import log_of
from smoothdp.services.store.storage import SqliteStorage
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.kept_pages import KEEPS_PAGES, pages_of
from tests.services.worlds.party_world import HOUR, WINDOW
from tests.services.worlds.whole_world import WholeWorld

pytestmark = ONLY_SQLITE

PEOPLE = "abc"


# ---- a thief, afterwards -------------------------------------------------------------------------


def windows_pass(world: WholeWorld, windows: range, in_window: Callable[[int], None]) -> None:
    """Let windows pass as they do: rounds of work before, within and after each."""

    def round_of_work() -> None:
        seal_due(world.shuffler)
        world.deliver()
        world.shuffler.storage.forget()
        work(world.analyzer)

    for window in windows:
        world.go_to(window * HOUR + 600)
        world.open_window(window)
        round_of_work()
        for person in PEOPLE:
            world.take_part(person, 1, window=window)
        in_window(window)
        round_of_work()
        assert world.end(window)["state"] == "RELEASED"
        world.deliver()
        round_of_work()


@KEEPS_PAGES
def test_what_is_cut_off_a_log_was_overwritten(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Keys that were erased lay in blocks that a file system has freed, as they were."""
    cut: list[bytes] = []
    forget = SqliteStorage.forget

    def forgets(storage: SqliteStorage) -> bool:
        log = log_of(storage.path)
        read = pages_of(log) if log.exists() else bytes
        done = forget(storage)
        if not log.exists() or log.stat().st_size == 0:
            cut.append(read())
        return done

    monkeypatch.setattr(SqliteStorage, "forget", forgets)
    world = WholeWorld(tmp_path)
    secrets: dict[str, bytes] = {}

    def note(window: int) -> None:
        for name, keys in zip(("the gateway's", "the inner"), world.keys, strict=True):
            kept = keys._storage.read("SELECT secret FROM data_key")
            secrets[f"the data key of {name} key"] = bytes(kept[0][0])
        storages = world.shuffler.storage, world.issuer.storage
        asked = "SELECT tag_key FROM collecting", "SELECT secret FROM window_key"
        names = "the key of sender tags", "the issuer's private key"
        for name, storage, statement in zip(names, storages, asked, strict=True):
            secrets[name] = bytes(storage.read(statement)[0][0])
        assert window == WINDOW

    windows_pass(world, range(WINDOW, WINDOW + 1), note)
    assert not [name for name, secret in secrets.items() if secret in world.files()]
    world.close()
    given_back = b"".join(cut)
    assert len(given_back) > 100_000
    assert not [name for name, secret in secrets.items() if secret in given_back]
