"""Tests 20 to 28: whatever is sent again is answered like the first time and counted once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

from smoothdp.services.analyzer.window_release import read_result, release_counted
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.shuffler import Upload
from smoothdp.services.wire.batch import PART_SLOTS, BatchHeader
from smoothdp.services.wire.calls import Outcome
from smoothdp.services.wire.envelope import Header, inner_info, seal_envelope, seal_values
from smoothdp.services.wire.hybrid import PublicKey
from tests.services.world import KEY, WINDOW, World, hash_parts


def test_20_a_thousand_replays_count_once(world: World) -> None:
    upload = world.upload("u")
    assert set(world.shuffler.accept([upload] * 500)) == {Outcome.ACCEPTED}
    for _ in range(500):
        assert world.shuffler.accept([upload]) == [Outcome.ACCEPTED]
    assert world.shuffler.totals()["accepted"] == 1
    world.send_many(4)
    status, body = world.finish()
    assert (status, json.loads(body)["users"]) == (200, 5)


def test_21_concurrent_copies_count_once(world: World) -> None:
    upload = world.upload("u")
    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(lambda _: world.shuffler.accept([upload])[0], range(64)))
    assert set(outcomes) == {Outcome.ACCEPTED}
    assert world.shuffler.totals()["accepted"] == 1


def test_22_a_replay_after_a_restart_counts_once(world: World) -> None:
    upload = world.upload("u")
    world.shuffler.accept([upload])
    world.restart()
    assert world.shuffler.accept([upload]) == [Outcome.ACCEPTED]
    assert world.shuffler.totals()["accepted"] == 1


def test_23_a_replay_in_the_next_window_counts_once(world: World) -> None:
    upload = world.upload("u")
    world.shuffler.accept([upload])
    world.now += 3600
    assert world.shuffler.accept([upload]) == [Outcome.ACCEPTED]
    # Moved to the next window by its header, it does not open.
    moved = upload.envelope[:36] + (WINDOW + 1).to_bytes(4) + upload.envelope[40:]
    assert world.shuffler.accept([Upload(upload.token, moved)]) == [Outcome.MALFORMED]
    assert world.shuffler.totals()["accepted"] == 1


def test_24_after_the_key_nothing_can_be_replayed(world: World) -> None:
    upload = world.upload("u")
    world.shuffler.accept([upload])
    world.shuffler.keys.rotate()
    assert world.shuffler.accept([upload]) == [Outcome.ACCEPTED]
    assert world.shuffler.storage.read("SELECT count(*) FROM seen")[0][0] == 1
    world.shuffler.keys.rotate()
    assert world.shuffler.storage.read("SELECT count(*) FROM seen")[0][0] == 0
    assert world.shuffler.accept([upload]) == [Outcome.OUTDATED_KEY]
    assert world.shuffler.totals()["accepted"] == 1


def test_24_a_report_sealed_anew_for_a_new_key_counts_once(world: World) -> None:
    first = world.upload("u")
    world.shuffler.accept([first])
    world.shuffler.keys.rotate()
    again = world.upload("u")
    assert again.envelope != first.envelope
    assert world.shuffler.accept([again]) == [Outcome.ACCEPTED]
    assert world.shuffler.totals()["accepted"] == 1


def test_25_another_report_of_the_same_sender_is_over_quota(world: World) -> None:
    world.send("u")
    other = Upload(world.token("u"), world.envelope("somebody else"))
    assert world.shuffler.accept([other]) == [Outcome.QUOTA]
    assert world.shuffler.totals()["accepted"] == 1
    world.now += 3600
    assert world.send("u") == [Outcome.ACCEPTED]


def test_25_two_senders_with_one_report_number(world: World) -> None:
    first = world.upload("u")
    world.shuffler.accept([first])
    stolen = Upload(world.token("thief"), first.envelope)
    # Known bytes: the same answer as for anybody, and nothing is counted.
    assert world.shuffler.accept([stolen]) == [Outcome.ACCEPTED]
    assert world.shuffler.totals()["accepted"] == 1


def test_26_a_message_held_back_for_another_window_is_not_counted(world: World) -> None:
    world.send_many(4)
    world.seal()
    held = world.slots_of_batch()[0]
    world.now += 3600
    window = WINDOW + 1
    key_id, public = world.shuffler.keys.active()
    header = Header(key_id, 1, world.task.task_id, window)
    envelope = seal_envelope(header, b"r" * 16, [held], key=PublicKey.from_bytes(public))
    world.send_many(4, prefix="v")
    assert world.shuffler.accept([Upload(world.token("w"), envelope)]) == [Outcome.ACCEPTED]
    status, body = world.finish(window)
    # The task assumes no dishonest user, and this is certainly one.
    assert status == 403
    assert json.loads(body)["state"] == "QUARANTINED"


def test_26_a_copied_message_is_not_counted(world: World) -> None:
    slots = seal_values([1, 0, 1, 0], key=KEY.public, task_id=world.task.task_id, window=WINDOW)
    batch_id, data = b"b" * 16, b"".join([*slots, slots[2], slots[2]])
    header = BatchHeader(1, world.task.task_id, batch_id, WINDOW, 6, 6, hash_parts([data]))
    assert world.analyzer.put_batch(batch_id, header.encode()) == 201
    assert world.analyzer.put_part(batch_id, 0, data) == 201
    world.analyzer.count_complete()
    assert world.analyzer.tallies(batch_id) == {1: 2, 0: 2, -2: 2}
    assert release_counted(world.analyzer) == 0
    assert read_result(world.analyzer, world.task.task_id, WINDOW)[0] == 403


def test_26_copies_are_found_across_parts(world: World) -> None:
    info = inner_info(world.task.task_id, WINDOW)
    slot = KEY.public.seal((1).to_bytes(4), info=info)
    n = PART_SLOTS + 3
    # Distinct slots that do not open, around one that is there three times.
    table = bytearray(b"".join(i.to_bytes(52) for i in range(n)))
    for place in (5, PART_SLOTS - 1, PART_SLOTS + 2):
        table[52 * place : 52 * place + 52] = slot
    parts = [bytes(table[: 52 * PART_SLOTS]), bytes(table[52 * PART_SLOTS :])]
    batch_id = b"c" * 16
    header = BatchHeader(1, world.task.task_id, batch_id, WINDOW, n, n, hash_parts(parts))
    assert world.analyzer.put_batch(batch_id, header.encode()) == 201
    for part, data in enumerate(parts):
        assert world.analyzer.put_part(batch_id, part, data) == 201
    assert world.analyzer._repeated_slots(batch_id, 2) == {PART_SLOTS - 1, PART_SLOTS + 2}


def test_27_a_batch_offered_again_is_taken_once(world: World) -> None:
    world.send_many(5)
    world.seal()
    lost = {"answers": 3}

    def put(path: str, body: bytes) -> int:
        status = world.put(path, body)
        if lost["answers"]:
            lost["answers"] -= 1
            raise OSError("the answer is lost")
        return status

    for _ in range(4):
        try:
            deliver_batches(world.shuffler, put)
        except OSError:
            continue
    world.analyzer.count_complete()
    assert world.tallied() == 5
    bodies: dict[str, set[bytes]] = {}
    for path, body in world.offers:
        bodies.setdefault(path, set()).add(body)
    assert len(world.offers) > len(bodies)
    assert all(len(seen) == 1 for seen in bodies.values())
    # After counting as well, the answer stays the same.
    for path, body in list(world.offers):
        assert world.put(path, body) == 200
    world.analyzer.count_complete()
    assert world.tallied() == 5


def test_28_other_bytes_under_a_known_name_are_refused(world: World) -> None:
    world.send_many(5)
    world.seal()
    deliver_batches(world.shuffler, world.put)
    (path, header), (part_path, part) = world.offers
    assert world.put(path, header[:-1] + bytes([header[-1] ^ 1])) == 409
    assert world.put(part_path, part[:-1] + bytes([part[-1] ^ 1])) == 422
    other = BatchHeader.decode(header)
    renamed = BatchHeader(
        other.key_id,
        other.task_id,
        b"n" * 16,
        other.window,
        other.users,
        other.slots,
        other.part_hashes,
    )
    # A second batch of one window would be a second look at the same people.
    assert world.put(f"/v1/batches/{(b'n' * 16).hex()}", renamed.encode()) == 409


def test_28_a_part_damaged_on_the_way_is_sent_again(world: World) -> None:
    world.send_many(5)
    world.seal()
    damage = [True]

    def put(path: str, body: bytes) -> int:
        if "parts" in path and damage:
            damage.clear()
            return world.put(path, body[:-1] + bytes([body[-1] ^ 1]))
        return world.put(path, body)

    try:
        deliver_batches(world.shuffler, put)
    except OSError:
        deliver_batches(world.shuffler, put)
    world.analyzer.count_complete()
    assert world.tallied() == 5


def test_a_retry_never_draws_again(world: World) -> None:
    key_id, public = world.shuffler.keys.active()
    key = (key_id, PublicKey.from_bytes(public))
    client = Client(world.task, world.outcomes, name="u", clock=lambda: world.now)
    first = client.envelope(1, shuffler_key=key)
    kept = world.outcomes.get(world.task.task_id, WINDOW, "u")
    world.outcomes.close()
    world.outcomes = OutcomeStore(world.directory / "clients.sqlite")
    client = Client(world.task, world.outcomes, name="u", clock=lambda: world.now)
    # Whatever the datum is then: a second draw would be a second disclosure.
    assert client.envelope(0, shuffler_key=key) == first
    again = client.envelope(0, shuffler_key=(key_id + 1, KEY.public))
    assert again != first
    found = world.outcomes.get(world.task.task_id, WINDOW, "u")
    assert kept is not None
    assert found is not None
    assert (found.slots, found.report_id) == (kept.slots, kept.report_id)
