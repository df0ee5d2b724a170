"""Strangers within a handshake; an analyser that lost all it knew; two processes, two clocks."""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY, ISSUER
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.operations.clock_guard import ClockGuard, Verdict
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.operations.certificates import Authority
from tests.services.operations.served import Served, serving
from tests.services.storages import ONLY_POSTGRESQL, ONLY_SQLITE, Current
from tests.services.worlds.directories import party_directories
from tests.services.worlds.party_world import WINDOW, PartyWorld, issuer_key
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.whole_world import WholeWorld

OF_ADDRESS = 256


def _with_tls(folder: Path, stack: ExitStack) -> Served:
    """Return a shuffler that serves with a certificate, and knows no analyser."""
    written = party_directories(folder / "t")
    certificate, key = Authority(folder).certificate("server")
    more = ["--certificate", str(certificate), "--certificate-key", str(key)]
    more += ["--analyzer", "http://127.0.0.1:1"]
    return stack.enter_context(serving("shuffler", written.shuffler, *more, scheme="https"))


class _ByHand:
    """A TLS connection whose bytes leave when a test says so."""

    def __init__(self, port: int) -> None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.raw = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out)

    def hello(self) -> bytes:
        """Return the first bytes of the handshake."""
        with pytest.raises(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self._out.read()

    def until(self, step: Callable[[], Any]) -> Any:
        """Do a step, and send and receive what it needs."""
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                self.raw.sendall(self._out.read())
                if not (data := self.raw.recv(1 << 16)):
                    raise ConnectionResetError from None
                self._in.write(data)
            else:
                self.raw.sendall(self._out.read())
                return done


@ONLY_SQLITE
def test_an_address_has_no_more_connections_within_a_handshake_than_after_it(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "256 connections an address"; the protocol has it among its limits.

    They are counted from the end of the handshake on. A stranger who begins none has as many as
    the process has descriptors, 5 s each, from one address: then others are hung up on, and
    ``/livez`` does not answer.
    """
    with ExitStack() as stack:
        party = _with_tls(tmp_path, stack)
        descriptors = Path(f"/proc/{party.process.pid}/fd")
        if not descriptors.exists():
            pytest.skip("this system does not list descriptors")
        before = len(os.listdir(descriptors))
        for _ in range(2 * OF_ADDRESS):
            stack.enter_context(socket.create_connection(("127.0.0.1", party.port)))
        time.sleep(1.0)
        assert len(os.listdir(descriptors)) - before <= OF_ADDRESS + 8


@pytest.mark.slow
@ONLY_SQLITE
def test_who_ends_a_handshake_late_keeps_no_service_from_stopping(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The changelog: "a service that stops waits ten seconds for its connections".

    One connection keeps it from ending at once: it does not answer the end of TLS. Another one is
    within its handshake then, and is told nothing. It asks for something every three seconds, for
    as long as it likes.
    """
    with ExitStack() as stack:
        party = _with_tls(tmp_path, stack)
        silent, late = _ByHand(party.port), _ByHand(party.port)
        stack.callback(silent.raw.close)
        stack.callback(late.raw.close)
        silent.until(silent.tls.do_handshake)
        hello = late.hello()
        late.raw.sendall(hello[:20])
        time.sleep(1.0)
        party.process.terminate()
        began = time.monotonic()
        time.sleep(1.0)
        try:
            late.raw.sendall(hello[20:])
            late.until(late.tls.do_handshake)
            while party.process.poll() is None and time.monotonic() - began < 18:
                late.tls.write(b"GET /v2/tasks/00 HTTP/1.1\r\nhost: x\r\n\r\n")
                late.until(lambda: late.tls.read(1 << 16))
                time.sleep(2.0)
        except OSError:
            time.sleep(1.0)  # It was hung up on, as it should be.
        ended = party.process.poll() is not None
        if not ended:
            party.process.kill()
        assert ended, "it still serves a stranger, 18 s after it was told to stop"


@ONLY_SQLITE
def test_windows_that_an_analyser_lost_with_their_keys_keep_their_places(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide, of the loss of what has no backup: "each keeps its place in the budget".

    An analyser without its database and its file of window keys knows of no card: it makes as many
    as the budget pays for once more, while people answer in the windows that were lost.
    """
    world = PartyWorld(tmp_path, small_task(windows=2))
    for window in (WINDOW, WINDOW + 1):
        world.open_window(window)
    offered = world.shuffler.cards.offered_key(WINDOW + 2)
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 2, offered) == 404
    world.analyzer.storage.close()
    world.keys[1].close()
    for lost in (*tmp_path.glob("analyzer.sqlite*"), *tmp_path.glob("inner.sqlite*")):
        lost.unlink()
    world.shuffler.storage.close()
    world.keys[0].close()
    world._open()
    try:
        assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 2, offered) == 404
    finally:
        world.close()


@ONLY_SQLITE
@pytest.mark.parametrize(
    "at",
    [
        "issue: after commit",
        "ingest: after commit",
        "seal: after commit",
        "close: after commit",
        "served: before it is kept as told",
        "deliver: between parts",
        "deliver: before acknowledgement",
        "purge: after commit",
        "release: after commit",
    ],
)
def test_another_process_of_each_party_has_whole_rounds_within_a_step_of_the_first(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    at: str,
) -> None:
    """A window is released once and charged once, with each person once."""
    met: list[str] = []

    def reach(point: str) -> None:
        if point == at:
            met.append(point)
            other.go_to(first.now)
            other.clocks[-1].heard(first.now)
            seal_due(other.shuffler)
            close_windows(other.issuer)
            other.tell()
            other.deliver()
            work(other.analyzer)

    with ExitStack() as stack:
        first = WholeWorld(tmp_path, reach=reach, fast=True)
        stack.callback(first.close)
        other = WholeWorld(tmp_path, fast=True)
        stack.callback(other.close)
        first.open_window()
        assert [first.take_part(person) for person in "abcd"] == [202] * 4
        result = first.end()
        assert met
        assert (result["state"], result["users"], result["accounts_served"]) == ("RELEASED", 4, 4)
        assert other.result() == result
        assert first.charged() == [WINDOW]
        assert first.shuffler.cards.kept() == []


def test_a_machine_that_stood_still_for_days_closes_nothing_and_holds() -> None:
    """Wall clock and time since boot stood still alike, as in a virtual machine that was paused."""
    seconds = {"wall": 1000.0, "boot": 5.0}
    clocks = ClockGuard(wall=lambda: seconds["wall"], boot=lambda: seconds["boot"])
    clocks.heard(1000.0)
    # Two days later by all others it goes on from where it stood.
    assert clocks.verdict(1001) is Verdict.OPEN
    clocks.heard(1000.0 + 172800)
    assert clocks.verdict(1001) is Verdict.HOLD
    seconds["wall"] += 172800  # NTP sets it right: that it was set is all that it knows.
    assert clocks.verdict(1001) is Verdict.HOLD
    assert clocks.to_tell() is None


class TestElsewhere:
    """An address of PostgreSQL that is not the one of before."""

    pytestmark = ONLY_POSTGRESQL

    def test_an_analyser_with_window_keys_begins_no_empty_database(
        self,
        tmp_path: Path,
        storage_kind: str,  # noqa: ARG002
    ) -> None:
        """The guide: "An empty database is refused beside keys of rows that are elsewhere".

        The keys of an analyser's windows are in ``inner.sqlite``, and the cards that they are of in
        the database. Named wrongly at a start, it begins empty: the windows are unknown there, and
        the cards that it makes meanwhile are unknown in the right one afterwards.
        """
        written = party_directories(tmp_path / "t")
        server, now = Current.server, int(time.time())
        assert server is not None
        right, wrong = (server.schema_for(written.analyzer, name) for name in ("right", "wrong"))
        party = AnalyzerParty.from_directory(written.analyzer, storage=right)
        window = now // written.task.window_seconds + 1
        cards = party.analyzer.cards
        gateway = PrivateKey.generate().public.to_bytes()
        assert cards.put_key(GATEWAY, window, gateway) == 201
        assert cards.put_key(ISSUER, window, issuer_key().public.spki) == 201
        assert cards.shown(window) is not None
        assert len(party.keys.scopes()) == 1
        party.close()
        with pytest.raises(InvalidData):
            AnalyzerParty.from_directory(written.analyzer, storage=wrong).close()
