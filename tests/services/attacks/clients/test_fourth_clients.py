"""A fourth round of attacks, on clients and those who use them, from the pages alone.

A proxy in the environment, answers that drip, two programs of one person, another person without a
name of their own, a device that goes on to another task.
"""

from __future__ import annotations

import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidParameter
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import (
    ANSWERED,
    DESTROYED,
    MISSED,
    SENT,
    UNSURE,
    Kept,
    OutcomeStore,
)
from smoothdp.services.client.submit import _ask_what_was_destroyed
from smoothdp.services.formats.marks import MARK_BYTES
from smoothdp.services.wire import calls
from smoothdp.services.wire.calls import ServiceError, Unreachable, ask, connect
from tests.services.client.test_client_commands import Place
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder, send
from tests.services.worlds.quick_clients import hasten
from tests.services.worlds.small_tasks import small_task


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


class Listener:
    """Somebody who listens, keeps what was sent, and answers as it is told."""

    def __init__(self, answer: Callable[[socket.socket], None]) -> None:
        self.heard: list[bytes] = []
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                self.heard.append(connection.recv(1 << 16))
                self._answer(connection)

    def close(self) -> None:
        # That wakes whoever waits for the next one.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._socket.close()


@pytest.fixture
def listen() -> Iterator[Callable[[Callable[[socket.socket], None]], Listener]]:
    made: list[Listener] = []

    def start(answer: Callable[[socket.socket], None]) -> Listener:
        made.append(Listener(answer))
        return made[-1]

    yield start
    for each in made:
        each.close()


Listen = Callable[[Callable[[socket.socket], None]], Listener]


# ---- connections


def test_a_proxy_of_the_environment_reads_no_pass(
    listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain http is for this machine alone; it went to the proxy, which got the pass."""

    def accept(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")

    proxy = listen(accept)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.address)
    with connect("http://127.0.0.1:9") as shuffler, pytest.raises(Unreachable):
        ask(shuffler, "POST", "/v2/reports/x/1", token="pass", body=b"report")
    assert proxy.heard == []


def test_an_address_or_a_proxy_that_is_none_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for address in (
        "http://[::1]evil.example",
        "https://xn--",
        "http://127.0.0.1?@x",
        "https://x#y",
    ):
        with pytest.raises(InvalidParameter, match="Expected an address"):
            connect(address)
    for proxy in ("foo://proxy", "socks4://127.0.0.1:1", "http://[::1"):
        monkeypatch.setenv("https_proxy", proxy)
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        with pytest.raises(InvalidParameter, match="HTTPS_PROXY"):
            connect("https://shuffler.example")
        connect("http://127.0.0.1:1").close()


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 Good\r\nx: ", b"HTTP/1.1 200 Good\r\n\r\n"])
def test_an_answer_that_drips_has_an_end(
    start: bytes, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte now and then was an answer for months, in its headers too."""

    def drip(connection: socket.socket) -> None:
        connection.sendall(start)
        for _ in range(100):
            connection.sendall(b"x")
            time.sleep(0.05)

    monkeypatch.setattr(calls, "whole_seconds", lambda _: 0.3)
    began = time.monotonic()
    with connect(listen(drip).address) as service, pytest.raises(Unreachable, match="in time"):
        ask(service, "GET", "/")
    assert time.monotonic() - began < 2


# ---- several programs and several people on one state


@pytest.mark.parametrize("step", ["token_request", "finish", "sealed_report"])
def test_a_program_that_is_overtaken_by_another_one_of_the_same_person(
    step: str, world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was told to take part in the next window, although the report had been accepted."""
    shuffler, mine = Recorder(world), world.invitation()
    first, second = world.client(), world.client()
    second.take_part(1, card=world.make_card(), window=WINDOW)
    go_on: Callable[..., object] = getattr(second, step)

    def overtaken(*given: object) -> object:
        send(world, first, shuffler, invitation=mine)
        return go_on(*given)

    monkeypatch.setattr(second, step, overtaken)
    assert send(world, second, shuffler, invitation=mine) == WINDOW
    assert len({report.encode() for report in shuffler.reports()}) == 1
    row = world.client().kept(WINDOW)
    assert row is not None
    assert row.state == SENT


def test_a_word_of_the_shuffler_that_comes_late_is_kept(world: IssuingWorld) -> None:
    """Somebody else's run settled the window meanwhile: the look-up denied that it ever came."""
    shuffler, client = Recorder(world), world.client()
    hand_in = client.accepted

    def meanwhile(window: int) -> None:
        world.now += 2 * HOUR
        world.client(name="another person").settle()
        hand_in(window)

    client.accepted = meanwhile  # type: ignore[method-assign]
    send(world, client, shuffler, invitation=world.invitation())
    row = client.kept(WINDOW)
    assert row is not None
    assert row.state == ANSWERED
    assert row.acknowledged
    assert row.report == b""
    assert len(row.marks) == MARK_BYTES
    # What the shuffler said that it destroyed stays so.
    client.destroyed(WINDOW)
    hand_in(WINDOW)
    assert client.spent() == []
    row = client.kept(WINDOW)
    assert row is not None
    assert row.state == DESTROYED


def test_a_late_report_that_another_program_settles_costs_no_present_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking what waits and sending it the grace was over: the present one was missed."""
    with ExitStack() as stack:
        place = Place(tmp_path, stack)
        monkeypatch.setattr(Client, "waiting", lambda client: [client.window_now() - 1])
        settled = iter([UNSURE])
        kept = Client.kept

        def moved(client: Client, window: int) -> Kept | None:
            if window == client.window_now():
                return kept(client, window)
            return Kept(b"d", b"", b"", b"", b"m" * 16, next(settled))

        monkeypatch.setattr(Client, "kept", moved)
        place.submit()


def test_whoever_sends_what_another_person_drew_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --person the second one was told "Accepted", and nothing of theirs was sent."""
    with ExitStack() as stack:
        place = Place(tmp_path, stack)
        shuffler, place.shuffler = place.shuffler, "http://127.0.0.1:9"
        hasten(monkeypatch, time.time, attempts=5)
        with pytest.raises(SystemExit):
            place.submit("1")
        place.shuffler = shuffler
        (tmp_path / "pass of b").write_text(place.passes[1])
        (tmp_path / "invitation of b").write_text(place.invitations[1])
        capsys.readouterr()
        place.submit("0", **{"pass": "pass of b", "invitation": "invitation of b"})
        said = capsys.readouterr()
        assert "was drawn before" in said.err
        assert "--person" in said.err
        assert said.out == f"Accepted for window {place.window}.\n"


def test_a_silent_shuffler_is_asked_once_what_it_destroyed(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a minute for each window of the budget: 15 for 30, days for a long one."""
    asked: list[str] = []

    def silent(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        raise httpx.ReadTimeout("silent")

    client = world.client()
    monkeypatch.setattr(client, "spent", lambda: [1, 2, 3])
    with httpx.Client(base_url="https://x", transport=httpx.MockTransport(silent)) as http:
        _ask_what_was_destroyed(client, http)
    assert len(asked) == 1


# ---- what is left on the device


@pytest.mark.parametrize("how", ["drawn", "final"])
def test_a_device_that_goes_on_to_another_task_keeps_no_report_and_no_seed(
    how: str, world: IssuingWorld
) -> None:
    """They stayed for ever, if the first task never ran again."""
    first, shuffler = world.client(), Recorder(world, [503])
    if how == "drawn":
        row = first.take_part(1, card=world.make_card(), window=WINDOW)
        secret: tuple[bytes, ...] = (row.slots, row.seed)
    else:
        with suppress(ServiceError):
            send(world, first, shuffler, invitation=world.invitation())
        row = first.kept(WINDOW) or row
        secret = shuffler.reports()[0].slots + shuffler.reports()[0].signatures
    world.go_to((WINDOW + 2) * HOUR)
    second = Client(
        small_task(issuer=None, proof="none", window_seconds=7, grace_seconds=0),
        OutcomeStore(world.folder / "client" / "windows.sqlite"),
        clock=lambda: world.now,
    )
    assert all(secret)
    assert second.settle() == 1
    left = b"".join(path.read_bytes() for path in (world.folder / "client").glob("*"))
    assert not any(each in left for each in secret)
    settled = first.kept(WINDOW)
    assert settled is not None
    assert settled.state == (MISSED if how == "drawn" else UNSURE)
    # Windows of another length are no reason to end those of this one too early.
    assert first.window_now() == WINDOW + 2


def test_a_window_of_another_task_that_is_open_is_left_alone(world: IssuingWorld) -> None:
    first = world.client()
    first.take_part(1, card=world.make_card(), window=WINDOW)
    for now, settled in (((WINDOW + 1) * HOUR + 299, 0), ((WINDOW + 1) * HOUR + 300, 1)):
        world.go_to(now)
        second = Client(
            small_task(issuer=None, proof="none", window_seconds=7, grace_seconds=0),
            OutcomeStore(world.folder / "client" / "windows.sqlite"),
            clock=lambda: world.now,
        )
        assert second.settle() == settled


def test_rows_of_an_earlier_program_are_settled_when_their_task_runs(world: IssuingWorld) -> None:
    first = world.client()
    first.take_part(1, card=world.make_card(), window=WINDOW)
    with closing(sqlite3.connect(world.folder / "client" / "windows.sqlite")) as file, file:
        file.execute("DROP TABLE task")
        file.execute("UPDATE schema_number SET number = 1")
        file.execute("PRAGMA user_version = 1")
    world.go_to((WINDOW + 2) * HOUR)
    assert world.client().settle() == 1
