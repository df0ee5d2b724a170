"""A fifth round of attacks: erasure, answers, checks and certificates, two faults at a time."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from smoothdp.services.issuer.issuer_tables import OPEN
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.store.storage import _SqliteTransaction
from smoothdp.services.wire.calls import ServiceError, ask
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld

pytestmark = ONLY_SQLITE


# ---- an issuer's keys, of windows that are closed as they come or some at once


def issuer_keys_left(folder: Path, seed: int) -> int:
    """Return how many erased keys are in the issuer's file after any of its rounds."""
    source, left = random.Random(seed), 0
    world = IssuingWorld(folder)
    world.storage._connection.execute("PRAGMA synchronous=OFF")
    keys: dict[int, tuple[bytes, bytes]] = {}
    window = WINDOW
    while window < WINDOW + 60:
        for coming in range(window, window + 12):
            if coming in keys:
                continue
            keys[coming] = source.randbytes(256), source.randbytes(32)
            with world.storage.transaction() as change:
                change.change(
                    "INSERT INTO window_key (task_id, window, spki, secret, tag_key, state) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    (world.task.task_id, coming, source.randbytes(342), *keys[coming], OPEN),
                )
        # The issuer was stopped for some windows, perhaps.
        window += source.choice((1, 1, 2, 3, 4))
        world.go_to(window * HOUR + 5.0)
        close_windows(world.issuer)
        files = b"".join(path.read_bytes() for path in folder.iterdir())
        assert all(keys[live][0] in files for live in keys if live >= window)
        gone = [secret for closed in keys if closed < window for secret in keys[closed]]
        left = max(left, sum(secret[:32] in files or secret[-32:] in files for secret in gone))
    world.close()
    return left


def test_no_page_of_an_issuer_keeps_a_key_that_was_erased(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A page that was split keeps rows that were moved out of it: private keys lie in rows."""

    def left(name: str) -> list[int]:
        folders = {seed: tmp_path / f"{name} {seed}" for seed in (2, 8, 12)}
        for folder in folders.values():
            folder.mkdir()
        return [issuer_keys_left(folder, seed) for seed, folder in folders.items()]

    assert left("now") == [0, 0, 0]
    monkeypatch.setattr(_SqliteTransaction, "rewrite", lambda *_: None)
    assert sum(left("before")) > 0


# ---- an answer that is small on the wire alone


def test_a_compressed_answer_is_not_unpacked(storage_kind: str) -> None:  # noqa: ARG001
    """500 bytes, packed twice, are 200 MB; a third time, more than there is."""
    packed = gzip.compress(gzip.compress(bytes(40_000_000), 9), 9)
    assert len(packed) < 1000
    read: list[int] = []

    def body() -> Iterator[bytes]:
        read.append(len(packed))
        yield packed

    for coding in ("gzip, gzip", "GZIP", "deflate", "br", "gzip,identity"):
        transport = httpx.MockTransport(
            lambda _, coding=coding: httpx.Response(
                200, headers={"content-encoding": coding}, content=body()
            )
        )
        with (
            httpx.Client(base_url="https://x", transport=transport) as http,
            pytest.raises(ServiceError, match="a compressed one"),
        ):
            ask(http, "GET", "/")
    assert read == []
    transport = httpx.MockTransport(
        lambda _: httpx.Response(200, headers={"content-encoding": "identity"}, content=b"as is")
    )
    with httpx.Client(base_url="https://x", transport=transport) as http:
        assert ask(http, "GET", "/").body == b"as is"
