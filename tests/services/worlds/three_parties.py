"""Analyser, shuffler and issuer, each in its directory, on one clock that tests move."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.formats.design.task_request import create_task
from smoothdp.services.formats.design.task_shape import TaskIssuer
from smoothdp.services.formats.party_files import (
    CALLERS,
    PARTIES,
    callers_of,
    make_keys,
    write_task,
)
from smoothdp.services.formats.signing import VerifyingKey
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer_party import IssuerParty
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.wire.running import on_loopback

HOUR, WINDOW, USERS = 3600, 1000, 12


class Parties:
    """Three parties, each in its directory, the analyser listening; time is one for all."""

    def __init__(
        self,
        folder: Path,
        stack: ExitStack,
        *,
        now: float = WINDOW * HOUR + 60.0,
        window_seconds: int = HOUR,
        windows: int = 3,
    ) -> None:
        self.folder, self.now = folder, now
        halves = {party: make_keys(party, folder / party) for party in PARTIES}
        self.task: Task = create_task(
            "boolean_sum",
            epsilon="4",
            delta="0.01",
            min_batch=USERS,
            window_seconds=window_seconds,
            grace_seconds=600,
            windows=windows,
            analyzer_sign_key=VerifyingKey.from_hex(halves["analyzer"].sign_key),
            shuffler_sign_key=VerifyingKey.from_hex(halves["shuffler"].sign_key),
            issuer=TaskIssuer(
                "issuer.example", "https://issuer.example", halves["issuer"].sign_key
            ),
            origin="analyzer.example",
        )
        for party in PARTIES:
            callers = {name: half for name, half in halves.items() if name in CALLERS}
            write_task(folder / party, self.task, callers_of(callers))
        self.analyzer = AnalyzerParty.from_directory(folder / "analyzer", clocks=self.clocks())
        self.shuffler = ShufflerParty.from_directory(folder / "shuffler", clocks=self.clocks())
        self.issuer = IssuerParty.from_directory(folder / "issuer", clocks=self.clocks())
        self.url = stack.enter_context(on_loopback(self.analyzer.app(work_seconds=3600)))
        for opened in (self.analyzer, self.shuffler, self.issuer):
            stack.callback(opened.close)

    def clocks(self) -> ClockGuard:
        return ClockGuard(wall=lambda: self.now, boot=lambda: self.now - 1000)

    def round(self) -> None:
        """Let every party work once; the analyser's card needs both of the others."""
        for party in (self.shuffler, self.issuer, self.shuffler, self.issuer):
            party.work(self.url)
        self.analyzer.work()
