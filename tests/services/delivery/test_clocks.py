"""A clock that is two days ahead for a round, at one party or at all: nothing is destroyed."""

from __future__ import annotations

import contextlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import SmoothdpError
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.issuer.issuer_party import IssuerParty, issue_invitations
from smoothdp.services.operations.clock_guard import ClockGuard, Hold
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.running import on_loopback
from tests.services.worlds.directories import party_directories

HOUR, WINDOW, USERS, JUMP = 3600, 1000, 12, 172_800.0
PARTIES = ("shuffler", "analyzer", "issuer")


class OwnClocks:
    """Three parties over HTTP; the wall clock of each may be ahead of the true time."""

    def __init__(self, folder: Path) -> None:
        self.made, self.now = party_directories(folder, windows=2), WINDOW * HOUR + 60.0
        self.wrong = dict.fromkeys(PARTIES, 0.0)
        self.open()

    def open(self) -> None:
        """Start the parties on their files."""
        self.running = ExitStack()
        self.shuffler = ShufflerParty.from_directory(
            self.made.shuffler, clocks=self._of("shuffler")
        )
        self.analyzer = AnalyzerParty.from_directory(
            self.made.analyzer, clocks=self._of("analyzer")
        )
        self.issuer = IssuerParty.from_directory(self.made.issuer, clocks=self._of("issuer"))
        for party in (self.shuffler, self.analyzer, self.issuer):
            self.running.callback(party.close)
        self.url = self.running.enter_context(on_loopback(self.analyzer.app(work_seconds=3600)))

    def _of(self, party: str) -> ClockGuard:
        return ClockGuard(wall=lambda: self.now + self.wrong[party], boot=lambda: self.now - 1000)

    def round(self) -> None:
        """Let all parties work; what fails is tried again in the next round."""
        for _ in range(2):
            for party in (self.shuffler, self.issuer):
                with contextlib.suppress(SmoothdpError, OSError):
                    party.work(self.url)
            self.analyzer.work()

    def take_part(self, store: OutcomeStore) -> None:
        """Let everybody take part."""
        with (
            on_loopback(self.issuer.app(self.url, work_seconds=3600)) as issuer_url,
            on_loopback(self.shuffler.app(self.url, work_seconds=3600)) as shuffler_url,
            connect(issuer_url) as to_issuer,
            connect(shuffler_url) as to_shuffler,
        ):
            passes = issue_passes(self.made.shuffler, USERS)
            invitations = issue_invitations(self.made.issuer, USERS)
            for place, (secret, invitation) in enumerate(zip(passes, invitations, strict=True)):
                submit(
                    *(Client(self.made.task, store, name=str(place), clock=lambda: self.now), 1),
                    shuffler=to_shuffler,
                    pass_secret=secret,
                    issuer=to_issuer,
                    invitation=invitation,
                )

    def what_can_be_destroyed(self) -> dict[str, Any]:
        """Return all keys and rows that a window's end destroys, of every party."""
        window = "WHERE window = 1000"
        shuffler, issuer = self.shuffler.shuffler.storage.read, self.issuer.issuer.storage.read
        return {
            "gateway keys": sorted(self.shuffler.keys.scopes())[:1],
            "reports": shuffler(f"SELECT * FROM pending {window}"),
            "tag key": shuffler(f"SELECT * FROM collecting {window}"),
            "inner keys": sorted(self.analyzer.keys.scopes())[:1],
            "tallies": self.analyzer.analyzer.storage.read("SELECT * FROM counts"),
            "parts": self.analyzer.analyzer.storage.read("SELECT * FROM part"),
            "states": self.analyzer.analyzer.storage.read("SELECT state FROM batch"),
            "issuer key": issuer(f"SELECT * FROM window_key {window}"),
            "accounts": issuer(f"SELECT * FROM issued {window}"),
        }


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
