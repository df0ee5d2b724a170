"""Connections of strangers that begin no handshake, are silent or read slowly."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sqlite3
import ssl
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from smoothdp.services.formats.party_files import read_task
from smoothdp.services.wire.running import on_loopback
from tests.services.operations.certificates import Authority
from tests.services.operations.served import Served, free_port, serving
from tests.services.storages import ON_BOTH_STORAGES, ONLY_SQLITE
from tests.services.worlds.directories import party_directories

OF_ADDRESS = 256


def _with_tls(folder: Path, stack: ExitStack) -> Served:
    """Return a shuffler that serves with a certificate, and knows no analyser."""
    written = party_directories(folder / "t")
    certificate, key = Authority(folder).certificate("server")
    more = ["--certificate", str(certificate), "--certificate-key", str(key)]
    more += ["--analyzer", "http://127.0.0.1:1"]
    return stack.enter_context(serving("shuffler", written.shuffler, *more, scheme="https"))


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


@pytest.mark.slow
@ONLY_SQLITE
def test_who_reads_slowly_keeps_no_service_from_stopping(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "A service may be stopped at any moment".

    A stranger fetches marks and does not read them. The service that is told to stop listens no
    more, and does not end before the stranger's time is over: a minute, and a second for each 64
    kB, which is hours for the largest batch.
    """
    written = party_directories(tmp_path / "t")
    with serving("shuffler", written.shuffler, "--analyzer", "http://127.0.0.1:1") as party:
        task = read_task(written.shuffler)
        with closing(sqlite3.connect(written.shuffler / "shuffler.sqlite")) as file:
            file.execute("INSERT INTO marks VALUES (?, ?, ?)", (task.task_id, 7, bytes(1 << 23)))
            file.commit()
        with socket.create_connection(("127.0.0.1", party.port)) as reader:
            asked = f"GET /v2/tasks/{task.task_id.hex()}/marks/7 HTTP/1.1\r\nhost: x\r\n\r\n"
            reader.sendall(asked.encode())
            time.sleep(1.0)
            party.process.terminate()
            try:
                party.process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                party.process.kill()
                raise


NOBODY = "http://127.0.0.1:1"


@pytest.mark.slow
@ONLY_SQLITE
def test_an_answer_over_tls_may_be_read_for_a_minute(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol: "An answer has a minute, and a second for each 64 kB [...]; a service that
    answers gives the reader as long". The guide: "An answer may be read for a minute, and a second
    for each 64 kB".

    Somebody on a slow line looks up a report: the marks of 7,500 slots, for which the page gives
    62 seconds, are read to their end 8 seconds after they were asked for. The shuffler has cut
    the connection off: TLS takes such an answer whole, and then the deadline of the next request
    runs, 5 seconds and one for each 64 kB.
    """
    written, authority = party_directories(tmp_path / "t"), Authority(tmp_path)
    certificate, key = authority.certificate("shuffler")
    tls = ["--certificate", str(certificate), "--certificate-key", str(key)]
    context = ssl.create_default_context(cafile=str(authority.ca))
    marks = bytes(120_000)
    with serving("shuffler", written.shuffler, "--analyzer", NOBODY, *tls) as party:
        task = read_task(written.shuffler)
        with contextlib.closing(sqlite3.connect(written.shuffler / "shuffler.sqlite")) as file:
            file.execute("INSERT INTO marks VALUES (?, ?, ?)", (task.task_id, 7, marks))
            file.commit()
        asked = f"GET /v2/tasks/{task.task_id.hex()}/marks/7 HTTP/1.1\r\nhost: x\r\n\r\n"
        with socket.socket() as line:
            # As on a line to another host, whose segments and windows are smaller.
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1460)
            line.connect(("127.0.0.1", party.port))
            line.settimeout(20.0)
            with context.wrap_socket(line, server_hostname="127.0.0.1") as connection:
                connection.sendall(asked.encode())
                time.sleep(8.0)
                read = bytearray()
                while len(read) < len(marks):
                    piece = connection.recv(1 << 16)
                    assert piece, f"cut off after {len(read)} of {len(marks)} bytes"
                    read += piece


DEPLOY = Path(__file__).parents[4] / "deploy"


@ON_BOTH_STORAGES
@pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx")
def test_nginx_limits_requests_that_are_under_way_and_no_silent_connections(tmp_path: Path) -> None:
    """The guide: "The proxy then limits" requests under way "per address, which the party cannot
    tell apart", and "ends silent connections after 5 seconds, however many an address has".

    It said that connections are limited, and the example that an address has 16. Of one address 40
    that say nothing are taken, and one more is answered.
    """
    authority = Authority(tmp_path, "client-ca")
    for party in ("shuffler", "issuer", "analyzer"):
        authority.certificate(party)
    port, text = free_port(), (DEPLOY / "nginx.conf").read_text()
    for theirs, ours in (
        ("/etc/smoothdp", str(tmp_path)),
        ("worker_processes auto", f"pid {tmp_path}/pid; daemon off; worker_processes 1"),
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("listen [::]:443 ssl;", ""),
        # Nobody: it answers 502 itself.
        ("127.0.0.1:8601", f"127.0.0.1:{free_port()}"),
    ):
        assert theirs in text
        text = text.replace(theirs, ours)
    (tmp_path / "nginx.conf").write_text(text)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    command = ["nginx", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    with ExitStack() as stack:
        stack.callback(process.wait, timeout=30)
        stack.callback(process.terminate)
        until = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except OSError:
                assert time.monotonic() < until
                time.sleep(0.02)
        silent = [
            stack.enter_context(
                context.wrap_socket(
                    stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5)),
                    server_hostname="shuffler.example",
                )
            )
            for _ in range(40)
        ]
        last = silent.pop()
        last.sendall(b"GET / HTTP/1.1\r\nHost: shuffler.example\r\n\r\n")
        assert last.recv(1 << 16).startswith(b"HTTP/1.1 502 ")
        for connection in silent:
            connection.setblocking(False)
            with suppress(ssl.SSLWantReadError):
                assert connection.recv(1) != b"", "it was closed"


DOCS = Path(__file__).parents[4] / "docs"


def test_no_page_lets_a_party_speak_plain_http_beyond_its_machine() -> None:
    """The protocol, 9: "HTTP/1.1 with TLS; plain HTTP on loopback alone"; the guide: "**Behind
    nginx**: `--behind-tls`, on loopback".

    So run, whoever reaches the port goes past the proxy: past its certificates of callers, which
    the example has for the analyser, and its limit of requests of an address; of connections the
    party itself has none then.
    """
    pages = sorted(DOCS.rglob("*.md"))
    lines = [line for page in pages for line in page.read_text("utf-8").splitlines()]
    commands = [line for line in lines if line.startswith("smoothdp serve") and "-tls" in line]
    assert commands
    assert [command for command in commands if "--host 0.0.0.0" in command] == []


@pytest.mark.parametrize("n_bytes", [60_000, 180_000])
def test_headers_have_64_kilobytes(n_bytes: int) -> None:
    """The guide, of strangers: a connection has "64 kB of headers"."""

    def answer(_: Request) -> Response:
        return PlainTextResponse("ok")

    line = b"a: b\r\n"
    request = b"GET / HTTP/1.1\r\nhost: x\r\n" + line * (n_bytes // len(line)) + b"\r\n"
    with ExitStack() as stack:
        url = stack.enter_context(on_loopback(Starlette(routes=[Route("/", answer)])))
        place = urlsplit(url).hostname, urlsplit(url).port
        wire = stack.enter_context(socket.create_connection(place, timeout=10))
        try:
            wire.sendall(request)
            status = wire.recv(100).split()[1:2]
        except ConnectionError:
            # Refused while it was sent.
            status = []
    assert (status == [b"200"]) == (n_bytes < 65_536)
