"""Whatever a service answers, and wherever it leads, a client goes on or stops in words."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import SmoothdpError
from smoothdp.services import look_up_report, take_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing
from smoothdp.services.client.outcomes import FINAL, SENT, OutcomeStore
from smoothdp.services.client.submit import fetch_card
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.wire.calls import ServiceError, ask, connect
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.late_person import Late
from tests.services.worlds.quick_clients import state_of_me
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN


@pytest.fixture
def says() -> Iterator[Callable[[bytes], str]]:
    """Start somebody who gives one answer to all; return the address."""
    with contextlib.ExitStack() as stack:

        def start(answer: bytes) -> str:
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def serve() -> None:
                while True:
                    try:
                        connection, _ = listening.accept()
                    except OSError:
                        return
                    with connection, contextlib.suppress(OSError):
                        while connection.recv(1 << 16):
                            connection.sendall(answer)

            threading.Thread(target=serve, daemon=True).start()
            # That wakes whoever waits for the next one.
            stack.callback(listening.shutdown, socket.SHUT_RDWR)
            return f"http://127.0.0.1:{listening.getsockname()[1]}"

        yield start


Says = Callable[[bytes], str]
LEADS_AWAY = {
    "no international name": b"https://xn--",
    "no path": b"mailto:somebody",
    "no host": b"https:///",
    "bytes": b"https://\xff\xfe/",
    "no port": b"https://x:99999999/",
}


def _away(place: bytes) -> bytes:
    return b"HTTP/1.1 302 Found\r\nlocation: " + place + b"\r\ncontent-length: 0\r\n\r\n"


@pytest.mark.parametrize("place", LEADS_AWAY.values(), ids=LEADS_AWAY)
def test_an_answer_that_leads_nowhere_is_said_in_words(place: bytes, says: Says) -> None:
    """A client stops at all that is not 408, 5xx or silence, in words and without a traceback."""
    with connect(says(_away(place))) as service, contextlib.suppress(ServiceError):
        assert ask(service, "GET", "/").status == 302


@pytest.mark.parametrize("place", [b"https://xn--", b"mailto:somebody"])
@pytest.mark.parametrize("lie", [Standing.DENIED, Standing.OTHER_CARD, Standing.DESTROYED])
def test_a_shuffler_that_leads_away_from_its_marks_withholds_no_lie(
    place: bytes, lie: Standing, says: Says, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The three lies "are said also if S withholds the marks file": it leads away in its place."""
    world = IssuingWorld(tmp_path, issuer=None, proof="none")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = OutcomeStore.of_user()
    client = Client(world.task, store, clock=lambda: world.now)
    digest = SignedCard.decode(world.make_card()).card.digest
    client.take_part(1, card=world.make_card(), window=WINDOW)
    client.accepted(WINDOW)
    world.go_to((WINDOW + 2) * HOUR)
    client.settle()
    if lie is Standing.DESTROYED:
        client.destroyed(WINDOW)
    store.close()
    marks = MarksFile.of(digest, [bytes(52)])
    header = BatchHeader(False, digest, bytes(16), 20, 1, (bytes(32),), marks.sha256)
    document = {
        "task_id": world.task.task_id.hex(),
        "window": WINDOW,
        "card_digest": (bytes(32) if lie is Standing.OTHER_CARD else digest).hex(),
        "marks_sha256": (bytes(32) if lie is Standing.DENIED else marks.sha256).hex(),
        "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
    }
    result = SignedResult.sign(document, ANALYZER_SIGN).encode()
    shuffler = says(_away(place))
    assert look_up_report(world.task, WINDOW, result=result, shuffler=shuffler) is lie
    world.close()


def test_a_cache_that_leads_away_stops_nobody(world: IssuingWorld, says: Says) -> None:
    """The card comes "from I, or any cache": one that is none is passed by."""
    with connect(says(_away(b"mailto:somebody"))) as cache, connect(world.address) as issuer:
        card = fetch_card(
            [cache, issuer], task=world.task, window=WINDOW, attempts=1, pause=lambda _: None
        )
    assert card == world.make_card()


def test_a_late_report_that_is_led_away_costs_no_present_window(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch, says: Says
) -> None:
    """Too late is no reason to miss the present window, whatever the answer is."""
    late = Late(world, monkeypatch)
    world.open_window(WINDOW + 1)
    late.shuffler.address = says(_away(b"mailto:somebody"))
    with contextlib.suppress(Exception):
        late.take_part()
    assert late.state(WINDOW + 1) == FINAL


STATUS = b"HTTP/1.1 200 Good\r\n"
SHAPES = (
    b"",
    b"\x15\x03\x01\x00\x02\x02\x50",
    b"PRI * HTTP/2.0\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 5000,
    b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" * 3000 + b"HTTP/1.1 204 Nothing\r\n\r\n",
    b"HTTP/1.1 099 Low\r\n\r\n",
    b"HTTP/1.1 1000 High\r\n\r\n",
    b"HTTP/1.1 401 No\r\nwww-authenticate: Digest realm=x, nonce=y\r\ncontent-length: 0\r\n\r\n",
    b"HTTP/1.1 407 No\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n",
    b"HTTP/1.1 410 Gone\r\ncontent-length: 99999999999999999999\r\n\r\n",
    STATUS + b"content-length: -1\r\n\r\n",
    STATUS + b"content-length: 1\r\ncontent-length: 2\r\n\r\nab",
    STATUS + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    STATUS + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
    STATUS + b"content-encoding: \xff\r\ncontent-length: 0\r\n\r\n",
    STATUS + b"a: b\r\n" * 20_000 + b"\r\n",
)


def test_an_answer_of_any_shape_is_refused_in_words(quick_world: IssuingWorld) -> None:
    """Upgrades, thousands of early hints, two lengths, other protocols: never a traceback."""
    shape = [b""]
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection, contextlib.suppress(OSError):
                        connection.recv(1 << 16)
                        connection.sendall(shape[0])

        threading.Thread(target=serve, daemon=True).start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
        for shape[0] in SHAPES:
            with pytest.raises(SmoothdpError):
                take_part(quick_world.task, 1, shuffler="http://127.0.0.1:9", issuer=address, **own)
        assert state_of_me(quick_world) is None
        with pytest.raises(SmoothdpError):
            take_part(quick_world.task, 1, shuffler=address, issuer=quick_world.address, **own)
        for shape[0] in SHAPES[::4]:
            with pytest.raises(SmoothdpError):
                take_part(quick_world.task, 1, shuffler=address, issuer=quick_world.address, **own)
        assert state_of_me(quick_world) == FINAL
        listening.shutdown(socket.SHUT_RDWR)
    shuffler = Recorder(quick_world)
    part = take_part(
        quick_world.task, 0, shuffler=shuffler.address, issuer=quick_world.address, **own
    )
    assert part.begun
    assert state_of_me(quick_world) == SENT
