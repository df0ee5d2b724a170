"""Parties of one task over HTTP, each the library's or the one from the page, on one clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from smoothdp.services import issue_invitations, issue_passes, take_part
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.client.collector import WindowRefused, fetch_result, read_collector
from smoothdp.services.client.inclusion import Standing
from smoothdp.services.client.taking_part import look_up_report
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.issuer.issuer_party import IssuerParty
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.wire.running import on_loopback
from tests.services.worlds.directories import party_directories
from tests.services.worlds.second_analyzer import SecondAnalyzer
from tests.services.worlds.second_analyzer_web import listening
from tests.services.worlds.second_issuer import SecondIssuer
from tests.services.worlds.second_shuffler import SecondShuffler

WINDOW, HOUR, GRACE, WEEK = 1000, 3600, 600, 7 * 86_400
OTHERS: dict[str, tuple[Any, Any]] = {
    "shuffler": (SecondShuffler, ShufflerParty),
    "issuer": (SecondIssuer, IssuerParty),
}


class SecondWorld:
    """The parties named in `second` are those from the page, the others the library's."""

    def __init__(
        self,
        folder: Path,
        stack: ExitStack,
        *,
        second: Iterable[str] = ("analyzer",),
        protocol: str = "boolean_sum",
        length: int = HOUR,
        now: float = WINDOW * HOUR + 60.0,
        **more: Any,
    ) -> None:
        self.made = party_directories(folder, protocol, window_seconds=length, **more)
        self.task, self.now, self.folder = self.made.task, now, folder
        self.who: dict[str, Any] = {}
        self.others: dict[str, Any] = {}
        self.works: list[Callable[[], object]] = []
        self.stack = stack
        if "analyzer" in second:
            self.analyzer: Any = self.second_analyzer()
            self.url = stack.enter_context(listening(self.analyzer))
        else:
            self.analyzer = AnalyzerParty.from_directory(self.made.analyzer, clocks=self.clocks())
            stack.callback(self.analyzer.close)
            self.url = stack.enter_context(on_loopback(self.analyzer.app(work_seconds=3600)))
        for name, (page, library) in OTHERS.items():
            if not (folder / name).is_dir():
                continue
            if name in second:
                own = json.loads((folder / name / "secrets.json").read_text())
                other = page(self.task.encoded, own, self.url, now=lambda: self.now)
                self.works.append(other.round)
            else:
                other = library.from_directory(folder / name, clocks=self.clocks())
                stack.callback(other.close)
                self.works.append(partial(other.work, self.url))
            self.others[name] = other
        self.works.append(self.analyzer.work)

    def serve(self) -> None:
        """Let issuer and shuffler listen; the library's also work once, beside the rounds here."""
        for name, other in self.others.items():
            if isinstance(other, SecondIssuer | SecondShuffler):
                self.who[name] = self.stack.enter_context(other.listening())
            else:
                app = other.app(self.url, work_seconds=3600)
                self.who[name] = self.stack.enter_context(on_loopback(app))

    def second_analyzer(self) -> SecondAnalyzer:
        """Start the analyser from the page on the files that it has."""
        own, callers = (
            json.loads((self.made.analyzer / f"{name}.json").read_text())
            for name in ("secrets", "callers")
        )
        return SecondAnalyzer(
            self.task.encoded,
            own,
            callers,
            self.made.analyzer,
            now=lambda: self.now,
            boot=lambda: self.now - 1000,
        )

    def clocks(self) -> ClockGuard:
        return ClockGuard(wall=lambda: self.now, boot=lambda: self.now - 1000)

    def rounds(self, count: int = 2) -> None:
        """Let every party work, so often that each has what the others made."""
        for _ in range(count):
            for work in self.works:
                work()

    def send(self, data: Iterable[Any]) -> int:
        """Let the library's clients take part; return the window."""
        chosen = list(data)
        passes = issue_passes(self.made.shuffler, len(chosen))
        invitations = [""] * len(chosen)
        if self.task.signed:
            invitations = issue_invitations(self.made.issuer, len(chosen))
        for at, (datum, ticket, invitation) in enumerate(
            zip(chosen, passes, invitations, strict=True)
        ):
            secrets = {"pass_secret": ticket, "invitation": invitation} | self.who
            part = take_part(self.task, datum, person=f"person {at}", **secrets)
        return part.window

    def end(self, window: int, after: float = 1.0) -> None:
        """Let window and grace pass."""
        self.now = (window + 1) * float(self.task.window_seconds) + GRACE + after
        self.rounds()

    def result(self, window: int) -> tuple[SignedResult | None, str]:
        """Return what the library's collector reads, and the state: of the answer, or signed."""
        read, token = read_collector(self.made.collector)
        with httpx.Client(base_url=self.url) as http:
            try:
                return fetch_result(http, read, window, token=token)
            except WindowRefused as refusal:
                return refusal.signed, str(refusal.signed.document["state"])

    def look_up(self, window: int, result: SignedResult, person: int) -> Standing:
        """Return what the library's client finds in the marks."""
        return look_up_report(
            self.task,
            window,
            result=result.encode(),
            shuffler=self.who["shuffler"],
            person=f"person {person}",
        )
