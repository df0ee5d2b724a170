"""A seventh round, from the threat model alone: two workers, and a party that is away just then."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.services.analyzer import counting
from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.release import end_lapsed, read_result
from smoothdp.services.formats.card import Card
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, small_task

pytestmark = ONLY_SQLITE


def test_a_worker_that_counts_while_another_ends_the_window_leaves_no_tally(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it had opened was stored after the end, and nothing ever deleted it."""
    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    world.open_window()
    world.send_many(15)
    world.seal()
    world.deliver()
    other = Analyzer(
        SqliteStorage(tmp_path / "analyzer.sqlite", ANALYZER_SCHEMA),
        task=world.task,
        keys=ErasableKeys(tmp_path / "inner.sqlite"),
        sign_key=ANALYZER_SIGN,
        ledgers=tmp_path,
        clocks=world.clocks[1],
    )
    opening, ended = counting.open_slot, []

    def open_slot(slot: bytes, card: Card, key: PrivateKey) -> int:
        if not ended:
            # Seven days after the window and its grace: the batch had come in the last moment.
            world.go_to(world.now + 7 * 86_400)
            end_lapsed(other)
            ended.append(read_result(other, WINDOW, now=world.now)[0])
        return opening(slot, card, key)

    monkeypatch.setattr(counting, "open_slot", open_slot)
    assert counting.count_complete(world.analyzer) == 1
    assert ended == [403]
    assert world.analyzer.storage.read("SELECT value, n FROM tally") == []
    for opened in (other.storage, other.keys):
        opened.close()
    world.close()
