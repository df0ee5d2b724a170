"""Tests 53 to 55 and 66 to 72: what HTTP leaves behind, who may call, bodies, replacement."""

from __future__ import annotations

import io
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.errors import InvalidParameter
from smoothdp.services.formats.report import seal_report, sealed_bytes
from smoothdp.services.formats.secrets import Secret
from smoothdp.services.issuer.issuer_tables import ISSUER_SCHEMA
from smoothdp.services.issuer.issuer_web import issuer_app
from smoothdp.services.operations import bodies
from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.health import Rounds
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.wire.running import on_loopback, run
from tests.services.storages import ONLY_SQLITE, Current, files_of
from tests.services.worlds.issuing_world import IssuingWorld
from tests.services.worlds.party_world import PASS_KEY, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task

LOGGERS = ("uvicorn", "uvicorn.error", "uvicorn.access", "smoothdp", "")
HEADERS = {"user-agent": "agent-93d1", "x-forwarded-for": "203.0.113.77"}


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


def reports(world: PartyWorld, window: int = WINDOW) -> str:
    return f"/v2/reports/{world.task.task_id.hex()}/{window}"


def post(world: PartyWorld, url: str, secret: str, body: bytes, **headers: str) -> httpx.Response:
    named = {"authorization": f"Bearer {secret}", **headers}
    return httpx.post(url + reports(world), content=body, headers=named)


def sealed(world: PartyWorld, datum: Any = 1) -> bytes:
    return seal_report(world.report(datum).encode(), world.card())


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    for name in LOGGERS:
        logging.getLogger(name).addHandler(handler)
    yield text
    for name in LOGGERS:
        logging.getLogger(name).removeHandler(handler)


def test_53_nothing_of_a_request_is_kept(world: PartyWorld, url: str, log: io.StringIO) -> None:
    passes = [world.new_pass() for _ in range(30)]
    for secret in passes:
        assert post(world, url, secret, sealed(world), **HEADERS).status_code == 202
    assert post(world, url, passes[0], b"bad", **HEADERS).status_code == 400
    assert post(world, url, "00" * 48, sealed(world), **HEADERS).status_code == 401
    operations = Operations(
        "shuffler", Rounds(pause=10), {}, {"batches": world.shuffler.batch_states}
    )
    kept = files_of(world.folder, "shuffler")
    kept += log.getvalue().encode() + operations.metrics.text([]).encode()
    addresses = () if Current.server else (b"127.0.0.1",)  # the server's own settings name it
    for mark in (b"agent-93d1", b"203.0.113.77", *addresses):
        assert mark not in kept
    for secret in passes:
        assert secret.encode() not in kept
        # Neither who it was: the tag is made with a key that goes with the window.
        assert bytes.fromhex(secret)[:16] not in kept


def test_53_nothing_of_a_request_for_tokens_is_kept(tmp_path: Path, log: io.StringIO) -> None:
    world = IssuingWorld(tmp_path)
    world.open_window()
    client, invitation = world.client(), world.invitation()
    client.take_part(1, card=world.make_card(), window=WINDOW)
    path = f"/v2/tokens/{world.task.task_id.hex()}/{WINDOW}"
    with on_loopback(issuer_app(world.issuer)) as address:
        for body in (client.token_request(WINDOW), bytes(259)):
            httpx.post(
                address + path,
                content=body,
                headers={"authorization": f"Bearer {invitation}", **HEADERS},
            )
    assert world.storage.read("SELECT answers FROM issued") == [(1,)]
    kept = b"".join(p.read_bytes() for p in tmp_path.glob("issuer.sqlite*"))
    kept += log.getvalue().encode()
    for mark in (b"agent-93d1", b"203.0.113.77", b"127.0.0.1", invitation.encode()):
        assert mark not in kept
    assert bytes.fromhex(invitation)[:16] not in kept
    assert client.token_request(WINDOW)[3:40] not in kept
    world.close()


@ONLY_SQLITE
def test_53_tables_have_no_time_and_no_order(world: PartyWorld, tmp_path: Path) -> None:
    issuer = SqliteStorage(tmp_path / "i.sqlite", ISSUER_SCHEMA)
    for storage in (world.shuffler.storage, world.analyzer.storage, issuer):
        columns = storage.read(
            "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "
            "WHERE m.type = 'table'"
        )
        names = {column for _, column in columns}
        assert not names & {"time", "address", "ip", "agent", "created", "rowid"}
        made = storage.read("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        for name, statement in made:
            assert "WITHOUT ROWID" in statement, name
    issuer.close()


def test_54_answers_do_not_tell_new_from_repeated(world: PartyWorld, url: str) -> None:
    secret, body = world.new_pass(), sealed(world)
    first, again = (post(world, url, secret, body) for _ in range(2))
    assert first.status_code == again.status_code == 202
    assert first.content == again.content
    assert dict(first.headers) == dict(again.headers)
    assert "server" not in first.headers
    assert "date" not in first.headers


def test_55_windows_that_are_open_or_too_small_are_not_shown(world: PartyWorld) -> None:
    operations = Operations(
        "shuffler", Rounds(pause=10), {}, {"batches": world.shuffler.batch_states}
    )
    empty = operations.metrics.text([])
    world.send_many(5)
    assert operations.metrics.text([]) == empty
    world.seal()
    # Destroyed for being too few: nothing shows that there were any.
    assert operations.metrics.text([]) == empty
    world.open_window(WINDOW + 1)
    world.send_many(14, window=WINDOW + 1)
    world.seal(WINDOW + 1)
    assert 'smoothdp_batches{party="shuffler",state="SEALED"} 1.0' in operations.metrics.text([])


def test_66_passes(world: PartyWorld, url: str) -> None:
    body, good = sealed(world), world.new_pass()
    other_task = Secret.issue(PASS_KEY, use="pass", task_id=bytes(32)).text
    invitation = Secret.issue(PASS_KEY, use="invitation", task_id=world.task.task_id).text
    wrong = good[:-2] + ("00" if good[-2:] != "00" else "01")
    for secret in (wrong, other_task, invitation, "zz", "é", good.upper() + "0"):
        headers = {b"authorization": f"Bearer {secret}".encode()}
        answer = httpx.post(url + reports(world), content=body, headers=headers)
        assert answer.status_code == 401, secret
    assert httpx.post(url + reports(world), content=body).status_code == 401
    assert world.shuffler.totals()["pending"] == 0
    assert post(world, url, good, body).status_code == 202


def test_66_a_pass_is_good_for_one_report_a_window(world: PartyWorld, url: str) -> None:
    mine, others, secret, other = sealed(world), sealed(world), world.new_pass(), world.new_pass()
    assert post(world, url, secret, mine).status_code == 202
    # Again, with what someone else sealed; spaces and capitals make no new pass.
    for written in (secret, secret.upper(), " ".join(secret)):
        assert post(world, url, written, others).status_code in (401, 409)
    assert post(world, url, other, others).status_code == 202
    assert world.shuffler.totals()["pending"] == 2


def test_69_a_service_is_replaced_while_clients_send(world: PartyWorld) -> None:
    for _ in range(3):
        with on_loopback(shuffler_app(world.shuffler)) as address:
            for _ in range(5):
                assert post(world, address, world.new_pass(), sealed(world)).status_code == 202
        world.restart()
    assert world.shuffler.totals()["pending"] == 15


@pytest.mark.parametrize("length", [0, 1, -1, +1, 5_000_000])
def test_72_bodies_of_another_length(world: PartyWorld, url: str, length: int) -> None:
    whole = sealed_bytes(world.task.slots, world.task.signed)
    size = whole + length if abs(length) == 1 else length
    answer = post(world, url, world.new_pass(), bytes(size))
    assert answer.status_code == (413 if size > whole else 400)


def test_72_a_slow_body_is_given_up(
    world: PartyWorld, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.3)
    host, port = url.removeprefix("http://").split(":")
    length = sealed_bytes(world.task.slots, world.task.signed)
    with socket.create_connection((host, int(port)), timeout=10) as slow:
        slow.sendall(
            (
                f"POST {reports(world)} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n"
                f"authorization: Bearer {world.new_pass()}\r\n\r\nab"
            ).encode()
        )
        assert b" 408 " in slow.recv(4096)
    assert post(world, url, world.new_pass(), sealed(world)).status_code == 202


@ONLY_SQLITE
def test_secrets_do_not_travel_in_the_clear(world: PartyWorld) -> None:
    with pytest.raises(InvalidParameter, match="certificate"):
        run(shuffler_app(world.shuffler), host="0.0.0.0", port=0)


@ONLY_SQLITE
def test_a_service_leaves_the_logging_of_its_program_alone(world: PartyWorld) -> None:
    """Another library's handler stays open: absl's closes the stream that it was made with."""

    class Watched(logging.StreamHandler[io.StringIO]):
        def close(self) -> None:
            self.stream.close()

    stream = io.StringIO()
    handler = Watched(stream)
    with on_loopback(shuffler_app(world.shuffler)):
        assert not handler.stream.closed
