"""Tests 29 to 36: small batches never leave, and what is destroyed is gone."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from smoothdp.services.formats.report import Report
from smoothdp.services.shuffler.delivery import DeliveryRefused, deliver_batches
from smoothdp.services.shuffler.ingest import Taken
from tests.services.storages import ONLY_SQLITE, files_of
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.whole_world import WholeWorld, weak_task


@pytest.mark.parametrize("users", [11, 12])
def test_29_one_too_few_never_leaves(tmp_path: Path, users: int) -> None:
    """With all four parties: twelve are the exact smallest batch, and are released."""
    world = WholeWorld(tmp_path, small_task(honest_share="1"), fast=True)
    assert world.task.fewest_honest == world.task.min_batch == 12
    world.open_window()
    for person in range(users):
        assert world.take_part(f"u{person}") == 202
    document = world.end()
    if users == 12:
        assert (document["state"], document["users"]) == ("RELEASED", 12)
    else:
        assert document == {"state": "no batch"}
        assert world.offers == []
        assert world.shuffler.totals()["expired"] == 11
        assert world.charged() == []
    world.close()


def test_30_many_reports_of_one_pass_are_one(tmp_path: Path) -> None:
    """Twenty accounts are of no use with one pass, nor twenty passes with one account."""
    world = PartyWorld(tmp_path)
    world.open_window()
    sybil = world.new_pass()
    answers = [world.send(world.report(), sybil) for _ in range(20)]
    assert answers == [Taken.ACCEPTED] + [Taken.OTHER_REPORT] * 19
    one = world.report()
    answers = [world.send(one) for _ in range(20)]
    assert answers == [Taken.ACCEPTED] + [Taken.OTHER_REPORT] * 19
    (sealed,) = world.seal()
    assert (sealed.state, sealed.users) == ("EXPIRED", 2)
    world.close()


def test_31_garbage_does_not_count(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path)
    world.open_window()
    report = world.report()
    unsigned = Report(report.card_digest, report.slots, (bytes(256),))
    assert {world.send(unsigned) for _ in range(20)} == {Taken.UNSIGNED}
    (sealed,) = world.seal()
    assert (sealed.state, sealed.users) == ("EXPIRED", 0)
    world.close()


@pytest.mark.parametrize(
    ("share", "garbage", "state"),
    [("1", 1, "QUARANTINED"), ("0.75", 4, "RELEASED"), ("0.75", 5, "QUARANTINED")],
)
def test_31_garbage_inside_is_quarantined_beyond_what_the_task_assumes(
    tmp_path: Path, share: str, garbage: int, state: str
) -> None:
    """People with accounts, whose signed slots open for nobody."""
    world = PartyWorld(tmp_path, small_task(honest_share=share, min_batch=16))
    world.open_window()
    world.send_many(16 - garbage)
    for number in range(garbage):
        slot = hashlib.sha512(bytes([number])).digest()[:52]
        assert world.send(world.sign([slot])) is Taken.ACCEPTED
    document = world.finish(16)
    assert document["state"] == state, document
    if state == "RELEASED":
        assert document["invalid_slots"] == garbage
        assert "warning" in document
    else:
        assert world.charged() == []
    world.close()


def test_32_a_late_report_is_refused_and_not_carried_over(tmp_path: Path) -> None:
    """In the grace a report still arrives; later it does not, and the next window has its own."""
    world = WholeWorld(tmp_path, weak_task(), fast=True)
    world.open_window()
    for person in ("a", "b", "c"):
        assert world.take_part(person) == 202
    for person in ("late", "too late"):
        assert world.take_part(person, lose=("reports request",)) == 0
    end = (WINDOW + 1) * HOUR + world.task.grace_seconds
    world.go_to(end - 1.0)
    assert world.seal(WINDOW - 1) == []
    assert world.take_part("late") == 202
    world.go_to(float(end))
    assert world.take_part("too late") == 410
    assert world.end()["users"] == 4
    assert world.take_part("too late") == 410
    world.open_window(WINDOW + 1)
    for person in ("a", "b", "too late"):
        assert world.take_part(person, window=WINDOW + 1) == 202
    assert world.end(WINDOW + 1)["users"] == 3
    world.close()


def test_33_a_refused_batch_is_kept_and_reported(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(12)
    world.seal()
    with pytest.raises(DeliveryRefused):
        deliver_batches(world.shuffler, lambda *_: 409)
    assert world.shuffler.batch_states() == {"SEALED": 1}
    assert world.deliver() == 1
    world.close()


def test_35_windows_share_nothing(tmp_path: Path) -> None:
    """The same people in two windows: no slot, number or tag is in both."""
    world = WholeWorld(tmp_path, weak_task(), fast=True)
    seen: list[set[bytes]] = []
    for window in (WINDOW, WINDOW + 1):
        world.go_to(window * HOUR + 700.0)
        world.open_window(window)
        for person in ("a", "b", "c"):
            assert world.take_part(person, window=window) == 202
        rows = world.shuffler.storage.read("SELECT sender_tag, report_id, slots FROM pending")
        asked = world.issuer.storage.read(
            "SELECT account_tag, request_hash FROM issued WHERE window = ?", (window,)
        )
        seen.append({bytes(value)[:52] for row in (*rows, *asked) for value in row})
        world.seal(window)
    assert [len(values) for values in seen] == [15, 15]
    assert seen[0].isdisjoint(seen[1])
    world.close()


@pytest.mark.parametrize("users", [3, 120])
@ONLY_SQLITE
def test_36_nothing_of_a_closed_window_is_left_in_the_files(tmp_path: Path, users: int) -> None:
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(users)
    rows = world.shuffler.storage.read("SELECT sender_tag, report_id, slots FROM pending")
    hidden = [bytes(value) for row in rows for value in row[:2]]
    # In pieces: a part of a batch goes over pages of the file, which cut some of them.
    slots = [bytes(row[2])[at : at + 16] for row in rows for at in range(0, 48, 16)]
    hidden += [bytes(world.shuffler.storage.read("SELECT tag_key FROM collecting")[0][0])]
    gateway = bytes(world.keys[0]._storage.read("SELECT secret FROM data_key")[0][0])
    before = files_of(tmp_path, "shuffler")
    assert all(item in before for item in hidden + slots)
    assert gateway in files_of(tmp_path, "gateway")
    world.seal()
    after = files_of(tmp_path, "shuffler")
    assert not any(item in after for item in hidden)
    assert gateway not in files_of(tmp_path, "gateway")
    if users >= world.task.min_batch:
        assert sum(slot in after for slot in slots) > 0.9 * len(slots)
        world.deliver()
        assert world.shuffler.batch_states() == {"PURGED": 1}
        received = files_of(tmp_path, "analyzer")
        assert sum(slot in received for slot in slots) > 0.9 * len(slots)
        assert world.finish(users)["state"] == "RELEASED"
        assert not any(slot in files_of(tmp_path, "analyzer") for slot in slots)
    left = files_of(tmp_path, "shuffler")
    assert not any(slot in left for slot in slots)
    world.close()


@ONLY_SQLITE
def test_36_files_are_their_owners_alone(tmp_path: Path) -> None:
    world = WholeWorld(tmp_path)
    world.open_window()
    for person in ("a", "b", "c"):
        world.take_part(person)
    world.end()
    names = {path.name.split(".")[0].split("-")[0] for path in tmp_path.iterdir()}
    assert names >= {"shuffler", "analyzer", "issuer", "clients", "gateway", "inner", "ledger"}
    for path in tmp_path.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
    world.close()
