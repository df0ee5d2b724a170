"""A twelfth round, on state: what is told too early, and logs that no room is left to overwrite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.operations.every import do_all
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.store.revoked import Revoked
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.whole_world import HOUR, WINDOW, WholeWorld


def _copy_of(folder: Path, name: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob(f"{name}*")}


def _put_in_place(folder: Path, name: str, copy: dict[str, bytes]) -> None:
    for path in folder.glob(f"{name}*"):
        path.unlink()
    for found, data in copy.items():
        (folder / found).write_bytes(data)
        (folder / found).chmod(0o600)


def _round_of(world: WholeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do a round of the shuffler's work, over HTTP to the analyser."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.startswith("/v2/batches"):
            return httpx.Response(world.put(request.url.path, request.content))
        if request.url.path == "/v2/clock":
            return httpx.Response(200, json={"time": world.now})
        return httpx.Response(404)

    client = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://127.0.0.1:1")
    monkeypatch.setattr(
        "smoothdp.services.shuffler.shuffler_party.connect", lambda *_, **__: client
    )
    party = ShufflerParty(
        *(world.task, world.shuffler, world.keys[0]),
        *(Revoked(world.folder / "revoked"), "token", world.folder),
    )
    party.work("http://127.0.0.1:1")


@ONLY_SQLITE
def test_no_batch_leaves_before_it_is_noted_beside_the_keys_that_its_window_is_over(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys from
    now, if a window that is open in it was closed since".

    The file of the keys cannot be written when the window ends: somebody holds it, or the disk is
    full and the database is on another one. The window is sealed and handed over all the same.
    Then the database is replaced by an older copy, and nothing says that the window was closed.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(4):
        assert world.take_part(f"before {person}") == 202
    world.close()
    copy = _copy_of(tmp_path, "shuffler.sqlite")
    world._open()
    assert world.take_part("one more") == 202
    world.go_to((WINDOW + 1) * HOUR + world.task.grace_seconds)
    world.keys[0]._storage._connection.execute("PRAGMA busy_timeout = 20")
    with closing(sqlite3.connect(tmp_path / "gateway.sqlite", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises((OSError, sqlite3.Error)):
            _round_of(world, monkeypatch)
    seen = [path for path, _ in world.offers]
    world.close()
    _put_in_place(tmp_path, "shuffler.sqlite", copy)
    try:
        world._open()
    except InvalidData:
        return
    do_all([lambda: seal_due(world.shuffler)])
    batches = world.shuffler.storage.read("SELECT users FROM batch")
    world.close()
    assert not seen or not batches, "a second batch of a window that was handed over"
