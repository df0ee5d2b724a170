"""A clock that is two days ahead for a round, at one party or at all: nothing is destroyed."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.operations.clock_guard import Hold
from tests.services.worlds.own_clocks import HOUR, JUMP, PARTIES, USERS, WINDOW, OwnClocks


@pytest.mark.parametrize("who", [*PARTIES, pytest.param("all", marks=pytest.mark.slow)])
def test_two_days_ahead_for_a_round_destroy_nothing(tmp_path: Path, who: str) -> None:
    parties = OwnClocks(tmp_path)
    parties.round()
    store = OutcomeStore(tmp_path / "clients.sqlite")
    parties.take_part(store)
    before = parties.what_can_be_destroyed()
    assert (len(before["reports"]), len(before["accounts"])) == (USERS, USERS)
    for party in PARTIES if who == "all" else (who,):
        parties.wrong[party] = JUMP
    parties.round()
    assert parties.what_can_be_destroyed() == before
    # Right again: a clock that was set holds until somebody has looked and starts it again.
    parties.wrong = dict.fromkeys(PARTIES, 0.0)
    parties.round()
    held = {
        "shuffler": parties.shuffler.shuffler.clocks,
        "analyzer": parties.analyzer.analyzer.clocks,
        "issuer": parties.issuer.issuer.clocks,
    }
    for party, clocks in held.items():
        moved = who in (party, "all")
        assert (clocks.hold() is Hold.MOVED) == moved
    assert parties.what_can_be_destroyed() == before
    parties.running.close()
    parties.open()
    parties.now = (WINDOW + 1) * HOUR + 600.0
    parties.round()
    released = parties.analyzer.analyzer.storage.read("SELECT window FROM release")
    assert released == [(WINDOW,)]
    assert parties.what_can_be_destroyed()["issuer key"][0][3:5] == (None, None)
    parties.running.close()
    store.close()


@pytest.mark.parametrize("who", ["shuffler", "issuer"])
def test_one_that_was_started_with_a_wrong_clock_destroys_nothing(tmp_path: Path, who: str) -> None:
    """It has not moved since the start; the other party's clock says that it is wrong."""
    parties = OwnClocks(tmp_path)
    parties.round()
    store = OutcomeStore(tmp_path / "clients.sqlite")
    parties.take_part(store)
    before = parties.what_can_be_destroyed()
    parties.running.close()
    parties.wrong[who] = JUMP
    parties.open()
    parties.round()
    clocks = {
        "shuffler": parties.shuffler.shuffler.clocks,
        "issuer": parties.issuer.issuer.clocks,
    }[who]
    assert clocks.hold() is Hold.APART
    assert parties.what_can_be_destroyed() == before
    parties.running.close()
    store.close()
