"""One user counts once, however often a shuffler asks: real clients against the real analyser.

The shuffler answers 409, 503 or nothing under ever new keys, to be sent several ciphertexts of
one report, which the analyser could not know for one.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.analyzer_tables import REPEATED
from smoothdp.services.batch import BatchHeader
from smoothdp.services.create import create_task
from smoothdp.services.release import read_result, release_counted
from smoothdp.services.task import Task
from tests.services.changing_keys import ChangingKeys, press
from tests.services.storages import ONLY_SQLITE
from tests.services.world import KEY, WINDOW, World, hash_parts, small_task


def analysed(world: World, slots: list[bytes]) -> tuple[dict[int, int], int, dict[str, Any]]:
    """Return tallies, and what the real analyser says of a batch of one slot per user."""
    slots = random.Random(0).sample(slots, len(slots))
    data, n = b"".join(slots), len(slots)
    header = BatchHeader(1, world.task.task_id, b"b" * 16, WINDOW, n, n, hash_parts([data]))
    assert world.analyzer.put_batch(b"b" * 16, header.encode()) == 201
    assert world.analyzer.put_part(b"b" * 16, 0, data) == 201
    world.analyzer.count_complete()
    release_counted(world.analyzer)
    status, body = read_result(world.analyzer, world.task.task_id, WINDOW)
    return world.analyzer.tallies(b"b" * 16), status, json.loads(body)


def polled() -> Task:
    """Return a task of 200 users, of whom 20 may be dishonest."""
    return create_task(
        "boolean_sum", epsilon="1", delta="1e-6", min_batch=200, analyzer_key=KEY.public
    )


@pytest.mark.parametrize("copies", [100, 15])
@ONLY_SQLITE
@pytest.mark.usefixtures("storage_kind")
def test_copies_collected_under_many_keys_count_once(tmp_path: Path, copies: int) -> None:
    world = World(tmp_path, polled())
    shuffler = ChangingKeys(refusals=copies - 1)
    press(world.task, tmp_path / "u.sqlite", shuffler, times=copies // 5 + 1)
    assert len(shuffler.bundles) >= copies
    assert len(set(shuffler.envelopes)) >= copies  # distinct ciphertexts at the outer layer
    # All of them are one report: its number, and the bytes of its slots.
    assert len(set(shuffler.bundles)) == 1
    others = ChangingKeys(refusals=0)
    for user in range(200 - copies):
        press(world.task, tmp_path / "v.sqlite", others, times=1, name=f"v{user}")
    slots = [slots for _, slots in [*shuffler.bundles[:copies], *others.bundles]]
    assert len(slots) == 200
    tally, status, document = analysed(world, slots)
    assert tally[0] + tally[1] == 200 - copies + 1
    assert tally[REPEATED] == copies - 1
    if copies == 100:
        assert status == 403
        assert document["state"] == "QUARANTINED"
        assert "at least 99 users sent slots that are not genuine" in document["reason"]
    else:
        # No more than the task takes for dishonest: counted once, and said.
        assert status == 200
        assert document["repeated_slots"] == copies - 1
        assert document["honest_users_assumed"] == 180
        assert f"{copies - 1} slots were not genuine" in document["warning"]
    world.close()


@ONLY_SQLITE
@pytest.mark.usefixtures("storage_kind")
@pytest.mark.parametrize("protocol", ["real_sum", "histogram"])
def test_reports_of_many_slots_keep_them_too(tmp_path: Path, protocol: str) -> None:
    shuffler, datum = ChangingKeys(refusals=9), "a" if protocol == "histogram" else "0.4"
    press(small_task(protocol), tmp_path / "u.sqlite", shuffler, times=3, datum=datum)
    assert len(shuffler.bundles) >= 10
    assert len(set(shuffler.bundles)) == 1


@ONLY_SQLITE
@pytest.mark.usefixtures("storage_kind")
def test_a_key_changed_under_its_old_number(tmp_path: Path) -> None:
    """The outer layer follows the key, not its number: else a shuffler could never open it."""
    shuffler = ChangingKeys(refusals=9, one_number=True)
    press(small_task(), tmp_path / "u.sqlite", shuffler, times=3)
    assert len(set(shuffler.envelopes)) == len(shuffler.envelopes) >= 10
    assert len(set(shuffler.bundles)) == 1
