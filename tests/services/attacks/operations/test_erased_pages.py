"""What pages of the parties' files keep of rows that went, in whatever order.

(proofs/marks-and-erasure#4)
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.counting import erase_ciphertexts
from smoothdp.services.issuer.issuer_tables import OPEN
from smoothdp.services.issuer.window_keys import _close
from smoothdp.services.shuffler.delivery import DeliveryRefused, deliver_batches
from smoothdp.services.shuffler.shuffler_tables import SEALED, SHUFFLER_SCHEMA
from smoothdp.services.store.storage import SqliteStorage, _SqliteTransaction
from tests.services.storages import ONLY_SQLITE, without_waiting_for_disks
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld

pytestmark = ONLY_SQLITE


SEEDS = range(30)
WORD = 5
"""Secrets repeat a word of 5 bytes: nine bytes from inside of one are found, wherever they stand.
That one of 200 words is in one of 30 files of 300 kB by chance: below 1 in 500."""


def repeated(word: bytes, size: int) -> bytes:
    return (word * (size // WORD + 1))[:size]


def in_files(folder: Path, words: list[bytes]) -> int:
    data = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    return sum(word in data for word in words)


def keys_left(folder: Path, seed: int) -> int:
    """Return how many keys of closed windows an issuer has: made and closed in two orders."""
    source, world = random.Random(seed), IssuingWorld(folder)
    live: dict[int, list[bytes]] = {}
    gone: list[bytes] = []
    world.go_to((WINDOW + 200) * HOUR)
    for window in sorted(range(WINDOW, WINDOW + 80), key=lambda w: w + 20 * source.random()):
        live[window] = [source.randbytes(WORD), source.randbytes(WORD)]
        private, tags = (repeated(w, n) for w, n in zip(live[window], (256, 32), strict=True))
        with world.storage.transaction() as change:
            change.change(
                "INSERT INTO window_key (task_id, window, spki, secret, tag_key, state) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (world.task.task_id, window, source.randbytes(342), private, tags, OPEN),
            )
        if len(live) > 20:
            closed = source.choice(sorted(live))
            assert _close(world.issuer, closed)
            gone += live.pop(closed)
    world.storage.forget()
    kept = [word for words in live.values() for word in words]
    assert in_files(folder, kept) == len(kept) == 40
    left = in_files(folder, gone)
    world.close()
    return left


def batches(storage: SqliteStorage, table: str, source: random.Random) -> dict[bytes, list[bytes]]:
    """Fill a table of parts; return batch id -> the words that its parts repeat."""
    made: dict[bytes, list[bytes]] = {}
    for _ in range(20):
        batch_id = source.randbytes(16)
        made[batch_id] = [source.randbytes(WORD) for _ in range(source.randrange(1, 5))]
        with storage.transaction() as change:
            change.change_many(
                f"INSERT INTO {table} (batch_id, part, bytes) VALUES (?, ?, ?)",
                [
                    (batch_id, part, repeated(word, source.choice([160, 480, 1200, 5600])))
                    for part, word in enumerate(made[batch_id])
                ],
            )
    return made


def opened(folder: Path, schema: object) -> SqliteStorage:
    storage = SqliteStorage(folder / "state.sqlite", schema)  # type: ignore[arg-type]
    without_waiting_for_disks(storage)
    return storage


def looked_at(
    folder: Path, storage: SqliteStorage, made: dict[bytes, list[bytes]], done: list[bytes]
) -> int:
    storage.forget()
    kept = [word for batch_id in made if batch_id not in done for word in made[batch_id]]
    assert in_files(folder, kept) == len(kept) > 0
    left = in_files(folder, [word for batch_id in done for word in made[batch_id]])
    storage.close()
    return left


def counted_left(folder: Path, seed: int) -> int:
    """Return how many parts of counted batches an analyser has, while others still come."""
    source, storage = random.Random(seed), opened(folder, ANALYZER_SCHEMA)
    made = batches(storage, "part", source)
    done = source.sample(sorted(made), 14)
    for batch_id in done:
        with storage.transaction() as change:
            erase_ciphertexts(change, batch_id)
    return looked_at(folder, storage, made, done)


def delivered_left(folder: Path, seed: int) -> int:
    """Return how many parts of delivered batches a shuffler has, while others still wait."""
    source, storage = random.Random(seed), opened(folder, SHUFFLER_SCHEMA)
    made = batches(storage, "batch_part", source)
    with storage.transaction() as change:
        change.change_many(
            "INSERT INTO batch (batch_id, task_id, window, state, users, header) "
            "VALUES (?, x'00', ?, ?, 0, x'00')",
            [(batch_id, window, SEALED) for window, batch_id in enumerate(made)],
        )
    done = source.sample(sorted(made), 14)
    taken = {batch_id.hex() for batch_id in done}
    cards = SimpleNamespace(note_end=lambda _: None)
    shuffler = SimpleNamespace(storage=storage, cards=cards, reach=lambda _: None)
    with suppress(DeliveryRefused):
        deliver_batches(shuffler, lambda path, _: 201 if path.split("/")[3] in taken else 409)
    assert storage.read("SELECT count(*) FROM batch WHERE state = 'PURGED'") == [(14,)]
    return looked_at(folder, storage, made, done)


@pytest.mark.parametrize("left", [keys_left, counted_left, delivered_left])
def test_no_page_keeps_a_fragment_of_what_was_erased(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
    left: Callable[[Path, int], int],
) -> None:
    def total(name: str, *, enough: int) -> int:
        count = 0
        for seed in SEEDS:
            folder = tmp_path / f"{name} {seed}"
            folder.mkdir()
            count += left(folder, seed)
            if count >= enough:
                break
        return count

    assert total("now", enough=1) == 0
    monkeypatch.setattr(_SqliteTransaction, "rewrite", lambda *_: None)
    assert total("before", enough=1) > 0
