"""Addresses of services: which are one place, which are none, and who stands between."""

from __future__ import annotations

import http.server
import socket
import threading
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidParameter, SmoothdpError
from smoothdp.services import take_part
from smoothdp.services.client import taking_part
from smoothdp.services.wire.calls import Unreachable, ask, connect, one_place
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.handing_on import hands_on
from tests.services.worlds.issuing_world import IssuingWorld
from tests.services.worlds.listener import Listen
from tests.services.worlds.quick_clients import hasten
from tests.services.worlds.small_tasks import small_task


def test_a_proxy_of_the_environment_reads_no_pass(
    listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain http is for this machine alone; it went to the proxy, which got the pass."""

    def accept(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")

    proxy = listen(accept)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.address)
    with connect("http://127.0.0.1:9") as shuffler, pytest.raises(Unreachable):
        ask(shuffler, "POST", "/v2/reports/x/1", token="pass", body=b"report")
    assert proxy.heard == []


def test_an_address_or_a_proxy_that_is_none_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for address in (
        "http://[::1]evil.example",
        "https://xn--",
        "http://127.0.0.1?@x",
        "https://x#y",
    ):
        with pytest.raises(InvalidParameter, match="Expected an address"):
            connect(address)
    for proxy in ("foo://proxy", "socks4://127.0.0.1:1", "http://[::1"):
        monkeypatch.setenv("https_proxy", proxy)
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        with pytest.raises(InvalidParameter, match="HTTPS_PROXY"):
            connect("https://shuffler.example")
        connect("http://127.0.0.1:1").close()


@pytest.mark.parametrize("host", ["a" * 64, "a..b"])
def test_a_host_that_is_no_name_is_refused_in_words(host: str) -> None:
    """A label of 64 letters ended in a traceback, of a cache that nobody needed too."""
    with pytest.raises(SmoothdpError), connect(f"https://{host}") as service:
        ask(service, "GET", "/")


class Ahead(http.server.ThreadingHTTPServer):
    """A service at ::1 that hands all on to another address, and keeps what it reads."""

    address_family = socket.AF_INET6
    daemon_threads = True

    def __init__(self, to: str) -> None:
        self.read: list[tuple[str, str]] = []

        def before(asked: http.server.BaseHTTPRequestHandler) -> None:
            self.read.append((asked.path, asked.headers.get("authorization", "")))

        super().__init__(("::1", 0), hands_on(to, before))
        threading.Thread(target=lambda: self.serve_forever(0.02), daemon=True).start()


def test_the_issuers_address_with_a_zone_is_not_the_shufflers(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One host and port for both sides is refused, "however these are spelt"."""
    monkeypatch.setenv("XDG_STATE_HOME", str(world.folder / "state"))
    hasten(monkeypatch, lambda: world.now)
    try:
        issuer = Ahead(world.address)
    except OSError:
        pytest.skip("no IPv6 here")
    port, own = issuer.server_address[1], "0a" * 48
    try:
        take_part(
            world.task,
            1,
            shuffler=f"http://[::1%1]:{port}",
            pass_secret=own,
            invitation=world.invitation(),
            issuer=f"http://[::1]:{port}",
        )
    except SmoothdpError as error:
        refused = str(error)
    finally:
        issuer.shutdown()
        issuer.server_close()
    assert f"Bearer {own}" not in {named for _, named in issuer.read}
    assert "addresses of the shuffler and the issuer" in refused


@pytest.mark.parametrize("shuffler", ["https://0.0.0.0:8603", "https://[::]:8603"])
def test_the_address_of_all_is_this_machine(
    shuffler: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Who connects to 0.0.0.0 comes to whoever listens on this machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(taking_part, "prepare", lambda *_, **__: pytest.fail("it would be sent"))
    with pytest.raises(InvalidParameter, match="addresses of the shuffler and the issuer"):
        take_part(
            small_task(),
            1,
            shuffler=shuffler,
            pass_secret="0a" * 48,
            invitation="0b" * 48,
            issuer="https://127.0.0.1:8603",
        )


@pytest.mark.parametrize("shuffler", ["https://127.0.0.2:8603", "https://127.1.2.3:8603"])
def test_all_addresses_of_this_machine_are_one(
    shuffler: str, quick_world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As 0.0.0.0: whoever listens at all addresses of a machine answers at 127.0.0.2 too."""
    monkeypatch.setattr(taking_part, "prepare", lambda *_, **__: None)
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": "0b" * 48}
    with pytest.raises(InvalidParameter, match="addresses of the shuffler and the issuer"):
        take_part(quick_world.task, 1, shuffler=shuffler, issuer="https://127.0.0.1:8603", **own)


@pytest.mark.parametrize(
    "shuffler",
    [
        "HTTP://127.0.0.1:8603",
        "http://127.0.0.1:8603//",
        "http://127.0.0.1:08603",
        "http://localhost:8603",
        "http://LOCALHOST:8603/shuffler",
        "http://[::1]:8603",
        "http://[0:0::1]:8603",
    ],
)
def test_one_address_for_both_sides_is_refused_however_it_is_written(
    shuffler: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another spelling of the issuer's address took the pass to the issuer."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(InvalidParameter, match="addresses of the shuffler and the issuer"):
        take_part(
            small_task(),
            1,
            shuffler=shuffler,
            pass_secret="0a" * 48,
            invitation="0b" * 48,
            issuer="http://127.0.0.1:8603",
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("shuffler", "issuer"),
    [
        ("https://203.0.113.5:8603", "https://[::ffff:203.0.113.5]:8603"),
        ("https://203.0.113.5", "https://0xcb007105"),
        ("https://203.0.113.5", "https://203.28933:443"),
        ("http://127.0.0.1:8603", "https://127.1:8603"),
        ("https://issuer.example", "https://cache.example"),
    ],
)
def test_an_address_of_the_issuer_in_any_spelling_is_not_the_shufflers(
    shuffler: str, issuer: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The system takes more forms of a number than Python's own reader; and the issuer that the
    task names is one, whatever other address of it is given.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(InvalidParameter, match="addresses of the shuffler and the issuer"):
        take_part(
            small_task(),
            1,
            shuffler=shuffler,
            pass_secret="0a" * 48,
            invitation="0b" * 48,
            issuer=issuer,
        )
    assert list(tmp_path.iterdir()) == []


def test_no_two_spellings_of_one_connection_are_two_places() -> None:
    """ "The client refuses ... one host and port for both sides, however these are spelt".

    Held against what the connection itself takes an address for, over all pairs of spellings.
    """
    hosts = ["esa.example", "ESA.Example", "e%73a.example", "esa\uff0eexample", "127.0.0.1"]
    hosts += ["[2001:DB8::1]", "[2001:db8:0::1]", "esa.example\\x", "user@esa.example"]
    taken: dict[str, tuple[bytes, int]] = {}
    for host in hosts:
        for port in ("", ":0443"):
            address = f"https://{host}{port}/a/.."
            try:
                with connect(address) as http:
                    taken[address] = http.base_url.raw_host.lower(), http.base_url.port or 443
            except SmoothdpError:
                continue
    same = [pair for pair in combinations(taken, 2) if taken[pair[0]] == taken[pair[1]]]
    assert len(same) > 8
    assert all(one_place(*pair) for pair in same)


@needs_node
def test_one_address_for_both_services_is_refused() -> None:
    """Who serves the page would be given the invitation beside the pass."""
    found = run(
        """
        const { readTask, toHex } = smoothdp, encoded = new TextEncoder().encode(given);
        const hash = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", encoded)));
        const said = [];
        for (const origin of ["https://issuer.example", "https://poll.example"]) {
          said.push(await readTask(encoded, hash, { origin }).then(() => "", (e) => e.message));
        }
        return said;
        """,
        small_task().encoded.decode(),
    )
    assert found[0].startswith("Both services of this poll have one address: nothing was sent")
    assert found[1] == ""


@needs_node
def test_one_address_spelt_twice_is_one() -> None:
    """In capitals, with the port that goes without saying, or with a point of the root."""
    task = small_task()
    assert task.issuer is not None
    secrets = {"pass_secret": "0a" * 48, "invitation": "0b" * 48}
    for address in (
        "HTTPS://Issuer.Example",
        "https://issuer.example:443/",
        "https://issuer.example.",
    ):
        with pytest.raises(InvalidParameter, match="one for both"):
            take_part(task, 1, shuffler=address, **secrets)
