"""An issuer with a clock that tests move, cards made by hand, and a shuffler that records."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.formats.card import Card, SignedCard, sign_card
from smoothdp.services.formats.report import Report, open_report
from smoothdp.services.formats.secrets import Secret
from smoothdp.services.issuer.issuer import Account, Issuer
from smoothdp.services.issuer.issuer_tables import ISSUER_SCHEMA
from smoothdp.services.issuer.issuer_web import issuer_app
from smoothdp.services.issuer.window_keys import keep_card, key_of_window
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.store.revoked import Revoked
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.running import on_loopback
from tests.services.worlds.small_tasks import ANALYZER_SIGN, ISSUER_SIGN, SHUFFLER_SIGN, small_task

HOUR, WINDOW = 3600, 1000
INVITATION_KEY = b"i" * 32


class IssuingWorld:
    """One issuer, the keys of all parties, and the present time."""

    def __init__(self, folder: Path, *, reach: Reach = pass_by, **task: Any) -> None:
        self.folder = folder
        self.task = small_task(**task)
        self.now = float(WINDOW * HOUR + 600)
        self.gateway, self.inner = PrivateKey.generate(), PrivateKey.generate()
        self.wall_ahead = 0.0
        self._running = contextlib.ExitStack()
        self._address: str | None = None
        self.storage = SqliteStorage(folder / "issuer.sqlite", ISSUER_SCHEMA)
        self.storage._connection.execute("PRAGMA synchronous=OFF")
        self.reach = reach
        self.restart()

    def restart(self) -> None:
        """Start the issuer again: its clocks are compared anew."""
        self.clocks = ClockGuard(
            wall=lambda: self.now + self.wall_ahead, boot=lambda: self.now - 1000
        )
        self.clocks.heard(self.now)
        self.issuer = self.another_process(self.storage)

    def another_process(self, storage: SqliteStorage | None = None) -> Issuer:
        """Return an issuer on the same file."""
        return Issuer(
            storage or SqliteStorage(self.folder / "issuer.sqlite", ISSUER_SCHEMA),
            task=self.task,
            invitation_key=INVITATION_KEY,
            sign_key=ISSUER_SIGN,
            revoked=Revoked(self.folder / "revoked"),
            clocks=self.clocks,
            reach=lambda point: self.reach(point),
        )

    def go_to(self, now: float) -> None:
        """Let time pass for all, the analyser's clock too."""
        self.now = now
        self.clocks.heard(now)

    def make_card(self, window: int = WINDOW, *, spki: bytes | None = None) -> bytes:
        """Return a card that both services signed, with the issuer's key by default."""
        if spki is None and self.task.signed:
            spki = self.spki(window)
        card = Card(
            self.task.task_id,
            window,
            self.gateway.public.to_bytes(),
            self.inner.public.to_bytes(),
            spki,
        )
        signed = SignedCard(card, sign_card(card, ANALYZER_SIGN), sign_card(card, SHUFFLER_SIGN))
        return signed.encode()

    def spki(self, window: int = WINDOW) -> bytes:
        """Return the issuer's key of a window, made if there is none yet; it stays when closed."""
        made = key_of_window(self.issuer, window)
        stored = self.storage.read("SELECT spki FROM window_key WHERE window = ?", (window,))
        assert made in (None, stored[0][0])
        return bytes(stored[0][0])

    def open_window(self, window: int = WINDOW) -> bytes:
        """Make the card of a window and give it to the issuer; return it."""
        card = self.make_card(window)
        keep_card(self.issuer, window, card)
        return card

    def invitation(self) -> str:
        """Return an invitation for a new person."""
        secret = Secret.issue(INVITATION_KEY, use="invitation", task_id=self.task.task_id)
        return secret.text

    def account(self, invitation: str | None = None, window: int = WINDOW) -> Account:
        """Return a person who may ask."""
        who = self.issuer.admit(invitation or self.invitation(), window, self.issuer.request_bytes)
        assert isinstance(who, Account), who
        return who

    def client(self, device: str = "client", **options: Any) -> Client:
        """Return a client whose store is in a folder of that name."""
        (self.folder / device).mkdir(exist_ok=True)
        store = OutcomeStore(self.folder / device / "windows.sqlite")
        return Client(self.task, store, clock=lambda: self.now, **options)

    @property
    def address(self) -> str:
        """The address of the issuer, which runs until the end of the test."""
        if self._address is None:
            self._address = self._running.enter_context(on_loopback(issuer_app(self.issuer)))
        return self._address

    def at_end(self, call: Callable[[], object]) -> None:
        """Call something at the end of the test, the last one first."""
        self._running.callback(call)

    def close(self) -> None:
        self._running.close()
        self.storage.close()


class Recorder:
    """A shuffler that listens, keeps all that it is sent and answers as it is told."""

    def __init__(self, world: IssuingWorld, answers: list[int] | None = None) -> None:
        self.world = world
        self.answers = answers or []
        self.bodies: list[bytes] = []
        self.passes: set[str] = set()
        self.connections = 0
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def setup(self) -> None:
                recorder.connections += 1
                super().setup()

            def do_POST(self) -> None:
                recorder.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                recorder.passes.add(self.headers["authorization"])
                self.send_response(recorder.answers.pop(0) if recorder.answers else 202)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True).start()
        world.at_end(server.server_close)
        world.at_end(server.shutdown)
        self.address = f"http://127.0.0.1:{server.server_address[1]}"

    def reports(self) -> list[Report]:
        """Return what it was sent, opened with the gateway's key."""
        card = SignedCard.decode(self.world.make_card()).card
        return [open_report(body, card, self.world.gateway) for body in self.bodies]


def send(
    world: IssuingWorld,
    client: Client,
    shuffler: Recorder,
    *,
    invitation: str,
    datum: Any = 1,
    attempts: int = 1,
) -> int:
    """Let a client take part in the present window, over HTTP."""
    with connect(world.address) as issuer, connect(shuffler.address) as http:
        return submit(
            client,
            datum,
            shuffler=http,
            pass_secret="p" * 96,
            issuer=issuer,
            invitation=invitation,
            window=WINDOW,
            attempts=attempts,
            pause=lambda _: None,
        )
