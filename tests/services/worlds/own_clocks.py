"""Three parties over HTTP, each with a clock of its own that may be wrong."""

from __future__ import annotations

import contextlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from smoothdp.errors import SmoothdpError
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.issuer.issuer_party import IssuerParty, issue_invitations
from smoothdp.services.operations.clock_guard import ClockGuard
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
