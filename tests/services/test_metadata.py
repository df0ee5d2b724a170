"""Tests 53 to 55 and 66 to 72: what HTTP leaves behind, who may call, limits, rotation."""

from __future__ import annotations

import asyncio
import io
import logging
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from starlette.requests import Request

from smoothdp.errors import InvalidParameter
from smoothdp.services.analyzer.analyzer_web import analyzer_app
from smoothdp.services.client.client import Client
from smoothdp.services.client.submit import submit
from smoothdp.services.operations import bodies
from smoothdp.services.shuffler.delivery import deliver_batches, putting
from smoothdp.services.shuffler.shuffler_web import shuffler_app, shuffler_metrics
from smoothdp.services.wire import http_faces
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.running import on_loopback, run
from smoothdp.services.wire.tokens import token_hash
from tests.services.storages import ONLY_SQLITE, Current, files_of
from tests.services.world import World, small_task


@pytest.fixture
def url(world: World) -> Iterator[str]:
    with on_loopback(shuffler_app(world.shuffler)) as address:
        yield address


def reports(world: World) -> str:
    return f"/v1/tasks/{world.task.task_id.hex()}/reports"


def post(world: World, url: str, name: str, **headers: str) -> httpx.Response:
    upload = world.upload(name)
    return httpx.post(
        url + reports(world),
        content=upload.envelope,
        headers={"authorization": f"Bearer {upload.token}", **headers},
    )


def test_53_nothing_of_a_request_is_kept(world: World, url: str) -> None:
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "smoothdp", ""):
        logging.getLogger(name).addHandler(handler)
    try:
        marks = {"user-agent": "agent-93d1", "x-forwarded-for": "203.0.113.77"}
        for i in range(60):
            assert post(world, url, f"u{i}", **marks).status_code == 202
        httpx.post(url + reports(world), content=b"bad", headers=marks)
        metrics = httpx.get(url + "/metrics").text
    finally:
        for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "smoothdp", ""):
            logging.getLogger(name).removeHandler(handler)
    kept = files_of(world.directory, "shuffler")
    kept += log.getvalue().encode() + metrics.encode()
    addresses = () if Current.server else (b"127.0.0.1",)  # the server's own settings name it
    for mark in (b"agent-93d1", b"203.0.113.77", *addresses):
        assert mark not in kept
    for token in world.tokens.values():
        assert token.encode() not in kept
        assert bytes.fromhex(token)[:16] not in kept


@ONLY_SQLITE
def test_53_tables_have_no_time_and_no_order(world: World) -> None:
    columns = world.shuffler.storage.read(
        "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "
        "WHERE m.type = 'table'"
    )
    names = {column for _, column in columns}
    assert not names & {"time", "address", "ip", "agent", "created", "rowid"}
    made = world.shuffler.storage.read("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    for name, statement in made:
        assert name == "outer_key" or "WITHOUT ROWID" in statement


def test_54_answers_do_not_tell_new_from_repeated(world: World, url: str) -> None:
    first, again = post(world, url, "u"), post(world, url, "u")
    assert first.status_code == again.status_code == 202
    assert first.content == again.content
    assert dict(first.headers) == dict(again.headers)
    assert "server" not in first.headers
    assert "date" not in first.headers


def test_54_what_a_client_sends_has_one_size(world: World) -> None:
    sizes = set()

    def see(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            key_id, public = world.shuffler.keys.active()
            return httpx.Response(200, json={"key_id": key_id, "public_key": public.hex()})
        sizes.add((len(request.content), sum(len(k) + len(v) for k, v in request.headers.raw)))
        return httpx.Response(202)

    with httpx.Client(base_url="http://x", transport=httpx.MockTransport(see)) as http:
        for i in range(40):
            client = Client(world.task, world.outcomes, name=f"{i}", clock=lambda: world.now)
            submit(client, i % 2, http=http, token=world.token(f"{i}"))
    assert len(sizes) == 1


def test_55_windows_that_are_open_or_too_small_are_not_shown(world: World) -> None:
    world.send_many(150)
    assert "accepted" not in shuffler_metrics(world.shuffler)
    world.seal()
    assert 'smoothdp_reports{reason="accepted"} 100\n' in shuffler_metrics(world.shuffler)
    world.now += 3600
    world.send_many(2)
    world.seal(world.shuffler.window_now(world.task))
    assert "EXPIRED" not in shuffler_metrics(world.shuffler)


def test_66_tokens(world: World, url: str) -> None:
    envelope = world.envelope("u")
    good = world.token("u")
    # The last byte of a token changed; a token for another task; none; nonsense.
    other = World.__new__(World)
    other.task, other.tokens = small_task(unit="another"), {}
    wrong = [good[:-2] + ("00" if good[-2:] != "00" else "01"), other.token("u"), "zz", "é"]
    for token in wrong:
        headers = {b"authorization": f"Bearer {token}".encode()}
        answer = httpx.post(url + reports(world), content=envelope, headers=headers)
        assert answer.status_code == 401, token
    assert httpx.post(url + reports(world), content=envelope).status_code == 401
    assert world.shuffler.totals()["accepted"] == 0
    assert post(world, url, "u").status_code == 202


def test_66_callers_of_the_analyser(world: World) -> None:
    app = analyzer_app(
        world.analyzer,
        shuffler_tokens=[token_hash("old"), token_hash("new")],
        collector_tokens=[token_hash("reader")],
    )
    world.send_many(5)
    world.seal()
    result = f"/v1/tasks/{world.task.task_id.hex()}/results/1000"
    with on_loopback(app) as url, connect(url) as http:
        with pytest.raises(OSError, match="401"):
            deliver_batches(world.shuffler, putting(http, "reader"))
        assert http.get(result, headers={"authorization": "Bearer new"}).status_code == 401
        assert http.get(result).status_code == 401
        assert deliver_batches(world.shuffler, putting(http, "new")) == 1
        assert http.get(result, headers={"authorization": "Bearer reader"}).status_code == 202


def test_68_keys_rotate_under_load_without_a_lost_report(world: World, url: str) -> None:
    def send(user: int) -> None:
        client = Client(world.task, world.outcomes, name=f"{user}", clock=lambda: world.now)
        with connect(url) as http:
            submit(client, 1, http=http, token=tokens[user], pause=lambda _: None)

    tokens = [world.token(f"{user}") for user in range(60)]
    with ThreadPoolExecutor(6) as pool:
        sending = [pool.submit(send, user) for user in range(60)]
        for _ in range(4):
            sending.pop().result()
            world.shuffler.keys.rotate()
        for task in sending:
            task.result()
    assert world.shuffler.totals()["accepted"] == 60
    assert world.is_balanced()


def test_69_a_service_is_replaced_while_clients_send(world: World) -> None:
    for part in range(3):
        with on_loopback(shuffler_app(world.shuffler)) as url:
            for user in range(10 * part, 10 * part + 10):
                assert post(world, url, f"{user}").status_code == 202
        world.restart()
    assert world.shuffler.totals()["accepted"] == 30


def test_69_two_processes_take_reports_into_one_file(tmp_path: Path) -> None:
    first = World(tmp_path)
    second = World(tmp_path, first.task)
    uploads = [first.upload(f"u{i}") for i in range(40)]
    with ThreadPoolExecutor(2) as pool:
        a = pool.submit(lambda: [first.shuffler.accept([u]) for u in uploads])
        b = pool.submit(lambda: [second.shuffler.accept([u]) for u in reversed(uploads)])
        a.result()
        b.result()
    assert first.shuffler.totals()["accepted"] == 40
    first.close()
    second.close()


@pytest.mark.parametrize("length", [0, 1, 155, 157, 5_000_000])
def test_72_bodies_of_another_length(world: World, url: str, length: int) -> None:
    headers = {"authorization": f"Bearer {world.token('u')}"}
    answer = httpx.post(url + reports(world), content=bytes(length), headers=headers)
    assert answer.status_code == (413 if length > 156 else 400)


def test_72_a_body_that_never_ends_is_cut_off(world: World, url: str) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield bytes(1000)

    try:
        answer = httpx.post(url + reports(world), content=endless())
        assert answer.status_code == 411
    except httpx.TransportError:
        # Closed while we were still writing: as good an answer.
        pass
    assert httpx.get(url + "/healthz").text == "ok"


def test_72_a_slow_body_is_given_up(
    world: World, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.3)
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as slow:
        slow.sendall(
            (
                f"POST {reports(world)} HTTP/1.1\r\nhost: x\r\ncontent-length: 156\r\n"
                f"authorization: Bearer {world.token('u')}\r\n\r\nab"
            ).encode()
        )
        assert b" 408 " in slow.recv(4096)
    assert httpx.get(url + "/healthz").text == "ok"


def test_72_a_false_length_is_refused() -> None:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": [(b"content-length", b"-1")],
    }
    with pytest.raises(http_faces.TooLarge):
        asyncio.run(http_faces.read_body(Request(scope, receive), 10))


def test_tokens_do_not_travel_in_the_clear(world: World) -> None:
    with pytest.raises(InvalidParameter, match="certificate"):
        run(shuffler_app(world.shuffler), host="0.0.0.0", port=0)


def test_a_service_leaves_the_logging_of_its_program_alone(world: World) -> None:
    """Another library's handler stays open: absl's closes the stream that it was made with."""

    class Watched(logging.StreamHandler[io.StringIO]):
        def close(self) -> None:
            self.stream.close()

    stream = io.StringIO()
    handler = Watched(stream)
    with on_loopback(shuffler_app(world.shuffler)):
        assert not handler.stream.closed
