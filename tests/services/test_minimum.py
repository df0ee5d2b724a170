"""Tests 29 to 36: small batches never leave, and what is destroyed is gone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smoothdp.services.shuffler.delivery import DeliveryRefused, deliver_batches
from smoothdp.services.shuffler.sealing import due_windows
from smoothdp.services.shuffler.shuffler import Upload
from smoothdp.services.wire.batch import BatchHeader
from smoothdp.services.wire.calls import Outcome
from smoothdp.services.wire.envelope import Header, seal_envelope
from smoothdp.services.wire.hybrid import PublicKey
from tests.services.storages import ONLY_SQLITE, files_of
from tests.services.world import WINDOW, World, hash_parts, small_task


def test_29_one_too_few_never_leaves(world: World) -> None:
    world.send_many(world.task.min_batch - 1)
    sealed = world.seal()
    assert sealed is not None
    assert (sealed.state, sealed.users) == ("EXPIRED", world.task.min_batch - 1)
    assert deliver_batches(world.shuffler, world.put) == 0
    assert world.offers == []
    assert world.shuffler.totals()["expired"] == world.task.min_batch - 1
    assert world.is_balanced()


def test_29_enough_do_leave(world: World) -> None:
    world.send_many(world.task.min_batch)
    assert world.finish()[0] == 200


def test_30_many_reports_of_one_token_are_one(world: World) -> None:
    uploads = [Upload(world.token("sybil"), world.envelope(f"s{i}")) for i in range(10)]
    outcomes = world.shuffler.accept(uploads)
    assert outcomes == [Outcome.ACCEPTED] + [Outcome.QUOTA] * 9
    sealed = world.seal()
    assert sealed is not None
    assert sealed.state == "EXPIRED"


def test_31_garbage_does_not_count(world: World) -> None:
    good = world.upload("u")
    key_id, _ = world.shuffler.keys.active()
    header = Header(key_id, 1, world.task.task_id, WINDOW).encode()
    garbage = [Upload(world.token(f"g{i}"), header + bytes([i]) * 116) for i in range(10)]
    assert set(world.shuffler.accept(garbage)) == {Outcome.MALFORMED}
    assert world.shuffler.accept([Upload("00", good.envelope)]) == [Outcome.UNAUTHORIZED]
    sealed = world.seal()
    assert sealed is not None
    assert sealed.users == 0


def test_31_garbage_inside_is_quarantined_beyond_what_the_task_assumes(tmp_path: Path) -> None:
    for share, garbage, status in (("0", 1, 403), ("0.25", 2, 200), ("0.25", 3, 403)):
        (tmp_path / f"{share}-{garbage}").mkdir()
        world = World(tmp_path / f"{share}-{garbage}", small_task(dishonest_share=share))
        world.send_many(8 - garbage)
        key_id, public = world.shuffler.keys.active()
        header = Header(key_id, 1, world.task.task_id, WINDOW)
        for i in range(garbage):
            envelope = seal_envelope(
                header, bytes([i]) * 16, [bytes([i]) * 52], key=PublicKey.from_bytes(public)
            )
            upload = Upload(world.token(f"g{i}"), envelope)
            assert world.shuffler.accept([upload]) == [Outcome.ACCEPTED]
        found, body = world.finish()
        assert found == status
        if found == 200:
            document = json.loads(body)
            assert document["invalid_slots"] == garbage
            assert "warning" in document
        world.close()


def test_32_a_late_report_is_refused_and_not_carried_over(world: World) -> None:
    late = world.upload("late")
    world.send_many(5)
    world.seal()
    assert world.shuffler.accept([late]) == [Outcome.CLOSED]
    world.now += 3600
    world.send_many(5, prefix="v")
    assert json.loads(world.finish(WINDOW + 1)[1])["users"] == 5


def test_32_grace_and_early_reports(world: World) -> None:
    upload, other = world.upload("u"), world.upload("v")
    early = world.upload("w", window=WINDOW + 1)
    assert world.shuffler.accept([early]) == [Outcome.TOO_EARLY]
    world.now = (WINDOW + 1) * 3600 + 59
    assert due_windows(world.shuffler, world.task) == []
    assert world.shuffler.accept([upload]) == [Outcome.ACCEPTED]
    world.now = (WINDOW + 1) * 3600 + 60
    assert world.shuffler.accept([other]) == [Outcome.CLOSED]
    assert due_windows(world.shuffler, world.task) == [WINDOW]
    assert world.shuffler.accept([early]) == [Outcome.ACCEPTED]


def _offer(world: World, **change: int) -> int:
    fields = {"users": 4, "slots": 4, "key_id": 1} | change
    data = bytes(52 * 4)
    header = BatchHeader(
        task_id=world.task.task_id,
        batch_id=b"b" * 16,
        window=WINDOW,
        part_hashes=hash_parts([data]),
        **fields,
    )
    return world.analyzer.put_batch(b"b" * 16, header.encode())


def test_33_the_analyser_refuses_small_batches_itself(world: World) -> None:
    assert _offer(world, users=3, slots=3) == 400


def test_33_a_refused_batch_is_kept_and_reported(world: World) -> None:
    world.send_many(5)
    world.seal()
    with pytest.raises(DeliveryRefused):
        deliver_batches(world.shuffler, lambda *_: 409)
    assert world.shuffler.storage.read("SELECT state FROM batch") == [("SEALED",)]
    assert deliver_batches(world.shuffler, world.put) == 1


@pytest.mark.parametrize("change", [{"slots": 5}, {"slots": 8}, {"key_id": 2}])
def test_34_sizes_and_keys_that_do_not_fit(world: World, change: dict[str, int]) -> None:
    assert _offer(world, **change) == 400
    assert _offer(world) == 201


def test_35_windows_share_no_report(world: World) -> None:
    world.send_many(5)
    first = {bytes(r[0]) for r in world.shuffler.storage.read("SELECT report_id FROM pending")}
    world.seal()
    world.now += 3600
    world.send_many(5)
    second = {bytes(r[0]) for r in world.shuffler.storage.read("SELECT report_id FROM pending")}
    assert len(first | second) == 10


@pytest.mark.parametrize("users", [3, 120])
@ONLY_SQLITE
def test_36_nothing_of_a_closed_window_is_left_in_the_files(world: World, users: int) -> None:
    world.send_many(users)
    rows = world.shuffler.storage.read("SELECT report_id, slots FROM pending")
    tags = world.shuffler.storage.read("SELECT sender_tag FROM quota")
    keys = world.shuffler.storage.read("SELECT tag_key FROM collecting")
    marks = [bytes(row[0]) for row in rows + tags + keys]
    slots = [bytes(row[1]) for row in rows]
    before = files_of(world.directory, "shuffler")
    assert all(mark in before for mark in marks + slots)
    world.seal()
    after = files_of(world.directory, "shuffler")
    assert not any(mark in after for mark in marks)
    if users < world.task.min_batch:
        assert not any(slot in after for slot in slots)
    else:
        deliver_batches(world.shuffler, world.put)
        assert world.shuffler.storage.read("SELECT state FROM batch") == [("PURGED",)]
        assert not any(slot in files_of(world.directory, "shuffler") for slot in slots)


def test_36_files_are_their_owners_alone(world: World) -> None:
    world.send_many(5)
    for path in world.directory.glob("*.sqlite*"):
        assert path.stat().st_mode & 0o077 == 0, path
