"""Connections of strangers: each must say what it wants soon, and none has too many.

uvicorn waits for ever for the first byte of a connection and for the end of its headers, and
its httptools parser takes headers of any length. A subclass of its protocol closes that.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from smoothdp.services.operations.logs import Cause, said
from smoothdp.services.operations.patience import whole_seconds

LOG = logging.getLogger("smoothdp.services")
HEADER_SECONDS = 5.0
"""From the connection, or the answer before, to the end of the headers."""
MOST_HEADER_BYTES = 1 << 16
MOST_AT_ONCE = 16
"""Requests that come on a connection before the first one is answered."""
PIECE_BYTES = 1 << 16
SHORT_BYTES = 1 << 14
"""An answer of so many is in the buffers of the system when it was handed over."""
STOPPING_SECONDS = 10.0
"""What is under way when a service stops may take so long."""
MOST_OF_ADDRESS = 256
"""Connections of one address; of one network of 64 bits in IPv6, as one host has that many."""
LEAST_DESCRIPTORS = 8192


class PartyState(ServerState):
    """What the connections of a service share.

    Args:
        most_of_address: connections an address may have; None where a proxy in front, which has
            one address itself, limits them.
        header_seconds: see `HEADER_SECONDS`.
    """

    def __init__(
        self,
        *,
        most_of_address: int | None = MOST_OF_ADDRESS,
        header_seconds: float = HEADER_SECONDS,
    ) -> None:
        super().__init__()
        self.most_of_address = most_of_address
        self.header_seconds = header_seconds
        self.of_address: Counter[str] = Counter()
        self.is_stopping = False


class PartyProtocol(HttpToolsProtocol):
    """uvicorn's protocol with one deadline from connection to end of headers.

    It is armed again when an answer is complete, so a silent connection, half a header, and
    what dribbles in after an answer all end with it. A body must announce its length, so that
    it can be refused, or paid for from the budget of bodies, before it is read. An answer has as
    long as a client gives it (`whole_seconds`), on its way to a slow reader too.
    """

    server_state: PartyState

    def __init__(self, *values: Any, **more: Any) -> None:
        super().__init__(*values, **more)
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._address: str | None = None
        self._header_bytes = 0
        self._in_headers = False
        self._answer_ends = 0.0
        self._is_long = False
        self._stopping: asyncio.TimerHandle | None = None
        self.app = self._paced(self.app)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection and give it its time."""
        super().connection_made(transport)
        self._arm()
        if self.server_state.is_stopping:
            # Its handshake was under way then: nobody else would end it.
            self._abort("a connection came when the service had stopped")
            return
        most = self.server_state.most_of_address
        if most is None or self.client is None:
            return
        self._address = network_of(self.client[0])
        self.server_state.of_address[self._address] += 1
        if self.server_state.of_address[self._address] > most:
            self._abort("an address had too many connections")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._disarm()
        if self._stopping is not None:
            self._stopping.cancel()
        self.resume_writing()
        if self._address is not None:
            count = self.server_state.of_address
            count[self._address] -= 1
            # An address that is gone is kept nowhere.
            if count[self._address] <= 0:
                del count[self._address]
            self._address = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes, up to a limit until the headers are complete."""
        super().data_received(data)
        if self._in_headers:
            self._header_bytes += len(data)
            if self._header_bytes > MOST_HEADER_BYTES:
                self._refuse(431)

    def on_message_begin(self) -> None:
        """Begin to count the bytes of headers."""
        self._in_headers, self._header_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Start the request; its own limits begin here."""
        if self.transport.is_closing():
            # Of those that came with one that was refused.
            return
        self._disarm()
        self._in_headers = False
        # With colon, space and end of each line.
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > MOST_HEADER_BYTES:
            # They may have come at once, with their end.
            self._refuse(431)
            return
        if any(name == b"transfer-encoding" for name, _ in self.headers):
            self._refuse(411)
            return
        if len(self.pipeline) >= MOST_AT_ONCE:
            self._abort("too many requests came at once")
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body; what belongs to a refused request is dropped."""
        if self.cycle is not None and not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Note the end of a request."""
        if self.cycle is not None and not self.transport.is_closing():
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Arm the deadline again, unless another request is under way."""
        super().on_response_complete()
        if self.cycle.response_complete:
            # A body that nobody wanted is not held; its rest is dropped until the deadline.
            self.cycle.body = bytearray()
            self._arm(until=self._answer_ends if self._is_long else 0.0)

    def shutdown(self) -> None:
        """End after the request that is under way, and soon: strangers keep no service running."""
        super().shutdown()
        if self._stopping is None:
            words = "a connection was still open when the service stopped"
            self._stopping = self.loop.call_later(STOPPING_SECONDS, self._abort, words)

    def pause_writing(self) -> None:
        """Give the other end time to read what was sent."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_at(
                self._answer_ends, self._abort, "an answer was not read in time"
            )

    def resume_writing(self) -> None:
        """Go on: most of it was read."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        if self.flow is not None:
            super().resume_writing()

    def _paced(self, app: Any) -> Any:
        """Return the application; its answers leave piece by piece, as fast as they are read.

        It is noted by when they are to be read.
        """

        async def paced(scope: Any, receive: Any, send: Any) -> None:
            async def told(message: Any) -> None:
                if message["type"] == "http.response.start":
                    length = dict(message["headers"]).get(b"content-length", 0)
                    size = 0 if scope["method"] == "HEAD" else int(length)
                    self._answer_ends = self.loop.time() + whole_seconds(size)
                    # When the last piece was handed over, much of it may lie in TLS still.
                    self._is_long = size > SHORT_BYTES
                body = memoryview(message.get("body", b""))
                while len(body) > PIECE_BYTES:
                    piece, body = body[:PIECE_BYTES], body[PIECE_BYTES:]
                    # Returns once most of what was sent before is on its way.
                    await send({"type": message["type"], "body": piece, "more_body": True})
                await send({**message, "body": body} if body else message)

            await app(scope, receive, told)

        return paced

    def _arm(self, *, until: float = 0.0) -> None:
        self._disarm()
        silent = self.loop.time() + self.server_state.header_seconds
        self._deadline = self.loop.call_at(max(silent, until), self._stayed_silent)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: int) -> None:
        # Whoever reads nothing is not waited for: what closes waits until all is read.
        self._arm()
        if not self.transport.is_closing():
            self.transport.write(
                STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n"
            )
            self.transport.close()

    def _stayed_silent(self) -> None:
        # After a whole request and its answer that is how every connection ends.
        if self.cycle is not None and not self._in_headers and not self.cycle.more_body:
            self.transport.abort()
        else:
            self._abort("a connection stayed silent")

    def _abort(self, event: str) -> None:
        # Not close(): that waits for the other end to read, or to end TLS.
        if self.transport is not None:
            said(LOG, event, Cause.CONNECTION, level=logging.INFO)
            self.transport.abort()


def network_of(address: str) -> str:
    """Return the address, or the network of 64 bits that an IPv6 address is in.

    >>> network_of("203.0.113.9"), network_of("2001:db8::1:2:3:4")
    ('203.0.113.9', '2001:db8::')
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_address(int(parsed) >> 64 << 64))


def raise_descriptors(least: int = LEAST_DESCRIPTORS) -> int | None:
    """Raise the number of files and connections this process may have; return what it is now.

    None where the system has no such number. The hard limit stays as it is: below ``least`` it
    is the operator's to raise (``LimitNOFILE=`` of systemd).

    >>> raise_descriptors() is None or raise_descriptors() > 0
    True
    """
    try:
        import resource
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = least if hard == resource.RLIM_INFINITY else min(least, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            return int(soft)
        return wanted
    return int(soft)
