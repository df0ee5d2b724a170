"""The seven days after a window: what was there whole is released, nothing is taken after them."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

from smoothdp.errors import LedgerError, SmoothdpError
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY
from smoothdp.services.formats import batch as batches
from smoothdp.services.formats.design.budget import KEY_SECONDS
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.operations.clock_guard import ClockGuard, Hold
from smoothdp.services.shuffler.delivery import DeliveryRefused, deliver_batches
from smoothdp.services.store.storage import StorageUnreachable
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import DAY, ENOUGH, HOUR, WINDOW, PartyWorld
from tests.services.worlds.stopped import Stopped
from tests.services.worlds.whole_world import WholeWorld, weak_task


@ONLY_SQLITE
def test_an_analyser_that_comes_back_after_the_seven_days_releases_what_it_had_whole(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol: what was there whole is counted and released also by an A that runs again only
    after these 7 days. It said that a window that was charged is refused then.
    """
    stops = [True]

    def reach(point: str) -> None:
        if stops and point == "release: between ledger and result":
            stops.pop()
            raise Stopped

    world = WholeWorld(tmp_path, reach=reach, fast=True)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    with pytest.raises(Stopped):
        world.end()
    assert world.charged() == [WINDOW]
    world.now += 8 * 86_400
    world.restart()
    work(world.analyzer)
    said = world.result()
    assert (said["state"], world.charged()) == ("RELEASED", [WINDOW])
    world.close()


def test_a_batch_that_was_whole_is_counted_by_an_analyser_that_comes_back_and_stumbles(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, section 7: "What was there whole before is counted and released also by an A
    that runs again only later".

    It runs again after eight days, and its database is away for a moment of the first round. The
    window was refused for good: "the analyser's key of it was lost, or its storage is damaged".
    """
    stumbles = [True]

    def reach(point: str) -> None:
        if point == "count: inside the transaction" and stumbles and stumbles.pop():
            raise StorageUnreachable(expected="an answer", got="a lost connection", remedy="Again")

    world = PartyWorld(tmp_path, reach=reach)
    world.open_window()
    world.send_many(ENOUGH)
    world.seal()
    assert world.deliver() == 1
    assert world.tell_served(ENOUGH) == 201
    world.go_to(world.now + 8 * DAY)
    with suppress(StorageUnreachable):
        work(world.analyzer)
    assert not stumbles
    work(world.analyzer)
    result = world.result()
    world.close()
    assert result["state"] == "RELEASED", result["reason"]


@ONLY_SQLITE
def test_a_batch_that_is_whole_is_released_though_the_ledger_is_held_for_seven_days(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The protocol, of a window seven days after its grace: "What was there whole before is
    counted and released also by an A that runs again only later"; what ends it then says "nothing
    more came of this window in seven days".

    All has come: batch and number served. Somebody holds the ledger, and lets go of it later.
    """
    world = WholeWorld(tmp_path, weak_task(windows=1), fast=True)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    world.seal()
    close_windows(world.issuer)
    world.tell()
    world.deliver()
    world.go_to(world.now + 8 * 86_400)
    holder = sqlite3.connect(world.analyzer.ledger.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(world.analyzer.ledger._ledger._store, "timeout", 0.2)
    with pytest.raises(SmoothdpError, match="locked"):
        work(world.analyzer)
    # Its key goes all the same, and its place in the budget is kept.
    assert world.analyzer.keys.scopes() == []
    assert world.analyzer.cards.put_key(GATEWAY, int(world.now // HOUR), bytes(32)) == 404
    holder.execute("ROLLBACK")
    holder.close()
    work(world.analyzer)
    said = world.result()
    world.close()
    assert said["state"] == "RELEASED", said


@ONLY_SQLITE
def test_a_release_that_was_put_off_keeps_its_place_and_no_key(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, of a batch whose release could not be charged for seven days: "It keeps its
    place in the budget; the inner key goes". The budget is of one window, the ledger away for
    nine days; when it is back there is no card before the release, nor after it.
    """
    world = WholeWorld(tmp_path, weak_task(windows=1))
    world.open_window()
    assert [world.take_part(str(person)) for person in range(4)] == [202] * 4
    world.seal()
    close_windows(world.issuer)
    world.tell()
    world.deliver()
    away = [path.rename(path.with_name(f"x{path.name}")) for path in tmp_path.glob("ledger-*.db*")]
    for days in (0, 8, 1):
        world.go_to(world.now + days * 86_400)
        with pytest.raises(LedgerError):
            work(world.analyzer)
    assert world.keys[1].scopes() == []
    for path in away:
        path.rename(path.with_name(path.name[1:]))
    later = int(world.now // HOUR) + 1
    gateway = world.shuffler.cards.offered_key(later)
    assert world.analyzer.cards.put_key(GATEWAY, later, gateway) == 404
    world.restart()
    assert world.analyzer.cards.put_key(GATEWAY, later, gateway) == 404
    work(world.analyzer)
    assert world.result()["state"] == "RELEASED"
    assert world.analyzer.cards.put_key(GATEWAY, later, gateway) == 404
    assert world.analyzer.storage.read("SELECT * FROM counts") == []
    world.close()


@ONLY_SQLITE
def test_an_analyser_takes_no_batch_after_the_seven_days(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "An analyser ends every window 7 days after its end and grace, and takes no batch
    of it then (409)".

    The shuffler comes back after eight days, tells its time, and hands over in the same round.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    world.seal()
    close_windows(world.issuer)
    world.tell()
    world.go_to(world.now + 8 * 86_400)
    with pytest.raises(DeliveryRefused, match="answered 409"):
        world.deliver()
    work(world.analyzer)
    assert world.charged() == []
    world.close()


def test_no_part_is_taken_after_the_seven_days_by_an_analyser_that_has_heard_no_time(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, section 7: a part "of a batch whose parts were not all here when its window had
    been over for 7 days: 409"; such a window "ends, [...] no batch is taken then".

    The header came in time. The part comes after eight days, to an analyser that has just started,
    before the shuffler has told it the time: it held, took the part, and released the window.
    """
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(ENOUGH)
    world.seal()

    def header_alone(path: str, body: bytes) -> int:
        return world.put(path, body) if path.count("/") == 3 else 503

    with pytest.raises(OSError, match="503"):
        deliver_batches(world.shuffler, header_alone)
    assert world.tell_served(ENOUGH) == 201
    world.now += 8 * DAY
    world.analyzer.clocks = ClockGuard(wall=lambda: world.now, boot=lambda: world.now - 1000)
    assert world.analyzer.clocks.hold() is Hold.NO_PEER
    ((batch, part),) = world.shuffler.storage.read("SELECT batch_id, bytes FROM batch_part")
    assert world.analyzer.put_part(bytes(batch), 0, bytes(part)) == 503
    world.analyzer.clocks.heard(world.now)
    assert world.analyzer.put_part(bytes(batch), 0, bytes(part)) == 409
    work(world.analyzer)
    assert world.result()["state"] == "REFUSED"
    world.close()


def test_nothing_that_comes_seven_days_after_a_window_is_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The protocol: "A window without an end 7 days after end + grace ends, and what has come of
    its batch is REFUSED [...] no batch is taken then. (What was there whole before is counted and
    released also by an A that runs again only later"; the guide: "An analyser ends every window 7
    days after its end and grace, and takes no batch of it then (409)".

    The shuffler stops between two parts. Both parties run again a week later, and the shuffler is
    the first: the part that was missing comes before the analyser's next round.
    """
    monkeypatch.setattr(batches, "PART_RECORDS", 8)
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(ENOUGH)
    world.seal()
    offered: list[tuple[str, bytes]] = []
    take = world.put

    def stops(path: str, body: bytes) -> int:
        offered.append((path, body))
        if len(offered) > 2:
            raise OSError("stopped")
        return take(path, body)

    monkeypatch.setattr(world, "put", stops)
    with pytest.raises(OSError, match="stopped"):
        world.deliver()
    monkeypatch.setattr(world, "put", take)
    assert world.tell_served(ENOUGH) == 201
    world.go_to((WINDOW + 1) * HOUR + world.task.grace_seconds + KEY_SECONDS + 60)
    world.restart()
    late, part = offered[2]
    world.put(late, part)
    work(world.analyzer)
    said = world.result()
    world.close()
    assert said["state"] == "REFUSED"


@ONLY_SQLITE
@pytest.mark.parametrize("days", [8, 31])
def test_after_days_without_any_party_nothing_of_an_open_window_is_kept(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    days: int,
) -> None:
    """All stop in an open window, and all come back after its 7 and its 30 days.

    After 8 the analyser takes the batch no more, which the shuffler keeps, sealed to a key that
    is gone, until its 30 days are over.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    world.now += days * 86_400
    world.restart()
    for _ in range(2):
        world.seal()
        close_windows(world.issuer)
        with suppress(OSError):
            world.tell()
            world.deliver()
        world.shuffler.forget_old()
        work(world.analyzer)
    world.seal()
    assert [keys.scopes() for keys in world.keys] == [[], []]
    if days == 8:
        world.now += 30 * 86_400
        world.restart()
        world.go_to(world.now)
        world.shuffler.forget_old()
    assert world.shuffler.storage.read("SELECT * FROM pending") == []
    assert world.shuffler.storage.read("SELECT * FROM batch_part") == []
    assert world.issuer.storage.read("SELECT secret, tag_key FROM window_key") == [(None, None)]
    for table, column in (("counts", "bytes"), ("part", "bytes")):
        rows = world.analyzer.storage.read(f"SELECT {column} FROM {table}")
        assert [row for row in rows if row != (None,)] == []
    world.close()
