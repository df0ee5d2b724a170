"""Work that goes on, or waits, while parties hold for the word of each other's clock."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from smoothdp.services.analyzer.release import work
from smoothdp.services.issuer.issuer import Account
from smoothdp.services.issuer.issuer_party import issue_invitations
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.operations import every
from smoothdp.services.operations.clock_guard import Verdict
from smoothdp.services.operations.logs import PutOff
from smoothdp.services.shuffler import shuffler_party
from smoothdp.services.shuffler.delivery import Put
from smoothdp.services.shuffler.gateway_cards import GatewayCards
from smoothdp.services.tokens.issuer_key import IssuerKey
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import WINDOW, issuer_key
from tests.services.worlds.three_parties import Parties
from tests.services.worlds.whole_world import WholeWorld


@ONLY_SQLITE
def test_while_clocks_disagree_a_batch_goes_on_whose_header_came_before(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """On hold A takes no header; "what it has taken before, of a window that was over", goes on:
    by two clocks it was over when the header came.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(4):
        assert world.take_part(f"person {person}") == 202
    world.seal()
    close_windows(world.issuer)
    world.tell()
    batch_id, header = world.shuffler.storage.read("SELECT batch_id, header FROM batch")[0]
    assert world.put(f"/v2/batches/{bytes(batch_id).hex()}", bytes(header)) == 201
    for clocks in world.clocks:
        clocks.heard(world.now + 2 * 86_400)
    assert world.analyzer.verdict(WINDOW) is Verdict.HOLD
    ((part,),) = world.shuffler.storage.read("SELECT bytes FROM batch_part")
    assert world.put(f"/v2/batches/{bytes(batch_id).hex()}/parts/0", bytes(part)) == 201
    assert work(world.analyzer) == 1
    assert world.analyzer.cards.inner_key(WINDOW) is None
    world.close()


@ONLY_SQLITE
def test_a_shuffler_that_tells_a_false_time_stops_and_starts_tokens_for_everybody(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The analyser holds then, tells the issuer no time, and ten minutes later nobody is served.

    The next true time opens the window again: when tokens are given is the shuffler's say too.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        parties.round()
        parties.round()
        issuer, clocks = parties.issuer.issuer, parties.shuffler.shuffler.clocks
        (invitation,) = issue_invitations(tmp_path / "issuer", 1)

        def is_served() -> bool:
            asked = issuer.admit(invitation, WINDOW, issuer.request_bytes)
            return isinstance(asked, Account)

        assert is_served()
        with monkeypatch.context() as lie:
            lie.setattr(clocks, "to_tell", lambda: parties.now + 120)
            for _ in range(11):
                parties.now += 60
                parties.shuffler.work(parties.url)
                with pytest.raises(PutOff, match="tells no time"):
                    parties.issuer.work(parties.url)
        assert not is_served()
        parties.round()
        assert is_served()


@ONLY_SQLITE
def test_a_long_delivery_does_not_hold_the_clocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten minutes into a large batch both services held: 503 to everybody until its end."""
    held = []
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        clocks = parties.shuffler.shuffler.clocks, parties.analyzer.analyzer.clocks
        with parties.shuffler.shuffler.storage.transaction() as change:
            change.change(
                "INSERT INTO batch (batch_id, task_id, window, state, users, header) "
                "VALUES (?, ?, ?, 'SEALED', 12, ?)",
                (b"b" * 16, parties.task.task_id, WINDOW - 1, b"header"),
            )
            for part in range(10):
                change.change(
                    "INSERT INTO batch_part (batch_id, part, bytes) VALUES (?, ?, ?)",
                    (b"b" * 16, part, b"part"),
                )

        def slow(*_: object) -> Put:
            def put(path: str, body: bytes) -> int:  # noqa: ARG001
                parties.now += 100.0
                held.append([one.hold() for one in clocks])
                return 201

            return put

        monkeypatch.setattr(shuffler_party, "putting", slow)
        parties.shuffler.work(parties.url)
    assert held == [[None, None]] * 11


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
