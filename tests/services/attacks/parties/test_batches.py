"""Batches of one window and of another: one of them is counted, with its own parts alone."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from smoothdp.services.analyzer import counting, release
from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.counting import count_complete
from smoothdp.services.analyzer.release import release_counted, work
from smoothdp.services.formats import batch as batches
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.marks import MarksFile, mark_of
from smoothdp.services.formats.served import Served
from smoothdp.services.formats.slots import SLOT_BYTES
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.store.erasable_keys import ErasableKeys
from tests.services.storages import ONLY_SQLITE, open_state
from tests.services.worlds.party_world import ENOUGH, HOUR, WINDOW, PartyWorld
from tests.services.worlds.shufflers_batches import hand_over
from tests.services.worlds.small_tasks import ANALYZER_SIGN, ISSUER_SIGN, SHUFFLER_SIGN


def test_statements_and_batches_of_one_window_are_nothing_in_another(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path)
    world.open_window()
    world.open_window(WINDOW + 1)
    world.send_many(12)
    here = world.report()
    world.go_to((WINDOW + 1) * 3600 + 1.0)
    # The first window's report, sealed to the second one's gateway.
    assert world.send(here, window=WINDOW + 1) is Taken.UNKNOWN
    served = Served(world.card().digest, 12).sign(ISSUER_SIGN).encode()
    assert world.analyzer.put_served(WINDOW + 1, served) == 400
    assert world.finish(12)["state"] == "RELEASED"
    ((batch_id, header),) = world.shuffler.storage.read("SELECT batch_id, header FROM batch")
    assert world.analyzer.put_batch(batch_id, header) == 200
    assert world.analyzer.put_batch(bytes(16), header) == 400
    assert world.result(WINDOW + 1)["state"] == "open"
    assert world.charged() == [WINDOW]
    world.close()


def test_a_late_part_of_a_batch_that_ended_is_not_kept(full: PartyWorld) -> None:
    full.send_many(12)
    full.seal()
    read = full.shuffler.storage.read
    ((batch_id, header),) = read("SELECT batch_id, header FROM batch")
    ((part,),) = read("SELECT bytes FROM batch_part")
    assert full.analyzer.put_batch(batch_id, header) == 201
    full.go_to(full.now + 7 * 86_400)
    work(full.analyzer)
    assert full.result()["state"] == "REFUSED"
    assert full.analyzer.put_part(batch_id, 0, part) == 201
    assert full.analyzer.storage.read("SELECT bytes FROM part") == [(None,)]
    work(full.analyzer)
    assert full.result()["state"] == "REFUSED"
    assert full.charged() == []


def test_a_worker_that_comes_late_to_a_release_changes_nothing(
    full: PartyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process releases a batch, and deletes its tallies, just before they are read."""
    full.send_many(12)
    full.seal()
    full.deliver()
    count_complete(full.analyzer)
    other = Analyzer(
        open_state(full.folder, "analyzer", ANALYZER_SCHEMA),
        task=full.task,
        keys=ErasableKeys(full.folder / "inner.sqlite"),
        sign_key=ANALYZER_SIGN,
        ledgers=full.folder,
        clocks=full.clocks[1],
    )
    read = counting.tallies

    def late(analyzer: Analyzer, batch_id: bytes) -> dict[int, int]:
        monkeypatch.setattr(release, "tallies", read)
        assert release_counted(other) == 1
        return read(analyzer, batch_id)

    monkeypatch.setattr(release, "tallies", late)
    assert release_counted(full.analyzer) == 0
    other.storage.close()
    assert full.charged() == [WINDOW]
    assert full.result()["users"] == 12


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def batch_marks(digest: bytes, data: bytes, width: int) -> bytes:
    marks = b"".join(mark_of(data[at : at + 52]) for at in range(0, len(data), width))
    return MarksFile.sorted(digest, marks).sha256


def _second_header(world: PartyWorld, window: int = WINDOW) -> tuple[bytes, BatchHeader]:
    """Return another batch of a window that its shuffler has signed too: with a person less."""
    stored = world.shuffler.storage.read("SELECT header FROM batch WHERE window = ?", (window,))
    first = BatchHeader.decode(bytes(stored[0][0]))
    data = b"".join(
        bytes(row[0]) for row in world.shuffler.storage.read("SELECT bytes FROM batch_part")
    )
    less = data[: -world.shuffler.record_bytes]
    parts = list(batches.split_parts([less], signed=True))
    marks = batch_marks(first.card_digest, less, world.shuffler.record_bytes)
    header = BatchHeader(
        signed=True,
        card_digest=first.card_digest,
        batch_id=b"another batch id",
        users=first.users - 1,
        slots=first.slots - 1,
        part_hashes=tuple(sha256(part) for part in parts),
        marks_sha256=marks,
    )
    return less, header.sign(SHUFFLER_SIGN)


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("when", ["after the header", "after the parts", "after the result"])
def test_a_shuffler_that_signs_two_batches_of_a_window_has_one_of_them_counted(
    tmp_path: Path, when: str, restarts: bool
) -> None:
    """Two results that differ by one person would show that person's answer.

    The shuffler offers the second batch whenever the analyser has heard of the first, also when
    that has started again in between; it never gets another answer than that it is another one.
    """
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(ENOUGH)
    world.seal()
    less, header = _second_header(world)
    second = f"/v2/batches/{header.batch_id.hex()}"

    def offer() -> None:
        if restarts:
            world.restart()
        assert world.put(second, header.encode()) == 409
        assert world.put(f"{second}/parts/0", less) == 404

    first: list[tuple[str, bytes]] = []
    for row in world.shuffler.storage.read("SELECT batch_id, header FROM batch"):
        first.append((f"/v2/batches/{bytes(row[0]).hex()}", bytes(row[1])))
    assert world.put(*first[0]) == 201
    if when == "after the header":
        offer()
    world.deliver()
    if when == "after the parts":
        offer()
    assert world.tell_served(ENOUGH) == 201
    work(world.analyzer)
    if when == "after the result":
        offer()
        work(world.analyzer)
    said = world.result()
    assert (said["state"], said["users"]) == ("RELEASED", ENOUGH)
    assert bytes.fromhex(said["batch_header"]) == first[0][1]
    assert world.charged() == [WINDOW]
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize("released", [False, True])
def test_one_name_for_the_batches_of_two_windows_gives_the_first_alone(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    released: bool,
) -> None:
    """A shuffler that follows draws a batch id for each batch. With the id of another window's
    batch, that has its result or still waits for parts, nothing of either is mixed.
    """
    world = PartyWorld(tmp_path)
    batches = {}
    for window in (WINDOW, WINDOW + 1):
        world.go_to(window * HOUR + 700)
        world.open_window(window)
        batches[window] = [r for _ in range(14) for r in world.report(1, window).records]
    world.go_to((WINDOW + 3) * HOUR)
    first, second = batches.values()
    if released:
        assert hand_over(world, first, WINDOW, bytes(16)) == [201, 201]
        world.tell_served(14)
        work(world.analyzer)
        assert hand_over(world, second, WINDOW + 1, bytes(16)) == [409, 422]
    else:
        data = hashlib.sha256(b"".join(second)).digest()
        digest = world.card(WINDOW).digest
        # The header of the first window announces the part of the second.
        marks = MarksFile.of(digest, [record[:SLOT_BYTES] for record in second]).sha256
        header = BatchHeader(True, digest, bytes(16), 14, 14, (data,), marks).sign(SHUFFLER_SIGN)
        assert world.analyzer.put_batch(bytes(16), header.encode()) == 201
        assert hand_over(world, second, WINDOW + 1, bytes(16)) == [409, 201]
        world.tell_served(14)
        work(world.analyzer)
    said = world.result(WINDOW)
    assert said["state"] == ("RELEASED" if released else "QUARANTINED")
    world.tell_served(14, WINDOW + 1)
    work(world.analyzer)
    assert "sum" not in world.result(WINDOW + 1)
    assert world.charged() == ([WINDOW] if released else [])
    world.close()
