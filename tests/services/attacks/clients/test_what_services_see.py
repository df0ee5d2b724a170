"""What an issuer, a cache and a network see of a report: not its datum, nor whether it was sent."""

from __future__ import annotations

import contextlib
import math
import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smoothdp.errors import SmoothdpError
from smoothdp.services import take_part
from smoothdp.services.client.outcomes import FINAL, SENT
from smoothdp.services.client.submit import submit
from smoothdp.services.issuer.issuer_web import issuer_app
from smoothdp.services.wire.calls import ServiceError, connect
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.issuing_world import HOUR, IssuingWorld, Recorder
from tests.services.worlds.party_world import WINDOW
from tests.services.worlds.quick_clients import hasty_world, state_of_me

_DATA: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "real_sum": ({}, ["0", "1", "0.333333333333333333333", "1e-90"]),
    "histogram": ({"size": 3, "min_batch": 16, "domain": ("a", "b" * 90, "-")}, ["a", "b" * 90]),
    "paired_count": ({}, [0, 1]),
    "split_sum": ({"bounds": ("-5", "10")}, ["-5", "10", "7.77"]),
}


@pytest.mark.parametrize("protocol", list(_DATA))
def test_all_that_travels_is_the_same_but_for_secrets_whatever_the_datum_is(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Lengths, which are the same for every value": order, connections and headers are too."""
    options, data = _DATA[protocol]
    world = hasty_world(tmp_path, monkeypatch, protocol=protocol, **options)
    seen: list[Any] = []
    secret = re.compile(rb"[0-9a-f]{96}")

    def watched(name: str, app: Any) -> Any:
        async def watching(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                headers = [(key, secret.sub(b"...", value)) for key, value in scope["headers"]]
                seen.append((name, scope["method"], scope["path"], headers, scope["client"][1]))
            await app(scope, receive, send)

        return watching

    async def takes_all(request: Request) -> Response:
        await request.body()
        return Response(status_code=202)

    taking = Starlette(routes=[Route("/{path:path}", takes_all, methods=["POST", "HEAD", "GET"])])
    shapes = []
    with (
        on_loopback(watched("issuer", issuer_app(world.issuer))) as issuer,
        on_loopback(watched("shuffler", taking)) as shuffler,
    ):
        for person, datum in enumerate(data):
            seen.clear()
            own = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
            at = {"shuffler": shuffler, "issuer": issuer, "person": str(person)}
            take_part(world.task, datum, **own, **at)
            ports = [port for *_, port in seen]
            shapes.append(([tuple(one) for *one, _ in seen], [ports.index(port) for port in ports]))
    world.close()
    assert len(shapes[0][0]) == 3
    assert all(shape == shapes[0] for shape in shapes)


class Front:
    """What an issuer sees of a connection beside its bytes: for how long it stays open."""

    def __init__(self, address: str) -> None:
        host, port = address.removeprefix("http://").split(":")
        self._target = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.answered = math.inf
        self.ended = math.inf
        self.over = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def seconds(self) -> float:
        """From the last byte of an answer to the end of the client's side."""
        assert self.over.wait(20)
        return self.ended - self.answered

    def _serve(self) -> None:
        # For the card, and for the tokens.
        for _ in range(2):
            near, _ = self._listener.accept()
            with near, socket.create_connection(self._target) as far:
                threading.Thread(target=self._back, args=(far, near), daemon=True).start()
                while data := near.recv(1 << 16):
                    far.sendall(data)
                self.ended = time.monotonic()
        self.over.set()
        self._listener.close()

    def _back(self, far: socket.socket, near: socket.socket) -> None:
        # The other copy may have ended both by then.
        with suppress(OSError):
            while data := far.recv(1 << 16):
                self.answered = time.monotonic()
                near.sendall(data)


@ONLY_SQLITE
def test_the_issuer_does_not_see_whether_the_report_was_sent(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The page: the issuer does not see "whether the report was sent".

    The connection to the issuer stays open until the shuffler has answered, or the client has
    given up: its end tells the two apart.
    """
    seconds = []
    for name, answers in (("sent", [202]), ("not sent", [503] * 3)):
        (tmp_path / name).mkdir()
        world = IssuingWorld(tmp_path / name)
        world.open_window()
        front, shuffler = Front(world.address), Recorder(world, answers)
        client = world.client()
        with connect(front.address) as issuer, connect(shuffler.address) as to_shuffler:
            try:
                submit(
                    *(client, 1),
                    shuffler=to_shuffler,
                    pass_secret="p" * 96,
                    issuer=issuer,
                    invitation=world.invitation(),
                    window=WINDOW,
                    attempts=3,
                )
            except ServiceError:
                assert name == "not sent"
        seconds.append(front.seconds)
        world.close()
    sent, not_sent = seconds
    assert abs(sent - not_sent) < 0.5


class Watching:
    """An issuer that answers every request alike, and notes for how long a connection goes on."""

    def __init__(self, world: IssuingWorld, status: bytes, body: bytes = b"") -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.seconds: list[float] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self.answer = b"HTTP/1.1 %s\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)
        threading.Thread(target=self._serve, daemon=True).start()
        world.at_end(self.listener.close)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                answered = time.monotonic()
                while data := connection.recv(1 << 16):
                    if data.startswith(b"GET"):
                        self.meanwhile()
                        connection.sendall(self.answer)
                        answered = time.monotonic()
            self.seconds.append(time.monotonic() - answered)


class Slow(Recorder):
    """A shuffler that takes half a second for a report."""

    def __init__(self, world: IssuingWorld, answers: list[int]) -> None:
        super().__init__(world, answers)

        class Bodies(list[bytes]):
            def append(self, body: bytes) -> None:
                time.sleep(0.5)
                super().append(body)

        self.bodies = Bodies()


def _until(true: Callable[[], bool]) -> None:
    for _ in range(100):
        if true():
            return
        time.sleep(0.02)
    raise AssertionError("never")


@pytest.mark.parametrize("answer", ["no card", "another card"])
def test_an_issuer_does_not_see_whether_the_report_of_before_was_sent(
    answer: str, quick_world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The issuer "does not see [...] whether the report was sent".

    One that has no card, or shows a bad one, has its connection for as long as a late report
    takes: of those who had sent theirs it ends at once.
    """
    body = b"" if answer == "no card" else quick_world.make_card(WINDOW + 7)
    watching = Watching(quick_world, b"404 Not Found" if not body else b"200 OK", body)
    for at, status in enumerate((202, 503)):
        monkeypatch.setenv("XDG_STATE_HOME", str(quick_world.folder / f"device {status}"))
        quick_world.go_to(WINDOW * HOUR + 600.0)
        shuffler = Slow(quick_world, [status, 202])
        own = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
        asked = partial(take_part, quick_world.task, 1, shuffler=shuffler.address, **own)
        with contextlib.suppress(ServiceError):
            asked(issuer=quick_world.address)
        assert state_of_me(quick_world) == (SENT, FINAL)[at]
        quick_world.go_to((WINDOW + 1) * HOUR + 5.0)
        with pytest.raises(SmoothdpError):
            asked(issuer=watching.address)
        assert state_of_me(quick_world) == SENT
    _until(lambda: len(watching.seconds) == 2)
    had_sent, had_not = watching.seconds
    assert had_sent < 0.25
    assert had_not < 0.25


class Stubborn:
    """A relay to the issuer that keeps connections, whatever the two ends say of it."""

    def __init__(self, world: IssuingWorld) -> None:
        self.seconds: list[float] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.world = world
        threading.Thread(target=self._serve, daemon=True).start()
        world.at_end(self.listener.close)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                with connection:
                    self._speak(connection)

    def _speak(self, connection: socket.socket) -> None:
        answered = 0.0
        data = b""
        while more := connection.recv(1 << 16):
            data += more
            head, end, body = data.partition(b"\r\n\r\n")
            names = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            if not end or len(body) < int(names.get(b"content-length", b"0")):
                continue
            method, path, _ = head.split(b"\r\n")[0].decode().split(" ")
            known = {"authorization": names.get(b"authorization", b"").decode()}
            answer = httpx.request(method, self.world.address + path, content=body, headers=known)
            connection.sendall(
                b"HTTP/1.1 %d Good\r\nconnection: keep-alive\r\ncontent-length: %d\r\n\r\n"
                % (answer.status_code, len(answer.content))
                + answer.content
            )
            data, answered = b"", time.monotonic()
        self.seconds.append(time.monotonic() - answered)


def test_an_issuer_that_follows_the_protocol_does_not_see_that_a_report_was_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget of one window, the default: there is no card of the next one, where it is sent late.

    Who looks at the issuer's connections sees who had not sent, and when the shuffler answered.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=1)
    try:
        relay = Stubborn(world)
        shuffler = Slow(world, [503, 202])
        own = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        asked = partial(take_part, world.task, 1, shuffler=shuffler.address, **own)
        with pytest.raises(ServiceError):
            asked(issuer=world.address)
        world.go_to((WINDOW + 1) * HOUR + 5.0)
        with pytest.raises(ServiceError, match="no card of this window"):
            asked(issuer=relay.address)
        assert state_of_me(world) == SENT
        _until(lambda: bool(relay.seconds))
        assert relay.seconds[0] < 0.25
    finally:
        world.close()


def test_a_cache_does_not_see_how_the_report_fared(
    quick_world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A card comes "from I, or any cache": one that the issuer runs sees no more than the issuer.

    Its connection is there until the shuffler has answered, or was asked in vain five times.
    """
    watching = Watching(quick_world, b"200 OK", quick_world.make_card())
    for status in (202, 503):
        monkeypatch.setenv("XDG_STATE_HOME", str(quick_world.folder / f"device {status}"))
        shuffler = Slow(quick_world, [status])
        with contextlib.suppress(ServiceError):
            take_part(
                quick_world.task,
                1,
                shuffler=shuffler.address,
                issuer=quick_world.address,
                caches=[watching.address],
                pass_secret="0a" * 48,
                invitation=quick_world.invitation(),
            )
        assert len(shuffler.bodies) == 1
    _until(lambda: len(watching.seconds) == 2)
    assert max(watching.seconds) < 0.4


def test_an_issuer_whose_tokens_another_program_got_does_not_see_how_long_the_shuffler_takes(
    quick_world: IssuingWorld,
) -> None:
    """Two programs of one person: one waits for its card while the other one gets the tokens."""
    watching = Watching(quick_world, b"200 OK", quick_world.make_card())
    shuffler = Slow(quick_world, [503, 202])
    own = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    asked = partial(take_part, quick_world.task, 1, shuffler=shuffler.address, **own)

    def overtakes() -> None:
        with contextlib.suppress(ServiceError):
            asked(issuer=quick_world.address)

    watching.meanwhile = overtakes
    assert asked(issuer=watching.address).begun
    _until(lambda: bool(watching.seconds))
    assert watching.seconds[0] < 0.25


@pytest.mark.parametrize("status", [202, 503])
def test_a_connection_ends_with_the_tokens_whatever_the_issuer_says(
    status: int, quick_world: IssuingWorld
) -> None:
    """ "The connection ends with the answer": also if the issuer wants to keep it."""
    stubborn = Stubborn(quick_world)
    shuffler = Slow(quick_world, [status])
    own = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    with contextlib.suppress(ServiceError):
        take_part(quick_world.task, 1, shuffler=shuffler.address, issuer=stubborn.address, **own)
    assert len(shuffler.bodies) == 1
    _until(lambda: bool(stubborn.seconds))
    # One for the card, one for the tokens.
    assert len(stubborn.seconds) == 2
    assert stubborn.seconds[0] < 0.25
