"""Strangers within a handshake; an analyser that lost all it knew; two processes, two clocks."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.slow
@ONLY_SQLITE
def test_whoever_begins_no_handshake_is_gone_after_five_seconds(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: connections are "counted from the end of a handshake", which has five seconds.

    Until then a stranger has as many as the process has descriptors.
    """
    with ExitStack() as stack:
        party = _with_tls(tmp_path, stack)
        descriptors = Path(f"/proc/{party.process.pid}/fd")
        if not descriptors.exists():
            pytest.skip("no /proc")
        before = len(os.listdir(descriptors))
        for _ in range(2 * OF_ADDRESS):
            stack.enter_context(socket.create_connection(("127.0.0.1", party.port)))
        time.sleep(7.0)
        assert len(os.listdir(descriptors)) - before < 8


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
            # It was hung up on, as it should be; the silent one is waited for.
            with suppress(subprocess.TimeoutExpired):
                party.process.wait(timeout=15)
        ended = party.process.poll() is not None
        if not ended:
            party.process.kill()
        assert ended, "it still serves a stranger, 18 s after it was told to stop"


@ONLY_SQLITE
@pytest.mark.parametrize("database_too", [False, True])
def test_windows_that_an_analyser_lost_keep_their_places_while_it_knows_of_them(
    tmp_path: Path,
    database_too: bool,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide, of the loss of what has no backup: "each keeps its place in the budget".

    Not so where the database was lost too, as it says: of the two windows nobody knows then.
    """
    world = PartyWorld(tmp_path, small_task(windows=2))
    for window in (WINDOW, WINDOW + 1):
        world.open_window(window)
    offered = world.shuffler.cards.offered_key(WINDOW + 2)
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 2, offered) == 404
    world.analyzer.storage.close()
    world.keys[1].close()
    for name in ("inner.sqlite", "analyzer.sqlite")[: 1 + database_too]:
        for lost in tmp_path.glob(f"{name}*"):
            lost.unlink()
    world.shuffler.storage.close()
    world.keys[0].close()
    world._open()
    try:
        status = world.analyzer.cards.put_key(GATEWAY, WINDOW + 2, offered)
        assert status == (201 if database_too else 404)
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

    def test_an_analyser_without_a_batch_begins_in_another_database_as_is_said(
        self,
        tmp_path: Path,
        storage_kind: str,  # noqa: ARG002
    ) -> None:
        """The guide: keys of rows are in `*.keys.sqlite`; "of an analyser there are none before its
        first batch, so check the name of its schema yourself".

        Named rightly again, it has its cards.
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
        AnalyzerParty.from_directory(written.analyzer, storage=wrong).close()
        again = AnalyzerParty.from_directory(written.analyzer, storage=right)
        assert again.analyzer.cards.shown(window) is not None
        again.close()
