"""What a file of keys and a device's file keep of what was erased.

(proofs/marks-and-erasure#4)
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.storage import _SqliteTransaction
from tests.services.storages import ONLY_SQLITE, without_waiting_for_disks
from tests.services.worlds.key_secrets import secret_of

pytestmark = ONLY_SQLITE


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def keys_left(folder: Path, seed: int) -> int:
    """Return how many erased keys are in a file of keys beside PostgreSQL: its names differ."""
    source, left = random.Random(seed), 0
    keys = ErasableKeys(folder / "shuffler.keys.sqlite")
    without_waiting_for_disks(keys._storage)
    task, live, gone = source.randbytes(32).hex(), [], []
    for window in range(490_000, 490_090):
        order = f"batch_part:{source.randbytes(16).hex()}"
        for scope in (f"collecting:{task}:{window}", f"pending:{task}:{window}", order):
            keys.seal(scope.encode(), b"private")
            live.append(scope.encode())
        if len(live) > 90:
            done = [live.pop(source.randrange(9)) for _ in range(source.randrange(1, 7))]
            gone += [secret_of(keys, scope) for scope in done]
            keys.erase(done)
            if window % 9 == 0:
                files = bytes_of(folder)
                assert all(secret_of(keys, scope) in files for scope in live[::9])
                left = max(left, sum(secret in files for secret in gone))
    keys.close()
    return left


def drawn_left(folder: Path, seed: int) -> int:
    """Return how many erased slots, seeds, reports are in the file of a device with four tasks."""
    source, left = random.Random(seed), 0
    store = OutcomeStore(folder / "windows.sqlite")
    without_waiting_for_disks(store._storage)
    tasks = [(source.randbytes(32), source.choice([1, 2, 3, 5, 8, 11])) for _ in range(4)]
    live, gone = [], []
    for window in range(490_000, 490_020):
        for task, n in tasks:
            for name in ("me", "anna", "bartholomew"):
                if source.random() < 0.3:
                    continue
                sizes = (52 * n, 32, 35 + 308 * n, 32)
                slots, secret, report, digest = (source.randbytes(size) for size in sizes)
                key = task, window, name
                store.keep(*key, card_digest=digest, slots=slots, seed=secret, most=1000)
                if source.random() < 0.7:
                    store.keep_report(*key, report)
                    live.append((key, n, report))
                else:
                    store.keep_end(*key)
                gone += [secret, slots[:26]]
        for key, n, report in live:
            if key[1] < window:
                store.keep_marks(*key, source.randbytes(16 * n))
                gone.append(report[40:66])
        live = [row for row in live if row[0][1] == window]
        for task, _ in tasks:
            store.forget_before(task, window)
        if window % 4 == 0:
            files = bytes_of(folder)
            assert all(report in files for _, n, report in live if n < 3)
            left = max(left, sum(secret in files for secret in gone))
    store.close()
    return left


@pytest.mark.parametrize("left", [keys_left, drawn_left])
def test_no_page_keeps_what_was_erased(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
    left: Callable[[Path, int], int],
) -> None:
    """A page that was split keeps rows that were moved out of it, whatever becomes of them."""
    folders = [tmp_path / "now", tmp_path / "before"]
    for folder in folders:
        folder.mkdir()
    assert left(folders[0], 8) == 0
    monkeypatch.setattr(_SqliteTransaction, "rewrite", lambda *_: None)
    assert left(folders[1], 8) > 0


@pytest.mark.slow
@pytest.mark.parametrize("left", [keys_left, drawn_left])
def test_no_page_keeps_what_was_erased_whatever_the_order(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    left: Callable[[Path, int], int],
) -> None:
    for seed in range(30):
        (tmp_path / f"{seed}").mkdir()
        assert left(tmp_path / f"{seed}", seed) == 0
