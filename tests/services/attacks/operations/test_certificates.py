"""Certificates: which one callers see, when a renewed one counts, and who is believed."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import ssl
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner
from starlette.applications import Starlette

from smoothdp import services
from smoothdp.cli.serving.serve import serve
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services.check import check_party
from smoothdp.services.operations import tls
from smoothdp.services.operations.health import certificate_condition
from smoothdp.services.operations.party_server import PartyServer, config_of
from smoothdp.services.operations.tls import Served
from smoothdp.services.wire.calls import connect
from tests.services.operations import certificates
from tests.services.operations.certificates import Authority
from tests.services.operations.served import Served as ServedParty, serving
from tests.services.storages import ON_BOTH_STORAGES, ONLY_SQLITE
from tests.services.worlds.directories import party_directories


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


def test_a_certificate_that_nobody_believes_yet_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guide: "`serve check` says [...] whether the directory is fit: [...] certificate"."""

    class Later(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            del tz
            return datetime.now(UTC) + timedelta(days=100)

    authority = Authority(tmp_path)
    good, _ = authority.certificate("good")
    monkeypatch.setattr(certificates, "datetime", Later)
    early, _ = authority.certificate("early")
    directory = party_directories(tmp_path / "t").shuffler
    for certificate, wrong in ((good, False), (early, True)):
        found = check_party(directory, certificate=certificate)
        assert [c.good for c in found if c.name == "certificate"] == [not wrong]


@pytest.mark.parametrize(
    ("name", "value"), [("HTTPS_PROXY", "nonsense://proxy"), ("SSL_CERT_FILE", "nowhere.pem")]
)
def test_an_environment_in_which_https_does_not_work_is_said(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidParameter, match="unset, HTTPS_PROXY"):
        connect("https://shuffler.example")


def _read_again(party: ServedParty) -> bool:
    return any(line["event"] == "certificates were read again" for line in party.lines())


@pytest.mark.slow
@ONLY_SQLITE
def test_a_session_of_before_is_not_resumed_after_the_authorities_were_read_again(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`--client-ca` makes a service refuse callers without a certificate of these
    authorities [...]. After a renewal send SIGHUP". A ticket of TLS shows no certificate again.
    """
    directory = party_directories(tmp_path / "t").analyzer
    own, other, new = (Authority(tmp_path, name) for name in ("own", "other", "new"))
    certificate, key = own.certificate("server")
    believed = tmp_path / "believed.pem"
    believed.write_bytes(other.ca.read_bytes())
    context = ssl.create_default_context(cafile=str(own.ca))
    context.load_cert_chain(other.together("client"))
    more = ["--certificate", str(certificate), "--certificate-key", str(key)]
    with ExitStack() as stack:
        party = stack.enter_context(
            serving("analyzer", directory, *more, "--client-ca", str(believed), scheme="https")
        )

        def asked(session: ssl.SSLSession | None) -> tuple[bytes, bool | None, ssl.SSLSession]:
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", party.port), 5))
            sealed = context.wrap_socket(raw, server_hostname="127.0.0.1", session=session)
            stack.enter_context(sealed)
            sealed.sendall(b"GET /v2/tasks/0 HTTP/1.1\r\nhost: x\r\n\r\n")
            answer = sealed.recv(1 << 12)
            assert sealed.session is not None
            return answer, sealed.session_reused, sealed.session

        _, _, session = asked(None)
        answer, reused, _ = asked(session)
        assert reused
        assert answer.startswith(b"HTTP/1.1 404")
        believed.write_bytes(new.ca.read_bytes())
        party.process.send_signal(signal.SIGHUP)
        party.wait(lambda: _read_again(party))
        with suppress(OSError):
            assert asked(session)[0] == b""


@ONLY_SQLITE
def test_two_signals_at_once_leave_no_listener_that_nobody_knows(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "After a renewal send SIGHUP [...]: files are read again".

    Two that came while the loop was busy were read at once: the listener of one was in no list. No
    later SIGHUP gave it other certificates or authorities, and it took connections at the end.
    """
    certificate, key = Authority(tmp_path).certificate("server")
    served = tls.Served(certificate, key)

    async def listens() -> bool:
        listener = socket.create_server(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
        server = PartyServer(config_of(Starlette(), "127.0.0.1", 0), tls=served.context)
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        server.servers = [await server._listen(listener, server._tls() if server._tls else None)]
        server._listeners = [listener]
        await asyncio.gather(server.read_again(), server.read_again())
        for known in server.servers:
            known.close()
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            async with asyncio.timeout(1):
                _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        except (TimeoutError, OSError):
            return False
        writer.close()
        return True

    assert not asyncio.run(listens())


@ON_BOTH_STORAGES
@pytest.mark.parametrize("role", ["analyzer", "shuffler", "issuer"])
def test_a_reload_before_the_service_listens_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    """The signal ends a process that has not said what it does with it."""
    ended = []
    before = signal.signal(signal.SIGHUP, lambda *_: ended.append(True))

    def opening(directory: Path, **_: object) -> NoReturn:
        signal.raise_signal(signal.SIGHUP)
        raise InvalidData(expected="a file", got=directory.name, remedy="Look")

    monkeypatch.setattr(getattr(services, f"{role.capitalize()}Party"), "from_directory", opening)
    where = [] if role == "analyzer" else ["--analyzer", "http://127.0.0.1:1"]
    try:
        done = CliRunner().invoke(serve, [role, str(tmp_path), *where])
    finally:
        signal.signal(signal.SIGHUP, before)
    assert "Expected a file" in done.output
    assert not ended
