"""What attackers of the fourth round remarked: what an operator meets, and a program that stops."""

from __future__ import annotations

import logging
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner

from smoothdp import services
from smoothdp.cli.serving.serve import serve
from smoothdp.errors import InvalidData
from smoothdp.services.operations import every
from smoothdp.services.operations.health import delivery_condition
from smoothdp.services.operations.logs import words_of
from smoothdp.services.shuffler.delivery import DeliveryRefused, deliver_batches
from smoothdp.services.shuffler.gateway_cards import GatewayCards
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.store.revoked import Revoked
from smoothdp.services.tokens.issuer_key import IssuerKey
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld, issuer_key
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.three_parties import Parties

DAY = 86_400


# ---- a batch that the analyser refuses for good


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


# ---- short windows, and no shuffler yet


def test_a_round_does_not_make_the_keys_of_a_whole_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The word of the analyser's clock would grow old, and everybody be answered 503."""
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, now=60_000_001.0, window_seconds=600)
        made, key = [], issuer_key()

        def slow() -> IssuerKey:
            made.append(parties.now)
            assert len(made) < 100
            parties.now += 11.0
            return key

        monkeypatch.setattr(every, "monotonic", lambda: parties.now)
        monkeypatch.setattr(IssuerKey, "generate", slow)
        issuer = parties.issuer.issuer
        windows = []
        for _ in range(3):
            first = parties.task.window_at(parties.now)
            parties.analyzer.analyzer.clocks.heard(parties.now)
            parties.issuer.work(parties.url)
            assert issuer.clocks.hold() is None
            windows = [row[0] for row in issuer.storage.read("SELECT window FROM window_key")]
            # The nearest ones, and each window has one key.
            assert set(range(first, first + 6)) <= set(windows)
            assert len(set(windows)) == len(windows) == len(made)
            assert len(made) % 6 == 0
        assert len(windows) == 18
        # The shuffler comes: its round has a minute too.
        offered = type(parties.shuffler.shuffler.cards).offered_key

        def slowly(cards: GatewayCards, window: int) -> bytes:
            parties.now += 11.0
            return offered(cards, window)

        monkeypatch.setattr(GatewayCards, "offered_key", slowly)
        before = parties.now
        parties.shuffler.work(parties.url)
        assert before + 60 < parties.now < before + 80


# ---- a reload just after the start


@pytest.mark.parametrize("role", ["analyzer", "shuffler", "issuer"])
def test_a_reload_before_the_service_listens_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    """The signal ends a process that has not said what it does with it."""
    ended = []
    before = signal.signal(signal.SIGHUP, lambda *_: ended.append(True))

    def opening(directory: Path, **_: object) -> NoReturn:
        signal.raise_signal(signal.SIGHUP)
        raise InvalidData(expected="a file", got=directory.name, remedy="Look")

    monkeypatch.setattr(getattr(services, f"{role.capitalize()}Party"), "from_directory", opening)
    where = [] if role == "analyzer" else ["--analyzer", "http://127.0.0.1:1"]
    try:
        done = CliRunner().invoke(serve, [role, str(tmp_path), *where])
    finally:
        signal.signal(signal.SIGHUP, before)
    assert "Expected a file" in done.output
    assert not ended
