"""Every protocol from card to result, and what is said of a shuffler that takes reports apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.formats.slots import seal_slots
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import small_task

NAMES = ("a", "b", "c")
CASES: dict[str, tuple[dict[str, Any], list[Any], str]] = {
    "boolean_sum": ({}, [1, 0], "sum"),
    "real_sum": ({"size": 3}, [0.25, 1], "mean"),
    "histogram": ({"domain": NAMES, "min_batch": 16}, [0, 2], "counts"),
    "low_communication_histogram": ({"domain": NAMES, "min_batch": 60}, [0, 2], "counts"),
    "paired_count": ({}, [1, 0], "sum"),
    "paired_histogram": ({"domain": NAMES}, [0, 2], "counts"),
    "split_sum": ({"bounds": ("0", "10")}, [0.5, 1], "mean"),
}


SLOW = ("paired_histogram", "split_sum", "low_communication_histogram")
BY_SPEED = [pytest.param(p, marks=pytest.mark.slow if p in SLOW else ()) for p in CASES]


@pytest.mark.parametrize("protocol", BY_SPEED)
def test_a_protocol_from_card_to_result(tmp_path: Path, protocol: str) -> None:
    options, data, shown = CASES[protocol]
    # Signatures are looked at elsewhere: without an issuer this takes a tenth of the time.
    task = small_task(protocol, issuer=None, proof="none", **options)
    world = PartyWorld(tmp_path, task)
    world.open_window()
    users = task.min_batch + 4
    world.send_many(users, data)
    document = world.finish()
    assert document["state"] == "RELEASED", document
    assert document["users"] == users
    assert document["invalid_slots"] == 0
    assert shown in document
    is_sum = protocol in ("boolean_sum", "real_sum")
    assert ("and the shuffler hands on whole reports" in document["sentence"]) != is_sum
    truth = float(sum(data[user % 2] for user in range(users)))
    if shown == "mean":
        low, high = (float(bound) for bound in task.bounds)
        wanted = low + (high - low) * truth / users
        assert abs(document["mean"] - wanted) <= 3 * document["error_of_mean"]
    elif shown == "sum":
        assert abs(document["sum"] - truth) <= 3 * document["error_of_sum"]
    else:
        counts = [document["counts"].get(name, 0.0) for name in NAMES]
        half = users / 2
        error = 3 * document["error_of_all_counts"]
        assert abs(counts[0] - half) <= error
        assert abs(counts[1]) <= error
        assert abs(counts[2] - half) <= error
    world.close()


@pytest.mark.slow
def test_an_envelope_of_paired_signs_with_tokens(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path, small_task("paired_count"))
    world.open_window()
    world.send_many(12)
    document = world.finish(12)
    assert document["state"] == "RELEASED"
    assert document["accounts_served"] == 12
    world.close()


@pytest.mark.slow
def test_a_split_sum_with_a_share_that_means_nothing_is_not_charged(tmp_path: Path) -> None:
    task = small_task("split_sum", bounds=("0", "1"), honest_share="0.8", min_batch=16)
    world = PartyWorld(tmp_path, task)
    world.open_window()
    world.send_many(16)
    bad = world.sign(seal_slots([0xFFFFFFFF] * task.slots, world.card()))
    assert world.send(bad).value == 202
    document = world.finish(17)
    assert document["state"] == "REFUSED"
    assert "make the total any number" in document["reason"]
    assert world.charged() == []
    world.close()
