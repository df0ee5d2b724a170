"""uvicorn's server with our connections: short handshakes, an admin port, files read again."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.config import STARTUP_FAILURE

from smoothdp.services.operations.connections import HEADER_SECONDS, PartyProtocol, PartyState
from smoothdp.services.operations.logs import Cause, said

LOG = logging.getLogger("smoothdp.services")
HANDSHAKE_SECONDS = 5.0


def config_of(app: Starlette, host: str, port: int, *, most: int | None = 4096) -> uvicorn.Config:
    """Return uvicorn's settings: no access log, no banner, no date, no address kept.

    >>> config_of(Starlette(), "127.0.0.1", 0).access_log
    False
    """
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=PartyProtocol,
        ws="none",
        access_log=False,
        # Setting logging up anew would close the handlers of the program around us.
        log_config=None,
        log_level="warning",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=5,
        limit_concurrency=most,
    )


@dataclass(frozen=True, slots=True)
class Admin:
    """What an operator asks on this machine: an application, and the socket it listens on."""

    app: Starlette
    listener: socket.socket


class PartyServer(uvicorn.Server):
    """A server of one party.

    Args:
        config: made by `config_of`.
        most_of_address: connections of one address; None behind a proxy.
        header_seconds: see `HEADER_SECONDS`.
        tls: makes what encrypts from its files: at the start, and again on SIGHUP.
        admin: the application for the operator, in the same loop.
        meanwhile: what runs beside, until the end.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        most_of_address: int | None = None,
        header_seconds: float = HEADER_SECONDS,
        tls: Callable[[], ssl.SSLContext] | None = None,
        admin: Admin | None = None,
        meanwhile: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        super().__init__(config)
        self.server_state: PartyState = PartyState(
            most_of_address=most_of_address, header_seconds=header_seconds
        )
        self._tls, self._admin, self._meanwhile = tls, admin, meanwhile
        self._admin_state = PartyState(most_of_address=None)
        self._beside: asyncio.Task[None] | None = None
        self._listeners: list[socket.socket] = []
        self._reading_again = asyncio.Lock()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen; uvicorn's own lets a TLS handshake take a minute."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        self._listeners = list(sockets or [])
        if sockets is None:
            self._listeners = [socket.create_server((self.config.host, self.config.port))]
        context = None if self._tls is None else self._tls()
        self.servers = [await self._listen(listener, context) for listener in self._listeners]
        if self._admin is not None:
            self.servers.append(await self._listen_for_admin(self._admin))
        in_main = threading.current_thread() is threading.main_thread()
        # Without a handler the signal would end a service that has no files to read again.
        if in_main and hasattr(signal, "SIGHUP"):
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGHUP, lambda: loop.create_task(self.read_again()))
        if self._meanwhile is not None:
            self._beside = asyncio.create_task(self._meanwhile())
        self.started = True

    async def read_again(self) -> None:
        """Read certificates anew; connections that are open stay. Bad files change nothing."""
        if self._tls is None:
            return
        # Of two signals at once each closes what the one before has opened.
        async with self._reading_again:
            kept = len(self._listeners)
            old = self.servers[:kept]
            copies: list[socket.socket] = []
            try:
                # Both listen on one queue for a moment: nobody who connects meanwhile is refused.
                for listener in self._listeners:
                    copies.append(listener.dup())
                # At last: what is read is said to be what callers see from then on.
                context = self._tls()
            except Exception as error:  # whatever is wrong, the old ones still serve
                for copy in copies:
                    copy.close()
                said(LOG, "certificates were not read again", Cause.TLS, error=error)
                return
            self.servers[:kept] = [await self._listen(copy, context) for copy in copies]
            self._listeners = copies
            for server in old:
                server.close()
        LOG.warning("certificates were read again", extra={"event": "certificates were read again"})

    async def _listen(
        self, listener: socket.socket, context: ssl.SSLContext | None
    ) -> asyncio.base_events.Server:
        more: dict[str, Any] = {}
        if context is not None:
            more = {
                "ssl": context,
                "ssl_handshake_timeout": HANDSHAKE_SECONDS,
                "ssl_shutdown_timeout": HANDSHAKE_SECONDS,
            }

        def protocol() -> asyncio.Protocol:
            return PartyProtocol(
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state
            )

        loop = asyncio.get_running_loop()
        return await loop.create_server(
            protocol, sock=listener, backlog=self.config.backlog, **more
        )

    async def _listen_for_admin(self, admin: Admin) -> asyncio.base_events.Server:
        # Without a limit of its own: an operator gets an answer while strangers get 503.
        config = config_of(admin.app, "127.0.0.1", 0, most=None)
        config.load()

        def protocol() -> asyncio.Protocol:
            return PartyProtocol(
                config=config, server_state=self._admin_state, app_state=self.lifespan.state
            )

        loop = asyncio.get_running_loop()
        return await loop.create_server(protocol, sock=admin.listener, backlog=16)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: what is under way is answered, the operator's connections are closed."""
        self.server_state.is_stopping = True
        if self._beside is not None:
            self._beside.cancel()
        for connection in list(self._admin_state.connections):
            connection.shutdown()
        await super().shutdown(sockets=sockets)
