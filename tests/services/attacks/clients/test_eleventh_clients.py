"""An eleventh round of attacks on clients: what an issuer sees of late reports, and what is said.

A connection that stays open while the shuffler is asked, a window that ends while tokens are
waited for, files exchanged before an issuer that fails.
"""

from __future__ import annotations

import contextlib
import http.server
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.cli.main import main
from smoothdp.errors import SmoothdpError
from smoothdp.services import take_part
from smoothdp.services.client import taking_part
from smoothdp.services.client.outcomes import DRAWN, FINAL, SENT
from smoothdp.services.wire.calls import ServiceError
from tests.services.page.page_person import page
from tests.services.page.page_program import needs_node
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.quick_clients import hasty_world, state_of_me, submitting


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IssuingWorld]:
    made = hasty_world(tmp_path, monkeypatch)
    yield made
    made.close()


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


@pytest.mark.parametrize("answer", ["no card", "another card"])
def test_an_issuer_does_not_see_whether_the_report_of_before_was_sent(
    answer: str, world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The issuer "does not see [...] whether the report was sent".

    One that has no card, or shows a bad one, has its connection for as long as a late report
    takes: of those who had sent theirs it ends at once.
    """
    body = b"" if answer == "no card" else world.make_card(WINDOW + 7)
    watching = Watching(world, b"404 Not Found" if not body else b"200 OK", body)
    for at, status in enumerate((202, 503)):
        monkeypatch.setenv("XDG_STATE_HOME", str(world.folder / f"device {status}"))
        world.go_to(WINDOW * HOUR + 600.0)
        shuffler = Slow(world, [status, 202])
        own = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        asked = partial(take_part, world.task, 1, shuffler=shuffler.address, **own)
        with contextlib.suppress(ServiceError):
            asked(issuer=world.address)
        assert state_of_me(world) == (SENT, FINAL)[at]
        world.go_to((WINDOW + 1) * HOUR + 5.0)
        with pytest.raises(SmoothdpError):
            asked(issuer=watching.address)
        assert state_of_me(world) == SENT
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
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A card comes "from I, or any cache": one that the issuer runs sees no more than the issuer.

    Its connection is there until the shuffler has answered, or was asked in vain five times.
    """
    watching = Watching(world, b"200 OK", world.make_card())
    for status in (202, 503):
        monkeypatch.setenv("XDG_STATE_HOME", str(world.folder / f"device {status}"))
        shuffler = Slow(world, [status])
        with contextlib.suppress(ServiceError):
            take_part(
                world.task,
                1,
                shuffler=shuffler.address,
                issuer=world.address,
                caches=[watching.address],
                pass_secret="0a" * 48,
                invitation=world.invitation(),
            )
        assert len(shuffler.bodies) == 1
    _until(lambda: len(watching.seconds) == 2)
    assert max(watching.seconds) < 0.4


def test_an_issuer_whose_tokens_another_program_got_does_not_see_how_long_the_shuffler_takes(
    world: IssuingWorld,
) -> None:
    """Two programs of one person: one waits for its card while the other one gets the tokens."""
    watching = Watching(world, b"200 OK", world.make_card())
    shuffler = Slow(world, [503, 202])
    own = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    asked = partial(take_part, world.task, 1, shuffler=shuffler.address, **own)

    def overtakes() -> None:
        with contextlib.suppress(ServiceError):
            asked(issuer=world.address)

    watching.meanwhile = overtakes
    assert asked(issuer=watching.address).begun
    _until(lambda: bool(watching.seconds))
    assert watching.seconds[0] < 0.25


def _until(true: Callable[[], bool]) -> None:
    for _ in range(100):
        if true():
            return
        time.sleep(0.02)
    raise AssertionError("never")


# ---- a window that ends while its tokens are waited for


def _slow_prepare(world: IssuingWorld, monkeypatch: pytest.MonkeyPatch, now: float) -> None:
    """Let the first half of taking part last until a time."""
    prepare = vars(taking_part)["prepare"]

    def slow(*given: Any, **more: Any) -> None:
        prepare(*given, **more)
        world.go_to(now)

    monkeypatch.setattr(taking_part, "prepare", slow)


def test_a_window_that_ends_while_tokens_are_waited_for_is_not_one_before(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`late` are "windows before", whose report "was not known to have arrived"."""
    shuffler = Recorder(world, [202])
    own = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    world.go_to((WINDOW + 1) * HOUR - 5.0)
    _slow_prepare(world, monkeypatch, (WINDOW + 1) * HOUR + 5.0)
    part = take_part(world.task, 1, shuffler=shuffler.address, issuer=world.address, **own)
    assert (part.window, part.before, part.begun) == (WINDOW, False, False)
    assert len(shuffler.bodies) == 1
    assert WINDOW not in part.late


def test_a_late_report_that_arrived_is_told_of_beside_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A budget of one window: who asks again in the grace is told of the next window's card alone.

    "The report of window 1000, not known to have arrived, was sent now" is what had happened.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=1)
    try:
        shuffler = Recorder(world, [503, 202])
        asked = submitting(world, shuffler.address)
        with pytest.raises(SystemExit):
            main(asked)
        world.go_to((WINDOW + 1) * HOUR + 5.0)
        capsys.readouterr()
        with contextlib.suppress(SystemExit):
            main(asked)
        assert state_of_me(world) == SENT
        assert f"The report of window {WINDOW}" in capsys.readouterr().err
    finally:
        world.close()


# ---- files exchanged


@pytest.mark.parametrize("status", [b"502 Bad Gateway", b"503 Service Unavailable"])
def test_files_exchanged_before_an_issuer_that_fails(status: bytes, world: IssuingWorld) -> None:
    """With tokens in hand "nothing goes to the issuer": a late report waits, the issuer is away.

    Both sides have seen the other's secret then, and the words name one of them.
    """
    shuffler = Recorder(world, [503, 401])
    own = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    asked = partial(take_part, world.task, 1, shuffler=shuffler.address)
    with pytest.raises(ServiceError):
        asked(issuer=world.address, **own)
    world.go_to((WINDOW + 1) * HOUR + 5.0)
    seen: list[str] = []
    failing = _failing_issuer(world, status, seen)
    exchanged = {"pass_secret": own["invitation"], "invitation": own["pass_secret"]}
    with pytest.raises(SmoothdpError) as said:
        asked(issuer=failing, **exchanged)
    to_issuer = own["pass_secret"] in "".join(seen)
    to_shuffler = f"Bearer {own['invitation']}" in shuffler.passes
    words = str(said.value)
    assert not to_issuer or "it has seen your pass" in words
    assert not to_shuffler or "the shuffler has seen it now" in words


def _failing_issuer(world: IssuingWorld, status: bytes, seen: list[str]) -> str:
    """Return the address of an issuer that has a card, and whose proxy answers for it then."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            card = world.make_card(int(self.path.rpartition("/")[2]))
            self.send_response(200)
            self.send_header("content-length", str(len(card)))
            self.end_headers()
            self.wfile.write(card)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            seen.append(self.headers["authorization"])
            self.send_response(int(status[:3]))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True).start()
    world.at_end(server.server_close)
    world.at_end(server.shutdown)
    return f"http://127.0.0.1:{server.server_address[1]}"


# ---- clocks that were wrong


def test_a_report_that_had_arrived_is_not_said_to_be_destroyed(world: IssuingWorld) -> None:
    """The clock of the device was ahead for a while, after "Accepted": then it is asked again."""
    shuffler = Recorder(world)
    own = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    asked = partial(take_part, world.task, 1, shuffler=shuffler.address, **own)
    asked(issuer=world.address)
    now = world.now
    world.now = now + 5 * HOUR
    with pytest.raises(SmoothdpError):
        asked(issuer=world.address)
    world.now = now
    assert state_of_me(world) == "marks"
    said = ""
    try:
        assert asked(issuer=world.address).before
    except SmoothdpError as error:
        said = str(error)
    assert "destroyed" not in said
    assert "Take part in the next window" not in said


@pytest.mark.parametrize("after", [305.0])
def test_an_issuer_that_was_away_at_the_end_of_a_window_ends_no_task(
    after: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told to "take part in the next window" at its begin, then "one more, after answers in" one.

    No answer was given in it: 300 s later the same command is taken.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=1)
    try:
        shuffler = Recorder(world)
        own = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        asked = partial(take_part, world.task, 1, shuffler=shuffler.address, **own)
        world.go_to((WINDOW + 1) * HOUR - 5.0)
        failing = _failing_issuer(world, b"503 Service Unavailable", [])
        with pytest.raises(ServiceError):
            asked(issuer=failing)
        assert (state_of_me(world), shuffler.bodies) == (DRAWN, [])
        world.go_to((WINDOW + 1) * HOUR + after)
        world.open_window(WINDOW + 1)
        said = ""
        try:
            asked(issuer=world.address)
        except SmoothdpError as error:
            said = str(error)
        assert "after answers in window" not in said
        assert "ask who runs it for a new task" not in said
    finally:
        world.close()


# ---- the page


@needs_node
def test_the_page_says_of_both_secrets_who_has_seen_them(world: IssuingWorld) -> None:
    """The two exchanged, an answer of before that waits, an issuer that fails."""
    recorder = Recorder(world, [503, 401])
    world.open_window(WINDOW + 1)
    found = page(
        world,
        recorder,
        """
        const own = given.invitations[0], passes = [], shown = [];
        const first = await press(1, own, { attempts: 1 });
        now += 3600;
        const failing = async (url, fields = {}) => {
          const secret = fields.headers?.authorization ?? "";
          if (url.startsWith(away) && fields.method === "POST") {
            shown.push(secret);
            return new Response(null, { status: 503 });
          }
          if (!url.startsWith(away) && fields.method === "POST") {
            passes.push(secret);
            return new Response(null, { status: 401 });
          }
          return fetcher(url, fields);
        };
        const second = await press(1, "p".repeat(96),
          { attempts: 1, pass: own, window: given.window + 1, fetcher: failing });
        return { first, second, passes, shown };
        """,
    )
    assert len(found["shown"]) == 1
    words = found["second"]
    assert not found["passes"] or "the second service's side has it now" in words


# ---- what held


@pytest.mark.parametrize("status", [202, 503])
def test_a_connection_ends_with_the_tokens_whatever_the_issuer_says(
    status: int, world: IssuingWorld
) -> None:
    """ "The connection ends with the answer": also if the issuer wants to keep it."""
    stubborn = Stubborn(world)
    shuffler = Slow(world, [status])
    own = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    with contextlib.suppress(ServiceError):
        take_part(world.task, 1, shuffler=shuffler.address, issuer=stubborn.address, **own)
    assert len(shuffler.bodies) == 1
    _until(lambda: bool(stubborn.seconds))
    # One for the card, one for the tokens.
    assert len(stubborn.seconds) == 2
    assert stubborn.seconds[0] < 0.25
