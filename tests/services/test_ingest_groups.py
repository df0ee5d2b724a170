"""Reports that come in groups are answered and stored as if each had come alone."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from smoothdp.services.shuffler import ingest
from smoothdp.services.shuffler.shuffler import Upload
from smoothdp.services.wire.calls import Outcome
from smoothdp.services.wire.envelope import Header, seal_envelope, seal_values
from smoothdp.services.wire.hybrid import PublicKey
from tests.services.storages import without_waiting_for_disks
from tests.services.world import KEY, WINDOW, World


@dataclass(frozen=True)
class Sent:
    """An upload, and what is in it."""

    upload: Upload
    user: str
    window: int
    report_id: bytes


def one_report(world: World, user: str, window: int, report_id: bytes) -> Sent:
    key_id, public = world.shuffler.keys.active()
    task = world.task
    header = Header(key_id, task.slots, task.task_id, window)
    slots = seal_values([0] * task.slots, key=KEY.public, task_id=task.task_id, window=window)
    envelope = seal_envelope(header, report_id, slots, key=PublicKey.from_bytes(public))
    return Sent(Upload(world.token(user), envelope), user, window, report_id)


class OneAtATime:
    """The rules, literally: a mark per envelope, a report per sender, a number per report."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self.quota: dict[tuple[int, str], bytes] = {}
        self.numbers: set[tuple[int, bytes]] = set()

    def answer(self, sent: Sent) -> Outcome:
        if sent.upload.envelope in self.seen:
            return Outcome.ACCEPTED
        if sent.window != WINDOW:
            return Outcome.TOO_EARLY if sent.window > WINDOW else Outcome.CLOSED
        place = (sent.window, sent.user)
        if place not in self.quota:
            if (sent.window, sent.report_id) in self.numbers:
                return Outcome.QUOTA
            self.quota[place] = sent.report_id
            self.numbers.add((sent.window, sent.report_id))
        elif self.quota[place] != sent.report_id:
            return Outcome.QUOTA
        self.seen.add(sent.upload.envelope)
        return Outcome.ACCEPTED


@pytest.mark.parametrize("seed", range(6))
def test_groups_are_judged_as_one_after_the_other(world: World, seed: int) -> None:
    without_waiting_for_disks(world.shuffler.storage)
    source, rules = random.Random(seed), OneAtATime()
    # The grace of the window before is over; the window after has not begun.
    world.now += 3 * world.task.grace_seconds
    numbers = [bytes([n]) * 16 for n in range(8)]
    made: list[Sent] = []
    for _ in range(160):
        if made and source.random() < 0.3:
            made.append(source.choice(made))
        else:
            user, window = f"u{source.randrange(7)}", WINDOW + source.choice([0] * 8 + [-1, 1])
            made.append(one_report(world, user, window, source.choice(numbers)))
    found: list[Outcome] = []
    rest = list(made)
    while rest:
        size = source.choice([1, 2, 5, 40])
        found += world.shuffler.accept([sent.upload for sent in rest[:size]])
        rest = rest[size:]
    expected = [rules.answer(sent) for sent in made]
    assert found == expected
    assert {Outcome.ACCEPTED, Outcome.QUOTA, Outcome.CLOSED, Outcome.TOO_EARLY} == set(expected)
    rows = world.shuffler.storage.read("SELECT window, report_id FROM pending")
    assert {(window, bytes(number)) for window, number in rows} == rules.numbers
    assert world.shuffler.totals()["accepted"] == len(rules.quota) == len(rows)
    assert world.shuffler.storage.read("SELECT count(*) FROM seen")[0][0] == len(rules.seen)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_window_that_is_full_takes_no_more(
    world: World, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "MOST_SLOTS_OF_BATCH", 4 * world.task.slots)
    uploads = [world.upload(f"u{i}") for i in range(7)]
    found: list[Outcome] = []
    for start in range(0, 7, size):
        found += world.shuffler.accept(uploads[start : start + size])
    assert found == [Outcome.ACCEPTED] * 4 + [Outcome.FULL] * 3
    # What was taken is answered as before; what was not may be sent in a later window.
    assert world.shuffler.accept(uploads) == found
    assert world.shuffler.totals()["pending"] == 4
