"""Shuffler and analyser on files, cards and tokens made by hand, and a clock that tests move."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.release import read_result, work
from smoothdp.services.analyzer.window_cards import GATEWAY, ISSUER
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.formats.card import Card, SignedCard
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.secrets import Secret
from smoothdp.services.formats.served import Served
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.formats.task import Task
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.sealing import Sealed, seal_due
from smoothdp.services.shuffler.shuffler import Shuffler
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.tokens.issuer_key import IssuerKey
from tests.services.storages import open_state
from tests.services.worlds.signed_reports import signed_report
from tests.services.worlds.small_tasks import (
    ANALYZER_SIGN,
    ISSUER_SIGN,
    SHUFFLER_SIGN,
    small_task,
)

HOUR, WINDOW = 3600, 1000
DAY = 24 * HOUR
ENOUGH = 14
"""So many people are a batch of a small task, with some to spare."""
PASS_KEY = b"p" * 32


@cache
def issuer_key() -> IssuerKey:
    """Return an issuer's key; making one takes a while."""
    return IssuerKey.generate()


class PartyWorld:
    """A shuffler and an analyser in a directory; `restart` opens their files anew."""

    def __init__(self, folder: Path, task: Task | None = None, *, reach: Reach = pass_by) -> None:
        self.folder = folder
        self.task = small_task() if task is None else task
        self.now = float(WINDOW * HOUR + 600)
        self.reach = reach
        self.offers: list[tuple[str, bytes]] = []
        self._cards: dict[int, Card] = {}
        self._open()

    def _open(self) -> None:
        def reach(point: str) -> None:
            self.reach(point)

        self.clocks = [
            ClockGuard(wall=lambda: self.now, boot=lambda: self.now - 1000) for _ in range(2)
        ]
        self.go_to(self.now)
        self.keys = [
            ErasableKeys(self.folder / name) for name in ("gateway.sqlite", "inner.sqlite")
        ]
        with ExitStack() as refused:
            # A party that does not start leaves no connection open.
            for keys in self.keys:
                refused.callback(keys.close)
            states = []
            for role, schema in (("shuffler", SHUFFLER_SCHEMA), ("analyzer", ANALYZER_SCHEMA)):
                states.append(open_state(self.folder, role, schema))
                refused.callback(states[-1].close)
            self.shuffler = Shuffler(
                states[0],
                task=self.task,
                keys=self.keys[0],
                sign_key=SHUFFLER_SIGN,
                pass_key=PASS_KEY,
                clocks=self.clocks[0],
                reach=reach,
            )
            self.analyzer = Analyzer(
                states[1],
                task=self.task,
                keys=self.keys[1],
                sign_key=ANALYZER_SIGN,
                ledgers=self.folder,
                clocks=self.clocks[1],
                reach=reach,
            )
            refused.pop_all()

    def close(self) -> None:
        """Close every file."""
        for keys in self.keys:
            keys.close()
        self.shuffler.storage.close()
        self.analyzer.storage.close()

    def restart(self) -> None:
        """Close both services and open them on the same files."""
        self.close()
        self._open()

    def go_to(self, now: float) -> None:
        """Let time pass for both, and let each hear the other."""
        self.now = now
        for clocks in self.clocks:
            clocks.heard(now)

    # ---- cards -------------------------------------------------------------------------------

    def open_window(self, window: int = WINDOW) -> Card:
        """Exchange the halves of a card as the parties do; return it."""
        cards = self.analyzer.cards
        assert cards.put_key(GATEWAY, window, self.shuffler.cards.offered_key(window)) in (200, 201)
        if self.task.signed:
            assert cards.put_key(ISSUER, window, issuer_key().public.spki) in (200, 201)
        offered = cards.shown(window)
        assert offered is not None
        signed = self.shuffler.cards.sign(window, offered[: len(offered)])
        assert cards.put_signed(window, signed) in (200, 201)
        self.shuffler.cards.given(window)
        return SignedCard.decode(signed).card

    def card(self, window: int = WINDOW) -> Card:
        """Return the card of a window."""
        if window not in self._cards:
            stored = self.shuffler.cards.stored(window)
            assert stored is not None
            self._cards[window] = SignedCard.decode(stored).card
        return self._cards[window]

    # ---- clients -----------------------------------------------------------------------------

    def new_pass(self) -> str:
        """Return a pass for a new person."""
        return Secret.issue(PASS_KEY, use="pass", task_id=self.task.task_id).text

    def sign(self, slots: Sequence[bytes], window: int = WINDOW) -> Report:
        """Return a report of these slots with the issuer's tokens on them."""
        card, slots = self.card(window), tuple(sorted(slots))
        if not self.task.signed:
            return Report(card.digest, slots)
        return signed_report(self.task, card, slots, issuer_key())

    def report(self, datum: Any = 1, window: int = WINDOW) -> Report:
        """Return the report of an honest person."""
        return self.sign(seal_slots(self.task.values(datum), self.card(window)), window)

    def send(self, report: Report, secret: str | None = None, window: int = WINDOW) -> Taken:
        """Hand a report in; return the shuffler's answer."""
        sender = self.shuffler.sender(self.new_pass() if secret is None else secret)
        if sender is None:
            return Taken.UNAUTHORIZED
        refused = self.shuffler.takes(window)
        if refused is not None:
            return refused
        sealed = seal_report(report.encode(), self.card(window))
        judged = self.shuffler.judge(window, sender, sealed)
        return judged if isinstance(judged, Taken) else self.shuffler.accept([judged])[0]

    def send_many(self, count: int, data: Sequence[Any] = (1, 0), window: int = WINDOW) -> None:
        """Let so many people take part; all must be accepted."""
        opened = []
        for person in range(count):
            sender = self.shuffler.sender(self.new_pass())
            assert sender is not None
            report = self.report(data[person % len(data)], window)
            sealed = seal_report(report.encode(), self.card(window))
            judged = self.shuffler.judge(window, sender, sealed)
            assert not isinstance(judged, Taken), judged
            opened.append(judged)
        assert set(self.shuffler.accept(opened)) == {Taken.ACCEPTED}

    # ---- services ----------------------------------------------------------------------------

    def put(self, path: str, body: bytes) -> int:
        """Hand a request to the analyser, and remember it."""
        self.offers.append((path, body))
        parts = path.split("/")
        batch_id = bytes.fromhex(parts[3])
        if len(parts) == 4:
            return self.analyzer.put_batch(batch_id, body)
        return self.analyzer.put_part(batch_id, int(parts[5]), body)

    def seal(self, window: int = WINDOW) -> list[Sealed]:
        """Let the window end, and seal it."""
        self.go_to(max(self.now, (window + 1) * self.task.window_seconds + self.task.grace_seconds))
        return seal_due(self.shuffler)

    def deliver(self) -> int:
        """Hand over what is sealed."""
        return deliver_batches(self.shuffler, self.put)

    def tell_served(self, accounts: int, window: int = WINDOW) -> int:
        """Let the issuer say how many accounts it served."""
        served = Served(self.card(window).digest, accounts).sign(ISSUER_SIGN)
        return self.analyzer.put_served(window, served.encode())

    def finish(self, accounts: int | None = None, window: int = WINDOW) -> dict[str, Any]:
        """Seal, deliver, count, release; return what the analyser says, its signature checked."""
        self.seal(window)
        self.deliver()
        if accounts is not None:
            assert self.tell_served(accounts, window) in (200, 201)
        work(self.analyzer)
        return self.result(window)

    def result(self, window: int = WINDOW) -> dict[str, Any]:
        """Return what the analyser says of a window; what is final is signed."""
        status, body = read_result(self.analyzer, window, now=self.now)
        if status == 202:
            return dict(json.loads(body))
        signed = SignedResult.decode(body)
        assert signed.verify(ANALYZER_SIGN.public)
        document = signed.document
        assert document["window"] == window
        return {"state": "RELEASED"} | document if status == 200 else document

    def charged(self) -> list[int]:
        """Return the windows that the ledger was charged for, once for each charge."""
        entries = self.analyzer.ledger._ledger.entries()
        return sorted(int(entry.parameters["window"]) for entry in entries)

    def files(self) -> bytes:
        """Return all bytes that the two services keep on disk."""
        return b"".join(p.read_bytes() for p in sorted(self.folder.iterdir()) if p.is_file())


def joined(reports: Iterable[Report]) -> list[bytes]:
    """Return the records of reports."""
    return [record for report in reports for record in report.records]
