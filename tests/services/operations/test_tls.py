"""A private authority, certificates of callers, and files that are read again on SIGHUP."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from cryptography import x509

from smoothdp.cli.serving.serve import serve
from smoothdp.cli.serving.submit import results
from smoothdp.services.operations.connections import raise_descriptors
from smoothdp.services.operations.tls import Served, Trust
from smoothdp.services.wire.calls import Unreachable, ask, connect
from tests.services.operations.certificates import Authority
from tests.services.operations.served import serving
from tests.services.worlds.directories import party_directories


def serial(port: int, context: ssl.SSLContext) -> int:
    """Return the number of the certificate that is shown at a port."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        shown = connection.getpeercert(binary_form=True)
    assert shown is not None
    return x509.load_der_x509_certificate(shown).serial_number


def test_callers_without_a_certificate_are_refused_and_files_are_read_again(
    tmp_path: Path,
) -> None:
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    certificate, key = ours.certificate("server")
    mine, strange = ours.together("me"), theirs.together("stranger")
    client_ca = tmp_path / "client-ca.pem"
    shutil.copy(ours.ca, client_ca)
    written = party_directories(tmp_path / "t")
    more = ["--certificate", str(certificate), "--certificate-key", str(key)]
    more += ["--client-ca", str(client_ca)]

    def answered(who: Path | None, *, ca: Path = ours.ca) -> bool:
        trust = Trust(ca=ca, client_certificate=who)
        with connect(f"https://127.0.0.1:{party.port}", trust=trust) as http:
            try:
                return ask(http, "GET", "/").status == 404
            except Unreachable:
                return False

    def result(*options: Path | str) -> str:
        address = f"https://127.0.0.1:{party.port}"
        command = ["5", "--collector", written.collector, "--analyzer", address, *options]
        found = CliRunner().invoke(results, [str(word) for word in command])
        return f"{found.exit_code} {found.output} {found.exception}"

    with serving("analyzer", written.analyzer, *more, scheme="https") as party:
        # Of a window long over: no batch has come.
        assert result("--ca", ours.ca, "--client-certificate", mine).startswith("3 ")
        assert "got none" in result("--ca", ours.ca)
        assert "got none" in result("--client-certificate", mine)
        assert answered(mine)
        assert not answered(strange)
        assert not answered(None)
        # Neither is whoever shows us a certificate of somebody else.
        assert not answered(mine, ca=theirs.ca)

        # A new certificate, and callers of another authority alone.
        context = Trust(ca=ours.ca, client_certificate=mine).context()
        assert context is not None
        before = serial(party.port, context)
        with connect(
            f"https://127.0.0.1:{party.port}", trust=Trust(ca=ours.ca, client_certificate=mine)
        ) as kept:
            assert kept.get("/").status_code == 404
            ours.certificate("server")
            shutil.copy(theirs.ca, client_ca)
            os.kill(party.process.pid, signal.SIGHUP)
            party.wait(lambda: any("were read again" in x["event"] for x in party.lines()))
            # Who was connected stays so.
            assert kept.get("/").status_code == 404
        assert answered(strange)
        assert not answered(mine)
        context = Trust(ca=ours.ca, client_certificate=strange).context()
        assert context is not None
        now = serial(party.port, context)
        assert now != before

        # Half a file: what was there goes on.
        certificate.write_text("-----BEGIN CERTIFICATE-----\n")
        os.kill(party.process.pid, signal.SIGHUP)
        party.wait(lambda: any("not read again" in x["event"] for x in party.lines()))
        assert serial(party.port, context) == now
        assert answered(strange)
        said = [x for x in party.lines() if "not read again" in x["event"]]
        assert [x["cause"] for x in said] == ["tls"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--ca", "nowhere.pem"],
        ["--ca", "text"],
        ["--ca", "empty"],
        ["--client-certificate", "nowhere.pem"],
        ["--client-certificate", "text"],
        ["--client-ca", "ca.pem"],
        ["--certificate", "server.pem", "--certificate-key", "server.key", "--client-ca", "text"],
        ["--admin", "0.0.0.0:9601"],
    ],
)
def test_files_that_are_no_certificates_are_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Authority(tmp_path).certificate("server")
    Path("text").write_text("no certificate")
    Path("empty").touch()
    written = party_directories(Path("t"))
    command = [
        "shuffler",
        str(written.shuffler),
        "--analyzer",
        "https://127.0.0.1:1",
        "--port",
        "0",
    ]
    result = CliRunner().invoke(serve, [*command, *arguments])
    assert result.exit_code not in (0, None)
    assert result.output.startswith("Error: Expected ")
    assert result.output.count("\n") == 1
    assert arguments[-1] in result.output


def test_without_options_the_usual_authorities_count(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = Served(*authority.certificate("server")).context()
    assert context.verify_mode == ssl.CERT_NONE
    assert Trust().context() is None
    trusted = Trust(ca=authority.ca).context()
    assert trusted is not None
    # The system's are not among them.
    assert trusted.cert_store_stats()["x509"] == 1
    assert trusted.check_hostname
    assert trusted.verify_mode == ssl.CERT_REQUIRED
    mutual = Trust(client_certificate=authority.together("me")).context()
    assert mutual is not None
    assert mutual.check_hostname
    with httpx.Client(verify=mutual):
        pass


def test_the_limit_of_descriptors_is_raised_and_never_lowered() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
        assert raise_descriptors(2048) == 2048
        assert raise_descriptors(1500) == 2048
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (2048, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
