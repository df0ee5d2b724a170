"""Tests 13 to 19: the order of a sealed batch is uniform and remembers nothing.

Sizes: each test rejects a true uniform order with probability at most 1e-6, unless it says
otherwise; `test_a_wrong_order_is_found` shows that a slight bias is seen.
"""

from __future__ import annotations

import math
import os
import random
import secrets
import tracemalloc
from itertools import pairwise, permutations

import numpy as np
import pytest

from smoothdp.errors import OutOfReach
from smoothdp.services.shuffler.mixing import mixed
from smoothdp.services.wire.batch import PART_SLOTS, split_parts
from tests.services.world import World, small_task


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
    first = orders(20_000, 50)[:, 0]
    assert chi_square_is_fine(np.bincount(first, minlength=50))


# In memory; and with 2, 4 and 8 buckets, which is how more than memory holds is shuffled.
@pytest.mark.parametrize("at_once", [5, 3, 2, 1])
def test_14_and_18_all_orders_of_five(at_once: int) -> None:
    seen = orders(60_000 if at_once == 5 else 9_000, 5, at_once)
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


def test_18_first_and_neighbours_of_many_buckets() -> None:
    n, runs = 50, 2500
    seen = orders(runs, n, at_once=7)
    assert chi_square_is_fine(np.bincount(seen[:, 0], minlength=n))
    assert chi_square_is_fine(np.bincount(seen[:, n // 2], minlength=n))
    together = int((np.abs(np.diff(seen.astype(int), axis=1)) == 1).sum())
    # Of 49 adjacent pairs, each is an original neighbour with probability 2/50.
    mean = runs * (n - 1) * 2 / n
    assert abs(together - mean) < 4.9 * math.sqrt(runs * 2.0)


def test_18_memory_is_that_of_a_bucket() -> None:
    n, at_once = 400_000, 25_000
    piece = os.urandom(52 * 1000)

    def peak(at_once: int) -> int:
        tracemalloc.start()
        total = sum(
            len(part)
            for part in split_parts(
                mixed(lambda: (piece for _ in range(n // 1000)), n, at_once=at_once)
            )
        )
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert total == 52 * n
        return found

    part = 52 * PART_SLOTS
    # A bucket, its shuffled copies and a part; and one byte a slot, twice.
    assert peak(at_once) < 4 * 52 * at_once + 4 * part + 3 * n
    assert peak(n) > 2 * 52 * n


def test_18_a_window_in_many_buckets_is_whole(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.send_many(40)
    before = {bytes(r[0]) for r in world.shuffler.storage.read("SELECT slots FROM pending")}
    monkeypatch.setattr(mixed, "__kwdefaults__", {"at_once": 5, "width": 52})
    monkeypatch.setattr("smoothdp.services.shuffler.sealing._REPORTS_AT_ONCE", 7)
    world.seal()
    assert sorted(world.slots_of_batch()) == sorted(before)


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


def test_16_slots_of_one_user_are_spread(world: World) -> None:
    world.close()
    world.__init__(world.directory, small_task("real_sum"))  # type: ignore[misc]
    users, slots = 40, world.task.slots
    close = 0
    for run in range(10):
        names = [f"{run}-{user}" for user in range(users)]
        window = world.shuffler.window_now(world.task)
        world.send(*names, datum=1)
        rows = world.shuffler.storage.read("SELECT slots FROM pending")
        owner = {
            bytes(row[0])[at : at + 52]: user
            for user, row in enumerate(rows)
            for at in range(0, 52 * slots, 52)
        }
        world.seal(window)
        order = [owner[slot] for slot in world.slots_of_batch(window)]
        close += sum(a == b for a, b in pairwise(order))
        world.now += 3600
    n = users * slots
    mean = 10 * (n - 1) * (slots - 1) / (n - 1)
    assert abs(close - mean) < 4.9 * math.sqrt(mean) + 1


def test_17_only_the_systems_generator_is_used(
    world: World, monkeypatch: pytest.MonkeyPatch
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
    world.send_many(6)
    before = sum(drawn)
    world.seal()
    # 8 bytes a slot for the order, at the least.
    assert sum(drawn) - before >= 8 * 6


def test_19_output_does_not_remember_arrival(world: World) -> None:
    correlations = []
    for run in range(12):
        window = world.shuffler.window_now(world.task)
        names = [f"{run}-{user}" for user in range(30)]
        arrival: dict[bytes, int] = {}
        for place, name in enumerate(names):
            before = {bytes(r[0]) for r in world.shuffler.storage.read("SELECT slots FROM pending")}
            world.send(name)
            after = {bytes(r[0]) for r in world.shuffler.storage.read("SELECT slots FROM pending")}
            (new,) = after - before
            arrival[new] = place
        world.seal(window)
        out = [arrival[slot] for slot in world.slots_of_batch(window)]
        correlations.append(float(np.corrcoef(out, range(30))[0, 1]))
        world.now += 3600
    # Each has mean 0 and variance 1/29.
    assert abs(sum(correlations)) < 4.9 * math.sqrt(len(correlations) / 29)


def test_batch_numbers_are_random(world: World) -> None:
    world.send_many(5)
    world.seal()
    first = world.shuffler.storage.read("SELECT batch_id FROM batch")[0][0]
    assert len(first) == 16
    assert first != secrets.token_bytes(16)
