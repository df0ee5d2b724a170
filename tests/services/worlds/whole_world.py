"""All four parties of the protocol on files: real clients, issuer, shuffler and analyser.

Requests go through httpx to the parties without a network in between, so that a test may lose
any of them, or its answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from smoothdp.services.analyzer.counting import tallies
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY, ISSUER
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.formats.card import Card, SignedCard
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.secrets import secret_of
from smoothdp.services.formats.slots import open_slot
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer import Issuer
from smoothdp.services.issuer.issuer_party import IssuerParty
from smoothdp.services.issuer.issuer_tables import ISSUER_SCHEMA
from smoothdp.services.issuer.window_keys import close_windows, keep_card, key_of_window
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.store.revoked import Revoked
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.wire.calls import ServiceError, Unreachable
from smoothdp.services.wire.problems import Problem
from tests.services.storages import without_waiting_for_disks
from tests.services.worlds.party_world import HOUR, PASS_KEY, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import ISSUER_SIGN, small_task

INVITATION_KEY = b"i" * 32
LOST = 0
"""In place of a status: nothing came back."""


def weak_task(**options: Any) -> Task:
    """Return a task whose weak promise holds from three users on: tests stay quick."""
    fields: dict[str, Any] = {"epsilon": "8", "min_batch": 3, "honest_share": "1"}
    return small_task(**(fields | options))


class WholeWorld(PartyWorld):
    """All parties in a directory; `restart` opens their files anew.

    Args:
        folder: of their files.
        task: `weak_task` by default.
        reach: called at the named points of all parties.
        fast: commits return before they are on disk, for tests of many runs.
    """

    def __init__(
        self,
        folder: Path,
        task: Task | None = None,
        *,
        reach: Reach = pass_by,
        fast: bool = False,
    ) -> None:
        self.fast = fast
        self.last_status = LOST
        self.sent: list[tuple[int, str, bytes]] = []
        super().__init__(folder, task or weak_task(), reach=reach)

    def _open(self) -> None:
        super()._open()
        self.clocks.append(ClockGuard(wall=lambda: self.now, boot=lambda: self.now - 1000))
        self.clocks[-1].heard(self.now)
        self.stores: dict[str, OutcomeStore] = {}
        self.issuer = Issuer(
            SqliteStorage(self.folder / "issuer.sqlite", ISSUER_SCHEMA),
            task=self.task,
            invitation_key=INVITATION_KEY,
            sign_key=ISSUER_SIGN,
            revoked=Revoked(self.folder / "revoked"),
            clocks=self.clocks[-1],
            reach=lambda point: self.reach(point),
        )
        self.issuer_party = IssuerParty(self.task, self.issuer, "token", self.folder)
        if self.fast:
            for storage in (self.shuffler.storage, self.analyzer.storage, self.issuer.storage):
                without_waiting_for_disks(storage)
            for keys in self.keys:
                without_waiting_for_disks(keys._storage)

    def close(self) -> None:
        """Close every file."""
        super().close()
        self.issuer.storage.close()
        for store in self.stores.values():
            store.close()

    # ---- cards -------------------------------------------------------------------------------

    def open_window(self, window: int = WINDOW) -> Card:
        """Exchange the parts of a card as the parties do, from wherever that stopped."""
        cards, spki = self.analyzer.cards, key_of_window(self.issuer, window)
        assert spki is not None
        assert cards.put_key(GATEWAY, window, self.shuffler.cards.offered_key(window)) in (200, 201)
        assert cards.put_key(ISSUER, window, spki) in (200, 201)
        offered = cards.shown(window)
        assert offered is not None
        signed = self.shuffler.cards.sign(window, offered)
        assert cards.put_signed(window, signed) in (200, 201)
        self.shuffler.cards.given(window)
        keep_card(self.issuer, window, signed)
        return SignedCard.decode(signed).card

    # ---- people ------------------------------------------------------------------------------

    def pass_of(self, person: str) -> str:
        """Return the pass of a person, always the same."""
        return _secret(PASS_KEY, "pass", self.task, person)

    def invitation_of(self, person: str) -> str:
        """Return the invitation of a person, always the same."""
        return _secret(INVITATION_KEY, "invitation", self.task, person)

    def client(self, person: str, device: str = "clients") -> Client:
        """Return the client of a person; a device is a file of its own."""
        if device not in self.stores:
            self.stores[device] = OutcomeStore(self.folder / f"{device}.sqlite")
            if self.fast:
                without_waiting_for_disks(self.stores[device]._storage)
        return Client(
            self.task,
            self.stores[device],
            name=person,
            clock=lambda: self.now,
            reach=lambda point: self.reach(point),
        )

    def take_part(
        self,
        person: str,
        datum: Any = 1,
        *,
        window: int = WINDOW,
        device: str = "clients",
        lose: tuple[str, ...] = (),
    ) -> int:
        """Let a person take part; return the last status, 202 also if nothing was to be sent.

        Args:
            lose: "request" or "answer" of "card", "tokens" or "reports", as in "card request".
        """
        self.last_status = 202
        with (
            _asking(self._issuer_answers, lose) as issuer,
            _asking(self._shuffler_answers, lose) as shuffler,
        ):
            try:
                submit(
                    *(self.client(person, device), datum),
                    shuffler=shuffler,
                    pass_secret=self.pass_of(person),
                    issuer=issuer,
                    invitation=self.invitation_of(person),
                    window=window,
                    attempts=1,
                    pause=lambda _: None,
                )
            except Unreachable:
                self.last_status = LOST
            except ServiceError:
                assert self.last_status not in (200, 202)
        return self.last_status

    def report_of(self, person: str, window: int = WINDOW, device: str = "clients") -> Report:
        """Return the report that a person's client keeps."""
        kept = self.client(person, device).kept(window)
        assert kept is not None
        return Report.decode(kept.report, signed=True)

    def values_of(self, report: Report, window: int) -> Counter[int]:
        """Return what the slots of a report hold, as the analyser will see it."""
        key = self.analyzer.cards.inner_key(window)
        assert key is not None
        return Counter(open_slot(slot, self.card(window), key) for slot in report.slots)

    def post(self, window: int, secret: str, sealed: bytes) -> int:
        """Hand any bytes to the shuffler as its HTTP face does; return the status."""
        sender = self.shuffler.sender(secret)
        if sender is None:
            return Taken.UNAUTHORIZED.value
        refused = self.shuffler.takes(window)
        if refused is not None:
            return refused.value
        judged = self.shuffler.judge(window, sender, sealed)
        return (judged if isinstance(judged, Taken) else self.shuffler.accept([judged])[0]).value

    # ---- the end of a window -----------------------------------------------------------------

    def tell(self, *, lose: tuple[str, ...] = ()) -> None:
        """Let the issuer tell how many it served; a loss is an error of httpx's."""
        with _asking(self._analyzer_answers, lose) as analyzer:
            self.issuer_party._tell_served(analyzer)

    def end(self, window: int = WINDOW) -> dict[str, Any]:
        """Let a window pass all its stations; return what the analyser says of it."""
        self.seal(window)
        close_windows(self.issuer)
        self.tell()
        self.deliver()
        work(self.analyzer)
        return self.result(window)

    def tally(self, window: int = WINDOW) -> Counter[int]:
        """Return what the analyser has counted of a window and keeps still."""
        rows = self.analyzer.storage.read("SELECT batch_id FROM batch WHERE window = ?", (window,))
        return Counter(tallies(self.analyzer, bytes(rows[0][0]))) if rows else Counter()

    def slots_of_batch(self, window: int = WINDOW) -> list[bytes]:
        """Return the slots of a sealed batch, in the order that the analyser sees."""
        rows = self.shuffler.storage.read(
            "SELECT p.bytes FROM batch_part p JOIN batch b ON b.batch_id = p.batch_id "
            "WHERE b.window = ? ORDER BY p.part",
            (window,),
        )
        data, width = b"".join(bytes(row[0]) for row in rows), self.shuffler.record_bytes
        return [data[at : at + 52] for at in range(0, len(data), width)]

    # ---- who answers -------------------------------------------------------------------------

    def _issuer_answers(self, request: httpx.Request) -> tuple[str, httpx.Response]:
        kind, window = request.url.path.split("/")[2], int(request.url.path.split("/")[-1])
        if kind == "tasks":
            card = self.issuer.card(window)
            self.last_status = 404 if card is None else 200
            return "card", httpx.Response(self.last_status, content=card or b"")
        body, invitation = request.content, request.headers["authorization"][7:]
        answer: Any = self.issuer.admit(invitation, window, len(body))
        if not isinstance(answer, Problem):
            answer = self.issuer.answer(answer, body)
        self.last_status = answer.status if isinstance(answer, Problem) else 200
        content = b"" if isinstance(answer, Problem) else answer
        return "tokens", httpx.Response(self.last_status, content=content)

    def _shuffler_answers(self, request: httpx.Request) -> tuple[str, httpx.Response]:
        window, secret = int(request.url.path.split("/")[-1]), request.headers["authorization"][7:]
        self.sent.append((window, secret, request.content))
        self.last_status = self.post(window, secret, request.content)
        return "reports", httpx.Response(self.last_status)

    def _analyzer_answers(self, request: httpx.Request) -> tuple[str, httpx.Response]:
        window = int(request.url.path.split("/")[-1])
        return "served", httpx.Response(self.analyzer.put_served(window, request.content))


@contextmanager
def _asking(
    answers: Callable[[httpx.Request], tuple[str, httpx.Response]], lose: tuple[str, ...]
) -> Iterator[httpx.Client]:
    """Yield a client whose requests are answered here, or lost on either way."""

    def handle(request: httpx.Request) -> httpx.Response:
        kind = request.url.path.split("/")[2]
        if f"{'card' if kind == 'tasks' else kind} request" in lose:
            raise httpx.ConnectError("lost")
        kind, answer = answers(request)
        if f"{kind} answer" in lose:
            raise httpx.ReadError("lost")
        return answer

    transport = httpx.MockTransport(handle)
    with httpx.Client(base_url="http://127.0.0.1:1", transport=transport) as http:
        yield http


def _secret(key: bytes, use: Any, task: Task, person: str) -> str:
    identity = person.encode().rjust(16)
    return secret_of(key, use=use, task_id=task.task_id, identity=identity).text


__all__ = ["HOUR", "LOST", "WINDOW", "WholeWorld", "weak_task"]
