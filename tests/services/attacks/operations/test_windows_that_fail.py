"""Windows and batches that fail: their keys and rows go all the same, and no other one waits."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import LedgerError
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.issuer.window_keys import close_windows, key_of_window
from smoothdp.services.operations.health import delivery_condition
from smoothdp.services.operations.logs import Cause, PutOff, words_of
from smoothdp.services.shuffler.delivery import DeliveryRefused, deliver_batches
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.store.revoked import Revoked
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.issuing_world import IssuingWorld
from tests.services.worlds.party_world import DAY, HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import OPEN_TASK, small_task
from tests.services.worlds.three_windows import THREE, three_windows


@ONLY_SQLITE
def test_a_window_that_cannot_be_sealed_keeps_no_key_of_the_others(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    world = three_windows(tmp_path)
    with world.shuffler.storage.transaction() as change:
        change.change(
            "UPDATE pending SET slots = x'00' WHERE window = ?1 AND sender_tag = "
            "(SELECT min(sender_tag) FROM pending WHERE window = ?1)",
            (WINDOW + 1,),
        )
    for _ in range(2):
        with pytest.raises(ValueError, match="reshape"):
            seal_due(world.shuffler)
    states = world.shuffler.storage.read("SELECT window, state FROM collecting ORDER BY window")
    assert states == list(zip(THREE, ("SEALED", "OPEN", "SEALED"), strict=True))
    # The one of the window that is open alone: its reports may still be mended.
    assert world.shuffler.cards.kept() == [WINDOW + 1]
    world.close()


@ONLY_SQLITE
def test_a_window_that_cannot_be_counted_keeps_no_key_of_the_others(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    world = three_windows(tmp_path)
    world.seal()
    world.deliver()
    with world.analyzer.storage.transaction() as change:
        change.change("UPDATE batch SET header = x'00' WHERE window = ?", (WINDOW,))
    for _ in range(2):
        with pytest.raises(DecodeError, match="too short"):
            work(world.analyzer)
    assert [world.result(window)["state"] for window in THREE[1:]] == ["RELEASED"] * 2
    assert len(world.keys[1].scopes()) == 1
    # Its key goes with the seven days, and holds up the end of no other.
    world.go_to(world.now + 8 * 86_400)
    with pytest.raises(DecodeError, match="too short"):
        work(world.analyzer)
    assert world.keys[1].scopes() == []
    work(world.analyzer)
    world.close()


@ONLY_SQLITE
def test_a_window_that_cannot_be_closed_keeps_no_key_of_the_others(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    world = IssuingWorld(tmp_path)
    for window in THREE:
        world.open_window(window)
    with world.storage.transaction() as change:
        change.change("UPDATE card SET digest = '' WHERE window = ?", (WINDOW,))
    world.go_to((WINDOW + 5) * HOUR)
    for _ in range(2):
        with pytest.raises(Exception):  # noqa: B017
            close_windows(world.issuer)
    left = world.storage.read("SELECT window FROM window_key WHERE secret IS NOT NULL")
    assert left == [(WINDOW,)]
    assert key_of_window(world.issuer, WINDOW + 1) is None
    world.close()


def test_a_window_that_cannot_be_counted_holds_up_no_other(tmp_path: Path) -> None:
    """Its key is damaged on disk: the next window is released, and the first is reported."""
    world = PartyWorld(tmp_path)
    for window in (WINDOW, WINDOW + 1):
        world.go_to(window * HOUR + 700.0)
        world.open_window(window)
        world.send_many(12, window=window)
        world.seal(window)
        world.deliver()
        world.tell_served(12, window)
    with world.analyzer.storage.transaction() as change:
        change.change("UPDATE card SET sealed_key = ? WHERE window = ?", (bytes(60), WINDOW))
    with pytest.raises(Exception, match=r"."):
        work(world.analyzer)
    assert world.result(WINDOW + 1)["state"] == "RELEASED"
    assert world.charged() == [WINDOW + 1]
    world.go_to((WINDOW + 3) * HOUR + 8 * 86_400.0)
    with pytest.raises(Exception, match=r"."):
        work(world.analyzer)
    assert world.result(WINDOW)["state"] == "REFUSED"
    work(world.analyzer)
    world.close()


@ONLY_SQLITE
def test_windows_of_nobody_of_one_and_without_a_card_leave_no_key(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    world.open_window(WINDOW)
    world.open_window(WINDOW + 1)
    world.go_to((WINDOW + 1) * HOUR + 1.0)
    world.send_many(1, window=WINDOW + 1)
    half = world.shuffler.cards.offered_key(WINDOW + 2)  # Its card is made, and never fetched.
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 2, half) == 201
    world.shuffler.cards.offered_key(WINDOW + 3)  # Nobody took it.
    kept = [
        bytes(secret)
        for keys in world.keys
        for (secret,) in keys._storage.read("SELECT secret FROM data_key")
    ]
    assert len(kept) == 7
    assert all(secret in world.files() for secret in kept)
    world.go_to(world.now + 8 * 86_400)
    world.restart()
    world.finish()
    assert not any(secret in world.files() for secret in kept)
    assert [keys.scopes() for keys in world.keys] == [[], []]
    world.close()


def test_a_damaged_ledger_keeps_no_key_of_a_window_that_was_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = PartyWorld(tmp_path)
    for window, accounts in ((WINDOW, 2**40), (WINDOW + 1, 12)):
        world.go_to(window * 3600 + 1200.0)
        world.open_window(window)
        world.send_many(12, window=window)
        world.seal(window)
        world.deliver()
        assert world.tell_served(accounts, window) == 201

    def damaged(_: int, **__: Any) -> Any:
        raise LedgerError(expected="a ledger", got="a damaged one", remedy="Restore it")

    monkeypatch.setattr(world.analyzer.ledger, "charge", damaged)
    with pytest.raises(LedgerError):
        work(world.analyzer)
    assert world.analyzer.cards.inner_key(WINDOW) is None
    assert world.analyzer.cards.inner_key(WINDOW + 1) is not None
    assert world.result(WINDOW)["state"] == "REFUSED"
    monkeypatch.undo()
    assert work(world.analyzer) == 1
    assert world.charged() == [WINDOW + 1]
    world.close()


@ONLY_SQLITE
def test_reports_of_a_window_that_was_never_sealed_go_with_it(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Their rows stayed for ever, M slots beside each other, and nobody was told."""
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    world.open_window()
    world.send_many(15)
    rows = world.shuffler.storage.read("SELECT sender_tag, slots FROM pending")
    with world.shuffler.storage.transaction() as change:
        change.change(
            "UPDATE pending SET slots = x'00' WHERE sender_tag = "
            "(SELECT min(sender_tag) FROM pending)"
        )
    world.go_to((WINDOW + 1) * HOUR + 31 * 86_400)
    for _ in range(2):
        with contextlib.suppress(ValueError):
            seal_due(world.shuffler)
        world.shuffler.forget_old()
    assert world.shuffler.storage.read("SELECT 1 FROM pending") == []
    assert world.shuffler.cards.kept() == []
    assert not any(bytes(part) in world.files() for row in rows for part in row)
    assert caplog.text.count("the reports of window 1000 were dropped") == 1
    world.close()


@ONLY_SQLITE
def test_a_batch_that_arrives_damaged_each_time_holds_up_no_other(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """One part is damaged on the shuffler's disk: 422 in each round, until it is dropped.

    The batches of later windows wait behind it, and the analyser ends each of these windows after
    seven days, although its own batch is whole.
    """
    causes: list[Cause] = []
    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    for window in (WINDOW, WINDOW + 1):
        world.open_window(window)
    world.send_many(12)
    world.seal()
    with world.shuffler.storage.transaction() as change:
        change.change("UPDATE batch_part SET bytes = ?", (bytes(52 * 12),))
    world.send_many(12, window=WINDOW + 1)
    world.seal(WINDOW + 1)
    for _ in range(3):
        try:
            world.deliver()
        except PutOff as error:
            causes.append(error.cause)
    work(world.analyzer)
    assert world.result(WINDOW)["state"] == "arriving"
    assert world.result(WINDOW + 1)["state"] == "RELEASED"
    # What the log would say: nobody answered, or not in time.
    assert Cause.CONNECTION not in causes
    world.close()


def test_a_batch_that_is_refused_for_good_goes_after_thirty_days(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing comes of it after the seven days in which an analyser keeps a window's key."""
    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    world.open_window()
    world.send_many(12)
    world.seal()
    storage = world.shuffler.storage
    ((slots,),) = storage.read("SELECT bytes FROM batch_part")
    dropped = (WINDOW + 1) * HOUR + world.task.grace_seconds + 30 * DAY
    with caplog.at_level(logging.WARNING):
        for now, kept in ((dropped - 1, True), (dropped, False), (dropped + DAY, False)):
            world.go_to(now)
            if kept:
                with pytest.raises(DeliveryRefused) as refused:
                    deliver_batches(world.shuffler, lambda *_: 409)
                # What /readyz shows of a round that failed.
                words = words_of(refused.value)
                assert f"answered 409 to the batch of window {WINDOW}: ask who runs it" in words
                assert "dropped, 30 days after" in words
            world.shuffler.forget_old()
            assert bool(storage.read("SELECT 1 FROM batch_part")) is kept
            assert (world.shuffler.marks(WINDOW) is not None) is kept
    assert deliver_batches(world.shuffler, lambda *_: 409) == 0
    assert world.shuffler.batch_states() == {"DROPPED": 1}
    assert storage.read("SELECT count(*) FROM collecting") == [(0,)]
    assert world.shuffler.takes(WINDOW) is Taken.CLOSED
    assert world.shuffler.takes(WINDOW - 1) is Taken.UNKNOWN
    assert caplog.messages == [
        f"the batch of window {WINDOW} was dropped: the analyser had not taken it 30 days after "
        "the window"
    ]
    for at in range(0, 12 * 52, 52):
        assert bytes(slots)[at + 8 : at + 24] not in world.files()
    world.close()


@ONLY_SQLITE
def test_what_is_said_of_a_batch_that_waits_names_what_to_do(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    world.open_window()
    world.send_many(12)
    world.seal()
    revoked = Revoked(tmp_path / "revoked")
    party = ShufflerParty(world.task, world.shuffler, world.keys[0], revoked, "", tmp_path)
    asked = party._operations(10.0).checks["delivery"]
    said = {}
    for days in (0, 6.9, 7.1, 29.9, 30):
        world.go_to((WINDOW + 1) * HOUR + world.task.grace_seconds + days * DAY)
        world.shuffler.forget_old()
        said[days] = asked()
    assert [said[days].good for days in said] == [True, False, False, False, True]
    assert "is the analyser reachable" in said[6.9].says
    assert "waits for 7 days" in said[7.1].says
    assert "Ask who runs it; the batch is dropped 30 days after the window" in said[7.1].says
    assert delivery_condition(7.1 * DAY).says.startswith("a batch waits for 180 hours")
    world.close()
