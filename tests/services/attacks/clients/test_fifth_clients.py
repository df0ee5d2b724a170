"""A fifth round of attacks: several threads with one client, and two spellings of one path."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from smoothdp.services.analyzer.analyzer_web import COLLECTOR_ROLE, SHUFFLER_ROLE, analyzer_app
from smoothdp.services.operations.tls import Trust
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.wire import calls
from smoothdp.services.wire.calls import Unreachable, ask, connect
from smoothdp.services.wire.running import on_loopback
from smoothdp.services.wire.tokens import token_hash
from tests.services.operations.certificates import Authority
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task


class Slow(BaseHTTPRequestHandler):
    """Drips the headers of /drip for ever, answers /slow after a second, keeps connections."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/drip":
            self.wfile.write(b"HTTP/1.1 200 Good\r\nx: ")
            for _ in range(100):
                self.wfile.write(b"x")
                time.sleep(0.02)
        if self.path == "/slow":
            time.sleep(0.8)
        if self.path == "/first":
            # Both wait for each other, so that there are two connections.
            self.server.together.wait(5)  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def slow(tls: ssl.SSLContext | None) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    server.together = threading.Barrier(2)  # type: ignore[attr-defined]
    thread = threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True)
    thread.start()
    yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join(5)
    server.server_close()


def at_once(*steps: Callable[[], object]) -> None:
    threads = [threading.Thread(target=step) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


@pytest.mark.parametrize(("kept", "encrypted"), [(False, False), (True, True)])
def test_the_end_of_one_request_cuts_no_other_one_of_the_same_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool, encrypted: bool
) -> None:
    """Connections are opened for one request and kept for others, in whatever thread."""
    monkeypatch.setattr(calls, "whole_seconds", lambda most: 0.4 if most == 7 else 10.0)
    said: dict[str, object] = {}
    authority, tls = Authority(tmp_path), None
    if encrypted:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*authority.certificate("shuffler"))
    trust = Trust(ca=authority.ca) if encrypted else None
    with slow(tls) as address, connect(address, trust=trust) as http:

        def get(path: str, most: int = 100) -> None:
            try:
                said[path] = ask(http, "GET", path, most=most).body
            except Unreachable as error:
                said[path] = str(error)

        if kept:
            at_once(lambda: get("/first"), lambda: get("/first"))
            assert said.pop("/first") == b"ok"
        began = time.monotonic()
        at_once(lambda: get("/slow"), lambda: get("/drip", 7))
        assert time.monotonic() - began < 1.9
        assert said["/slow"] == b"ok"
        assert "none in time" in str(said["/drip"])
        # Nothing of that is left behind for the next one.
        get("/after")
        assert said["/after"] == b"ok"


def test_a_thing_has_one_path(tmp_path: Path) -> None:
    """Two spellings of a path were two things to a cache, and to the limits of a proxy."""
    task = small_task(issuer=None, proof="none")
    world = PartyWorld(tmp_path, task)
    world.open_window()
    world.send_many(12)
    world.seal()
    name = task.task_id.hex()
    assert name != name.upper()
    callers = {SHUFFLER_ROLE: token_hash("s"), COLLECTOR_ROLE: token_hash("c")}
    faces = (shuffler_app(world.shuffler), analyzer_app(world.analyzer, callers=callers))
    with ExitStack() as stack:
        shuffler, analyzer = (
            stack.enter_context(connect(stack.enter_context(on_loopback(face)))) for face in faces
        )

        def status(path: str, token: str = "", body: bytes | None = None) -> int:
            http = analyzer if token else shuffler
            method = "GET" if body is None else "PUT"
            return ask(http, method, path, token=token, body=body or b"").status

        spelt = [(name, f"{WINDOW}"), (name.upper(), f"{WINDOW}"), (name, f"0{WINDOW}")]
        spelt += [(f"{name[:2]}%20{name[2:]}", f"{WINDOW}")]
        for what in ("cards", "marks"):
            found = [status(f"/v2/tasks/{task_id}/{what}/{w}") for task_id, w in spelt]
            assert found == [200, 404, 404, 404]
        assert [status(f"/v2/tasks/{task_id}") for task_id, _ in spelt] == [200, 404, 200, 404]
        results = [status(f"/v2/tasks/{task_id}/results/{w}", "c") for task_id, w in spelt]
        assert results == [202, 404, 404, 404]
        reports = [ask(shuffler, "POST", f"/v2/reports/{a}/{w}").status for a, w in spelt]
        assert reports == [401, 404, 404, 404]
        ((batch_id, header),) = world.shuffler.storage.read("SELECT batch_id, header FROM batch")
        ((part,),) = world.shuffler.storage.read("SELECT bytes FROM batch_part")
        batch = bytes(batch_id).hex()
        # Of 16 random bytes all digits are decimal once in three million times.
        if batch != batch.upper():
            assert status(f"/v2/batches/{batch.upper()}", "s", bytes(header)) == 400
        assert status(f"/v2/batches/{batch}", "s", bytes(header)) == 201
        assert status(f"/v2/batches/{batch}/parts/00", "s", bytes(part)) == 404
        assert status(f"/v2/batches/{batch}/parts/0", "s", bytes(part)) == 201
    world.close()
