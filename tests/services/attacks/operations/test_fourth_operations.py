"""What a careless or unlucky operator does, and what a slow or hostile peer sends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smoothdp.cli.serving.serve import serve
from smoothdp.cli.serving.task_revoke import revoke
from smoothdp.errors import InvalidParameter
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.analyzer_web import analyzer_app
from smoothdp.services.check import check_party
from smoothdp.services.formats.report import sealed_bytes
from smoothdp.services.operations import bodies
from smoothdp.services.operations.health import certificate_condition
from smoothdp.services.operations.tls import Served
from smoothdp.services.shuffler.shuffler_party import issue_passes
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.running import on_loopback
from smoothdp.services.wire.tokens import token_hash
from tests.services.operations.certificates import Authority
from tests.services.operations.served import serving
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task

pytestmark = ONLY_SQLITE


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


@pytest.mark.parametrize(
    ("name", "value"), [("HTTPS_PROXY", "nonsense://proxy"), ("SSL_CERT_FILE", "nowhere.pem")]
)
def test_an_environment_in_which_https_does_not_work_is_said(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidParameter, match="unset, HTTPS_PROXY"):
        connect("https://shuffler.example")


def test_the_certificate_that_callers_see_is_the_one_that_is_looked_at(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    shown, key = authority.certificate("server", days=3)
    newer, newer_key = authority.certificate("newer", days=30)
    served = Served(shown, key)
    served.context()
    assert not certificate_condition(shown, shown=served.shown).good

    # Renewed on the disk alone: callers still see the old one.
    shutil.copy(newer, shown)
    condition = certificate_condition(shown, shown=served.shown)
    assert not condition.good
    assert (
        condition.says == f"the one that is shown ends in 3.0 days, and {shown} has another: "
        "send SIGHUP"
    )

    # A key that does not fit: SIGHUP changes nothing.
    with pytest.raises(InvalidParameter, match="its key"):
        served.context()
    assert not certificate_condition(shown, shown=served.shown).good

    shutil.copy(newer_key, key)
    served.context()
    assert certificate_condition(shown, shown=served.shown).good


@pytest.mark.slow
def test_a_renewed_certificate_counts_from_sighup_on(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    shown, key = authority.certificate("server", days=3)
    newer, newer_key = authority.certificate("newer", days=30)
    written = party_directories(tmp_path / "t")
    more = ["--certificate", str(shown), "--certificate-key", str(key)]
    with serving("analyzer", written.analyzer, *more, scheme="https") as party:
        assert "certificate" in party.wrong()
        shutil.copy(newer, shown)
        shutil.copy(newer_key, key)
        assert "certificate" in party.wrong()
        os.kill(party.process.pid, signal.SIGHUP)
        party.wait(lambda: "certificate" not in party.wrong())


@pytest.mark.parametrize("content", [b"\xdc\x00\xff", "\ufeffabc\n".encode(), "ü\n".encode()])
def test_a_list_that_is_no_text_revokes_nobody_in_words(tmp_path: Path, content: bytes) -> None:
    written = party_directories(tmp_path / "t")
    issue_passes(written.shuffler, 1)
    file = tmp_path / "lost"
    file.write_bytes(content)
    result = CliRunner().invoke(revoke, [str(written.shuffler), str(file)])
    assert result.exit_code in (1, 2)
    assert "none was revoked" in " ".join(result.output.split())
    assert not (written.shuffler / "revoked").exists()


def test_a_password_in_a_line_of_the_configuration_is_not_repeated(tmp_path: Path) -> None:
    config = tmp_path / "issuer.toml"
    config.write_text('directory = "issuer"\nstorage = "postgresql://us:secret@db/x"\n')
    result = CliRunner().invoke(serve, ["issuer", "--config", str(config)])
    assert result.exit_code == 2
    assert "got storage. Correct that line" in " ".join(result.output.split())
    assert "secret" not in result.output


def test_the_check_of_the_container_goes_past_a_proxy() -> None:
    text = (Path(__file__).parents[4] / "deploy" / "Containerfile").read_text()
    line = next(x for x in text.splitlines() if x.strip().startswith('CMD ["python"'))
    command = json.loads(line.strip().removeprefix("CMD "))[2]

    def healthy(port: str) -> bool:
        environment = {
            **os.environ,
            "HTTP_PROXY": "http://127.0.0.1:1",
            "http_proxy": "http://[::1]",
        }
        program = [sys.executable, "-c", command.replace("9600", port)]
        return subprocess.run(program, env=environment, capture_output=True).returncode == 0

    async def alive(_: Request) -> Response:
        return Response("ok")

    async def ill(_: Request) -> Response:
        return Response("no", 503)

    for answer, expected in ((alive, True), (ill, False)):
        with on_loopback(Starlette(routes=[Route("/livez", answer)])) as address:
            assert healthy(address.rpartition(":")[2]) is expected
    assert not healthy("1")


def test_a_check_after_a_kill_leaves_the_ledger_as_it_is(tmp_path: Path) -> None:
    written = party_directories(tmp_path / "t")
    AnalyzerParty.from_directory(written.analyzer).close()
    ledger = next(written.analyzer.glob("ledger-*.db"))
    # A process that was killed leaves its log beside the file.
    kept = tmp_path / "kept"
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE more (x)")
        connection.commit()
        shutil.copytree(written.analyzer, kept)
    shutil.rmtree(written.analyzer)
    shutil.copytree(kept, written.analyzer)
    written.analyzer.chmod(0o700)

    def contents() -> dict[str, bytes]:
        files = [p for p in written.analyzer.iterdir() if not p.name.endswith("-shm")]
        return {p.name: p.read_bytes() for p in files}

    before = contents()
    assert any(name.endswith(".db-wal") and data for name, data in before.items())
    found = {one.name: one for one in check_party(written.analyzer)}
    assert found["ledger"].good
    assert contents() == before

    # What is wrong with it names it, and not a copy.
    ledger.write_bytes(b"no database" * 1000)
    ledger.with_name(ledger.name + "-wal").unlink()
    found = {one.name: one for one in check_party(written.analyzer)}
    assert not found["ledger"].good
    assert str(ledger) in found["ledger"].says
    assert ledger.read_bytes() == b"no database" * 1000


def test_what_cannot_be_written_is_not_fit_to_be_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = party_directories(tmp_path / "t")
    AnalyzerParty.from_directory(written.analyzer).close()
    ledger = next(written.analyzer.glob("ledger-*.db"))
    # As on a disk that is mounted for reading: whoever asks here may write everything else.
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != ledger)
    found = {one.name: one for one in check_party(written.analyzer)}
    assert not found["rights"].good
    assert f"{ledger.name} cannot be written" in found["rights"].says
