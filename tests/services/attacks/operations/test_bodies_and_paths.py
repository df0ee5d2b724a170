"""Bodies that are refused, answers that unpack to more than is meant, spellings of a path."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from smoothdp.services.analyzer.analyzer_web import COLLECTOR_ROLE, SHUFFLER_ROLE, analyzer_app
from smoothdp.services.formats.report import sealed_bytes
from smoothdp.services.operations import bodies
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.wire.calls import ServiceError, Unreachable, ask, connect
from smoothdp.services.wire.running import on_loopback
from smoothdp.services.wire.tokens import token_hash
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PartyWorld]:
    made = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    made.open_window()
    yield made
    made.close()


def spoken(address: str, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes, and return status, headers and body of the answer."""
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(request)
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(1 << 16)
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        while len(body) < int(headers.get("content-length", "0")):
            body += connection.recv(1 << 16)
    return int(lines[0].split()[1]), headers, body


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("length", "status", "word"),
    [(100_000_000, 413, "long"), (41, 408, "slow"), (41, 503, "later")],
)
def test_a_body_that_is_refused_is_refused_with_a_document(
    world: PartyWorld, monkeypatch: pytest.MonkeyPatch, length: int, status: int, word: str
) -> None:
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.1)
    if status == 503:
        monkeypatch.setattr(bodies.BodyBudget, "reserve", lambda *_: False)
    task_id = world.task.task_id.hex()
    credential = world.new_pass()
    asked = {
        analyzer_app(world.analyzer, callers={"shuffler": token_hash("mixer")}): [
            ("PUT", f"/v2/gateway-keys/{task_id}/{WINDOW}", "mixer"),
            ("PUT", f"/v2/cards/{task_id}/{WINDOW}", "mixer"),
            ("POST", "/v2/clock", "mixer"),
            ("PUT", f"/v2/batches/{'00' * 16}", "mixer"),
            ("PUT", f"/v2/batches/{'00' * 16}/parts/0", "mixer"),
        ],
        shuffler_app(world.shuffler): [
            ("POST", f"/v2/reports/{task_id}/{WINDOW}", credential),
        ],
    }
    for app, requests in asked.items():
        with on_loopback(app) as address:
            for method, path, token in requests:
                n = (
                    sealed_bytes(world.task.slots, world.task.signed)
                    if "reports" in path and status != 413
                    else length
                )
                head = (
                    f"{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n"
                    f"content-length: {n}\r\n\r\n"
                )
                got, headers, body = spoken(address, head.encode())
                assert (path, got) == (path, status)
                assert headers["content-type"] == "application/problem+json"
                assert json.loads(body)["type"] == f"urn:esa:2:{word}"
                assert ("retry-after" in headers) == (status == 503)


@ONLY_SQLITE
def test_a_compressed_answer_is_not_unpacked(storage_kind: str) -> None:  # noqa: ARG001
    """500 bytes, packed twice, are 200 MB; a third time, more than there is."""
    packed = gzip.compress(gzip.compress(bytes(40_000_000), 9), 9)
    assert len(packed) < 1000
    read: list[int] = []

    def body() -> Iterator[bytes]:
        read.append(len(packed))
        yield packed

    for coding in ("gzip, gzip", "GZIP", "deflate", "br", "gzip,identity"):
        transport = httpx.MockTransport(
            lambda _, coding=coding: httpx.Response(
                200, headers={"content-encoding": coding}, content=body()
            )
        )
        with (
            httpx.Client(base_url="https://x", transport=transport) as http,
            pytest.raises(ServiceError, match="a compressed one"),
        ):
            ask(http, "GET", "/")
    assert read == []
    transport = httpx.MockTransport(
        lambda _: httpx.Response(200, headers={"content-encoding": "identity"}, content=b"as is")
    )
    with httpx.Client(base_url="https://x", transport=transport) as http:
        assert ask(http, "GET", "/").body == b"as is"


def test_a_compressed_answer_is_an_error_in_words() -> None:
    def answers(_: httpx.Request) -> httpx.Response:
        packed = {"content-encoding": "gzip"}
        return httpx.Response(200, headers=packed, stream=httpx.ByteStream(b"no gzip"))

    with (
        httpx.Client(base_url="http://127.0.0.1:1", transport=httpx.MockTransport(answers)) as http,
        pytest.raises(ServiceError, match="compressed") as caught,
    ):
        ask(http, "GET", "/v2/tasks/00/cards/1")
    assert not isinstance(caught.value, Unreachable)


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
        # The same in percent codes, of the task and of a digit of the window.
        spelt += [(f"%{ord(name[0]):x}{name[1:]}", f"{WINDOW}"), (name, f"%3{WINDOW}")]
        for what in ("cards", "marks"):
            found = [status(f"/v2/tasks/{task_id}/{what}/{w}") for task_id, w in spelt]
            assert found == [200, *[404] * 5]
        tasks = [status(f"/v2/tasks/{task_id}") for task_id, _ in spelt]
        assert tasks == [200, 404, 200, 404, 404, 200]
        results = [status(f"/v2/tasks/{task_id}/results/{w}", "c") for task_id, w in spelt]
        assert results == [202, *[404] * 5]
        reports = [ask(shuffler, "POST", f"/v2/reports/{a}/{w}").status for a, w in spelt]
        assert reports == [401, *[404] * 5]
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
