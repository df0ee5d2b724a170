"""A shuffler that invents, copies, exchanges or hides: nothing of its batch is released."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.analyzer import counting, release
from smoothdp.services.analyzer.release_rule import Ruling, rule
from smoothdp.services.analyzer.who_could import sentence
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.slots import SLOT_BYTES, seal_slots
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import SHUFFLER_SIGN, small_task

USERS = 14
Records = list[bytes]


def invented(world: PartyWorld, records: Records) -> Records:
    return [seal_slots([1], world.card())[0] + os.urandom(256), *records[1:]]


def copied(_: PartyWorld, records: Records) -> Records:
    return [records[1], *records[1:]]


def exchanged(world: PartyWorld, records: Records) -> Records:
    own = [seal_slots([1], world.card())[0] + record[SLOT_BYTES:] for record in records[1:]]
    return [records[0], *own]


def moved(_: PartyWorld, records: Records) -> Records:
    signatures = [record[SLOT_BYTES:] for record in records]
    return [
        record[:SLOT_BYTES] + signature
        for record, signature in zip(records, [signatures[-1], *signatures[:-1]], strict=True)
    ]


FORGERIES = (invented, copied, exchanged, moved)


def collected(folder: Path, users: int = USERS) -> PartyWorld:
    """Return a world whose window is sealed and not handed over."""
    world = PartyWorld(folder)
    world.open_window()
    world.send_many(users)
    world.seal()
    return world


def hand_over(
    world: PartyWorld,
    records: Records,
    *,
    signed: bool = True,
    users: int | None = None,
    marks: bytes | None = None,
) -> list[int]:
    """Deliver records under a header that the shuffler signs; return the answers."""
    data, digest = b"".join(records), world.card().digest
    slots = [record[:SLOT_BYTES] for record in records]
    header = BatchHeader(
        signed=signed,
        card_digest=digest,
        batch_id=bytes(16),
        users=len(records) if users is None else users,
        slots=len(records),
        part_hashes=(hashlib.sha256(data).digest(),),
        marks_sha256=MarksFile.of(digest, slots).sha256 if marks is None else marks,
    ).sign(SHUFFLER_SIGN)
    answers = [world.analyzer.put_batch(bytes(16), header.encode())]
    if answers == [201]:
        answers.append(world.analyzer.put_part(bytes(16), 0, data))
    return answers


def records_of(world: PartyWorld) -> Records:
    data = bytes(world.shuffler.storage.read("SELECT bytes FROM batch_part")[0][0])
    width = world.shuffler.record_bytes
    return [data[at : at + width] for at in range(0, len(data), width)]


def outcome(world: PartyWorld, accounts: int = USERS) -> dict[str, object]:
    world.tell_served(accounts)
    release.work(world.analyzer)
    return world.result()


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_forged_batch_is_quarantined(
    tmp_path: Path, forge: Callable[[PartyWorld, Records], Records]
) -> None:
    world = collected(tmp_path)
    assert hand_over(world, forge(world, records_of(world))) == [201, 201]
    document = outcome(world)
    assert document["state"] == "QUARANTINED"
    assert str(document["reason"]).startswith("the shuffler's batch is not genuine")
    assert "sum" not in document
    assert world.charged() == []
    assert world.analyzer.storage.read("SELECT count(*) FROM counts") == [(0,)]
    world.close()


@pytest.mark.parametrize("forge", [invented, exchanged, moved])
def test_without_the_signature_check_it_would_be_released(
    tmp_path: Path,
    forge: Callable[[PartyWorld, Records], Records],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting, "is_signed", lambda *_: True)
    world = collected(tmp_path)
    hand_over(world, forge(world, records_of(world)))
    assert outcome(world)["state"] == "RELEASED"
    world.close()


def test_without_the_check_of_copies_it_would_be_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "repeated_marks", lambda _: [])
    world = collected(tmp_path)
    hand_over(world, copied(world, records_of(world)))
    assert outcome(world)["state"] == "RELEASED"
    world.close()


def test_slots_without_signatures_are_no_batch(tmp_path: Path) -> None:
    world = collected(tmp_path)
    bare = [record[:SLOT_BYTES] for record in records_of(world)]
    assert hand_over(world, bare, signed=False) == [400]
    assert outcome(world)["state"] != "RELEASED"
    world.close()


@pytest.mark.parametrize(("users", "answer"), [(USERS - 1, 400), (USERS + 1, 400), (USERS, 201)])
def test_users_are_slots_over_m(tmp_path: Path, users: int, answer: int) -> None:
    world = collected(tmp_path)
    assert hand_over(world, records_of(world), users=users)[0] == answer
    world.close()


def test_false_marks_are_published_beside_the_true_ones(tmp_path: Path) -> None:
    world = collected(tmp_path)
    records = records_of(world)
    true = MarksFile.of(world.card().digest, [record[:SLOT_BYTES] for record in records]).sha256
    hand_over(world, records, marks=bytes(32))
    document = outcome(world)
    assert document["state"] == "QUARANTINED"
    assert document["marks_sha256"] == true.hex()
    header = BatchHeader.decode(bytes.fromhex(str(document["batch_header"])))
    assert header.marks_sha256 == bytes(32)
    assert header.verify(SHUFFLER_SIGN.public)
    world.close()


def test_a_batch_of_a_window_that_is_open_or_unknown_is_not_taken(tmp_path: Path) -> None:
    world = collected(tmp_path)
    offered = records_of(world)
    world.go_to((WINDOW + 1) * 3600 - 1.0)
    assert hand_over(world, offered) == [425]
    world.go_to((WINDOW + 3) * 3600)
    assert hand_over(world, offered[:11]) == [400]
    digest = world.card().digest
    header = BatchHeader(True, bytes(32), bytes(16), 12, 12, (digest,), digest)
    assert world.analyzer.put_batch(bytes(16), header.sign(SHUFFLER_SIGN).encode()) == 409
    world.close()


# ---- the release rule ----------------------------------------------------------------------------

LARGE: dict[str, Any] = {"min_batch": 200, "epsilon": "1", "delta": "1e-6"}


def test_199_accounts_of_10000_and_a_batch_of_200_are_refused(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path, small_task(**LARGE))
    world.open_window()
    world.send_many(200)
    refused = world.finish(10_000)
    assert refused["state"] == "REFUSED"
    assert refused["accounts_served"] == 10_000
    assert "of 10000 accounts that were served 200 are here" in refused["reason"]
    assert world.charged() == []
    world.close()


@pytest.mark.parametrize(
    ("accounts", "state", "reason"),
    [
        (200, "REFUSED", "of 200 accounts that were served 14 are here"),
        (13, "QUARANTINED", "14 users are more than the 13 accounts"),
    ],
)
def test_the_rule_refuses_and_switched_off_it_would_not(
    tmp_path: Path, accounts: int, state: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = PartyWorld(tmp_path)
    for window in (WINDOW, WINDOW + 1):
        world.go_to(window * 3600 + 700.0)
        world.open_window(window)
        world.send_many(USERS, window=window)
        world.seal(window)
    document = world.finish(accounts, WINDOW)
    assert document["state"] == state
    assert reason in document["reason"]
    assert world.charged() == []
    monkeypatch.setattr(release, "rule", lambda *_, users, **__: Ruling(users, 0))
    assert world.finish(accounts, WINDOW + 1)["state"] == "RELEASED"
    world.close()


def test_the_sentence_has_the_numbers_of_the_rule() -> None:
    # h0 = 180 for this task: 205 - floor(X / 10) >= 180 up to X = 259.
    task = small_task(**LARGE)
    assert task.fewest_honest == 180
    ruling = rule(task, users=205, served=259, tally={1: 205})
    assert (ruling.honest, ruling.dishonest, ruling.state) == (180, 25, "")
    text = sentence(task, users=205, served=259, ruling=ruling)
    for words in (
        "at least 180 of the 205 users",
        "a shuffler with 25 of the analyser's accounts, or an analyser with 20 of the",
        f"A shuffler with {180 + 25 - 1} accounts, an analyser with 199 passes",
        "Then the noise of the user's own device is left: epsilon 1.9",
    ):
        assert words in text
    assert "whole reports" not in text


@pytest.mark.parametrize(("accounts", "state"), [(259, "RELEASED"), (260, "REFUSED")])
def test_the_rule_is_exact_at_its_edge(accounts: int, state: str) -> None:
    ruling = rule(small_task(**LARGE), users=205, served=accounts, tally={1: 205})
    assert (ruling.state or "RELEASED") == state


def test_slots_that_mean_nothing_count_as_dishonest_users() -> None:
    task = small_task(**LARGE)
    assert rule(task, users=210, served=210, tally={1: 189, -1: 21}).state == ""
    assert rule(task, users=210, served=210, tally={1: 188, -1: 22}).state == "QUARANTINED"
