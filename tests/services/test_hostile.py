"""Hostile clients, shufflers, servers and directories: one answer each, and nothing breaks."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.errors import InvalidData, InvalidParameter, LedgerError
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.analyzer_web import analyzer_app
from smoothdp.services.client.client import Client
from smoothdp.services.client.collector import fetch_result
from smoothdp.services.client.submit import submit
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.wire.batch import MOST_SLOTS_OF_BATCH, BatchHeader, n_parts
from smoothdp.services.wire.calls import ServiceError, connect
from smoothdp.services.wire.http_faces import whole_number
from smoothdp.services.wire.key_files import (
    SECRETS_FILE,
    TASK_FILE,
    read_secret,
    read_task,
    read_token,
    write_parties,
)
from smoothdp.services.wire.running import on_loopback
from smoothdp.services.wire.tokens import token_hash
from tests.services.storages import ONLY_SQLITE
from tests.services.world import KEY, WINDOW, World, small_task


@pytest.fixture
def url(world: World) -> Iterator[str]:
    with on_loopback(shuffler_app(world.shuffler)) as address:
        yield address


@pytest.fixture
def analyzer_url(world: World) -> Iterator[str]:
    app = analyzer_app(
        world.analyzer,
        shuffler_tokens=[token_hash("mixer")],
        collector_tokens=[token_hash("reader")],
    )
    with on_loopback(app) as address:
        yield address


def raw(url: str, request: bytes) -> bytes:
    """Send bytes and return the start of the answer."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(request)
        return connection.recv(65536)


# ---- hostile clients -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/v1/tasks/../../etc/passwd",
        "/v1/tasks/%2e%2e%2f%2e%2e%2fsecrets.json",
        "/v1/tasks/zz/reports",
        "/v1/tasks/" + "0" * 100_000,
        "/v1/tasks/\x00",
        "/secrets.json",
        "/shuffler/secrets.json",
        "/",
    ],
)
def test_paths_lead_nowhere(url: str, path: str) -> None:
    answer = raw(url, f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    assert answer.split()[1] in (b"400", b"404", b"405", b"414", b"431")
    assert b"issuing_key" not in answer


@pytest.mark.parametrize(
    "request_line",
    [
        b"nonsense\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\n\r\n",
        b"POST /v1/keys HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}",
        b"GET /healthz HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n",
        b"POST %REPORTS% HTTP/1.1\r\nhost: x\r\ncontent-length: \xb2\r\n\r\n",
        b"POST %REPORTS% HTTP/1.1\r\nhost: x\r\ncontent-length: " + b"9" * 5000 + b"\r\n\r\n",
        b"POST %REPORTS% HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n"
        b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST %REPORTS% HTTP/1.1\r\nhost: x\r\nauthorization: Bearer a\rset-cookie: b\r\n"
        b"content-length: 0\r\n\r\n",
    ],
)
def test_malformed_requests_are_refused(world: World, url: str, request_line: bytes) -> None:
    path = f"/v1/tasks/{world.task.task_id.hex()}/reports".encode()
    answer = raw(url, request_line.replace(b"%REPORTS%", path))
    assert answer.split()[1][:1] == b"4", answer
    assert b"set-cookie" not in answer
    assert httpx.get(url + "/healthz").text == "ok"
    assert world.shuffler.totals()["accepted"] == 0


@pytest.mark.parametrize("kind", ["application/json", "text/html", "multipart/form-data", "", "é"])
def test_the_content_type_does_not_matter(world: World, url: str, kind: str) -> None:
    upload = world.upload("u")
    headers = {b"authorization": b"Bearer " + upload.token.encode(), b"content-type": kind.encode()}
    path = f"{url}/v1/tasks/{world.task.task_id.hex()}/reports"
    assert httpx.post(path, content=upload.envelope, headers=headers).status_code == 202
    for bad in (b"{}", b'{"a":' * 31, b"[" * 156, b"\xff" * 156, b"null"):
        assert httpx.post(path, content=bad, headers=headers).status_code == 400
    assert world.shuffler.totals()["accepted"] == 1


def test_a_token_is_good_for_one_report_a_window(world: World, url: str) -> None:
    mine, others = world.upload("mine"), world.upload("other")
    path = f"{url}/v1/tasks/{world.task.task_id.hex()}/reports"

    def post(token: str, envelope: bytes) -> int:
        headers = {"authorization": f"Bearer {token}"}
        return httpx.post(path, content=envelope, headers=headers).status_code

    assert post(mine.token, mine.envelope) == 202
    # The token again, with what someone else sealed; spaces and capitals make no new token.
    for token in (mine.token, mine.token.upper(), " ".join(mine.token)):
        assert post(token, others.envelope) in (401, 429)
    assert post(others.token, others.envelope) == 202
    assert world.shuffler.totals()["accepted"] == 2


def test_whole_numbers_of_paths() -> None:
    assert whole_number("0") == 0
    assert whole_number("4294967295") == 2**32 - 1
    for text in ("", "-1", "+1", "1.0", "4294967296", "9" * 5000, "²", "\u0661", " 1", "1_0"):
        assert whole_number(text) is None


# ---- hostile shufflers ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "number", ["9" * 5000, "9" * 30, "-1", "1e3", "%00", "4294967296", "..%2f"]
)
def test_numbers_in_paths(world: World, analyzer_url: str, number: str) -> None:
    with connect(analyzer_url) as http:
        task = world.task.task_id.hex()
        reader, mixer = {"authorization": "Bearer reader"}, {"authorization": "Bearer mixer"}
        result = http.get(f"/v1/tasks/{task}/results/{number}", headers=reader)
        assert result.status_code == 404
        path = f"/v1/batches/{'00' * 16}/parts/{number}"
        assert http.put(path, content=b"x", headers=mixer).status_code == 404
        assert http.get("/healthz").text == "ok"


def test_batches_that_are_no_batches(world: World, analyzer_url: str) -> None:
    batch_id = b"b" * 16
    huge = MOST_SLOTS_OF_BATCH + 1
    header = BatchHeader(
        1, world.task.task_id, batch_id, WINDOW, huge, huge, (bytes(32),) * n_parts(huge)
    )
    bodies = [b"", b"{}", os.urandom(67), b"\x01" * 70, header.encode(), bytes(1 << 20)]
    with connect(analyzer_url) as http:
        headers = {"authorization": "Bearer mixer"}
        for body in bodies:
            path = f"/v1/batches/{batch_id.hex()}"
            assert http.put(path, content=body, headers=headers).status_code == 400, body[:20]
            # Nobody else may even try.
            assert http.put(path, content=body).status_code == 401
        answer = http.put(f"/v1/batches/{'zz' * 16}", content=header.encode(), headers=headers)
        assert answer.status_code == 400
        too_long = http.put(path, content=bytes((1 << 20) + 1), headers=headers)
        assert too_long.status_code == 413
    assert world.analyzer.storage.read("SELECT count(*) FROM batch") == [(0,)]


@ONLY_SQLITE
def test_a_full_disk_of_the_analyser_is_a_reason_to_wait(world: World, analyzer_url: str) -> None:
    world.send_many(200)
    world.seal()
    connection = world.analyzer.storage._connection  # type: ignore[attr-defined]
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")
    with connect(analyzer_url) as http:
        headers = {"authorization": "Bearer mixer"}
        row = world.shuffler.storage.read("SELECT batch_id, header FROM batch")[0]
        path = f"/v1/batches/{bytes(row[0]).hex()}"
        body = bytes(world.shuffler.storage.read("SELECT bytes FROM batch_part")[0][0])
        statuses = [
            http.put(path, content=bytes(row[1]), headers=headers).status_code,
            http.put(path + "/parts/0", content=body, headers=headers).status_code,
        ]
    assert 503 in statuses
    assert set(statuses) <= {201, 503, 404}


# ---- hostile servers, seen by a client -----------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"key_id": 1}',
        b'{"key_id": 999, "public_key": "00"}',
        b'{"key_id": "1", "public_key": "' + b"11" * 32 + b'"}',
        b'{"key_id": 1, "public_key": "' + b"00" * 32 + b'"}',
        b"\xff\xfe",
        bytes(5_000_000),
    ],
)
def test_a_client_survives_any_answer(world: World, body: bytes) -> None:
    client = Client(world.task, world.outcomes, clock=lambda: world.now)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body))
    with httpx.Client(base_url="https://x", transport=transport) as http:
        with pytest.raises(ServiceError) as caught:
            submit(client, 1, http=http, token="t", pause=lambda _: None)
        assert "\n" not in str(caught.value)
        if body not in (b'{"key_id": 1}',) and not body.startswith(b'{"key'):
            with pytest.raises(ServiceError):
                fetch_result(http, task_id=world.task.task_id, window=1, token="t")
    assert world.outcomes.get(world.task.task_id, WINDOW, "me") is None


def test_words_of_a_server_cannot_steer_a_terminal(world: World) -> None:
    evil = b"\x1b]0;owned\x07\x1b[2Jno\r\nError: forged" + b"x" * 10_000
    transport = httpx.MockTransport(lambda _: httpx.Response(418, content=evil))
    http = httpx.Client(base_url="https://x", transport=transport)
    with http, pytest.raises(ServiceError) as caught:
        fetch_result(http, task_id=world.task.task_id, window=1, token="t")
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 500


@pytest.mark.parametrize(
    "address",
    [
        "",
        "127.0.0.1:8601",
        "ftp://127.0.0.1",
        "http://",
        "http://[",
        "http://127.0.0.1:99999",
        "http://user:secret@127.0.0.1",
        "http://127.0.0.1\r\nx: y",
        "http://shuffler.example",
        "http://192.168.0.1:8601",
        "http://127.0.0.1.example",
    ],
)
def test_addresses_that_are_refused(address: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        connect(address)
    assert "\n" not in str(caught.value)


def test_addresses_that_are_taken() -> None:
    for address in (
        "http://127.0.0.1:1",
        "http://[::1]:2",
        "http://localhost",
        "https://x.example",
    ):
        connect(address).close()


# ---- directories ---------------------------------------------------------------------------


def test_secrets_are_their_owners_alone(tmp_path: Path) -> None:
    os.umask(old := os.umask(0))
    os.umask(0)
    try:
        written = write_parties(tmp_path / "t", small_task(), KEY)
        ShufflerParty.from_directory(written.shuffler).shuffler.storage.close()
        AnalyzerParty.from_directory(written.analyzer).analyzer.storage.close()
    finally:
        os.umask(old)
    for party in (written.shuffler, written.analyzer, written.collector):
        assert party.stat().st_mode & 0o077 == 0
        for file in party.iterdir():
            assert file.name == TASK_FILE or file.stat().st_mode & 0o077 == 0, file
    secrets = written.shuffler / SECRETS_FILE
    secrets.chmod(0o644)
    with pytest.raises(InvalidData, match="chmod 600"):
        read_secret(secrets, ("issuing_key",))


def test_no_file_is_written_through_a_link(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    for name in (TASK_FILE, f"shuffler/{SECRETS_FILE}", f"analyzer/{TASK_FILE}"):
        directory = tmp_path / name.replace("/", "-")
        (directory / name).parent.mkdir(parents=True)
        (directory / name).symlink_to(target)
        with pytest.raises(InvalidData, match="new file"):
            write_parties(directory, small_task(), KEY)
    link = tmp_path / "state.sqlite"
    link.symlink_to(target)
    with pytest.raises(InvalidData, match="got a link"):
        SqliteStorage(link, ANALYZER_SCHEMA)
    for path in (tmp_path, tmp_path / "absent" / "state.sqlite"):
        with pytest.raises(InvalidData, match="Give another path"):
            SqliteStorage(path, ANALYZER_SCHEMA)
    written = write_parties(tmp_path / "t", small_task(), KEY)
    name = f"ledger-{read_task(written.task).task_id.hex()[:16]}.db"
    (written.analyzer / name).symlink_to(target)
    with pytest.raises(LedgerError, match="got a link"):
        AnalyzerParty.from_directory(written.analyzer)
    assert target.read_text() == "mine"


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff", b"[]", b"{}", b'{"issuing_key": 5}', b'{"issuing_key": "zz"}', b"[" * 9999],
)
def test_damaged_secrets(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / SECRETS_FILE
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(InvalidData) as caught:
        read_secret(path, ("issuing_key",))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\n", b"zz" * 48, b"a\r\nx: y", b"\xff", b"0" * 95])
def test_token_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(InvalidData) as caught:
        read_token(path)
    assert "\n" not in str(caught.value)
    # What is in the file may be a secret that was mistyped.
    said = str(caught.value).replace(str(path), "")
    assert len(content) < 3 or content.decode("latin-1")[:4] not in said
    path.write_text("0" * 96 + "\n")
    assert read_token(path) == "0" * 96


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(InvalidData, match="another path"):
        SqliteStorage(path, ANALYZER_SCHEMA)


# ---- logs ----------------------------------------------------------------------------------


def test_work_that_fails_is_logged_by_name_alone(world: World) -> None:
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger("smoothdp.services").addHandler(handler)
    done: list[int] = []

    def work() -> None:
        done.append(1)
        raise OSError("token deadbeef from 203.0.113.9")

    try:
        with on_loopback(shuffler_app(world.shuffler, work=work, work_seconds=0.05)) as url:
            while len(done) < 3:
                asyncio.run(asyncio.sleep(0.02))
            assert httpx.get(url + "/healthz").text == "ok"
    finally:
        logging.getLogger("smoothdp.services").removeHandler(handler)
    assert set(log.getvalue().splitlines()) == {"work was put off: OSError"}


@pytest.mark.parametrize(
    ("protocol", "datum"),
    [
        *(("boolean_sum", datum) for datum in ("2", "-1", "yes", "", "1.0", "٣", "9" * 5000, None)),
        *(("real_sum", datum) for datum in ("nan", "inf", "x", "", "1/0", "1e999999999", None)),
        *(("histogram", datum) for datum in ("d", "", "A", 0, None)),
    ],
)
def test_a_datum_of_another_kind_is_never_sent(tmp_path: Path, protocol: str, datum: Any) -> None:
    world = World(tmp_path, small_task(protocol))
    with pytest.raises(InvalidData) as caught:
        world.upload("u", datum)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert world.outcomes.get(world.task.task_id, WINDOW, "u") is None
    world.close()
