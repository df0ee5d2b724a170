"""Running the applications with uvicorn: no access log, no banner, no address kept."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from smoothdp.errors import InvalidParameter
from smoothdp.services.wire.calls import is_loopback


def _config(app: Starlette, host: str, port: int, **more: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        access_log=False,
        # Setting logging up anew would close the handlers of the program around us.
        log_config=None,
        log_level="warning",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=5,
        limit_concurrency=4096,
        **more,  # type: ignore[arg-type]
    )


def run(
    app: Starlette,
    *,
    host: str,
    port: int,
    certificate: Path | None = None,
    certificate_key: Path | None = None,
    behind_tls: bool = False,
) -> None:
    """Serve until stopped.

    Raises:
        InvalidParameter: an address that others can reach, without encryption: tokens would
            travel in the clear. An address in use, or a certificate that cannot be read.

    >>> from smoothdp.services import ShufflerParty
    >>> party = ShufflerParty.from_directory(Path("task/shuffler"))  # doctest: +SKIP
    >>> app = party.app("https://analyzer.example")  # doctest: +SKIP
    >>> run(app, host="127.0.0.1", port=8100)  # doctest: +SKIP
    >>> run(Starlette(), host="0.0.0.0", port=8100)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    smoothdp.errors.InvalidParameter: Expected a certificate, or a proxy that has one, ...
    """
    if certificate is None and not behind_tls and not is_loopback(host):
        raise InvalidParameter(
            expected="a certificate, or a proxy that has one, for an address that others can reach",
            got=f"host={host}",
            remedy="Give --certificate and --certificate-key, or --behind-tls",
        )
    files = {}
    if certificate is None and certificate_key is not None:
        raise InvalidParameter(
            expected="the certificate of a key",
            got=f"certificate_key={certificate_key} alone",
            remedy="Give --certificate too, or neither",
        )
    if certificate is not None:
        check_certificate(certificate, certificate_key)
        files = {"ssl_certfile": str(certificate), "ssl_keyfile": str(certificate_key)}
    with _listening(host, port) as listener:
        uvicorn.Server(_config(app, host, port, **files)).run(sockets=[listener])


def check_certificate(certificate: Path, key: Path | None) -> None:
    """Raise InvalidParameter unless the two files are a certificate and its key."""
    if key is None:
        raise InvalidParameter(
            expected="the key of the certificate", got="none", remedy="Give --certificate-key"
        )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
        raise InvalidParameter(
            expected=f"a certificate {certificate} and its key {key}, in PEM",
            got=reason,
            remedy="Give two PEM files that belong together, the key without a password",
        ) from None


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
def on_loopback(app: Starlette) -> Iterator[str]:
    """Serve on a free loopback port in a thread; yield the address.

    Raises:
        OSError: the service did not start within 20 seconds.

    >>> from smoothdp.services import connect
    >>> with on_loopback(Starlette()) as address, connect(address) as http:
    ...     http.get("/").status_code
    404
    """
    server = uvicorn.Server(_config(app, "127.0.0.1", 0))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise OSError("the service did not start")
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(timeout=20)
