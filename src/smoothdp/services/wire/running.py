"""Running the applications: no access log, no banner, no address kept, and an admin port."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from starlette.applications import Starlette

from smoothdp.errors import InvalidParameter
from smoothdp.services.operations.admin import Operations, admin_address, admin_app
from smoothdp.services.operations.connections import (
    HEADER_SECONDS,
    MOST_OF_ADDRESS,
    raise_descriptors,
)
from smoothdp.services.operations.health import Health, Rounds, certificate_condition
from smoothdp.services.operations.logs import json_lines
from smoothdp.services.operations.party_server import Admin, PartyServer, config_of
from smoothdp.services.operations.tls import Served
from smoothdp.services.wire.calls import is_loopback


def run(
    app: Starlette,
    *,
    host: str,
    port: int,
    certificate: Path | None = None,
    certificate_key: Path | None = None,
    client_ca: Path | None = None,
    behind_tls: bool = False,
    admin: str | None = None,
) -> None:
    """Serve until stopped, and log as lines of JSON.

    Args:
        app: of a party; ``app.state.operations`` says what is asked of it at ``admin``.
        host, port: where to listen.
        certificate, certificate_key: PEM files; read again on SIGHUP.
        client_ca: authorities of the callers, PEM: others are refused at the handshake.
        behind_tls: a proxy in front encrypts, and limits connections.
        admin: ``127.0.0.1:PORT`` for ``/livez``, ``/readyz`` and ``/metrics``; by default nowhere.

    Raises:
        InvalidParameter: an address that others can reach, without encryption: tokens would
            travel in the clear. An address in use, or a certificate that cannot be read.

    >>> from smoothdp.services import ShufflerParty
    >>> party = ShufflerParty.from_directory(Path("task/shuffler"))  # doctest: +SKIP
    >>> app = party.app("https://analyzer.example")  # doctest: +SKIP
    >>> run(app, host="127.0.0.1", port=8100, admin="127.0.0.1:9100")  # doctest: +SKIP
    >>> run(Starlette(), host="0.0.0.0", port=8100)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    smoothdp.errors.InvalidParameter: Expected a certificate, or a proxy that has one, ...
    """
    served = _served(host, certificate, certificate_key, client_ca, behind_tls=behind_tls)
    operations: Operations = getattr(app.state, "operations", None) or Operations(
        "service", Rounds(pause=10.0)
    )
    checks = dict(operations.checks)
    if served is not None:
        checks["certificate"] = lambda: certificate_condition(
            served.certificate, shown=served.shown
        )
    raise_descriptors()
    with ExitStack() as stack:
        listener = stack.enter_context(_listening(host, port))
        health = Health(checks)
        stack.callback(health.close)
        asked = None
        if admin is not None:
            operator = stack.enter_context(_listening(*admin_address(admin)))
            asked = Admin(admin_app(operations, health), operator)
        stack.enter_context(json_lines(operations.party))
        PartyServer(
            config_of(app, host, port),
            most_of_address=None if behind_tls else MOST_OF_ADDRESS,
            tls=None if served is None else served.context,
            admin=asked,
            meanwhile=health.watch,
        ).run(sockets=[listener])


def _served(
    host: str,
    certificate: Path | None,
    key: Path | None,
    client_ca: Path | None,
    *,
    behind_tls: bool,
) -> Served | None:
    """Return what is shown to callers, or None without encryption; refuse what others can read."""
    if certificate is None and not behind_tls and not is_loopback(host):
        raise InvalidParameter(
            expected="a certificate, or a proxy that has one, for an address that others can reach",
            got=f"host={host}",
            remedy="Give --certificate and --certificate-key, or --behind-tls",
        )
    for name, file in (("certificate_key", key), ("client_ca", client_ca)):
        if certificate is None and file is not None:
            raise InvalidParameter(
                expected="a certificate of this service's own",
                got=f"{name}={file} alone",
                remedy="Give --certificate too, or neither",
            )
    if certificate is None:
        return None
    served = Served(certificate, key, client_ca)
    served.context()
    return served


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidParameter(
            expected=f"a free address, not {host}:{port}",
            got=reason,
            remedy="Choose another --port or --host",
        ) from None


@contextmanager
def on_loopback(
    app: Starlette,
    *,
    listener: socket.socket | None = None,
    header_seconds: float = HEADER_SECONDS,
) -> Iterator[str]:
    """Serve on a loopback port in a thread; yield the address.

    Args:
        app: what is served.
        listener: listens already, where the address had to be known before; closed at the end.
            A free port by default.
        header_seconds: how long a connection may say nothing, see `HEADER_SECONDS`.

    Raises:
        OSError: the service did not start within 20 seconds.

    >>> from smoothdp.services import connect
    >>> with on_loopback(Starlette()) as address, connect(address) as http:
    ...     http.get("/").status_code
    404
    """
    with listener or free_port() as listening:
        port = listening.getsockname()[1]
        server = PartyServer(config_of(app, "127.0.0.1", port), header_seconds=header_seconds)
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
        thread.start()
        deadline = time.monotonic() + 20
        while not server.started:
            if not thread.is_alive() or time.monotonic() > deadline:
                raise OSError("the service did not start")
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(timeout=20)


def free_port() -> socket.socket:
    """Return a socket that listens on a free loopback port.

    >>> with free_port() as listener:
    ...     listener.getsockname()[0]
    '127.0.0.1'
    """
    return socket.create_server(("127.0.0.1", 0), backlog=2048)
