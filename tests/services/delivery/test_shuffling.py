"""Tests 13 to 19: the order of a sealed batch is uniform and remembers nothing.

Sizes: each test rejects a true uniform order with probability at most 1e-6, unless it says
otherwise; `test_a_wrong_order_is_found` shows that a slight bias is seen.
"""

from __future__ import annotations

import math
import os
import random
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest

from smoothdp.errors import OutOfReach
from smoothdp.services.formats.batch import PART_RECORDS, split_parts
from smoothdp.services.formats.report import record_bytes
from smoothdp.services.shuffler.mixing import mixed
from smoothdp.services.shuffler.sealing import seal_window
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task


def orders(count: int, n: int, at_once: int = 1000) -> np.ndarray:
    """Return places of n slots after `count` runs of the sealing code."""
    slots = [bytes([place]) * 52 for place in range(n)]
    pieces = [b"".join(slots[:2]), *slots[2:]]
    rows = [b"".join(mixed(lambda: pieces, n, at_once=at_once)) for _ in range(count)]
    return np.array([np.frombuffer(row, np.uint8)[::52] for row in rows])


def chi_square_is_fine(observed: np.ndarray) -> bool:
    """Whether a table of equal expectations passes; Wilson-Hilferty at about 1e-6."""
    expected = observed.sum() / observed.size
    statistic = float(((observed - expected) ** 2 / expected).sum())
    df = observed.size - 1
    z = ((statistic / df) ** (1 / 3) - (1 - 2 / (9 * df))) / math.sqrt(2 / (9 * df))
    return bool(z < 4.9)


def test_13_the_first_slot_is_anyones() -> None:
    first = orders(5_000, 50)[:, 0]
    assert chi_square_is_fine(np.bincount(first, minlength=50))


# In memory; and with 2, 4 and 8 buckets, which is how more than memory holds is shuffled.
@pytest.mark.parametrize("at_once", [5, 3, 2, 1])
def test_14_and_18_all_orders_of_five(at_once: int) -> None:
    seen = orders(24_000 if at_once == 5 else 6_000, 5, at_once)
    places = {order: place for place, order in enumerate(permutations(range(5)))}
    counts = np.zeros(120)
    for row in seen.tolist():
        counts[places[tuple(row)]] += 1
    assert chi_square_is_fine(counts)


def test_18_buckets_that_are_kept_in_order_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # The mutant: slots go to buckets by their place, as an external sort would do it.
    monkeypatch.setattr(
        "smoothdp.services.shuffler.mixing._drawn",
        lambda n, bits: np.arange(n, dtype=np.uint8) >> (3 - bits),
    )
    counts = np.bincount(orders(2000, 5, 3)[:, 0], minlength=5)
    assert not chi_square_is_fine(counts)


@pytest.mark.slow
def test_18_first_and_neighbours_of_many_buckets() -> None:
    n, runs = 50, 1500
    seen = orders(runs, n, at_once=7)
    assert chi_square_is_fine(np.bincount(seen[:, 0], minlength=n))
    assert chi_square_is_fine(np.bincount(seen[:, n // 2], minlength=n))
    together = int((np.abs(np.diff(seen.astype(int), axis=1)) == 1).sum())
    # Of 49 adjacent pairs, each is an original neighbour with probability 2/50.
    mean = runs * (n - 1) * 2 / n
    assert abs(together - mean) < 4.9 * math.sqrt(runs * 2.0)


def test_18_memory_is_that_of_a_bucket() -> None:
    n, width = 100_000, record_bytes(signed=True)
    piece = os.urandom(width * 1000)

    def peak(at_once: int) -> int:
        tracemalloc.start()
        pieces = mixed(lambda: (piece for _ in range(n // 1000)), n, at_once=at_once, width=width)
        total = sum(len(part) for part in split_parts(pieces, signed=True))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert total == width * n
        return found

    part = width * PART_RECORDS
    # A bucket, its shuffled copies and a part; and one byte a slot, twice.
    assert peak(n // 16) < 4 * width * (n // 16) + 4 * part + 3 * n
    assert peak(n) > 2 * width * n


@pytest.fixture
def world(tmp_path: Path, storage_kind: str) -> Iterator[PartyWorld]:  # noqa: ARG001
    made = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    made.open_window()
    yield made
    made.close()


def records_of_batch(world: PartyWorld, window: int = WINDOW) -> list[bytes]:
    """Return the records of a sealed batch, in the order that the analyser sees."""
    rows = world.shuffler.storage.read(
        "SELECT p.bytes FROM batch_part p JOIN batch b ON b.batch_id = p.batch_id "
        "WHERE b.window = ? ORDER BY p.part",
        (window,),
    )
    data, width = b"".join(bytes(row[0]) for row in rows), world.shuffler.record_bytes
    return [data[at : at + width] for at in range(0, len(data), width)]


def pending(world: PartyWorld) -> list[bytes]:
    rows = world.shuffler.storage.read("SELECT slots FROM pending ORDER BY sender_tag")
    return [bytes(row[0]) for row in rows]


@pytest.mark.parametrize("signed", [True, False])
def test_18_a_window_in_many_buckets_is_whole(
    tmp_path: Path, signed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With reports of two slots: records of the wire are cut and joined, none is lost."""
    options = {} if signed else {"issuer": None, "proof": "none"}
    world = PartyWorld(tmp_path, small_task("real_sum", size=2, **options))
    world.open_window()
    world.send_many(20)
    width = world.shuffler.record_bytes
    before = [r[at : at + width] for r in pending(world) for at in range(0, len(r), width)]
    monkeypatch.setattr("smoothdp.services.shuffler.mixing.BYTES_AT_ONCE", 5 * width)
    monkeypatch.setattr("smoothdp.services.shuffler.sealing._REPORTS_AT_ONCE", 7)
    world.seal()
    after = records_of_batch(world)
    assert sorted(after) == sorted(before)
    assert after != before
    assert world.finish(20 if signed else None)["users"] == 20
    world.close()


def test_18_beyond_256_buckets_is_refused_and_a_false_count_too() -> None:
    with pytest.raises(OutOfReach, match="shorter windows"):
        list(mixed(list, 257, at_once=1))
    with pytest.raises(ValueError, match="another number"):
        list(mixed(lambda: [bytes(52)], 2))


def test_a_wrong_order_is_found() -> None:
    # Swapping each place with any other, the classic slip: 5^5 outcomes for 120 orders.
    source, counts = random.Random(1), np.zeros(120)
    places = {order: place for place, order in enumerate(permutations(range(5)))}
    for _ in range(60_000):
        row = list(range(5))
        for place in range(5):
            other = source.randrange(5)
            row[place], row[other] = row[other], row[place]
        counts[places[tuple(row)]] += 1
    assert not chi_square_is_fine(counts)


def test_15_neighbours_do_not_stay_neighbours() -> None:
    n, runs = 20, 10_000
    seen = orders(runs, n)
    together = int((np.abs(np.diff(seen.astype(int), axis=1)) == 1).sum())
    # Of 19 adjacent pairs, each is an original neighbour with probability 2/20.
    mean = runs * (n - 1) * 2 / n
    deviation = math.sqrt(runs * 2.0)
    assert abs(together - mean) < 4.9 * deviation


def open_again(world: PartyWorld) -> None:
    """Delete a sealed batch and open its window: cards and keys need not be made anew."""
    for table in ("batch", "batch_part", "marks"):
        with world.shuffler.storage.transaction() as change:
            change.change(f"DELETE FROM {table}")
    with world.shuffler.storage.transaction() as change:
        change.change("UPDATE collecting SET state = 'OPEN', tag_key = ?", (b"t" * 32,))


def test_16_slots_of_one_user_are_spread(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path, small_task("real_sum", size=3, issuer=None, proof="none"))
    world.open_window()
    users, slots, runs, close = 30, world.task.slots, 10, 0
    assert slots > 2
    for _ in range(runs):
        world.send_many(users)
        owner = {
            report[at : at + 52]: user
            for user, report in enumerate(pending(world))
            for at in range(0, 52 * slots, 52)
        }
        assert seal_window(world.shuffler, WINDOW) is not None
        order = [owner[slot] for slot in records_of_batch(world)]
        close += sum(a == b for a, b in pairwise(order))
        open_again(world)
    n = users * slots
    mean = runs * (n - 1) * (slots - 1) / (n - 1)
    assert abs(close - mean) < 4.9 * math.sqrt(mean) + 1
    world.close()


def test_17_only_the_systems_generator_is_used(
    world: PartyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("not the operating system's randomness")

    for name in ("random", "getrandbits", "randrange", "shuffle", "randint"):
        monkeypatch.setattr(random, name, refuse)
    monkeypatch.setattr(np.random, "default_rng", refuse)
    for name in ("shuffle", "permutation", "rand", "random"):
        monkeypatch.setattr(np.random, name, refuse)
    drawn: list[int] = []
    true = os.urandom

    def draw(n: int) -> bytes:
        drawn.append(n)
        return true(n)

    monkeypatch.setattr(os, "urandom", draw)
    world.send_many(12)
    before = sum(drawn)
    world.seal()
    # 8 bytes a slot for the order, at the least.
    assert sum(drawn) - before >= 8 * 12


def test_19_output_does_not_remember_arrival(world: PartyWorld) -> None:
    correlations = []
    for _ in range(12):
        arrival: dict[bytes, int] = {}
        for place in range(30):
            report = world.report(place % 2)
            arrival[report.slots[0]] = place
            assert world.send(report).value == 202
        assert seal_window(world.shuffler, WINDOW) is not None
        out = [arrival[slot] for slot in records_of_batch(world)]
        correlations.append(float(np.corrcoef(out, range(30))[0, 1]))
        open_again(world)
    # Each has mean 0 and variance 1/29.
    assert abs(sum(correlations)) < 4.9 * math.sqrt(len(correlations) / 29)


def test_batch_numbers_are_random(world: PartyWorld) -> None:
    seen = set()
    for _ in range(3):
        world.send_many(12)
        assert seal_window(world.shuffler, WINDOW) is not None
        seen.add(bytes(world.shuffler.storage.read("SELECT batch_id FROM batch")[0][0]))
        open_again(world)
    assert len(seen) == 3
    assert {len(number) for number in seen} == {16}
