"""Hostile clients, shufflers, servers and directories: one answer each, and nothing breaks."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidData, InvalidParameter, LedgerError
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.analyzer_web import analyzer_app
from smoothdp.services.client.client import Client
from smoothdp.services.client.collector import fetch_result
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.party_files import CALLERS_FILE, PUBLIC_FILE, make_keys
from smoothdp.services.formats.report import seal_report
from smoothdp.services.issuer.issuer_party import IssuerParty
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.wire.calls import ServiceError, connect
from smoothdp.services.wire.http_faces import whole_number
from smoothdp.services.wire.key_files import SECRETS_FILE, TASK_FILE, read_secret
from smoothdp.services.wire.running import on_loopback
from smoothdp.services.wire.tokens import token_hash
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task

MIXER = {"authorization": "Bearer mixer"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PartyWorld]:
    made = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    made.open_window()
    yield made
    made.close()


@pytest.fixture
def url(world: PartyWorld) -> Iterator[str]:
    with on_loopback(shuffler_app(world.shuffler)) as address:
        yield address


@pytest.fixture
def analyzer_url(world: PartyWorld) -> Iterator[str]:
    callers = {"shuffler": token_hash("mixer"), "collector": token_hash("reader")}
    with on_loopback(analyzer_app(world.analyzer, callers=callers)) as address:
        yield address


def raw(url: str, request: bytes) -> bytes:
    """Send bytes and return the start of the answer."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(request)
        return connection.recv(65536)


# ---- hostile clients -----------------------------------------------------------------------


PATHS = (
    "/v2/tasks/../../etc/passwd",
    "/v2/tasks/%2e%2e%2f%2e%2e%2fsecrets.json",
    "/v2/tasks/zz/marks/1",
    "/v2/tasks/" + "0" * 100_000,
    "/v2/tasks/\x00",
    "/secrets.json",
    "/shuffler/secrets.json",
    "/",
)
REQUESTS = (
    b"nonsense\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n",
    b"POST %REPORTS% HTTP/1.1\r\nhost: x\r\ncontent-length: \xb2\r\n\r\n",
    b"POST %REPORTS% HTTP/1.1\r\nhost: x\r\ncontent-length: " + b"9" * 5000 + b"\r\n\r\n",
    b"POST %REPORTS% HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n"
    b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST %REPORTS% HTTP/1.1\r\nhost: x\r\nauthorization: Bearer a\rset-cookie: b\r\n"
    b"content-length: 0\r\n\r\n",
)


def test_paths_and_malformed_requests_lead_nowhere(world: PartyWorld, url: str) -> None:
    for path in PATHS:
        answer = raw(url, f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        assert answer.split()[1] in (b"400", b"404", b"405", b"414", b"431"), path[:40]
        assert b"pass_key" not in answer
    reports = f"/v2/reports/{world.task.task_id.hex()}/{WINDOW}".encode()
    for request in REQUESTS:
        answer = raw(url, request.replace(b"%REPORTS%", reports))
        assert answer.split()[1][:1] == b"4", answer
        assert b"set-cookie" not in answer
    assert httpx.get(f"{url}/v2/tasks/{world.task.task_id.hex()}").status_code == 200
    assert world.shuffler.totals()["pending"] == 0


def test_the_content_type_does_not_matter(world: PartyWorld, url: str) -> None:
    path = f"{url}/v2/reports/{world.task.task_id.hex()}/{WINDOW}"
    kinds = ["application/json", "text/html", "multipart/form-data", "", "é"]
    for kind in kinds:
        headers = {
            b"authorization": b"Bearer " + world.new_pass().encode(),
            b"content-type": kind.encode(),
        }
        body = seal_report(world.report(1).encode(), world.card())
        assert httpx.post(path, content=body, headers=headers).status_code == 202
        for bad in (b"{}", b"[" * len(body), b"\xff" * len(body), b"null"):
            assert httpx.post(path, content=bad, headers=headers).status_code == 400
    assert world.shuffler.totals()["pending"] == len(kinds)


@ONLY_SQLITE
def test_whole_numbers_of_paths(world: PartyWorld) -> None:
    assert world
    assert whole_number("0") == 0
    assert whole_number("4294967295") == 2**32 - 1
    for text in ("", "-1", "+1", "1.0", "4294967296", "9" * 5000, "²", "\u0661", " 1", "1_0"):
        assert whole_number(text) is None


# ---- hostile shufflers ---------------------------------------------------------------------


def test_numbers_in_paths(world: PartyWorld, analyzer_url: str) -> None:
    with connect(analyzer_url) as http:
        task = world.task.task_id.hex()
        reader = {"authorization": "Bearer reader"}
        for number in ("9" * 5000, "9" * 30, "-1", "1e3", "%00", "4294967296", "..%2f"):
            result = http.get(f"/v2/tasks/{task}/results/{number}", headers=reader)
            assert result.status_code == 404
            path = f"/v2/batches/{'00' * 16}/parts/{number}"
            assert http.put(path, content=b"x", headers=MIXER).status_code == 404


def test_batches_that_are_no_batches(world: PartyWorld, analyzer_url: str) -> None:
    path = f"/v2/batches/{'62' * 16}"
    with connect(analyzer_url) as http:
        for body in (b"", b"{}", os.urandom(67), b"\x02" * 162, bytes(1 << 20)):
            assert http.put(path, content=body, headers=MIXER).status_code == 400, body[:20]
            # Nobody else may even try.
            assert http.put(path, content=body).status_code == 401
        too_long = http.put(path, content=bytes((1 << 20) + 1), headers=MIXER)
        assert too_long.status_code == 413
    assert world.analyzer.storage.read("SELECT count(*) FROM batch") == [(0,)]


@ONLY_SQLITE
def test_a_full_disk_of_the_analyser_is_a_reason_to_wait(
    world: PartyWorld, analyzer_url: str
) -> None:
    world.send_many(60)
    world.seal()
    connection = world.analyzer.storage._connection  # type: ignore[attr-defined]
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")
    with connect(analyzer_url) as http:
        row = world.shuffler.storage.read("SELECT batch_id, header FROM batch")[0]
        path = f"/v2/batches/{bytes(row[0]).hex()}"
        body = bytes(world.shuffler.storage.read("SELECT bytes FROM batch_part")[0][0])
        statuses = [
            http.put(path, content=bytes(row[1]), headers=MIXER).status_code,
            http.put(path + "/parts/0", content=body, headers=MIXER).status_code,
        ]
    assert 503 in statuses
    assert set(statuses) <= {201, 503, 404}


# ---- hostile servers, seen by a client -----------------------------------------------------

ANSWERS = (b"<html>", b"[]", b"null", b"[" * 100_000, b"\xff\xfe", bytes(587), bytes(5_000_000))


@ONLY_SQLITE
def test_a_client_survives_any_answer(world: PartyWorld) -> None:
    store = OutcomeStore(world.folder / "client.sqlite")
    client = Client(world.task, store, clock=lambda: world.now)
    for body in ANSWERS:
        transport = httpx.MockTransport(lambda _, body=body: httpx.Response(200, content=body))
        with httpx.Client(base_url="https://x", transport=transport) as http:
            with pytest.raises((ServiceError, InvalidData)) as caught:
                submit(client, 1, shuffler=http, pass_secret="t", pause=lambda _: None)
            assert "\n" not in str(caught.value)
            with pytest.raises(ServiceError) as caught:
                fetch_result(http, world.task, 1, token="t")
            assert "\n" not in str(caught.value)
    assert client.kept(WINDOW) is None
    store.close()


@ONLY_SQLITE
def test_words_of_a_server_cannot_steer_a_terminal(world: PartyWorld) -> None:
    evil = b"\x1b]0;owned\x07\x1b[2Jno\r\nError: forged" + b"x" * 10_000
    transport = httpx.MockTransport(lambda _: httpx.Response(418, content=evil))
    http = httpx.Client(base_url="https://x", transport=transport)
    with http, pytest.raises(ServiceError) as caught:
        fetch_result(http, world.task, 1, token="t")
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 500


ADDRESSES = (
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
)


@ONLY_SQLITE
def test_addresses(storage_kind: str) -> None:
    assert storage_kind
    for address in ADDRESSES:
        with pytest.raises(InvalidParameter) as caught:
            connect(address)
        assert "\n" not in str(caught.value)
    for address in (
        "http://127.0.0.1:1",
        "http://[::1]:2",
        "http://localhost",
        "https://x.example",
    ):
        connect(address).close()


# ---- directories ---------------------------------------------------------------------------


@ONLY_SQLITE
def test_secrets_are_their_owners_alone(tmp_path: Path, storage_kind: str) -> None:
    assert storage_kind
    old = os.umask(0)
    try:
        made = party_directories(tmp_path / "t")
        ShufflerParty.from_directory(made.shuffler).close()
        AnalyzerParty.from_directory(made.analyzer).close()
        IssuerParty.from_directory(made.issuer).close()
    finally:
        os.umask(old)
    for party in (made.shuffler, made.analyzer, made.issuer, made.collector):
        assert party.stat().st_mode & 0o077 == 0
        for file in party.iterdir():
            public = file.name in (TASK_FILE, PUBLIC_FILE, CALLERS_FILE)
            assert public or file.stat().st_mode & 0o077 == 0, file
    secrets = made.shuffler / SECRETS_FILE
    secrets.chmod(0o644)
    with pytest.raises(InvalidData, match="chmod 600"):
        ShufflerParty.from_directory(made.shuffler)


@ONLY_SQLITE
def test_no_file_is_written_through_a_link(tmp_path: Path, storage_kind: str) -> None:
    assert storage_kind
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / SECRETS_FILE).symlink_to(target)
    with pytest.raises(InvalidData):
        make_keys("shuffler", tmp_path / "keys")
    link = tmp_path / "state.sqlite"
    link.symlink_to(target)
    with pytest.raises(InvalidData, match="got a link"):
        SqliteStorage(link, ANALYZER_SCHEMA)
    for path in (tmp_path, tmp_path / "absent" / "state.sqlite"):
        with pytest.raises(InvalidData, match="Give another path"):
            SqliteStorage(path, ANALYZER_SCHEMA)
    made = party_directories(tmp_path / "t")
    (made.analyzer / f"ledger-{made.task.task_id.hex()[:16]}.db").symlink_to(target)
    with pytest.raises(LedgerError, match="got a link"):
        AnalyzerParty.from_directory(made.analyzer)
    assert target.read_text() == "mine"


@ONLY_SQLITE
def test_damaged_secrets_and_files_that_are_no_database(tmp_path: Path, storage_kind: str) -> None:
    assert storage_kind
    path = tmp_path / SECRETS_FILE
    for content in (b"", b"\xff", b"[]", b"{}", b'{"pass_key": 5}', b"[" * 9999):
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(InvalidData) as caught:
            read_secret(path, ("pass_key",))
        assert "\n" not in str(caught.value)
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(InvalidData, match="another path"):
        SqliteStorage(path, ANALYZER_SCHEMA)
